"""The oracle: a naive evaluator of the batch language that anyone can check by reading it.

A stratum is evaluated as its meaning says. Start from nothing; in each round apply all rules and facts of
the stratum to the facts of the round before and combine what they contribute; stop when a round changes
nothing. Nothing here is clever, and nothing is shared with the other executors: their answers are tested
against these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from emberlog.config import DEFAULT_LIMITS, Limits
from emberlog.datatypes import FLOAT, DataType
from emberlog.diagnostics import fail
from emberlog.semantics.model import (
    Absent,
    CellValue,
    CheckedProgram,
    CheckedQuery,
    Fact,
    Match,
    Relation,
    Stratum,
)
from emberlog.syntax.ast import Parameter
from tests.oracle.aggregates import COUNTS, aggregate
from tests.oracle.expressions import Fault
from tests.oracle.inputs import check_inputs
from tests.oracle.limits import Guard
from tests.oracle.rules import IndexedFacts, Row, RuleEvaluator, matched


def evaluate(
    checked: CheckedProgram, inputs: Mapping[str, Iterable[Fact]], limits: Limits = DEFAULT_LIMITS
) -> dict[str, frozenset[Fact]]:
    """The facts of every output relation, restricted by the queries."""
    streams = [relation for relation in checked.relations.values() if relation.is_stream]
    if streams:
        raise fail(
            "DL320",
            f"stream programs are checked and explained here, not run: `{streams[0].name}` is a stream",
            streams[0].span,
        )
    guard = Guard(limits)
    needed = _needed_relations(checked)
    known = check_inputs(checked, needed, inputs)
    facts = {name: IndexedFacts(facts) for name, facts in known.items()}
    in_strata = {name for stratum in checked.strata for name in stratum.relations}
    for name in needed - in_strata - set(facts):
        facts[name] = IndexedFacts(_combine(checked, name, _written_rows(checked, name)))
    for stratum in checked.strata:
        if needed.intersection(stratum.relations):
            facts.update(_evaluate_stratum(checked, stratum, facts, guard))
    return {name: frozenset(_answers(checked, name, facts[name].facts)) for name in checked.outputs}


def _needed_relations(checked: CheckedProgram) -> set[str]:
    """The outputs and everything that they are derived from."""
    needed: set[str] = set()
    to_visit = list(checked.outputs)
    while to_visit:
        name = to_visit.pop()
        if name not in needed:
            needed.add(name)
            to_visit += [
                literal.relation
                for rule in checked.rules
                if rule.relation == name
                for literal in rule.body
                if isinstance(literal, (Match, Absent))
            ]
    return needed


def _answers(checked: CheckedProgram, name: str, facts: Iterable[Fact]) -> Iterator[Fact]:
    queries = [query for query in checked.queries if query.relation == name]
    for fact in facts:
        if not queries or any(_agrees_with(query, fact) for query in queries):
            yield fact


def _agrees_with(query: CheckedQuery, fact: Fact) -> bool:
    terms = []
    for term in query.terms:
        if isinstance(term, Parameter):
            raise fail("DL211", f"the parameter `${term.name}` has no value", term.span)
        terms.append(term)
    return matched(terms, fact, {}) is not None


# --- strata ---------------------------------------------------------------------------------------------------------


def _evaluate_stratum(
    checked: CheckedProgram, stratum: Stratum, facts: Mapping[str, IndexedFacts], guard: Guard
) -> dict[str, IndexedFacts]:
    state = {name: IndexedFacts(()) for name in stratum.relations}
    if stratum.recursion is None:
        rounds: int | None = 1
    else:
        rounds = stratum.recursion.iterations
    number = 0
    while rounds is None or number < rounds:
        number += 1
        new_state = _apply_rules(checked, stratum, {**facts, **state}, guard)
        if all(new_state[name].facts == state[name].facts for name in stratum.relations):
            break
        guard.check_round(
            stratum,
            number,
            before={name: indexed.facts for name, indexed in state.items()},
            after={name: indexed.facts for name, indexed in new_state.items()},
        )
        state = new_state
    guard.keep(sum(len(indexed.facts) for indexed in state.values()))
    return state


def _apply_rules(
    checked: CheckedProgram, stratum: Stratum, facts: Mapping[str, IndexedFacts], guard: Guard
) -> dict[str, IndexedFacts]:
    """One application of the immediate consequence operator to all relations of the stratum."""

    def on_step() -> None:
        guard.check_time(stratum)

    result = {}
    for name in stratum.relations:
        rows = _written_rows(checked, name)
        for rule in stratum.rules:
            if rule.relation == name:
                rows += RuleEvaluator(rule, facts, checked.functions.scalars, on_step).rows()
        combined = _combine(checked, name, rows)
        result[name] = IndexedFacts(fact for fact in combined if _is_within_stages(stratum, name, fact))
    return result


def _is_within_stages(stratum: Stratum, name: str, fact: Fact) -> bool:
    recursion = stratum.recursion
    if recursion is None or recursion.stage_limit is None or name not in recursion.stage_columns:
        return True
    stage = fact[recursion.stage_columns[name]]
    return isinstance(stage, int) and stage <= recursion.stage_limit


def _written_rows(checked: CheckedProgram, name: str) -> list[Row]:
    """The facts in the program text; in an aggregated column their value is a contribution."""
    columns = checked.relations[name].columns
    return [
        tuple(value if column.aggregate is None else (value,) for column, value in zip(columns, fact, strict=True))
        for fact in checked.facts.get(name, ())
    ]


def _combine(checked: CheckedProgram, name: str, rows: Iterable[Row]) -> set[Fact]:
    """The facts that the rows make up: themselves, or one per group where columns are aggregated."""
    relation = checked.relations[name]
    if not relation.is_aggregated:
        return set(rows)
    try:
        return _aggregated(checked, relation, rows)
    except Fault as fault:
        rules = [rule for rule in checked.rules if rule.relation == name]
        names = f", rule {', '.join(rule.name for rule in rules)}" if rules else ""
        span = rules[-1].span if rules else relation.span
        raise fail(fault.code, f"{fault.message}: `{name}`{names}", span, *fault.hints) from None


def _aggregated(checked: CheckedProgram, relation: Relation, rows: Iterable[Row]) -> set[Fact]:
    functions = {
        i: checked.functions.aggregates[column.aggregate]
        for i, column in enumerate(relation.columns)
        if column.aggregate is not None
    }
    groups: dict[Fact, list[Row]] = {}
    if not relation.group and all(function.name in COUNTS for function in functions.values()):
        groups[()] = []  # the one group that exists without rows: its count is 0
    for row in rows:
        groups.setdefault(tuple(row[i] for i in relation.group), []).append(row)
    return {
        tuple(
            _in_type(relation.columns[i].type, aggregate(functions[i], [_arguments(row[i]) for row in members]))
            if i in functions
            else key[relation.group.index(i)]
            for i in range(relation.arity)
        )
        for key, members in groups.items()
    }


def _in_type(type_: DataType, value: CellValue) -> CellValue:
    """The 0 of a count that adds up floats is a float too."""
    return float(value) if type_ == FLOAT and isinstance(value, int) else value


def _arguments(entry: CellValue | tuple[CellValue, ...]) -> tuple[CellValue, ...]:
    assert isinstance(entry, tuple)
    return entry
