"""Tells of which type the records and the branches in a program of Soufflé are: the column where they stand says it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from emberlog.datatypes import Branch, DataType
from emberlog.diagnostics import Diagnostics, nearest
from emberlog.syntax import ast
from emberlog.syntax.ast import Expression
from emberlog.syntax.declared_types import declared_types
from emberlog.syntax.souffle.expression_parser import NIL, RECORD
from emberlog.syntax.souffle.tree import Named, TypeDeclaration


class Records:
    """Knows the records and algebraic types of a program, and what they are called here: `[a, b]` of the type `Pair` is
    `$Pair(a, b)`, and its `nil` is `$Pair_nil`."""

    def __init__(
        self,
        items: Iterable[TypeDeclaration],
        base: Callable[[Named], DataType],
        diagnostics: Diagnostics,
        *,
        is_whole: bool,
    ) -> None:
        """`is_whole`, all of the text could be read: what is not declared is unknown then."""
        self.is_whole = is_whole
        self.unclear = 0
        """Values that may be of a type that could not be read."""
        own = [one for one in items if one.branches]
        names = {one.name.name for one in own}
        times = Counter(branch.name.name for one in own for branch in one.branches if branch.name)
        self.diagnostics = diagnostics
        self.declarations: dict[str, ast.TypeDeclaration] = {}
        self._called: dict[tuple[str, str], str] = {}
        """What a branch of a type is called here, by both names."""
        for one in own:
            self.declarations[one.name.name] = self._declaration(one, names, base, times)
        found = declared_types(self.declarations.values(), diagnostics)
        self.types: Mapping[str, DataType] = found.types
        self._owners = {name: type_ for (type_, name) in self._called if times[name.removeprefix("$")] == 1}

    def _declaration(
        self, item: TypeDeclaration, names: set[str], base: Callable[[Named], DataType], times: Counter[str]
    ) -> ast.TypeDeclaration:
        name = item.name.name
        plain = name.replace(".", "_")
        branches: list[ast.BranchDeclaration] = []
        for branch in item.branches:
            fields = tuple(
                ast.ColumnDeclaration(
                    one.name, DataType(one.type.name) if one.type.name in names else base(one.type), None, one.type.span
                )
                for one in branch.fields
            )
            if branch.name is None:
                self._called[name, RECORD], self._called[name, NIL] = plain, f"{plain}_nil"
                opening = "[" if fields else "[]"
                branches.append(ast.BranchDeclaration(plain, fields, item.name.span, opening))
                branches.append(ast.BranchDeclaration(f"{plain}_nil", (), item.name.span, NIL))
                continue
            written = branch.name.name
            called = written if times[written] == 1 else f"{plain}_{written}"
            self._called[name, f"${written}"] = called
            opening = f"${written}(" if fields else f"${written}"
            branches.append(ast.BranchDeclaration(called, fields, branch.name.span, opening))
        return ast.TypeDeclaration(name, None, tuple(branches), item.name.span, item.name.span)

    def type_of(self, call: ast.Call) -> DataType | None:
        """Returns the type that a value is of whatever stands around it."""
        owner = self._owners.get(call.function)
        return None if owner is None else self.types[owner]

    def variables(self, term: Expression, type_: DataType | None) -> Iterator[tuple[str, DataType]]:
        """Yields the variables in a term of some type, with the types that this gives them."""
        match term:
            case ast.Variable(name) if type_ is not None:
                yield name, type_
            case ast.Call(function, fields) if is_value(term):
                branch = self._branch(function, self.type_of(term) or type_)
                for field, (_, wanted) in zip(fields, branch.fields if branch else (), strict=False):
                    yield from self.variables(field, wanted)
            case _:
                pass

    def _branch(self, function: str, type_: DataType | None) -> Branch | None:
        if type_ is None or type_.named is None:
            return None
        called = self._called.get((type_.named.name, function))
        return next((one for one in type_.named.branches if one.name == called), None)

    def value(
        self, call: ast.Call, wanted: DataType | None, translated: Callable[[Expression, DataType | None], Expression]
    ) -> Expression:
        """Returns a record or a value of a branch as it is written here; reports what is of no type, or of another."""
        type_ = self.type_of(call) or wanted
        branch = self._branch(call.function, type_)
        shown = "a record" if call.function in (RECORD, NIL) else f"`{call.function}`"
        if branch is None:
            self._report(call, type_, shown)
            return replace(call, function="$", arguments=())
        if len(branch.fields) != len(call.arguments):
            have = f"{len(branch.fields)} field{'' if len(branch.fields) == 1 else 's'}"
            what = f"`{type_}`" if call.function == RECORD else shown
            self.diagnostics.error("DL274", f"{what} has {have}, and here it has {len(call.arguments)}", call.span)
            return replace(call, function="$", arguments=())
        pairs = zip(call.arguments, branch.fields, strict=True)
        return ast.Call(f"${branch.name}", tuple(translated(one, of) for one, (_, of) in pairs), call.span)

    def _report(self, call: ast.Call, type_: DataType | None, shown: str) -> None:
        known = [name for _, name in self._called if name.startswith("$")]
        if not self.is_whole:
            self.unclear += 1
            return
        if call.function.startswith("$") and call.function not in known:
            guess = nearest(call.function, known)
            hints = [f"did you mean `{guess}`?"] if guess else ["a branch is declared with `.type`"]
            self.diagnostics.error("DL273", f"there is no branch {shown}", call.span, *hints)
        elif type_ is None:
            hint = "a record has the type of the column where it stands, or of the variable that it is compared with"
            self.diagnostics.error("DL275", f"nothing says of which type {shown} is here", call.span, hint)
        else:
            self.diagnostics.error("DL275", f"{shown} stands here, where {type_.described} belongs", call.span)


def is_value(term: Expression) -> bool:
    """Tells whether a term is a record or a value of a branch."""
    return isinstance(term, ast.Call) and (term.function in (RECORD, NIL) or term.function.startswith("$"))
