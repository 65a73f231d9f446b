"""Decides where a run keeps its inputs, results and checkpoints, and gives each run a folder of its own there.

With a `local` master that is a scratch folder of this process. On a cluster it is a store that all executors, the
driver and Spark can use: the one that was asked for, else Spark's checkpoint directory. Where there is none, rows go
through Spark, and there are no checkpoints.
"""

from __future__ import annotations

import atexit
import json
import os
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from emberlog.config import Execution, refuse_options
from emberlog.diagnostics import EmberlogError, fail
from emberlog.engines.spark.frames.resources import is_connect
from emberlog.engines.spark.probe import is_local, name_of
from emberlog.engines.spark.session_settings import setting
from emberlog.engines.spark.slots import Slots
from emberlog.places import RUN_PREFIX, new_folder
from emberlog.workers.store.folders import Folder, LocalFolder, Unopened, folder_at, said_why

_OWNER = "owner.json"


@dataclass(frozen=True, slots=True)
class Store:
    """Holds where the folders of runs are made."""

    folder: Folder | None
    """None for the scratch folder of this process."""

    def new_run(self) -> Folder:
        """Makes an empty folder for one run, and deletes those of processes of this machine that are gone."""
        if self.folder is None:
            return LocalFolder(new_folder())
        sweep(self.folder)
        name = f"{RUN_PREFIX}{secrets.token_hex(8)}"
        folder = self.folder.within(name)
        self.folder.make(name)
        folder.write(_OWNER, json.dumps(_this_process()).encode())
        _runs[folder.location] = folder
        return folder


def delete_run(folder: Folder) -> None:
    """Deletes the folder of a run with all that is in it."""
    folder.delete()
    _runs.pop(folder.location, None)


def existing_runs() -> frozenset[str]:
    """Lists the folders of this process that still exist in stores."""
    return frozenset(_runs)


# --- which store ------------------------------------------------------------------------------------------------------

Sees = Callable[[str], str | None]
"""Says why not all executors can use a folder; None if they can."""

_readable: set[tuple[str, str]] = set()
"""Sessions and the stores that Spark has read in them."""


def choose_store(spark: SparkSession, slots: Slots, execution: Execution, sees: Sees) -> tuple[Store | None, str]:
    """Returns where runs are kept, None if rows go through Spark, and why so, in a few words. Raises DL336 and DL338 if
    it cannot be as asked."""
    asked = execution.recovery.location
    if execution.through_spark:
        if asked is not None:
            refuse_options("a run through Spark", ("location",), {"location": "facts go in and out as rows of Spark"})
        return None, "as asked for"
    if asked is not None:
        problem = _problem_with(spark, slots, asked, sees)
        if problem is not None:
            raise _unusable(problem)
        return Store(folder_at(asked)), f"files in {folder_at(asked).uri}"
    if slots.encrypts_files:
        return None, "spark.io.encryption.enabled is on"
    if slots.is_one_machine:
        return Store(None), ""
    location = _checkpoint_directory(spark)
    if location is None:
        return None, "there is no store: neither Recovery(location=…) nor a checkpoint directory of Spark"
    problem = _problem_with(spark, slots, location, sees)
    if problem is not None:
        return None, f"Spark's checkpoint directory cannot be used: {problem}"
    return Store(folder_at(location)), f"files in {folder_at(location).uri}"


def _checkpoint_directory(spark: SparkSession) -> str | None:
    if is_connect(spark):
        return setting(spark, "spark.checkpoint.dir")
    found: Any = spark.sparkContext._jsc.sc().getCheckpointDir()
    return str(found.get()) if found.isDefined() else None


def _problem_with(spark: SparkSession, slots: Slots, location: str, sees: Sees) -> str | None:
    """Returns why a folder is no store for this session."""
    try:
        folder = folder_at(location)
        with said_why(location):
            folder.make("")
        is_here = slots.is_classic and is_local(str(spark.sparkContext.master))
        unseen = None if is_here else sees(folder.location)
    except Unopened as problem:
        return str(problem)
    if unseen is not None:
        return f"it is not the same folder everywhere: {unseen}"
    return None if is_here and isinstance(folder, LocalFolder) else _unread_by_spark(spark, folder)


def _unread_by_spark(spark: SparkSession, folder: Folder) -> str | None:
    key = (name_of(spark), folder.location)
    if key in _readable:
        return None
    name = f"probe-{secrets.token_hex(8)}.txt"
    try:
        folder.write(name, b"seen\n")
        found = spark.read.text(f"{folder.uri}/{name}").head()
    except (OSError, pa.ArrowException) as error:
        return f"it cannot be written: {error}"
    except Exception as error:
        return f"Spark cannot read it: {str(error).strip().partition(chr(10))[0]}"
    finally:
        with suppress(OSError, pa.ArrowException):
            folder.delete_files([name])
    if found is None or found[0] != "seen":
        return "Spark reads another folder there"
    _readable.add(key)
    return None


def _unusable(problem: str) -> EmberlogError:
    return fail(
        "DL338",
        f"the location of checkpoints cannot be used: {problem}",
        None,
        "name a folder that driver and executors all see under the same path, or an address that pyarrow.fs opens on "
        "each of them (s3://, gs://, abfs://, hdfs://) and Spark reads, too; credentials come from the environment",
    )


# --- what processes leave behind --------------------------------------------------------------------------------------

_runs: dict[str, Folder] = {}


@atexit.register
def _delete_all() -> None:
    for folder in list(_runs.values()):
        if _is_mine(folder):  # a fork of this process has a copy of the list
            delete_run(folder)


def sweep(store: Folder) -> None:
    """Deletes the folders of runs whose process was on this machine and is gone. Of others nobody here can tell."""
    with suppress(OSError, ValueError, pa.ArrowException):
        for name in store.folders(RUN_PREFIX):
            with suppress(OSError, ValueError, pa.ArrowException):
                if _is_gone(json.loads(store.read(f"{name}/{_OWNER}"))):
                    store.delete(name)


def _this_process() -> dict[str, str]:
    """Names this process so that no other has the same name, ever."""
    return {
        "host": socket.gethostname(),
        "boot": _text("/proc/sys/kernel/random/boot_id"),
        "processes": _link("/proc/self/ns/pid"),
        "process": str(os.getpid()),
        "since": _since("self"),
    }


def _is_mine(folder: Folder) -> bool:
    with suppress(OSError, ValueError, pa.ArrowException):
        return bool(json.loads(folder.read(_OWNER)) == _this_process())
    return False


def _is_gone(owner: dict[str, str]) -> bool:
    here = _this_process()
    if not here["boot"] or any(owner[name] != here[name] for name in ("host", "boot", "processes")):
        return False
    return _since(owner["process"]) != owner["since"]


def _since(process: str) -> str:
    """Returns when a process of this machine began; empty if it is gone."""
    return "".join(_text(f"/proc/{process}/stat").rpartition(")")[2].split()[19:20])


def _text(path: str) -> str:
    with suppress(OSError):
        return Path(path).read_text().strip()
    return ""


def _link(path: str) -> str:
    with suppress(OSError):
        return os.readlink(path)
    return ""
