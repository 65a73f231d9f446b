"""Makes relations up for what a body says beside atoms and comparisons.

A negated conjunction becomes the negation of a relation of its own, an aggregate over a body of its own reads a
relation that has the aggregate in its head, and a range between values of the body is counted up by a recursion.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace

from emberlog.diagnostics import Diagnostics
from emberlog.language.registry import AGGREGATES
from emberlog.semantics.rewriting.bodies import (
    all_variables,
    body_variables,
    bound_by,
    givers,
    head_variables,
    is_positive,
    scope_variables,
    term_variables,
)
from emberlog.source import Span
from emberlog.syntax import ast
from emberlog.syntax.ast import ComparisonOperator
from emberlog.syntax.printer import print_aggregation, print_body, print_expression

_OPPOSITES = {
    ComparisonOperator.EQUAL: ComparisonOperator.NOT_EQUAL,
    ComparisonOperator.NOT_EQUAL: ComparisonOperator.EQUAL,
    ComparisonOperator.LESS: ComparisonOperator.GREATER_OR_EQUAL,
    ComparisonOperator.GREATER_OR_EQUAL: ComparisonOperator.LESS,
    ComparisonOperator.GREATER: ComparisonOperator.LESS_OR_EQUAL,
    ComparisonOperator.LESS_OR_EQUAL: ComparisonOperator.GREATER,
}

Finish = Callable[[Iterable[ast.BodyPart]], tuple[ast.BodyPart, ...]]


class MadeUpRelations:
    """Has the rules of the relations that the bodies of a program ask for, by their names."""

    def __init__(self, is_builtin: Callable[[str], bool], finish: Finish, diagnostics: Diagnostics) -> None:
        self.is_builtin = is_builtin
        self.finish = finish
        """Puts the arguments of atoms in their places."""
        self.diagnostics = diagnostics
        self.added: dict[str, ast.Rule] = {}

    def expanded(self, rule: ast.Rule, body: ast.Conjunction) -> tuple[ast.BodyPart, ...]:
        """Returns the parts of a rule's body as atoms, negated ones, and comparisons."""
        parts = self._without_aggregations(rule, body.parts, ())
        parts = self._without_open_ranges(rule, parts, ())
        plain = replace(rule, body=replace(body, parts=parts))
        return self.finish(self._without_negated_groups(plain, parts, ()))

    # --- aggregates over bodies -------------------------------------------------------------------------------------

    def _without_aggregations(
        self, rule: ast.Rule, parts: Sequence[ast.BodyPart], around: Sequence[ast.BodyPart]
    ) -> tuple[ast.BodyPart, ...]:
        """Returns the parts with atoms of relations that have the aggregates in their heads."""
        result: list[ast.BodyPart] = []
        for index, part in enumerate(parts):
            beside = (*around, *parts[:index], *parts[index + 1 :])
            match part:
                case ast.Aggregation():
                    result += self._aggregated(rule, part, beside)
                case ast.Disjunction(alternatives):
                    new = [
                        replace(one, parts=self._without_aggregations(rule, one.parts, beside)) for one in alternatives
                    ]
                    result.append(replace(part, alternatives=tuple(new)))
                case _:
                    result.append(part)
        return tuple(result)

    def _aggregated(
        self, rule: ast.Rule, part: ast.Aggregation, beside: Sequence[ast.BodyPart]
    ) -> Iterator[ast.BodyPart]:
        span = part.span
        inside = {*body_variables(part.body.parts), *term_variables((part.aggregate,))}
        around = {*scope_variables(beside), *head_variables(rule.head)}
        around.update(*(head_variables(head) for head in rule.others))
        of_value = set(term_variables((part.value,)))
        match part.value:
            case ast.Variable(name) if name in inside - bound_by(beside, self.is_builtin):
                message = f"`{name}` is the value of this aggregate, and a variable of its body, too"
                self.diagnostics.error("DL113", message, span, "give one of them another name")
                return
        groups = sorted(inside & (around | of_value))
        body = part.body
        bound = bound_by(body.parts, self.is_builtin)
        missing = [name for name in groups if name not in bound]
        elsewhere = frozenset(around | of_value)
        if missing:
            # What the body only compares has its values from the rest of the rule, each of them once.
            terms = tuple(ast.Variable(name, span) for name in missing)
            context = ast.Conjunction(givers(beside), span)
            name = self.relation(print_body(context), context, terms, elsewhere, span)
            body = replace(body, parts=(ast.Atom(name, terms, False, span, span), *body.parts))
        keys = tuple(ast.Variable(name, span) for name in groups)
        text = print_aggregation(part.aggregate, part.body)
        name = self.relation(text, body, (*keys, part.aggregate), elsewhere, span)
        result = part.value
        is_name = isinstance(result, ast.Variable) and part.operator is ComparisonOperator.EQUAL
        if not is_name:
            result = ast.Variable(name, span)
        yield from self._value_or_zero(part.aggregate.function, name, keys, result, span)
        if not is_name:
            yield ast.Comparison(part.operator, part.value, result, span)

    def _value_or_zero(
        self, function: str, name: str, keys: Sequence[ast.Expression], result: ast.Expression, span: Span
    ) -> Iterator[ast.BodyPart]:
        """Yields what gives `result` the value of a group; counts and sums of nothing are 0."""
        value = ast.Atom(name, (*keys, result), False, span, span)
        is_total = function in AGGREGATES and AGGREGATES[function].is_total
        if not is_total or (not keys and AGGREGATES[function].is_count):
            yield value
            return
        nothing = ast.Atom(name, (*keys, ast.Wildcard(span)), True, span, span)
        zero = ast.Comparison(ComparisonOperator.EQUAL, result, ast.Constant(0, span), span)
        either = (ast.Conjunction((value,), span), ast.Conjunction((nothing, zero), span))
        yield ast.Disjunction(either, span)

    # --- ranges between values of the body ---------------------------------------------------------------------------

    def _without_open_ranges(
        self, rule: ast.Rule, parts: Sequence[ast.BodyPart], around: Sequence[ast.BodyPart]
    ) -> tuple[ast.BodyPart, ...]:
        """Returns the parts with a recursive relation for each `X in range(A, B)` that gives X its values, where the
        ends depend on the rest of the body."""
        result: list[ast.BodyPart] = []
        for index, part in enumerate(parts):
            beside = (*around, *parts[:index], *parts[index + 1 :])
            match part:
                case ast.Atom("range!", (ast.Variable(name), low, high), False) if any(
                    term_variables((low, high))
                ) and name not in self._in_atoms(beside):
                    result.append(self._range(rule, part, (name, low, high), beside))
                case ast.Disjunction(alternatives):
                    new = [
                        replace(one, parts=self._without_open_ranges(rule, one.parts, beside)) for one in alternatives
                    ]
                    result.append(replace(part, alternatives=tuple(new)))
                case _:
                    result.append(part)
        return tuple(result)

    def _in_atoms(self, parts: Sequence[ast.BodyPart]) -> set[str]:
        atoms = (one for one in parts if isinstance(one, ast.Atom) and is_positive(one))
        terms = (term for atom in atoms if not self.is_builtin(atom.predicate) for term in atom.terms)
        return {term.name for term in terms if isinstance(term, ast.Variable)}

    def _range(
        self,
        rule: ast.Rule,
        part: ast.Atom,
        ends: tuple[str, ast.Expression, ast.Expression],
        beside: Sequence[ast.BodyPart],
    ) -> ast.Atom:
        """Returns the atom of a relation that counts from one end to the other, for all ends that the body gives."""
        name, low, high = ends
        span, taken = part.span, all_variables(rule)
        first, behind, before = (_unlike(f"{name}_{one}", taken) for one in ("from", "to", "before"))
        value, start, end, last = (ast.Variable(one, span) for one in (name, first, behind, before))

        def compared(operator: ComparisonOperator, left: ast.Expression, right: ast.Expression) -> ast.Comparison:
            return ast.Comparison(operator, left, right, span)

        equal, is_below = ComparisonOperator.EQUAL, compared(ComparisonOperator.LESS, value, end)
        whole = ast.Call("ceil", (start,), span)  # the first whole number, if the end is none
        context = tuple(one for one in givers(beside) if name not in body_variables((one,)))
        begun = (*context, compared(equal, start, low), compared(equal, end, high), compared(equal, value, whole))
        text = f"{name} in range({print_expression(low)}, {print_expression(high)})"
        relation = _unlike(f"({text})", self.added)
        one_more = ast.Binary(ast.BinaryOperator.ADD, last, ast.Constant(1, span), span)
        further = (ast.Atom(relation, (start, end, last), False, span, span), compared(equal, value, one_more))
        either = tuple(ast.Conjunction((*parts, is_below), span) for parts in (begun, further))
        body = ast.Conjunction((ast.Disjunction(either, span),), span)
        head = ast.Head(relation, (start, end, value), None, span, span)
        elsewhere = frozenset(taken.keys())
        self.added[relation] = ast.Rule(head, body, relation, (), span, elsewhere=elsewhere)
        return ast.Atom(relation, (low, high, value), False, span, span)

    # --- negated conjunctions ---------------------------------------------------------------------------------------

    def _without_negated_groups(
        self, rule: ast.Rule, parts: Sequence[ast.BodyPart], around: Sequence[ast.BodyPart]
    ) -> tuple[ast.BodyPart, ...]:
        """Returns the parts with the negation of a relation for each that negates more than one atom can say.
        `around` are the parts outside of a disjunction that holds these."""
        result: list[ast.BodyPart] = []
        for index, part in enumerate(parts):
            beside = (*around, *parts[:index], *parts[index + 1 :])
            match part:
                case ast.Negation(body, span):
                    result.append(self._negated(rule, body, span, beside))
                case ast.Atom(negated=True) if _has_open_pattern(part, all_variables(rule)) or _repeats_within(
                    part, all_variables(rule)
                ):
                    body = ast.Conjunction((replace(part, negated=False),), part.span)
                    result.append(self._negated(rule, body, part.span, beside))
                case ast.Disjunction(alternatives):
                    new = [
                        replace(one, parts=self._without_negated_groups(rule, one.parts, beside))
                        for one in alternatives
                    ]
                    result.append(replace(part, alternatives=tuple(new)))
                case _:
                    result.append(part)
        return tuple(result)

    def _negated(
        self, rule: ast.Rule, body: ast.Conjunction, span: Span, beside: Sequence[ast.BodyPart]
    ) -> ast.BodyPart:
        inside = Counter(body_variables(body.parts))
        everywhere = all_variables(rule)
        shared = sorted({name for name in inside if everywhere[name] > inside[name]})
        match body.parts:
            case (ast.Atom(negated=False) as atom,) if not _has_open_pattern(atom, everywhere) and all(
                inside[name] == 1 for name in inside if name not in shared
            ):
                return replace(atom, negated=True, span=span)
            case (ast.Comparison(operator, left, right) as comparison,) if not (
                _is_open(left, inside, everywhere) or _is_open(right, inside, everywhere)
            ):
                return replace(comparison, operator=_OPPOSITES[operator], span=span)
        # A variable that the conjunction only compares has its values from the rest of the rule.
        atoms = [part for part in body.parts if isinstance(part, ast.Atom) and not self.is_builtin(part.predicate)]
        bound = set(body_variables(atom for atom in atoms if not atom.negated))
        context: tuple[ast.BodyPart, ...] = ()
        if not bound.issuperset(shared):
            context = tuple(one for one in beside if isinstance(one, ast.Comparison) or is_positive(one))
        whole = replace(body, parts=(*context, *body.parts))
        terms = tuple(ast.Variable(name, span) for name in shared) or (ast.Constant(True, span),)
        elsewhere = frozenset((everywhere - inside).keys())
        name = self.relation(print_body(body), whole, terms, elsewhere, span)
        return ast.Atom(name, terms, True, span, span)

    def relation(
        self,
        text: str,
        body: ast.Conjunction,
        terms: tuple[ast.HeadTerm, ...],
        elsewhere: frozenset[str],
        span: Span,
    ) -> str:
        """Returns the relation that holds what the body says, which is named by its text."""
        short = f"({text})" if len(text) <= 60 else f"({text[:59]}…)"
        name, number = short, 1
        while True:
            head = ast.Head(name, terms, None, span, span)
            own = ast.Rule(head, body, name, (), span, elsewhere=elsewhere)
            if name not in self.added:
                break
            if self.added[name].head == head and self.added[name].body == body:
                return name
            number += 1
            name = f"{short} {number}"
        self.added[name] = own
        self.added[name] = replace(own, body=replace(body, parts=self.expanded(own, body)))
        return name


def _unlike(name: str, taken: Container[str]) -> str:
    """Returns the name, or one that begins like it if it is taken."""
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name} {number}" if name.startswith("(") else f"{name}{number}"
    return found


def _has_open_pattern(atom: ast.Atom, everywhere: Counter[str]) -> bool:
    """Tells whether an argument is a value of a branch of which a field may be anything, as in `$Node(_, R)`."""
    own = Counter(body_variables((atom,)))
    return any(_is_open(term, own, everywhere) for term in atom.terms)


def _is_open(value: ast.Expression, own: Counter[str], everywhere: Counter[str]) -> bool:
    """Tells whether a value has a field that may be anything: `own` are the variables of what it is a part of."""

    def may_be_anything(field: ast.Expression) -> bool:
        match field:
            case ast.Wildcard():
                return True
            case ast.Variable(name):
                return everywhere[name] == own[name]
            case _:
                return _is_open(field, own, everywhere)

    if not (isinstance(value, ast.Call) and value.function.startswith("$")):
        return False
    return any(map(may_be_anything, value.arguments))


def _repeats_within(atom: ast.Atom, everywhere: Counter[str]) -> bool:
    """Tells whether a variable stands in this atom several times, and nowhere else."""
    own = Counter(body_variables((atom,)))
    plain = {term.name for term in atom.terms if isinstance(term, ast.Variable)}
    return any(count > 1 and everywhere[name] == count and name in plain for name, count in own.items())
