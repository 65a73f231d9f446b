"""Shows what goes on in one line that is rewritten, in a terminal or in a notebook, and in plain lines elsewhere."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import time
from contextvars import copy_context
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Self, TextIO

REFRESH = 0.2
"""Seconds between two looks of the line at the clock."""

BLINK = 0.5
"""Seconds that a run of a database may take before its line comes: what is over by then needs none."""

LOG_INTERVAL = 30.0
"""Where there is no place for a line that changes: seconds after which a plain one says what is still going on."""

_log = logging.getLogger("emberlog")


def is_notebook() -> bool:
    """Tells whether this process is the kernel of a notebook."""
    ipython: Any = sys.modules.get("IPython")  # which is loaded in every kernel
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and "IPKernelApp" in shell.config


def is_terminal(stream: TextIO) -> bool:
    """Tells whether a line of the stream can be rewritten."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


class LiveLine:
    """`show` what is going on now, `keep` what shall stay to be read. The line is drawn by a thread of its own, so that
    its clock goes on, and runs only set what is shown."""

    def __init__(self, stream: TextIO, *, delay: float = 0.0) -> None:
        """The line comes after a `delay` in seconds."""
        self._stream = stream
        self._is_notebook = is_notebook()
        self.is_live = self._is_notebook or is_terminal(stream)
        self._delay = delay
        self._lock = Lock()
        self._end = Event()
        self._thread: Thread | None = None
        self._bar: Any = None
        self._text = ""
        self._facts: int | None = None
        self._is_new = True
        self._since = self._logged = time.monotonic()

    def __enter__(self) -> Self:
        if self.is_live:
            # In a notebook, the context says below which cell the line belongs.
            drawn = copy_context().run
            self._thread = Thread(target=drawn, args=(self._keep_drawing,), name="emberlog-live-line", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end.set()
        if self._thread is not None:
            self._thread.join()
        self._text = ""

    def begin(self, text: str) -> None:
        """Shows that something new goes on; its clock starts now."""
        with self._lock:
            self._since = self._logged = time.monotonic()
            self._text, self._facts, self._is_new = text, None, True

    def show(self, text: str, facts: int | None = None) -> None:
        """Shows how far it is. From the number of `facts` so far comes the rate."""
        with self._lock:
            self._text, self._facts = text, facts
            if not self.is_live and time.monotonic() - self._logged >= LOG_INTERVAL:
                self._logged = time.monotonic()
                self._write(f"{text}   {self._logged - self._since:,.1f} s\n")

    def keep(self, text: str) -> None:
        """Writes a line that stays; what was shown is over."""
        with self._lock:
            self._wipe()
            self._write(f"{text}\n")

    def clear(self) -> None:
        """Ends what was shown."""
        with self._lock:
            self._wipe()

    def _wipe(self) -> None:
        self._text, self._facts = "", None
        if self._bar is not None:
            self._bar.clear()

    def _keep_drawing(self) -> None:
        if self._end.wait(self._delay):
            return
        try:
            while True:
                with self._lock:
                    if self._text:
                        self._draw()
                if self._end.wait(REFRESH):
                    break
            if self._bar is not None:
                self._bar.close()
        except Exception:  # a screen that has gone away is no reason to end a run
            _log.debug("the progress of a run can no longer be shown", exc_info=True)

    def _draw(self) -> None:
        if self._bar is None:
            from emberlog.progress.bars import new_bar

            self._bar = new_bar(self._stream, is_notebook=self._is_notebook)
        columns = None if self._is_notebook else shutil.get_terminal_size().columns - 1
        seconds = time.monotonic() - self._since
        self._bar.draw(self._text, self._facts, seconds, columns=columns, is_new=self._is_new)
        self._is_new = False

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
