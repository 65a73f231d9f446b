"""What must hold for every checked program after every rule pass. A violation is our mistake, so it names the pass.

A core rule promises a lot to whatever comes behind it: no `_` and no parameter is left, a body can be evaluated in its
order, terms fit the columns they stand for. A pass that breaks a promise would be noticed far away, or not at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NoReturn, assert_never

from emberlog.datatypes import DataType, join_types
from emberlog.diagnostics import InternalError
from emberlog.semantics.model import (
    Absent,
    Bind,
    CheckedProgram,
    CheckedQuery,
    Compare,
    Contribution,
    CoreRule,
    Fact,
    Holds,
    Match,
    RecursionCase,
    Relation,
    Stratum,
    Term,
)
from emberlog.semantics.totality import FAILS, TRY, type_of
from emberlog.syntax.ast import Binary, Call, Constant, Expression, Parameter, Unary, Variable, Wildcard


class ProgramInvariants:
    """Checks an analysed program, and then what passes make of it."""

    def __init__(self, analysed: CheckedProgram) -> None:
        self._analysed = analysed
        terms = (term for query in analysed.queries for term in query.terms)
        self._parameters = {term.name for term in terms if isinstance(term, Parameter)}
        """Those that are left open: a program can be planned before its parameters have values."""
        self._may_be_open = True
        self.check(analysed, "analysis")
        self._may_be_open = False

    def check(self, checked: CheckedProgram, after: str) -> None:
        """Raises an InternalError if the program is not well formed; `after` is what produced it."""
        self._checked, self._after = checked, after
        for name, relation in checked.relations.items():
            self._relation(name, relation)
        for rule in checked.rules:
            self._rule(rule)
        for name, facts in checked.facts.items():
            self._facts(name, facts)
        self._strata()
        for query in checked.queries:
            self._query(query)
        self._outputs()

    def _relation(self, name: str, relation: Relation) -> None:
        if relation.name != name:
            self._violated(f"the relation {name} is called {relation.name}")
        if not relation.columns:
            self._violated(f"the relation {name} has no columns")
        # Data may come with any names.
        if relation.is_derived and len({column.name for column in relation.columns}) < relation.arity:
            self._violated(f"two columns of {name} have one name")

    def _facts(self, name: str, facts: Sequence[Fact]) -> None:
        if facts is self._analysed.facts.get(name) and self._checked is not self._analysed:
            return  # there may be many, and they were looked at
        relation = self._known(name, None)
        if not relation.is_derived:
            self._violated(f"the program has facts for {name}, which is an input")
        if any(len(fact) != relation.arity for fact in facts):
            self._violated(f"a fact of {name} has not {relation.arity} values")

    def _query(self, query: CheckedQuery) -> None:
        relation = self._known(query.relation, None)
        if len(query.terms) != relation.arity:
            self._violated(f"a query has {len(query.terms)} terms for {relation}")

    def _outputs(self) -> None:
        """A pass may not change what the caller gets."""
        if self._checked.queries != self._analysed.queries:
            self._violated("the queries have changed")
        for name in self._analysed.outputs:
            new, old = self._known(name, None), self._analysed.relations[name]
            if [(one.name, one.type) for one in new.columns] != [(one.name, one.type) for one in old.columns]:
                self._violated(f"the output {old} has become {new}")

    def _strata(self) -> None:
        strata = self._checked.strata
        place = {name: stratum.index for stratum in strata for name in stratum.relations}
        if sum(len(stratum.relations) for stratum in strata) != len(place):
            self._violated("a relation is in two strata")
        if Counter(map(id, self._checked.rules)) != Counter(id(rule) for stratum in strata for rule in stratum.rules):
            self._violated("the rules of the strata are not those of the program")
        for number, stratum in enumerate(strata, 1):
            if stratum.index != number:
                self._violated(f"stratum {number} has the number {stratum.index}")
            self._stratum(stratum, place)

    def _stratum(self, stratum: Stratum, place: Mapping[str, int]) -> None:
        is_recursive = False
        for rule in stratum.rules:
            if rule.relation not in stratum.relations:
                self._violated(f"{rule.relation} is not in the stratum of its rule", rule)
            for literal in rule.body:
                if not isinstance(literal, Match | Absent):
                    continue
                if place.get(literal.relation, 0) > stratum.index:
                    self._violated(f"{literal.relation} is read before it is computed", rule)
                if literal.relation in stratum.relations:
                    is_recursive = True
                    if isinstance(literal, Absent):
                        self._violated(f"{literal.relation} is negated inside its own recursion", rule)
        if is_recursive != (stratum.recursion is not None):
            names = ", ".join(stratum.relations)
            self._violated(f"the stratum of {names} is {'recursive' if is_recursive else 'not recursive'}")
        if stratum.recursion is None:
            return
        case = stratum.recursion.case
        aggregated = [name for name in stratum.relations if self._checked.relations[name].is_aggregated]
        if case is RecursionCase.SET and aggregated:
            self._violated(f"{aggregated[0]} is aggregated in a recursion of sets")
        if case is RecursionCase.STAGED and set(stratum.recursion.stage_columns) != set(stratum.relations):
            self._violated("a relation of a staged recursion has no stage column")

    def _rule(self, rule: CoreRule) -> None:
        bound: set[str] = set()
        free: set[str] = set()
        for literal in rule.body:
            match literal:
                case Match(relation, terms):
                    bound |= self._atom(relation, terms, rule)
                case Absent(relation, terms):
                    free |= self._atom(relation, terms, rule) - bound
                case Bind(variable, expression):
                    if variable.name in bound:
                        self._violated(f"{variable.name} is computed, and bound before", rule)
                    self._evaluable(expression, bound, rule)
                    self._same(variable.name, type_of(expression, rule.types), self._type(variable.name, rule), rule)
                    bound.add(variable.name)
                case Compare(_, left, right):
                    self._evaluable(left, bound, rule)
                    self._evaluable(right, bound, rule)
                case Holds(test):
                    self._evaluable(test, bound, rule)
                case _:
                    assert_never(literal)
        if late := sorted(free & bound):
            self._violated(f"{late[0]} is bound behind a negated atom that has it", rule)
        self._head(rule, bound)

    def _head(self, rule: CoreRule, bound: set[str]) -> None:
        relation = self._known(rule.relation, rule)
        if not relation.is_derived:
            self._violated(f"{rule.relation} is an input", rule)
        if len(rule.head) != relation.arity:
            self._violated(f"the head has {len(rule.head)} values for {relation}", rule)
        for value, column in zip(rule.head, relation.columns, strict=True):
            if not isinstance(value, Contribution):
                if column.aggregate is not None:
                    self._violated(f"{column.name} is aggregated, and the head has a plain value for it", rule)
                self._evaluable(value, bound, rule)
                self._same(column.name, type_of(value, rule.types), column.type, rule)
                continue
            if value.function != column.aggregate:
                self._violated(f"{column.name} is not aggregated with {value.function}", rule)
            for argument in value.arguments:
                self._evaluable(argument, bound, rule)
            function = self._checked.functions.aggregates[value.function]
            if len(value.arguments) not in function.arities:
                self._violated(f"{value.function} has not {len(value.arguments)} arguments", rule)
            types = [type_of(argument, rule.types) for argument in value.arguments]
            self._same(column.name, function.result(types), column.type, rule)

    def _atom(self, name: str, terms: Sequence[Term], rule: CoreRule) -> set[str]:
        """Returns the variables of an atom that fits its relation."""
        relation = self._known(name, rule)
        if len(terms) != relation.arity:
            self._violated(f"an atom has {len(terms)} terms for {relation}", rule)
        names = set()
        for term, column in zip(terms, relation.columns, strict=True):
            match term:
                case Variable(variable):
                    self._same(column.name, self._type(variable, rule), column.type, rule)
                    names.add(variable)
                case Constant():
                    self._same(column.name, term.type, column.type, rule)
                case _:
                    self._violated(f"an atom of {name} has {term!r} in it", rule)
        return names

    def _evaluable(self, expression: Expression, bound: set[str], rule: CoreRule) -> None:
        match expression:
            case Variable(name):
                if name not in bound:
                    self._violated(f"{name} is not bound where it is read", rule)
            case Constant():
                pass
            case Parameter(name):
                if self._may_be_open:
                    self._parameters.add(name)
                elif name not in self._parameters:
                    self._violated(f"${name} has a value, and is left", rule)
            case Wildcard():
                self._violated("`_` is left, and should have a name", rule)
            case Unary(operand):
                self._evaluable(operand, bound, rule)
            case Binary(_, left, right):
                self._evaluable(left, bound, rule)
                self._evaluable(right, bound, rule)
            case Call(function, arguments):
                if function not in self._checked.functions and function not in (TRY, FAILS):
                    self._violated(f"there is no function {function}", rule)
                for argument in arguments:
                    self._evaluable(argument, bound, rule)
            case _:
                assert_never(expression)

    def _known(self, name: str, rule: CoreRule | None) -> Relation:
        relation = self._checked.relations.get(name)
        return relation if relation is not None else self._violated(f"there is no relation {name}", rule)

    def _type(self, variable: str, rule: CoreRule) -> DataType:
        found = rule.types.get(variable)
        return found if found is not None else self._violated(f"{variable} has no type", rule)

    def _same(self, name: str, found: DataType, wanted: DataType, rule: CoreRule) -> None:
        """Where a type is not known there is nothing to compare."""
        if found == wanted or (join_types(found, wanted) is not None and not (found.is_known and wanted.is_known)):
            return
        self._violated(f"{name} is of type {wanted}, and gets {found.described}", rule)

    def _violated(self, text: str, rule: CoreRule | None = None) -> NoReturn:
        shown = f" in {rule!r}" if rule is not None else ""
        raise InternalError(f"DL901: after {self._after}: {text}{shown}")
