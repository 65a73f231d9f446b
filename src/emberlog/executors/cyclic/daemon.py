"""Spark's own daemon for Python workers, with libraries and kernels loaded before it makes any.

Workers are forks of the daemon, and Spark ends those that had nothing to do for a minute. Loading takes a worker more
than a second; a fork has everything from the beginning.
"""

from __future__ import annotations

if __name__ == "__main__":
    import emberlog.executors.cyclic.task
    import emberlog.executors.streaming.methods
    import emberlog.executors.streaming.task  # noqa: F401  (everything that a worker needs)
    from emberlog.executors.cyclic.kernels.jit import load_compiled
    from emberlog.executors.cyclic.libraries import load_libraries

    load_libraries()
    load_compiled()
    from pyspark.daemon import manager

    manager()
