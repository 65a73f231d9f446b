"""Safety: every variable gets its value from a positive atom or an assignment, whatever the order of the text.

The same walk gives the order in which a body can be evaluated: atoms in the order of the text, and every
comparison, assignment and negated atom as soon as the variables it needs are bound.
"""

from __future__ import annotations

from collections import Counter

from emberlog.diagnostics import Diagnostics, Note, nearest
from emberlog.language.records import BRANCH, FIELD, RECORD, kind_of_field, otherwise
from emberlog.semantics.model import Absent, Bind, Compare, Holds, Literal, Match
from emberlog.semantics.normalize import Draft, DraftLiteral, refuse_null
from emberlog.semantics.totality import literal_can_fail
from emberlog.syntax import ast
from emberlog.syntax.ast import ComparisonOperator, Variable
from emberlog.syntax.printer import print_expression, print_head


def order_body(draft: Draft, diagnostics: Diagnostics) -> tuple[Literal, ...] | None:
    """Returns the body in an order that can be evaluated, or None after reporting what is not bound."""
    ordering = _Ordering(draft)
    ordering.run()
    problems = _Unbound(draft, ordering.bound, diagnostics)
    for term in draft.head:
        problems.report(list(ast.variables_of(term)), "head")
    for literal in ordering.pending:
        problems.report(_needed(literal, draft, ordering.once), "body")
    if problems.reported:
        return None
    for ordered in ordering.ordered:
        if isinstance(ordered, Compare):
            _refuse_comparison_with_null(ordered, diagnostics)
    _warn_about_single_occurrences(draft, ordering.once, diagnostics)
    return tuple(ordering.ordered)


def _refuse_comparison_with_null(comparison: Compare, diagnostics: Diagnostics) -> None:
    for null, other in ((comparison.left, comparison.right), (comparison.right, comparison.left)):
        if isinstance(null, ast.Constant) and null.value is None:
            hint = "nothing is less or greater than null: leave it out"
            if comparison.operator is ComparisonOperator.EQUAL:
                hint = f"write `is_null({print_expression(other)})`"
            elif comparison.operator is ComparisonOperator.NOT_EQUAL:
                hint = f"write `!is_null({print_expression(other)})`"
            refuse_null(null, "a comparison with null never holds", diagnostics, hint)
            return


class _Ordering:
    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.pending = list(draft.body)
        self.ordered: list[Literal] = []
        self.bound: set[str] = set()
        self.once = _occurring_once(draft)
        atoms = (literal for literal in draft.body if isinstance(literal, Match))
        self.matched = {term.name for atom in atoms for term in atom.terms if isinstance(term, Variable)}

    def run(self) -> None:
        """Conditions as soon as they can be tested, then what they or atoms wait for, then the next atom of the text.

        What can fail comes last: so `Y = X / N, N != 0` never divides by zero, in whatever order it is written.
        """
        while (
            self._take_pattern()
            or self._take_condition(safe=True)
            or self._take_wanted_assignment()
            or self._take_atom()
        ):
            pass
        while (
            self._take_pattern()
            or self._take_condition(safe=True)
            or self._take_assignment()
            or self._take_condition(safe=False)
        ):
            pass

    def _take_pattern(self) -> bool:
        """Replaces `X = $Node(L, R)`, where X has a value, by a test of its branch and an equation for each field."""
        for literal in self.pending:
            if not isinstance(literal, Compare) or literal.operator is not ComparisonOperator.EQUAL:
                continue
            for value, pattern in ((literal.left, literal.right), (literal.right, literal.left)):
                if not isinstance(pattern, ast.Call) or pattern.function != RECORD.name:
                    continue
                if self.bound.issuperset(one.name for one in ast.variables_of(value)):
                    place = self.pending.index(literal)
                    self.pending[place : place + 1] = self._taken_apart(value, pattern)
                    return True
        return False

    def _taken_apart(self, value: ast.Expression, pattern: ast.Call) -> list[DraftLiteral]:
        opening, _, *parts = pattern.arguments
        span = pattern.span
        assert isinstance(opening, ast.Constant) and opening.type.named is not None
        branch = next(one for one in opening.type.named.branches if one.opening == opening.value)
        test = ast.Call(BRANCH.name, (value, opening), span)
        found: list[DraftLiteral] = [Holds(test, span=span)]
        for place, (part, (_, type_)) in enumerate(zip(parts, branch.fields, strict=True)):
            if isinstance(part, Variable) and part.name in self.draft.anonymous:
                continue
            kind = ast.Constant(kind_of_field(type_), span)
            default = ast.Constant(otherwise(type_), span, type_)
            field = ast.Call(FIELD.name, (value, opening, ast.Constant(place, span), kind, default), span)
            found.append(Compare(ComparisonOperator.EQUAL, part, field, part.span))
        return found

    def _take(self, literal: DraftLiteral, as_what: Literal) -> bool:
        self.pending.remove(literal)
        self.ordered.append(as_what)
        return True

    def _take_condition(self, *, safe: bool) -> bool:
        for literal in self.pending:
            needed = _needed(literal, self.draft, self.once)
            ready = not isinstance(literal, Match) and all(variable.name in self.bound for variable in needed)
            if ready and literal_can_fail(literal, {}) != safe:
                return self._take(literal, literal)
        return False

    def _take_wanted_assignment(self) -> bool:
        """Returns one that another literal waits for, and that cannot fail."""
        for literal in self.pending:
            assignment = self._assignment(literal)
            if assignment is None or literal_can_fail(literal, {}):
                continue
            name = assignment.variable.name
            if any(name in _names(other) for other in self.pending if other is not literal):
                return self._take_bind(literal, assignment)
        return False

    def _take_assignment(self) -> bool:
        for literal in self.pending:
            assignment = self._assignment(literal)
            if assignment is not None:
                return self._take_bind(literal, assignment)
        return False

    def _take_bind(self, literal: DraftLiteral, assignment: Bind) -> bool:
        self.bound.add(assignment.variable.name)
        return self._take(literal, assignment)

    def _take_atom(self) -> bool:
        for literal in self.pending:
            if isinstance(literal, Match):
                self.bound |= _names(literal)
                return self._take(literal, literal)
        return False

    def _assignment(self, literal: DraftLiteral) -> Bind | None:
        if not isinstance(literal, Compare) or literal.operator is not ComparisonOperator.EQUAL:
            return None
        for target, value in ((literal.left, literal.right), (literal.right, literal.left)):
            if not isinstance(target, Variable) or target.name in self.bound:
                continue
            needed = ast.variables_of(value)
            # A constant for a variable that an atom binds anyway is a filter on that atom.
            is_filter = not needed and target.name in self.matched
            if not is_filter and all(variable.name in self.bound for variable in needed):
                return Bind(target, value, literal.span)
        return None


def _needed(literal: DraftLiteral, draft: Draft, once: frozenset[str]) -> list[Variable]:
    """Returns the variables that must be bound before; in a negated atom, anonymous ones need not be."""
    match literal:
        case Match():
            return []
        case Compare(_, left, right):
            return [*ast.variables_of(left), *ast.variables_of(right)]
        case Holds(test):
            return list(ast.variables_of(test))
        case Absent(_, terms):
            return [
                term
                for term in terms
                if isinstance(term, Variable) and term.name not in draft.anonymous and term.name not in once
            ]


def _variables(literal: DraftLiteral) -> list[Variable]:
    match literal:
        case Match(_, terms) | Absent(_, terms):
            return [term for term in terms if isinstance(term, Variable)]
        case Compare(_, left, right):
            return [*ast.variables_of(left), *ast.variables_of(right)]
        case Holds(test):
            return list(ast.variables_of(test))


def _names(literal: DraftLiteral) -> set[str]:
    return {variable.name for variable in _variables(literal)}


def _occurrences(draft: Draft) -> list[Variable]:
    found = [variable for term in draft.head for variable in ast.variables_of(term)]
    for literal in draft.body:
        found += _variables(literal)
    return found


def _occurring_once(draft: Draft) -> frozenset[str]:
    counts = Counter(variable.name for variable in _occurrences(draft))
    return frozenset(name for name, count in counts.items() if count == 1)


def _warn_about_single_occurrences(draft: Draft, once: frozenset[str], diagnostics: Diagnostics) -> None:
    if any(isinstance(term, ast.AggregateTerm) and not term.arguments for term in draft.head):
        return  # count<_> counts the values of every variable, so none is written in vain
    negated = {name for literal in draft.body if isinstance(literal, Absent) for name in _names(literal)}
    for variable in _occurrences(draft):
        name = variable.name
        if name not in once or name in draft.anonymous or name.startswith("_"):
            continue
        if name in draft.statement.elsewhere:
            continue
        any_value = "in a negation it stands for any value: write `_` to say so"
        diagnostics.warning(
            "DL290",
            f"the variable `{name}` occurs only once in this rule",
            variable.span,
            any_value if name in negated else "write `_` if its value does not matter",
            f'if it is a constant, quote it: "{name}", or make it a parameter: ${name}',
        )


class _Unbound:
    """Reports each unbound variable of a rule once, with the likely cause."""

    def __init__(self, draft: Draft, bound: set[str], diagnostics: Diagnostics) -> None:
        self.draft = draft
        self.bound = bound
        self.diagnostics = diagnostics
        self.reported: set[str] = set()

    def report(self, needed: list[Variable], where: str) -> None:
        for variable in needed:
            if variable.name in self.bound or variable.name in self.reported:
                continue
            self.reported.add(variable.name)
            if self.draft.statement.body is None:
                self._variable_in_fact(variable)
            else:
                self._unbound(variable, where)

    def _variable_in_fact(self, variable: Variable) -> None:
        name = variable.name
        head = self.draft.statement.head
        likely = f'if it is text, quote it: "{name}"'
        if name[0].isupper() and not any(isinstance(term, ast.AggregateTerm) for term in head.terms):
            likely = f"if you ask for facts, end with a question mark: `{print_head(head)}?`"
        self.diagnostics.error(
            "DL203",
            f"`{name}` is a variable, and a fact has none",
            variable.span,
            likely,
            f"if it stands for many values, say for which: `… :- node({name}).`",
        )

    def _unbound(self, variable: Variable, where: str) -> None:
        name = variable.name
        rule = "every variable of the head must occur in a positive atom or be assigned"
        if where == "body":
            rule = "a variable of a comparison or a negated atom must occur in a positive atom or be assigned"
        notes: list[str | Note] = [rule]
        others = {other.name: other for other in _occurrences(self.draft) if other.name not in self.draft.anonymous}
        guess = nearest(name, others)
        if guess is not None and guess in self.bound:
            notes.append(f"did you mean `{guess}`?")
        elif guess is not None:
            self.reported.add(guess)  # one slip of the pen is one error
            place = others[guess].span.begin
            notes.append(f"did you mean `{guess}`? it is not bound either: line {place.line}, column {place.column}")
        elif circle := self._assigned_in_vain(name):
            notes.append(circle)
        elif any(isinstance(one, Holds) and one.span.text.startswith(f"{name} in ") for one in self.draft.body):
            notes.append("`in` gives values of `in (1, 2)` and `in range(1, 9)`; of a list it asks whether it has one")
        elif where == "body" and (other := self._elsewhere(variable)):
            notes += [other, "to deny several things of one value, negate them together: `!(p(X, Y), q(Y))`"]
        elif name[0].islower() and not variable.span.source.is_souffle:
            notes.append(f'if `{name}` is a constant, quote it: "{name}", or make it a parameter: ${name}')
        self.diagnostics.error("DL203", f"variable `{name}` is not bound", variable.span, *notes)

    def _elsewhere(self, variable: Variable) -> Note | None:
        """Returns where a variable of a negated atom stands again: if it stood nowhere else, it would be any value."""
        places = [one.span for one in _occurrences(self.draft) if one.name == variable.name]
        negated = any(isinstance(one, Absent) and variable.name in _names(one) for one in self.draft.body)
        if not negated or len(places) < 2:
            return None
        other = next((place for place in places if place.start != variable.span.start), places[0])
        return Note("in a negation alone it would stand for any value, but it is used here, too", other)

    def _assigned_in_vain(self, name: str) -> str | None:
        """Returns what to say of a variable whose assignment needs a variable that is not bound either."""
        for literal in self.draft.body:
            if isinstance(literal, Compare) and literal.operator is ComparisonOperator.EQUAL:
                for target, value in ((literal.left, literal.right), (literal.right, literal.left)):
                    unbound = [v.name for v in ast.variables_of(value) if v.name not in self.bound]
                    if isinstance(target, Variable) and target.name == name and unbound:
                        self.reported.update(unbound)
                        return f"`{literal.span.text}` cannot give it a value: `{unbound[0]}` has none either"
        return None
