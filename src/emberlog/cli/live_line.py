"""Shows what goes on in one line of a terminal that is rewritten, and in plain lines where there is no terminal."""

from __future__ import annotations

import os
import shutil
import time
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Self, TextIO

REFRESH = 0.2
"""Seconds between two looks of the line at the clock."""

LOG_INTERVAL = 30.0
"""Where there is no terminal: seconds after which a line says what is still going on."""

_CLEAR = "\r\x1b[K"


class LiveLine:
    """`show` what is going on now, `keep` what shall stay to be read."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.is_live = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._lock = Lock()
        self._end = Event()
        self._thread: Thread | None = None
        self._text = ""
        self._since = self._logged = time.monotonic()

    def __enter__(self) -> Self:
        if self.is_live:
            self._thread = Thread(target=self._tick, name="emberlog-live-line", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end.set()
        if self._thread is not None:
            self._thread.join()
        self.clear()

    def begin(self, text: str) -> None:
        """Shows that something new goes on; its clock starts now."""
        self._since = self._logged = time.monotonic()
        self.show(text)

    def show(self, text: str) -> None:
        with self._lock:
            self._text = text
            self._draw()

    def keep(self, text: str) -> None:
        """Writes a line that stays; what was shown is over."""
        with self._lock:
            self._text = ""
            self._write(f"{_CLEAR if self.is_live else ''}{text}\n")

    def clear(self) -> None:
        with self._lock:
            if self.is_live and self._text:
                self._write(_CLEAR)
            self._text = ""

    def _tick(self) -> None:
        while not self._end.wait(REFRESH):
            with self._lock:
                self._draw()

    def _draw(self) -> None:
        if not self._text:
            return
        now = time.monotonic()
        line = f"{self._text}   {now - self._since:,.1f} s"
        if self.is_live:
            width = shutil.get_terminal_size().columns - 1
            self._write(_CLEAR + (line if len(line) <= width else f"{line[: width - 1]}…"))
        elif now - self._logged >= LOG_INTERVAL:
            self._logged = now
            self._write(f"{line}\n")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
