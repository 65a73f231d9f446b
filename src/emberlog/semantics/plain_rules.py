"""Rewrites what can be written in several ways into the one form that later stages know.

Several heads become a rule each; arguments with names go to their places; a relation without arguments gets one column
that is true; a negated conjunction becomes the negation of a relation of its own, and an aggregate over a body of its
own reads a relation that has the aggregate in its head.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import is_
from typing import assert_never

from emberlog.datatypes import BOOL
from emberlog.diagnostics import Diagnostics, Note, nearest
from emberlog.language.registry import AGGREGATES
from emberlog.semantics.column_names import distinct_names, names_from_heads
from emberlog.semantics.model import Column
from emberlog.source import Span
from emberlog.syntax import ast
from emberlog.syntax.ast import ComparisonOperator
from emberlog.syntax.printer import print_aggregation, print_body, print_expression, print_head

HOLDS = "holds"
"""The column of a relation without arguments."""

_OPPOSITES = {
    ComparisonOperator.EQUAL: ComparisonOperator.NOT_EQUAL,
    ComparisonOperator.NOT_EQUAL: ComparisonOperator.EQUAL,
    ComparisonOperator.LESS: ComparisonOperator.GREATER_OR_EQUAL,
    ComparisonOperator.GREATER_OR_EQUAL: ComparisonOperator.LESS,
    ComparisonOperator.GREATER: ComparisonOperator.LESS_OR_EQUAL,
    ComparisonOperator.LESS_OR_EQUAL: ComparisonOperator.GREATER,
}


_SUBSUMED = "subsumed in "
"""Stands before the name of a relation in the head of a rule that a subsumption becomes."""


def subsumed_facts_of(name: str) -> str | None:
    """Returns the relation whose subsumed facts a relation with this name has; None if it is no such relation."""
    return name.removeprefix(_SUBSUMED) if name.startswith(_SUBSUMED) else None


@dataclass(frozen=True, slots=True)
class PlainProgram:
    program: ast.Program
    made_up: frozenset[str]
    """Relations of negated conjunctions and of aggregates over bodies, which nobody wrote."""
    columns: Mapping[str, Sequence[str]]
    """The names of columns that heads give, and that of relations without arguments."""
    left_out: frozenset[str]
    """The names in statements that are left out for their errors."""


def plain_rules(
    program: ast.Program,
    inputs: Mapping[str, Sequence[Column]],
    is_builtin: Callable[[str], bool],
    diagnostics: Diagnostics,
) -> PlainProgram:
    """Returns the program in plain rules; `inputs` are the columns of the data that is registered."""
    return _Rewriting(program, inputs, is_builtin, diagnostics).run()


def body_atoms(parts: Iterable[ast.BodyPart]) -> Iterator[ast.Atom]:
    """Yields the atoms of a body, those of alternatives and of negated conjunctions among them."""
    for part in parts:
        match part:
            case ast.Atom():
                yield part
            case ast.Disjunction(alternatives):
                for alternative in alternatives:
                    yield from body_atoms(alternative.parts)
            case ast.Negation(body) | ast.Aggregation(body=body):
                yield from body_atoms(body.parts)
            case ast.Comparison():
                pass
            case _:
                assert_never(part)


def body_variables(parts: Iterable[ast.BodyPart]) -> Iterator[str]:
    """Yields the variables of a body, repeated ones repeated."""
    for part in parts:
        match part:
            case ast.Atom(_, terms):
                yield from (variable.name for term in terms for variable in ast.variables_of(term))
            case ast.Comparison(_, left, right):
                yield from (variable.name for side in (left, right) for variable in ast.variables_of(side))
            case ast.Disjunction(alternatives):
                for alternative in alternatives:
                    yield from body_variables(alternative.parts)
            case ast.Negation(body):
                yield from body_variables(body.parts)
            case ast.Aggregation(value=value, aggregate=aggregate, body=body):
                yield from (variable.name for side in (value, aggregate) for variable in ast.variables_of(side))
                yield from body_variables(body.parts)
            case _:
                assert_never(part)


def scope_variables(parts: Iterable[ast.BodyPart]) -> Iterator[str]:
    """Yields the variables of a body without those inside of its aggregates, which are their own affair."""
    for part in parts:
        match part:
            case ast.Aggregation(value=value):
                yield from (variable.name for variable in ast.variables_of(value))
            case ast.Disjunction(alternatives):
                for alternative in alternatives:
                    yield from scope_variables(alternative.parts)
            case ast.Negation(body):
                yield from scope_variables(body.parts)
            case _:
                yield from body_variables((part,))


class _Rewriting:
    def __init__(
        self,
        program: ast.Program,
        inputs: Mapping[str, Sequence[Column]],
        is_builtin: Callable[[str], bool],
        diagnostics: Diagnostics,
    ) -> None:
        self.program = program
        self.inputs = inputs
        self.is_builtin = is_builtin
        self.diagnostics = diagnostics
        self.rules = [one for one in program.statements if isinstance(one, ast.Rule)]
        self.declarations = {one.predicate: one for one in program.statements if isinstance(one, ast.Declaration)}
        self.heads: dict[str, list[ast.Head]] = {}
        for rule in self.rules:
            for head in rule.heads:
                self.heads.setdefault(head.predicate, []).append(head)
        self.without_arguments = frozenset(self._without_arguments())
        self.columns: dict[str, list[str]] = {}
        self.added: dict[str, ast.Rule] = {}
        self.left_out = set(program.unread)

    def _without_arguments(self) -> Iterator[str]:
        for name, heads in self.heads.items():
            if name not in self.declarations and not heads[0].terms:
                yield name
        yield from (name for name, one in self.declarations.items() if not one.columns)
        for atom in self._uses():
            if atom.predicate in self.inputs and not atom.terms and self._is_only_data(atom.predicate):
                yield atom.predicate

    def _is_only_data(self, name: str) -> bool:
        return name not in self.heads and name not in self.declarations

    def _uses(self) -> Iterator[ast.Atom]:
        for rule in self.rules:
            yield from body_atoms(rule.body.parts if rule.body else ())
        yield from (one.atom for one in self.program.statements if isinstance(one, ast.Query))

    def run(self) -> PlainProgram:
        statements: list[ast.Statement] = []
        for statement in self.program.statements:
            errors = self.diagnostics.error_count
            match statement:
                case ast.Rule():
                    rules = list(self._rule(statement))
                    if self.diagnostics.error_count == errors:
                        statements += rules
                    else:
                        self.left_out.update(_relations(statement))
                case ast.Query(atom):
                    query = replace(statement, atom=self._atom(atom, ast.Wildcard(atom.span)))
                    if self.diagnostics.error_count == errors:
                        statements.append(query)
                case ast.Declaration(columns=()):
                    column = ast.ColumnDeclaration(HOLDS, BOOL, None, statement.name_span)
                    statements.append(replace(statement, columns=(column,)))
                case ast.Subsumption():
                    rules = list(self._rule(self._subsuming_rule(statement)))
                    if self.diagnostics.error_count == errors:
                        statements += rules
                case ast.Declaration() | ast.TypeDeclaration() | ast.ProgramOption():
                    statements.append(statement)
                case _:
                    assert_never(statement)
        statements += self.added.values()
        columns = {name: [HOLDS] for name in self.without_arguments} | {
            name: self._columns(name, heads[0].span)
            for name, heads in self.heads.items()
            if name not in self.declarations and all(head.names for head in heads)
        }
        described = {*self.declarations, *self.heads, *self.inputs}
        columns |= {name: found for name, found in self.columns.items() if found and name not in described}
        whole = replace(self.program, statements=tuple(statements))
        return PlainProgram(whole, frozenset(self.added), columns, frozenset(self.left_out))

    def _rule(self, rule: ast.Rule) -> Iterator[ast.Rule]:
        heads = [self._head(head) for head in rule.heads]
        if rule.body is None and not rule.others:  # there may be many facts
            yield rule if heads[0] is rule.head else replace(rule, head=heads[0])
            return
        body = None
        if rule.body is not None:
            self._refuse_variables_as_relations(rule)
            parts = self._without_aggregations(rule, rule.body.parts, ())
            parts = self._without_open_ranges(rule, parts, ())
            plain = replace(rule, body=replace(rule.body, parts=parts))
            parts = self._without_negated_groups(plain, parts, ())
            parts = self._parts(parts)
            is_same = len(parts) == len(rule.body.parts) and all(map(is_, parts, rule.body.parts))
            if is_same and not rule.others and heads[0] is rule.head:
                yield rule  # as nearly all are
                return
            body = replace(rule.body, parts=parts)
        elsewhere = _all_variables(rule)
        elsewhere.subtract(body_variables(body.parts if body else ()))
        for number, own in enumerate(heads, start=1):
            label = f"{rule.label}.{number}" if rule.label and rule.others else rule.label
            others = elsewhere - Counter(_head_variables(own))
            yield replace(rule, head=own, body=body, others=(), label=label, elsewhere=frozenset(others))

    def _subsuming_rule(self, statement: ast.Subsumption) -> ast.Rule:
        """Returns the rule of a relation that has each fact that is left out beside one that subsumes it."""
        worse, better = self._head(statement.worse), self._head(statement.better)
        name, span = worse.predicate, statement.span
        if better.predicate != name or len(better.terms) != len(worse.terms):
            hint = f"both sides are facts of one relation: `{print_head(worse)} <= {name}(…) :- …`"
            self.diagnostics.error("DL285", "a fact is subsumed by one of another relation", span, hint)
        terms: list[ast.Expression] = []
        for number, term in enumerate((*worse.terms, *better.terms), start=1):
            if isinstance(term, ast.AggregateTerm):
                hint = "its sides are facts, which have values"
                self.diagnostics.error("DL285", "a subsumption has no aggregates", term.span, hint)
            else:
                terms.append(ast.Variable(f"_{number}", term.span) if isinstance(term, ast.Wildcard) else term)
        half = len(worse.terms)
        sides = ((worse, terms[:half]), (better, terms[half:]))
        atoms = [ast.Atom(name, tuple(own), False, one.span, one.name_span) for one, own in sides]
        parts = (*atoms, *(statement.body.parts if statement.body else ()))
        head = ast.Head(_SUBSUMED + name, tuple(terms), None, worse.span, worse.name_span)
        return ast.Rule(head, ast.Conjunction(parts, span), None, (), span)

    def _parts(self, parts: Iterable[ast.BodyPart]) -> tuple[ast.BodyPart, ...]:
        result: list[ast.BodyPart] = []
        for part in parts:
            match part:
                case ast.Atom():
                    part = self._atom(part, ast.Constant(True, part.span))
                case ast.Disjunction(alternatives):
                    new = (replace(one, parts=self._parts(one.parts)) for one in alternatives)
                    part = replace(part, alternatives=tuple(new))
                case ast.Comparison() | ast.Negation() | ast.Aggregation():
                    pass
                case _:
                    assert_never(part)
            result.append(part)
        return tuple(result)

    # --- relations without arguments --------------------------------------------------------------------------------

    def _refuse_variables_as_relations(self, rule: ast.Rule) -> None:
        assert rule.body is not None
        for atom in body_atoms(rule.body.parts):
            name = atom.predicate
            if atom.terms or name in self.heads or name in self.declarations or name in self.inputs:
                continue
            if name in self.program.unread:
                continue
            if name in _all_variables(rule):
                self.diagnostics.error(
                    "DL280",
                    f"`{name}` is a variable, and stands here like a relation",
                    atom.span,
                    f"a truth value is compared: `{name} = true`",
                )
            else:
                guess = nearest(name, (*self.heads, *self.declarations, *self.inputs))
                hint = f"did you mean `{guess}`?" if guess else "a relation has its arguments in parentheses"
                declare = f"an input without arguments is declared: `declare {name}().`"
                self.diagnostics.error("DL201", f"there is no relation `{name}`", atom.name_span, hint, declare)

    def _check_arguments(self, name: str, terms: Sequence[object], span: Span) -> None:
        if name in self.without_arguments and terms:
            first = self.declarations[name].span if name in self.declarations else None
            if first is None and name in self.heads:
                first = self.heads[name][0].span
            notes: list[Note | str] = [Note("see here", first)] if first is not None else []
            count = f"{len(terms)} argument{'' if len(terms) == 1 else 's'}"
            self.diagnostics.error("DL205", f"`{name}` has no arguments, and here it has {count}", span, *notes)

    # --- arguments with names ---------------------------------------------------------------------------------------

    def _head(self, head: ast.Head) -> ast.Head:
        if not head.names:
            self._check_arguments(head.predicate, head.terms, head.span)
            is_plain = bool(head.terms) or head.predicate not in self.without_arguments
            return head if is_plain else replace(head, terms=(ast.Constant(True, head.span),))
        columns = self._columns(head.predicate, head.span)
        places = self._places(head.predicate, head.names, columns, head.terms, head.span)
        if places is None:
            return replace(head, names=())
        missing = [name for index, name in enumerate(columns) if index not in places]
        if missing:
            left_out = ", ".join(f"`{name}`" for name in missing)
            message = f"the head has no {left_out}: it needs a value for every column of `{head.predicate}`"
            self.diagnostics.error("DL283", message, head.span, f"its columns are {', '.join(columns)}")
            return replace(head, names=())
        location = None if head.location is None else places[head.location]
        terms = [head.terms[places.index(index)] for index in range(len(columns))]
        return replace(head, terms=tuple(terms), names=(), location=location)

    def _atom(self, atom: ast.Atom, holds: ast.Expression) -> ast.Atom:
        """Returns the atom with arguments in their places; `holds` is what one without arguments gets."""
        if not atom.names:
            self._check_arguments(atom.predicate, atom.terms, atom.span)
            is_plain = bool(atom.terms) or atom.predicate not in self.without_arguments
            return atom if is_plain else replace(atom, terms=(holds,))
        columns = self._columns(atom.predicate, atom.span)
        places = self._places(atom.predicate, atom.names, columns, atom.terms, atom.span)
        if places is None:
            return replace(atom, names=())
        terms: list[ast.Expression] = [ast.Wildcard(atom.span)] * len(columns)
        for place, term in zip(places, atom.terms, strict=True):
            terms[place] = term
        return replace(atom, terms=tuple(terms), names=())

    def _columns(self, name: str, span: Span) -> list[str]:
        if name not in self.columns:
            self.columns[name] = self._found_columns(name, span)
        return self.columns[name]

    def _found_columns(self, name: str, span: Span) -> list[str]:
        if name in self.declarations:
            return [column.name for column in self.declarations[name].columns]
        if self._is_only_data(name) and name in self.inputs:
            return [column.name for column in self.inputs[name]]
        heads = self.heads.get(name, ())
        by_name = next((head for head in heads if head.names), None)
        by_place = [head for head in heads if not head.names]
        if by_name is not None and not by_place:
            return list(dict.fromkeys(by_name.names))
        if by_place:
            arity = len(by_place[0].terms)
            found = names_from_heads((head for head in by_place if len(head.terms) == arity), arity)
            return distinct_names(found)
        # What nobody has described yet has the columns that the program speaks of, if it says nothing of their order.
        uses = [atom for atom in self._uses() if atom.predicate == name]
        if all(atom.names for atom in uses):
            return list(dict.fromkeys(column for atom in uses for column in atom.names))
        if name in self.program.unread:
            return []
        hint = f"say which they are: `declare {name}(…: int, …: string).`"
        self.diagnostics.error("DL281", f"the columns of `{name}` have no names", span, hint)
        return []

    def _places(
        self, name: str, names: Sequence[str], columns: Sequence[str], terms: Sequence[object], span: Span
    ) -> list[int] | None:
        """Returns the place of each argument, or None after reporting what is wrong."""
        if not columns:
            return None
        known = {column: index for index, column in enumerate(columns)}
        seen: set[str] = set()
        for argument in names:
            if argument not in known:
                guess = nearest(argument, columns)
                hints = [f"did you mean `{guess}`?"] if guess else []
                hints.append(f"its columns are {', '.join(columns)}")
                if guess is None and name in self.heads and name not in self.declarations:
                    hints.append(f"a declaration gives them names: `declare {name}(…).`")
                self.diagnostics.error("DL282", f"`{name}` has no column `{argument}`", span, *hints)
                return None
            if argument in seen:
                message = f"the argument `{argument}` of `{name}` is given twice"
                self.diagnostics.error("DL282", message, span, "leave one of them out, or compare them: `X = Y`")
                return None
            seen.add(argument)
        return [known[argument] for argument in names]

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
        inside = {*body_variables(part.body.parts), *_term_variables((part.aggregate,))}
        around = {*scope_variables(beside), *_head_variables(rule.head)}
        around.update(*(_head_variables(head) for head in rule.others))
        of_value = set(_term_variables((part.value,)))
        match part.value:
            case ast.Variable(name) if name in inside - _bound_by(beside, self.is_builtin):
                message = f"`{name}` is the value of this aggregate, and a variable of its body, too"
                self.diagnostics.error("DL113", message, span, "give one of them another name")
                return
        groups = sorted(inside & (around | of_value))
        body = part.body
        bound = _bound_by(body.parts, self.is_builtin)
        missing = [name for name in groups if name not in bound]
        elsewhere = frozenset(around | of_value)
        if missing:
            # What the body only compares has its values from the rest of the rule, each of them once.
            terms = tuple(ast.Variable(name, span) for name in missing)
            context = ast.Conjunction(_givers(beside), span)
            name = self._made_up(print_body(context), context, terms, elsewhere, span)
            body = replace(body, parts=(ast.Atom(name, terms, False, span, span), *body.parts))
        keys = tuple(ast.Variable(name, span) for name in groups)
        text = print_aggregation(part.aggregate, part.body)
        name = self._made_up(text, body, (*keys, part.aggregate), elsewhere, span)
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
                    _term_variables((low, high))
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
        atoms = (one for one in parts if isinstance(one, ast.Atom) and _is_positive(one))
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
        span, taken = part.span, _all_variables(rule)
        first, behind, before = (_unlike(f"{name}_{one}", taken) for one in ("from", "to", "before"))
        value, start, end, last = (ast.Variable(one, span) for one in (name, first, behind, before))

        def compared(operator: ComparisonOperator, left: ast.Expression, right: ast.Expression) -> ast.Comparison:
            return ast.Comparison(operator, left, right, span)

        equal, is_below = ComparisonOperator.EQUAL, compared(ComparisonOperator.LESS, value, end)
        whole = ast.Call("ceil", (start,), span)  # the first whole number, if the end is none
        context = tuple(one for one in _givers(beside) if name not in body_variables((one,)))
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
                case ast.Atom(negated=True) if _has_open_pattern(part, _all_variables(rule)) or _repeats_within(
                    part, _all_variables(rule)
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
        everywhere = _all_variables(rule)
        shared = sorted({name for name in inside if everywhere[name] > inside[name]})
        match body.parts:
            case (ast.Atom(negated=False) as atom,) if not _has_open_pattern(atom, everywhere) and all(
                inside[name] == 1 for name in inside if name not in shared
            ):
                return replace(atom, negated=True, span=span)
            case (ast.Comparison(operator) as comparison,):
                return replace(comparison, operator=_OPPOSITES[operator], span=span)
        # A variable that the conjunction only compares has its values from the rest of the rule.
        atoms = [part for part in body.parts if isinstance(part, ast.Atom) and not self.is_builtin(part.predicate)]
        bound = set(body_variables(atom for atom in atoms if not atom.negated))
        context: tuple[ast.BodyPart, ...] = ()
        if not bound.issuperset(shared):
            context = tuple(one for one in beside if isinstance(one, ast.Comparison) or _is_positive(one))
        whole = replace(body, parts=(*context, *body.parts))
        terms = tuple(ast.Variable(name, span) for name in shared) or (ast.Constant(True, span),)
        elsewhere = frozenset((everywhere - inside).keys())
        name = self._made_up(print_body(body), whole, terms, elsewhere, span)
        return ast.Atom(name, terms, True, span, span)

    def _made_up(
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
        plain = replace(own, body=replace(body, parts=self._without_aggregations(own, body.parts, ())))
        assert plain.body is not None
        parts = self._parts(self._without_negated_groups(plain, plain.body.parts, ()))
        self.added[name] = replace(own, body=replace(body, parts=parts))
        return name


def _bound_by(parts: Iterable[ast.BodyPart], is_builtin: Callable[[str], bool]) -> set[str]:
    """Returns the variables that these parts give values."""
    bound: set[str] = set()
    for part in parts:
        match part:
            case ast.Atom(negated=False) if not is_builtin(part.predicate):
                bound.update(body_variables((part,)))
            case ast.Disjunction(alternatives):
                bound |= set.intersection(*(_bound_by(one.parts, is_builtin) for one in alternatives))
            case ast.Aggregation(operator=ComparisonOperator.EQUAL, value=ast.Variable(name)):
                bound.add(name)
            case _:
                pass
    comparisons = [part for part in parts if isinstance(part, ast.Comparison)]
    before = -1
    while before < len(bound):
        before = len(bound)
        bound.update([name for one in comparisons for name in _assigned(one, bound)])
    return bound


def _assigned(part: ast.Comparison, bound: set[str]) -> Iterator[str]:
    """Yields the variable that an equation gives a value, if the other side has one."""
    for one, other in ((part.left, part.right), (part.right, part.left)):
        is_known = bound.issuperset(_term_variables((other,)))
        if not (part.operator is ComparisonOperator.EQUAL and is_known):
            continue
        if isinstance(one, ast.Variable):
            yield one.name
        elif isinstance(one, ast.Call) and one.function.startswith("$"):
            yield from (variable.name for variable in ast.variables_of(one))


def _givers(parts: Sequence[ast.BodyPart]) -> tuple[ast.BodyPart, ...]:
    """Returns the parts that can be joined to know which values variables have: atoms, and comparisons of what they
    bind."""
    atoms = [part for part in parts if _is_positive(part) or isinstance(part, ast.Disjunction)]
    known = set(scope_variables(atoms))
    comparisons = [part for part in parts if isinstance(part, ast.Comparison)]
    chosen: list[ast.BodyPart] = []
    while True:
        ready = [
            part
            for part in comparisons
            if part not in chosen and (known.issuperset(body_variables((part,))) or any(_assigned(part, known)))
        ]
        if not ready:
            return (*atoms, *chosen)
        chosen += ready
        known.update(body_variables(ready))


def _is_positive(part: ast.BodyPart) -> bool:
    return isinstance(part, ast.Atom) and not part.negated


def _relations(rule: ast.Rule) -> Iterator[str]:
    yield from (head.predicate for head in rule.heads)
    yield from (atom.predicate for atom in body_atoms(rule.body.parts if rule.body else ()))


def _all_variables(rule: ast.Rule) -> Counter[str]:
    found = Counter(body_variables(rule.body.parts if rule.body else ()))
    for head in rule.heads:
        found.update(_head_variables(head))
    return found


def _head_variables(head: ast.Head) -> Iterator[str]:
    return _term_variables(head.terms)


def _term_variables(terms: Iterable[ast.HeadTerm]) -> Iterator[str]:
    return (variable.name for term in terms for variable in ast.variables_of(term))


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

    def is_open(term: ast.Expression) -> bool:
        match term:
            case ast.Wildcard():
                return True
            case ast.Variable(name):
                return everywhere[name] == own[name]
            case ast.Call(function, fields) if function.startswith("$"):
                return any(map(is_open, fields))
            case _:
                return False

    return any(isinstance(term, ast.Call) and is_open(term) for term in atom.terms)


def _repeats_within(atom: ast.Atom, everywhere: Counter[str]) -> bool:
    """Tells whether a variable stands in this atom several times, and nowhere else."""
    own = Counter(body_variables((atom,)))
    plain = {term.name for term in atom.terms if isinstance(term, ast.Variable)}
    return any(count > 1 and everywhere[name] == count and name in plain for name, count in own.items())
