"""From written rules to drafts of core rules: disjunctions split, parameters replaced, procedures spelled out.

A draft's body is still in the order of the text; `safety` puts it into an order that can be evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TypeAlias, assert_never

from emberlog.datatypes import BOOL, FLOAT, INT, UNKNOWN, Branch, DataType
from emberlog.diagnostics import Diagnostics, nearest
from emberlog.language.choices import TESTS
from emberlog.language.records import RECORD, kind_of_field
from emberlog.language.registry import PROCEDURES, Functions
from emberlog.semantics.model import Absent, Compare, Fact, Holds, Match, Term
from emberlog.semantics.rewriting.bodies import body_variables
from emberlog.source import Span
from emberlog.syntax import ast
from emberlog.syntax.ast import ComparisonOperator, Expression, Variable
from emberlog.syntax.declared_types import unknown_branch
from emberlog.syntax.elsewhere import ELSEWHERE
from emberlog.syntax.expression_parser import BETWEEN, FORMATTED, IN_RANGE, ONE_OF, negated, test_value
from emberlog.syntax.printer import print_expression

LONGEST_RANGE = 1_000_000
"""Values that a rule may list as `X in range(1, N)`."""

INFIX = (BETWEEN, ONE_OF, IN_RANGE)

MOST_ALTERNATIVES = 64
"""How many rules the disjunctions of one rule may multiply to."""

DraftLiteral: TypeAlias = Match | Absent | Compare | Holds


@dataclass(frozen=True, slots=True)
class Draft:
    name: str
    statement: ast.Rule
    head: tuple[ast.HeadTerm, ...]
    body: tuple[DraftLiteral, ...]
    anonymous: frozenset[str]
    """The variables that wildcards became."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What names mean in this program."""

    relations: frozenset[str]
    """Those with rules, facts or a declaration; any other atom that is no built-in is an input."""
    parameters: Mapping[str, ast.Given] | None
    """None leaves parameters open: a program can be checked before its parameters are known."""
    functions: Functions
    branches: Mapping[str, tuple[DataType, Branch]] = field(default_factory=dict)
    """Those of the types that the program declares, by how values are written: `$Node`."""
    generated: dict[str, tuple[DataType, tuple[Fact, ...]]] = field(default_factory=dict)
    """The relations of values that rules list, as in `X in (1, 2)`: filled while rules are written."""

    def is_builtin(self, predicate: str) -> bool:
        if predicate in self.relations:
            return False
        return predicate in PROCEDURES or predicate in INFIX or self.is_test(predicate)

    def is_test(self, predicate: str) -> bool:
        """Tells whether it is a function that gives true or false, which can stand in a body by itself."""
        function = self.functions.find(predicate)
        return function is not None and function.result((UNKNOWN,) * len(function.parameters)) == BOOL


def normalize(rule: ast.Rule, name: str, vocabulary: Vocabulary, diagnostics: Diagnostics) -> list[Draft]:
    """Returns one draft per alternative of the rule's disjunctions."""
    alternatives = _alternatives(rule.body.parts) if rule.body else [()]
    if len(alternatives) > MOST_ALTERNATIVES:
        diagnostics.error(
            "DL214",
            f"the disjunctions of this rule multiply to more than {MOST_ALTERNATIVES} alternatives",
            rule.head.span,
            "give a disjunction a relation of its own",
        )
        return []
    drafts = []
    for number, parts in enumerate(alternatives, start=1):
        writer = _DraftWriter(rule, vocabulary, diagnostics)
        own_name = name if len(alternatives) == 1 else f"{name}.{number}"
        errors_before = diagnostics.error_count
        draft = writer.write(own_name, parts)
        if diagnostics.error_count == errors_before:  # later stages would only repeat what is wrong
            drafts.append(draft)
    return drafts


def constant_value(expression: Expression, vocabulary: Vocabulary, diagnostics: Diagnostics) -> Expression:
    """Returns an expression without variables as rules have it; reports what is wrong with it."""
    rule = ast.Rule(ast.Head("", (expression,), None, expression.span), None, span=expression.span)
    return _DraftWriter(rule, vocabulary, diagnostics).value(expression)


def _alternatives(parts: Iterable[ast.BodyPart]) -> list[tuple[ast.Atom | ast.Comparison, ...]]:
    """Returns the disjunctive normal form, cut off just above the limit."""
    result: list[tuple[ast.Atom | ast.Comparison, ...]] = [()]
    for part in parts:
        if isinstance(part, ast.Disjunction):
            choices = [choice for one in part.alternatives for choice in _alternatives(one.parts)]
        else:
            assert not isinstance(part, ast.Negation | ast.Aggregation), "it is a relation of its own"
            choices = [(part,)]
        if len(result) * len(choices) > MOST_ALTERNATIVES:
            return [()] * (MOST_ALTERNATIVES + 1)
        result = [left + right for left, right in product(result, choices)]
    return result


def variable_names(rule: ast.Rule) -> frozenset[str]:
    """Returns every variable name written in a rule."""
    names = {variable.name for term in rule.head.terms for variable in ast.variables_of(term)}
    return frozenset(names.union(body_variables(rule.body.parts if rule.body else ())))


def refuse_null(null: ast.Constant, message: str, diagnostics: Diagnostics, *hints: str) -> None:
    """Reports a null that would make a comparison or an atom never hold."""
    if null.span.text.lower() == "null" != null.span.text:
        hints = (*hints, f"`{null.span.text}` is the value null, in any case: a variable needs another name")
    diagnostics.error("DL244", message, null.span, *hints)


class _DraftWriter:
    def __init__(self, rule: ast.Rule, vocabulary: Vocabulary, diagnostics: Diagnostics) -> None:
        self.rule = rule
        self.vocabulary = vocabulary
        self.diagnostics = diagnostics
        self.taken = set(variable_names(rule))
        self.anonymous: set[str] = set()
        self.body: list[DraftLiteral] = []
        self.in_atoms: set[str] = set()
        """The variables that atoms of relations bind."""

    def write(self, name: str, parts: tuple[ast.Atom | ast.Comparison, ...]) -> Draft:
        positive = [one for one in parts if isinstance(one, ast.Atom) and not one.negated]
        self.in_atoms = {
            term.name
            for atom in positive
            if not self.vocabulary.is_builtin(atom.predicate)
            for term in atom.terms
            if isinstance(term, Variable)
        }
        for part in parts:
            if isinstance(part, ast.Atom):
                self._atom(part)
            else:
                is_pattern = part.operator is ComparisonOperator.EQUAL
                left, right = (self._pattern(one) if is_pattern else self.value(one) for one in (part.left, part.right))
                self.body.append(Compare(part.operator, left, right, part.span))
        head = tuple(self._head_term(term) for term in self.rule.head.terms)
        return Draft(name, self.rule, head, tuple(self.body), frozenset(self.anonymous))

    def _fresh(self, span: Span) -> Variable:
        number = 1
        while f"_{number}" in self.taken:
            number += 1
        self.taken.add(f"_{number}")
        return Variable(f"_{number}", span)

    def _head_term(self, term: ast.HeadTerm) -> ast.HeadTerm:
        if isinstance(term, ast.AggregateTerm):
            return ast.AggregateTerm(term.function, tuple(map(self.value, term.arguments)), term.span)
        return self.value(term)

    def _atom(self, atom: ast.Atom) -> None:
        if self.vocabulary.is_builtin(atom.predicate):
            if atom.predicate in PROCEDURES:
                self._procedure(atom)
            elif atom.predicate in INFIX:
                self._infix_test(atom)
            else:
                call = ast.Call(atom.predicate, tuple(map(self.value, atom.terms)), atom.span)
                self._check_call(call)
                self.body.append(Holds(call, atom.negated, atom.span))
            return
        terms = tuple(self._term(atom.predicate, term) for term in atom.terms)
        kind = Absent if atom.negated else Match
        self.body.append(kind(atom.predicate, terms, atom.span))

    def _infix_test(self, atom: ast.Atom) -> None:
        """Writes `X in (1, 2)`, `X in range(1, 9)` or `X between 1 and 5`. A variable that no atom binds gets its
        values from `in`."""
        subject, *others = atom.terms
        if isinstance(subject, Variable) and subject.name not in self.in_atoms and not atom.negated:
            if atom.predicate == ONE_OF and self._values_of(subject, list(map(self.value, others))):
                return
            if atom.predicate == IN_RANGE and self._range_of(subject, list(map(self.value, others)), atom.span):
                return
        if atom.predicate in (BETWEEN, IN_RANGE) and not atom.negated:
            value, low, high = map(self.value, atom.terms)
            below = ComparisonOperator.LESS if atom.predicate == IN_RANGE else ComparisonOperator.LESS_OR_EQUAL
            self.body.append(Compare(ComparisonOperator.GREATER_OR_EQUAL, value, low, atom.span))
            self.body.append(Compare(below, value, high, atom.span))
            if atom.predicate == IN_RANGE:
                whole = ast.Call("floor", (value,), atom.span)
                self.body.append(Compare(ComparisonOperator.EQUAL, value, whole, atom.span))
            return
        known = replace(atom, terms=tuple(map(self.value, atom.terms)))
        test = self.value(negated(test_value(known)) if atom.negated else test_value(known))
        self.body.append(Holds(test, False, atom.span))

    def _values_of(self, variable: Variable, values: Sequence[Expression]) -> bool:
        """Writes an atom of the relation of these values, if they are constants of one type."""
        constants = [one.value for one in values if isinstance(one, ast.Constant)]
        types = {one.type for one in values if isinstance(one, ast.Constant)}
        if None in constants or len(constants) != len(values) or not (len(types) == 1 or types == {INT, FLOAT}):
            return False
        type_ = FLOAT if FLOAT in types else types.pop()
        kept = [float(one) if isinstance(one, int) and type_ == FLOAT else one for one in constants]
        if kept != constants:
            return False  # an int that no float is equal to
        text = f"in ({', '.join(print_expression(one) for one in values)})"
        self._generated(text, variable, [(one,) for one in dict.fromkeys(kept)], type_)
        return True

    def _range_of(self, variable: Variable, bounds: Sequence[Expression], span: Span) -> bool:
        """Writes an atom of the relation of all ints from one constant to another; tells whether that settles it."""
        match bounds:
            case (ast.Constant(int() as first, meant=None), ast.Constant(int() as last, meant=None)):
                if last - first > LONGEST_RANGE:
                    message = f"this range has {last - first:,} values; at most {LONGEST_RANGE:,} can be listed"
                    self.diagnostics.error("DL245", message, span, "give the values as data")
                values = [(one,) for one in range(first, min(last, first + LONGEST_RANGE))]
                self._generated(f"range({first}, {last})", variable, values, INT)
            case _ if any(isinstance(one, ast.Parameter) for one in bounds):
                self._generated("range(…)", variable, [], INT)  # the parameters are not known yet
            case _:
                self.diagnostics.error(
                    "DL245",
                    f"nothing but this range gives `{variable.name}` a value, and its ends are not ints that are known",
                    span,
                    "the ends are ints, parameters, or values that an atom gives",
                )
        return True

    def _generated(self, name: str, variable: Variable, values: Sequence[Fact], type_: DataType) -> None:
        self.vocabulary.generated[name] = (type_, tuple(values))
        self.body.append(Match(name, (variable,), variable.span))

    def _term(self, predicate: str, term: Expression) -> Term:
        match term:
            case ast.Wildcard(span):
                variable = self._fresh(span)
                self.anonymous.add(variable.name)
                return variable
            case Variable():
                return term
            case _:
                value = self._pattern(term)
                if isinstance(value, ast.Constant):
                    if value.value is None:
                        message = f"no fact of `{predicate}` agrees with null"
                        hint = f"test it behind the atom: `{predicate}(…, Y), is_null(Y)`"
                        refuse_null(value, message, self.diagnostics, hint)
                    return value
                variable = self._fresh(term.span)
                self.body.append(Compare(ComparisonOperator.EQUAL, variable, value, term.span))
                return variable

    def _procedure(self, atom: ast.Atom) -> None:
        counts = {"larger": 3, "encd": 3, "decd": 3}
        if atom.negated:
            message = f"`{atom.predicate}` computes a value, so it cannot be negated"
            self.diagnostics.error("DL207", message, atom.span, PROCEDURES[atom.predicate], "compare the value instead")
            return
        if len(atom.terms) != counts.get(atom.predicate, len(atom.terms)) or len(atom.terms) < 2:
            message = f"`{atom.predicate}` is not used like this"
            self.diagnostics.error("DL207", message, atom.span, PROCEDURES[atom.predicate])
            return
        if atom.predicate == "encd":
            self._assign(atom.terms[2], ast.Call("encd", tuple(map(self.value, atom.terms[:2])), atom.span))
        elif atom.predicate == "decd":
            pair = self.value(atom.terms[0])
            self._assign(atom.terms[1], ast.Call("decd_first", (pair,), atom.span))
            self._assign(atom.terms[2], ast.Call("decd_second", (pair,), atom.span))
        else:
            values = tuple(map(self.value, atom.terms[1:]))
            largest = values[0] if len(values) == 1 else ast.Call("greatest", values, atom.span)
            self._assign(atom.terms[0], largest)

    def _assign(self, target: Expression, value: Expression) -> None:
        if not isinstance(target, ast.Wildcard):
            self.body.append(Compare(ComparisonOperator.EQUAL, self.value(target), value, value.span))

    def value(self, expression: Expression) -> Expression:
        """Returns the expression with parameters replaced; names of functions are checked on the way."""
        match expression:
            case ast.Wildcard(span):
                self._refuse_wildcard(span, "it can only stand as an argument of a relation")
                return ast.Constant(0, span)
            case ast.Parameter(name, span):
                return self._parameter(name, span)
            case ast.Call(function, fields) if function.startswith("$"):
                if open_field := next((one for one in fields if isinstance(one, ast.Wildcard)), None):
                    hint = "a field is left open in an atom, or beside `=`; to deny such a value, write `!(X = …)`"
                    self._refuse_wildcard(open_field.span, hint)
                    return ast.Constant("", expression.span)
                return self._record(expression, tuple(map(self.value, fields)))
            case ast.Unary(operand, span):
                return ast.Unary(self.value(operand), span)
            case ast.Binary(operator, left, right, span):
                return ast.Binary(operator, self.value(left), self.value(right), span)
            case ast.Call(name, parts, span) if name == FORMATTED:
                texts = [one if ast.is_text(one) else ast.Call("string", (one,), one.span) for one in parts]
                return self.value(texts[0] if len(texts) == 1 else ast.Call("cat", tuple(texts), span))
            case ast.Call(function, arguments, span):
                call = ast.Call(function, tuple(map(self.value, arguments)), span)
                self._check_call(call)
                return call
            case Variable() | ast.Constant():
                return expression
            case _:
                assert_never(expression)

    def _refuse_wildcard(self, span: Span, hint: str) -> None:
        self.diagnostics.error("DL209", "`_` has no value", span, hint)

    def _pattern(self, expression: Expression) -> Expression:
        """Returns what a value is compared with: in `X = $Node(_, R)` any field may be left open."""
        match expression:
            case ast.Call(function, fields) if function.startswith("$"):
                return self._record(expression, tuple(map(self._pattern_field, fields)))
            case _:
                return self.value(expression)

    def _pattern_field(self, expression: Expression) -> Expression:
        if not isinstance(expression, ast.Wildcard):
            return self._pattern(expression)
        variable = self._fresh(expression.span)
        self.anonymous.add(variable.name)
        return variable

    def _record(self, call: ast.Call, fields: tuple[Expression, ...]) -> Expression:
        """Returns the value of a branch; one that is not there, or has other fields, is reported."""
        branches = self.vocabulary.branches
        if call.function not in branches:
            hints = unknown_branch(call.function, branches)
            self.diagnostics.error("DL273", f"there is no branch `{call.function}`", call.span, *hints)
            return ast.Constant("", call.span)
        type_, branch = branches[call.function]
        if len(fields) != len(branch.fields):
            wanted, got = len(branch.fields), len(fields)
            hint = f"it is `{call.function}({', '.join(f'{name}: {of}' for name, of in branch.fields)})`"
            message = f"`{call.function}` has {wanted or 'no'} field{'' if wanted == 1 else 's'}, and here it has {got}"
            self.diagnostics.error("DL274", message, call.span, hint if wanted else f"write `{call.function}`")
            return ast.Constant(branch.opening, call.span, type_)
        opening = ast.Constant(branch.opening, call.span, type_)
        kinds = ast.Constant(";".join(kind_of_field(of) for _, of in branch.fields), call.span)
        return ast.Call(RECORD.name, (opening, kinds, *fields), call.span) if fields else opening

    def _parameter(self, name: str, span: Span) -> Expression:
        if f"${name}" in self.vocabulary.branches:
            return self._record(ast.Call(f"${name}", (), span), ())
        given = self.vocabulary.parameters
        if given is None:
            return ast.Parameter(name, span)
        if name not in given:
            guess = nearest(name, given)
            hints = [f"did you mean `${guess}`?"] if guess else []
            hints.append(f'give it one: --param {name}=… or params={{"{name}": …}}')
            self.diagnostics.error("DL211", f"the parameter `${name}` has no value", span, *hints)
            return ast.Parameter(name, span)
        return ast.given_constant(given[name], span)

    def _check_test(self, call: ast.Call) -> None:
        for one in call.arguments:
            if isinstance(one, ast.Constant) and one.value is None:
                hint = f"write `is_null({print_expression(call.arguments[0])})`"
                refuse_null(one, "a comparison with null never holds", self.diagnostics, hint)

    def _check_call(self, call: ast.Call) -> None:
        function = self.vocabulary.functions.find(call.function)
        if function in TESTS:
            self._check_test(call)
        elif function is None:
            guess = nearest(call.function, (*self.vocabulary.functions.scalars, *ELSEWHERE))
            here = ELSEWHERE.get(call.function.lower()) or ELSEWHERE.get(guess or "")
            hints = [f"did you mean `{guess}`?"] if guess else ["docs/language.md lists the functions"]
            if here is not None:
                hints = [f"here it is {here}"]
            if call.span.text.startswith("@"):
                hints = [f'register it in Python: db.function("{call.function}", …)']
            if call.function in self.vocabulary.relations:
                hints = [f"`{call.function}` is a relation: it stands in the body by itself, separated by a comma"]
            self.diagnostics.error("DL206", f"there is no function `{call.function}`", call.span, *hints)
        elif not function.accepts(len(call.arguments)):
            count = len(call.arguments)
            self.diagnostics.error(
                "DL207",
                f"`{call.function}` does not take {count} argument{'' if count == 1 else 's'}",
                call.span,
                f"{function.signature}: {function.meaning}",
            )
