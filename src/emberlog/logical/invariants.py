"""What must hold for every plan after every pass. A violation is our mistake, so it names the pass and the node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn, assert_never

from emberlog.datatypes import DataType, join_types
from emberlog.diagnostics import InternalError
from emberlog.language.registry import AGGREGATES
from emberlog.logical.expressions import columns_of, condition_columns
from emberlog.logical.nodes import (
    Aggregate,
    AntiJoin,
    Definition,
    Distinct,
    Field,
    Filter,
    Fixpoint,
    FixpointRelation,
    Join,
    LogicalPlan,
    Plan,
    Project,
    Scan,
    Union,
    Values,
    Version,
)
from emberlog.logical.traverse import column_names, column_types, scans, walk


def check_invariants(plan: LogicalPlan, after: str) -> None:
    """Raises an InternalError if the plan is not well formed; `after` is what produced it."""
    _Checker(plan, after).check()


@dataclass(frozen=True, slots=True)
class _Checker:
    logical: LogicalPlan
    after: str

    def check(self) -> None:
        known: dict[str, tuple[Field, ...]] = dict(self.logical.inputs)
        for stratum in self.logical.strata:
            defined = stratum.relations
            for name in defined:
                if name in known:
                    self._violated(f"the relation {name} is defined twice", stratum.root)
            match stratum.root:
                case Definition(name, plan):
                    self._plan(plan, known)
                    self._versions((plan,), 0, ())
                    known[name] = plan.columns
                case Fixpoint(relations):
                    known.update((relation.name, relation.columns) for relation in relations)
                    for relation in relations:
                        self._fixpoint_relation(relation, defined, known)
                case _:
                    assert_never(stratum.root)
        for name in self.logical.outputs:
            if name not in known:
                self._violated(f"the output {name} is not computed", None)
        for query in self.logical.queries:
            if query.relation not in self.logical.outputs:
                self._violated(f"the queried relation {query.relation} is not an output", None)

    def _fixpoint_relation(
        self, relation: FixpointRelation, stratum: Sequence[str], known: dict[str, tuple[Field, ...]]
    ) -> None:
        contribution = self._contribution_columns(relation)
        plans = [relation.seed, *(rule.plan for rule in relation.rules)]
        deltas = [delta for rule in relation.rules for delta in rule.deltas]
        for plan in (*plans, *deltas):
            self._plan(plan, known)
            self._agree(plan.columns, relation.seed.columns, plan)
        if column_names(relation.seed) != contribution:
            self._violated(
                f"contributions to {relation.name} must have the columns {_listed(contribution)}", relation.seed
            )
        for scan in scans(relation.seed):
            if scan.relation in stratum:
                self._violated(f"the seed of {relation.name} reads its own stratum", scan)
        self._versions(plans, 0, ())
        self._versions(deltas, 1, stratum)

    def _contribution_columns(self, relation: FixpointRelation) -> tuple[str, ...]:
        results = {column.field.name for column in relation.aggregates}
        if set(relation.keys) | results != {field.name for field in relation.columns}:
            self._violated(f"the columns of {relation.name} are not its keys and aggregates", None)
        arguments = tuple(name for column in relation.aggregates for name in column.arguments)
        return relation.keys + arguments if relation.aggregates else tuple(field.name for field in relation.columns)

    def _versions(self, plans: Iterable[Plan], deltas_in_each: int, stratum: Sequence[str]) -> None:
        """DELTA and BEFORE make sense only in a delta plan, for relations of the stratum, around exactly one DELTA."""
        for plan in plans:
            partial = [scan for scan in scans(plan) if scan.version is not Version.FULL]
            for scan in partial:
                if scan.relation not in stratum:
                    self._violated(f"{scan.relation} has no {scan.version.value} version here", scan)
            if sum(scan.version is Version.DELTA for scan in partial) != deltas_in_each:
                self._violated("a delta plan reads exactly one delta", plan)

    def _plan(self, plan: Plan, known: dict[str, tuple[Field, ...]]) -> None:
        for node in reversed(tuple(walk(plan))):  # inputs first, so that the node named is where it began
            self._node(node, known)
            self._unique(column_names(node), node)

    def _node(self, node: Plan, known: dict[str, tuple[Field, ...]]) -> None:
        match node:
            case Scan(relation, columns):
                self._scan(node, relation, columns, known)
            case Values(columns, rows):
                if any(len(row) != len(columns) for row in rows):
                    self._violated("a row has not the width of its columns", node)
            case Filter(source, conditions):
                for condition in conditions:
                    self._exist(condition_columns(condition), source, node)
            case Project(source, outputs):
                for output in outputs:
                    self._exist(columns_of(output.expression), source, node)
            case Join(left, right, on) | AntiJoin(left, right, on):
                self._joinable(left, right, on, node)
            case Union(inputs):
                for one in inputs:
                    self._agree(one.columns, inputs[0].columns, node)
            case Distinct():
                pass
            case Aggregate(source, keys, aggregates):
                self._exist(keys, source, node)
                for column in aggregates:
                    self._exist(column.arguments, source, node)
                    if (
                        column.function in AGGREGATES
                        and len(column.arguments) not in AGGREGATES[column.function].arities
                    ):
                        self._violated(f"{column.function} has not {len(column.arguments)} arguments", node)
            case _:
                assert_never(node)

    def _scan(self, node: Scan, relation: str, columns: Sequence[Field], known: dict[str, tuple[Field, ...]]) -> None:
        if relation not in known:
            self._violated(f"{relation} is read before it is computed", node)
        own = known[relation]
        if len(own) != len(columns):
            self._violated(f"{relation} has {len(own)} columns", node)
        for mine, theirs in zip(columns, own, strict=True):
            if not _same_type(mine.type, theirs.type):
                self._violated(f"the column {theirs.name} of {relation} is of type {theirs.type}", node)

    def _joinable(self, left: Plan, right: Plan, on: Sequence[str], node: Plan) -> None:
        self._unique(on, node)
        self._exist(on, left, node)
        self._exist(on, right, node)
        left_types, right_types = column_types(left), column_types(right)
        for name in on:
            if join_types(left_types[name], right_types[name]) is None:
                self._violated(f"the column {name} is of types {left_types[name]} and {right_types[name]}", node)

    def _agree(self, columns: Sequence[Field], others: Sequence[Field], node: Plan) -> None:
        if len(columns) != len(others) or not all(
            one.name == other.name and _same_type(one.type, other.type)
            for one, other in zip(columns, others, strict=True)
        ):
            self._violated(f"the columns {_fields(columns)} are not {_fields(others)}", node)

    def _unique(self, names: Sequence[str], node: Plan) -> None:
        repeated = [name for name, count in Counter(names).items() if count > 1]
        if repeated:
            self._violated(f"the column {repeated[0]} occurs twice", node)

    def _exist(self, names: Iterable[str], source: Plan, node: Plan) -> None:
        missing = sorted(set(names) - set(column_names(source)))
        if missing:
            self._violated(f"there is no column {missing[0]} below", node)

    def _violated(self, text: str, node: object) -> NoReturn:
        shown = f" in {node!r}" if node is not None else ""
        raise InternalError(f"DL901: after {self.after}: {text}{shown}")


def _same_type(one: DataType, other: DataType) -> bool:
    """Returns where one of them is not known there is nothing to compare."""
    return one == other or (join_types(one, other) is not None and not (one.is_known and other.is_known))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def _fields(fields: Iterable[Field]) -> str:
    return f"({', '.join(f'{field.name}: {field.type}' for field in fields)})"
