"""Plans programs over the data that a database has, and keeps plans for when the programs run again."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from emberlog.diagnostics import EmberlogError, fail, warn
from emberlog.dialects import DIALECTS, parse_tolerantly
from emberlog.engines.engine import Engine
from emberlog.io.python_rows import parameters_of
from emberlog.language.registry import Functions
from emberlog.logical.statistics import NO_STATISTICS, RelationStatistics, Statistics
from emberlog.optimize.pipeline import Optimized, plan_program
from emberlog.semantics.analysis import analyze
from emberlog.semantics.model import CheckedProgram, Column, Match, Relation
from emberlog.semantics.rewriting.input_data import mentioned_relations
from emberlog.source import Source
from emberlog.syntax import ast
from emberlog.syntax.declared_types import with_declared_types
from emberlog.timing import Part, timed

ProgramLike = str | os.PathLike[str] | ast.Program
"""A program's text, a file that holds it, or a parsed program."""

MOST_KEPT = 64
"""Programs of a database that are kept; those that were run last."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Says what somebody wants to run. Constants are as they are spelled: 1 is not 1.0."""

    text: str
    params: tuple[tuple[str, str], ...]
    iterations: int | None
    off: frozenset[str]
    provenance: bool

    @staticmethod
    def of(
        text: str, params: Mapping[str, ast.Constant], iterations: int | None, off: frozenset[str], provenance: bool
    ) -> Asked:
        return Asked(
            text, tuple(sorted((name, repr(one)) for name, one in params.items())), iterations, off, provenance
        )


@dataclass(frozen=True, slots=True)
class Prepared:
    """Holds a plan, and what it was made from beside the program."""

    tree: ast.Program
    columns: Mapping[str, Sequence[Column]]
    functions: Functions
    statistics: Statistics
    checked: CheckedProgram
    optimized: Optimized

    def was_checked_for(self, columns: Mapping[str, Sequence[Column]], functions: Functions) -> bool:
        return self.functions is functions and self.columns == columns


class ProgramPlanner:
    """Checks and plans programs over what an engine has registered."""

    def __init__(self, engine: Engine[Any], look_at: Callable[[str], None]) -> None:
        """`look_at` raises an error if the data of a relation that a program mentions is there no more."""
        self._engine = engine
        self._look_at = look_at
        self._seen: dict[str, dict[tuple[Column, ...], RelationStatistics | None]] = {}
        """Statistics of what is registered, by the columns that a program sees. They are only estimates, so they need
        not be taken again for every program, even where a table has grown since."""
        self._kept: OrderedDict[Asked, Prepared] = OrderedDict()
        self._lock = Lock()

    def forget(self, name: str) -> None:
        """Forgets the statistics of a relation whose data is another one now, or gone."""
        self._seen.pop(name, None)

    def plan(
        self,
        program: ProgramLike,
        params: Mapping[str, object] | None,
        iterations: int | None,
        off: Iterable[str],
        provenance: bool,
        functions: Functions,
    ) -> tuple[CheckedProgram, Optimized]:
        """Returns the checked program and its plan: those of an earlier run where neither columns nor functions nor
        statistics are others now."""
        constants, off = parameters_of(params or {}), frozenset(off)
        asked = before = None
        if isinstance(program, str) and not is_path(program):
            asked = Asked.of(program, constants, iterations, off, provenance)
            before = self._kept_for(asked)
        tree = parsed(program) if before is None else before.tree
        columns = self.input_columns(tree)
        if before is not None and before.was_checked_for(columns, functions):
            checked = before.checked
        else:
            before = None
            checked = analyze(tree, params=constants, inputs=columns, iterations=iterations, functions=functions)
        warn(checked.warnings)
        statistics = self._statistics(checked)
        if before is not None and before.statistics == statistics:
            return checked, before.optimized
        optimized = plan_program(checked, off=off, statistics=statistics, provenance=provenance)
        if asked is not None:
            self._keep(asked, Prepared(tree, columns, functions, statistics, checked, optimized))
        return checked, optimized

    def input_columns(self, program: ast.Program) -> dict[str, Sequence[Column]]:
        """Returns the columns of the registered data that a program speaks of."""
        columns: dict[str, Sequence[Column]] = {}
        program, _ = with_declared_types(program)
        declarations = {one.predicate: one for one in program.statements if isinstance(one, ast.Declaration)}
        registered = set(self._engine)
        for name in mentioned_relations(program):
            if name not in registered:
                continue
            self._look_at(name)
            declaration = declarations.get(name)
            declared = [Column(one.name, one.type) for one in declaration.columns] if declaration else None
            with timed(Part.READING):
                found = self._engine.columns(name, declared)
            if found is not None:
                columns[name] = found
        return columns

    def _statistics(self, checked: CheckedProgram) -> Statistics:
        """Returns statistics of the registered data if some body joins anything: a plan has no use for them
        otherwise."""
        joins = [rule for rule in checked.rules if sum(isinstance(one, Match) for one in rule.body) > 1]
        if not joins or checked.has_streams:
            return NO_STATISTICS
        return self.known(checked)

    def known(self, checked: CheckedProgram) -> Statistics:
        """Returns what is known of the data that a program reads."""
        registered = set(self._engine)
        inputs = [one for name in checked.inputs if (one := checked.relations[name]).data_name in registered]
        found = {one.name: self._statistics_of(one) for one in inputs}
        return {name: one for name, one in found.items() if one is not None}

    def _statistics_of(self, relation: Relation) -> RelationStatistics | None:
        seen = self._seen.setdefault(relation.data_name, {})
        if relation.columns not in seen:
            with timed(Part.READING):
                seen[relation.columns] = self._engine.statistics(relation.data_name, relation)
        return seen[relation.columns]

    def _kept_for(self, asked: Asked) -> Prepared | None:
        with self._lock:
            found = self._kept.get(asked)
            if found is not None:
                self._kept.move_to_end(asked)
            return found

    def _keep(self, asked: Asked, prepared: Prepared) -> None:
        with self._lock:
            self._kept[asked] = prepared
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)


def without_problems(program: ast.Program) -> ast.Program:
    """Returns the program; raises its syntax errors."""
    if not program.is_readable:
        raise EmberlogError(program.problems)
    return program


def is_path(program: str) -> bool:
    """Tells whether a string is the name of a file, and not a program."""
    return program.endswith(".dl") and "\n" not in program


def parsed(program: ProgramLike, dialect: str | None = None, include: Sequence[str] = ()) -> ast.Program:
    """Returns the program as a tree, with its syntax errors, which `analyze` raises with all others. A string is the
    text of a program, unless it is the name of a `.dl` file. `include` are folders of files that it includes."""
    if dialect is not None and dialect not in DIALECTS:
        raise fail("DL410", f"there is no dialect `{dialect}`", None, f"known are {' and '.join(DIALECTS)}")
    if isinstance(program, ast.Program):
        return program
    if isinstance(program, str) and not is_path(program):
        return parse_tolerantly(Source("<text>", program), dialect, include)
    path = Path(program)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise fail("DL405", f"cannot read `{path}`: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise fail("DL406", f"`{path}` is not text in UTF-8") from None
    return parse_tolerantly(Source(str(path), text), dialect, include)
