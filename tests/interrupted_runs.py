"""Recursions in this process that are broken off somewhere, and gone on with by new workers from their checkpoints."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, MutableSequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from unittest import mock

from pyarrow import fs

from emberlog.config import Recovery
from emberlog.workers.fixpoint.definitions import DefinitionWorker
from emberlog.workers.fixpoint.team import run_workers, worker_for
from emberlog.workers.fixpoint.worker import Worker
from emberlog.workers.recover.checkpoints import FOLDER, Checkpoints, attempt_folder
from emberlog.workers.recover.resuming import Resume, resumed
from emberlog.workers.store.folders import Folder, StoreFolder
from emberlog.workers.wire.messages import Progress


class BrokenOff(Exception):
    pass


def run_folder(folder: Path, attempts: int = 2) -> Folder:
    """The folder of a run in a store: as far as Emberlog can see, no disk of this machine."""
    store = StoreFolder(fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem()), "", "store://", "store://")
    for attempt in range(1, attempts + 1):
        store.make(f"{attempt_folder(attempt)}/{FOLDER}")
    return store


@dataclass(frozen=True, slots=True)
class _Breaking:
    recovery: Recovery
    after_rounds: int = 1 << 62
    after_checkpoints: int = 1 << 62
    """By all workers together. Of the next one everything is written but its list."""


@contextmanager
def broken_off(after: int, every: int = 1) -> Iterator[list[Resume | None]]:
    """Recursions of local runs are broken off after so many rounds, with a checkpoint after every few, and gone on
    with. Gives what they went on from."""
    with _all_recursions(_Breaking(Recovery(checkpoint_seconds=None, checkpoint_rounds=every), after)) as found:
        yield found


@contextmanager
def broken_off_within(checkpoints: int, batch: int = 1, portion: int = 1 << 62) -> Iterator[list[Resume | None]]:
    """The same after so many checkpoints, which are made whenever they can be: before each batch of so many rows, and
    after each portion of so many bytes that workers send each other."""
    always = Recovery(checkpoint_seconds=1e-9)
    with (
        mock.patch("emberlog.workers.fixpoint.rounds.NO_LIMIT", portion),
        mock.patch("emberlog.workers.fixpoint.growing.BATCH", batch),
        mock.patch("emberlog.workers.recover.checkpoints.MOST_OF_THE_TIME", 1e9),
        _all_recursions(_Breaking(always, after_checkpoints=checkpoints)) as found,
    ):
        yield found


@contextmanager
def _all_recursions(breaking: _Breaking) -> Iterator[list[Resume | None]]:
    found: list[Resume | None] = []

    def run(workers: MutableSequence[Worker]) -> None:
        if all(isinstance(worker, DefinitionWorker) for worker in workers):
            run_workers(workers)  # there are no rounds to go on from
            return
        with tempfile.TemporaryDirectory() as folder:
            found.append(_broken_off(workers, Path(folder), breaking))

    with mock.patch("emberlog.engines.local.recursion.run_workers", run):
        yield found


def _broken_off(workers: MutableSequence[Worker], folder: Path, breaking: _Breaking) -> Resume | None:
    run = run_folder(folder)
    made = count()

    def reached() -> None:
        if next(made) >= breaking.after_checkpoints:
            raise BrokenOff

    with suppress(BrokenOff):
        run_workers(
            [
                _again(one, run, 1, breaking.recovery, None, _breaking_off(breaking.after_rounds), reached)
                for one in workers
            ]
        )
    resume = resumed(run, 1, len(workers))
    manifests = resume.manifests if resume is not None else (None,) * len(workers)
    workers[:] = [
        _again(one, run, 2, breaking.recovery, manifest, one.report)
        for one, manifest in zip(workers, manifests, strict=True)
    ]
    run_workers(workers)
    return resume


def _again(
    worker: Worker,
    folder: Folder,
    attempt: int,
    recovery: Recovery,
    manifest: str | None,
    report: Callable[[Progress], None],
    reached: Callable[[], None] = lambda: None,
) -> Worker:
    """The same worker, at its beginning."""
    checkpoints = Checkpoints(folder, attempt, worker.task.number, recovery, manifest, reached)
    return worker_for(replace(worker.task, checkpoints=checkpoints), worker.statics, report)


def _breaking_off(after: int) -> Callable[[Progress], None]:
    """Nobody hears of these rounds: whoever counts them begins anew with each attempt."""

    def hear(progress: Progress) -> None:
        if progress.iteration > after:
            raise BrokenOff

    return hear
