"""Gives the types that a program declares their meaning: what their values are, and which of them are subtypes.

Columns and fields have the names of declared types when they come from the parser, and the types themselves behind
`with_declared_types`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from emberlog.datatypes import STRING, TYPE_NAMES, UNKNOWN, Branch, DataType, Named
from emberlog.diagnostics import Diagnostics, Note, nearest
from emberlog.syntax import ast


@dataclass(frozen=True, slots=True)
class DeclaredTypes:
    """The types of a program by name, and the branches of all of them by how values are written: `$Node`."""

    types: Mapping[str, DataType] = field(default_factory=dict)
    branches: Mapping[str, tuple[DataType, Branch]] = field(default_factory=dict)


def with_declared_types(
    program: ast.Program, diagnostics: Diagnostics | None = None
) -> tuple[ast.Program, DeclaredTypes]:
    """Returns the program with the types that it declares in the places of their names, and these types."""
    declared = [one for one in program.statements if isinstance(one, ast.TypeDeclaration)]
    if not declared:
        return program, DeclaredTypes()
    found = declared_types(declared, diagnostics or Diagnostics())
    statements = tuple(
        replace(one, columns=tuple(replace(column, type=_found(column.type, found.types)) for column in one.columns))
        if isinstance(one, ast.Declaration)
        else one
        for one in program.statements
    )
    return replace(program, statements=statements), found


def declared_types(declarations: Iterable[ast.TypeDeclaration], diagnostics: Diagnostics) -> DeclaredTypes:
    """Returns the types that are declared; reports what cannot be meant."""
    return _Declared(declarations, diagnostics).run()


def _found(type_: DataType, types: Mapping[str, DataType]) -> DataType:
    return types.get(type_.name, type_) if type_.scale is None and type_.named is None else type_


class _Declared:
    def __init__(self, declarations: Iterable[ast.TypeDeclaration], diagnostics: Diagnostics) -> None:
        self.diagnostics = diagnostics
        self.declared: dict[str, ast.TypeDeclaration] = {}
        for one in declarations:
            earlier = self.declared.setdefault(one.name, one)
            if one.name.lower() in (*TYPE_NAMES, "decimal"):
                hint = "choose another name: types of the language keep theirs"
                diagnostics.error("DL270", f"`{one.name}` is a type already", one.name_span, hint)
            elif earlier is not one and earlier != one:
                first = Note("it is declared here first", earlier.name_span)
                diagnostics.error("DL270", f"the type `{one.name}` is declared twice", one.name_span, first)
        self.scope: dict[str, tuple[Branch, ...]] = {}
        self.types: dict[str, DataType] = {}

    def run(self) -> DeclaredTypes:
        for name, declaration in self.declared.items():
            self.types[name] = (
                self._subtype(declaration, ())
                if declaration.base is not None
                else DataType(STRING.name, named=Named(name, scope=self.scope))
            )
        branches: dict[str, tuple[DataType, Branch]] = {}
        written: dict[str, ast.BranchDeclaration] = {}
        for name, declaration in self.declared.items():
            found = tuple(map(self._branch, declaration.branches))
            if found:
                self.scope[name] = found
            for one, branch in zip(declaration.branches, found, strict=True):
                if f"${one.name}" in branches:
                    first = Note("the first one is here", written[one.name].span)
                    hint = "a value says of which branch it is, so all branches of a program have different names"
                    self.diagnostics.error("DL270", f"there are two branches `{one.name}`", one.span, first, hint)
                    continue
                written[one.name] = one
                branches[f"${one.name}"] = self.types[name], branch
        self._refuse_empty()
        return DeclaredTypes(self.types, branches)

    def _subtype(self, declaration: ast.TypeDeclaration, below: tuple[str, ...]) -> DataType:
        assert declaration.base is not None
        base = declaration.base.name
        if declaration.name in below:
            message = f"the type `{declaration.name}` is a subtype of itself"
            self.diagnostics.error(
                "DL271", message, declaration.name_span, "a subtype has a type of the language below"
            )
            return DataType(STRING.name, named=Named(declaration.name))
        other = self.declared.get(base)
        found = declaration.base if other is None else UNKNOWN
        if other is not None and other.base is None:
            message = f"`{declaration.name}` cannot be a subtype of `{base}`, which has branches"
            hint = "subtypes are of types such as int and string, or of other subtypes"
            self.diagnostics.error("DL271", message, declaration.span, hint)
            return DataType(STRING.name, named=Named(declaration.name))
        if other is not None:
            found = self._subtype(other, (*below, declaration.name))
        above = () if found.named is None else (found.named.name, *found.named.above)
        least, greatest = (found.named.least, found.named.greatest) if found.named else (None, None)
        return replace(found, named=Named(declaration.name, above, least, greatest))

    def _branch(self, branch: ast.BranchDeclaration) -> Branch:
        fields: dict[str, DataType] = {}
        for one in branch.fields:
            if one.name in fields:
                message = f"the branch `{branch.name}` has two fields named `{one.name}`"
                self.diagnostics.error("DL270", message, one.span)
            fields[one.name] = _found(one.type, self.types)
        opening = branch.opening or (f"${branch.name}(" if fields else f"${branch.name}")
        return Branch(branch.name, tuple(fields.items()), opening)

    def _refuse_empty(self) -> None:
        """Reports types that have no value, because each needs another one to be made of."""
        known: set[str] = set()
        while found := {
            name
            for name, branches in self.scope.items()
            if name not in known and any(known.issuperset(_records(one)) for one in branches)
        }:
            known |= found
        for name in self.scope:
            if name not in known:
                declaration = self.declared[name]
                self.diagnostics.error(
                    "DL272",
                    f"the type `{name}` has no values: each would be made of another one",
                    declaration.name_span,
                    f"add a branch that needs none: `type {name} = … | None_of_{name}.`",
                )


def _records(branch: Branch) -> Iterator[str]:
    for _, type_ in branch.fields:
        if type_.named is not None and type_.named.name in type_.named.scope:
            yield type_.named.name


def unknown_branch(name: str, branches: Iterable[str]) -> list[str]:
    """Returns the hints for a branch that no type has."""
    known = list(branches)
    guess = nearest(name, known)
    if guess:
        return [f"did you mean `{guess}`?"]
    return (
        [f"declare the type: `type T = {name.removeprefix('$')}(x: int).`"]
        if not known
        else [f"there are {', '.join(known)}"]
    )
