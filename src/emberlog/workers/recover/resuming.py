"""Finds the checkpoints that are complete, for the driver, and brings them to the next attempt.

Files are linked into the folder of the next attempt: nothing that a worker of an earlier one still does can spoil them,
and its own folder can go.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from pathlib import Path

from emberlog.workers.recover.checkpoints import FOLDER, Manifest

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


def resumed(earlier: Path, place: Path, workers: int) -> Resume | None:
    """Returns what the last attempt left behind, brought to the place of the next one; None if nothing is complete."""
    try:
        chosen = _latest(_manifests(earlier / FOLDER), workers)
        for manifest in chosen or ():
            if manifest is not None:
                _link(manifest, earlier, place)
    except (OSError, ValueError, TypeError, KeyError) as error:
        _log.warning("the last checkpoint cannot be used: %s", error)
        return None
    if chosen is None:
        return None
    return Resume(
        tuple(None if one is None else one.name for one in chosen),
        min(FROM_THE_BEGINNING if one is None else one.iteration for one in chosen),
        all(one is not None and not one.is_alone for one in chosen),
    )


def _manifests(folder: Path) -> list[Manifest]:
    return [Manifest.read(path) for path in folder.glob("*.json")] if folder.exists() else []


def _latest(manifests: list[Manifest], workers: int) -> list[Manifest | None] | None:
    by_worker: list[dict[tuple[int, int], Manifest]] = [{} for _ in range(workers)]
    for manifest in manifests:
        by_worker[manifest.worker][manifest.iteration, manifest.swaps] = manifest
    if manifests and all(manifest.is_alone for manifest in manifests):
        return [own[max(own)] if own else None for own in by_worker]
    common = set.intersection(*(set(own) for own in by_worker))
    return [own[max(common)] for own in by_worker] if common else None


def _link(manifest: Manifest, earlier: Path, place: Path) -> None:
    for file in [*(f"{FOLDER}/{name}" for name in (*manifest.files, manifest.name)), *manifest.results]:
        os.link(earlier / file, place / file)
