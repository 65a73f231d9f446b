"""The checkpoint of a stream query: a record per step, and the files that records name.

A step is the evaluation of one micro-batch. Its files are written first, its record last and in one piece, so a step
either happened with everything that belongs to it, or did not happen.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from threading import Lock
from typing import Any

import pyarrow as pa

from emberlog.diagnostics import fail
from emberlog.streams.plan.slides import Clock
from emberlog.streams.steps.tables import read_tables
from emberlog.streams.steps.tuple_log import LogFile, TupleLog
from emberlog.workers.store.folders import Folder, folder_at

KEPT_RECORDS = 2
_PROGRAM = "program.json"
_IDENTITY, _STATICS = "the query", "relations"
OF_THE_PROGRAM = ("the program", "a parameter", "the columns of a relation")
"""What of a query can change without its tuples losing their meaning."""
_CLOSING = "closing"


@dataclass(frozen=True, slots=True)
class OutputFile:
    """Names a file with facts for the sink, of all slides of a step."""

    relation: str
    name: str
    rows: int


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts what happened since the query began."""

    tuples: int = 0
    late: int = 0
    bad: int = 0
    expired: int = 0
    slides: int = 0
    facts: Mapping[str, int] = field(default_factory=dict)
    """The number of facts in the last slide's answer, by relation."""


@dataclass(frozen=True, slots=True)
class Record:
    """Holds all there is to know after a step."""

    step: int
    batch: int
    """The last micro-batch of Spark that was evaluated; -1 before the first."""
    token: str
    """Names the resident state that this step left behind in its worker."""
    clock: Clock
    log: tuple[LogFile, ...] = ()
    outputs: tuple[OutputFile, ...] = ()
    slides: int = 0
    """The number of slides that this step closed."""
    totals: Totals = Totals()
    is_extra: bool = False
    """Whether the step had no batch: time had passed, or no more will come."""
    quarantine: tuple[LogFile, ...] = ()
    """The rows that could not be used, since the query began."""

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @staticmethod
    def from_json(data: bytes) -> Record:
        given: dict[str, Any] = json.loads(data)
        given["clock"] = Clock(**given["clock"])
        given["log"] = tuple(LogFile(**one) for one in given["log"])
        given["quarantine"] = tuple(LogFile(**one) for one in given["quarantine"])
        given["outputs"] = tuple(OutputFile(**one) for one in given["outputs"])
        given["totals"] = Totals(**given["totals"])
        return Record(**given)


class Checkpoint:
    def __init__(self, location: str) -> None:
        self.folder = folder_at(location)
        self.records = self.folder.within("steps")
        self.log = TupleLog(self.folder.within("log"))
        self.outputs = self.folder.within("outputs")
        self.quarantine = TupleLog(self.folder.within("quarantine"), is_by_time=False)
        self.unchanged = Lock()
        """Held while the files of a record are read beside the steps: nothing is deleted meanwhile."""

    @property
    def spark_location(self) -> str:
        """Returns the place where Spark keeps which input it has given to which batch."""
        return self.folder.within("spark").uri

    def static(self, name: str) -> Folder:
        """Returns a folder for the facts of a relation that is no stream."""
        return self.folder.within(f"static/{name}")

    @property
    def statics(self) -> dict[str, str]:
        """Returns the names of the folders that hold the facts of relations now, as they were when they were read."""
        return {} if self.is_new else dict(self._description()[_STATICS])

    def static_tables(self, relations: Iterable[str]) -> dict[str, pa.Table]:
        folders = self.statics
        return {name: read_tables(self.static(folders.get(name, name))) for name in relations}

    # --- which program it belongs to --------------------------------------------------------------------------------

    @property
    def is_new(self) -> bool:
        return _PROGRAM not in self.folder.files()

    @property
    def identity(self) -> dict[str, Any]:
        """Returns what the files depend on; empty if it is new."""
        return {} if self.is_new else self._description().get(_IDENTITY, {"the form of its files": 0})

    def check(self, identity: Mapping[str, object], may_change: Collection[str] = ()) -> None:
        """Raises DL340 if it is the checkpoint of another query."""
        before = self.identity
        changed = [name for name in identity if _as_json(identity[name]) != before.get(name)]
        wrong = [name for name in changed if name not in may_change]
        if before and wrong:
            hint = "what it has kept would give wrong answers; start the changed query with a new checkpoint"
            if set(wrong) <= set(OF_THE_PROGRAM):
                hint = "newProgram=True goes on with the tuples of its window; or start it with a new checkpoint"
            message = f"the checkpoint `{self.folder.location}` belongs to another query: {_listed(wrong)} changed"
            raise fail("DL340", message, None, hint)

    def claim(self, identity: Mapping[str, object], statics: Mapping[str, str]) -> None:
        """Makes the checkpoint that of a query, whose relations are in these folders."""
        given = _as_json({_IDENTITY: identity, _STATICS: statics})
        if self.is_new or given != self._description():
            self.folder.make("")
            self.folder.write(_PROGRAM, json.dumps(given, indent=1).encode())
        folders = self.folder.within("static")
        for name in set(folders.folders("")) - set(statics.values()):
            folders.delete(name)

    @property
    def state_name(self) -> str:
        """Names the states that workers keep: another program, or relations that were read anew, have other ones."""
        described = b"" if self.is_new else self.folder.read(_PROGRAM)
        return f"{self.folder.uri}#{hashlib.sha256(described).hexdigest()[:16]}"

    def _description(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.folder.read(_PROGRAM))
        return found

    # --- steps --------------------------------------------------------------------------------------------------------

    def last(self) -> Record | None:
        names = self.records.files()
        return Record.from_json(self.records.read(names[-1])) if names else None

    def commit(self, record: Record) -> None:
        self.records.make("")
        self.records.write(_record_name(record.step), record.to_json())

    def prune(self, record: Record) -> None:
        """Deletes what only steps before the one that the record follows needed."""
        with self.unchanged:
            names = self.records.files()
            kept = [name for name in names if name >= _record_name(record.step - KEPT_RECORDS + 1)]
            needed = [Record.from_json(self.records.read(name)) for name in kept]
            _delete_others(self.records, kept)
            _delete_others(self.log.folder, [file.name for one in needed for file in one.log])
            _delete_others(self.quarantine.folder, [file.name for one in needed for file in one.quarantine])
            _delete_others(self.outputs, [file.name for one in needed for file in one.outputs])

    # --- the end of a stream ------------------------------------------------------------------------------------------

    def intend_to_close(self, step: int) -> None:
        """Notes that the step closes all open slides, so that a restart does the same before it reads on."""
        self.folder.make("")
        self.folder.write(_CLOSING, str(step).encode())

    def intends_to_close(self, step: int) -> bool:
        return _CLOSING in self.folder.files() and int(self.folder.read(_CLOSING)) == step


def _as_json(value: object) -> Any:
    """Returns a value as it is once it has been written and read."""
    return json.loads(json.dumps(value))


def _record_name(step: int) -> str:
    return f"{step:012}.json"


def _delete_others(folder: Folder, kept: Iterable[str]) -> None:
    folder.delete_files(set(folder.files()).difference(kept))


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
