"""Spark's own daemon for Python workers, with the kernels loaded before it makes any.

Workers are forks of the daemon, and Spark ends those that had nothing to do for a minute. Loading the kernels takes a
worker about a second; a fork has them from the beginning.
"""

from __future__ import annotations

if __name__ == "__main__":
    import emberlog.executors.cyclic.task
    import emberlog.executors.streaming.methods
    import emberlog.executors.streaming.task  # noqa: F401  (everything that a worker needs)
    from emberlog.executors.cyclic.kernels.jit import load_compiled

    load_compiled()
    from pyspark.daemon import manager

    manager()
