"""What a worker executes: each rule as a chain of steps over batches of valuations.

A batch has one lane per variable that a later step needs. Variables have the names of the rule. Everything here is
plain data that can be sent to another process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias, assert_never

from emberlog.datatypes import DataType
from emberlog.logical.expressions import columns_of, condition_columns, condition_expressions
from emberlog.logical.nodes import Version
from emberlog.logical.rule_text import literal_text
from emberlog.semantics.model import Compare, Holds
from emberlog.semantics.totality import type_of
from emberlog.syntax.ast import Binary, Call, ComparisonOperator, Constant, Expression, Unary, Variable
from emberlog.syntax.printer import print_expression


@dataclass(frozen=True, slots=True)
class Atom:
    """A scan: a variable per column of the relation."""

    relation: str
    variables: tuple[str, ...]
    version: Version = Version.FULL
    asks: bool = False
    """Whether it only has to have a row: one that differs in variables which nothing else reads says the same."""


@dataclass(frozen=True, slots=True)
class Start:
    """The rows that the chain begins with."""

    atom: Atom


@dataclass(frozen=True, slots=True)
class Probe:
    """Joins with the rows of a relation that agree in the columns `keys`, whose variables are bound before."""

    atom: Atom
    keys: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Refute:
    """Drops valuations for which the relation has a row that agrees in the columns `keys`."""

    relation: str
    keys: tuple[int, ...]
    variables: tuple[str, ...]
    """One per key column."""
    guards: tuple[Compare | Holds, ...] = ()
    """Valuations that do not satisfy all of these are not dropped."""


@dataclass(frozen=True, slots=True)
class Assign:
    variable: str
    expression: Expression
    is_early: bool = False
    """It can fail, and comes before steps that may drop the valuation it fails for: then it has to wait for them."""


@dataclass(frozen=True, slots=True)
class Keep:
    """Drops valuations that do not satisfy the condition."""

    condition: Compare | Holds


@dataclass(frozen=True, slots=True)
class Send:
    """Moves each valuation to the worker that owns the value of the variable, or copies it to every worker."""

    variable: str
    to_all: bool = False
    """The variable is then any that is bound, so that there is something to send."""
    meets: str | None = None
    """A relation with hot keys: where the value is one of them, the valuation is copied to every worker."""
    at_home: bool = False
    """Valuations are on the right worker already: only those that meet a hot key move."""
    lands_at: str | None = None
    """The variable that the next join binds, where valuations go to all for it: each worker has the rows of the values
    that it owns, and so finds what is its own."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A limit of a variable."""

    value: Variable | Constant
    is_excluded: bool


@dataclass(frozen=True, slots=True)
class Intersect:
    """Binds a variable to the values that all these atoms have for it; everything else in them is bound before."""

    variable: str
    atoms: tuple[Atom, ...]
    lows: tuple[Bound, ...] = ()
    highs: tuple[Bound, ...] = ()


Step: TypeAlias = Start | Probe | Intersect | Refute | Assign | Keep | Send


@dataclass(frozen=True, slots=True)
class RuleChain:
    """A rule from its first atom to the lanes of its contributions. Without a Start it is a single valuation."""

    name: str
    relation: str
    steps: tuple[Step, ...]
    head: tuple[Expression, ...]
    types: dict[str, DataType]
    """Of the variables."""
    aggregated: tuple[Expression, ...] = ()
    """The arguments of the aggregates."""
    nullable: frozenset[str] | None = None
    """The variables that may be null; None where the program knows no nulls at all."""
    checked: frozenset[int] = frozenset()
    """The lanes of the head that may be null, and never are by this rule: it must not give the int that says so."""


def expressions_of(chain: RuleChain) -> Iterator[Expression]:
    """Yields all expressions of a rule, and those that they are made of."""
    for head in chain.head:
        yield from parts_of_expression(head)
    for step in chain.steps:
        match step:
            case Assign(_, expression):
                yield from parts_of_expression(expression)
            case Keep(condition):
                yield from parts_of_condition(condition)
            case Refute(guards=guards):
                for guard in guards:
                    yield from parts_of_condition(guard)
            case _:
                pass


def parts_of_condition(condition: Compare | Holds) -> Iterator[Expression]:
    for expression in condition_expressions(condition):
        yield from parts_of_expression(expression)


def parts_of_expression(expression: Expression) -> Iterator[Expression]:
    """Yields an expression, and those that it is made of."""
    yield expression
    match expression:
        case Unary(operand):
            yield from parts_of_expression(operand)
        case Binary(_, left, right):
            yield from parts_of_expression(left)
            yield from parts_of_expression(right)
        case Call(_, arguments):
            for argument in arguments:
                yield from parts_of_expression(argument)
        case _:
            pass


def chain_reads_letters(chain: RuleChain) -> bool:
    """Tells whether a rule needs the letters of a text, and not only whether two are the same."""
    if any(_reads_letters(value, chain.types) for value in chain.head):
        return True
    for step in chain.steps:
        match step:
            case Assign(_, expression) if _reads_letters(expression, chain.types):
                return True
            case Keep(condition) if condition_reads_letters(condition, chain.types):
                return True
            case Refute(guards=guards) if any(condition_reads_letters(one, chain.types) for one in guards):
                return True
            case Intersect(_, _, lows, highs) if any(_has_code(one.value, chain.types) for one in lows + highs):
                return True
            case _:
                pass
    return False


def condition_reads_letters(condition: Compare | Holds, types: Mapping[str, DataType]) -> bool:
    match condition:
        case Compare(ComparisonOperator.EQUAL | ComparisonOperator.NOT_EQUAL, left, right):
            # Codes say whether two texts are the same.
            if all(isinstance(side, Variable | Constant) and _has_code(side, types) for side in (left, right)):
                return False
        case _:
            pass
    return any(_has_code(part, types) for part in parts_of_condition(condition))


def _reads_letters(value: Expression, types: Mapping[str, DataType]) -> bool:
    if isinstance(value, Variable | Constant):
        return False
    return any(_has_code(part, types) for part in parts_of_expression(value))


def _has_code(value: Expression, types: Mapping[str, DataType]) -> bool:
    return type_of(value, types).is_coded


def columns_read(chain: RuleChain, relation: str) -> set[int]:
    """Returns the columns of a relation whose values make a difference to the rule."""
    read: set[int] = set()
    for place, step in enumerate(chain.steps):
        match step:
            case Start(atom) | Probe(atom) if atom.relation == relation:
                others = chain.steps[:place] + chain.steps[place + 1 :]
                elsewhere = {name for one in others for name in variables_of(one)}
                elsewhere |= {name for value in chain.head for name in columns_of(value)}
                for column, name in enumerate(atom.variables):
                    if name in elsewhere or atom.variables.count(name) > 1:
                        read.add(column)
            case Refute(negated, keys) if negated == relation:
                read.update(keys)
            case _:
                pass
    return read


def variables_of(step: Step) -> frozenset[str]:
    """Returns all variables that a step reads or binds."""
    match step:
        case Start(atom) | Probe(atom):
            return frozenset(atom.variables)
        case Intersect(variable, atoms, lows, highs):
            own = frozenset(name for atom in atoms for name in atom.variables)
            return own | _limiting(lows + highs) | {variable}
        case Refute(_, _, variables, guards):
            return frozenset(variables).union(*map(condition_columns, guards))
        case Assign(variable, expression):
            return columns_of(expression) | {variable}
        case Keep(condition):
            return condition_columns(condition)
        case Send(variable):
            return frozenset((variable,))
        case _:
            assert_never(step)


def binds(step: Step) -> frozenset[str]:
    """Returns the variables that have a value behind a step, and perhaps had none before."""
    match step:
        case Start(atom) | Probe(atom):
            return frozenset(atom.variables)
        case Assign(variable) | Intersect(variable):
            return frozenset((variable,))
        case Refute() | Keep() | Send():
            return frozenset()
        case _:
            assert_never(step)


def reads(step: Step) -> frozenset[str]:
    """Returns the variables whose values a step needs."""
    match step:
        case Start():
            return frozenset()
        case Probe(atom, keys):
            return frozenset(atom.variables[key] for key in keys)
        case Intersect(variable):
            return variables_of(step) - {variable}
        case Refute(_, _, variables, guards):
            return frozenset(variables).union(*map(condition_columns, guards))
        case Assign(_, expression):
            return columns_of(expression)
        case Keep(condition):
            return condition_columns(condition)
        case Send(variable):
            return frozenset((variable,))
        case _:
            assert_never(step)


def needed_after(chain: RuleChain) -> list[frozenset[str]]:
    """For each step the variables that later steps or the head read."""
    needed = frozenset(name for value in chain.head for name in columns_of(value))
    result: list[frozenset[str]] = []
    for step in reversed(chain.steps):
        result.append(needed)
        needed |= reads(step)
    return result[::-1]


def _limiting(bounds: tuple[Bound, ...]) -> frozenset[str]:
    return frozenset(name for bound in bounds for name in columns_of(bound.value))


class Combine(Enum):
    """How contributions to a value lane of a key are combined."""

    MIN = "min"
    MAX = "max"
    ARG_MIN = "argmin"
    ARG_MAX = "argmax"
    CHOICE = "choice"
    """The lane behind ARG_MIN or ARG_MAX: the value that comes with the cost."""
    SUM_INT = "int sum"
    SUM_WIDE = "int sum whose parts may not fit"
    CARRY = "carry"
    """The lane behind SUM_WIDE: how often 2⁶⁴ is to be added to it."""
    SUM_FLOAT = "float sum"


class Shown(Enum):
    """How a column of the relation is read from its lanes."""

    LANE = "as it is"
    FLOAT_SUM = "a float sum"
    MEAN = "a float sum divided by the int sum behind it"
    WIDE_SUM = "an int sum and its carry"
    WIDE_MEAN = "an int sum and its carry, divided by the int sum behind them"


@dataclass(frozen=True, slots=True)
class ColumnLane:
    lane: int
    type: DataType
    shown: Shown = Shown.LANE


@dataclass(frozen=True, slots=True)
class RelationLayout:
    """A relation of the recursion as a worker keeps it.

    Its lanes are those of its contributions: the key columns, then the arguments of the aggregates. Without combining
    rules it is a set.
    """

    name: str
    columns: tuple[ColumnLane, ...]
    keys: int
    combine: tuple[Combine, ...]
    contribution_types: tuple[DataType, ...] = ()
    """Of the lanes of its contributions, where each is a column of a contribution."""
    largest_per_key: bool = False
    """For mcount and msum: contributions have one more key lane, and only the largest of each counts."""
    counts_nothing: bool = False
    """Whether there is a fact without any contribution: a count of 0, where the group has no variables."""
    comes_once: bool = False
    """Whether no fact is contributed twice, on no two workers either: then there is nothing to combine."""
    location: int | None = None
    """The column that the program places facts by, if it says so."""

    @property
    def is_lone_keyed(self) -> bool:
        """Tells whether it has one value by one key, so that contributions can be combined without being written
        out."""
        lone = self.combine in ((Combine.MIN,), (Combine.MAX,), (Combine.SUM_FLOAT,))
        return self.keys == 1 and lone and not self.largest_per_key

    @property
    def width(self) -> int:
        return self.keys + len(self.combine)

    @property
    def contribution_width(self) -> int:
        return self.width + self.largest_per_key


# Steps of rules as a person would write them.


def step_text(step: Step) -> str:
    match step:
        case Start(atom) | Probe(atom):
            return _atom(atom)
        case Intersect(variable, atoms, lows, highs):
            limits = [_bound(">", one) for one in lows] + [_bound("<", one) for one in highs]
            return f"{' ∩ '.join(map(_atom, atoms))} for {variable}{''.join(f' {limit}' for limit in limits)}"
        case Refute(relation, _, variables, guards):
            conditions = "".join(f", {literal_text(guard)}" for guard in guards)
            return f"!{relation}({', '.join(variables)}{conditions})"
        case Assign(variable, expression):
            return f"{variable} = {print_expression(expression)}"
        case Keep(condition):
            return literal_text(condition)
        case Send(variable, to_all, meets):
            where = "every worker" if to_all else f"the worker of {variable}"
            return f"to {where}" if meets is None else f"to {where}, to every worker for a hot key of {meets}"
    assert_never(step)


def _atom(atom: Atom) -> str:
    delta = "Δ" if atom.version is Version.DELTA else ""
    return f"{'∃ ' if atom.asks else ''}{delta}{atom.relation}({', '.join(atom.variables)})"


def _bound(sign: str, bound: Bound) -> str:
    return f"{sign if bound.is_excluded else f'{sign}='} {print_expression(bound.value)}"
