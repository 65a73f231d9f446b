"""Finds places for files: one that stays, for what later runs use again, and scratch folders that go with the process.

Containers may have no home that can be written, and others may have put something where our folder would be. So every
place is tried before it is used, and the next one taken where it is not ours to write.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from emberlog.diagnostics import EmberlogError, fail

if sys.platform != "win32":  # where nothing tells whether a process is gone
    import fcntl

RUN_PREFIX = "emberlog-run-"
_ALIVE = "alive"
"""The file that a process keeps locked in its scratch folder: the lock goes with the process, however that ends."""

UNCLAIMED = 86_400.0
"""Seconds after which a scratch folder without that file belongs to nobody."""


# --- what stays -----------------------------------------------------------------------------------------------------


def kept_folder() -> Path:
    """Returns a folder that this user alone can write: in the cache of his home, else among the temporary files, else
    one that goes with the process."""
    for folder in _candidates():
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _is_ours(folder):
                return folder
    return _process_folder()


def history_file() -> Path | None:
    """Returns the file that keeps what was typed into the REPL, which this user alone can read; None where there is no
    home that can be written."""
    try:
        file = _state_folder() / "history"
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600))
    except (OSError, RuntimeError):  # a user without a home
        return None
    return file


def _state_folder() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "emberlog"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "emberlog"
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "emberlog"


def _candidates() -> Iterator[Path]:
    with contextlib.suppress(RuntimeError):  # a user without a name and without a home
        if sys.platform == "darwin":
            yield Path.home() / "Library" / "Caches" / "emberlog"
        else:
            yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "emberlog"
    user = os.getuid() if hasattr(os, "getuid") else "user"
    yield _temporary() / f"emberlog-{user}"


def _is_ours(folder: Path) -> bool:
    """Tells whether nobody else can have put something there, and we can. Code is loaded from these folders."""
    found = folder.lstat()
    is_safe = not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o022)
    return stat.S_ISDIR(found.st_mode) and is_safe and os.access(folder, os.W_OK | os.X_OK)


# --- what goes with the process -------------------------------------------------------------------------------------

_folders: set[Path] = set()
_mine: list[tuple[int, Path]] = []
"""The process and its scratch folder, if it has one."""


def new_folder() -> Path:
    """Makes an empty folder that nobody else can read, for facts on their way and for results that frames read."""
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=_process_folder()))
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
    """Lists the folders of this process that still exist."""
    return frozenset(_folders)


def _process_folder() -> Path:
    """Returns the folder that holds all of this process, and deletes those of processes that are gone."""
    if _mine and _mine[0][0] == os.getpid() and _mine[0][1].is_dir():
        return _mine[0][1]
    _sweep()
    try:
        folder = Path(tempfile.mkdtemp(prefix=RUN_PREFIX, dir=_temporary()))
        # Locked under another name first: nobody ever sees the file without its lock.
        unlocked = folder / f"{_ALIVE}.new"
        descriptor = os.open(unlocked, os.O_CREAT | os.O_WRONLY, 0o600)  # open, and so locked, until the process ends
        if sys.platform != "win32":
            with contextlib.suppress(OSError):  # a file system without locks: nobody else can tell either
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        unlocked.rename(folder / _ALIVE)
    except OSError as error:
        raise no_temporary_folder(error) from None
    _mine[:] = [(os.getpid(), folder)]
    return folder


def _sweep() -> None:
    for folder in _temporary().glob(f"{RUN_PREFIX}*"):
        with contextlib.suppress(OSError):
            if _is_ours(folder) and not _is_alive(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_alive(folder: Path) -> bool:
    try:
        file = (folder / _ALIVE).open("rb")
    except FileNotFoundError:
        return time.time() - folder.lstat().st_mtime < UNCLAIMED
    with file:
        if sys.platform == "win32":
            return True
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        return False


def _temporary() -> Path:
    try:
        return Path(tempfile.gettempdir())
    except OSError as error:
        raise no_temporary_folder(error) from None


def no_temporary_folder(error: OSError) -> EmberlogError:
    """Returns the error for a machine on which nothing can be written for a while."""
    reason = error.strerror or str(error)
    return fail(
        "DL422",
        f"no folder for temporary files can be used: {reason[:1].lower()}{reason[1:]}",
        None,
        "the environment variable TMPDIR names a folder that this user can write, with room in it",
    )


@atexit.register
def _delete_all() -> None:
    if _mine and _mine[0][0] == os.getpid():  # a fork of this process has a copy of the list
        delete(_mine[0][1])
