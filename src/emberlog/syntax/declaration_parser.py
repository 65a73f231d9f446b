"""Declarations in every spelling of the papers, and windows."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from emberlog.datatypes import TIMESTAMP, TYPE_NAMES, DataType, decimal_of
from emberlog.diagnostics import nearest
from emberlog.language.spellings import LARGEST_SCALE
from emberlog.syntax import ast
from emberlog.syntax.ast import DeclarationKind
from emberlog.syntax.lexer import Token, TokenKind
from emberlog.syntax.token_reader import TokenReader
from emberlog.syntax.vocabulary import AGGREGATE_NAMES, LITERALS, TIME_UNITS

WINDOWS = {kind.value: kind for kind in ast.WindowKind}
_HAS = {
    ast.WindowKind.CLOSED: "a window has a size and a slide",
    ast.WindowKind.HOP: "a window has a size and a slide",
    ast.WindowKind.TUMBLE: "windows that follow each other have a size and no slide",
    ast.WindowKind.SESSION: "sessions have a gap and, if wanted, a column",
}
_WRITTEN = {
    ast.WindowKind.CLOSED: "WINDOW(60 minutes, 5 minutes)",
    ast.WindowKind.HOP: "HOP(60 minutes, 5 minutes)",
    ast.WindowKind.TUMBLE: "TUMBLE(60 minutes)",
    ast.WindowKind.SESSION: "SESSION(10 minutes, User)",
}


class DeclarationParser(TokenReader):
    def keyword_declaration(self) -> ast.Declaration:
        """`declare p(…).`, `STREAM p(…).`, `RELATION p(…).`"""
        keyword = self.take()
        kinds = {
            "declare": DeclarationKind.RELATION,
            "relation": DeclarationKind.STATIC,
            "stream": DeclarationKind.STREAM,
        }
        declaration = self._declaration(kinds[keyword.text.lower()], keyword)
        return self._ended(declaration)

    def at_plain_declaration(self) -> bool:
        """At `EDGE(int src, …)` or `edge(src: int, …)`: no fact or rule begins like that."""
        if not (self.peek().kind is TokenKind.NAME and self.peek(1).is_symbol("(")):
            return False
        if self.peek(2).kind is not TokenKind.NAME:
            return False
        if self.peek(3).is_symbol(":"):  # `emp(id: E) :- …` and `emp(id: 1).` have names of arguments
            after = self.tokens[min(self.matching_parenthesis(1) + 1, len(self.tokens) - 1)]
            is_type = self.peek(4).kind is TokenKind.NAME and not self.peek(4).is_word(*LITERALS)
            is_moment = self.peek(5).kind is TokenKind.STRING
            return is_type and not is_moment and not after.is_symbol(":-", "<-", "?", ",")
        if self.peek(2).is_word("decimal") and self.peek(3).is_symbol("("):  # `p(decimal(2) X)`, not `p(decimal(X, 2))`
            behind = self.tokens[min(self.matching_parenthesis(3) + 1, len(self.tokens) - 1)]
            return behind.kind is TokenKind.NAME and not behind.is_word("div", "mod")
        type_first = self.peek(2).is_word(*TYPE_NAMES) and self.peek(3).kind is TokenKind.NAME
        return type_first and not self.peek(3).is_word("div", "mod")

    def plain_declaration(self) -> ast.Declaration:
        return self._ended(self._declaration(DeclarationKind.RELATION, self.peek()))

    def _ended(self, declaration: ast.Declaration) -> ast.Declaration:
        """Returns the full stop may be left out, as in DatalogRA's Figure 1, where the next statement is on a new
        line."""
        if self.peek().is_symbol("."):
            self.take()
        elif self.peek().kind is not TokenKind.END and self._same_line():
            raise self.expected("a full stop behind the declaration")
        return declaration

    def _same_line(self) -> bool:
        return self.peek().span.begin.line == self.previous().span.finish.line

    def schema(self) -> list[ast.Declaration]:
        """`{ride(Ts: Timestamp, …), …}`"""
        self.expect("{")
        declarations = self.separated(self._schema_entry)
        self.expect("}")
        if self.peek().is_symbol("."):
            self.take()
        return declarations

    def _schema_entry(self) -> ast.Declaration:
        start = self.peek()
        kind = None
        if start.is_word("stream", "relation") and self.peek(1).kind is TokenKind.NAME:
            self.take()
            kind = DeclarationKind.STREAM if start.is_word("stream") else DeclarationKind.STATIC
        declaration = self._declaration(kind or DeclarationKind.STATIC, start)
        if kind is None and declaration.columns and declaration.columns[0].type == TIMESTAMP:
            return replace(declaration, kind=DeclarationKind.STREAM)
        return declaration

    def _declaration(self, kind: DeclarationKind, start: Token) -> ast.Declaration:
        name = self.expect_relation("the name of a relation")
        self.expect("(")
        columns = () if self.peek().is_symbol(")") else tuple(self.separated(self._column))
        self.expect(")")
        choices: tuple[tuple[str, ...], ...] = ()
        is_equivalence = self.peek().is_word("equivalence")
        if is_equivalence:
            self.take()
        elif self.peek().is_word("choice") and self._same_line():
            self.take()
            choices = tuple(self.separated(self._choice_columns))
        span = start.span.to(self.previous().span)
        return ast.Declaration(kind, name.text, columns, span, name.span, choices, is_equivalence)

    def _choice_columns(self) -> tuple[str, ...]:
        """Reads a column, or several in parentheses."""
        if not self.peek().is_symbol("("):
            return (self.expect_name("a column").text,)
        self.take()
        names = self.separated(lambda: self.expect_name("a column").text)
        self.expect(")")
        return tuple(names)

    def _column(self) -> ast.ColumnDeclaration:
        first = self.expect_name("a column, such as `X: int` or `int X`")
        if self.peek().is_symbol(":"):
            self.take()
            name, type_name = first, self.expect_name("a type")
            data_type = self._type(type_name)
        else:
            data_type = self._type(first)
            name = self.expect_name("the name of the column")
        aggregate = None
        if self.peek().is_word("aggregate"):
            self.take()
            aggregate_name = self.expect_name("the name of an aggregate function")
            lower = aggregate_name.text.lower()
            aggregate = AGGREGATE_NAMES.get(lower, aggregate_name.text)
        return ast.ColumnDeclaration(name.text, data_type, aggregate, first.span.to(self.previous().span))

    def _type(self, name: Token) -> DataType:
        """Returns the type of this name, behind which the scale of a decimal stands."""
        if name.text.lower() == "decimal":
            return self._decimal_type(name)
        if name.text in self.declared_types:
            return DataType(name.text)  # which the analysis fills in
        data_type = TYPE_NAMES.get(name.text.lower())
        if data_type is None:
            guess = nearest(name.text, [*self.declared_types, *TYPE_NAMES, "decimal"])
            known = "types are int, float, decimal(2), string, bool, date, timestamp and duration"
            hint = f"did you mean `{guess}`? {known}" if guess else known
            raise self.problem("DL115", f"`{name.text}` is not a type", name.span, hint)
        return data_type

    @cached_property
    def declared_types(self) -> frozenset[str]:
        """Returns the names of the types that the text declares anywhere."""
        words = zip(self.tokens, self.tokens[1:], strict=False)
        return frozenset(name.text for word, name in words if word.is_word("type") and name.kind is TokenKind.NAME)

    def at_type(self) -> bool:
        """At `type Tree = …` or `type city <: string`."""
        if not (self.peek().is_word("type") and self.peek(1).kind is TokenKind.NAME):
            return False
        return self.peek(2).is_symbol("=") or (self.peek(2).is_symbol("<") and self.peek(3).is_symbol(":"))

    def type_declaration(self) -> ast.TypeDeclaration:
        start, name = self.take(), self.take()
        base: DataType | None = None
        branches: list[ast.BranchDeclaration] = []
        if self.take().is_symbol("<"):
            self.take()
            base = self._type(self.expect_name("a type"))
        else:
            branches.append(self._branch())
            while self.peek().is_symbol("|"):
                self.take()
                branches.append(self._branch())
        if not self.peek().is_symbol("."):
            raise self.expected("the full stop behind the declaration of a type")
        span = start.span.to(self.take().span)
        return ast.TypeDeclaration(name.text, base, tuple(branches), span, name.span)

    def _branch(self) -> ast.BranchDeclaration:
        name = self.expect_name("a branch, such as `Leaf` or `Node(left: Tree, right: Tree)`")
        fields: list[ast.ColumnDeclaration] = []
        if self.peek().is_symbol("("):
            self.take()
            if not self.peek().is_symbol(")"):
                fields = self.separated(self._field)
            self.expect(")")
        return ast.BranchDeclaration(name.text, tuple(fields), name.span.to(self.previous().span))

    def _field(self) -> ast.ColumnDeclaration:
        name = self.expect_name("a field, such as `left: Tree`")
        self.expect(":")
        type_ = self._type(self.expect_name("a type"))
        return ast.ColumnDeclaration(name.text, type_, None, name.span.to(self.previous().span))

    def _decimal_type(self, name: Token) -> DataType:
        """Reads `decimal(2)`, or `decimal(10, 2)`, in which the first number says how many digits there are in all."""
        numbers: list[object] = []
        if self.peek().is_symbol("("):
            self.take()
            numbers = [token.value for token in self.separated(self.take)]
            self.expect(")")
        scale = numbers[-1] if numbers else None
        digits = numbers[0] if len(numbers) == 2 else LARGEST_SCALE
        is_known = isinstance(scale, int) and isinstance(digits, int) and 1 <= len(numbers) <= 2
        if not is_known or not 0 <= scale <= digits <= LARGEST_SCALE:  # type: ignore[operator]
            raise self.problem(
                "DL115",
                "a decimal has the digits behind its point as a part of its type",
                name.span.to(self.previous().span),
                f"write decimal(2), or decimal(10, 2); both go up to {LARGEST_SCALE}",
            )
        assert isinstance(scale, int)
        return decimal_of(scale)

    def is_window(self, place: int) -> bool:
        """Tells whether a window stands there, behind the atom of a query."""
        return self.peek(place).is_word(*map(str.lower, WINDOWS))

    def window(self) -> ast.Window:
        """`WINDOW(1 hour, 5 minutes)`, `HOP(1 hour, 5 minutes)`, `TUMBLE(1 hour)`, `SESSION(10 minutes, User)`"""
        start = self.take()
        kind = WINDOWS[start.text.upper()]
        self.expect("(")
        size = self._duration()
        slide, key = None, None
        if self.peek().is_symbol(","):
            self.take()
            if kind is ast.WindowKind.SESSION:
                key = self.expect_name("a column, whose values have sessions of their own").text
            else:
                slide = self._duration()
        most = 1 if kind is ast.WindowKind.TUMBLE else 2
        if (slide is not None and most == 1) or self.peek().is_symbol(","):
            raise self.problem("DL116", _HAS[kind], start.span.to(self.peek().span), f"write `{_WRITTEN[kind]}`")
        end = self.expect(")")
        if slide is not None and (slide.unit is None) != (size.unit is None):
            bare, other = sorted((size, slide), key=lambda one: one.unit is not None)
            raise self.problem(
                "DL116",
                f"`{bare.amount}` has no unit of time, and `{other.amount} {other.unit}` has one",
                bare.span,
                f"write `{bare.amount} {other.unit}`, or whatever unit is meant",
            )
        return ast.Window(size, slide, start.span.to(end.span), kind, key)

    def _duration(self) -> ast.Duration:
        number = self.peek()
        if number.kind is not TokenKind.INT:
            raise self.expected("a length of time, such as `60 minutes`")
        self.take()
        assert isinstance(number.value, int)
        if number.value == 0:
            raise self.problem("DL116", "a window and its slide are longer than 0", number.span)
        if self.peek().kind is not TokenKind.NAME:
            return ast.Duration(number.value, None, number.span)
        word = self.take()
        unit = word.text.lower()
        unit = unit if unit.endswith("s") else unit + "s"
        if unit not in TIME_UNITS:
            known = f"units are {', '.join(TIME_UNITS)}"
            raise self.problem("DL116", f"`{word.text}` is not a unit of time", word.span, known)
        return ast.Duration(number.value, unit, number.span.to(word.span))
