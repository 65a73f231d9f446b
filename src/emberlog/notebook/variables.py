"""Finds in the variables of a notebook what a program reads and nobody has registered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from emberlog.diagnostics import nearest
from emberlog.io.local_relation import LocalRelation
from emberlog.result import Result
from emberlog.semantics.analysis import parameters_of
from emberlog.semantics.rewriting.input_data import defined_relations
from emberlog.syntax import ast


def data_of(names: Iterable[str], variables: Mapping[str, object]) -> dict[str, object]:
    """Returns the data of those relations that a notebook has: in a variable of that name, or in a result that has all
    facts of the relation; of these, the one that was made last counts."""
    results = results_in(variables)
    found: dict[str, object] = {}
    for name in names:
        if is_data(variables.get(name)):
            found[name] = variables[name]
        elif owners := [one for one in results if name in whole_relations(one)]:
            found[name] = owners[-1][name]
    return found


def results_in(variables: Mapping[str, object]) -> list[Result[Any]]:
    """Returns the results that variables hold and that can be read, in the order in which they were made."""
    found = {id(value): value for value in variables.values() if isinstance(value, Result)}
    readable = [one for one in found.values() if not (one.explained.checked.has_streams or one.is_closed)]
    return sorted(readable, key=lambda one: one._number)


def whole_relations(result: Result[Any]) -> list[str]:
    """Returns the relations that were derived and have all their facts in a result: of what was asked with constants,
    only the facts that answer are there."""
    asked: dict[str, bool] = {}
    for one in result.program.statements:
        if isinstance(one, ast.Query):
            names = [term.name for term in one.atom.terms if isinstance(term, ast.Variable)]
            free = len(names) + sum(isinstance(term, ast.Wildcard) for term in one.atom.terms)
            is_whole = free == len(one.atom.terms) and len(set(names)) == len(names)
            asked[one.atom.predicate] = is_whole and asked.get(one.atom.predicate, True)
    derived = defined_relations(result.program)
    return [name for name in result if name in derived and asked.get(name, True)]


def is_data(value: object) -> bool:
    """Tells whether a value is a table of some kind: of pandas, polars, Arrow, DuckDB or Spark, a list or set of rows,
    a dict of columns, or a path."""
    match value:
        case type() | Result():
            return False
        case LocalRelation() | Path() | list() | set() | frozenset():
            return True
        case dict():
            return bool(value) and all(isinstance(column, list) for column in value.values())
        case _:
            return type(value).__module__.split(".")[0] in _TABLES and hasattr(type(value), "columns")


_TABLES = {"pandas", "polars", "pyarrow", "duckdb", "pyspark"}


def parameters_in(
    program: ast.Program, variables: Mapping[str, object], given: Mapping[str, object]
) -> dict[str, object]:
    """Returns the values of the program's parameters: those that were given, and of the others the variables of that
    name."""
    used = sorted({name for statement in program.statements for name in parameters_of(statement)})
    return {**{name: variables[name] for name in used if name in variables}, **given}


def how_to_give(name: str, variables: Mapping[str, object]) -> list[str]:
    """Returns hints for a relation without facts."""
    tables = [variable for variable, value in variables.items() if is_data(value) and not variable.startswith("_")]
    if name in variables and not is_data(variables[name]):
        return [f"the variable `{name}` is of type {type(variables[name]).__name__}, which is no table"]
    guess = nearest(name, tables)
    if guess is not None:
        return [f"did you mean the variable `{guess}`?"]
    guess = nearest(name, (relation for result in results_in(variables) for relation in whole_relations(result)))
    if guess is not None:
        return [f"did you mean `{guess}`, which an earlier cell gave?"]
    return [f"give them as a variable `{name}`: a DataFrame, a table of Arrow, a list of tuples, a path"]
