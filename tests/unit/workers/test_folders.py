"""Folders on disks and in stores: the same to whoever uses them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from emberlog.workers.store.folders import Folder, LocalFolder, StoreFolder, Unopened, folder_at, open_file
from emberlog.workers.wire.feeding import read_footer


@pytest.fixture(params=["a disk", "a store"])
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Folder:
    if request.param == "a disk":
        return LocalFolder(tmp_path)
    system = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    return StoreFolder(system, "", "store://here?key=1", "store://here")


def test_what_is_written_is_there(folder: Folder) -> None:
    folder.make("a/b")
    folder.write("a/b/one", b"12345")
    with folder.open_out("a/b/two") as out:
        out.write(memoryview(b"abc"))
    assert folder.sizes("a/b") == {"a/b/one": 5, "a/b/two": 3}
    assert folder.within("a/b").read("one") == b"12345"
    with folder.open_in("a/b/two") as file:
        assert file.read() == b"abc"
    assert folder.exists("a/b/one") and folder.exists("a") and not folder.exists("a/c")
    assert folder.folders("a") == ["a"] and folder.folders("b") == []
    folder.delete_files(["a/b/one", "a/b/never"])
    assert folder.sizes("a/b") == {"a/b/two": 3}
    folder.delete("a")
    assert not folder.exists("a")
    assert folder.sizes("a/b") == {}
    folder.delete("a")
    with pytest.raises(FileNotFoundError):
        folder.open_in("a/b/two")


def test_a_file_is_written_over_as_a_whole(folder: Folder) -> None:
    folder.write("one", b"12345")
    folder.write("one", b"6")
    assert folder.sizes("") in ({"/one": 1}, {"one": 1})


def test_each_is_called_in_order(folder: Folder) -> None:
    assert folder.each(str, range(100)) == [str(one) for one in range(100)]
    with pytest.raises(ValueError, match="invalid literal"):
        folder.each(int, ["1", "x"])


def test_addresses() -> None:
    assert folder_at("/tmp/a b?c") == folder_at("file:///tmp/a%20b%3Fc") == LocalFolder(Path("/tmp/a b?c"))
    assert folder_at("here") == LocalFolder(Path.cwd() / "here")
    store = folder_at("s3a://key:word@bucket/runs/x?region=eu-west-1").within("attempt-1")
    assert isinstance(store, StoreFolder)
    assert store.path == "bucket/runs/x/attempt-1"
    assert store.location == "s3://key:word@bucket/runs/x/attempt-1?region=eu-west-1"
    assert store.uri == "s3a://bucket/runs/x/attempt-1"


def test_what_cannot_be_opened_is_said_without_what_is_secret() -> None:
    with pytest.raises(Unopened) as caught:
        folder_at("nowhere://key:word@bucket/runs?secret=1")
    assert str(caught.value).startswith("`nowhere://bucket/runs` cannot be opened: unrecognized filesystem type")
    assert "word" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_files_by_path_and_address(tmp_path: Path) -> None:
    path = tmp_path / "a b.parquet"
    pq.write_table(pa.table({"x": [1, 2, 3]}), path, row_group_size=2)
    for name in (str(path), path.as_uri(), path.as_uri().replace("file://", "file:")):
        with open_file(name) as file:
            assert file.size() == path.stat().st_size
        footer = read_footer(name)
        assert (footer.rows, footer.groups, footer.size) == (3, 2, path.stat().st_size)
    with pytest.raises(Unopened, match="cannot be opened"):
        open_file(str(tmp_path / "none"))
