"""Compiles the body of a rule to Python functions that find its valuations from one end: from a fact that has changed,
from the head, or from nothing.

A function is nested loops over indexes. A change of one atom is joined with the other atoms as they were (for
valuations that are lost) or as they are now (for those that are gained). Where each valuation must be found once, the
atoms in front of the changed one are read without any change: a valuation belongs to its first change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

from emberlog.datatypes import INT
from emberlog.language.faults import Fault
from emberlog.language.registry import Functions
from emberlog.live.facts import Facts, Index, Key
from emberlog.logical.expressions import condition_columns, substitute, substitute_in_condition
from emberlog.logical.nodes import Condition
from emberlog.logical.python_evaluation import (
    by_position,
    compile_conditions,
    compile_expression,
    error_in_rule,
)
from emberlog.semantics.model import Absent, Bind, Compare, CoreRule, Fact, Holds, Literal, Match
from emberlog.semantics.totality import TRY, literal_can_fail
from emberlog.syntax.ast import Binary, BinaryOperator, Call, Constant, Expression, Variable, variables_of

Emit: TypeAlias = Callable[[Fact, int], bool]
"""Takes what the head comes to for a valuation, and the highest rank of the facts that it read; tells whether that is
enough."""


class State(Enum):
    """Which facts of a relation that changes are read."""

    OLD = "before the transaction"
    NEW = "after the transaction"
    KEPT = "before and after it"


GAP = 1 << 20
"""Between the rank of a fact and the highest of what it is derived from, at first: there is room to rise."""
UNRANKED = 1 << 61
"""The rank of a fact that has none yet: higher than all others."""
NO_LIMIT = 1 << 62

MOST_LOOPS = 18


def next_rank(premise: int) -> int:
    """Returns the rank of what is derived from facts of ranks up to this one: the next whole number of gaps."""
    return (premise | (GAP - 1)) + 1


_HEAD = "head"
_OF_HEAD = "head?"
"""Begins the names of variables that stand for computed columns of the head. No program can write them."""


@dataclass(frozen=True, slots=True)
class Search:
    """Finds valuations of a body."""

    find: Callable[[Iterable[Fact], Emit, int], bool]
    rule: str

    def __call__(self, given: Iterable[Fact], emit: Emit, limit: int = NO_LIMIT) -> bool:
        """Calls `emit` for each valuation that begins with one of the facts that are given, until it returns True.
        From the head, only facts of ranks below the limit are read."""
        try:
            return self.find(given, emit, limit)
        except Fault as fault:
            raise error_in_rule(fault, self.rule) from None


@dataclass(slots=True)
class Body:
    """Holds a rule and the facts that it reads, and compiles searches of it."""

    rule: CoreRule
    head: Sequence[Expression]
    facts: Mapping[str, Facts]
    functions: Functions
    keys: int
    """How many columns of the head tell a fact, from the left; the others are arguments of aggregates."""
    ranked: frozenset[str] = frozenset()
    """The relations of its own recursion, whose facts have ranks."""
    _exact: dict[tuple[int, bool], Search] = field(default_factory=dict)
    _inexact: dict[tuple[int, bool], Search] = field(default_factory=dict)
    _usual: Search | None = None
    _of_nulls: Search | None = None

    @property
    def atoms(self) -> list[int]:
        """Returns the places of the literals that read facts."""
        return [place for place, one in enumerate(self.rule.body) if isinstance(one, Match | Absent)]

    def from_nothing(self) -> Search:
        """Finds all valuations as the facts are after the transaction."""
        return self._search(None, State.NEW, exact=False)

    def from_change(self, place: int, state: State, *, exact: bool) -> Search:
        """Finds the valuations that are lost (OLD) or gained (NEW) by changes of the atom at a place. With `exact`,
        those that another change in front of it finds already are left out."""
        searches = self._exact if exact else self._inexact
        found = searches.get((place, state is State.OLD))
        if found is None:
            found = searches[place, state is State.OLD] = self._search(place, state, exact=exact)
        return found

    def from_head(self, fact: Fact) -> Search:
        """Finds the valuations after the transaction whose head may be the fact: it agrees in the columns that are
        plain variables, or sums of them. What sum a null is tells nothing."""
        if None in fact and any(fact[place] is None for place in self._computed):
            if self._of_nulls is None:
                self._of_nulls = self._search(_HEAD, State.NEW, exact=False, solves=False)
            return self._of_nulls
        if self._usual is None:
            self._usual = self._search(_HEAD, State.NEW, exact=False)
        return self._usual

    @property
    def _computed(self) -> list[int]:
        return [place for place, one in enumerate(self.head[: self.keys]) if isinstance(one, Binary)]

    # --- the order of the steps -------------------------------------------------------------------------------------

    def _search(self, start: int | str | None, state: State, *, exact: bool, solves: bool = True) -> Search:
        writer = _Writer(self, is_limited=start == _HEAD)
        plain, risky = self._split()
        pending = list(plain)
        bound: set[str] = set()
        known_later = self._known_later
        if isinstance(start, int):
            changed = self.rule.body[start]
            pending.remove(start)
            bound |= self._bound_by_atom(changed)
            writer.begin_with(changed, bound, state)
        elif start == _HEAD:
            names = self._bound_by_head(pending, solves=solves)
            bound |= {name for name in names if name is not None}
            often = self._often_read(names)
            writer.may_be_null = {name for name, is_often in zip(names, often, strict=True) if name and not is_often}
            writer.begin_with_head(names, often)
            for total, one in zip(names, self.head, strict=False):
                guessed = None if total is None else solved(Variable(total), one, bound, self.rule)
                if guessed is not None:
                    writer.guess(*guessed)
                    bound.add(guessed[0])
        else:
            writer.begin_with_nothing()
        while pending:
            place = self._next(pending, bound)
            if isinstance(place, tuple):
                writer.guess(*place)
                bound.add(place[0])
                continue
            pending.remove(place)
            literal = self.rule.body[place]
            seen = State.KEPT if exact and isinstance(start, int) and place < start else state
            writer.step(literal, bound, seen, known_later)
            bound |= self._bound_by(literal)
        writer.risky([self.rule.body[place] for place in risky], bound)
        writer.head(self.head)
        return Search(writer.finish(), self.rule.name)

    def _split(self) -> tuple[list[int], list[int]]:
        """Returns the places of the literals that cannot fail, and of those that are weighed when all others hold."""
        types, body = self.rule.types, self.rule.body
        plain, risky, failing = [], [], set[str]()
        for place, one in enumerate(body):
            reads_failing = not isinstance(one, Match | Absent) and bool(_read_by(one) & failing)
            if literal_can_fail(one, types) or reads_failing:
                risky.append(place)
                if isinstance(one, Bind):
                    failing.add(one.variable.name)
            else:
                plain.append(place)
        return plain, risky

    @property
    def has_many_loops(self) -> bool:
        """Tells whether the body has more atoms than Python nests loops."""
        return len(self.atoms) > MOST_LOOPS

    @property
    def reads_failing(self) -> bool:
        """Tells whether a negated atom reads a value that there may not be."""
        _, risky = self._split()
        failing = {one.variable.name for place in risky if isinstance(one := self.rule.body[place], Bind)}
        return any(
            isinstance(term, Variable) and term.name in failing
            for one in self.rule.body
            if isinstance(one, Absent | Match)
            for term in one.terms
        )

    @property
    def _known_later(self) -> set[str]:
        """Returns the variables that something in the body gives a value."""
        return set().union(*(self._bound_by(one) for one in self.rule.body))

    def _bound_by(self, literal: Literal) -> set[str]:
        match literal:
            case Match(_, terms):
                return {term.name for term in terms if isinstance(term, Variable)}
            case Bind(variable):
                return {variable.name}
            case _:
                return set()

    def _bound_by_atom(self, literal: Literal) -> set[str]:
        """Returns the variables that a changed fact gives values."""
        assert isinstance(literal, Match | Absent)
        names = {term.name for term in literal.terms if isinstance(term, Variable)}
        return names if isinstance(literal, Match) else names & self._known_later

    def _bound_by_head(self, plain: Sequence[int], *, solves: bool) -> list[str | None]:
        """Returns for each column of the head the variable of an atom that it gives a value, or a made-up one for what
        is computed."""
        atoms = set().union(
            *(self._bound_by(one) for place in plain if isinstance(one := self.rule.body[place], Match))
        )
        names: list[str | None] = []
        for place, written in enumerate(self.head[: self.keys]):
            match written:
                case Variable(name) if name in atoms:
                    names.append(name)
                case Binary() if solves:
                    names.append(f"{_OF_HEAD}{place}")
                case _:
                    names.append(None)
        return names

    def _often_read(self, names: Sequence[str | None]) -> list[bool]:
        """Tells which of these variables no null can be: they are in several places of atoms."""
        read = [
            term.name
            for one in self.rule.body
            if isinstance(one, Match)
            for term in one.terms
            if isinstance(term, Variable)
        ]
        read += [one.variable.name for one in self.rule.body if isinstance(one, Bind)]
        return [name is not None and (name.startswith(_OF_HEAD) or read.count(name) > 1) for name in names]

    def _next(self, pending: Sequence[int], bound: set[str]) -> int | tuple[str, Expression]:
        """Chooses the next literal: a test as soon as it can be made, else the atom of which most is known. Or guesses
        a variable, `X` from `Y = X + 1`."""
        atoms: list[tuple[float, int]] = []
        for place in pending:
            match self.rule.body[place]:
                case Match(relation, terms):
                    known = sum(isinstance(term, Constant) or term.name in bound for term in terms)
                    if known == len(terms):
                        return place
                    size = len(self.facts[relation])
                    atoms.append((_expected(size, known, len(terms)), place))
                case Absent() as one:
                    if _read_by(one) & self._known_later <= bound:
                        return place
                case one:
                    if _read_by(one) <= bound:
                        return place
        for place in pending:
            if isinstance(one := self.rule.body[place], Bind) and one.variable.name in bound:
                guessed = _solved(one, bound, self.rule)
                if guessed is not None:
                    return guessed
        return min(atoms)[1] if atoms else pending[0]


def _expected(size: int, known: int, width: int) -> float:
    """Estimates how many facts agree: each known column leaves a root of them."""
    return float(math.pow(size + 1, 1 - known / width))


def _read_by(literal: Literal) -> set[str]:
    """Returns the variables that a literal needs values of."""
    match literal:
        case Match():
            return set()
        case Absent(_, terms):
            return {term.name for term in terms if isinstance(term, Variable)}
        case Bind(_, expression):
            return {one.name for one in variables_of(expression)}
        case Compare() | Holds():
            return set(condition_columns(literal))


def _solved(bind: Bind, bound: set[str], rule: CoreRule) -> tuple[str, Expression] | None:
    """Returns the variable that a bound sum or difference of ints tells, and its value."""
    expression = bind.expression
    if isinstance(expression, Call) and expression.function == TRY:
        expression = expression.arguments[0]
    return solved(bind.variable, expression, bound, rule)


def solved(total: Variable, expression: Expression, bound: set[str], rule: CoreRule) -> tuple[str, Expression] | None:
    match expression:
        case Binary((BinaryOperator.ADD | BinaryOperator.SUBTRACT) as symbol, Variable(name) as one, other):
            is_known = isinstance(other, Constant) or (isinstance(other, Variable) and other.name in bound)
            if name in bound or not is_known or rule.types.get(name) != INT:
                return None
            if isinstance(other, Variable) and rule.types.get(other.name) != INT:
                return None
            opposite = BinaryOperator.SUBTRACT if symbol is BinaryOperator.ADD else BinaryOperator.ADD
            return one.name, Binary(opposite, total, other, expression.span)
    return None


# --- the code -------------------------------------------------------------------------------------------------------


class _Writer:
    """Writes the Python function of one search: nested loops, in which a test that fails goes on with the next row.

    Values of a program are never part of the code: they are in the namespace that it runs in."""

    def __init__(self, body: Body, *, is_limited: bool) -> None:
        self.body = body
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

    def finish(self) -> Callable[[Iterable[Fact], Emit, int], bool]:
        self.lines.append("    return False")
        exec("\n".join(self.lines), self.space)
        return self.space["search"]  # type: ignore[no-any-return]

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
            if literal.relation in self.body.ranked:
                self.rank("rank", "fact", self.body.facts[literal.relation], state)
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
        compiled = compile_expression(one, by_position(names), self.body.functions)
        return f"{self.given('e', compiled)}({_tuple([self.variable(name) for name in names])})"

    def conditions(self, conditions: Sequence[Condition]) -> None:
        if not conditions:
            return
        names = list(dict.fromkeys(name for one in conditions for name in sorted(condition_columns(one))))
        compiled = compile_conditions(conditions, by_position(names), self.body.functions)
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
        facts = self.body.facts[literal.relation]
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
        facts = self.body.facts[literal.relation]
        is_ranked = literal.relation in self.body.ranked
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
            self.line(f"{rank} = {rows}[{row}]")


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
