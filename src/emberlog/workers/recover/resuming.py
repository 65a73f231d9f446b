"""Finds the checkpoints that are complete, for the driver, and brings them to the next attempt.

Only their lists are written anew, in the folder of the next attempt: the files stay where they are.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from emberlog.workers.kernels.tuning import MOST_READ_BY_ALL
from emberlog.workers.recover.checkpoints import FOLDER, MOVED, OVER, Manifest, attempt_folder
from emberlog.workers.store.folders import Folder

_log = logging.getLogger("emberlog")


@dataclass(frozen=True, slots=True)
class Resume:
    manifests: tuple[str | None, ...]
    """For each worker the checkpoint that it goes on from; None for the beginning."""
    iteration: int
    """0 if a worker begins anew."""
    is_in_step: bool
    """Whether all workers are at the same iteration."""
    is_moved: bool = False
    """Whether the checkpoints are of more or fewer workers, and each has to take its own rows from all of them."""


FROM_THE_BEGINNING = 0


def resumed(folder: Folder, attempt: int, workers: int, go_on: int | None = None) -> Resume | None:
    """Returns what an attempt of so many workers left behind, brought to the next one; None if nothing is complete.
    `folder` is that of the run. `go_on` is the number of workers that go on, if it is another."""
    earlier, later = attempt_folder(attempt), attempt_folder(attempt + 1)
    try:
        # Before anything is listed: what is found stays from now on, whoever is still at work.
        folder.write(f"{earlier}/{OVER}", b"")
        chosen = _latest(_manifests(folder, f"{earlier}/{FOLDER}"), workers)
        is_moved = chosen is None or go_on not in (None, workers)
        if is_moved:
            # This attempt may have come to no checkpoint of its own, but gone on from those of others.
            chosen = _that_can_move(chosen or _manifests(folder, f"{earlier}/{MOVED}"))
        place = f"{later}/{MOVED if is_moved else FOLDER}"
        folder.make(place)
        folder.each(partial(Manifest.write, folder=folder, place=place), [one for one in chosen or () if one])
    except (OSError, ValueError, TypeError, KeyError, pa.ArrowException) as error:
        _log.warning("the last checkpoint cannot be used: %s", error)
        return None
    if chosen is None:
        return None
    return Resume(
        tuple(None if one is None else one.name for one in chosen),
        min(FROM_THE_BEGINNING if one is None else one.iteration for one in chosen),
        all(one is not None and not one.is_alone for one in chosen),
        is_moved,
    )


def is_bound(folder: Folder, attempt: int, workers: int) -> bool:
    """Tells whether an attempt of so many workers left what no other number of them can go on from."""
    try:
        chosen = _latest(_manifests(folder, f"{attempt_folder(attempt)}/{FOLDER}"), workers)
    except (OSError, ValueError, TypeError, KeyError, pa.ArrowException):
        return False
    return chosen is not None and any(chosen) and _that_can_move(chosen) is None


def _manifests(folder: Folder, place: str) -> list[Manifest]:
    names = sorted(name for name in folder.sizes(place) if name.endswith(".json"))
    return [one for one in folder.each(partial(_manifest, folder), names) if one is not None]


def _manifest(folder: Folder, name: str) -> Manifest | None:
    try:
        return Manifest.read(folder, name)
    except FileNotFoundError:  # its worker was still at work when they were listed, and has a newer one
        return None


def _that_can_move(chosen: Sequence[Manifest | None]) -> list[Manifest | None] | None:
    """Returns the checkpoints if other workers can go on from them. All of them read all of it, so it must not be
    much."""
    can_move = all(one is not None and one.can_move and not one.swaps for one in chosen)
    size = sum(one.bytes for one in chosen if one is not None)
    return list(chosen) if chosen and can_move and size <= MOST_READ_BY_ALL else None


def _latest(manifests: list[Manifest], workers: int) -> list[Manifest | None] | None:
    by_worker: list[dict[tuple[int, int], Manifest]] = [{} for _ in range(workers)]
    for manifest in manifests:
        by_worker[manifest.worker][manifest.iteration, manifest.swaps] = manifest
    if manifests and all(manifest.is_alone for manifest in manifests):
        return [own[max(own)] if own else None for own in by_worker]
    common = set.intersection(*(set(own) for own in by_worker))
    return [own[max(common)] for own in by_worker] if common else None
