"""Whether what an engine said is one of the things that may come out of a program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from tests.crosscheck.meaning import Known, Near
from tests.crosscheck.oracle import Fact, Verdict
from tests.crosscheck.programs import Row

MOST_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Answered:
    facts: Mapping[str, frozenset[Row]]


@dataclass(frozen=True, slots=True)
class Failed:
    code: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Crashed:
    """Something else than an error of the language came out."""

    what: str


Outcome: TypeAlias = Answered | Failed | Crashed


@dataclass(frozen=True, slots=True)
class Difference:
    kind: str
    """The same for differences of one cause, as far as one can tell: what the shrinker keeps."""
    details: str


def difference(verdict: Verdict, outcome: Outcome) -> Difference | None:
    """None if the outcome may be. An engine may answer in spite of a fault only where no query asks for it, and
    fail only where the oracle knows a fault, with a code that it knows."""
    match outcome:
        case Crashed(what):
            return Difference(f"crash: {what.split(':')[0]}", what)
        case Failed(code, message):
            if code in verdict.codes or code == "DL225":
                return None  # a constant that no float is equal to is refused before it runs, met or not
            wanted = f"one of {sorted(verdict.codes)}" if verdict.codes else "an answer"
            kind = "another error" if verdict.codes else "an error" if code.startswith("DL5") else "refused"
            return Difference(f"{kind} {code}", f"{code} ({message}) in place of {wanted}")
        case Answered(facts):
            if verdict.must:
                return Difference("no error", f"an answer in place of one of {sorted(verdict.codes)}")
            return _other_answer(verdict.answers, facts)
        case _:
            assert_never(outcome)


def _other_answer(expected: Mapping[str, frozenset[Fact]], found: Mapping[str, frozenset[Row]]) -> Difference | None:
    lines = []
    if expected.keys() != found.keys():
        lines.append(f"answers for {sorted(found)} in place of {sorted(expected)}")
    for name in sorted(expected.keys() & found.keys()):
        missing, wrong = _without_partner(expected[name], found[name]), _without_partner(found[name], expected[name])
        if missing:
            lines.append(f"{name} lacks {_shown(missing)}")
        if wrong:
            lines.append(f"{name} has {_shown(wrong)}")
    return Difference("another answer", "; ".join(lines)) if lines else None


def _shown(facts: Iterable[tuple[object, ...]]) -> str:
    texts = sorted(f"({', '.join(map(_cell, fact))})" for fact in facts)
    more = f" and {len(texts) - MOST_SHOWN} more" if len(texts) > MOST_SHOWN else ""
    return ", ".join(texts[:MOST_SHOWN]) + more


def _cell(value: object) -> str:
    return f"{value.value!r}±{value.slack:.1g}" if isinstance(value, Near) else repr(value)


def _without_partner(facts: Iterable[Fact], others: Iterable[Fact]) -> list[Fact]:
    """Facts that are none of the others. A `Near` on either side stands for all floats that are near."""
    others = list(others)
    exact = {repr(other) for other in others}
    return [one for one in facts if repr(one) not in exact and not any(_fits(one, other) for other in others)]


def _fits(one: Fact, other: Fact) -> bool:
    return len(one) == len(other) and all(map(_is_same, one, other))


def _is_same(one: Known, other: Known) -> bool:
    """Values are the same with their type and the sign of a zero: 1, 1.0 and true are three values."""
    match one, other:
        case (Near(value, slack), float() as found) | (float() as found, Near(value, slack)):
            return abs(found - value) <= slack
        case _:
            return repr(one) == repr(other)
