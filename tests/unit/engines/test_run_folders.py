"""Folders of runs in a store, and what processes leave behind in it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import fs

from emberlog.engines.spark.run_folders import Store, delete_run, existing_runs
from emberlog.places import existing_folders
from emberlog.workers.store.folders import Folder, LocalFolder, StoreFolder


@pytest.fixture(params=["a disk", "a store"])
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Folder:
    if request.param == "a disk":
        return LocalFolder(tmp_path)
    system = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    return StoreFolder(system, "", "store://here", "store://here")


def test_without_a_store_runs_are_among_the_temporary_files() -> None:
    folder = Store(None).new_run()
    assert Path(folder.location) in existing_folders()
    delete_run(folder)
    assert Path(folder.location) not in existing_folders()
    assert not Path(folder.location).exists()


def test_a_run_has_a_folder_of_its_own(place: Folder) -> None:
    store = Store(place)
    one, other = store.new_run(), store.new_run()
    assert one.location != other.location
    assert {one.location, other.location} <= existing_runs()
    one.write("facts", b"1")
    delete_run(one)
    assert one.location not in existing_runs()
    assert len(place.folders("emberlog-run-")) == 1
    delete_run(other)
    assert place.folders("emberlog-run-") == []


def test_it_is_open_to_whom_the_store_is_open(tmp_path: Path) -> None:
    for mode in (0o700, 0o2770, 0o1777):
        tmp_path.chmod(mode)
        run = Store(LocalFolder(tmp_path)).new_run()
        run.make("attempt-1/checkpoints")
        places = (Path(run.location), Path(run.location) / "attempt-1", Path(run.location) / "attempt-1/checkpoints")
        assert {place.stat().st_mode & 0o7777 for place in places} == {mode}
        delete_run(run)


def test_what_a_process_of_this_machine_left_is_swept(tmp_path: Path) -> None:
    leave = (
        "import os, pathlib, sys\n"
        "from emberlog.engines.spark.run_folders import Store\n"
        "from emberlog.workers.store.folders import LocalFolder\n"
        "Store(LocalFolder(pathlib.Path(sys.argv[1]))).new_run()\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", leave, str(tmp_path)], check=True)
    (left,) = tmp_path.iterdir()
    owner = json.loads((left / "owner.json").read_text())
    for change in ({"host": "another"}, {"boot": "another"}, {"processes": "another"}):
        elsewhere = tmp_path / f"emberlog-run-{'-'.join(change)}"
        elsewhere.mkdir()
        (elsewhere / "owner.json").write_text(json.dumps({**owner, **change}))
    (tmp_path / "emberlog-run-without-owner").mkdir()
    (tmp_path / "somebody's").mkdir()
    mine = Store(LocalFolder(tmp_path)).new_run()
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(
        [
            Path(mine.location).name,
            "emberlog-run-boot",
            "emberlog-run-host",
            "emberlog-run-processes",
            "emberlog-run-without-owner",
            "somebody's",
        ]
    )
    delete_run(mine)


def test_it_goes_with_the_process(tmp_path: Path) -> None:
    end = (
        "import pathlib, sys\n"
        "from emberlog.engines.spark.run_folders import Store\n"
        "from emberlog.workers.store.folders import LocalFolder\n"
        "assert Store(LocalFolder(pathlib.Path(sys.argv[1]))).new_run()\n"
    )
    subprocess.run([sys.executable, "-c", end, str(tmp_path)], check=True)
    assert list(tmp_path.iterdir()) == []
