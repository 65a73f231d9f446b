"""Which of the legal cases an aggregate in recursion falls under, and why; anything else is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from emberlog.diagnostics import Diagnostics
from emberlog.language.registry import AGGREGATES
from emberlog.semantics.dependencies import Dependency, cycle_through, describe_cycle
from emberlog.semantics.model import CheckedQuery, CoreRule, Match, Recursion, RecursionCase, Relation
from emberlog.semantics.monotonicity import NonMonotoneStep, non_monotone_step
from emberlog.semantics.rewriting.relation_kinds import choice_of
from emberlog.semantics.stages import Stages, find_stages, query_limit, stage_variable
from emberlog.syntax.ast import AggregateTerm
from emberlog.syntax.printer import print_term

KEEP_THE_BEST = "keep the best of each key by a subsumption: `p(x, c1) <= p(x, c2) :- c2 < c1.`"
"""What Soufflé's language has for an aggregate in a recursion."""


@dataclass(frozen=True, slots=True)
class RecursionContext:
    relations: Mapping[str, Relation]
    rules: Sequence[CoreRule]
    queries: Sequence[CheckedQuery]
    iterations: int | None
    """A bound for the whole program: used where a recursion would be refused without one."""


def decide(
    component: Sequence[str], inner: Sequence[Dependency], context: RecursionContext, diagnostics: Diagnostics
) -> Recursion | None:
    """How the component is evaluated, or None after reporting why it is refused; `inner` are the dependencies inside
    it."""
    return _Decision(component, inner, context, diagnostics).run()


class _Decision:
    def __init__(
        self, component: Sequence[str], inner: Sequence[Dependency], context: RecursionContext, diagnostics: Diagnostics
    ) -> None:
        self.component = tuple(component)
        self.members = frozenset(component)
        self.context = context
        self.diagnostics = diagnostics
        self.rules = [rule for rule in context.rules if rule.relation in self.members]
        self.inner = inner
        self.aggregates = {
            column.aggregate: name
            for name in self.component
            for column in context.relations[name].columns
            if column.aggregate is not None
        }

    def run(self) -> Recursion | None:
        if any(rule.iterations is not None for rule in self.rules):
            return self._bounded_by_annotation()
        if not self.aggregates:
            return self._recursion(RecursionCase.SET, "no aggregate takes part, so facts are only ever added")
        refused = [name for name in self.aggregates if not self._is_monotone(name)]
        step = None if refused else self._non_monotone()
        if not refused and step is None:
            return self._monotone()
        stages = find_stages(self.component, self.rules, self.context.relations)
        limit = query_limit(stages, self.context.queries, self.context.rules) if stages else None
        if stages is not None and (limit is not None or not stages.unbounded):
            return self._staged(stages, limit)
        if self.context.iterations is not None:
            return self._recursion(
                RecursionCase.BOUNDED,
                f"the program is bounded to {self.context.iterations:,} iterations",
                iterations=self.context.iterations,
            )
        if stages is not None:
            self._refuse_endless(stages)
        elif step is not None:
            self._refuse_step(*step)
        else:
            self._refuse_aggregate(refused[0])
        return None

    def _recursion(
        self,
        case: RecursionCase,
        reason: str,
        *,
        iterations: int | None = None,
        stages: Stages | None = None,
        stage_limit: int | None = None,
    ) -> Recursion:
        atoms = [
            sum(isinstance(literal, Match) and literal.relation in self.members for literal in rule.body)
            for rule in self.rules
        ]
        return Recursion(
            case,
            reason,
            is_linear=max(atoms, default=0) <= 1,
            is_mutual=len(self.component) > 1,
            iterations=iterations,
            stage_columns=stages.columns if stages else {},
            stage_order=stages.order if stages else (),
            stage_limit=stage_limit,
        )

    def _bounded_by_annotation(self) -> Recursion | None:
        bounds = {rule.iterations: rule for rule in self.rules if rule.iterations is not None}
        if len(bounds) > 1:
            *_, last = bounds.values()
            numbers = " and ".join(str(number) for number in sorted(filter(None, bounds)))
            self.diagnostics.error(
                "DL234",
                f"one recursion has two bounds, {numbers} iterations",
                last.span,
                "the rules of a recursion run together: give them the same @iterations, once is enough",
            )
            return None
        (bound,) = bounds
        return self._recursion(
            RecursionCase.BOUNDED,
            f"@iterations({bound}) bounds it: each round starts anew from the round before",
            iterations=bound,
        )

    @staticmethod
    def _is_monotone(name: str) -> bool:
        return name in AGGREGATES and (AGGREGATES[name].is_meet or AGGREGATES[name].by_key)

    def _non_monotone(self) -> tuple[CoreRule, NonMonotoneStep] | None:
        for rule in self.rules:
            if rule.premappable:
                continue
            step = non_monotone_step(rule, self.members, self.context.relations)
            if step is not None:
                return rule, step
        return None

    def _monotone(self) -> Recursion:
        names = ", ".join(sorted(self.aggregates))
        promised = [rule.name for rule in self.rules if rule.premappable]
        promise = f"; @premappable promises it for {', '.join(promised)}" if promised else ""
        if all(AGGREGATES[name].is_meet for name in self.aggregates):
            return self._recursion(
                RecursionCase.MEET,
                f"{names}: a contribution that comes twice changes nothing, "
                f"and every rule is monotone in the value{promise}",
            )
        return self._recursion(
            RecursionCase.MONOTONE_SUM,
            f"{names}: only the largest contribution of a key counts, so values only grow{promise}",
        )

    def _staged(self, stages: Stages, limit: int | None) -> Recursion:
        shown = ", ".join(
            f"{name}.{self.context.relations[name].columns[i].name}" for name, i in stages.columns.items()
        )
        reason = f"the stage argument {shown} grows round every cycle, so a stage is complete before it is read"
        if limit is not None:
            reason += f"; the query needs no stage above {limit:,}"
        return self._recursion(RecursionCase.STAGED, reason, stages=stages, stage_limit=limit)

    def _refuse_endless(self, stages: Stages) -> None:
        rule = stages.unbounded[0]
        name = stage_variable(rule, stages.columns)
        self.diagnostics.error(
            "DL233",
            f"the stages of `{rule.relation}` have no end",
            rule.statement.head.span if rule.statement else rule.span,
            f"the stage argument `{name}` grows in every round, and nothing stops it",
            f"bound it in the rule, `{name} < 20`, or ask for one stage in the query",
        )

    def _refuse_step(self, rule: CoreRule, step: NonMonotoneStep) -> None:
        cycle = f"the cycle: {describe_cycle(cycle_through(self._recursive_dependency(rule), self.inner))}"
        if (chosen := choice_of(rule.relation)) is not None:
            self.diagnostics.error(
                "DL238",
                f"`{chosen}` has a choice, and its rules read more of it than what it is chosen by",
                step.span,
                "which fact is chosen is known when all of them are there; what it is chosen by is known at once",
                f"join `{chosen}` in its own rules on the columns of its choice only",
            )
            return
        self.diagnostics.error(
            "DL232",
            f"the recursion of `{rule.relation}` is not monotone in its aggregated value",
            step.span,
            step.reason,
            cycle,
            KEEP_THE_BEST
            if step.span.source.is_souffle
            else "if you know that the aggregate may be applied early all the same, promise it: "
            "put @premappable before the rule",
        )

    def _recursive_dependency(self, rule: CoreRule) -> Dependency:
        return next((d for d in self.inner if d.rule is rule), self.inner[0])

    def _refuse_aggregate(self, function: str) -> None:
        relation = self.aggregates[function]
        dependency = next((d for d in self.inner if d.head == relation), self.inner[0])
        statement = dependency.rule.statement
        reasons = {
            "sum": "sum can count a contribution twice when the recursion comes round again",
            "avg": "avg moves up and down while the recursion runs",
            "collect": "collect can list a contribution twice when the recursion comes round again",
        }
        written = statement.head.terms if statement else ()
        term = next((print_term(t) for t in written if isinstance(t, AggregateTerm) and t.function == function), None)
        staged = f"{relation}(X, I + 1, {term or f'{function}<…>'})"
        self.diagnostics.error(
            "DL231",
            f"`{relation}` is aggregated with {function} inside its own recursion",
            statement.head.span if statement else dependency.rule.span,
            f"the cycle: {describe_cycle(cycle_through(dependency, self.inner))}",
            reasons.get(function, f"{function} can count a contribution twice when the recursion comes round again"),
            "aggregate over a relation that does not depend on this one; only min and max may, as a subsumption"
            if dependency.rule.span.source.is_souffle
            else f"legal instead: min/max, mcount, msum, a stage argument ({staged}), or @iterations(n)",
        )
