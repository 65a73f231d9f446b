"""What a checked program is, in sentences: its size, why its recursion is right, what its time columns mean."""

from __future__ import annotations

from typing import assert_never

from emberlog.semantics.model import (
    Absent,
    CheckedProgram,
    Match,
    Recursion,
    RecursionCase,
    Relation,
    Stratum,
    Term,
    TimeRole,
)
from emberlog.syntax.ast import Variable, WindowKind
from emberlog.syntax.printer import print_window


def counted(number: int, noun: str) -> str:
    """`1 rule`, `1,204 facts`, `2 strata`."""
    plural = {"stratum": "strata", "query": "queries"}.get(noun, f"{noun}s")
    return f"{number:,} {noun if number == 1 else plural}"


def program_summary(checked: CheckedProgram) -> str:
    """`3 relations (1 input, 2 derived), 3 rules, 2 strata (1 recursive)`"""
    written = [one for one in checked.relations.values() if one.is_written and one.data_name in ("", one.name)]
    inputs = sum(not one.is_derived for one in written)
    derived = len(written) - inputs
    recursive = sum(stratum.recursion is not None for stratum in checked.strata)
    kinds = [counted(inputs, "input")] if inputs else []
    kinds += [f"{derived:,} derived"] if derived else []
    parts = [counted(len(written), "relation") + (f" ({', '.join(kinds)})" if kinds else "")]
    facts = sum(map(len, checked.facts.values()))
    parts += [counted(facts, "fact")] if facts else []
    names = {one.name for one in written}
    rules = sum(rule.relation in names and not checked.copies_data(rule) for rule in checked.rules)
    parts.append(counted(rules, "rule"))
    parts.append(counted(len(checked.strata), "stratum") + (f" ({recursive:,} recursive)" if recursive else ""))
    parts += [counted(len(checked.queries), "query")] if checked.queries else []
    return ", ".join(parts)


def recursion_kind(recursion: Recursion) -> str:
    """`linear, meet aggregate`: the shape of a recursion and what makes it right."""
    parts = ["linear" if recursion.is_linear else "non-linear"]
    if recursion.is_mutual:
        parts.append("mutual")
    match recursion.case:
        case RecursionCase.SET | RecursionCase.MEET | RecursionCase.MONOTONE_SUM:
            parts.append(recursion.case.value)
        case RecursionCase.STAGED:
            limit = "" if recursion.stage_limit is None else f" up to stage {recursion.stage_limit:,}"
            parts.append(recursion.case.value + limit)
        case RecursionCase.BOUNDED:
            rounds = "" if recursion.iterations is None else f", at most {counted(recursion.iterations, 'round')}"
            parts.append(recursion.case.value + rounds)
        case _:
            assert_never(recursion.case)
    return ", ".join(parts)


def stratum_kind(recursion: Recursion | None) -> str:
    return "not recursive" if recursion is None else f"recursive, {recursion_kind(recursion)}"


def input_notes(checked: CheckedProgram) -> tuple[str, ...]:
    """For each input that is no stream its columns, as far as they are known: `input arc(X, Y: int)`. One whose
    columns have no names has those of the variables that are used for them first."""
    used: dict[str, tuple[Term, ...]] = {}
    for rule in checked.rules:
        for literal in rule.body:
            if isinstance(literal, Match | Absent):
                used.setdefault(literal.relation, literal.terms)
    inputs = [checked.relations[name] for name in checked.inputs]
    return tuple(f"input {_with_columns(one, used.get(one.name, ()))}" for one in inputs if not one.is_stream)


def _with_columns(relation: Relation, used: tuple[Term, ...]) -> str:
    names = [column.name for column in relation.columns]
    is_unnamed = all(name == f"c{index}" for index, name in enumerate(names, start=1))
    if is_unnamed and len(used) == len(names):
        names = [one.name if isinstance(one, Variable) and one.name[0] != "_" else "_" for one in used]
    types = [f": {column.type}" if column.type.is_known else "" for column in relation.columns]
    return f"{relation.name}({', '.join(name + type_ for name, type_ in zip(names, types, strict=True))})"


def aggregate_notes(checked: CheckedProgram) -> tuple[str, ...]:
    """For each recursion through an aggregate, which of the legal cases it is, and why."""
    return tuple(
        f"{', '.join(stratum.relations)}: {stratum.recursion.case.value}; {stratum.recursion.reason}"
        for stratum in checked.strata
        if stratum.recursion is not None and _aggregates(checked, stratum)
    )


def _aggregates(checked: CheckedProgram, stratum: Stratum) -> bool:
    return any(checked.relations[name].is_aggregated for name in stratum.relations)


_SLIDING = (WindowKind.CLOSED, WindowKind.HOP)


def stream_notes(checked: CheckedProgram) -> tuple[str, ...]:
    """Returns what is a stream, what its time column means, and which windows are asked for."""
    notes = [f"{relation.name}: {_time(relation)}" for relation in checked.relations.values() if relation.is_stream]
    windows = [
        f"{query.relation}: asked for in {print_window(query.window)}"
        + ("" if query.window.slide or query.window.kind not in _SLIDING else ", with a slide of one time unit")
        for query in checked.queries
        if query.window is not None
    ]
    return (*notes, *windows)


def _time(relation: Relation) -> str:
    origin = "derived from a stream" if relation.is_derived else "a stream"
    match relation.time:
        case TimeRole.NONE:
            return f"{origin}, without a time column"
        case TimeRole.ANNOTATION if not relation.is_derived:
            return f"{origin}, its time is {relation.columns[0].name}"
        case TimeRole.ANNOTATION:
            return f"{origin}; {relation.columns[0].name} is when a fact became true and does not identify it"
        case TimeRole.ORDINARY:
            return (
                f"{origin}; the program compares or computes with {relation.columns[0].name}, "
                "so it is a column like any other"
            )
        case _:
            assert_never(relation.time)


def round_number(count: float) -> str:
    """Returns two digits are as much as an estimate knows."""
    if count < 100:
        return f"{count:,.0f}"
    digits = len(f"{count:.0f}") - 2
    return f"{round(count, -digits):,.0f}"
