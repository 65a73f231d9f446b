"""What a person asks about, as a relation and values that the relation can have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice

from emberlog.datatypes import BOOL, FLOAT, INT, STRING, TIMESTAMP, DataType
from emberlog.diagnostics import fail, nearest
from emberlog.io.moments import time_of
from emberlog.provenance.facts import FactBase
from emberlog.render.wording import pattern_text
from emberlog.semantics.model import CellValue, Fact, Relation


def asked_relation(known: Sequence[str], relation: str) -> str:
    if relation in known:
        return relation
    guess = nearest(relation, known)
    hint = f"did you mean `{guess}`?" if guess else f"it has {', '.join(known)}"
    raise fail("DL401", f"the run has no relation `{relation}`", None, hint)


def asked_pattern(relation: Relation, values: Sequence[object]) -> tuple[CellValue, ...]:
    """One value per column; None is any value."""
    if len(values) != relation.arity:
        raise fail(
            "DL441",
            f"`{relation}` has {relation.arity:,} columns, and {len(values):,} values are given",
            None,
            "None stands for any value",
        )
    return tuple(
        None if value is None else _value(relation.name, column.name, column.type, value)
        for column, value in zip(relation.columns, values, strict=True)
    )


def _value(relation: str, column: str, type_: DataType, value: object) -> CellValue:
    if type_ == TIMESTAMP and isinstance(value, datetime):
        return time_of(value)
    if type_ == TIMESTAMP and isinstance(value, str) and (moment := moment_in(value)) is not None:
        return time_of(moment)
    if type_ == FLOAT and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type_.parts and isinstance(value, Sequence) and not isinstance(value, str):
        parts = type_.parts if type_.name == "pair" else type_.parts * len(value)
        return tuple(_value(relation, column, part, one) for part, one in zip(parts, value, strict=True))
    expected = {INT: int, TIMESTAMP: int, FLOAT: float, STRING: str, BOOL: bool}.get(type_, object)
    if not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
        raise fail("DL441", f"the column `{column}` of `{relation}` has values of type {type_}, not {value!r}")
    return value  # type: ignore[return-value]


def moment_in(text: str) -> datetime | None:
    """`2026-03-02 08:05:00`, or None if it is none."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def asked_fact(base: FactBase, relation: str, pattern: tuple[CellValue, ...]) -> Fact:
    """The one fact that agrees with the pattern."""
    return only_fact(relation, pattern, _agreeing(base, relation, pattern))


def only_fact(relation: str, pattern: tuple[CellValue, ...], agreeing: Iterable[Fact]) -> Fact:
    """The one fact there is; says so if there is none, or if there are several."""
    found = tuple(islice(agreeing, 2))
    if not found:
        raise fail(
            "DL442",
            f"there is no fact {pattern_text(relation, pattern)}",
            None,
            "`why_not`, or `emberlog why-not`, tells what is missing for it",
        )
    if len(found) > 1:
        examples = " and ".join(pattern_text(relation, fact) for fact in found)
        raise fail("DL443", f"several facts agree with {pattern_text(relation, pattern)}", None, f"{examples}, say")
    return found[0]


def refuse_present(base: FactBase, relation: str, pattern: tuple[CellValue, ...]) -> None:
    """A fact that is there cannot be refuted."""
    found = next(_agreeing(base, relation, pattern), None)
    if found is not None:
        raise fail("DL445", f"the fact {pattern_text(relation, found)} is there", None, "why tells where it comes from")


def _agreeing(base: FactBase, relation: str, pattern: tuple[CellValue, ...]) -> Iterator[Fact]:
    """The facts that agree with the pattern, each once."""
    wanted = {column: value for column, value in enumerate(pattern) if value is not None}
    seen: set[Fact] = set()
    for fact in base.find(relation, wanted).facts:
        if all(fact[column] == value for column, value in wanted.items()) and fact not in seen:
            seen.add(fact)
            yield fact
