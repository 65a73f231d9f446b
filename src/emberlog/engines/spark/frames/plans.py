"""Plans as DataFrames: one case per node, nothing is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, assert_never

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from emberlog.datatypes import FLOAT, INT, DataType
from emberlog.engines.spark.frames.aggregates import Aggregator
from emberlog.engines.spark.frames.columns import spark_name
from emberlog.engines.spark.frames.expressions import ExpressionCompiler
from emberlog.io.spark_conversions import local_frame
from emberlog.language.registry import Functions
from emberlog.language.spark_columns import Scope
from emberlog.logical.expressions import columns_of, condition_columns
from emberlog.logical.nodes import (
    Aggregate,
    AntiJoin,
    Distinct,
    Field,
    Filter,
    Join,
    Plan,
    Project,
    Scan,
    Union,
    Values,
)
from emberlog.logical.traverse import column_names, column_types, walk
from emberlog.semantics.totality import can_fail


def unread_faults(plan: Plan) -> dict[int, list[str]]:
    """By the identity of a projection in the plan, its columns that can fault and that nothing above it reads."""
    found: dict[int, list[str]] = {}
    for project, names in _unread(plan, frozenset(column_names(plan))):
        found.setdefault(id(project), []).extend(names)
    return found


def _unread(plan: Plan, read: frozenset[str]) -> Iterator[tuple[Project, list[str]]]:
    match plan:
        case Scan() | Values():
            return
        case Project(source, outputs):
            types = column_types(source)
            unread = [
                output.field.name
                for output in outputs
                if output.field.name not in read and can_fail(output.expression, types)
            ]
            if unread:
                yield plan, unread
            yield from _unread(source, frozenset().union(*(columns_of(output.expression) for output in outputs)))
        case Filter(source, conditions):
            yield from _unread(source, read.union(*map(condition_columns, conditions)))
        case Join(left, right, on):
            yield from _unread(left, read.union(on))
            yield from _unread(right, read.union(on))
        case AntiJoin(left, right, on):
            yield from _unread(left, read.union(on))
            yield from _unread(right, frozenset(on))
        case Union(inputs):
            for one in inputs:
                yield from _unread(one, frozenset(column_names(one)))
        case Distinct(source):
            yield from _unread(source, frozenset(column_names(source)))
        case Aggregate(source, keys, aggregates):
            yield from _unread(source, frozenset(keys).union(*(one.arguments for one in aggregates)))
        case _:
            assert_never(plan)


class Sources(Protocol):
    """Where plans find their rows."""

    def read(self, scan: Scan) -> DataFrame:
        """The facts of a relation, its columns in order; their names do not matter."""
        ...

    def prepared(self, plan: Plan, on: tuple[str, ...]) -> DataFrame | None:
        """A frame that is there already for a side of a join on these columns, if there is one."""
        ...

    def join_hints(self, left: Plan, right: Plan) -> tuple[str | None, str | None]:
        """How Spark should join the sides, for what only we know about them."""
        ...


class PlanCompiler:
    """Compiles plans to frames whose columns are named by `spark_name`, in no particular order."""

    def __init__(self, spark: SparkSession, functions: Functions, sources: Sources) -> None:
        self.spark = spark
        self.functions = functions
        self.sources = sources
        # Columns do not depend on the rows they are computed from, and making them is slow: the rounds of a recursion
        # compile the same plans again and again.
        self._columns: dict[int, tuple[Plan, Scope, list[Column]]] = {}
        self._guarded: dict[int, list[str]] = {}
        """The columns of the plan at hand that have to be computed although nobody reads them."""
        self._unread: dict[int, tuple[Plan, dict[int, list[str]]]] = {}
        self.observer: Callable[[Plan, DataFrame], DataFrame] | None = None
        """Gets every node with its frame, and may add to it what counts the rows."""

    def ordered(self, plan: Plan, rules: str | None = None) -> DataFrame:
        """The frame of a whole plan, with its columns in the plan's order."""
        if id(plan) not in self._unread:
            self._unread[id(plan)] = plan, unread_faults(plan)
        outer, self._guarded = self._guarded, self._unread[id(plan)][1]
        try:
            return self._ordered(plan, rules)
        finally:
            self._guarded = outer

    def _ordered(self, plan: Plan, rules: str | None) -> DataFrame:
        return self.frame(plan, rules).select(*names_of(plan))

    def frame(self, plan: Plan, rules: str | None) -> DataFrame:
        frame = self._frame(plan, rules)
        return frame if self.observer is None else self.observer(plan, frame)

    def _frame(self, plan: Plan, rules: str | None) -> DataFrame:
        match plan:
            case Scan():
                return self.sources.read(plan).toDF(*names_of(plan))
            case Values(columns, rows):
                return local_frame(self.spark, names_of(plan), [field.type for field in columns], rows)
            case Filter():
                return self._filter(plan, rules)
            case Project(_, _, rule):
                return self._project(plan, rule or rules)
            case Join(left, right, on):
                return self._join(left, right, on, rules)
            case AntiJoin(left, right, on):
                return self._anti_join(left, right, on, rules)
            case Union(inputs):
                return self._union(inputs, plan.columns, rules)
            case Distinct(source):
                # Spark groups by columns; of rows without any, one is as good as all.
                return self._ordered(source, rules).distinct() if source.columns else self.frame(source, rules).limit(1)
            case Aggregate(source, keys, aggregates):
                aggregator = Aggregator(keys, aggregates, self.functions, rules or rules_in(source))
                types = {spark_name(field.name): field.type for field in source.columns}
                return aggregator.combine(self.frame(source, rules), types)
        assert_never(plan)

    def _filter(self, plan: Filter, rules: str | None) -> DataFrame:
        scope, tests = self._compiled(plan, rules)
        frame = scope.with_bindings(self.frame(plan.input, rules))
        for test in tests:
            frame = frame.where(test)
        return frame.select(*names_of(plan)) if scope.bindings else frame

    def _project(self, plan: Project, rules: str | None) -> DataFrame:
        scope, columns = self._compiled(plan, rules)
        frame = scope.with_bindings(self.frame(plan.input, rules)).select(*columns)
        for name in self._guarded.get(id(plan), ()):
            # True for every value, which Spark does not see: so it computes the value.
            frame = frame.where(F.hash(spark_name(name)) >= F.lit(-(2**31)))
        return frame

    def _compiled(self, plan: Filter | Project, rules: str | None) -> tuple[Scope, list[Column]]:
        """The conditions of a filter or the outputs of a projection."""
        known = self._columns.get(id(plan))
        if known is not None:
            return known[1], known[2]
        scope = Scope(rules)
        compiler = ExpressionCompiler(column_types(plan.input), self.functions, scope)
        if isinstance(plan, Filter):
            columns = compiler.conditions(plan.conditions)
        else:
            columns = [
                compiler.compile(output.expression).converted(output.field.type).alias(spark_name(output.field.name))
                for output in plan.outputs
            ]
        self._columns[id(plan)] = plan, scope, columns
        return scope, columns

    def _sides(self, left: Plan, right: Plan, on: tuple[str, ...], rules: str | None) -> tuple[DataFrame, DataFrame]:
        sides = []
        for plan, other, hint in zip((left, right), (right, left), self.sources.join_hints(left, right), strict=True):
            frame = self.sources.prepared(plan, on)
            if frame is None:
                frame = self.frame(plan, rules)
            frame = _with_widened(frame, plan, other, on)
            sides.append(frame.hint(hint) if hint and on else frame)
        return sides[0], sides[1]

    def _join(self, left: Plan, right: Plan, on: tuple[str, ...], rules: str | None) -> DataFrame:
        first, second = self._sides(left, right, on, rules)
        return first.join(second, [spark_name(name) for name in on]) if on else first.crossJoin(second)

    def _anti_join(self, left: Plan, right: Plan, on: tuple[str, ...], rules: str | None) -> DataFrame:
        first, second = self._sides(left, right, on, rules)
        if not on:
            return first.join(second, F.lit(True), "left_anti")
        return first.join(second, [spark_name(name) for name in on], "left_anti")

    def _union(self, inputs: Sequence[Plan], columns: Sequence[Field], rules: str | None) -> DataFrame:
        return union_all(
            [
                self.frame(plan, rules).select(
                    *(
                        _widened(F.col(spark_name(field.name)), field.type, wanted.type).alias(spark_name(wanted.name))
                        for field, wanted in zip(plan.columns, columns, strict=True)
                    )
                )
                for plan in inputs
            ]
        )


def union_all(frames: Sequence[DataFrame]) -> DataFrame:
    """All rows of the frames, at least one, by position."""
    union, *others = frames
    for frame in others:
        union = union.unionAll(frame)
    return union


def names_of(plan: Plan) -> list[str]:
    """The names of the plan's columns in Spark."""
    return [spark_name(field.name) for field in plan.columns]


def rules_in(plan: Plan) -> str | None:
    """The rules whose heads a plan computes, for faults that no single one of them is to blame for."""
    names = dict.fromkeys(node.rule for node in walk(plan) if isinstance(node, Project) and node.rule)
    return ", ".join(names) or None


def _with_widened(frame: DataFrame, plan: Plan, other: Plan, on: tuple[str, ...]) -> DataFrame:
    """An int column that is joined with a float column as a float."""
    own, others = column_types(plan), column_types(other)
    for name in on:
        if own[name] != others[name]:
            widened = _widened(F.col(spark_name(name)), own[name], others[name])
            frame = frame.withColumn(spark_name(name), widened)
    return frame


def _widened(column: Column, own: DataType, wanted: DataType) -> Column:
    return column.cast("double") if own == INT and wanted == FLOAT else column
