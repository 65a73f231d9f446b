"""Writes the Python function of one search: nested loops over indexes, compiled once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from emberlog.language.registry import Functions
from emberlog.live.searches.facts import Facts, Index, Key, State
from emberlog.live.searches.ranks import GAP
from emberlog.logical.expressions import condition_columns, substitute, substitute_in_condition
from emberlog.logical.nodes import Condition
from emberlog.logical.python_evaluation import by_position, compile_conditions, compile_expression
from emberlog.semantics.model import Absent, Bind, Compare, Fact, Holds, Literal, Match
from emberlog.semantics.totality import TRY
from emberlog.syntax.ast import Call, Constant, Expression, Variable, variables_of

Emit: TypeAlias = Callable[[Fact, int], bool]
"""Takes what the head comes to for a valuation, and the highest rank of the facts that it read; tells whether that is
enough."""
Find: TypeAlias = Callable[[Iterable[Fact], Emit, int], bool]


class SearchWriter:
    """Writes the Python function of one search: nested loops, in which a test that fails goes on with the next row.

    Values of a program are never part of the code: they are in the namespace that it runs in."""

    def __init__(
        self, facts: Mapping[str, Facts], functions: Functions, ranked: frozenset[str], *, is_limited: bool
    ) -> None:
        self.facts = facts
        self.functions = functions
        self.ranked = ranked
        self.is_limited = is_limited
        self.lines = ["def search(given, emit, limit):"]
        self.depth = 1
        self.loops = 0
        self.space: dict[str, Any] = {"old": _old, "kept": _kept}
        self.names: dict[str, str] = {}
        """How the code calls the variables of the rule."""
        self.ranks: list[str] = []
        """What the code calls the ranks of the facts that it has read."""
        self.may_be_null: set[str] = set()
        """Variables that the head gives a value, and one atom takes: a null of the head is one of the atom."""

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def require(self, *conditions: str) -> None:
        """Goes on with the next row if not all conditions hold."""
        if conditions:
            self.line(f"if not ({' and '.join(conditions)}): continue")

    def loop(self, name: str, rows: str) -> None:
        self.line(f"for {name} in {rows}:")
        self.depth += 1
        self.loops += 1

    def given(self, kind: str, value: Any) -> str:
        """Returns the name of something in the namespace."""
        name = f"{kind}{len(self.space)}"
        self.space[name] = value
        return name

    def variable(self, name: str) -> str:
        return self.names.setdefault(name, f"v{len(self.names)}")

    def finish(self) -> Find:
        self.lines.append("    return False")
        exec("\n".join(self.lines), self.space)
        search: Find = self.space["search"]
        return search

    # --- where a search begins --------------------------------------------------------------------------------------

    def begin_with_nothing(self) -> None:
        self.loop("_", "(0,)")

    def begin_with_head(self, names: Sequence[str | None], never_null: Sequence[bool]) -> None:
        self.loop("fact", "given")
        first: dict[str, int] = {}
        for place, name in enumerate(names):
            if name is None:
                continue
            if name in first:
                self.require(f"fact[{first[name]}] == fact[{place}]")
                continue
            first[name] = place
            self.line(f"{self.variable(name)} = fact[{place}]")
            if never_null[place]:
                self.require(f"{self.variable(name)} is not None")

    def begin_with(self, literal: Literal, known: set[str], state: State) -> None:
        assert isinstance(literal, Match | Absent)
        if isinstance(literal, Absent):
            self.line("seen = set()")
        self.loop("fact", "given")
        first: dict[str, int] = {}
        bound = []
        for place, term in enumerate(literal.terms):
            match term:
                case Constant(value):
                    self.require(f"fact[{place}] is not None", f"fact[{place}] == {self.given('c', value)}")
                case Variable(name) if name in first:
                    self.require(f"fact[{place}] is not None", f"fact[{first[name]}] == fact[{place}]")
                case Variable(name):
                    first[name] = place
                    if name in known:
                        self.line(f"{self.variable(name)} = fact[{place}]")
                        bound.append(self.variable(name))
        if isinstance(literal, Match):
            if literal.relation in self.ranked:
                self.rank("rank", "fact", self.facts[literal.relation], state)
            return
        self.require(*(f"{name} is not None" for name in bound))
        self.line(f"pattern = {_tuple(bound)}")
        self.line("if pattern in seen: continue")
        self.line("seen.add(pattern)")
        self.absent(literal, known, state)  # if another fact agrees, this change makes no difference

    # --- steps in between -------------------------------------------------------------------------------------------

    def step(self, literal: Literal, bound: set[str], state: State, known: set[str]) -> None:
        match literal:
            case Match():
                self.scan(literal, bound, state)
            case Absent():
                self.absent(literal, known, state)
            case Bind(variable, expression):
                value = self.expression(expression)
                if variable.name in bound:
                    self.line(f"found = {value}")
                    self.require("found is not None", f"found == {self.variable(variable.name)}")
                else:
                    self.line(f"{self.variable(variable.name)} = {value}")
            case Compare() | Holds():
                self.conditions((literal,))

    def guess(self, name: str, expression: Expression) -> None:
        self.line(f"{self.variable(name)} = {self.expression(Call(TRY, (expression,)))}")
        self.require(f"{self.variable(name)} is not None")

    def expression(self, one: Expression) -> str:
        """Returns the code of a value."""
        if isinstance(one, Variable):
            return self.variable(one.name)
        if isinstance(one, Constant):
            return self.given("c", one.value)
        names = list(dict.fromkeys(variable.name for variable in variables_of(one)))
        compiled = compile_expression(one, by_position(names), self.functions)
        return f"{self.given('e', compiled)}({_tuple([self.variable(name) for name in names])})"

    def conditions(self, conditions: Sequence[Condition]) -> None:
        if not conditions:
            return
        names = list(dict.fromkeys(name for one in conditions for name in sorted(condition_columns(one))))
        compiled = compile_conditions(conditions, by_position(names), self.functions)
        self.require(f"{self.given('t', compiled)}({_tuple([self.variable(name) for name in names])})")

    def risky(self, literals: Sequence[Literal], bound: set[str]) -> None:
        """Writes what can fail: a fault counts only if all conditions hold."""
        values: dict[str, Expression] = {}
        binds: list[Bind] = []
        conditions: list[Condition] = []
        for literal in literals:
            match literal:
                case Bind(variable, expression) if variable.name not in bound and variable.name not in values:
                    values[variable.name] = substitute(expression, values)
                    binds.append(literal)
                case Compare() | Holds():
                    conditions.append(substitute_in_condition(literal, values))
                case _:
                    raise AssertionError(f"{literal} cannot fail")
        self.conditions(conditions)
        for bind in binds:
            self.step(bind, set(), State.NEW, set())

    def head(self, head: Sequence[Expression]) -> None:
        row = _tuple([self.expression(one) for one in head])
        rank = (
            str(-GAP) if not self.ranks else self.ranks[0] if len(self.ranks) == 1 else f"max({', '.join(self.ranks)})"
        )
        self.line(f"if emit({row}, {rank}): return True")

    def absent(self, literal: Absent, known: set[str], state: State) -> None:
        facts = self.facts[literal.relation]
        places: list[int] = []
        keys: list[str] = []
        free: dict[str, int] = {}
        same: list[tuple[int, int]] = []
        never_null = []
        for place, term in enumerate(literal.terms):
            match term:
                case Constant(value):
                    places.append(place)
                    keys.append(self.given("c", value))
                case Variable(name) if name in known:
                    places.append(place)
                    keys.append(self.variable(name))
                    never_null.append(f"{self.variable(name)} is None")
                case Variable(name) if name in free:
                    same.append((free[name], place))
                case Variable(name):
                    free[name] = place
        now, gone = facts.index(places)
        agrees = self.given("agrees", _any_match(now, gone, facts.come, same, state))
        nulls = "".join(f"{one} or " for one in never_null)
        if any(isinstance(term, Constant) and term.value is None for term in literal.terms):
            return
        self.require(f"({nulls}not {agrees}({_key(keys)}))")

    def scan(self, literal: Match, bound: set[str], state: State) -> None:
        facts = self.facts[literal.relation]
        is_ranked = literal.relation in self.ranked
        number = len(self.space)
        row, rank = f"r{number}", f"k{number}"
        keys: list[tuple[int, str]] = []
        first: dict[str, int] = {}
        tests, targets = [], []
        for place, term in enumerate(literal.terms):
            match term:
                case Constant(value):
                    self.require(f"{'True' if value is not None else 'False'}")
                    keys.append((place, self.given("c", value)))
                case Variable(name) if name in bound:
                    keys.append((place, self.variable(name)))
                    if name not in self.may_be_null:
                        self.require(f"{self.variable(name)} is not None")
                case Variable(name) if name in first:
                    tests.append(f"{row}[{place}] is not None and {row}[{first[name]}] == {row}[{place}]")
                case Variable(name):
                    first[name] = place
                    targets.append((self.variable(name), place))
        rows, come, gone = (self.given("rows", facts.rows), self.given("come", facts.come), "")
        if state is State.OLD:
            gone = self.given("gone", facts.gone)
        if not targets:
            self.line(f"{row} = {_tuple([key for _, key in sorted(keys)])}")
            match state:
                case State.NEW if is_ranked and self.is_limited:
                    pass  # the rank tells
                case State.NEW:
                    self.require(f"{row} in {rows}")
                case State.KEPT:
                    self.require(f"{row} in {rows}", f"{row} not in {come}")
                case State.OLD:
                    self.require(f"({row} in {rows} and {row} not in {come} or {row} in {gone})")
        else:
            found, was = rows, gone
            if keys:
                found, was = f"b{number}", f"g{number}"
                index, index_of_gone = facts.index([place for place, _ in keys])
                key = _key([key for _, key in keys])
                self.line(f"{found} = {self.given('index', index)}.get({key})")
                if state is State.OLD:
                    self.line(f"{was} = {self.given('index', index_of_gone)}.get({key}) if {gone} else None")
                    self.require(f"({found} or {was})")
                else:
                    self.require(found)
            match state:
                case State.NEW:
                    self.loop(row, found)
                case State.KEPT:
                    self.loop(row, f"(kept({found}, {come}) if {come} else {found})")
                case State.OLD:
                    self.loop(row, f"(old({found}, {come}, {was}) if {come} or {was} else {found})")
            self.require(*tests)
            for name, place in targets:
                self.line(f"{name} = {row}[{place}]")
        if is_ranked:
            self.rank(rank, row, facts, state)

    def rank(self, rank: str, row: str, facts: Facts, state: State) -> None:
        """Reads the rank of a fact. From the head, only lower ones than the limit count."""
        rows = self.given("rows", facts.rows)
        self.ranks.append(rank)
        if self.is_limited:
            self.line(f"{rank} = {rows}.get({row})")
            self.require(f"{rank} is not None", f"{rank} < limit")
        elif state is State.OLD:
            self.line(f"{rank} = {rows}.get({row})")
            self.line(f"if {rank} is None: {rank} = {self.given('gone', facts.gone)}[{row}]")
        else:
            # A value that another has replaced since has none, and counts as the lowest.
            self.line(f"{rank} = {rows}.get({row}, {-GAP})")


def _kept(rows: Iterable[Fact], come: set[Fact]) -> list[Fact]:
    return [row for row in rows if row not in come]


def _old(rows: Iterable[Fact] | None, come: set[Fact], gone: Iterable[Fact] | None) -> list[Fact]:
    return [*(row for row in rows or () if row not in come), *(gone or ())]


def _any_match(
    now: Index, gone: Index, come: set[Fact], same: Sequence[tuple[int, int]], state: State
) -> Callable[[Key], bool]:
    """Returns what tells whether a fact with a key agrees with a negated atom, which has equal values in pairs of
    columns. In the state KEPT, one of before or after."""

    def is_among(facts: Iterable[Fact], skipped: set[Fact] | tuple[()]) -> bool:
        return any(
            fact not in skipped and all(fact[one] is not None and fact[one] == fact[other] for one, other in same)
            for fact in facts
        )

    def agrees(key: Key) -> bool:
        found = now.get(key)
        if found and is_among(found, come if state is State.OLD else ()):
            return True
        if state is State.NEW or not gone:
            return False
        return is_among(gone.get(key, ()), ())

    return agrees


def _tuple(parts: Sequence[str]) -> str:
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def _key(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
