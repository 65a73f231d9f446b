"""Rewrites what can be written in several ways into the one form that later stages know.

Several heads become a rule each; arguments with names go to their places; a relation without arguments gets one column
that is true; a negated conjunction becomes the negation of a relation of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from emberlog.datatypes import BOOL
from emberlog.diagnostics import Diagnostics, Note, nearest
from emberlog.semantics.column_names import distinct_names, names_from_heads
from emberlog.semantics.model import Column
from emberlog.source import Span
from emberlog.syntax import ast
from emberlog.syntax.ast import ComparisonOperator
from emberlog.syntax.printer import print_body

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


@dataclass(frozen=True, slots=True)
class PlainProgram:
    program: ast.Program
    made_up: frozenset[str]
    """Relations of negated conjunctions, which nobody wrote."""
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
            case ast.Negation(body):
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
            case _:
                assert_never(part)


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
                case ast.Declaration() | ast.ProgramOption():
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
        if rule.body is None and not rule.others:  # there may be many facts
            head = self._head(rule.head)
            yield rule if head is rule.head else replace(rule, head=head)
            return
        body = None
        if rule.body is not None:
            self._refuse_variables_as_relations(rule)
            parts = self._without_negated_groups(rule, rule.body.parts, ())
            body = replace(rule.body, parts=self._parts(parts))
        elsewhere = _all_variables(rule)
        elsewhere.subtract(body_variables(body.parts if body else ()))
        for number, head in enumerate(rule.heads, start=1):
            label = f"{rule.label}.{number}" if rule.label and rule.others else rule.label
            own = self._head(head)
            others = elsewhere - Counter(_head_variables(own))
            yield replace(rule, head=own, body=body, others=(), label=label, elsewhere=frozenset(others))

    def _parts(self, parts: Iterable[ast.BodyPart]) -> tuple[ast.BodyPart, ...]:
        result: list[ast.BodyPart] = []
        for part in parts:
            match part:
                case ast.Atom():
                    part = self._atom(part, ast.Constant(True, part.span))
                case ast.Disjunction(alternatives):
                    new = (replace(one, parts=self._parts(one.parts)) for one in alternatives)
                    part = replace(part, alternatives=tuple(new))
                case ast.Comparison() | ast.Negation():
                    pass
                case _:
                    assert_never(part)
            result.append(part)
        return tuple(result)

    # --- relations without arguments --------------------------------------------------------------------------------

    def _refuse_variables_as_relations(self, rule: ast.Rule) -> None:
        assert rule.body is not None
        variables = _all_variables(rule)
        for atom in body_atoms(rule.body.parts):
            name = atom.predicate
            if atom.terms or name in self.heads or name in self.declarations or name in self.inputs:
                continue
            if name in self.program.unread:
                continue
            if name in variables:
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
                case ast.Atom(negated=True) if _repeats_within(part, _all_variables(rule)):
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
            case (ast.Atom(negated=False) as atom,) if all(inside[name] == 1 for name in inside if name not in shared):
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
        terms: tuple[ast.Expression, ...],
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
        parts = self._parts(self._without_negated_groups(own, body.parts, ()))
        self.added[name] = replace(own, body=replace(body, parts=parts))
        return name


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
    return (variable.name for term in head.terms for variable in ast.variables_of(term))


def _repeats_within(atom: ast.Atom, everywhere: Counter[str]) -> bool:
    """Tells whether a variable stands in this atom several times, and nowhere else."""
    own = Counter(body_variables((atom,)))
    plain = {term.name for term in atom.terms if isinstance(term, ast.Variable)}
    return any(count > 1 and everywhere[name] == count and name in plain for name, count in own.items())
