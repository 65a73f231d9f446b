"""Aggregates what a join would repeat before it is joined: the rows of an input that agree in all that others read of
them become one, with their number, and with their sum, minimum or the like of a column that is only aggregated.

Correct because a valuation of the body is a choice of one row of each input, and rows that agree in what joins,
conditions and groups read stay or go together. So there are as many valuations as the product of the numbers says, and
a value of one input is in as many of them as the product of the numbers of the others. What repeats change nothing of
needs no numbers. A count of nothing at all is 0, which a sum is not: a row of zeros is added where a count would be 0.

Only ints are added up: the last digits of a float depend on what is added first. Parts of a sum need not fit where the
sum does, so the upper and the lower halves of its numbers are added up apart, and put together in the end. A mean, a
list and the aggregates that users write are no sum of parts, and stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from emberlog.datatypes import INT
from emberlog.language.numbers import HALF, HALVES
from emberlog.language.registry import AGGREGATES
from emberlog.logical.expressions import columns_of, condition_columns
from emberlog.logical.nodes import (
    Aggregate,
    AggregateColumn,
    Field,
    Filter,
    LogicalPlan,
    Output,
    Plan,
    Project,
    Scan,
    Union,
    Values,
)
from emberlog.logical.properties import is_zero_for_nothing, takes_repeats
from emberlog.logical.traverse import with_children
from emberlog.optimize.context import PassContext
from emberlog.optimize.join_region import Region, put_together, region_of
from emberlog.optimize.repeated_inputs import SideRelations, with_side_relations
from emberlog.semantics.model import Compare
from emberlog.syntax.ast import Binary, BinaryOperator, Call, ComparisonOperator, Constant, Expression, Variable

NUMBER = "number"
"""Of the rows that an input has for one: no variable of a program has a name with a dot in it."""


def aggregate_eagerly(plan: LogicalPlan, _context: PassContext) -> LogicalPlan:
    return with_side_relations(plan, _eager)


def _eager(plan: Plan, beside: SideRelations) -> Plan:
    """Returns an aggregate of a join, perhaps with its columns put in order."""
    match plan:
        case Project(Aggregate() as inner):
            return with_children(plan, (_eager(inner, beside),))
        case Aggregate(Project(body), _, _):
            region = region_of(body)
            groups = tuple(_groups(plan, region, beside)) if len(region.inputs) > 1 else ()
            if groups and all(_can_be_put_together(one, plan, region, groups) for one in plan.aggregates):
                return _with_groups(plan, region, groups, beside)
        case _:
            pass
    return plan


@dataclass(frozen=True, slots=True)
class _Group:
    """An input whose rows become one for each value of the columns that are kept."""

    place: int
    kept: tuple[Field, ...]
    folded: Mapping[str, tuple[AggregateColumn, ...]]
    """The columns that only their aggregates are needed of."""

    @property
    def number(self) -> Field:
        return Field(f"{NUMBER}.{self.place + 1}", INT)


def _computed(plan: Aggregate) -> dict[str, Expression]:
    """Returns what the arguments and the keys of the aggregate are, in columns of the body."""
    assert isinstance(plan.input, Project)
    return {output.field.name: output.expression for output in plan.input.outputs}


def _groups(plan: Aggregate, region: Region, beside: SideRelations) -> Iterator[_Group]:
    foldable = _foldable(plan, region)
    counts = not all(map(takes_repeats, plan.aggregates))
    for place, one in enumerate(region.inputs):
        folded = {field.name: foldable[field.name] for field in one.columns if field.name in foldable}
        kept = tuple(field for field in one.columns if field.name not in foldable)
        # An input of which nothing is folded, and nothing counted, is made a set by another pass.
        if (folded or counts) and beside.is_repeated(one, plan.input) and beside.is_worthwhile(one, kept):
            yield _Group(place, kept, folded)


def _foldable(plan: Aggregate, region: Region) -> dict[str, tuple[AggregateColumn, ...]]:
    """Returns the columns of inputs that are read by nobody but by aggregates that can be computed of one input, with
    these."""
    computed = _computed(plan)
    inputs = Counter(field.name for one in region.inputs for field in one.columns)
    read = {name for condition in region.conditions for name in condition_columns(condition)}
    read |= {name for key in plan.keys for name in columns_of(computed[key])}
    folds: dict[str, list[AggregateColumn]] = {}
    for one in plan.aggregates:
        match [computed[argument] for argument in one.arguments]:
            case [Variable(name)] if _is_fold(one):
                folds.setdefault(name, []).append(one)
            case others:
                read |= {name for expression in others for name in columns_of(expression)}
    return {name: tuple(ones) for name, ones in folds.items() if name not in read and inputs[name] == 1}


def _is_fold(aggregate: AggregateColumn) -> bool:
    """Tells whether the aggregate of all is one of the aggregates of parts; it has one argument."""
    function = AGGREGATES.get(aggregate.function)
    return (function is not None and function.is_meet) or _is_count(aggregate) or _is_sum(aggregate)


def _is_count(aggregate: AggregateColumn) -> bool:
    return aggregate.function == "count"


def _is_sum(aggregate: AggregateColumn) -> bool:
    return aggregate.function == "sum" and aggregate.field.type == INT


def _can_be_put_together(aggregate: AggregateColumn, plan: Aggregate, region: Region, groups: Sequence[_Group]) -> bool:
    if takes_repeats(aggregate) or _is_sum(aggregate) or _folded_in(aggregate, groups) is not None:
        return True
    if not _is_count(aggregate):
        return False
    # A count leaves nulls out. What inputs are joined on is none.
    arguments = [_computed(plan)[argument] for argument in aggregate.arguments]
    inputs = Counter(field.name for one in region.inputs for field in one.columns)
    return all(isinstance(one, Variable) and inputs[one.name] > 1 for one in arguments)


def _folded_in(aggregate: AggregateColumn, groups: Sequence[_Group]) -> tuple[_Group, str] | None:
    """Returns the input in which it is computed of a column, and that column."""
    for group in groups:
        for name, aggregates in group.folded.items():
            if aggregate in aggregates:
                return group, name
    return None


def _with_groups(plan: Aggregate, region: Region, groups: Sequence[_Group], beside: SideRelations) -> Plan:
    assert isinstance(plan.input, Project)
    parts = [_parts(one, plan, groups) for one in plan.aggregates]
    aggregates = tuple(
        column
        for one, own in zip(plan.aggregates, parts, strict=True)
        for column in (_combined(one, own) if own else (one,))
    )
    read = {*plan.keys, *(argument for one in aggregates for argument in one.arguments)}
    kept = (output for output in plan.input.outputs if output.field.name in read)
    made = [part for own in parts for part in own]
    outputs = (*kept, *made)
    wanted = frozenset(name for output in outputs for name in columns_of(output.expression))
    inputs = list(region.inputs)
    for group in groups:
        inputs[group.place] = _grouped(group, inputs[group.place], wanted, beside)
    joined = put_together(replace(region, inputs=tuple(inputs)), range(len(inputs)), wanted)
    head: Plan = Project(joined, outputs, plan.input.rule)
    if is_zero_for_nothing(plan):
        zeros = tuple(0 if part in made else None for part in outputs)
        head = Union((head, Values(head.columns, (zeros,))))
    combined = Aggregate(head, plan.keys, aggregates)
    if not any(map(_is_sum, plan.aggregates)):
        return combined
    return Project(combined, tuple(_put_together(field, plan) for field in plan.columns))


UPPER, LOWER = "upper", "lower"


def _parts(aggregate: AggregateColumn, plan: Aggregate, groups: Sequence[_Group]) -> tuple[Output, ...]:
    """Returns what is put together above the join: nothing where it is what it was, and the halves of a sum."""
    found = _folded_in(aggregate, groups)
    if found is None and takes_repeats(aggregate):
        return ()
    own, name = (None, "") if found is None else found
    numbers = [Variable(group.number.name) for group in groups if group is not own]
    if not _is_sum(aggregate):
        folded = [] if own is None else [Variable(_folded_name(name, aggregate))]
        return (_part(aggregate, "parts", [*folded, *([] if takes_repeats(aggregate) else numbers)]),)
    if own is not None:
        halves = {half: Variable(f"{_folded_name(name, aggregate)}.{half}") for half in (UPPER, LOWER)}
        return tuple(_part(aggregate, half, [value, *numbers]) for half, value in halves.items())
    (argument,) = (_computed(plan)[argument] for argument in aggregate.arguments)
    return tuple(_part(aggregate, half, [value, *numbers]) for half, value in _halves(argument).items())


def _part(aggregate: AggregateColumn, name: str, terms: Sequence[Expression]) -> Output:
    product = reduce(lambda left, right: Binary(BinaryOperator.MULTIPLY, left, right), terms)
    return Output(Field(f"{aggregate.field.name}.{name}", aggregate.field.type), product)


def _halves(value: Expression) -> dict[str, Expression]:
    """Returns an int as so many times 2³² and a rest, neither of which can fail."""
    return {
        UPPER: Binary(BinaryOperator.INTEGER_DIVIDE, value, Constant(HALF)),
        LOWER: Binary(BinaryOperator.MODULO, value, Constant(HALF)),
    }


def _combined(aggregate: AggregateColumn, parts: Sequence[Output]) -> Iterator[AggregateColumn]:
    for part in parts:
        field = part.field if len(parts) > 1 else aggregate.field
        function = "sum" if _is_count(aggregate) else aggregate.function
        yield AggregateColumn(field, function, (part.field.name,))


def _put_together(field: Field, plan: Aggregate) -> Output:
    if not any(one.field == field and _is_sum(one) for one in plan.aggregates):
        return Output(field, Variable(field.name))
    halves = tuple(Variable(f"{field.name}.{half}") for half in (UPPER, LOWER))
    return Output(field, Call(HALVES.name, halves))


def _folded_name(column: str, aggregate: AggregateColumn) -> str:
    return f"{column}.{aggregate.function}"


def _grouped(group: _Group, plan: Plan, wanted: frozenset[str], beside: SideRelations) -> Plan:
    folded = {
        _folded_name(name, one): AggregateColumn(Field(_folded_name(name, one), one.field.type), one.function, (name,))
        for name, aggregates in group.folded.items()
        for one in aggregates
    }
    sums = {name: one for name, one in folded.items() if _is_sum(one)}
    columns = [one for name, one in folded.items() if name not in sums]
    for name, one in sums.items():
        halves = {Field(f"{name}.{half}", INT): value for half, value in _halves(Variable(one.arguments[0])).items()}
        columns += [AggregateColumn(field, "sum", (field.name,)) for field in halves]
        handed = (Output(field, Variable(field.name)) for field in plan.columns)
        plan = Project(plan, (*handed, *(Output(field, value) for field, value in halves.items())))
    names = [column.field for column in columns]
    if group.number.name in wanted or not group.kept:
        columns = [AggregateColumn(Field(NUMBER, INT), "count", ()), *columns]
        names = [group.number, *names]
    keys = tuple(field.name for field in group.kept)
    grouped = Scan(beside.add(Aggregate(plan, keys, tuple(columns))).relation, (*group.kept, *names))
    if group.kept:
        return grouped
    # Without keys there is a row for no rows at all, too, which has no partners.
    return Filter(grouped, (Compare(ComparisonOperator.GREATER, Variable(group.number.name), Constant(0)),))
