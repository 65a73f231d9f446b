"""What the semantic analysis gives to every later stage: relations, core rules, strata.

A core rule is a rule whose meaning is plain: parameters are replaced, wildcards are variables with
names of their own, disjunctions are split, procedures are bindings, and the body is in an order in
which every literal finds the variables it needs already bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from emberlog.datatypes import DataType
from emberlog.diagnostics import Diagnostic
from emberlog.language.registry import BUILT_IN, Functions
from emberlog.language.values import CellValue as CellValue
from emberlog.language.values import Fact as Fact
from emberlog.shown import Shown
from emberlog.source import NOWHERE, Span
from emberlog.syntax import ast
from emberlog.syntax.ast import ComparisonOperator, Constant, Expression, Parameter, Variable


class TimeRole(Enum):
    """What the first column of a stream, or of a relation derived from one, is."""

    NONE = "none"
    ANNOTATION = "annotation"
    ORDINARY = "ordinary"
    """The program compares or computes with it, so it identifies facts like any other column."""


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: DataType
    aggregate: str | None = None
    """The function that combines the contributions to this column; the other columns are the group."""


@dataclass(frozen=True, slots=True)
class Relation:
    name: str
    columns: tuple[Column, ...]
    is_derived: bool
    """True when rules or facts of the program define it; otherwise the caller supplies its facts."""
    is_stream: bool = False
    """True for a STREAM and for what is derived from one."""
    time: TimeRole = TimeRole.NONE
    is_declared: bool = False
    data_name: str = ""
    """What its facts are registered as, if it is an input: mostly its own name."""
    is_written: bool = True
    """False for one that the analysis makes up for a negated conjunction."""
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def arity(self) -> int:
        return len(self.columns)

    @property
    def is_aggregated(self) -> bool:
        return any(column.aggregate is not None for column in self.columns)

    @property
    def group(self) -> tuple[int, ...]:
        """The positions of the columns that are not aggregated."""
        return tuple(i for i, column in enumerate(self.columns) if column.aggregate is None)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(column.name for column in self.columns)})"


Term: TypeAlias = Variable | Constant


@dataclass(frozen=True, slots=True)
class Match:
    """A positive atom. Variables not bound before are bound by it; the others are compared."""

    relation: str
    terms: tuple[Term, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Absent:
    """A negated atom: no fact of the relation agrees. Variables that are not bound before it stand for any value."""

    relation: str
    terms: tuple[Term, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Bind:
    """`variable = expression`, where the variable is not bound before."""

    variable: Variable
    expression: Expression
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison of two expressions whose variables are all bound. A null on a side never satisfies it."""

    operator: ComparisonOperator
    left: Expression
    right: Expression
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Holds:
    """A boolean function as a condition, such as `contains(S, "x")`, or its negation. Null never satisfies it."""

    test: Expression
    negated: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Literal: TypeAlias = Match | Absent | Bind | Compare | Holds


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one valuation of a body adds to an aggregated column; a plain value `v` is `Contribution(f, (v,))`.

    The number of arguments depends on the function: none for `count<_>`, one for most, two for
    `argmin<cost, value>`, `argmax<cost, value>`, `mcount<(key, value)>` and `msum<(key, value)>`.
    """

    function: str
    arguments: tuple[Expression, ...]


HeadValue: TypeAlias = Expression | Contribution


@dataclass(frozen=True, slots=True)
class CoreRule:
    name: str
    """The label, or `r3` for the third rule; alternatives of a disjunction are `r3.1`, `r3.2`."""
    relation: str
    head: tuple[HeadValue, ...]
    """One entry per column; a Contribution exactly where the column is aggregated."""
    body: tuple[Literal, ...]
    types: Mapping[str, DataType] = field(default_factory=dict, compare=False, repr=False)
    """The types of the body's variables."""
    location: int | None = None
    iterations: int | None = None
    premappable: bool = False
    statement: ast.Rule | None = field(default=None, compare=False, repr=False)
    """The written rule that it comes from; none for a rule that a pass makes up. Over streams it may have a time more
    in its head."""

    @property
    def span(self) -> Span:
        return self.statement.span if self.statement else NOWHERE


class RecursionCase(Enum):
    SET = "set semantics"
    MEET = "meet aggregate"
    MONOTONE_SUM = "monotone count or sum"
    STAGED = "explicitly locally stratified"
    BOUNDED = "bounded iteration"


@dataclass(frozen=True, slots=True)
class Recursion:
    """How a recursive stratum is evaluated, and why that is right."""

    case: RecursionCase
    reason: str
    is_linear: bool
    """At most one atom of the stratum in each body."""
    is_mutual: bool
    """More than one relation."""
    iterations: int | None = None
    """The bound of `@iterations`, in the case BOUNDED."""
    stage_columns: Mapping[str, int] = field(default_factory=dict)
    """The stage argument of each relation, in the case STAGED."""
    stage_order: tuple[str, ...] = ()
    """The relations in an order in which a stage can be completed, in the case STAGED."""
    stage_limit: int | None = None
    """No fact above this stage is needed: a constant in the query says so."""


@dataclass(frozen=True, slots=True)
class Stratum:
    index: int
    """Counted from 1, in the order of evaluation."""
    relations: tuple[str, ...]
    rules: tuple[CoreRule, ...]
    recursion: Recursion | None = None


@dataclass(frozen=True, slots=True)
class CheckedQuery:
    """The facts of `relation` that agree with `terms`: constants, and variables (a repeated one must agree).
    A parameter is left only in a program that is checked before its parameters are known."""

    relation: str
    terms: tuple[Term | Parameter, ...]
    window: ast.Window | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True, repr=False)
class CheckedProgram(Shown):
    """A program without errors, ready to be planned or evaluated."""

    program: ast.Program
    relations: Mapping[str, Relation]
    facts: Mapping[str, tuple[Fact, ...]]
    """The facts written in the program, without repeats. In an aggregated column the value is a contribution."""
    rules: tuple[CoreRule, ...]
    strata: tuple[Stratum, ...]
    queries: tuple[CheckedQuery, ...]
    warnings: tuple[Diagnostic, ...] = ()
    functions: Functions = BUILT_IN

    def __repr__(self) -> str:
        return f"CheckedProgram({self.program.source.name}: {', '.join(self.relations)})"

    @property
    def inputs(self) -> tuple[str, ...]:
        """The relations whose facts the caller supplies."""
        return tuple(name for name, relation in self.relations.items() if not relation.is_derived)

    @property
    def has_streams(self) -> bool:
        return any(relation.is_stream for relation in self.relations.values())

    def copies_data(self, rule: CoreRule) -> bool:
        """Tells whether a rule only puts registered data into a relation that the program defines, too."""
        match rule.body:
            case (Match(relation),):
                data = self.relations[relation]
                return not data.is_derived and data.data_name == rule.relation
        return False

    def _is_asked_for(self, rule: CoreRule) -> bool:
        return self.relations[rule.relation].is_written and not self.copies_data(rule)

    @property
    def outputs(self) -> tuple[str, ...]:
        """What is computed for the caller: the queried relations, or every relation that rules derive,
        or, in a program of facts alone, those."""
        if self.queries:
            return tuple(dict.fromkeys(query.relation for query in self.queries))
        derived = tuple(dict.fromkeys(rule.relation for rule in self.rules if rule.body and self._is_asked_for(rule)))
        return derived or tuple(dict.fromkeys((*self.facts, *(rule.relation for rule in self.rules))))
