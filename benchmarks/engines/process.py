"""The outside of an engine's process: asks it to do things, and survives whatever it does."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.engines import process_tree
from benchmarks.engines.catalogue import Entry
from benchmarks.locations import REPOSITORY

LAST_WORDS = 1_500
"""How many characters of an engine's output are kept when it dies."""


class EngineTrouble(Exception):
    """A request did not succeed; `kind` says how: unavailable, failed, timeout or crashed."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Reply:
    content: dict[str, Any]
    peak_bytes: int

    @property
    def seconds(self) -> float:
        return float(self.content["seconds"])


class EngineProcess:
    """A process that runs one engine. After a timeout or a crash it is dead, and `alive` says so."""

    def __init__(self, entry: Entry, log: Path) -> None:
        self.entry = entry
        self.alive = True
        self._log = log
        read_end, write_end = os.pipe()
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    *(str(entry.python()), "-m", "benchmarks.engines.child"),
                    *(str(write_end), entry.name, entry.module, entry.class_name),
                ],
                cwd=REPOSITORY,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "src")])},
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=(write_end,),
                start_new_session=True,
            )
        os.close(write_end)
        self._answers = read_end
        self._unread = b""

    @property
    def session(self) -> int:
        return self._process.pid

    def ask(self, do: str, timeout: float, **details: Any) -> Reply:
        """One request; raises EngineTrouble when it fails, and ends the process when it does not answer in time."""
        assert self._process.stdin is not None
        with process_tree.PeakMeter(self.session) as meter:
            try:
                self._process.stdin.write(json.dumps({"do": do, **details}).encode() + b"\n")
                self._process.stdin.flush()
                line = self._line(timeout)
            except (BrokenPipeError, EOFError):
                # It is ending by itself; how it ended is worth waiting for.
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(timeout=10)
                self.kill()
                raise EngineTrouble("crashed", self._last_words()) from None
            except TimeoutError:
                self.kill()
                raise EngineTrouble("timeout", f"no answer after {timeout:,.0f} s") from None
        content = json.loads(line)
        if "error" in content:
            raise EngineTrouble(content["kind"], content["error"])
        return Reply(content, meter.peak)

    def resident_bytes(self) -> int:
        return process_tree.resident_bytes(self.session)

    def close(self) -> None:
        """Kindly first; whatever is left afterwards is killed."""
        if self.alive:
            with contextlib.suppress(EngineTrouble):
                self.ask("close", timeout=30)
        self.kill()

    def kill(self) -> None:
        if not self.alive:
            return
        self.alive = False
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        process_tree.kill(self.session)
        self._process.wait()
        os.close(self._answers)

    def _line(self, timeout: float) -> bytes:
        deadline = time.monotonic() + timeout
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            while b"\n" not in self._unread:
                remaining = deadline - time.monotonic()
                if remaining <= 0 or not selector.select(remaining):
                    raise TimeoutError
                received = os.read(self._answers, 65_536)
                if not received:
                    raise EOFError
                self._unread += received
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _last_words(self) -> str:
        code = self._process.wait()
        said = self._log.read_text(encoding="utf-8", errors="replace").strip()[-LAST_WORDS:]
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        return f"the process {how}" + (f"; its last words: {said}" if said else "")
