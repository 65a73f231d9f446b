"""What Spark says when an attempt at a recursion ended badly, told apart by what can be done about it."""

from __future__ import annotations

import re

from emberlog.diagnostics import fail
from emberlog.workers.plan.faults import Refused
from emberlog.workers.wire.draining import Lost

_MISSING_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")

_PROCESS_ENDED = "Python worker exited unexpectedly"
_EXECUTOR_LOST = re.compile(
    r"ExecutorLostFailure|executor \S+ exited|[Ll]ost executor|Executor heartbeat timed out|Worker lost|"
    r"Remote RPC client disassociated|Could not recover from a failed barrier",
)


class NotHere(Refused):
    """The stratum cannot run on this executor after all; the text says why."""


def failure_of(error: Exception) -> Exception:
    """The exception to raise for what Spark raised: its own where there is nothing better to say."""
    text = str(error)
    if isinstance(error, ConnectionError | EOFError) or type(error).__name__ == "Py4JNetworkError":
        return fail("DL520", "Spark's Java process ended while the program ran")
    missing = _MISSING_MODULE.search(text)
    if missing is not None:
        return NotHere(f"the Python of Spark's executors has no module {missing[1]}")
    if _PROCESS_ENDED in text:
        return Lost("the process of a worker ended, as it does when the machine has no memory left")
    reason = _last_line_of_traceback(text)
    if reason is not None:
        return fail("DL520", f"a worker stopped: {reason}", None, "the dataframe executor does without workers")
    if _EXECUTOR_LOST.search(text):
        return Lost("Spark lost an executor")
    return error


def _last_line_of_traceback(text: str) -> str | None:
    """Of a worker that did something unforeseen. Trying again would only repeat it."""
    before, traceback, after = text.partition("Traceback (most recent call last)")
    if not traceback or "barrier" not in before:
        return None
    lines = [line for line in after.split("\n\n")[0].splitlines() if line and not line.startswith((" ", "\t"))]
    return lines[-1] if len(lines) > 1 else None
