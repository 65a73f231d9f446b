"""From tokens to the values of a program in Soufflé's language.

An aggregate or a range inside of a value becomes a part of the body that gives a new variable its value.
"""

from __future__ import annotations

from dataclasses import replace

from emberlog.diagnostics import Diagnostics
from emberlog.source import Span
from emberlog.syntax import ast
from emberlog.syntax.ast import BinaryOperator, ComparisonOperator, Expression
from emberlog.syntax.lexer import Token, TokenKind
from emberlog.syntax.souffle.tree import Named
from emberlog.syntax.token_reader import DEEPEST, SyntaxProblem, TokenReader
from emberlog.syntax.vocabulary import LITERALS

AGGREGATES = {"count": "count", "sum": "sum", "min": "min", "max": "max", "mean": "avg"}

RECORD, NIL = "[", "nil"
"""What `[a, b]` and `nil` are calls of, until it is known of which type they are."""

LEVELS = (("lor",), ("lxor",), ("land",), ("bor",), ("bxor",), ("band",), ("bshl", "bshr", "bshru"))
"""Operators that are words, the ones that bind loosest first."""

_STRENGTHS = {word: strength for strength, words in enumerate((*LEVELS, ("+", "-"), ("*", "/", "%"))) for word in words}
_ARITHMETIC = {operator.value: operator for operator in BinaryOperator} | {"%": BinaryOperator.MODULO}

MOST_AROUND = 20
"""Aggregates that stand in each other."""

_UNARY = ("bnot", "lnot")

_OPERATORS = ("not", "in", "between", "like", "div", "mod")
"""Words that mean something between the values of our language, and are names in Soufflé's."""


class ExpressionParser(TokenReader):
    def __init__(self, tokens: list[Token], diagnostics: Diagnostics) -> None:
        super().__init__(tokens, diagnostics)
        self.taken = {token.text for token in tokens if token.kind is TokenKind.NAME}
        """All names of the text: new variables have others."""
        self.hoisted: list[ast.BodyPart] = []
        """What the expressions read so far ask of the body around them."""
        self.operators = 0
        """Operators read so far in the whole text."""
        self.aggregates = 0
        """How many aggregates stand around."""
        self.renamed: dict[str, str] = {}
        """Variables, by what they are called here."""

    def aggregate_body(self) -> ast.Conjunction:
        """Reads what an aggregate is over, behind its colon."""
        raise NotImplementedError

    def named(self) -> Named:
        """Reads a name, with those of components before it: `graph.edge`."""
        first = self.expect_name("a name")
        name, span = first.text, first.span
        while self.is_joined(0):
            self.take()
            part = self.take()
            name, span = f"{name}.{part.text}", span.to(part.span)
        return Named(name, span)

    def is_joined(self, ahead: int) -> bool:
        """At a point between two names, without blanks: no clause ends there."""
        before, point, name = self.tokens[self.index + ahead - 1], self.peek(ahead), self.peek(ahead + 1)
        touch = before.span.end == point.span.start and point.span.end == name.span.start
        return point.is_symbol(".") and name.kind is TokenKind.NAME and touch

    def arguments(self, end: str = ")") -> tuple[Expression, ...]:
        """Reads values up to what closes them, behind what opens them."""
        found = () if self.peek().is_symbol(end) else tuple(self.separated(self.expression))
        self.expect(end)
        return found

    # --- operators --------------------------------------------------------------------------------------------------

    def expression(self) -> Expression:
        self.deeper()
        found = self._operation(0, self.operators)
        self.depth -= 1
        return found

    def _operation(self, least: int, begun: int) -> Expression:
        """Reads values with operators between them that bind at least this tightly; `begun` is how many operators there
        were before the expression, which bounds the height of its tree."""
        left = self._unary()
        while (strength := _STRENGTHS.get(self._operator(), -1)) >= least:
            symbol = self.take().text
            right = self._operation(strength + 1, begun)
            span = left.span.to(right.span)
            self.operators += 1
            if self.operators - begun > DEEPEST:
                message = f"this expression has more than {DEEPEST} operators"
                raise self.problem("DL112", message, span, "split it with `x = …`")
            operator = _ARITHMETIC.get(symbol)
            if operator is None:
                left = ast.Call(symbol, (left, right), span)
            else:
                left = ast.Binary(operator, left, right, span)
        return left

    def _operator(self) -> str:
        """Returns the symbol or the word that comes next."""
        return self.peek().text if self.peek().kind in (TokenKind.SYMBOL, TokenKind.NAME) else ""

    def _unary(self) -> Expression:
        """Reads a value with signs before it; a power binds tighter: `-2^2` is -4."""
        token = self.peek()
        is_word = token.kind is TokenKind.NAME and token.text in _UNARY and not self.peek(1).is_symbol(",")
        if not (token.is_symbol("-") or is_word):
            return self._power()
        self.take()
        self.deeper()
        operand = self._unary()
        self.depth -= 1
        span = token.span.to(operand.span)
        match operand:
            case ast.Constant(int() | float() as value) if token.text == "-":
                return ast.Constant(-value or value, span)
            case _ if token.text == "-":
                return ast.Unary(operand, span)
            case _:
                return ast.Call(token.text, (operand,), span)

    def _power(self) -> Expression:
        base = self._primary()
        if not self.peek().is_symbol("^"):
            return base
        self.take()
        self.deeper()
        exponent = self._unary()
        self.depth -= 1
        return ast.Call("^", (base, exponent), base.span.to(exponent.span))

    # --- values -----------------------------------------------------------------------------------------------------

    def _primary(self) -> Expression:
        token = self.peek()
        match token.kind:
            case TokenKind.INT | TokenKind.FLOAT | TokenKind.STRING:
                self.take()
                return ast.Constant(token.value, token.span)
            case TokenKind.NAME:
                return self._name()
            case _ if token.is_symbol("("):
                self.take()
                inner = self.expression()
                self.expect(")")
                return inner
            case _ if token.is_symbol("["):
                self.take()
                return ast.Call(RECORD, self.arguments("]"), token.span.to(self.previous().span))
            case _ if token.is_symbol("$"):
                return self._branch()
            case _ if token.is_symbol("@"):
                return self._functor_call()
            case _:
                raise self.expected("a value")

    def _branch(self) -> Expression:
        """Reads `$Node(l, r)` or `$Leaf`."""
        start = self.take()
        if self.peek().kind is not TokenKind.NAME:
            hint = "a fact is known by its columns: give it a key of its own"
            raise self.refused("the counter `$`", start.span, hint)
        name = self.named()
        fields: tuple[Expression, ...] = ()
        if self.peek().is_symbol("(") and self.peek().span.start == name.span.end:
            self.take()
            fields = self.arguments()
        return ast.Call(f"${name.name}", fields, start.span.to(self.previous().span))

    def _functor_call(self) -> Expression:
        """Reads `@f(x)`."""
        start = self.take()
        if self.peek().is_symbol("@"):
            self.take()
            span = start.span.to(self.peek().span)
            hint = "count, sum, min, max and mean are there; in our language so is what db.aggregate(…) registers"
            raise self.refused(f"the aggregate `{span.text}`", span, hint)
        name = self.expect_name("the name of a functor")
        self.expect("(")
        return ast.Call(f"@{name.text}", self.arguments(), start.span.to(self.previous().span))

    def _name(self) -> Expression:
        begun, token = self.index, self.take()
        if token.text == "_":
            return ast.Wildcard(token.span)
        if token.text == "nil":
            return ast.Call(NIL, (), token.span)
        if token.text in AGGREGATES and self._at_aggregate():
            return self._aggregate(token)
        if not self.peek().is_symbol("("):
            return ast.Variable(self._plain(token.text), token.span)
        self.take()
        if token.text == "as":
            inner = self.expression()
            self.expect(",")
            type_ = self.named()
            span = token.span.to(self.expect(")").span)
            return ast.Call("as", (inner, ast.Constant(type_.name, type_.span)), span)
        call = ast.Call(token.text, self.arguments(), token.span.to(self.previous().span))
        is_side = self.tokens[begun - 1].is_symbol("=") and self.peek().is_symbol(",", ".", ";", ")", "}")
        if token.text != "range" or is_side:
            return call
        variable = ast.Variable(self.new_name("in_range"), call.span)
        self.hoisted.append(ast.Comparison(ComparisonOperator.EQUAL, variable, call, call.span))
        return variable

    def _plain(self, name: str) -> str:
        """Returns the name as a variable of ours has one, and no other variable of the text."""
        if name not in self.renamed:
            plain = name.replace("?", "_")
            if plain == "_" or plain.lower() in (*LITERALS, *_OPERATORS):
                plain += "_"
            while plain != name and plain in self.taken:
                plain += "_"
            self.taken.add(plain)
            self.renamed[name] = plain
        return self.renamed[name]

    # --- aggregates -------------------------------------------------------------------------------------------------

    def _at_aggregate(self) -> bool:
        """Behind the name of an aggregate: `count : …`, `sum (x + 1) * 2 : …`, and not `min(x, y)`."""
        if not self.peek().is_symbol("("):
            return True
        level = 0
        for token in self.tokens[self.index : self.matching_parenthesis()]:
            level += token.is_symbol("(", "[", "{") - token.is_symbol(")", "]", "}")
            if level == 1 and token.is_symbol(","):
                return False
        return True

    def _aggregate(self, name: Token) -> Expression:
        arguments = () if self.peek().is_symbol(":") else (self.expression(),)
        term = ast.AggregateTerm(AGGREGATES[name.text], arguments, name.span)
        self.expect(":")
        around, self.hoisted = self.hoisted, []
        self.aggregates += 1
        if self.aggregates > MOST_AROUND:
            hint = "give an inner one a name in a rule of its own"
            raise self.problem("DL112", f"aggregates nest deeper than {MOST_AROUND} levels", name.span, hint)
        body = self.aggregate_body()
        self.aggregates -= 1
        body = replace(body, parts=(*self.asked(), *body.parts))
        self.hoisted = around
        span = name.span.to(self.previous().span)
        variable = ast.Variable(self.new_name(term.function), span)
        self.hoisted.append(ast.Aggregation(ComparisonOperator.EQUAL, variable, term, body, span))
        return variable

    def asked(self) -> list[ast.BodyPart]:
        """Returns what the expressions read since the last time ask of the body."""
        asked, self.hoisted = self.hoisted, []
        return asked

    def new_name(self, begun: str) -> str:
        number = 1
        while f"{begun}_{number}" in self.taken:
            number += 1
        self.taken.add(f"{begun}_{number}")
        return f"{begun}_{number}"

    def refused(self, what: str, span: Span, hint: str) -> SyntaxProblem:
        return self.problem("DL123", f"{what} of Soufflé is not there in Emberlog", span, hint)
