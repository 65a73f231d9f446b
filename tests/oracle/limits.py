"""Stops an evaluation that passes a limit, with an error that shows how far it came."""

from __future__ import annotations

import time
from collections.abc import Mapping

from emberlog.config import Limits
from emberlog.diagnostics import EmberlogError, fail
from emberlog.semantics.model import Fact, Match, Stratum
from emberlog.source import Span
from tests.oracle.expressions import shown

SHOWN_FACTS = 3

State = Mapping[str, frozenset[Fact]]


class Guard:
    """Watches one evaluation."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._deadline = None if limits.timeout is None else time.monotonic() + limits.timeout
        self._rows_of_earlier_strata = 0
        self._progress = "no iteration was finished"

    def keep(self, rows: int) -> None:
        """A stratum is finished; its facts stay."""
        self._rows_of_earlier_strata += rows
        self._progress = "no iteration was finished"

    def check_time(self, stratum: Stratum) -> None:
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise self._stop("DL512", f"the timeout of {self._limits.timeout:,} seconds", "timeout", stratum)

    def check_round(self, stratum: Stratum, number: int, before: State, after: State) -> None:
        """To be called after every round that changed something."""
        added = [(name, fact) for name in stratum.relations for fact in after[name] - before[name]]
        rows = sum(len(facts) for facts in after.values())
        self._progress = f"iteration {number:,} added {_count(len(added))}, {rows:,} in all: {_first_of(added)}"
        max_iterations, max_rows = self._limits.max_iterations, self._limits.max_rows
        if max_iterations is not None and number > max_iterations and stratum.recursion is not None:
            raise self._stop("DL510", f"the limit of {max_iterations:,} iterations", "max_iterations", stratum)
        if max_rows is not None and self._rows_of_earlier_strata + rows > max_rows:
            raise self._stop("DL511", f"the limit of {max_rows:,} rows", "max_rows", stratum)
        self.check_time(stratum)

    def _stop(self, code: str, limit: str, option: str, stratum: Stratum) -> EmberlogError:
        return fail(
            code,
            f"{limit} was passed in stratum {stratum.index}: {', '.join(stratum.relations)}",
            _place(stratum),
            self._progress,
            f"if the program comes to an end by itself, raise {option}; "
            "if it makes new values for ever, bound them with a condition such as `D < 1000`",
        )


def _place(stratum: Stratum) -> Span:
    """The first rule that reads its own stratum, as that is what goes on and on."""
    for rule in stratum.rules:
        if any(isinstance(literal, Match) and literal.relation in stratum.relations for literal in rule.body):
            return rule.span
    return stratum.rules[0].span


def _count(facts: int) -> str:
    return f"{facts:,} fact{'' if facts == 1 else 's'}"


def _first_of(added: list[tuple[str, Fact]]) -> str:
    """A few of the new facts, the same in every run."""
    texts = sorted(f"{name}({', '.join(map(shown, fact))})" for name, fact in added)
    more = ", …" if len(texts) > SHOWN_FACTS else ""
    return ", ".join(texts[:SHOWN_FACTS]) + more
