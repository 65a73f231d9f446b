"""From the items of a program in Soufflé's language to a program of ours that means the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from emberlog.datatypes import FLOAT, INT, STRING, UNKNOWN, UNSIGNED, DataType, join_types
from emberlog.diagnostics import Diagnostics, nearest
from emberlog.source import Source
from emberlog.syntax import ast
from emberlog.syntax.souffle.components import instantiated
from emberlog.syntax.souffle.including import read_tokens
from emberlog.syntax.souffle.parser import OLD_DIRECTIVES, QUALIFIERS, SouffleParser
from emberlog.syntax.souffle.records import Records
from emberlog.syntax.souffle.rules import Declared, Rules
from emberlog.syntax.souffle.tree import (
    Clause,
    Component,
    Directive,
    Initialisation,
    Item,
    Named,
    Override,
    RelationDeclaration,
    TypeDeclaration,
)

BASE_TYPES = {"number": INT, "unsigned": UNSIGNED, "float": FLOAT, "symbol": STRING}

_OF_NO_CONCERN = frozenset({"attributenames", "operation"})
"""Parameters of directives that Soufflé writes itself."""


def parse_souffle(source: Source, include: Sequence[str] = ()) -> ast.Program:
    """Returns a program in Soufflé's language as one of ours, with what is wrong with it; the analysis raises that.
    Files that it includes may be in the folders `include`, too."""
    diagnostics = Diagnostics()
    source = replace(source, is_souffle=True)
    tokens, comments = read_tokens(source, include, diagnostics)
    parser = SouffleParser(tokens, diagnostics)
    items = instantiated(parser.program(), parser.announced, diagnostics)
    statements, files = _Translation(items, parser, diagnostics).run()
    # Whatever is not known may be in what could not be read.
    unread = frozenset(parser.taken) if diagnostics.error_count else frozenset()
    return ast.Program(source, statements, tuple(comments), diagnostics.in_order(), unread, files)


class _Translation:
    def __init__(self, items: Sequence[Item], parser: SouffleParser, diagnostics: Diagnostics) -> None:
        self.items = items
        self.is_whole = not diagnostics.error_count
        """Whether all of the text could be read: what is not declared is unknown then."""
        self.announced = parser.announced
        self.diagnostics = diagnostics
        self.types = {one.name.name: one for one in items if isinstance(one, TypeDeclaration)}
        self.relations: dict[str, RelationDeclaration] = {}
        for one in items:
            if isinstance(one, RelationDeclaration):
                if one.name.name in self.relations:
                    diagnostics.error("DL124", f"`{one.name.name}` is declared twice", one.name.span)
                self.relations[one.name.name] = one
        self.reported: set[str] = set()
        """Types that something was said of."""
        self.record_types: Mapping[str, DataType] = {}
        self.records = Records(self.types.values(), self._base, diagnostics, is_whole=self.is_whole)
        self.record_types = self.records.types
        self.columns = {
            name: tuple(self._base(column.type) for column in one.attributes) for name, one in self.relations.items()
        }
        for functor in parser.functors.values():
            for argument in functor.arguments:
                self._base(argument)
        results = {name: self._base(one.result) for name, one in parser.functors.items()}
        declared = Declared(self.columns, parser.functors, results, self.records)
        self.rules = Rules(declared, self._unknown, parser.new_name, diagnostics)

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
                        if word.name in OLD_DIRECTIVES:
                            directives.append(Directive(word, name))
                        elif word.name not in QUALIFIERS:
                            self._unknown_qualifier(word)
                case Clause(rule, worse):
                    errors = self.diagnostics.error_count, self.records.unclear
                    whole = rule if worse is None else replace(rule, head=worse, others=(rule.head,))
                    own = self.rules.translated(whole)
                    if (self.diagnostics.error_count, self.records.unclear) != errors:
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
            elif directive.kind.name == "limitsize":
                hint = "--max-rows, or Limits(max_rows=…), ends a run that derives too much"
                self._pass_over("the limit of a relation's size", directive, hint)
            else:
                if any(name not in _OF_NO_CONCERN for name, _ in directive.parameters):
                    hint = "--output DIR writes the answers, as CSV, Parquet or JSON by --format"
                    self._pass_over("what an output says of its file", directive, hint)
                terms = tuple(ast.Wildcard(name.span) for _ in self.columns[name.name])
                asked.setdefault(name.name, ast.Query(ast.Atom(name.name, terms, span=name.span, name_span=name.span)))
        return (*statements, *asked.values()), tuple(files)

    def _pass_over(self, what: str, directive: Directive, hint: str) -> None:
        self.diagnostics.warning("DL298", f"{what} is passed over", directive.relation.span, hint)

    # --- types and relations ----------------------------------------------------------------------------------------

    def _base(self, name: Named, above: frozenset[str] = frozenset()) -> DataType:
        """Returns the type of ours that holds the values of a type."""
        declared = self.types.get(name.name)
        if declared is None:
            if name.name in BASE_TYPES:
                return BASE_TYPES[name.name]
            may_be_unread = not self.is_whole and name.name in self.announced
            if not may_be_unread and name.name not in self.reported:
                self.reported.add(name.name)
                guess = nearest(name.name, (*self.types, *BASE_TYPES))
                hint = (
                    f"did you mean `{guess}`?" if guess else f"types are {', '.join(BASE_TYPES)} and what .type makes"
                )
                self.diagnostics.error("DL115", f"`{name.name}` is not a type", name.span, hint)
            return UNKNOWN
        if name.name in above:
            if not self.reported.issuperset(above):
                self.reported |= above
                hint = "a type is made of others, or of number, unsigned, float and symbol"
                message = f"the type `{name.name}` is made of itself"
                self.diagnostics.error("DL124", message, declared.name.span, hint)
            return INT
        if declared.branches:
            return self.record_types.get(name.name) or DataType(name.name)
        bases = [self._base(one, above | {name.name}) for one in declared.members]
        are_alike = UNKNOWN in bases or all(one == bases[0] and join_types(one, bases[0]) is not None for one in bases)
        if not are_alike and name.name not in self.reported:
            self.reported.add(name.name)
            pairs = zip(declared.members, bases, strict=True)
            members = ", ".join(f"`{one.name}` is {of.described}" for one, of in pairs)
            message = f"`{name.name}` is made of different kinds of values: {members}"
            hint = f"values of several kinds have branches: `.type {name.name} = A {{ x: number }} | B {{ s: symbol }}`"
            self.diagnostics.error("DL124", message, declared.name.span, hint)
        return bases[0]

    def _unknown_qualifier(self, word: Named) -> None:
        guess = nearest(word.name, (*QUALIFIERS, *OLD_DIRECTIVES, "choice-domain"))
        hint = f"did you mean `{guess}`?" if guess else f"known are choice-domain, {', '.join(sorted(QUALIFIERS))}"
        self.diagnostics.error("DL123", f"there is no qualifier `{word.name}`", word.span, hint)

    def _unknown(self, name: Named) -> None:
        if not self.is_whole:
            return
        guess = nearest(name.name, self.relations)
        hints = [f"did you mean `{guess}`?"] if guess else []
        self.diagnostics.error("DL201", f"there is no relation `{name.name}`", name.span, *hints)

    def _file(self, directive: Directive) -> ast.FactFile:
        """Returns where the facts of an input are, by the parameters of its directive."""
        given = {name.lower(): value for name, value in directive.parameters}
        span = directive.relation.span
        kind = given.pop("io", "file").removesuffix("file") or "file"
        if kind not in ("file", "sqlite", "json"):
            self.rules.refuse(f"input by `IO={kind}`", span, "register the data: --input, or db[name] = …")
        ending = {"sqlite": "sqlite", "json": "json"}.get(kind, "facts")
        named = given.pop("filename", given.pop("name", None))
        name = given.pop("dbname", None) or named or f"{directive.relation.name}.{ending}"
        if kind == "json":
            given.pop("format", None)  # lists and objects are told apart as they come
        header = given.pop("headers", "false") == "true"
        is_quoted = given.pop("rfc4180", "false") == "true"
        delimiter = given.pop("delimiter", "," if is_quoted else "\t").replace("\\t", "\t")
        given.pop("compress", None)  # a file that is compressed tells so itself
        places = self._places(directive, given.pop("columns")) if kind == "file" and "columns" in given else ()
        for other in given.keys() - _OF_NO_CONCERN:
            hint = "register the data by itself: --input, or db[name] = …"
            self.rules.refuse(f"the parameter `{other}` of an input", span, hint)
        quote = '"' if is_quoted else ""
        return ast.FactFile(directive.relation.name, name, delimiter, header, quote, span, kind, places)

    def _places(self, directive: Directive, columns: str) -> tuple[int, ...]:
        """Returns the places that `2:0` names."""
        name, span = directive.relation.name, directive.relation.span
        places = columns.split(":")
        if not all(place.isascii() and place.isdigit() for place in places) or len(set(places)) < len(places):
            hint = 'they are counted from 0, with colons between them: columns="2:0"'
            self.diagnostics.error("DL124", f"`{columns}` are no places of columns in a file", span, hint)
            return ()
        arity = len(self.columns[name])
        if len(places) != arity:
            message = f"`{columns}` and `{name}` do not have the same number of columns"
            self.diagnostics.error("DL124", message, span, f"name {arity} places, one for each column")
        return tuple(map(int, places))


def _by_name(type_: DataType) -> DataType:
    """Returns the type as a declaration of ours has it, which names what the program declares."""
    return DataType(str(type_)) if type_.is_record else type_
