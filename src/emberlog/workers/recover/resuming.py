"""Finds the checkpoints that are complete, for the driver, and brings them to the next attempt.

Only their lists are written anew, in the folder of the next attempt: the files stay where they are.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from emberlog.workers.recover.checkpoints import FOLDER, OVER, Manifest, attempt_folder
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


FROM_THE_BEGINNING = 0


def resumed(folder: Folder, attempt: int, workers: int) -> Resume | None:
    """Returns what an attempt left behind, brought to the next one; None if nothing is complete. `folder` is that of
    the run."""
    try:
        # Before anything is listed: what is found stays from now on, whoever is still at work.
        folder.write(f"{attempt_folder(attempt)}/{OVER}", b"")
        chosen = _latest(_manifests(folder, attempt), workers)
        folder.each(
            partial(Manifest.write, folder=folder, attempt=attempt + 1),
            [one for one in chosen or () if one is not None],
        )
    except (OSError, ValueError, TypeError, KeyError, pa.ArrowException) as error:
        _log.warning("the last checkpoint cannot be used: %s", error)
        return None
    if chosen is None:
        return None
    return Resume(
        tuple(None if one is None else one.name for one in chosen),
        min(FROM_THE_BEGINNING if one is None else one.iteration for one in chosen),
        all(one is not None and not one.is_alone for one in chosen),
    )


def _manifests(folder: Folder, attempt: int) -> list[Manifest]:
    found = folder.sizes(f"{attempt_folder(attempt)}/{FOLDER}")
    return folder.each(partial(Manifest.read, folder), [name for name in found if name.endswith(".json")])


def _latest(manifests: list[Manifest], workers: int) -> list[Manifest | None] | None:
    by_worker: list[dict[tuple[int, int], Manifest]] = [{} for _ in range(workers)]
    for manifest in manifests:
        by_worker[manifest.worker][manifest.iteration, manifest.swaps] = manifest
    if manifests and all(manifest.is_alone for manifest in manifests):
        return [own[max(own)] if own else None for own in by_worker]
    common = set.intersection(*(set(own) for own in by_worker))
    return [own[max(common)] for own in by_worker] if common else None
