"""Writes a worker's state to disk from time to time: lanes in files, only what changed, and a list of them.

The list of files appears as a whole, when all of them are complete. A checkpoint of workers that go in step counts
when all of them have it for the same iteration; one that works alone goes on from its own. docs/cyclic.md tells more.

Files keep their place when another attempt goes on from them, and it lists them as its own: in a store, to copy them
would take as long as to write them. So a worker that outlives its attempt deletes nothing once the driver has said that
the attempt is over.
"""

from __future__ import annotations

import json
import logging
import secrets
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from emberlog.config import Recovery
from emberlog.workers.kernels.lanes import Lanes, no_rows
from emberlog.workers.kernels.memory import claim
from emberlog.workers.kernels.narrow import Narrowed, narrowest
from emberlog.workers.kernels.tuning import ENOUGH_TO_TELL, MOST_OF_THE_TIME, SECONDS_PER_ROW
from emberlog.workers.store.folders import Folder
from emberlog.workers.store.texts import TextTable, packed, unpacked

# When the next checkpoint is worth its time.


class Pace:
    def __init__(self, every: float | None) -> None:
        """At least so many seconds are between two checkpoints; None for never."""
        self._every = every
        self._last_at = time.monotonic()
        self._took = 0.0
        self._rows: int | None = None
        self._seconds_per_row = SECONDS_PER_ROW

    def is_due(self, rows: int | None) -> bool:
        """Tells whether the next checkpoint is worth its time. `rows` is how many rows there are to save, of which
        those that were saved are not written again; None where that is not how the state changes."""
        if self._every is None:
            return False
        passed = time.monotonic() - self._last_at
        return passed >= self._every and passed * MOST_OF_THE_TIME >= self._price(rows)

    def _price(self, rows: int | None) -> float:
        """Returns what has to be earned before the next one: what the last one took, or the next one would, if that is
        less."""
        if rows is None or self._rows is None:
            return self._took
        return min(self._took, (rows - self._rows) * self._seconds_per_row)

    def saved(self, seconds: float, written: int, rows: int | None) -> None:
        """Notes how long a checkpoint took, and how many rows were written for it."""
        self._last_at, self._took, self._rows = time.monotonic(), seconds, rows
        if written >= ENOUGH_TO_TELL:
            self._seconds_per_row = seconds / written


FOLDER, MOVED, OVER = "checkpoints", "moved", "over"
_TEXTS = "texts"

Piece = TypeVar("Piece")

_log = logging.getLogger("emberlog")


def attempt_folder(attempt: int) -> str:
    """Returns the name of the folder of an attempt in that of its run."""
    return f"attempt-{attempt}"


class Stale(Exception):
    """Says that a checkpoint cannot be resumed from; the text says why."""


@dataclass(frozen=True, slots=True)
class Part:
    """Describes some rows of one piece of the state, in a file of their own."""

    file: str
    """Below the folder of the run."""
    width: int
    rows: int
    checksum: int
    is_patch: bool
    """Whether its first lane has the numbers of rows that are replaced or added, and the others have their values."""
    narrowed: tuple[Narrowed, ...]
    """How each lane is written."""

    @property
    def bytes(self) -> int:
        return self.rows * sum(lane.size for lane in self.narrowed)

    @staticmethod
    def read(written: dict[str, Any]) -> Part:
        return Part(**{**written, "narrowed": tuple(Narrowed(**lane) for lane in written["narrowed"])})


@dataclass(slots=True)
class Manifest:
    """Lists what a checkpoint consists of."""

    worker: int
    iteration: int
    swaps: int
    """How often workers in step sent each other something of the round after it: they all have to be at the same."""
    is_alone: bool
    """Whether the worker needs no others to go on from here."""
    is_agreed: bool
    """Whether all others have a checkpoint of the iteration, or will have one before they are through with the next."""
    numbers: dict[str, int] = field(default_factory=dict)
    pieces: dict[str, list[Part]] = field(default_factory=dict)
    results: dict[str, int] = field(default_factory=dict)
    """Files of results that are complete, below the folder of the run, and how many bytes each has."""
    can_move: bool = False
    """Whether other workers, more or fewer, can go on from it: each takes the rows that it owns from all of them."""

    @property
    def name(self) -> str:
        return f"{self.worker}-{self.iteration}-{self.swaps}.json"

    @property
    def files(self) -> list[str]:
        return [part.file for parts in self.pieces.values() for part in parts]

    @property
    def bytes(self) -> int:
        return sum(part.bytes for parts in self.pieces.values() for part in parts)

    def write(self, folder: Folder, place: str) -> None:
        folder.write(f"{place}/{self.name}", json.dumps(asdict(self)).encode())

    @staticmethod
    def read(folder: Folder, path: str) -> Manifest:
        written = json.loads(folder.read(path))
        pieces = {name: [Part.read(part) for part in parts] for name, parts in written["pieces"].items()}
        return Manifest(**{**written, "pieces": pieces})

    @staticmethod
    def brought(folder: Folder, path: str) -> Manifest:
        """Reads what the driver has brought to this attempt; raises Stale if that is not what is here."""
        try:
            return Manifest.read(folder, path)
        except (OSError, ValueError, TypeError, KeyError, pa.ArrowException) as error:
            raise Stale(f"the list of the last checkpoint cannot be read: {error}") from error


class Checkpoints:
    """Writes and finds the checkpoints of one worker in one attempt."""

    def __init__(
        self,
        folder: Folder,
        attempt: int,
        worker: int,
        recovery: Recovery,
        resume: str | None = None,
        reached: Callable[[], None] = lambda: None,
        moved: Sequence[str] = (),
    ) -> None:
        """`folder` is that of the run. `resume` names the manifest to go on from; or `moved` does those of all workers,
        if there were more or fewer. `reached` is called when a checkpoint is written and not valid."""
        self.folder = folder
        self.attempt = attempt
        self.place = f"{attempt_folder(attempt)}/{FOLDER}"
        self.worker = worker
        self.recovery = recovery
        self.problem: str | None = None
        """Why there are none any more."""
        self._reached = reached
        # Everyone goes on from the same iteration, whether they had agreed on it or not.
        self._kept = (
            [replace(Manifest.brought(folder, f"{self.place}/{resume}"), is_agreed=True)] if resume is not None else []
        )
        """Those that are on disk, the oldest first."""
        self._resume = self._last
        place = f"{attempt_folder(attempt)}/{MOVED}"
        self._moved = [SavedState(folder, Manifest.brought(folder, f"{place}/{name}")) for name in moved]
        self._marks: dict[str, int] = {}
        self._pace = Pace(recovery.checkpoint_seconds)
        self._round_of_last = self._last.iteration if self._last is not None else 0
        self._saved = 0
        self._texts: TextTable | None = None
        self._texts_saved = 0
        """How many of them the last checkpoint has, or needs not."""
        self._token = secrets.token_hex(4)
        """Another process may write here that is the same worker of the same attempt to Spark."""

    @property
    def _last(self) -> Manifest | None:
        return self._kept[-1] if self._kept else None

    def resume_state(self) -> SavedState | None:
        """Returns the checkpoint to resume from, or None. A second call returns None."""
        if self._moved:
            raise Stale("the last checkpoint is of another number of workers")
        state = SavedState(self.folder, self._resume) if self._resume is not None else None
        self._resume = None
        return state

    def moved_states(self) -> list[SavedState]:
        """Returns the checkpoints of all workers of an attempt with more or fewer, to take one's own rows from; none if
        there was no such. A second call returns none."""
        states, self._moved = self._moved, []
        return states

    def keep_texts(self, texts: TextTable) -> None:
        """Saves texts that come from now on with the facts that may have them; those of the checkpoint to resume from
        are read back."""
        own = [SavedState(self.folder, self._resume)] if self._resume is not None else []
        for saved in (*own, *self._moved):
            for part in unpacked(saved.lanes(_TEXTS)[0]) if saved.has(_TEXTS) else ():
                texts.add(part)
        self._texts, self._texts_saved = texts, texts.count

    def is_due(self, iteration: int, rows: int | None = None) -> bool:
        """Tells whether it is time for a checkpoint. `rows` is how many there are to save, where rows only come; see
        `Pace`."""
        if self.problem is not None:
            return False
        rounds = self.recovery.checkpoint_rounds
        if rounds is not None and iteration - self._round_of_last >= rounds:
            return True
        return self._pace.is_due(rows)

    def is_long(self, seconds: float) -> bool:
        """Tells whether a round that lasts so long is worth checkpoints of its own."""
        every = self.recovery.checkpoint_seconds
        return every is not None and seconds >= every

    @contextmanager
    def saving(
        self,
        iteration: int,
        swaps: int = 0,
        *,
        is_alone: bool,
        is_agreed: bool = True,
        rows: int | None = None,
        can_move: bool = False,
    ) -> Iterator[StateToSave]:
        """Opens a checkpoint, which is valid when this is left. One that cannot be written is the last: the run goes
        on."""
        since = time.monotonic()
        manifest = Manifest(self.worker, iteration, swaps, is_alone, is_agreed, can_move=can_move)
        manifest.is_agreed |= any(one.is_agreed for one in self._kept if one.name == manifest.name)
        self._saved += 1
        stem = f"{self.place}/{self.worker}-{self._token}-{self._saved}"
        state = StateToSave(self.folder, stem, manifest, self._last, self._marks)
        try:
            yield state
            if self._texts is not None:
                new = self._texts.since(self._texts_saved)
                state.added(_TEXTS, packed(new)[None] if len(new) else no_rows(1))
                self._texts_saved = self._texts.count
            self._reached()
            self._commit(manifest)
        except (OSError, pa.ArrowException) as error:
            self.problem = str(error)
            # The driver is told at the end. A worker whose attempt is over anyway tells nobody.
            _log.debug("worker %d writes no checkpoints any more: %s", self.worker, error)
            with suppress(OSError, pa.ArrowException):
                self.folder.delete_files(set(manifest.files) - set(self._last.files if self._last else ()))
            return
        self._pace.saved(time.monotonic() - since, state.rows_written, rows)
        self._round_of_last = iteration

    def _commit(self, manifest: Manifest) -> None:
        manifest.write(self.folder, self.place)
        known = [*(one for one in self._kept if one.name != manifest.name), manifest]
        needed = _still_needed(known)
        old = self._files_of(self._kept) - self._files_of(needed)
        if old and not self.folder.exists(f"{attempt_folder(self.attempt)}/{OVER}"):
            self.folder.delete_files(old)
        self._kept = needed

    def _files_of(self, manifests: list[Manifest]) -> set[str]:
        return {file for one in manifests for file in (*one.files, f"{self.place}/{one.name}")}


def _still_needed(known: list[Manifest]) -> list[Manifest]:
    """Returns the checkpoints that may still be needed. Who needs no others needs the last one only. Workers in step
    are all through with the last agreed one but one, which stays until all have the last one, and of the others one may
    be at the iteration before."""
    newest = known[-1]
    if newest.is_alone:
        return [newest]
    agreed = [one for one in known if one.is_agreed][-2:]
    return [one for one in known if one in agreed or one in known[-2:]]


class StateToSave:
    """Takes the pieces of a state, each under a name of its own, and writes what changed since the last checkpoint."""

    def __init__(
        self, folder: Folder, stem: str, manifest: Manifest, last: Manifest | None, marks: dict[str, int]
    ) -> None:
        self._folder = folder
        self._stem = stem
        self._manifest = manifest
        self._before = last
        self._last = last.pieces if last is not None else {}
        self.marks = marks
        """By piece: what tells what is older than the last checkpoint of this attempt."""
        self._files = 0
        self.rows_written = 0

    def number(self, name: str, value: int) -> None:
        self._manifest.numbers[name] = value

    def whole(self, name: str, lanes: Lanes) -> None:
        """Saves a piece that is written anew every time."""
        self._manifest.pieces[name] = [self._written(lanes)]

    def grown(self, name: str, lanes: Lanes) -> None:
        """Saves a piece to which rows are only ever added."""
        parts = self._last.get(name, [])
        known = sum(part.rows for part in parts)
        more = lanes[:, known:]
        self._manifest.pieces[name] = [*parts, self._written(more)] if more.shape[1] or not parts else parts

    def added(self, name: str, lanes: Lanes) -> None:
        """Saves rows behind those of the last checkpoint."""
        parts = self._last.get(name, [])
        if parts or lanes.shape[1]:
            self._manifest.pieces[name] = [*parts, self._written(lanes)] if lanes.shape[1] else parts

    def patched(self, name: str, lanes: Lanes, changed: Lanes) -> None:
        """Saves a piece in which rows were replaced or added since the last checkpoint: those with these numbers."""
        parts = self._last.get(name)
        if parts is None or 2 * len(changed) > lanes.shape[1]:
            self.whole(name, lanes)
            return
        patch = np.vstack([changed[None], lanes[:, changed]])
        self._manifest.pieces[name] = [*parts, self._written(patch, is_patch=True)] if len(changed) else parts

    def unchanged(self) -> None:
        """Saves the numbers and pieces of the last checkpoint once more."""
        assert self._before is not None
        self._manifest.numbers, self._manifest.pieces = dict(self._before.numbers), dict(self._before.pieces)

    def results(self, files: Mapping[str, int]) -> None:
        self._manifest.results = dict(files)

    def _written(self, lanes: Lanes, *, is_patch: bool = False) -> Part:
        self._files += 1
        self.rows_written += lanes.shape[1]
        file = f"{self._stem}-{self._files}.lanes"
        narrowed = tuple(map(narrowest, lanes))
        checksum = 0
        with self._folder.open_out(file) as out:
            for lane, narrow in zip(lanes, narrowed, strict=True):
                for data in narrow.blocks(lane):
                    checksum = zlib.crc32(data, checksum)
                    out.write(data)
        return Part(file, lanes.shape[0], lanes.shape[1], checksum, is_patch, narrowed)


class SavedState:
    """Reads the pieces of a checkpoint."""

    def __init__(self, folder: Folder, manifest: Manifest) -> None:
        self._folder = folder
        self._manifest = manifest
        self.iteration = manifest.iteration
        self.swaps = manifest.swaps
        self.is_alone = manifest.is_alone

    def number(self, name: str) -> int:
        return _known(self._manifest.numbers, name)

    def number_or_zero(self, name: str) -> int:
        return self._manifest.numbers.get(name, 0)

    def has(self, name: str) -> bool:
        return name in self._manifest.pieces

    def rows(self, name: str) -> int:
        """Returns the number of rows of a piece to which rows were only ever added."""
        return sum(part.rows for part in _known(self._manifest.pieces, name))

    def lanes(self, name: str, room: int = 0, skip: int = 0) -> Lanes:
        """Returns the rows of a piece, but for the first ones, and behind them room for more."""
        parts = _known(self._manifest.pieces, name)
        grown = [part for part in parts if not part.is_patch]
        if skip and len(grown) < len(parts):
            return self.lanes(name)[:, skip:]
        while grown and skip >= grown[0].rows:
            skip -= grown.pop(0).rows
        capacity = sum(part.rows for part in grown) + room
        claim(8 * parts[0].width * capacity)
        found, begin = np.empty((parts[0].width, capacity), np.int64), 0
        for part in grown:
            self._read(part, found[:, begin : begin + part.rows])
            begin += part.rows
        found = found[:, skip:]
        for part in parts:
            if part.is_patch:
                patch = np.empty((part.width, part.rows), np.int64)
                self._read(part, patch)
                found = _patched(found, patch)
        return found

    @property
    def results(self) -> dict[str, int]:
        return self._manifest.results

    def _read(self, part: Part, out: Lanes) -> None:
        """Reads a part straight to where it belongs, because states are large."""
        checksum = size = 0
        try:
            with self._folder.open_in(part.file) as file:
                for lane, narrow in zip(out, part.narrowed, strict=True):
                    for data in narrow.filled(lane):
                        size += file.readinto(data)  # type: ignore[attr-defined]
                        checksum = zlib.crc32(data, checksum)
                size += len(file.read(1))
        except (OSError, pa.ArrowException) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise Stale(f"a file of the last checkpoint cannot be read: {why}") from error
        if checksum != part.checksum or size != part.bytes:
            raise Stale("a file of the last checkpoint is broken")


def _known(pieces: Mapping[str, Piece], name: str) -> Piece:
    if name not in pieces:
        raise Stale(f"the last checkpoint has no `{name}`")
    return pieces[name]


def _patched(lanes: Lanes, patch: Lanes) -> Lanes:
    numbers = patch[0]
    rows = max(lanes.shape[1], int(numbers.max()) + 1)
    result = np.empty((lanes.shape[0], rows), np.int64)
    result[:, : lanes.shape[1]] = lanes
    result[:, numbers] = patch[1:]
    return result
