"""Runs one program in a thread of its own, keeps what it tells, and stops it at once when somebody asks for that."""

from __future__ import annotations

import ctypes
import threading
import time
import warnings
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

from emberlog.diagnostics import Diagnostic, EmberlogError, EmberlogWarning, Severity, was_interrupted
from emberlog.events import Event, Listener
from emberlog.profile import RunProfile

if TYPE_CHECKING:
    from emberlog.result import Result

Found = TypeVar("Found")

_BETWEEN_STOPS = 0.2
"""Seconds: the next job of Spark may not have begun when the one at hand is cancelled."""
_BEFORE_INTERRUPT = 1.0
"""Seconds in which the thread may notice by itself, at the end of an iteration: that leaves everything in order."""
_BETWEEN_INTERRUPTS = 5.0
"""Seconds: what tidies up must not be interrupted in its turn."""


class State(Enum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"


class Run:
    """Holds a run: how far it is, and what came of it."""

    def __init__(self, work: Callable[[Listener], Result[Any]], stop_jobs: Callable[[], None] = lambda: None) -> None:
        """`stop_jobs` ends what the thread waits for elsewhere."""
        self.profile = RunProfile()
        self.state = State.RUNNING
        self.result: Result[Any] | None = None
        self.problems: tuple[Diagnostic, ...] = ()
        """Errors and warnings."""
        self.seconds = 0.0
        self.heard = 0
        """How many events came: a page looks at the rest only when it has grown."""
        self._work = work
        self._stop_jobs = stop_jobs
        self._since = time.monotonic()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="emberlog-studio-run", daemon=True)

    def start(self) -> Run:
        self._thread.start()
        return self

    @property
    def elapsed(self) -> float:
        return self.seconds if self.state is not State.RUNNING else time.monotonic() - self._since

    @property
    def is_leaving(self) -> bool:
        """Tells whether the run was stopped, and its thread is still on its way out."""
        return self.state is not State.RUNNING and self._thread.is_alive()

    def wait(self, seconds: float | None = None) -> bool:
        """Waits until the run is over, whatever the reason; returns whether it is."""
        return self._ended.wait(seconds)

    def leave(self, seconds: float) -> bool:
        """Waits until the thread is gone, too."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Ends the run at once: what its thread still finds is dropped."""
        if self._end(State.STOPPED):
            threading.Thread(target=self._interrupt, name="emberlog-studio-stop", daemon=True).start()

    def _run(self) -> None:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", EmberlogWarning)
            state, result = State.DONE, None
            problems: tuple[Diagnostic, ...] = ()
            try:
                result = self._work(self._hear)
            except EmberlogError as error:
                state, problems = State.FAILED, error.diagnostics
            except KeyboardInterrupt:
                state = State.STOPPED
            except Exception as error:
                state = State.STOPPED if was_interrupted(error) else State.FAILED
                problems = (_internal(error),)
        found = tuple(one.message.diagnostic for one in told if isinstance(one.message, EmberlogWarning))
        if not self._end(state, result, (*problems, *found)) and result is not None:
            result.close()

    def _end(self, state: State, result: Result[Any] | None = None, problems: tuple[Diagnostic, ...] = ()) -> bool:
        """Takes note of the end; returns False if the run was over before."""
        with self._lock:
            if self.state is not State.RUNNING:
                return False
            self.seconds = time.monotonic() - self._since
            self.result, self.problems = result, problems
            self.state = state
        self.heard += 1
        self._ended.set()
        return True

    def _hear(self, event: Event, /) -> None:
        if self.state is not State.RUNNING:
            if threading.current_thread() is self._thread:
                raise KeyboardInterrupt
            return  # in a thread of the engine, which ends with its jobs
        with self._lock:
            self.profile(event)
            self.heard += 1

    def _interrupt(self) -> None:
        """Interrupts the thread as Ctrl-C does, as soon as it is in Python again, if it does not end by itself."""
        due = time.monotonic() + _BEFORE_INTERRUPT
        while self._thread.is_alive():
            if time.monotonic() >= due and self._thread.ident is not None:
                interrupt = ctypes.py_object(KeyboardInterrupt)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread.ident), interrupt)
                due = time.monotonic() + _BETWEEN_INTERRUPTS
            self._stop_jobs()
            self._thread.join(_BETWEEN_STOPS)


def answered(action: Callable[[], Found]) -> Found:
    """Calls what a page asks for. A mistake of ours is raised as a diagnostic, too, so that the page can show it."""
    try:
        return action()
    except EmberlogError:
        raise
    except Exception as error:
        raise EmberlogError((_internal(error),)) from error


def _internal(error: Exception) -> Diagnostic:
    first = (str(error).splitlines() or [""])[0]
    return Diagnostic("DL901", f"Emberlog itself failed: {type(error).__name__}: {first}", None, (), Severity.ERROR)
