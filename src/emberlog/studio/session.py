"""Holds what a person works on in the studio: a program, data, the run at hand and its answers.

Pages show it and change it, and it knows nothing of pages: whoever opens the studio again finds what was there.
"""

from __future__ import annotations

import tempfile
import threading
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emberlog.config import Execution
from emberlog.database import Database
from emberlog.diagnostics import Diagnostic, EmberlogError, EmberlogWarning, Severity, fail
from emberlog.dialects import parse_tolerantly
from emberlog.events import Listener
from emberlog.io.local_relation import LocalRelation
from emberlog.io.paths import COMPRESSIONS, KINDS, kind_of
from emberlog.provenance.asked import Asked
from emberlog.semantics.analysis import analyze, parameters_of
from emberlog.semantics.model import CheckedProgram
from emberlog.source import Source
from emberlog.studio.answers import Answer, LocalAnswer, SparkAnswer
from emberlog.studio.runs import Run, State
from emberlog.studio.slides import Slides
from emberlog.syntax import ast

if TYPE_CHECKING:
    from emberlog.engines.engine import Counted
    from emberlog.logical.statistics import Statistics
    from emberlog.provenance.explanation import Proof, Refutation
    from emberlog.result import Explained, Result

ENGINES = {"local": "this process", "spark": "Spark"}
"""Who runs a program, and what a person calls it."""

LOOKS_LIKE_NAMES = "DL490"
"""The warning of a text file whose first line looks like the names of its columns."""

_LEAVING = 10.0
"""Seconds that a new run waits for the thread of a stopped one."""

EXAMPLE = """\
// Which places can be reached from which? Ctrl-Enter runs this.
arc(1, 2). arc(2, 3). arc(3, 4). arc(4, 2).

reach(X, Y) :- arc(X, Y).
reach(X, Z) :- reach(X, Y), arc(Y, Z).
"""


@dataclass(frozen=True, slots=True)
class Mistake:
    """Holds a diagnostic as an editor needs it: places are characters of the text."""

    severity: Severity
    code: str
    message: str
    hints: tuple[str, ...]
    start: int | None
    end: int | None
    line: int | None
    column: int | None


@dataclass(frozen=True, slots=True)
class Shown:
    """Describes a relation in the list of relations."""

    name: str
    columns: str
    """`X: int, Y: string`; empty where nothing is known yet."""
    kind: str
    """derived, input, written in the program, or stream."""
    facts: int | None
    """None where nobody has counted them."""
    is_data: bool = False
    """Whether data is registered under this name."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Holds what is known of a text."""

    text: str
    mistakes: tuple[Mistake, ...]
    relations: tuple[Shown, ...]
    parameters: tuple[str, ...]
    has_streams: bool
    seconds: float

    @property
    def is_right(self) -> bool:
        return all(one.severity is not Severity.ERROR for one in self.mistakes)


class Session:
    """Holds one person's work."""

    def __init__(self, text: str = EXAMPLE, path: Path | None = None) -> None:
        self.path = path
        """Where the program came from, and where it is saved."""
        self.saved = text
        self.text = text
        self.parameters: dict[str, str] = {}
        """As they were typed."""
        self.engine = "local"
        self.counts_rules = False
        """Whether the next run counts what each rule does."""
        self.files: dict[str, Path] = {}
        """The files that are registered."""
        self._headers: dict[str, bool] = {}
        """The relations whose files begin with names of columns."""
        self.run: Run | None = None
        self.ran: _Ran | None = None
        """What the run at hand, or the last one, was about."""
        self.proof: Proof | Refutation | None = None
        """The last answer to a question."""
        self.slides: Slides | None = None
        """The program over streams that is advanced."""
        self._local = Database(engine="local", progress=False)
        self._spark: Database[Any] | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="emberlog-studio-")
        self._counts: dict[str, int] = {}
        self._answers: dict[str, Answer] = {}
        self._data_version = 0
        self._questioned: tuple[_Ran, Result[Any]] | None = None
        self._busy = threading.RLock()

    # --- the program ------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return "program.dl" if self.path is None else self.path.name

    def save(self) -> None:
        """Writes the program back to its file."""
        if self.path is None:
            raise fail("DL533", "this program has no file", None, "download it, or start the studio with a file")
        try:
            self.path.write_text(self.text, encoding="utf-8")
        except OSError as error:
            raise fail("DL405", f"cannot write `{self.path}`: {(error.strerror or str(error)).lower()}") from None
        self.saved = self.text

    def check(self, text: str | None = None) -> Checked:
        """Tells what is wrong with a text, and which relations it has."""
        since = time.monotonic()
        asked = self.text if text is None else text
        tree = ast_of(asked, self.name)
        try:
            checked = self._analyzed(tree)
            found: tuple[Diagnostic, ...] = checked.warnings
        except EmberlogError as error:
            checked, found = None, error.diagnostics
        return Checked(
            asked,
            tuple(map(_mistake, found)),
            self._relations(checked),
            tuple(sorted({name for one in tree.statements for name in parameters_of(one)})),
            checked is not None and checked.has_streams,
            time.monotonic() - since,
        )

    def _analyzed(self, tree: ast.Program) -> CheckedProgram:
        inputs = self._local._input_columns(tree)
        return analyze(tree, inputs=inputs, functions=self._local._functions)

    def _relations(self, checked: CheckedProgram | None) -> tuple[Shown, ...]:
        found = {} if checked is None else self._relations_of(checked)
        for name in self.files.keys() - found.keys():
            header = self._local[name].header
            kind = "input" if checked is None else "input, not read by the program"
            found[name] = Shown(name, header, kind, self._counts.get(name), True)
        return tuple(sorted(found.values(), key=lambda one: (one.kind != "derived", one.name)))

    def _relations_of(self, checked: CheckedProgram) -> dict[str, Shown]:
        shown: dict[str, Shown] = {}
        counted = self.counted
        with_rules = {rule.relation for rule in checked.rules if rule.body}
        for relation in checked.relations.values():
            if not relation.is_written:
                continue
            columns = ", ".join(f"{one.name}: {one.type}" for one in relation.columns)
            is_data = relation.name in self.files
            if relation.is_stream:
                kind = "stream" if is_data else "stream without data"
            elif not relation.is_derived:
                kind = "input" if is_data else "input without data"
            else:
                kind = "derived" if relation.name in with_rules else "written in the program"
            facts = counted.get(relation.name, self._counts.get(relation.name))
            if facts is None and kind == "written in the program":
                facts = len(checked.facts.get(relation.name, ())) or None
            if relation.name in self._headers:
                kind += "; the first line of its file is taken as the names of columns"
            shown[relation.name] = Shown(relation.name, columns, kind, facts, is_data)
        return shown

    @property
    def counted(self) -> dict[str, int]:
        """Returns how many facts relations have, as far as the last run told."""
        if self.run is None:
            return {}
        found: dict[str, int] = {}
        for one in self.run.profile.strata:
            if len(one.relations) == 1 and one.rows is not None:
                found[one.relations[0]] = one.rows
        for name, answer in self._answers.items():
            if isinstance(answer, LocalAnswer):
                found[name] = answer.total
        return found

    # --- data -------------------------------------------------------------------------------------------------------

    def place_for(self, file_name: str) -> tuple[str, Path]:
        """Returns the relation that an uploaded file becomes, and where its content goes; raises DL407 for a file of a
        kind that is not known."""
        plain = Path(file_name.replace("\\", "/")).name
        if kind_of(plain) not in KINDS:
            raise fail("DL407", f"`{plain}` is not a kind of file that is known", None, f"known are {', '.join(KINDS)}")
        return relation_of(plain), Path(self._folder.name) / f"{time.monotonic_ns()}" / plain

    def register(self, name: str, path: Path) -> LocalRelation:
        """Makes a file a relation, and reads it."""
        before = self.files.get(name)
        try:
            relation = self._read(name, path)
        except BaseException:
            del self._local[name]
            if before is not None:
                self._read(name, before)
            raise
        self.files[name] = path
        self._counts[name] = len(relation)
        if self._spark is not None:
            self._spark.register(name, path, header=self._headers.get(name))
        self._data_version += 1
        return relation

    def _read(self, name: str, path: Path) -> LocalRelation:
        """Reads a file. Its first line is taken as the names of columns where it looks like that, and the list of
        relations says so."""
        self._headers.pop(name, None)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", EmberlogWarning)
            self._local.register(name, path)
            relation = self._local[name]
        found = [one.message.diagnostic for one in told if isinstance(one.message, EmberlogWarning)]
        if any(one.code == LOOKS_LIKE_NAMES for one in found):
            self._headers[name] = True
            self._local.register(name, path, header=True)
            relation = self._local[name]
        return relation

    def forget(self, name: str) -> None:
        """Takes the data of a relation away."""
        del self._local[name]
        if self._spark is not None:
            del self._spark[name]
        self.files.pop(name)
        self._counts.pop(name, None)
        self._data_version += 1

    def data(self, name: str) -> Answer:
        """Returns registered data, to be looked at."""
        return LocalAnswer(name, self._local[name])

    # --- running ----------------------------------------------------------------------------------------------------

    @property
    def ran_on(self) -> str:
        """Returns the engine of the run at hand, or of the last one."""
        return self.engine if self.ran is None else self.ran.engine

    @property
    def is_running(self) -> bool:
        return self.run is not None and self.run.state is State.RUNNING

    def start(self) -> Run:
        """Runs the program as it is; a run that goes on is stopped before."""
        self._stop_last()
        asked = _Ran(self.text, dict(self.parameters), self.engine, self._data_version)
        self._answers = {}
        self._drop_questions()
        counts = self.counts_rules

        def work(listener: Listener) -> Result[Any]:
            self._refuse_streams(asked)
            database = self._database(asked.engine)
            result = self._ran(database, asked, listener, Execution(profile=counts))
            for name in result:
                here = result._at_hand(name)
                if here is not None and here.types:
                    _ = here.table  # lists the facts as a part of the run, which can be stopped, not of the first page
            return result

        self.ran = asked
        self.run = Run(work, self._stop_jobs).start()
        return self.run

    def stop(self) -> None:
        if self.run is not None:
            self.run.stop()

    def _stop_last(self) -> None:
        last = self.run
        if last is None:
            return
        last.stop()
        if not last.leave(_LEAVING):
            raise fail("DL533", "the run that was stopped is still on its way out", None, "try again in a moment")
        if last.result is not None:
            last.result.close()

    def _refuse_streams(self, asked: _Ran) -> None:
        if self._analyzed(ast_of(asked.text, self.name)).has_streams:
            raise fail("DL533", "this program reads a stream", None, "it is advanced slide by slide, under Stream")

    def _ran(self, database: Database[Any], asked: _Ran, listener: Listener, execution: Execution) -> Result[Any]:
        program = ast_of(asked.text, self.name)
        params = {name: value_of(text) for name, text in asked.parameters.items() if text.strip()}
        return database.datalog(program, params=params, listener=listener, execution=execution)

    def _database(self, engine: str) -> Database[Any]:
        if engine == "local":
            return self._local
        if self._spark is None:
            spark: Database[Any] = Database(master="local[*]", conf={"spark.ui.enabled": "false"}, progress=False)
            for name, path in self.files.items():
                spark.register(name, path, header=self._headers.get(name))
            self._spark = spark
        return self._spark

    def _stop_jobs(self) -> None:
        if self._spark is not None:
            self._spark.spark.sparkContext.cancelAllJobs()

    # --- answers ----------------------------------------------------------------------------------------------------

    @property
    def outputs(self) -> tuple[str, ...]:
        """Returns the names of the relations that the last run gave."""
        result = None if self.run is None else self.run.result
        return () if result is None else tuple(result)

    def answer(self, name: str) -> Answer:
        """Returns the facts of an output; kept, so that pages of one view are sorted once."""
        if name not in self._answers:
            assert self.run is not None and self.run.result is not None
            result = self.run.result
            here = result._at_hand(name)
            relation = result.explained.checked.relations[name]
            if here is not None:
                self._answers[name] = LocalAnswer(name, here)
            else:
                self._answers[name] = SparkAnswer(name, result[name], [one.type for one in relation.columns])
        return self._answers[name]

    def export(self, name: str, form: str) -> Path:
        """Writes an answer into one file and returns where it is."""
        path = Path(self._folder.name) / f"answer-{time.monotonic_ns()}.{form}"
        answer = self.answer(name)
        if isinstance(answer, LocalAnswer):
            write_table(answer.relation, path, form)
        else:
            assert isinstance(answer, SparkAnswer)
            write_frame(answer, path, form)
        return path

    # --- questions --------------------------------------------------------------------------------------------------

    def why(self, relation: str, fact: Asked) -> Proof:
        """Returns a proof of a fact of the last run."""
        return self._recorded().why(relation, fact)

    def why_not(self, relation: str, fact: Asked) -> Refutation:
        return self._recorded().why_not(relation, fact, depth=2)

    def _recorded(self) -> Result[Any]:
        """Returns the last run once more, with a record of how facts came: only who asks pays for it."""
        if self.ran is None or self.run is None or self.run.state is not State.DONE:
            raise fail("DL533", "there are no answers to ask about", None, "run the program before")
        if self.ran.data_version != self._data_version:
            raise fail("DL533", "the data has changed since the run", None, "run the program again, and ask then")
        with self._busy:
            if self._questioned is None or self._questioned[0] is not self.ran:
                asked = self.ran
                recorded = self._ran(self._database(asked.engine), asked, lambda _: None, Execution(provenance=True))
                self._questioned = (asked, recorded)
            return self._questioned[1]

    def _drop_questions(self) -> None:
        if self._questioned is not None:
            self._questioned[1].close()
            self._questioned = None

    def costs(self, counts: bool) -> tuple[Explained, Statistics, Counted | None]:
        """Plans the program, and runs it once more in this process if rows are to be counted."""
        params = {name: value_of(text) for name, text in self.parameters.items() if text.strip()}
        return self._local._costs(ast_of(self.text, self.name), params, counts=counts)

    # --- streams ----------------------------------------------------------------------------------------------------

    def begin_stream(self) -> None:
        """Makes the program ready to be advanced, with the rows that are registered for its streams."""
        checked = self._analyzed(ast_of(self.text, self.name))
        if not checked.has_streams:
            raise fail("DL342", "this program reads no stream", None, "Run computes it")
        relations = self._local._engine.inputs(checked, checked.inputs).relations
        self.slides = Slides(checked, relations)

    def advance_stream(self, count: int = 1) -> None:
        """Closes the next slides."""
        if self.slides is None:
            self.begin_stream()
        assert self.slides is not None
        for _ in range(count):
            self.slides.advance()

    def type_rows(self, text: str) -> int:
        """Lets typed rows arrive; returns how many of them are too late."""
        if self.slides is None:
            self.begin_stream()
        assert self.slides is not None
        return self.slides.add_typed(text)

    # --- the end ----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Ends the run, and Spark if it was started."""
        if self.run is not None:
            self.run.stop()
            self.run.leave(_LEAVING)
        self._drop_questions()
        if self._spark is not None:
            self._spark.close()
        self._local.close()
        self._folder.cleanup()


@dataclass(frozen=True, slots=True, eq=False)
class _Ran:
    """Says what a run was about."""

    text: str
    parameters: Mapping[str, str]
    engine: str
    data_version: int


def ast_of(text: str, name: str) -> ast.Program:
    return parse_tolerantly(Source(name, text))


def relation_of(file_name: str) -> str:
    """`arc` for `arc.csv.gz`."""
    plain = Path(file_name)
    return (plain.with_suffix("") if plain.suffix.lower() in COMPRESSIONS else plain).stem


def value_of(text: str) -> object:
    """Returns the value of a parameter that somebody typed: a number, true or false, or a text."""
    stripped = text.strip()
    if stripped.lower() in ("true", "false"):
        return stripped.lower() == "true"
    for kind in (int, float):
        try:
            return kind(stripped)
        except ValueError:
            continue
    is_quoted = len(stripped) > 1 and stripped[0] == stripped[-1] == '"'
    return stripped[1:-1] if is_quoted else stripped


def _mistake(one: Diagnostic) -> Mistake:
    hints = tuple(
        note.text if note.span is None else f"{note.text} (line {note.span.begin.line})" for note in one.notes
    )
    if one.span is None:
        return Mistake(one.severity, one.code, one.message, hints, None, None, None, None)
    place = one.span.begin
    return Mistake(one.severity, one.code, one.message, hints, one.span.start, one.span.end, place.line, place.column)


def write_table(relation: LocalRelation, path: Path, form: str) -> None:
    """Writes facts of this process into a file."""
    from emberlog.io.writers import write_relations

    folder = path.with_suffix(".folder")
    write_relations({"facts": relation}, folder, form, **({"header": True} if form == "csv" else {}))
    _only_file(folder, form).rename(path)


def write_frame(answer: SparkAnswer, path: Path, form: str) -> None:
    """Writes facts of Spark into a file."""
    from emberlog.io.spark_writers import write_relations

    folder = path.with_suffix(".folder")
    write_relations({"facts": answer.frame.coalesce(1)}, folder, form, header=form == "csv")
    _only_file(folder, form).rename(path)


def _only_file(folder: Path, form: str) -> Path:
    return next(one for one in sorted(folder.rglob(f"*.{form}*")) if not one.name.startswith((".", "_")))
