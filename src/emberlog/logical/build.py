"""From core rules to a relational plan: one plan per rule, left-deep in the order of the body, none of it optimised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from emberlog.deadline import check_time
from emberlog.diagnostics import fail
from emberlog.logical.contributions import ContributionLayout, layout_of
from emberlog.logical.expressions import substitute, substitute_in_condition
from emberlog.logical.nodes import (
    Aggregate,
    AntiJoin,
    Condition,
    Definition,
    Distinct,
    Field,
    Filter,
    Fixpoint,
    FixpointRelation,
    Join,
    LogicalPlan,
    Output,
    Plan,
    PlannedStratum,
    Project,
    RecursiveRule,
    Scan,
    Union,
    Values,
)
from emberlog.logical.traverse import PLANNING, column_names
from emberlog.semantics.model import (
    Absent,
    Bind,
    CheckedProgram,
    Compare,
    CoreRule,
    Fact,
    Holds,
    Literal,
    Match,
    Recursion,
    Relation,
    Stratum,
    Term,
)
from emberlog.semantics.totality import TRY, literal_can_fail, type_of
from emberlog.syntax.ast import Call, ComparisonOperator, Constant, Expression, Variable, variables_of

LONGEST_BODY = 100
"""Literals in one body. A plan is as deep as its body is long, and whoever walks over a plan recurses."""

MOST_OPERANDS = 1_000
"""Variables in an expression that other expressions were put into: such expressions can double with every literal."""

UNIT = Values((), ((),))
"""The plan of an empty body: one row without columns."""


def build(checked: CheckedProgram) -> LogicalPlan:
    """Returns the plan of a checked program. Run `optimize` on it before executing it."""
    builder = _ProgramBuilder(checked)
    return LogicalPlan(
        inputs={name: fields_of(checked.relations[name]) for name in checked.inputs},
        strata=tuple(builder.strata()),
        outputs=checked.outputs,
        queries=checked.queries,
        functions=checked.functions,
    )


def fields_of(relation: Relation) -> tuple[Field, ...]:
    return tuple(Field(column.name, column.type) for column in relation.columns)


class _ProgramBuilder:
    def __init__(self, checked: CheckedProgram) -> None:
        self.checked = checked

    def strata(self) -> Iterator[PlannedStratum]:
        for stratum in self.checked.strata:
            if stratum.recursion is not None:
                yield PlannedStratum(stratum.index, self._fixpoint(stratum, stratum.recursion))
            else:
                for name in stratum.relations:
                    if self.checked.relations[name].is_derived:
                        rules = [rule for rule in stratum.rules if rule.relation == name]
                        yield PlannedStratum(stratum.index, self._definition(name, rules))

    def _definition(self, name: str, rules: Sequence[CoreRule]) -> Definition:
        layout = self._layout(name, rules)
        contributions = self._contributions(layout, rules, None)
        if not layout.aggregates:
            # The facts of the program alone are a set already.
            return Definition(name, contributions if isinstance(contributions, Values) else Distinct(contributions))
        keys = tuple(field.name for field in layout.keys)
        combined = Aggregate(contributions, keys, tuple(aggregate.column for aggregate in layout.aggregates))
        return Definition(name, _in_order(combined, fields_of(layout.relation)))

    def _fixpoint(self, stratum: Stratum, recursion: Recursion) -> Fixpoint:
        return Fixpoint(
            tuple(self._fixpoint_relation(name, stratum, recursion) for name in stratum.relations), recursion
        )

    def _fixpoint_relation(self, name: str, stratum: Stratum, recursion: Recursion) -> FixpointRelation:
        rules = [rule for rule in stratum.rules if rule.relation == name]
        recursive = [rule for rule in rules if _reads_any(rule, stratum.relations)]
        exits = [rule for rule in rules if not _reads_any(rule, stratum.relations)]
        layout = self._layout(name, rules)
        seed = self._contributions(layout, exits, recursion)
        return FixpointRelation(
            name,
            fields_of(layout.relation),
            tuple(field.name for field in layout.keys),
            tuple(aggregate.column for aggregate in layout.aggregates),
            seed,
            tuple(RecursiveRule(rule.name, self._rule(layout, rule, recursion)) for rule in recursive),
            next((layout.relation.columns[rule.location].name for rule in rules if rule.location is not None), None),
        )

    def _layout(self, name: str, rules: Sequence[CoreRule]) -> ContributionLayout:
        return layout_of(self.checked.relations[name], rules, has_facts=bool(self.checked.facts.get(name)))

    def _contributions(
        self, layout: ContributionLayout, rules: Sequence[CoreRule], recursion: Recursion | None
    ) -> Plan:
        """Returns what the facts of the program and these rules contribute, all in one bag."""
        facts_in_text = self.checked.facts.get(layout.relation.name, ())
        rows = [layout.row(fact) for fact in facts_in_text if _is_within_stages(layout.relation.name, fact, recursion)]
        if not layout.aggregates:
            rows = list(dict.fromkeys(rows))
        facts = [Values(layout.columns, tuple(rows))] if rows or not rules else []
        inputs = (*facts, *(self._rule(layout, rule, recursion) for rule in rules))
        return inputs[0] if len(inputs) == 1 else Union(inputs)

    def _rule(self, layout: ContributionLayout, rule: CoreRule, recursion: Recursion | None) -> Plan:
        check_time(PLANNING)
        if len(rule.body) > LONGEST_BODY:
            raise fail(
                "DL302",
                f"the body of rule `{rule.name}` has {len(rule.body):,} parts; at most {LONGEST_BODY:,} can be planned",
                rule.statement.span if rule.statement else None,
                "split it into several rules, each with a relation of its own",
            )
        head: Plan = Project(_BodyBuilder(self.checked, rule).body(), layout.outputs(rule), rule.name)
        if recursion is None or recursion.stage_limit is None:
            return head
        stage = layout.relation.columns[recursion.stage_columns[rule.relation]].name
        limit = Compare(ComparisonOperator.LESS_OR_EQUAL, Variable(stage), Constant(recursion.stage_limit))
        return Filter(head, (limit,))


class _BodyBuilder:
    """Joins the literals of one body, from left to right, and what can fail behind all others."""

    def __init__(self, checked: CheckedProgram, rule: CoreRule) -> None:
        self.checked = checked
        self.rule = rule
        self.plan: Plan = UNIT
        self.names_taken: set[str] = set()

    def body(self) -> Plan:
        types = self.rule.types
        begin = next(
            (place for place, literal in enumerate(self.rule.body) if literal_can_fail(literal, types)),
            len(self.rule.body),
        )
        for literal in self.rule.body[:begin]:
            self.plan = self._with(literal)
        self._weigh(self.rule.body[begin:])
        return self.plan

    def _weigh(self, literals: Sequence[Literal]) -> None:
        """Adds the literals from the first one on that can fail. A fault counts only for a valuation for which all
        others hold: so negated atoms come first, then all conditions as one filter, in terms of what is bound
        without fail, and then the values."""
        binds: list[Bind] = []
        values: dict[str, Expression] = {}
        conditions: list[Condition] = []
        for place, literal in enumerate(literals):
            match literal:
                case Bind(variable, expression):
                    binds.append(literal)
                    values[variable.name] = substitute(expression, values)
                    if len(list(variables_of(values[variable.name]))) > MOST_OPERANDS:
                        self._finish(conditions, binds)
                        self._weigh(literals[place + 1 :])
                        return
                case Compare() | Holds():
                    conditions.append(substitute_in_condition(literal, values))
                case Absent(_, terms):
                    tried = dict.fromkeys(one for one in terms if isinstance(one, Variable) and one.name in values)
                    for term in tried:
                        # Null agrees with no fact, so that the atom says nothing where there is no value.
                        self.plan = self._with(Bind(term, Call(TRY, (values[term.name],))))
                    self.plan = self._with(literal)
                    self.plan = self._without_columns({term.name for term in tried})
                case Match():
                    self.plan = self._with(literal)
                case _:
                    assert_never(literal)
        self._finish(conditions, binds)

    def _finish(self, conditions: Sequence[Condition], binds: Sequence[Bind]) -> None:
        if conditions:
            self.plan = Filter(self.plan, tuple(conditions))
        for bind in binds:
            self.plan = self._with(bind)

    def _without_columns(self, names: set[str]) -> Plan:
        if not names:
            return self.plan
        return Project(self.plan, _kept([field for field in self.plan.columns if field.name not in names]))

    def _with(self, literal: Literal) -> Plan:
        match literal:
            case Match(relation, terms):
                return self._joined(self._atom(relation, terms))
            case Absent(relation, terms):
                return self._without(self._atom(relation, terms))
            case Bind(variable, expression):
                types = {field.name: field.type for field in self.plan.columns}
                added = Output(Field(variable.name, type_of(expression, types)), expression)
                return Project(self.plan, (*_kept(self.plan.columns), added))
            case Compare() | Holds():
                return Filter(self.plan, (literal,))
        assert_never(literal)

    def _joined(self, atom: Plan) -> Plan:
        if self.plan is UNIT:
            return atom
        return Join(self.plan, atom, self._shared(atom))

    def _without(self, atom: Plan) -> Plan:
        shared = self._shared(atom)
        bound = tuple(field for field in atom.columns if field.name in shared)
        return AntiJoin(self.plan, Distinct(Project(atom, _kept(bound))), shared)

    def _shared(self, atom: Plan) -> tuple[str, ...]:
        bound = set(column_names(self.plan))
        return tuple(name for name in column_names(atom) if name in bound)

    def _atom(self, relation: str, terms: Sequence[Term]) -> Plan:
        """Returns a scan whose columns are named by the variables; constants and repeated variables become
        conditions."""
        fields: list[Field] = []
        conditions: list[Condition] = []
        for position, (term, column) in enumerate(zip(terms, self.checked.relations[relation].columns, strict=True), 1):
            if isinstance(term, Variable) and all(field.name != term.name for field in fields):
                fields.append(Field(term.name, column.type))
                continue
            fresh = Variable(self._fresh_name(f"{relation}.{position}"), term.span)
            fields.append(Field(fresh.name, column.type))
            conditions.append(Compare(ComparisonOperator.EQUAL, fresh, term, term.span))
        scan = Scan(relation, tuple(fields))
        return Filter(scan, tuple(conditions)) if conditions else scan

    def _fresh_name(self, wanted: str) -> str:
        name, count = wanted, 1
        while name in self.names_taken:
            count += 1
            name = f"{wanted}.{count}"
        self.names_taken.add(name)
        return name


def _is_within_stages(relation: str, fact: Fact, recursion: Recursion | None) -> bool:
    """Tells whether somebody may need the fact: nobody does above the last stage that a query asks for."""
    if recursion is None or recursion.stage_limit is None:
        return True
    stage = fact[recursion.stage_columns[relation]]
    return isinstance(stage, int) and stage <= recursion.stage_limit


def _reads_any(rule: CoreRule, relations: Sequence[str]) -> bool:
    return any(isinstance(literal, Match | Absent) and literal.relation in relations for literal in rule.body)


def _kept(fields: Sequence[Field]) -> tuple[Output, ...]:
    return tuple(Output(field, Variable(field.name)) for field in fields)


def _in_order(plan: Plan, wanted: tuple[Field, ...]) -> Plan:
    """Returns the columns of the plan in the order of the relation."""
    return plan if plan.columns == wanted else Project(plan, _kept(wanted))
