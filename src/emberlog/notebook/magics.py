"""Has the magics `%datalog` and `%%datalog`: programs in cells, on what the notebook has."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import no_var_expand
from IPython.display import display as untyped_display

from emberlog.cli.databases import computed_once, read_answers
from emberlog.cli.terminal import warnings_heard
from emberlog.config import DEFAULT_LIMITS, Execution, Limits
from emberlog.database import Database
from emberlog.diagnostics import Diagnostic, Diagnostics, interrupts_told, nearest
from emberlog.dialects import parse_tolerantly
from emberlog.events import ignore
from emberlog.notebook.notes import RunNote, WarningsNote, is_local, place_of
from emberlog.notebook.options import Variable, leading_options, parser, words_of
from emberlog.notebook.variables import data_of, how_to_give, is_data, parameters_in, results_in, whole_relations
from emberlog.planning import parsed
from emberlog.profile import RunProfile
from emberlog.progress.live_line import BLINK, LiveLine
from emberlog.render.answer_text import Answer
from emberlog.result import Result
from emberlog.semantics.rewriting.input_data import defined_relations, mentioned_relations
from emberlog.source import Source
from emberlog.syntax import ast

display: Any = untyped_display


class DatalogMagics:
    """Runs programs on the active Spark session if there is one, else in this process."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.parser = parser()
        self._defaults: list[str] = []
        """Options that a line said for all cells."""
        self._local: Database[Any] | None = None
        self._on_spark: Database[Any] | None = None

    @property
    def variables(self) -> dict[str, object]:
        """Returns what the notebook has; nothing that IPython keeps for itself."""
        hidden = self.shell.user_ns_hidden
        return {name: value for name, value in self.shell.user_ns.items() if hidden.get(name) is not value}

    def cell(self, line: str, cell: str) -> None:
        words = [*self._defaults, *words_of(line)]
        if "--help" in words:
            self._show_help()
            return
        options = self.parser.parse_args(words)
        if options.name is not None and not options.name.isidentifier():
            raise UsageError(f"`{options.name}` is no name for a variable")
        # The line of the magic counts, as it does for who looks at the numbers beside the cell.
        result = self._run(parse_tolerantly(self._source(f"\n{cell}")), options)
        if options.name is not None:
            self.shell.user_ns[options.name] = result
        if options.show:
            display(result)

    def line(self, line: str) -> Result[Any] | None:
        words, text = leading_options(line, self.parser)
        if "--help" in words:
            self._show_help()
            return None
        options = self.parser.parse_args([*self._defaults, *words])
        if not text:
            self._defaults = list(words) or self._defaults
            print(self._state(options))
            return None
        program = parsed(text) if text.endswith(".dl") else parse_tolerantly(self._source(text))
        return self._run(program, options)

    def _source(self, text: str) -> Source:
        cells: Any = self.shell.user_ns.get("In", ())  # which has this one already
        return Source(f"In [{len(cells) - 1}]", text)

    def _run(self, program: ast.Program, options: argparse.Namespace) -> Result[Any]:
        """Runs a program on what the notebook has, and shows all but its answers."""
        variables = self.variables
        database = self._database(options, variables)
        missing = [name for name in mentioned_relations(program) if name not in database]
        data = data_of((name for name in missing if name not in defined_relations(program)), variables)
        self._check_queries(program, database, data)
        profile = RunProfile() if options.profile else None
        heard: list[Diagnostic] = []
        since = time.monotonic()
        try:
            with (
                warnings_heard(heard.append, action=options.warnings),
                told_errors(database),
                database._lent(data, lambda name: how_to_give(name, variables)),
            ):
                result = database.datalog(
                    program,
                    params=parameters_in(program, variables, self._given(options, variables)),
                    iterations=options.iterations,
                    limits=Limits(timeout=options.timeout) if options.timeout else DEFAULT_LIMITS,
                    listener=profile or ignore,
                    execution=Execution(profile=options.profile, provenance=options.provenance),
                )
        finally:
            if heard:
                display(WarningsNote(dict.fromkeys(heard)))
        if options.show:
            result._read = self._answers(database, result, options.show)
        display(RunNote(place_of(database), result, time.monotonic() - since))
        if profile is not None:
            display(profile)
        return result

    def _answers(self, database: Database[Any], result: Result[Any], show: int) -> tuple[Answer, ...]:
        """Reads the first facts of each relation; on Spark that may take as long as to compute them."""
        if result.explained.checked.has_streams:
            return ()
        line = LiveLine(sys.stderr, delay=BLINK)
        is_shown = database.progress and line.is_live
        with interrupts_told(), told_errors(database), line if is_shown else nullcontext(), computed_once(result):
            return tuple(read_answers(result, show, line if is_shown else None))

    # --- where it runs ----------------------------------------------------------------------------------------------

    def _database(self, options: argparse.Namespace, variables: Mapping[str, object]) -> Database[Any]:
        """Returns the database that is named, or one of the engine that is named, or of the active session."""
        if options.db is not None:
            database = variables.get(options.db)
            if not isinstance(database, Database):
                known = [name for name, value in variables.items() if isinstance(value, Database)]
                guess = nearest(options.db, known) or ", ".join(known)
                hint = f"; did you mean {guess}?" if guess else ""
                raise UsageError(f"no variable {options.db} holds a Database{hint}")
            if options.engine is not None:
                raise UsageError("--db says already which engine it is: leave --engine out")
            return database
        session = None if options.engine == "local" else active_session()
        if session is None and options.engine != "spark":
            if self._local is None:
                self._local = Database(engine="local")
            return self._local
        if self._on_spark is None or session is None or self._on_spark.spark is not session:
            self._on_spark = Database(session)
        return self._on_spark

    def _check_queries(self, program: ast.Program, database: Database[Any], data: Collection[str]) -> None:
        """Raises an error for queries about what is neither in the program nor in the notebook."""
        found = Diagnostics()
        others = ast.Program(program.source, tuple(one for one in program.statements if not isinstance(one, ast.Query)))
        known = {*mentioned_relations(others), *data, *database}
        for one in program.statements:
            if isinstance(one, ast.Query) and one.atom.predicate not in known:
                name = one.atom.predicate
                guess = nearest(name, known)
                hints = [f"did you mean `{guess}`?"] if guess else how_to_give(name, self.variables)
                found.error("DL201", f"there is no relation `{name}`", one.atom.name_span, *hints)
        found.raise_errors()

    def _given(self, options: argparse.Namespace, variables: Mapping[str, object]) -> dict[str, object]:
        given: dict[str, object] = dict(options.params)
        for name, value in given.items():
            if isinstance(value, Variable):
                if value not in variables:
                    raise UsageError(f"--param {name}=${value}: there is no variable {value}")
                given[name] = variables[value]
        return given

    # --- what is there ----------------------------------------------------------------------------------------------

    def _show_help(self) -> None:
        print(self.parser.format_help())

    def _state(self, options: argparse.Namespace) -> str:
        """Tells where cells run, and which relations they can read."""
        variables = self.variables
        tables = [name for name, value in variables.items() if is_data(value) and not name.startswith("_")]
        is_spark = options.engine == "spark" or (options.engine is None and active_session() is not None)
        where = "on Spark" if is_spark else "in this process"
        lines = [f"cells run {where if options.db is None else f'on the database {options.db}'}"]
        if self._defaults:
            lines.append(f"options of all cells: {' '.join(self._defaults)}")
        lines.append(f"tables in variables: {', '.join(tables) or 'none'}")
        found = {id(value): name for name, value in variables.items() if not name.startswith("_")}
        for result in results_in(variables):
            if id(result) in found:
                lines.append(
                    f"relations of {found[id(result)]}: {', '.join(whole_relations(result)) or 'none with all facts'}"
                )
        lines.append("%datalog --help lists the options")
        return "\n".join(lines)


for _one in (DatalogMagics.cell, DatalogMagics.line):
    no_var_expand(_one)  # `$name` is a parameter, and none of IPython's
    _one.__doc__ = parser().format_help()  # for `%%datalog?`


def active_session() -> Any:
    """Returns the session of Spark that the notebook works with, if any."""
    if "pyspark.sql" not in sys.modules:  # nobody can have made one
        return None
    from emberlog.engines.spark.session import active_session

    return active_session()


def told_errors(database: Database[Any]) -> AbstractContextManager[object]:
    """Returns what makes errors of Spark's into ours, for a database on Spark."""
    if is_local(database):
        return nullcontext()
    from emberlog.engines.spark.failures import told_as_such

    return told_as_such()
