"""Recursions in this process that are broken off somewhere, and gone on with by new workers from their checkpoints."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, MutableSequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from unittest import mock

from emberlog.config import Recovery
from emberlog.executors.cyclic.checkpoints import FOLDER, Checkpoints
from emberlog.executors.cyclic.definitions import DefinitionWorker
from emberlog.executors.cyclic.local import run_workers, worker_for
from emberlog.executors.cyclic.resuming import Resume, resumed
from emberlog.executors.cyclic.worker import Progress, Worker


class BrokenOff(Exception):
    pass


@contextmanager
def broken_off(after: int, every: int = 1) -> Iterator[list[Resume | None]]:
    """Recursions of local runs are broken off after so many rounds, with a checkpoint after every few, and gone on
    with. Gives what they went on from."""
    found: list[Resume | None] = []

    def run(workers: MutableSequence[Worker]) -> None:
        if all(isinstance(worker, DefinitionWorker) for worker in workers):
            run_workers(workers)  # there are no rounds to go on from
            return
        with tempfile.TemporaryDirectory() as folder:
            found.append(_broken_off(workers, Path(folder), after, every))

    with mock.patch("emberlog.executors.local.recursion.run_workers", run):
        yield found


def _broken_off(workers: MutableSequence[Worker], folder: Path, after: int, every: int) -> Resume | None:
    earlier, place = folder / "1", folder / "2"
    for one in (earlier, place):
        (one / FOLDER).mkdir(parents=True)
    recovery = Recovery(checkpoint_seconds=None, checkpoint_rounds=every)
    with suppress(BrokenOff):
        run_workers([_again(one, earlier, recovery, None, _breaking_off(one.report, after)) for one in workers])
    resume = resumed(earlier, place, len(workers))
    manifests = resume.manifests if resume is not None else (None,) * len(workers)
    workers[:] = [
        _again(one, place, recovery, manifest, one.report) for one, manifest in zip(workers, manifests, strict=True)
    ]
    run_workers(workers)
    return resume


def _again(
    worker: Worker, place: Path, recovery: Recovery, manifest: str | None, report: Callable[[Progress], None]
) -> Worker:
    """The same worker, at its beginning."""
    checkpoints = Checkpoints(place / FOLDER, worker.task.number, recovery, manifest)
    return worker_for(replace(worker.task, checkpoints=checkpoints), worker.statics, report)


def _breaking_off(report: Callable[[Progress], None], after: int) -> Callable[[Progress], None]:
    def hear(progress: Progress) -> None:
        if progress.iteration > after:
            raise BrokenOff
        report(progress)

    return hear
