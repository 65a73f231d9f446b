"""From the items of a program in Soufflé's language to a program of ours that means the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, repeat
from typing import assert_never

from emberlog.datatypes import FLOAT, INT, STRING, UNSIGNED, DataType, join_types
from emberlog.diagnostics import Diagnostics, nearest
from emberlog.source import Source, Span
from emberlog.syntax import ast
from emberlog.syntax.ast import BinaryOperator, ComparisonOperator, Expression
from emberlog.syntax.souffle.components import instantiated
from emberlog.syntax.souffle.including import read_tokens
from emberlog.syntax.souffle.parser import TESTS, SouffleParser
from emberlog.syntax.souffle.records import Records, is_value
from emberlog.syntax.souffle.tree import (
    Clause,
    Component,
    Directive,
    Functor,
    Initialisation,
    Item,
    Named,
    Override,
    RelationDeclaration,
    TypeDeclaration,
)

BASE_TYPES = {"number": INT, "unsigned": UNSIGNED, "float": FLOAT, "symbol": STRING}

FUNCTIONS = {
    "cat": "cat",
    "strlen": "len",
    "substr": "substr",
    "min": "least",
    "max": "greatest",
    "to_string": "string",
    "to_number": "int",
    "to_unsigned": "int",
    "to_float": "float",
    "ftoi": "int",
    "ftou": "int",
    "itof": "float",
    "utof": "float",
    "itou": "int",
    "utoi": "int",
    "band": "band",
    "bor": "bor",
    "bxor": "bxor",
    "bnot": "bnot",
    "shl": "shl",
    "shr": "shr",
    "^": "pow",
}
"""Functors and operators, by what they are called here."""

_OF_TEXT = frozenset({"cat", "substr", "to_string"})
_OF_FLOATS = frozenset({"to_float", "itof", "utof"})

_REFUSED = {
    "ord": "texts are compared as they are: `x < y`",
    "autoinc": "a fact is known by its columns: give it a key of its own",
    "range": "a range is a part of a body, by itself: `x = range(1, 10)`",
    "land": "write it as a condition: `x != 0, y != 0`",
    "lor": "write it as a condition: `(x != 0 ; y != 0)`",
    "lxor": "write it as a condition",
    "lnot": "write it as a condition: `x = 0`",
    "bshru": "shift a number that is not negative by bshr",
}

ORDER_OF_NO_CONCERN = frozenset(
    {"inline", "no_inline", "magic", "no_magic", "brie", "btree", "btree_delete", "eqrel", "overridable"}
)
"""Qualifiers that say how, and not what; `eqrel` says what, too."""

_OLD_DIRECTIVES = frozenset({"input", "output", "printsize"})
"""Qualifiers that are directives."""


def parse_souffle(source: Source) -> ast.Program:
    """Returns a program in Soufflé's language as one of ours, with what is wrong with it; the analysis raises that."""
    diagnostics = Diagnostics()
    tokens, comments = read_tokens(source, diagnostics)
    parser = SouffleParser(tokens, diagnostics)
    items = instantiated(parser.program(), diagnostics)
    statements, files = _Translation(items, parser.functors, diagnostics).run()
    # Whatever is not known may be in what could not be read.
    unread = frozenset(parser.taken) if diagnostics.error_count else frozenset()
    return ast.Program(source, statements, tuple(comments), diagnostics.in_order(), unread, files)


class _Translation:
    def __init__(self, items: Sequence[Item], functors: Mapping[str, Functor], diagnostics: Diagnostics) -> None:
        self.items = items
        self.is_whole = not diagnostics.error_count
        """Whether all of the text could be read: what is not declared is unknown then."""
        self.diagnostics = diagnostics
        self.types = {one.name.name: one for one in items if isinstance(one, TypeDeclaration)}
        self.relations: dict[str, RelationDeclaration] = {}
        for one in items:
            if isinstance(one, RelationDeclaration):
                if one.name.name in self.relations:
                    diagnostics.error("DL124", f"`{one.name.name}` is declared twice", one.name.span)
                self.relations[one.name.name] = one
        self.functors = {name: self._base(one.result) for name, one in functors.items()}
        """The type that each functor of the user gives."""
        for functor in functors.values():
            for argument in functor.arguments:
                self._base(argument)
        self.record_types: Mapping[str, DataType] = {}
        self.records = Records(self.types.values(), self._base, diagnostics)
        self.record_types = self.records.types
        self.columns = {
            name: tuple(self._base(column.type) for column in one.attributes) for name, one in self.relations.items()
        }

    def run(self) -> tuple[tuple[ast.Statement, ...], tuple[ast.FactFile, ...]]:
        statements: list[ast.Statement] = []
        directives: list[Directive] = []
        for item in self.items:
            match item:
                case RelationDeclaration(name, attributes, qualifiers, span):
                    columns = tuple(
                        ast.ColumnDeclaration(one.name, _by_name(type_), None, one.type.span)
                        for one, type_ in zip(attributes, self.columns[name.name], strict=True)
                    )
                    kind = ast.DeclarationKind.RELATION
                    is_equivalence = any(word.name == "eqrel" for word in qualifiers)
                    statements.append(
                        ast.Declaration(kind, name.name, columns, span, name.span, item.choices, is_equivalence)
                    )
                    for word in qualifiers:
                        if word.name in _OLD_DIRECTIVES:
                            directives.append(Directive(word, name))
                        elif word.name not in ORDER_OF_NO_CONCERN:
                            self._refuse(f"the qualifier `{word.name}`", word.span, "leave it out")
                case Clause(rule, worse):
                    errors = self.diagnostics.error_count
                    own = self._rule(rule if worse is None else replace(rule, head=worse, others=(rule.head,)))
                    if self.diagnostics.error_count != errors:
                        continue
                    if worse is not None:
                        statements.append(ast.Subsumption(own.head, own.others[0], own.body, own.span))
                    else:
                        statements.append(own)
                case Directive():
                    directives.append(item)
                case TypeDeclaration():
                    self._base(item.name)
                    if item.branches:
                        statements.append(self.records.declarations[item.name.name])
                case Component() | Initialisation() | Override():
                    pass
                case _:
                    assert_never(item)
        files: list[ast.FactFile] = []
        asked: dict[str, ast.Query] = {}
        for directive in directives:
            name = directive.relation
            if name.name not in self.relations:
                self._unknown(name)
            elif directive.kind.name == "input":
                files.append(self._file(directive))
            else:
                terms = tuple(ast.Wildcard(name.span) for _ in self.columns[name.name])
                asked.setdefault(name.name, ast.Query(ast.Atom(name.name, terms, span=name.span, name_span=name.span)))
        return (*statements, *asked.values()), tuple(files)

    # --- types and relations ----------------------------------------------------------------------------------------

    def _base(self, name: Named, above: frozenset[str] = frozenset()) -> DataType:
        """Returns the type of ours that holds the values of a type."""
        declared = self.types.get(name.name)
        if declared is None:
            if name.name not in BASE_TYPES:
                guess = nearest(name.name, (*self.types, *BASE_TYPES))
                hint = (
                    f"did you mean `{guess}`?" if guess else f"types are {', '.join(BASE_TYPES)} and what .type makes"
                )
                self.diagnostics.error("DL115", f"`{name.name}` is not a type", name.span, hint)
            return BASE_TYPES.get(name.name, INT)
        if name.name in above:
            self.diagnostics.error("DL124", f"the type `{name.name}` is made of itself", declared.name.span)
            return INT
        if declared.branches:
            return self.record_types.get(name.name) or DataType(name.name)
        bases = [self._base(one, above | {name.name}) for one in declared.members]
        if any(one != bases[0] or join_types(one, bases[0]) is None for one in bases):
            hint = "the members of a union are of one of them"
            self.diagnostics.error("DL124", f"`{name.name}` is made of different kinds of values", name.span, hint)
        return bases[0]

    def _unknown(self, name: Named) -> None:
        if not self.is_whole:
            return
        guess = nearest(name.name, self.relations)
        hints = [f"did you mean `{guess}`?"] if guess else []
        self.diagnostics.error("DL201", f"there is no relation `{name.name}`", name.span, *hints)

    def _refuse(self, what: str, span: Span, hint: str) -> None:
        self.diagnostics.error("DL123", f"{what} of Soufflé is not there in Emberlog", span, hint)

    def _file(self, directive: Directive) -> ast.FactFile:
        """Returns where the facts of an input are, by the parameters of its directive."""
        given = {name.lower(): value for name, value in directive.parameters}
        span = directive.relation.span
        kind = given.pop("io", "file").removesuffix("file") or "file"
        if kind not in ("file", "sqlite", "json"):
            self._refuse(f"input by `IO={kind}`", span, "register the data: --input, or db[name] = …")
        ending = {"sqlite": "sqlite", "json": "json"}.get(kind, "facts")
        named = given.pop("filename", given.pop("name", None))
        name = given.pop("dbname", None) or named or f"{directive.relation.name}.{ending}"
        if kind == "json":
            given.pop("format", None)  # lists and objects are told apart as they come
        header = given.pop("headers", "false") == "true"
        is_quoted = given.pop("rfc4180", "false") == "true"
        delimiter = given.pop("delimiter", "," if is_quoted else "\t").replace("\\t", "\t")
        given.pop("attributenames", None)
        given.pop("operation", None)
        for other in given:
            self._refuse(f"the parameter `{other}` of an input", span, "leave it out")
        quote = '"' if is_quoted else ""
        return ast.FactFile(directive.relation.name, name, delimiter, header, quote, span, kind)

    # --- clauses ----------------------------------------------------------------------------------------------------

    def _rule(self, rule: ast.Rule) -> ast.Rule:
        parts = rule.body.parts if rule.body else ()
        types = dict(self._typed_variables((*_atoms(parts), *rule.heads)))
        for _ in range(3):  # `y = x + 1, z = y`
            types |= {name: type_ for name, type_ in self._assigned(parts, types) if name not in types}
        for head in rule.heads:
            if head.predicate not in self.relations:
                self._unknown(Named(head.predicate, head.name_span))

        def translated(expression: Expression, wanted: DataType | None = None) -> Expression:
            return self._expression(expression, types, wanted)

        def terms(given: Iterable[Expression], columns: Iterable[DataType] = ()) -> tuple[Expression, ...]:
            return tuple(map(translated, given, chain(columns, repeat(None))))

        def head_of(head: ast.Head) -> ast.Head:
            return replace(head, terms=terms(map(_plain_term, head.terms), self.columns.get(head.predicate, ())))

        def body_of(body: ast.Conjunction) -> ast.Conjunction:
            return replace(body, parts=tuple(map(part_of, body.parts)))

        def part_of(part: ast.BodyPart) -> ast.BodyPart:
            match part:
                case ast.Atom(predicate, own):
                    if (
                        predicate not in self.relations
                        and not predicate.endswith("!")
                        and predicate not in TESTS.values()
                    ):
                        self._unknown(Named(predicate, part.name_span))
                    return replace(part, terms=terms(own, self.columns.get(predicate, ())))
                case ast.Comparison(_, left, right):
                    of_left, of_right = self._type(left, types), self._type(right, types)
                    return replace(part, left=translated(left, of_right), right=translated(right, of_left))
                case ast.Disjunction(alternatives):
                    return replace(part, alternatives=tuple(map(body_of, alternatives)))
                case ast.Negation(body):
                    return replace(part, body=body_of(body))
                case ast.Aggregation(aggregate=aggregate, body=body):
                    own_term = replace(aggregate, arguments=terms(aggregate.arguments))
                    return replace(part, aggregate=own_term, body=body_of(body))
                case _:
                    assert_never(part)

        heads = [head_of(head) for head in rule.heads]
        body = None if rule.body is None else body_of(rule.body)
        return replace(rule, head=heads[0], others=tuple(heads[1:]), body=body)

    def _typed_variables(self, places: Iterable[ast.Atom | ast.Head]) -> Iterator[tuple[str, DataType]]:
        for place in places:
            for term, type_ in zip(place.terms, self.columns.get(place.predicate, ()), strict=False):
                if not isinstance(term, ast.AggregateTerm):
                    yield from self.records.variables(term, type_)

    def _assigned(self, parts: Iterable[ast.BodyPart], types: Mapping[str, DataType]) -> Iterator[tuple[str, DataType]]:
        """Yields the types that equations give variables."""
        for part in _parts(parts):
            match part:
                case ast.Comparison(ComparisonOperator.EQUAL, left, right):
                    for one, other in ((left, right), (right, left)):
                        yield from self.records.variables(one, self._type(other, types))
                case ast.Aggregation(value=ast.Variable(name), aggregate=aggregate):
                    of = [self._type(one, types) for one in aggregate.arguments]
                    if aggregate.function == "avg":
                        yield name, FLOAT
                    elif aggregate.function == "count":
                        yield name, INT
                    elif of and of[0] is not None:
                        yield name, of[0]
                case _:
                    pass

    def _type(self, expression: Expression, types: Mapping[str, DataType]) -> DataType | None:
        match expression:
            case ast.Variable(name):
                return types.get(name)
            case ast.Constant():
                return expression.type
            case ast.Unary(operand):
                return self._type(operand, types)
            case ast.Binary(_, left, right):
                both = {self._type(left, types), self._type(right, types)}
                return FLOAT if FLOAT in both else INT if INT in both else None
            case ast.Call() if is_value(expression):
                return self.records.type_of(expression)
            case ast.Call(name, arguments):
                if name.startswith("@"):
                    return self.functors.get(name[1:])
                if name in _OF_TEXT:
                    return STRING
                if name in _OF_FLOATS:
                    return FLOAT
                if name in ("min", "max", "^"):
                    return next((one for one in (self._type(each, types) for each in arguments) if one), None)
                return INT
            case _:
                return None

    def _expression(
        self, expression: Expression, types: Mapping[str, DataType], wanted: DataType | None = None
    ) -> Expression:
        """Returns the expression with our functions: division of numbers cuts off the fraction, and a record is of the
        type that is `wanted` where it stands."""
        match expression:
            case ast.Call() if is_value(expression):
                return self.records.value(expression, wanted, lambda one, of: self._expression(one, types, of))
            case ast.Binary(operator, left, right):
                is_whole = operator is BinaryOperator.DIVIDE and self._type(expression, types) != FLOAT
                own = BinaryOperator.INTEGER_DIVIDE if is_whole else operator
                return ast.Binary(own, self._expression(left, types), self._expression(right, types), expression.span)
            case ast.Unary(operand):
                return replace(expression, operand=self._expression(operand, types))
            case ast.Call(name, arguments, span):
                return ast.Call(
                    self._function(name, expression, types),
                    tuple(self._expression(one, types) for one in arguments),
                    span,
                )
            case _:
                return expression

    def _function(self, name: str, call: ast.Call, types: Mapping[str, DataType]) -> str:
        if name == "^" and self._type(call, types) != FLOAT:
            return "ipow"
        if name in FUNCTIONS:
            return FUNCTIONS[name]
        if name.startswith("@"):
            return name[1:]
        if name in _REFUSED:
            self._refuse(f"`{name}`", call.span, _REFUSED[name])
        return name


def _by_name(type_: DataType) -> DataType:
    """Returns the type as a declaration of ours has it, which names what the program declares."""
    return DataType(str(type_)) if type_.is_record else type_


def _plain_term(term: ast.HeadTerm) -> Expression:
    assert not isinstance(term, ast.AggregateTerm), "the parser makes parts of a body of them"
    return term


def _parts(parts: Iterable[ast.BodyPart]) -> Iterator[ast.BodyPart]:
    """Yields the parts of a body, those inside of others among them."""
    for part in parts:
        yield part
        match part:
            case ast.Disjunction(alternatives):
                for alternative in alternatives:
                    yield from _parts(alternative.parts)
            case ast.Negation(body) | ast.Aggregation(body=body):
                yield from _parts(body.parts)
            case _:
                pass


def _atoms(parts: Iterable[ast.BodyPart]) -> list[ast.Atom]:
    return [part for part in _parts(parts) if isinstance(part, ast.Atom)]
