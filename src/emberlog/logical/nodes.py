"""The relational plan. Columns are named by the variables of the rules; expressions are those of the syntax tree.

A plan is a bag of rows until `Distinct`, `Aggregate` or a relation's definition makes it a set.
Nulls never match in joins and anti-joins, and are equal to each other in `Distinct` and in groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from emberlog.datatypes import DataType
from emberlog.language.registry import BUILT_IN, Functions
from emberlog.logical.statistics import Statistics
from emberlog.semantics.model import CheckedQuery, Compare, Fact, Holds, Recursion
from emberlog.shown import Shown
from emberlog.syntax.ast import Expression


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a plan."""

    name: str
    type: DataType


Condition: TypeAlias = Compare | Holds


class Version(Enum):
    """Which facts of a relation a scan inside a fixpoint reads."""

    FULL = "full"
    """Everything known, the delta included."""
    DELTA = "delta"
    """What the last iteration added or improved."""
    BEFORE = "before"
    """Everything known without the delta: keeps a derivation from being counted twice."""


@dataclass(frozen=True, slots=True)
class Scan:
    """The facts of a relation, its columns renamed by position."""

    relation: str
    columns: tuple[Field, ...]
    version: Version = Version.FULL


@dataclass(frozen=True, slots=True)
class Values:
    """Rows written in the program. No columns and one empty row is the plan of an empty body."""

    columns: tuple[Field, ...]
    rows: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """Keeps the rows that satisfy every condition."""

    input: Plan
    conditions: tuple[Condition, ...]

    @property
    def columns(self) -> tuple[Field, ...]:
        return self.input.columns


@dataclass(frozen=True, slots=True)
class Output:
    """A column of a projection and how it is computed."""

    field: Field
    expression: Expression


@dataclass(frozen=True, slots=True)
class Project:
    """Computes columns from columns, row by row; keeps duplicates."""

    input: Plan
    outputs: tuple[Output, ...]
    rule: str | None = None
    """The rule whose head this computes, for plans, profiles and errors."""

    @property
    def columns(self) -> tuple[Field, ...]:
        return tuple(output.field for output in self.outputs)


@dataclass(frozen=True, slots=True)
class Join:
    """Pairs of rows that agree on the columns `on`, which both sides have; without any, every pair."""

    left: Plan
    right: Plan
    on: tuple[str, ...]

    @property
    def columns(self) -> tuple[Field, ...]:
        kept = tuple(field for field in self.right.columns if field.name not in self.on)
        return self.left.columns + kept


@dataclass(frozen=True, slots=True)
class AntiJoin:
    """The rows of the left side that agree with no row of the right side on the columns `on`."""

    left: Plan
    right: Plan
    on: tuple[str, ...]

    @property
    def columns(self) -> tuple[Field, ...]:
        return self.left.columns


@dataclass(frozen=True, slots=True)
class Union:
    """All rows of all inputs, by position; duplicates are kept. At least one input."""

    inputs: tuple[Plan, ...]

    @property
    def columns(self) -> tuple[Field, ...]:
        return self.inputs[0].columns


@dataclass(frozen=True, slots=True)
class Distinct:
    input: Plan

    @property
    def columns(self) -> tuple[Field, ...]:
        return self.input.columns


@dataclass(frozen=True, slots=True)
class AggregateColumn:
    """`function` over the columns named by `arguments` (their number is in its entry of the language)."""

    field: Field
    function: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One row per group: the keys, then the aggregates. Without keys and rows there is one row only if
    every aggregate is a count, as `count` of nothing is 0 when the group has no variables."""

    input: Plan
    keys: tuple[str, ...]
    aggregates: tuple[AggregateColumn, ...]

    @property
    def columns(self) -> tuple[Field, ...]:
        by_name = {field.name: field for field in self.input.columns}
        return tuple(by_name[key] for key in self.keys) + tuple(column.field for column in self.aggregates)


Plan: TypeAlias = Scan | Values | Filter | Project | Join | AntiJoin | Union | Distinct | Aggregate


@dataclass(frozen=True, slots=True)
class RecursiveRule:
    """A rule that reads relations of its own stratum."""

    name: str
    plan: Plan
    """Reads every relation in its FULL version: what naive evaluation needs."""
    deltas: tuple[Plan, ...] = ()
    """One plan per atom of the stratum in the body, that atom in its DELTA version. Empty: evaluated naively."""


@dataclass(frozen=True, slots=True)
class FixpointRelation:
    """A relation of a recursive stratum: `seed` and the recursive rules give contributions.

    Without aggregates a contribution is a fact. With them it has the key columns and, for each aggregate, its
    argument columns; the relation's fact for a key combines all contributions to it.
    """

    name: str
    columns: tuple[Field, ...]
    """Those of the relation, in its own order."""
    keys: tuple[str, ...]
    aggregates: tuple[AggregateColumn, ...]
    seed: Plan
    rules: tuple[RecursiveRule, ...]
    location: str | None = None
    """The column that `#` marks in a head: facts live where its value does."""


@dataclass(frozen=True, slots=True)
class Fixpoint:
    relations: tuple[FixpointRelation, ...]
    recursion: Recursion


@dataclass(frozen=True, slots=True)
class Definition:
    """A relation without recursion."""

    relation: str
    plan: Plan
    """Columns in the order of the relation; a set."""


@dataclass(frozen=True, slots=True)
class PlannedStratum:
    index: int
    root: Definition | Fixpoint

    @property
    def relations(self) -> tuple[str, ...]:
        match self.root:
            case Definition(relation):
                return (relation,)
            case Fixpoint(relations):
                return tuple(relation.name for relation in relations)


@dataclass(frozen=True, slots=True, repr=False)
class LogicalPlan(Shown):
    inputs: Mapping[str, tuple[Field, ...]]
    """Relations that the caller supplies, with their columns."""
    strata: tuple[PlannedStratum, ...]
    outputs: tuple[str, ...]
    queries: tuple[CheckedQuery, ...]
    """With queries, an output is the facts of its relation that agree with one of them."""
    functions: Functions = BUILT_IN
    """Where executors find what the user registered."""
    statistics: Statistics = field(default_factory=dict, compare=False)
    """What is known of the inputs; nothing where a program is planned without its data."""

    def __repr__(self) -> str:
        strata = "; ".join(", ".join(stratum.relations) for stratum in self.strata)
        return f"LogicalPlan(strata {strata or 'none'}; outputs {', '.join(self.outputs) or 'none'})"

    @property
    def answers(self) -> tuple[str, ...]:
        """The outputs that people see: with queries, those that they ask for."""
        if not self.queries:
            return self.outputs
        asked = {query.relation for query in self.queries}
        return tuple(name for name in self.outputs if name in asked)
