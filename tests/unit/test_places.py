"""Where files are put, on machines that are not kind: no home, a stranger's folder, a process that was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from emberlog import places
from emberlog.diagnostics import EmberlogError
from emberlog.places import delete, existing_folders, kept_folder, new_folder

IS_ROOT = hasattr(os, "getuid") and os.getuid() == 0


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Gives each test temporary files of its own, and no home."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(places, "_mine", [])
    (tmp_path / "a file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a file"))
    return tmp_path / "tmp"


def test_what_stays_is_at_home_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert kept_folder() == tmp_path / "cache" / "emberlog"
    assert kept_folder().stat().st_mode & 0o777 == 0o700


def test_a_home_that_nobody_knows_is_none(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", unknown)
    assert kept_folder().parent == temporary


def test_without_a_home_it_is_among_the_temporary_files(temporary: Path) -> None:
    folder = kept_folder()
    assert folder == kept_folder() == temporary / f"emberlog-{os.getuid()}"
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_can_write_to_is_not_used() -> None:
    folder = kept_folder()
    folder.chmod(0o777)
    assert kept_folder() != folder
    assert kept_folder().stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("kind", ["a file", "a link to a folder", "a dangling link"])
def test_what_is_in_its_place_is_left_alone(temporary: Path, kind: str) -> None:
    place, elsewhere = temporary / f"emberlog-{os.getuid()}", temporary / "elsewhere"
    if kind == "a file":
        place.touch()
    else:
        place.symlink_to(elsewhere)
    if kind == "a link to a folder":
        elsewhere.mkdir(mode=0o700)
    assert kept_folder().parent == temporary
    assert kept_folder() == kept_folder() != place
    assert not elsewhere.exists() or not any(elsewhere.iterdir())


def test_no_place_at_all_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr(tempfile, "gettempdir", nowhere)
    with pytest.raises(EmberlogError, match=r"DL422.*no usable temporary directory"):
        new_folder()


def test_a_folder_goes_when_it_is_deleted(temporary: Path) -> None:
    folder = new_folder()
    assert folder.stat().st_mode & 0o777 == 0o700 and folder in existing_folders()
    delete(folder)
    assert not folder.exists() and folder not in existing_folders()


SCRIPT = """
import sys, tempfile
tempfile.tempdir = sys.argv[1]
from emberlog.places import new_folder
(new_folder() / "facts").write_text("many")
print("there", flush=True)
sys.stdin.readline()
"""


def process(temporary: Path) -> subprocess.Popen[str]:
    """Starts a process with a scratch folder, which it keeps until its input ends."""
    command = [sys.executable, "-c", SCRIPT, str(temporary)]
    started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None and started.stdout.readline() == "there\n"
    return started


def test_folders_of_processes_that_are_gone_are_deleted_by_the_next(temporary: Path) -> None:
    killed, alive = process(temporary), process(temporary)
    assert len(list(temporary.glob("*/run-*/facts"))) == 2
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    folder = new_folder()
    assert len(list(temporary.glob("*/run-*/facts"))) == 1, "that of the living one stays"
    alive.communicate("\n")
    assert list(temporary.iterdir()) == [folder.parent], "who ends in peace leaves nothing"


def test_a_folder_that_is_just_being_made_is_left_alone(temporary: Path) -> None:
    young, old = temporary / "emberlog-run-young", temporary / "emberlog-run-old"
    for folder in (young, old):
        folder.mkdir(mode=0o700)
    long_ago = time.time() - 2 * places.UNCLAIMED
    os.utime(old, (long_ago, long_ago))
    new_folder()
    assert young.exists() and not old.exists()


CAPABILITY = "+dac_read_search"
"""May read everything, so that the test can run from anybody's folder, but write nothing."""

CONTAINER = f"setpriv --reuid 54321 --regid 54321 --clear-groups --inh-caps {CAPABILITY} --ambient-caps {CAPABILITY}"
"""Becomes a user with a number only."""

TC = """
{facts}
tc(X, Y) :- arc(X, Y).
tc(X, Z) :- tc(X, Y), arc(Y, Z).
total(count<_>) :- tc(_, _).
total(N)?
""".format(facts="\n".join(f"arc({i}, {i + 1})." for i in range(200)))


@pytest.mark.skipif(not IS_ROOT, reason="only root can become a user with a number only")
@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.slow])])
def test_a_container_without_home_and_name_runs_a_recursion(engine: str, tmp_path: Path) -> None:
    shared = Path(tempfile.mkdtemp(prefix="emberlog-test-", dir="/tmp"))
    shared.chmod(0o1777)
    program = tmp_path / "tc.dl"
    program.write_text(TC)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(shared)}
    command = [*CONTAINER.split(), sys.executable, "-m", "emberlog", "run", "--engine", engine, str(program)]
    try:
        finished = subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True, timeout=250)
        assert finished.returncode == 0, finished.stderr
        assert "20100" in finished.stdout
        assert [path.name for path in shared.glob("emberlog-*")] == ["emberlog-54321"]
    finally:
        subprocess.run(["rm", "-rf", str(shared)], check=True)
