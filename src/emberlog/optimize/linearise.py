"""Closures are derived step by step, from the side that is asked for.

`tc(X, Y) :- tc(X, Z), tc(Z, Y)` finds every chain once for each place where it can be cut; extending chains by one
step at a time finds the same facts, and each only once for its last step. That is right because the relation is the
closure of its exits whichever way chains are put together (see `closures`). And where every call binds
one end, as `tc(977, Y)?` does, chains are extended at the other end: the bound end is then handed through, so that
demand makes a search from 977 of it, whereas `tc(X, Y) :- arc(X, Z), tc(Z, Y)` would need the closure of all that
977 reaches.
"""

from __future__ import annotations

from dataclasses import replace

from emberlog.datatypes import DataType
from emberlog.logical.expressions import substitute
from emberlog.logical.statistics import Statistics
from emberlog.optimize.closures import Closure, Names, PlainRule, closure_of, plain
from emberlog.optimize.demand_calls import Calls
from emberlog.optimize.rewritten import Rewritten, with_rules
from emberlog.optimize.rule_substitution import fresh_name, literal_with, variable_names
from emberlog.semantics.model import CheckedProgram, Contribution, CoreRule, Fact, HeadValue, Literal, Match, Relation
from emberlog.syntax.ast import Binary, BinaryOperator, Call, Expression, Variable


def linearise(checked: CheckedProgram, statistics: Statistics) -> Rewritten:
    if checked.has_streams:
        return Rewritten(checked, "a stream keeps all its facts")
    calls = Calls(checked, statistics)
    relations, facts = dict(checked.relations), dict(checked.facts)
    written: dict[str, list[CoreRule]] = {}
    done: list[str] = []
    for stratum in checked.strata:
        closure = closure_of(checked, stratum)
        if closure is None:
            continue
        keep_first = _keeps_sources(closure, calls)
        if closure.is_linear and all(chain.is_own == (keep_first, not keep_first) for chain in closure.chains):
            continue
        name, shape = closure.relation.name, closure.shape
        written[name] = _Linear(closure, keep_first).rules(relations, facts)
        columns = (closure.relation.columns[i].name for i in (shape.sources if keep_first else shape.targets))
        done.append(f"{name} takes one step at a time and keeps {', '.join(columns)}")
    if not done:
        return Rewritten(checked, "")
    rules = [rule for rule in checked.rules if rule.relation not in written]
    program = with_rules(
        checked, [*rules, *(rule for own in written.values() for rule in own)], relations=relations, facts=facts
    )
    return Rewritten(checked, "") if program is None else Rewritten(program, "; ".join(done))


def _keeps_sources(closure: Closure, calls: Calls) -> bool:
    """Tells whether chains should be extended at their targets. Where no call says, as the rules do, or with the column
    in front kept."""
    bindings = [binding for name, binding in calls.versions if name == closure.relation.name]
    sources = bool(bindings) and all(one[i] == "b" for one in bindings for i in closure.shape.sources)
    targets = bool(bindings) and all(one[i] == "b" for one in bindings for i in closure.shape.targets)
    if sources != targets:
        return sources
    if closure.is_linear:
        return closure.chains[0].is_own[0]
    return min(closure.shape.sources) < min(closure.shape.targets)


class _Linear:
    """Writes a closure as exits, and one rule that extends a chain for each of them."""

    def __init__(self, closure: Closure, keep_first: bool) -> None:
        self.closure = closure
        self.keep_first = keep_first
        self.template = next((chain for chain in closure.chains if all(chain.is_own)), closure.chains[0])
        self.name = closure.relation.name

    def rules(self, relations: dict[str, Relation], facts: dict[str, tuple[Fact, ...]]) -> list[CoreRule]:
        """Adds a relation of the steps where that is better, with the facts that the program writes for them."""
        steps = [step for exit in self.closure.exits if (step := _inlined(exit, self.closure)) is not None]
        if len(steps) == len(self.closure.exits) and self.name not in facts:
            extensions = map(self._extension, steps, self.closure.exits)
            return [*self.closure.exits, *extensions]
        name = f"step of {self.name}"
        relations[name] = replace(self.closure.relation, name=name)
        if self.name in facts:
            facts[name] = facts.pop(self.name)
        return [*(replace(exit, relation=name) for exit in self.closure.exits), *self._over(name)]

    def _over(self, steps: str) -> list[CoreRule]:
        """Returns the closure of a relation that holds the steps."""
        names = self.template.second
        relation = self.closure.relation
        atom = Match(steps, tuple(map(Variable, names)))
        head: tuple[HeadValue, ...] = tuple(
            Contribution(column.aggregate, (Variable(name),)) if column.aggregate else Variable(name)
            for name, column in zip(names, relation.columns, strict=True)
        )
        types = {name: column.type for name, column in zip(names, relation.columns, strict=True)}
        exit = CoreRule(f"exits of {self.name}", self.name, head, (atom,), types=types)
        return [exit, self._extension(PlainRule(tuple(map(Variable, names)), (atom,)), exit)]

    def _extension(self, step: PlainRule, exit: CoreRule) -> CoreRule:
        """Returns the rule that extends a chain by a step of this exit."""
        first, second = self.template.first, self.template.second
        own, other = (first, second) if self.keep_first else (second, first)
        taken = {*first, *second}
        names = {
            expression.name: name
            for column, (expression, name) in enumerate(zip(step.head, other, strict=True))
            if column != self.closure.shape.value and isinstance(expression, Variable)
        }
        for name in dict.fromkeys(name for literal in step.body for name in variable_names(literal)):
            if name not in names:
                names[name] = fresh_name(name, taken)
                taken.add(names[name])
        put = {old: Variable(new) for old, new in names.items()}
        literals: tuple[Literal, ...] = tuple(literal_with(literal, put) for literal in step.body)
        atom = Match(self.name, tuple(map(Variable, own)))
        types = self._types(names, exit)
        rule = self.template.rule
        return replace(
            rule,
            head=self._head(step, put, own),
            body=(atom, *literals) if self.keep_first else (*literals, atom),
            types=types,
        )

    def _head(self, step: PlainRule, put: dict[str, Variable], own: Names) -> tuple[HeadValue, ...]:
        shape, columns = self.closure.shape, self.closure.relation.columns
        head: list[HeadValue] = [
            Variable(self.template.first[i] if i in shape.sources else self.template.second[i])
            for i in range(len(columns))
        ]
        if shape.value is not None:
            function = columns[shape.value].aggregate
            assert function is not None
            operands = (Variable(own[shape.value]), substitute(step.head[shape.value], put))
            value = _combined(self.closure, operands if self.keep_first else (operands[1], operands[0]))
            head[shape.value] = Contribution(function, (value,))
        return tuple(head)

    def _types(self, names: dict[str, str], exit: CoreRule) -> dict[str, DataType]:
        columns = self.closure.relation.columns
        types = {new: exit.types[old] for old, new in names.items() if old in exit.types}
        for part in (self.template.first, self.template.second):
            types |= {name: column.type for name, column in zip(part, columns, strict=True)}
        return types


def _inlined(exit: CoreRule, closure: Closure) -> PlainRule | None:
    """Returns the exit as a step in a rule, unless a relation of steps is better: it holds each of them once."""
    step = plain(exit)
    if step is None:
        return None
    keys = [value for column, value in enumerate(step.head) if column != closure.shape.value]
    is_plain = all(isinstance(value, Variable) for value in keys) and len(set(keys)) == len(keys)
    is_atom = len(step.body) == 1 and isinstance(step.body[0], Match)
    return step if is_plain and (is_atom or closure.is_linear) else None


def _combined(closure: Closure, operands: tuple[Expression, Expression]) -> Expression:
    if closure.operation == "+":
        return Binary(BinaryOperator.ADD, *operands)
    assert closure.operation is not None
    return Call(closure.operation, operands)
