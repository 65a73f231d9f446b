"""Gives relations that are more than the set of what their rules derive rules that say so.

Facts that others subsume are left out; of a choice one fact is kept for each key; an equivalence has all pairs of a
class. What the program's own rules and facts give becomes a relation of its own, `p (all)`, and `p` is made of that by
plain rules, so that every engine, every proof and the oracle compute the same. Where one column decides, a subsumption
is a minimum or a maximum, which is legal in a recursion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from emberlog.diagnostics import Diagnostics, nearest
from emberlog.semantics.model import Column
from emberlog.semantics.rewriting.bodies import body_atoms, numbered_variables, plain_atom
from emberlog.semantics.rewriting.choices import one_of_each_key, rules_of_several_choices
from emberlog.semantics.rewriting.column_names import distinct_names, names_from_heads
from emberlog.semantics.rewriting.input_data import copying_rule, data_of
from emberlog.semantics.rewriting.plain_rules import subsumed_facts_of
from emberlog.semantics.rewriting.subsumptions import BETTER, best_column, best_of_key, one_way, sides_of
from emberlog.source import Span
from emberlog.syntax import ast
from emberlog.syntax.ast import ComparisonOperator, Variable

_ROUND = " (round)"
"""Stands behind the name of a relation that chooses in a recursion, where its facts have the round they come from."""


def choice_of(name: str) -> str | None:
    """Returns the relation whose choice in a recursion a relation with this name is; None if it is no such relation."""
    return name.removesuffix(_ROUND) if name.endswith(_ROUND) else None


@dataclass(frozen=True, slots=True)
class PlainKinds:
    """A program whose relations are all plain."""

    program: ast.Program
    inputs: Mapping[str, Sequence[Column]]
    data_names: Mapping[str, str]
    """For inputs that have another name than their data, that name."""
    made_up: frozenset[str]


def plain_kinds(
    program: ast.Program,
    inputs: Mapping[str, Sequence[Column]],
    data_names: Mapping[str, str],
    diagnostics: Diagnostics,
) -> PlainKinds:
    """Returns the program, which has plain rules already, with rules for what its relations are besides."""
    return _Rewriting(program, inputs, data_names, diagnostics).run()


class _Rewriting:
    def __init__(
        self,
        program: ast.Program,
        inputs: Mapping[str, Sequence[Column]],
        data_names: Mapping[str, str],
        diagnostics: Diagnostics,
    ) -> None:
        self.program = program
        self.inputs = dict(inputs)
        self.data_names = dict(data_names)
        self.diagnostics = diagnostics
        self.rules = [one for one in program.statements if isinstance(one, ast.Rule)]
        self.declarations = {one.predicate: one for one in program.statements if isinstance(one, ast.Declaration)}
        self.subsumed: dict[str, list[ast.Rule]] = {}
        for rule in self.rules:
            if (name := subsumed_facts_of(rule.head.predicate)) is not None:
                self.subsumed.setdefault(name, []).append(rule)
        self.statements = [one for one in program.statements if not self._is_subsumption(one)]
        self.added: list[ast.Statement] = []
        self.made_up: set[str] = set()

    @staticmethod
    def _is_subsumption(statement: ast.Statement) -> bool:
        return isinstance(statement, ast.Rule) and subsumed_facts_of(statement.head.predicate) is not None

    def run(self) -> PlainKinds:
        for name, one in self.declarations.items():
            if one.choices and name not in self.subsumed:
                self._choose(one)
            elif one.is_equivalence:
                self._equate(one)
        for name, rules in self.subsumed.items():
            self._subsume(name, rules)
        whole = replace(self.program, statements=(*self.statements, *self.added))
        return PlainKinds(whole, self.inputs, self.data_names, frozenset(self.made_up))

    # --- what the program's own rules give --------------------------------------------------------------------------

    def _own_rules(self, name: str) -> list[ast.Rule]:
        return [one for one in self.statements if isinstance(one, ast.Rule) and one.head.predicate == name]

    def _let_data_be_copied(self, name: str, span: Span) -> None:
        """Gives a relation that is only data a rule that copies it."""
        declaration = self.declarations.get(name)
        if self._own_rules(name) or (name not in self.inputs and declaration is None):
            return
        arity = len(self.inputs[name]) if name in self.inputs else len(declaration.columns if declaration else ())
        if declaration is not None:
            self.statements.append(_plain_declaration(declaration, data_of(name)))
        if name in self.inputs:
            self.inputs[data_of(name)] = self.inputs.pop(name)
        self.data_names[data_of(name)] = name
        self.statements.append(copying_rule(name, arity, ast.Head(name, (), None, span, span)))

    def _set_apart(self, name: str, span: Span) -> str:
        """Lets the rules and facts of a relation define another one, and returns its name."""
        self._let_data_be_copied(name, span)
        whole = f"{name} (all)"
        self.statements = [
            replace(one, head=replace(one.head, predicate=whole))
            if isinstance(one, ast.Rule) and one.head.predicate == name
            else one
            for one in self.statements
        ]
        if name in self.declarations:
            self.added.append(_plain_declaration(self.declarations[name], whole))
        self.made_up.add(whole)
        return whole

    def _rule(self, head: str, terms: Sequence[ast.HeadTerm], parts: Sequence[ast.BodyPart], span: Span) -> None:
        """Adds a rule of ours."""
        is_written = head in self.declarations or head in self.subsumed
        if not is_written:
            self.made_up.add(head)
        number = sum(isinstance(one, ast.Rule) and one.head.predicate == head for one in self.added) + 1
        label = f"{head} (kept)" if is_written else head
        own = ast.Head(head, tuple(terms), None, span, span)
        body = ast.Conjunction(tuple(parts), span)
        self.added.append(ast.Rule(own, body, label if number == 1 else f"{label} {number}", (), span))

    def _is_recursive(self, name: str) -> bool:
        """Tells whether the rules of a relation read it, by whatever way."""
        return self._leads_to(name, name)

    def _leads_to(self, first: str, last: str) -> bool:
        """Tells whether the rules of the first relation read the last one, by whatever way."""
        reads: dict[str, set[str]] = {}
        for one in (*self.statements, *self.added):
            if isinstance(one, ast.Rule) and one.body is not None:
                found = reads.setdefault(one.head.predicate, set())
                found.update(atom.predicate for atom in body_atoms(one.body.parts))
        seen: set[str] = set()
        to_visit = [first]
        while to_visit:
            for other in reads.get(to_visit.pop(), set()) - seen:
                seen.add(other)
                to_visit.append(other)
        return last in seen

    def _is_refused(self, name: str, what: str, span: Span, *hints: str) -> bool:
        """Reports what cannot be: aggregates beside it, or a recursion."""
        declared = self.declarations.get(name)
        terms = [term for rule in self._own_rules(name) for term in rule.head.terms]
        has_aggregates = any(isinstance(term, ast.AggregateTerm) for term in terms)
        if has_aggregates or (declared is not None and any(column.aggregate for column in declared.columns)):
            message = f"`{name}` has an aggregate, and {what}"
            self.diagnostics.error("DL285", message, span, "aggregate in a relation of its own, which this one reads")
            return True
        if hints and self._is_recursive(name):
            self.diagnostics.error("DL238", f"`{name}` has {what}, and its rules read it", span, *hints)
            return True
        return False

    # --- subsumption ------------------------------------------------------------------------------------------------

    def _subsume(self, name: str, rules: Sequence[ast.Rule]) -> None:
        span = rules[0].span
        if (declared := self.declarations.get(name)) is not None and (declared.choices or declared.is_equivalence):
            other = "a choice" if declared.choices else "an equivalence"
            message = f"`{name}` is {other}, and has a subsumption"
            self.diagnostics.error("DL285", message, span, "it can be one of them")
            return
        if self._is_refused(name, "a subsumption", span):
            return
        column = best_column(rules[0]) if len(rules) == 1 else None
        if column is not None:
            self._let_data_be_copied(name, span)
            self._aggregate(name, *column)
            return
        hint = "in a recursion one column decides, with all others the same: `p(X, C1) <= p(X, C2) :- C2 < C1.`"
        other = f"or let a relation that is not in the recursion read `{name}`, and give that one the subsumption"
        if self._is_refused(name, "a subsumption of more than one column", span, hint, other):
            return
        arity = len(sides_of(rules[0]))
        names = distinct_names(names_from_heads((one.head for one in self._own_rules(name)), arity))
        whole = self._set_apart(name, span)
        gone = f"{name} (gone)"
        if len(rules) == 1 and (best := best_of_key(rules[0])) is not None:
            self._leave_best(name, gone, whole, best, arity, span)
        elif len(rules) == 1 and (parts := one_way(rules[0])) is not None:
            worse = rules[0].head.terms[:arity]
            self._rule(gone, worse, _reading(parts, name, whole), span)
        else:
            self._leave_smallest(name, gone, whole, rules, span)
        own = tuple(Variable(one, span) for one in names)
        self._rule(name, own, (plain_atom(whole, own, span), plain_atom(gone, own, span, negated=True)), span)

    def _leave_best(
        self, name: str, gone: str, whole: str, best: tuple[int, ComparisonOperator], arity: int, span: Span
    ) -> None:
        """Compares facts with the best value of their key, and not with each other."""
        place, operator = best
        keys = [index for index, (one, other) in enumerate(sides_of(self.subsumed[name][0])) if one == other]
        own, value = numbered_variables("X", arity, span), Variable("Best", span)
        aggregate = ast.AggregateTerm(BETTER[operator], (own[place],), span)
        kept = f"{name} (best)"
        terms = tuple(one if index in (*keys, place) else ast.Wildcard(span) for index, one in enumerate(own))
        self._rule(kept, (*(own[index] for index in keys), aggregate), (plain_atom(whole, terms, span),), span)
        known = plain_atom(kept, (*(own[index] for index in keys), value), span)
        better = ast.Comparison(operator, value, own[place], span)
        self._rule(gone, own, (plain_atom(whole, own, span), known, better), span)

    def _leave_smallest(self, name: str, gone: str, whole: str, rules: Sequence[ast.Rule], span: Span) -> None:
        """Where two facts subsume each other, the smaller one stays."""
        subsumed = f"{name} (subsumed)"
        arity = len(sides_of(rules[0]))
        for rule in rules:
            assert rule.body is not None
            self._rule(subsumed, rule.head.terms, _reading(rule.body.parts, name, whole), rule.span)
        worse, better = numbered_variables("X", arity, span), numbered_variables("Y", arity, span)
        one_way = plain_atom(subsumed, (*worse, *better), span)
        other_way = plain_atom(subsumed, (*better, *worse), span)
        self._rule(gone, worse, (one_way, replace(other_way, negated=True)), span)
        self._rule(gone, worse, (one_way, other_way, _is_smaller(better, worse, span)), span)

    def _aggregate(self, name: str, place: int, function: str) -> None:
        """Lets every contribution to the relation have an aggregate at this place."""

        def with_aggregate(one: ast.Statement) -> ast.Statement:
            if not (isinstance(one, ast.Rule) and one.head.predicate == name and place < len(one.head.terms)):
                return one
            terms = list(one.head.terms)
            term = terms[place]
            assert not isinstance(term, ast.AggregateTerm), "a relation with aggregates is refused"
            terms[place] = ast.AggregateTerm(function, (term,), one.head.span)
            return replace(one, head=replace(one.head, terms=tuple(terms)))

        self.statements = [with_aggregate(one) for one in self.statements]

    # --- choices ----------------------------------------------------------------------------------------------------

    def _choose(self, declared: ast.Declaration) -> None:
        """Keeps the smallest fact of each key, by its other columns from left to right."""
        name, span = declared.predicate, declared.name_span
        places = {column.name: index for index, column in enumerate(declared.columns)}
        for column in (column for one in declared.choices for column in one if column not in places):
            guess = nearest(column, places)
            hint = f"did you mean `{guess}`?" if guess else f"its columns are {', '.join(places)}"
            self.diagnostics.error("DL285", f"`{name}` has no column `{column}`", span, hint)
            return
        every = [frozenset(places[column] for column in one) for one in declared.choices]
        domains = [one for one in dict.fromkeys(every) if not any(other < one for other in every)]
        keys = domains[0]
        own = numbered_variables("X", len(places), span)
        if self._is_refused(name, "a choice", span):
            return
        if not self._is_recursive(name):
            whole = self._set_apart(name, span)
            if len(domains) == 1:
                self._rule(name, one_of_each_key(own, keys, (), span), (plain_atom(whole, own, span),), span)
            else:
                for head, terms, parts in rules_of_several_choices(name, whole, domains, own, span):
                    self._rule(head, terms, parts, span)
            return
        if len(domains) > 1:
            hint = "choose in a relation that is not in the recursion, and reads this one"
            self._is_refused(name, "more than one choice", span, hint)
            return
        if not all(self._reads_only_itself(rule) for rule in self._own_rules(name)):
            hint = "a choice may be read by its own rules, in atoms of their bodies, and by no other in its recursion"
            self._is_refused(name, "a choice", span, hint)
            return
        self._choose_in_rounds(name, keys, span)
        others = plain_atom(f"{name}{_ROUND}", (ast.Wildcard(span), *own), span)
        self._rule(name, own, (others,), span)

    def _reads_only_itself(self, rule: ast.Rule) -> bool:
        """Tells whether what a rule has of its own recursion are plain atoms of its own relation."""
        name = rule.head.predicate
        parts = rule.body.parts if rule.body else ()
        inner = [part for part in parts if not (isinstance(part, ast.Atom) and part.predicate == name)]
        negated = any(isinstance(part, ast.Atom) and part.predicate == name and part.negated for part in parts)
        read = {atom.predicate for atom in body_atoms(inner)}
        return not negated and name not in read and not any(self._leads_to(one, name) for one in read)

    def _choose_in_rounds(self, name: str, keys: frozenset[int], span: Span) -> None:
        """Lets each fact have the round in which it is derived: of a key the first counts, and what led to it led to
        it before, so that nothing that is chosen stands on itself."""
        rounds = f"{name}{_ROUND}"

        def in_rounds(one: ast.Statement) -> ast.Statement:
            if not (isinstance(one, ast.Rule) and one.head.predicate == name):
                return one
            parts: list[ast.BodyPart] = []
            before: list[ast.Expression] = []
            for part in one.body.parts if one.body else ():
                if isinstance(part, ast.Atom) and part.predicate == name:
                    before.append(Variable(f"{name} (round {len(before) + 1})", part.span))
                    part = replace(part, predicate=rounds, terms=(before[-1], *part.terms))
                parts.append(part)
            latest: ast.Expression = ast.Constant(0, span)
            if before:
                last = before[0] if len(before) == 1 else ast.Call("greatest", tuple(before), span)
                latest = ast.Binary(ast.BinaryOperator.ADD, last, ast.Constant(1, span), span)
            terms = [term for term in one.head.terms if not isinstance(term, ast.AggregateTerm)]
            chosen = one_of_each_key(terms, keys, (latest,), span)
            head = replace(one.head, predicate=rounds, terms=(ast.AggregateTerm("min", (latest,), span), *chosen))
            return replace(one, head=head, body=replace(one.body, parts=tuple(parts)) if one.body else None)

        self._let_data_be_copied(name, span)
        self.statements = [in_rounds(one) for one in self.statements]
        self.made_up.add(rounds)

    # --- equivalences -----------------------------------------------------------------------------------------------

    def _equate(self, declared: ast.Declaration) -> None:
        name, span = declared.predicate, declared.name_span
        if len(declared.columns) != 2 or declared.columns[0].type != declared.columns[1].type:
            hint = "an equivalence has two columns of one type"
            self.diagnostics.error("DL285", f"`{name}` cannot be an equivalence", span, hint)
            return
        if self._is_refused(name, "is an equivalence", span):
            return
        is_recursive = self._is_recursive(name)
        whole = self._set_apart(name, span)
        x, y, z = (Variable(letter, span) for letter in "XYZ")
        given = plain_atom(whole, (x, y), span)
        if is_recursive:
            links = f"{name} (links)"
            self._rule(links, (x, y), (given,), span)
            self._rule(links, (y, x), (given,), span)
            self._rule(name, (x, y), (plain_atom(links, (x, y), span),), span)
            self._rule(name, (x, z), (plain_atom(name, (x, y), span), plain_atom(links, (y, z), span)), span)
            return
        smallest = f"{name} (smallest)"
        least = ast.AggregateTerm("min", (z,), span)
        for one in (x, y):
            terms = tuple(term if term == one else ast.Wildcard(span) for term in (x, y))
            own = plain_atom(whole, terms, span)
            self._rule(smallest, (one, ast.AggregateTerm("min", (one,), span)), (own,), span)
        for one, other in ((x, y), (y, x)):
            self._rule(smallest, (other, least), (plain_atom(smallest, (one, z), span), given), span)
        self._rule(name, (x, y), tuple(plain_atom(smallest, (one, z), span) for one in (x, y)), span)


def _plain_declaration(declaration: ast.Declaration, name: str) -> ast.Declaration:
    columns = tuple(replace(column, aggregate=None) for column in declaration.columns)
    return ast.Declaration(ast.DeclarationKind.RELATION, name, columns, declaration.span, declaration.name_span)


def _reading(parts: Sequence[ast.BodyPart], name: str, whole: str) -> tuple[ast.BodyPart, ...]:
    """Returns the parts of a subsumption; its first two atoms read all that the rules give."""
    first, second, *others = parts
    assert isinstance(first, ast.Atom) and isinstance(second, ast.Atom)
    return (replace(first, predicate=whole), replace(second, predicate=whole), *others)


def _is_smaller(first: Sequence[Variable], second: Sequence[Variable], span: Span) -> ast.BodyPart:
    """Returns the condition that a fact comes before another one, by its columns from left to right."""
    alternatives = []
    for place in range(len(first)):
        sides = list(zip(first, second, strict=True))
        same = [ast.Comparison(ComparisonOperator.EQUAL, *pair, span) for pair in sides[:place]]
        less = ast.Comparison(ComparisonOperator.LESS, *sides[place], span)
        alternatives.append(ast.Conjunction((*same, less), span))
    if len(alternatives) == 1:
        return alternatives[0].parts[0]
    return ast.Disjunction(tuple(alternatives), span)
