"""Makes folders for facts on their way, and for results that frames read: gone when released, or with the process."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

_folders: set[Path] = set()


def new_folder() -> Path:
    """Makes an empty folder that nobody else can read."""
    folder = Path(tempfile.mkdtemp(prefix="emberlog-run-"))
    _folders.add(folder)
    return folder


def delete(folder: Path) -> None:
    """Deletes it under another name: a worker that is still about to write finds no folder and makes no new files."""
    gone = folder.with_name(f"{folder.name}-gone")
    try:
        folder.rename(gone)
    except OSError:
        gone = folder
    shutil.rmtree(gone, ignore_errors=True)
    _folders.discard(folder)


def existing_folders() -> frozenset[Path]:
    """Lists the scratch folders of this process that still exist."""
    return frozenset(_folders)


@atexit.register
def _delete_all() -> None:
    for folder in tuple(_folders):
        delete(folder)
