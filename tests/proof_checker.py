"""Checks proofs and refutations against the facts, with nothing but the naive evaluator's own pieces.

It knows neither how iterations were recorded nor how proofs are found: it evaluates the program round by round, and
then looks at every step of a proof by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product

from emberlog.config import Limits
from emberlog.datatypes import FLOAT
from emberlog.provenance.facts import FactBase
from emberlog.provenance.model import (
    Absence,
    Combination,
    CombinedColumn,
    Condition,
    Contributed,
    Goal,
    InputFact,
    Premise,
    ProofTree,
    RuleStep,
    Step,
    WrittenFact,
)
from emberlog.provenance.proofs import Prover
from emberlog.provenance.refutations import (
    BeyondStages,
    DisturbingFact,
    FailedCondition,
    FailedRule,
    MissingFact,
    NoRule,
    NotGiven,
    OtherHead,
    OtherValues,
    Pattern,
    Refuted,
    Refuter,
)
from emberlog.semantics.model import (
    Absent,
    Bind,
    CellValue,
    CheckedProgram,
    Compare,
    Contribution,
    CoreRule,
    Fact,
    Holds,
    Literal,
    Match,
    RecursionCase,
    Stratum,
)
from emberlog.semantics.rewriting.input_data import data_of
from emberlog.syntax.ast import ComparisonOperator, Constant, Variable
from tests.oracle.aggregates import aggregate
from tests.oracle.evaluate import _apply_rules, _arguments, _combine, _in_type, _needed_relations, _written_rows
from tests.oracle.expressions import Fault, agrees, evaluate_expression
from tests.oracle.inputs import check_inputs
from tests.oracle.limits import Guard
from tests.oracle.rules import IndexedFacts, Row, RuleEvaluator, matched

State = Mapping[str, IndexedFacts]

NEAR = 1e-12
"""How far apart two sums of the same floats may be, in parts of their size. Whoever adds in another order rounds
otherwise, each time by at most 2**-53 of the sum so far: so this is enough for 9,000 additions, in one sum or in sums
of sums, as long as what is added has one sign. Everything else is compared exactly."""


class Checker:
    """Knows all facts of a program, and of recursive ones in which round each came."""

    def __init__(self, checked: CheckedProgram, inputs: Mapping[str, Iterable[Fact]], limits: Limits) -> None:
        self.checked = checked
        self.needed = _needed_relations(checked)
        self.inputs = {name: frozenset(facts) for name, facts in check_inputs(checked, self.needed, inputs).items()}
        self.facts = {name: IndexedFacts(facts) for name, facts in self.inputs.items()}
        self.strata = {name: stratum for stratum in checked.strata for name in stratum.relations}
        self.rounds: dict[str, list[State]] = {}
        """For each relation of a recursion the facts of its stratum after each round; nothing before the first."""
        self.adds_floats = any(
            column.aggregate in ("sum", "avg", "msum") and column.type == FLOAT
            for relation in checked.relations.values()
            for column in relation.columns
        )
        self.contributed: dict[tuple[str, int | None], tuple[dict[Fact, list[Row]], set[Fact]]] = {}
        guard = Guard(limits)
        for stratum in checked.strata:
            if self.needed.intersection(stratum.relations):
                self._evaluate(stratum, guard)

    def _evaluate(self, stratum: Stratum, guard: Guard) -> None:
        states: list[State] = [{name: IndexedFacts(()) for name in stratum.relations}]
        bound = stratum.recursion.iterations if stratum.recursion else 1
        while bound is None or len(states) <= bound:
            after = _apply_rules(self.checked, stratum, {**self.facts, **states[-1]}, guard)
            before = states[-1]
            guard.check_round(
                stratum,
                len(states),
                before={name: one.facts for name, one in before.items()},
                after={name: one.facts for name, one in after.items()},
            )
            states.append(after)
            if all(after[name].facts == before[name].facts for name in stratum.relations):
                break
        self.facts.update(states[-1])
        if stratum.recursion is not None:
            self.rounds.update(dict.fromkeys(stratum.relations, states))

    def is_same(self, fact: Fact, other: Fact) -> bool:
        return fact == other or (self.adds_floats and all(map(_is_near, fact, other)))

    def has(self, facts: State, relation: str, fact: Fact) -> bool:
        known = facts[relation].facts
        return fact in known or (self.adds_floats and any(self.is_same(fact, other) for other in known))

    # --- proofs -----------------------------------------------------------------------------------------------------

    def check_proof(self, tree: ProofTree) -> None:
        """Raises AssertionError with what is wrong."""
        assert tree.root in tree.steps
        for goal, step in tree.steps.items():
            self._check_iteration(goal)
            self._check_step(goal, step)
            for premise in _goals(step):
                assert premise in tree.steps, f"{premise} is not proved"
                self._check_order(premise, goal)

    def _check_iteration(self, goal: Goal) -> None:
        """The iteration is that of naive evaluation, which is the smallest there is."""
        stratum = self.strata.get(goal.relation)
        recursion = stratum.recursion if stratum else None
        if recursion is None:
            assert goal.iteration is None
            assert self.has(self.facts, goal.relation, goal.fact)
            return
        assert goal.iteration is not None
        states = self.rounds[goal.relation]
        match recursion.case:
            case RecursionCase.STAGED:
                assert goal.iteration == goal.fact[recursion.stage_columns[goal.relation]]
                assert self.has(self.facts, goal.relation, goal.fact)
            case RecursionCase.BOUNDED:
                assert self.has(states[goal.iteration], goal.relation, goal.fact), goal
            case _:
                rounds = [i for i, state in enumerate(states) if self.has(state, goal.relation, goal.fact)]
                # Where sums are compared, the one of a round may be near to that of the next.
                first = goal.iteration + 1 if self.adds_floats and goal.iteration + 1 in rounds else rounds[0]
                assert goal.iteration == first - 1, f"{goal} came in round {first}"

    def _check_order(self, premise: Goal, goal: Goal) -> None:
        stratum = self.strata[goal.relation]
        if stratum.recursion is None or premise.relation not in stratum.relations:
            assert self._place(premise) < self._place(goal)
            return
        assert premise.iteration is not None and goal.iteration is not None
        order = stratum.recursion.stage_order
        if stratum.recursion.case is RecursionCase.STAGED:
            before = (premise.iteration, order.index(premise.relation))
            assert before < (goal.iteration, order.index(goal.relation))
        else:
            assert premise.iteration < goal.iteration

    def _place(self, goal: Goal) -> int:
        return self.strata[goal.relation].index if goal.relation in self.strata else 0

    def _before(self, goal: Goal) -> State:
        """What the rules read that derived the goal."""
        recursion = self.strata[goal.relation].recursion
        if recursion is None or recursion.case is RecursionCase.STAGED:
            return self.facts
        assert goal.iteration is not None
        round_before = goal.iteration - (1 if recursion.case is RecursionCase.BOUNDED else 0)
        return {**self.facts, **self.rounds[goal.relation][round_before]}

    def _check_step(self, goal: Goal, step: Step) -> None:
        match step:
            case InputFact():
                assert goal.fact in self._given(goal.relation)
            case WrittenFact(fact):
                assert fact == goal.fact
                assert fact in self.checked.facts[goal.relation]
            case RuleStep():
                rule = self._check_rule(goal.relation, step)
                bindings = dict(step.bindings)
                head = tuple(self._value(value, bindings) for value in rule.head)
                assert self.is_same(head, goal.fact), f"{rule.name} gives {head}"
            case Combination(columns):
                self._check_combination(goal, columns)

    def _check_rule(self, relation: str, step: RuleStep) -> CoreRule:
        (rule,) = (rule for rule in self.checked.rules if rule.name == step.rule)
        assert rule.relation == relation
        bindings = dict(step.bindings)
        for literal, premise in zip(rule.body, step.premises, strict=True):
            assert self._holds(literal, premise, bindings), f"{literal} of {rule.name} does not hold with {bindings}"
        return rule

    def _holds(self, literal: Literal, premise: Premise, bindings: Mapping[str, CellValue]) -> bool:
        match literal, premise:
            case Match(relation, terms), Goal() as goal:
                # A variable that an atom binds to null agrees with nothing else, and with that atom only at first.
                known = {name: value for name, value in bindings.items() if value is not None}
                found = matched(terms, goal.fact, known)
                return relation == goal.relation and found is not None and bindings.items() >= found.items()
            case Absent(relation, terms), Absence():
                return not self._counterexamples(self.facts, relation, terms, bindings)
            case _, Condition(other) if other is literal:
                return self._tested(literal, bindings) is not None
            case _:
                return False

    @staticmethod
    def _counterexamples(
        facts: State, relation: str, terms: Sequence[object], bindings: Mapping[str, CellValue]
    ) -> list[Fact]:
        return [fact for fact in facts[relation].facts if matched(terms, fact, bindings) is not None]  # type: ignore[arg-type]

    def _tested(self, literal: Literal, bindings: Mapping[str, CellValue]) -> Mapping[str, CellValue] | None:
        """The bindings behind a condition, or None if it fails."""
        match literal:
            case Bind(variable, expression):
                value = self._value(expression, bindings)
                if variable.name not in bindings:
                    return {**bindings, variable.name: value}
                own = bindings[variable.name]
                return bindings if own == value or agrees(own, ComparisonOperator.EQUAL, value) else None
            case Compare(operator, left, right):
                return bindings if agrees(self._value(left, bindings), operator, self._value(right, bindings)) else None
            case Holds(test, negated):
                holds = self._value(test, bindings)
                return bindings if holds is not None and holds is not negated else None
            case _:
                raise AssertionError(f"{literal} is no condition")

    def _given(self, relation: str) -> Iterator[Fact]:
        """Yields the data of a relation: its own, and what is registered beside its rules, as its types read that."""
        yield from self.inputs.get(relation, ())
        for rule in self.checked.rules:
            if rule.relation == relation and self.checked.copies_data(rule):
                (match,) = rule.body
                assert isinstance(match, Match)
                for row in self.inputs.get(data_of(relation), ()):
                    bindings = {one.name: value for one, value in zip(match.terms, row, strict=True)}  # type: ignore[union-attr]
                    yield tuple(self._value(value, bindings) for value in rule.head)

    def _value(self, expression: object, bindings: Mapping[str, CellValue]) -> CellValue:
        return evaluate_expression(expression, bindings, self.checked.functions.scalars)  # type: ignore[arg-type]

    def _check_combination(self, goal: Goal, columns: Sequence[CombinedColumn]) -> None:
        relation = self.checked.relations[goal.relation]
        assert [one.column for one in columns] == [
            place for place, column in enumerate(relation.columns) if column.aggregate is not None
        ]
        # All contributions that there were, whether listed or not, make the fact.
        groups, made = self._groups(goal)
        assert any(self.is_same(goal.fact, fact) for fact in made)
        members = groups.get(tuple(goal.fact[place] for place in relation.group), [])
        for column in columns:
            self._check_column(goal, column, [_arguments(row[column.column]) for row in members])

    def _groups(self, goal: Goal) -> tuple[dict[Fact, list[Row]], set[Fact]]:
        """The contributions to the goal's relation in its iteration, by group, and the facts that they make."""
        is_staged = goal.relation not in self.rounds or self.facts is self._before(goal)
        key = (goal.relation, None if is_staged else goal.iteration)
        if key not in self.contributed:
            rows = _written_rows(self.checked, goal.relation)
            for rule in self.checked.rules:
                if rule.relation == goal.relation:
                    rows += self._rows(rule, self._before(goal))
            groups: dict[Fact, list[Row]] = {}
            for row in rows:
                group = self.checked.relations[goal.relation].group
                groups.setdefault(tuple(row[place] for place in group), []).append(row)
            self.contributed[key] = groups, _combine(self.checked, goal.relation, rows)
        return self.contributed[key]

    def _check_column(self, goal: Goal, column: CombinedColumn, all_of_them: list[tuple[CellValue, ...]]) -> None:
        for contributed in column.contributions:
            self._check_contribution(goal, column, contributed)
        listed = [contributed.arguments for contributed in column.contributions]
        relation = self.checked.relations[goal.relation]
        function = self.checked.functions.aggregates[column.function]
        type_ = relation.columns[column.column].type
        if column.is_winner:
            assert len(listed) == 1
        if column.is_winner or column.more == 0:
            value = _in_type(type_, aggregate(function, listed))
            assert self.is_same((value,), (goal.fact[column.column],)), column
        else:
            assert column.more is None or len(listed) + column.more <= len(all_of_them)

    def _check_contribution(self, goal: Goal, column: CombinedColumn, contributed: Contributed) -> None:
        relation = self.checked.relations[goal.relation]
        if isinstance(contributed.by, WrittenFact):
            entries: tuple[CellValue, ...] = contributed.by.fact
            assert entries in self.checked.facts[goal.relation]
            assert contributed.arguments == (entries[column.column],)
        else:
            rule = self._check_rule(goal.relation, contributed.by)
            bindings = dict(contributed.by.bindings)
            contribution = rule.head[column.column]
            assert isinstance(contribution, Contribution)
            assert contributed.arguments == tuple(self._value(one, bindings) for one in contribution.arguments)
            entries = tuple(
                None if isinstance(value, Contribution) else self._value(value, bindings) for value in rule.head
            )
        assert all(entries[place] == goal.fact[place] for place in relation.group)

    def _rows(self, rule: CoreRule, facts: State) -> Iterator[Row]:
        return RuleEvaluator(rule, facts, self.checked.functions.scalars, lambda: None).rows()

    # --- refutations ------------------------------------------------------------------------------------------------

    def check_refutation(self, pattern: Pattern, refutation: Refuted) -> None:
        relation = self.checked.relations[pattern.relation]
        assert not self.has(self.facts, pattern.relation, pattern.values)
        match refutation:
            case NotGiven():
                assert not relation.is_derived
            case OtherValues(facts):
                assert relation.is_aggregated and facts
                for fact in facts:
                    assert self.has(self.facts, pattern.relation, fact)
                    assert all(fact[place] == pattern.values[place] for place in relation.group)
            case BeyondStages(limit):
                recursion = self.strata[pattern.relation].recursion
                assert recursion is not None and recursion.stage_limit == limit
                worker_plan = pattern.values[recursion.stage_columns[pattern.relation]]
                assert isinstance(worker_plan, int) and worker_plan > limit
            case NoRule(rules):
                own = [rule for rule in self.checked.rules if rule.relation == pattern.relation]
                assert [failed.rule for failed in rules] == [rule.name for rule in own]
                for rule, failed in zip(own, rules, strict=True):
                    self._check_failed(rule, failed, pattern)

    def _check_failed(self, rule: CoreRule, failed: FailedRule, pattern: Pattern) -> None:
        facts = self._read_last(pattern.relation)
        group = self.checked.relations[pattern.relation].group
        for row in self._rows(rule, facts):
            assert any(row[place] != pattern.values[place] for place in group), f"{rule.name} gives {pattern}"
        known = self._from_head(rule, pattern)
        if known is None:
            assert failed.failure == OtherHead(None)
            return
        assert failed.is_sure
        assert failed.holding == max(self._prefixes(rule, 0, known, facts)), failed
        self._check_failure(rule, failed, facts)

    def _check_failure(self, rule: CoreRule, failed: FailedRule, facts: State) -> None:
        bindings = dict(failed.bindings)
        for place, literal in enumerate(rule.body[: failed.holding]):
            match literal:
                case Match(_, terms):
                    assert self.has(facts, literal.relation, failed.facts[place])
                    known = {name: value for name, value in bindings.items() if value is not None}
                    found = matched(terms, failed.facts[place], known)
                    assert found is not None and bindings.items() >= found.items()
                case Absent(relation, terms):
                    assert not self._counterexamples(facts, relation, terms, bindings)
                case _:
                    assert self._tested(literal, bindings) is not None
        if failed.holding == len(rule.body):
            assert isinstance(failed.failure, OtherHead)
            return
        literal = rule.body[failed.holding]
        match failed.failure, literal:
            case MissingFact(), Match(relation, terms):
                assert not self._counterexamples(facts, relation, terms, bindings)
            case DisturbingFact(_, fact), Absent(relation, terms):
                assert fact in self._counterexamples(facts, relation, terms, bindings)
            case FailedCondition(other), _ if other is literal:
                assert self._fails(literal, bindings)
            case _:
                raise AssertionError(f"{failed.failure} does not go with {literal}")

    def _fails(self, literal: Literal, bindings: Mapping[str, CellValue]) -> bool:
        try:
            return self._tested(literal, bindings) is None
        except Fault:
            return True

    def _read_last(self, relation: str) -> State:
        recursion = self.strata[relation].recursion
        if recursion is None or recursion.case is not RecursionCase.BOUNDED:
            return self.facts
        return {**self.facts, **self.rounds[relation][-2]}

    @staticmethod
    def _from_head(rule: CoreRule, pattern: Pattern) -> dict[str, CellValue] | None:
        known: dict[str, CellValue] = {}
        for value, wanted in zip(rule.head, pattern.values, strict=True):
            if isinstance(value, Variable):
                if known.get(value.name, wanted) != wanted:
                    return None
                known[value.name] = wanted
            elif isinstance(value, Constant) and value.value != wanted:
                return None
        return known

    def _prefixes(self, rule: CoreRule, place: int, bindings: Mapping[str, CellValue], facts: State) -> Iterator[int]:
        """How many literals hold, for every way to make as many hold as possible."""
        yield place
        if place == len(rule.body):
            return
        literal = rule.body[place]
        match literal:
            case Match(relation, terms):
                for fact in facts[relation].candidates(terms, bindings):
                    extended = matched(terms, fact, bindings)
                    if extended is not None:
                        yield from self._prefixes(rule, place + 1, extended, facts)
            case Absent(relation, terms):
                if not self._counterexamples(facts, relation, terms, bindings):
                    yield from self._prefixes(rule, place + 1, bindings, facts)
            case _:
                try:
                    after = self._tested(literal, bindings)
                except Fault:
                    return
                if after is not None:
                    yield from self._prefixes(rule, place + 1, after, facts)


def _is_near(value: CellValue, other: CellValue) -> bool:
    if isinstance(value, float) and isinstance(other, float):
        return math.isclose(value, other, rel_tol=NEAR)
    return value == other


def _goals(step: Step) -> list[Goal]:
    match step:
        case RuleStep(premises=premises):
            return [premise for premise in premises if isinstance(premise, Goal)]
        case Combination(columns):
            return [
                goal
                for column in columns
                for one in column.contributions
                if isinstance(one.by, RuleStep)
                for goal in _goals(one.by)
            ]
        case _:
            return []


def check_everything(
    checker: Checker,
    base: FactBase,
    domain: Mapping[str, Sequence[CellValue]],
    *,
    most_facts: int | None = None,
    most_absent: int = 30,
) -> None:
    """Proves the facts of every relation that has a part in the answer, and refutes some that are not there: made of
    values of the domain, by type. Checks all of it."""
    prover, refuter = Prover(base, contributions=3), Refuter(base)
    for name in sorted(checker.needed):
        facts = frozenset(base.find(name, {}).facts)
        assert len(facts) == len(checker.facts[name].facts)
        assert all(checker.has(checker.facts, name, fact) for fact in facts)
        for fact in sorted(facts, key=repr)[:most_facts]:
            checker.check_proof(prover.proof(base.goal(name, fact), depth=None, facts=10_000))
        columns = checker.checked.relations[name].columns
        if all(column.type.name in domain for column in columns):
            candidates = product(*(domain[column.type.name] for column in columns))
            for fact in islice((fact for fact in candidates if fact not in facts), most_absent):
                checker.check_refutation(Pattern(name, fact), refuter.refutation(Pattern(name, fact)))
