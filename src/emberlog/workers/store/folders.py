"""Folders that workers and driver share: on a disk that all of them see, or in a store that Arrow and Spark both read.

A run keeps its inputs, results and checkpoints in one. Names of files are below it, with slashes, so that they mean
the same to everyone, wherever each of them sees the folder.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar
from urllib.parse import unquote, urlsplit, urlunsplit

import pyarrow as pa
from pyarrow import fs

from emberlog import places

Item = TypeVar("Item")
Found = TypeVar("Found")

ADDRESSES = {"s3a": "s3", "s3n": "s3"}
"""Names of Hadoop for what Arrow knows under another one."""

_WHOLE_WHEN_CLOSED = ("s3", "gcs", "abfs")
"""Object stores: a file is there when it is complete, there are no folders, and to rename is to copy."""

_AT_ONCE = 32
"""Requests to a store at the same time. A request takes some hundredths of a second, nearly all of it waiting."""


_UNFINISHED = ".unfinished"


class Unopened(Exception):
    """Says why a folder cannot be used from here."""


class Folder(Protocol):
    @property
    def location(self) -> str:
        """Returns how it is opened elsewhere: an absolute path, or an address of Arrow."""
        ...

    @property
    def uri(self) -> str:
        """Returns the address in the form that Spark wants."""
        ...

    def within(self, name: str) -> Folder: ...

    def make(self, name: str) -> None:
        """Makes a folder below it, or itself, where folders have to be made."""
        ...

    def open_out(self, name: str) -> Any:
        """Opens a file of Arrow for writing."""
        ...

    def open_in(self, name: str) -> IO[bytes]:
        """Opens a file to read it once, from its begin to its end."""
        ...

    def write(self, name: str, data: bytes) -> None:
        """Writes all of a file or nothing: a reader never sees half of it."""
        ...

    def read(self, name: str) -> bytes: ...

    def exists(self, name: str) -> bool: ...

    def sizes(self, name: str) -> dict[str, int]:
        """Returns the files of a folder below it, none if it is not there, and how many bytes each has."""
        ...

    def files(self) -> list[str]:
        """Lists the files in it by name, without those that are not finished; none if it is not there."""
        ...

    def folders(self, prefix: str) -> list[str]:
        """Returns the names of the folders in it that begin so."""
        ...

    def delete_files(self, names: Iterable[str]) -> None:
        """Deletes files, or finds that they are gone."""
        ...

    def delete(self, name: str = "") -> None:
        """Deletes a folder below it, or itself. What cannot be deleted stays."""
        ...

    def each(self, call: Callable[[Item], Found], items: Iterable[Item]) -> list[Found]:
        """Calls a function that waits for the folder with each item, as many at once as is good for it."""
        ...


@dataclass(frozen=True, slots=True)
class LocalFolder:
    """A folder on a disk of this machine, or one that is mounted here."""

    path: Path

    @property
    def location(self) -> str:
        return str(self.path)

    @property
    def uri(self) -> str:
        return f"file://{self.path}"  # Spark takes a name as it is, without the escapes of addresses

    def within(self, name: str) -> LocalFolder:
        return LocalFolder(self.path / name)

    def make(self, name: str) -> None:
        """Makes it for whom the folder above it is: executors of a cluster may be another user than the driver."""
        here = self.path / name
        if not here.is_dir():
            above = LocalFolder(here.parent)
            above.make("")
            with suppress(FileExistsError):
                here.mkdir()
                here.chmod(here.parent.stat().st_mode & 0o7777)

    def open_out(self, name: str) -> Any:
        return pa.OSFile(str(self.path / name), "wb")

    def open_in(self, name: str) -> IO[bytes]:
        return (self.path / name).open("rb")

    def write(self, name: str, data: bytes) -> None:
        unfinished = self.path / _unfinished(name)
        unfinished.write_bytes(data)
        unfinished.replace(self.path / name)

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def exists(self, name: str) -> bool:
        return (self.path / name).exists()

    def sizes(self, name: str) -> dict[str, int]:
        try:
            with os.scandir(self.path / name) as found:
                return {f"{name}/{one.name}": one.stat().st_size for one in found if one.is_file()}
        except FileNotFoundError:
            return {}

    def files(self) -> list[str]:
        try:
            with os.scandir(self.path) as found:
                return sorted(one.name for one in found if one.is_file() and _is_finished(one.name))
        except FileNotFoundError:
            return []

    def folders(self, prefix: str) -> list[str]:
        return [one.name for one in self.path.glob(f"{prefix}*") if one.is_dir()]

    def delete_files(self, names: Iterable[str]) -> None:
        for name in names:
            (self.path / name).unlink(missing_ok=True)

    def delete(self, name: str = "") -> None:
        places.delete(self.path / name)

    def each(self, call: Callable[[Item], Found], items: Iterable[Item]) -> list[Found]:
        return [call(item) for item in items]


@dataclass(frozen=True, slots=True)
class StoreFolder:
    """A folder of a file system of Arrow."""

    system: fs.FileSystem
    path: str
    location: str
    uri: str

    def within(self, name: str) -> StoreFolder:
        base, mark, options = self.location.partition("?")
        location = f"{base.rstrip('/')}/{name}{mark}{options}"
        return StoreFolder(self.system, self._at(name), location, f"{self.uri.rstrip('/')}/{name}")

    @property
    def _is_keyed(self) -> bool:
        return self.system.type_name in _WHOLE_WHEN_CLOSED

    def make(self, name: str) -> None:
        if not self._is_keyed:
            self.system.create_dir(self._at(name), recursive=True)
        elif not name:
            self.system.get_file_info(self.path)  # nothing to make, and whoever may not look is told now

    def open_out(self, name: str) -> Any:
        return self.system.open_output_stream(self._at(name))

    def open_in(self, name: str) -> Any:
        return self.system.open_input_stream(self._at(name))

    def write(self, name: str, data: bytes) -> None:
        unfinished = name if self._is_keyed else _unfinished(name)
        with self.open_out(unfinished) as out:
            out.write(data)
        if unfinished != name:
            self.system.move(self._at(unfinished), self._at(name))

    def read(self, name: str) -> bytes:
        with self.open_in(name) as file:
            return bytes(file.read())

    def exists(self, name: str) -> bool:
        return bool(self.system.get_file_info(self._at(name)).type is not fs.FileType.NotFound)

    def sizes(self, name: str) -> dict[str, int]:
        found = self.system.get_file_info(fs.FileSelector(self._at(name), allow_not_found=True))
        return {f"{name}/{one.base_name}": int(one.size) for one in found if one.is_file}

    def files(self) -> list[str]:
        found = self.system.get_file_info(fs.FileSelector(self.path, allow_not_found=True))
        return sorted(one.base_name for one in found if one.is_file and _is_finished(one.base_name))

    def folders(self, prefix: str) -> list[str]:
        found = self.system.get_file_info(fs.FileSelector(self.path, allow_not_found=True))
        return [one.base_name for one in found if not one.is_file and one.base_name.startswith(prefix)]

    def delete_files(self, names: Iterable[str]) -> None:
        def delete(name: str) -> None:
            with suppress(FileNotFoundError):
                self.system.delete_file(self._at(name))

        self.each(delete, names)

    def delete(self, name: str = "") -> None:
        with suppress(OSError, pa.ArrowException):
            self.system.delete_dir(self._at(name))

    def each(self, call: Callable[[Item], Found], items: Iterable[Item]) -> list[Found]:
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            return list(threads.map(call, items))

    def _at(self, name: str) -> str:
        return f"{self.path.rstrip('/')}/{name}" if name else self.path


def _unfinished(name: str) -> str:
    """Names a file that is being written: two who write the same one do not meet there."""
    return f"{name}.{uuid.uuid4().hex}{_UNFINISHED}"


def _is_finished(name: str) -> bool:
    return not name.startswith((".", "_")) and not name.endswith(_UNFINISHED)


def folder_at(location: str) -> Folder:
    """Opens a folder by its path or its address. It need not be there. Raises Unopened."""
    address = urlsplit(location)
    if len(address.scheme) < 2:  # none, or the letter of a drive
        return LocalFolder(Path(os.path.abspath(location)))
    if address.scheme == "file":
        return LocalFolder(Path(unquote(address.path)))
    with said_why(location):
        here = address._replace(scheme=ADDRESSES.get(address.scheme, address.scheme))
        system, root = _opened(here.scheme, here.netloc, here.query)
        path = f"{root.rstrip('/')}/{unquote(here.path).strip('/')}"
        return StoreFolder(system, path, urlunsplit(here), without_options(location))


def open_file(location: str) -> Any:
    """Opens a file by its path or its address, so that any part of it can be read. Raises Unopened."""
    folder = folder_at(location)
    with said_why(location):
        if isinstance(folder, StoreFolder):
            return folder.system.open_input_file(folder.path)
        return pa.memory_map(folder.location)


@lru_cache(maxsize=16)
def _opened(scheme: str, host: str, options: str) -> tuple[fs.FileSystem, str]:
    """Opens a file system once, because that takes connections and threads; returns where its addresses begin, too."""
    system, root = fs.FileSystem.from_uri(urlunsplit((scheme, host, "/", options, "")))
    return system, str(root)


@contextmanager
def said_why(location: str) -> Iterator[None]:
    """Raises Unopened for what Arrow says of an address."""
    try:
        yield
    except MemoryError:
        raise
    except (OSError, ValueError, ImportError, NotImplementedError, pa.ArrowException) as error:
        address, where = urlsplit(location), without_options(location)
        reason = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
        for secret in (address.query, address.netloc.rpartition("@")[0]):  # which Arrow repeats
            reason = reason.replace(secret, "…") if secret else reason
        raise Unopened(f"`{where}` cannot be opened: {reason[:1].lower()}{reason[1:]}") from None


def without_options(location: str) -> str:
    """Returns an address without what only Arrow reads of it, such as a key and the host of a store."""
    address = urlsplit(location)
    return (
        urlunsplit(address._replace(netloc=address.netloc.rpartition("@")[2], query="")) if address.query else location
    )
