"""What a session of our own is started with."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from emberlog.engines.spark.session import _own_folder


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_small_files_have_a_folder_of_their_own(tmp_path: Path) -> None:
    folder = _own_folder()
    assert folder == _own_folder() == tmp_path / f"emberlog-{os.getuid()}"
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_can_write_to_is_not_used() -> None:
    folder = _own_folder()
    folder.chmod(0o777)
    assert _own_folder() != folder
    assert _own_folder().stat().st_mode & 0o777 == 0o700


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / f"emberlog-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    assert _own_folder().parent == tmp_path
    assert not (tmp_path / "elsewhere").samefile(_own_folder())
