"""Rewrites what can be written in several ways into the one form that later stages know.

Several heads become a rule each; arguments with names go to their places; a relation without arguments gets one column
that is true; a subsumption becomes the rule of a relation that has what is subsumed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import is_
from typing import assert_never

from emberlog.datatypes import BOOL
from emberlog.diagnostics import Diagnostics, Note, nearest
from emberlog.semantics.model import Column
from emberlog.semantics.rewriting.bodies import (
    all_variables,
    body_atoms,
    body_variables,
    head_variables,
    term_variables,
)
from emberlog.semantics.rewriting.column_names import distinct_names, names_from_heads
from emberlog.semantics.rewriting.long_bodies import LONGEST, divided
from emberlog.semantics.rewriting.made_up_relations import MadeUpRelations
from emberlog.source import Span
from emberlog.syntax import ast
from emberlog.syntax.printer import print_body, print_head

HOLDS = "holds"
"""The column of a relation without arguments."""

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
        self.diagnostics = diagnostics
        self.rules = [one for one in program.statements if isinstance(one, ast.Rule)]
        self.declarations = {one.predicate: one for one in program.statements if isinstance(one, ast.Declaration)}
        self.heads: dict[str, list[ast.Head]] = {}
        for rule in self.rules:
            for head in rule.heads:
                self.heads.setdefault(head.predicate, []).append(head)
        self.without_arguments = frozenset(self._without_arguments())
        self.columns: dict[str, list[str]] = {}
        self.made_up = MadeUpRelations(is_builtin, self._parts, diagnostics)
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
        statements += self.made_up.added.values()
        columns = {name: [HOLDS] for name in self.without_arguments} | {
            name: self._columns(name, heads[0].span)
            for name, heads in self.heads.items()
            if name not in self.declarations and all(head.names for head in heads)
        }
        described = {*self.declarations, *self.heads, *self.inputs}
        columns |= {name: found for name, found in self.columns.items() if found and name not in described}
        whole = replace(self.program, statements=tuple(statements))
        return PlainProgram(whole, frozenset(self.made_up.added), columns, frozenset(self.left_out))

    def _rule(self, rule: ast.Rule) -> Iterator[ast.Rule]:
        heads = [self._head(head) for head in rule.heads]
        if rule.body is None and not rule.others:  # there may be many facts
            yield rule if heads[0] is rule.head else replace(rule, head=heads[0])
            return
        body = None
        if rule.body is not None:
            self._refuse_variables_as_relations(rule)
            parts = self.made_up.expanded(rule, rule.body)
            if len(parts) > LONGEST:
                parts = self._divided(rule, heads, replace(rule.body, parts=parts))
            is_same = len(parts) == len(rule.body.parts) and all(map(is_, parts, rule.body.parts))
            if is_same and not rule.others and heads[0] is rule.head:
                yield rule  # as nearly all are
                return
            body = replace(rule.body, parts=parts)
        elsewhere = all_variables(rule)
        elsewhere.subtract(body_variables(body.parts if body else ()))
        for number, own in enumerate(heads, start=1):
            label = f"{rule.label}.{number}" if rule.label and rule.others else rule.label
            others = elsewhere - Counter(head_variables(own))
            yield replace(rule, head=own, body=body, others=(), label=label, elsewhere=frozenset(others))

    def _divided(self, rule: ast.Rule, heads: Iterable[ast.Head], body: ast.Conjunction) -> tuple[ast.BodyPart, ...]:
        """Returns the parts of a body that is too long to plan, many atoms of it as one; what an aggregate is of are
        all combinations of values, so those stay."""
        terms = [term for head in heads for term in head.terms]
        if rule.annotations or any(isinstance(term, ast.AggregateTerm) for term in terms):
            return body.parts
        elsewhere = frozenset(all_variables(rule))

        def made(atoms: ast.Conjunction, columns: tuple[ast.Variable, ...]) -> str:
            return self.made_up.relation(print_body(atoms), atoms, columns, elsewhere, atoms.span)

        return divided(body, frozenset(term_variables(terms)), self.made_up.is_builtin, made).parts

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
            if name in all_variables(rule):
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


def _relations(rule: ast.Rule) -> Iterator[str]:
    yield from (head.predicate for head in rule.heads)
    yield from (atom.predicate for atom in body_atoms(rule.body.parts if rule.body else ()))
