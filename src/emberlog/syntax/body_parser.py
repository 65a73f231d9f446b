"""Heads and bodies of rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from emberlog.syntax import ast
from emberlog.syntax.ast import ComparisonOperator
from emberlog.syntax.expression_parser import ARITHMETIC, COMPARISONS, ExpressionParser
from emberlog.syntax.lexer import Token, TokenKind
from emberlog.syntax.vocabulary import AGGREGATE_NAMES, LITERALS

T = TypeVar("T")

TURNED = {
    ComparisonOperator.EQUAL: ComparisonOperator.EQUAL,
    ComparisonOperator.NOT_EQUAL: ComparisonOperator.NOT_EQUAL,
    ComparisonOperator.LESS: ComparisonOperator.GREATER,
    ComparisonOperator.LESS_OR_EQUAL: ComparisonOperator.GREATER_OR_EQUAL,
    ComparisonOperator.GREATER: ComparisonOperator.LESS,
    ComparisonOperator.GREATER_OR_EQUAL: ComparisonOperator.LESS_OR_EQUAL,
}
"""The operator that says the same with its sides changed over."""


class BodyParser(ExpressionParser):
    def head(self) -> ast.Head:
        name = self.expect_relation("a statement, which begins with the name of a relation")
        if self._at_end_of_atom(":-", "<-"):
            return ast.Head(name.text, (), None, name.span, name.span)
        if not self.peek().is_symbol("("):
            raise self.expected(
                f"`(` behind `{name.text}`", "a relation has its arguments in parentheses: `arc(1, 2).`"
            )
        self.take()
        if self.peek().is_symbol(")"):
            return ast.Head(name.text, (), None, name.span.to(self.take().span), name.span)
        self.location: int | None = None
        self.position = -1
        terms, names = self._arguments(self._head_term)
        if self.peek().kind is TokenKind.SYMBOL and self.peek().text in COMPARISONS:
            hint = "a comparison stands in the body: `… :- age(N, X), X >= 18.`"
            raise self.problem("DL110", "a head has no comparisons", self.peek().span, hint)
        end = self.expect(")")
        return ast.Head(name.text, terms, self.location, name.span.to(end.span), name.span, names)

    def _arguments(self, argument: Callable[[], T]) -> tuple[tuple[T, ...], tuple[str, ...]]:
        """Returns the arguments of a relation and, if they are written, their names: `id: E, boss: M`."""
        names: list[str] = []

        def named() -> T:
            if self.peek().kind is TokenKind.NAME and self.peek(1).is_symbol(":"):
                names.append(self.take().text)
                self.take()
            return argument()

        start = self.peek().span
        terms = self.separated(named)
        if names and len(names) < len(terms):
            span = start.to(self.previous().span)
            raise self.problem(
                "DL120", "some of these arguments have names, and others have none", span, "name all of them, or none"
            )
        return tuple(terms), tuple(names)

    def _at_end_of_atom(self, *others: str) -> bool:
        """At what follows a relation without arguments."""
        token = self.peek()
        if token.kind is TokenKind.NAME:  # the full stop is missing
            return token.span.begin.column == 1
        return token.kind is TokenKind.END or token.is_symbol(".", "?", ",", ";", ")", *others)

    def _head_term(self) -> ast.HeadTerm:
        self.position += 1
        if self.peek().is_symbol("#"):
            mark = self.take()
            if self.location is not None:
                self.report("DL119", "a head has one location", mark.span, "leave out one of the `#`")
            self.location = self.position
        name, after = self.peek(), self.peek(1)
        if name.kind is TokenKind.NAME and after.is_symbol("<", "<-"):
            return self._lone_aggregate(">")
        if name.kind is TokenKind.NAME and name.text.lower() in AGGREGATE_NAMES and after.is_symbol("("):
            return self._lone_aggregate(")")
        return self.expression()

    def _lone_aggregate(self, closing: str) -> ast.AggregateTerm:
        aggregate = self._aggregate(self._aggregate_name(self.take()), closing)
        if self.peek().text in ARITHMETIC and self.peek().kind is not TokenKind.STRING:
            raise self.problem(
                "DL113",
                "an aggregate is an argument of its own, and nothing is computed with it there",
                aggregate.span.to(self.peek().span),
                f"compute with its value in a second rule: `p(X, N {self.peek().text} 2) :- q(X, N).`",
            )
        return aggregate

    def _aggregate_name(self, name: Token) -> Token:
        lower = name.text.lower()
        return Token(name.kind, AGGREGATE_NAMES.get(lower, name.text), name.span)

    def _aggregate(self, name: Token, closing: str) -> ast.AggregateTerm:
        if self.peek().is_symbol("<-"):  # `sum<-X>`
            self._split_arrow()
        self.take()
        if self.peek().is_symbol("*"):
            self.take()
            arguments: tuple[ast.Expression, ...] = ()
        elif self._at_tuple(closing):
            self.take()
            arguments = tuple(self.separated(self.expression))
            self.expect(")")
        else:
            arguments = tuple(self.separated(self.expression))
        if arguments and all(isinstance(argument, ast.Wildcard) for argument in arguments):
            arguments = ()
        if not self.peek().is_symbol(closing):
            raise self.expected(f"`{closing}` at the end of `{name.text}{'<' if closing == '>' else '('}…`")
        end = self.take()
        return ast.AggregateTerm(name.text, arguments, name.span.to(end.span))

    def _at_tuple(self, closing: str) -> bool:
        """At `(K, V)` directly inside the brackets, as opposed to `(A + B) * 2`."""
        if not self.peek().is_symbol("("):
            return False
        end = self.matching_parenthesis()
        return self.tokens[min(end + 1, len(self.tokens) - 1)].is_symbol(closing)

    def _split_arrow(self) -> None:
        """`<-` read as the two symbols `<` and `-`, where an arrow cannot stand."""
        arrow = self.peek()
        middle = arrow.span.start + 1
        source = arrow.span.source
        less = Token(TokenKind.SYMBOL, "<", type(arrow.span)(source, arrow.span.start, middle))
        minus = Token(TokenKind.SYMBOL, "-", type(arrow.span)(source, middle, arrow.span.end))
        self.tokens[self.index : self.index + 1] = [less, minus]

    def body(self) -> ast.Conjunction:
        whole = self._disjunction()
        if len(whole) == 1:
            return whole[0]
        span = whole[0].span.to(whole[-1].span)
        return ast.Conjunction((ast.Disjunction(tuple(whole), span),), span)

    def _disjunction(self) -> list[ast.Conjunction]:
        alternatives = [self._conjunction()]
        while self.peek().is_symbol(";"):
            self.take()
            alternatives.append(self._conjunction())
        return alternatives

    def _conjunction(self) -> ast.Conjunction:
        parts: list[ast.BodyPart] = []
        start = self.peek().span
        for group in self.separated(self._part):
            parts.extend(group)
        return ast.Conjunction(tuple(parts), start.to(self.previous().span))

    def _part(self) -> tuple[ast.BodyPart, ...]:
        token = self.peek()
        if token.is_symbol("!") or token.is_word("not"):
            self.take()
            if self.peek().is_symbol("(") and self.at_group():
                return (self._negated_group(token),)
            return (self._negation(token),)
        if token.is_symbol("(") and self.at_group():
            return self._group()
        return (self._atom_or_comparison(),)

    def _group(self) -> tuple[ast.BodyPart, ...]:
        start = self.take()
        self.deeper()
        alternatives = self._disjunction()
        self.depth -= 1
        end = self.expect(")")
        if len(alternatives) == 1:
            return alternatives[0].parts
        return (ast.Disjunction(tuple(alternatives), start.span.to(end.span)),)

    def _negated_group(self, mark: Token) -> ast.Negation:
        """`!(arc(X, Y), big(Y))`"""
        self.take()
        self.deeper()
        body = self.body()
        self.depth -= 1
        return ast.Negation(body, mark.span.to(self.expect(")").span))

    def _negation(self, mark: Token) -> ast.Atom:
        part = self._atom_or_comparison()
        if not isinstance(part, ast.Atom):
            raise self.problem(
                "DL121",
                "only one atom can be negated",
                mark.span.to(part.span),
                "turn the comparison round: `X != Y` for not `X = Y`",
            )
        return replace(part, negated=True, span=mark.span.to(part.span))

    def _atom_or_comparison(self) -> ast.Atom | ast.Comparison | ast.Aggregation:
        first = self.peek()
        if first.kind is TokenKind.END or first.is_symbol(".", "?", ",", ";", ")"):
            raise self.expected("a part of the body: an atom such as `arc(X, Y)`, or a comparison")
        if self.at_aggregation():
            return self._aggregation_first()
        if (atom := self._atom_of_its_own()) is not None:
            return atom
        left = self.expression()
        token = self.peek()
        if token.is_symbol("<-"):  # `X<-1`
            self._split_arrow()
            token = self.peek()
        if token.kind is TokenKind.SYMBOL and token.text in COMPARISONS:
            operator = COMPARISONS[self.take().text]
            if self.at_aggregation():
                aggregate, body = self._aggregated_body()
                return ast.Aggregation(operator, left, aggregate, body, left.span.to(self.previous().span))
            right = self.expression()
            return ast.Comparison(operator, left, right, left.span.to(right.span))
        if (test := self.infix_test(left)) is not None:
            return test
        if isinstance(left, ast.Call):
            return ast.Atom(left.function, left.arguments, False, left.span, first.span)
        if isinstance(left, ast.Variable) and token.is_word("is"):
            hint = f"write `{left.name} = …`"
            raise self.problem("DL110", "a value is assigned with `=`", token.span, hint)
        if isinstance(left, ast.Variable) and (token.is_symbol(":") and self.peek(1).is_symbol("=")):
            raise self.problem("DL110", "a value is assigned with `=`", token.span, f"write `{left.name} = …`")
        if problem := self.foreign_word(token) or self.foreign_word(first):
            raise problem
        if isinstance(left, ast.Variable):
            raise self.expected(
                f"`(` or a comparison behind `{left.name}`", "an atom is written `arc(X, Y)`, a comparison `X < Y`"
            )
        raise self.expected("a comparison such as `<` or `=`")

    def _aggregated_body(self) -> tuple[ast.AggregateTerm, ast.Conjunction]:
        """Reads `sum Z : { arc(X, Z) }`."""
        name = self._aggregate_name(self.take())
        arguments = () if self.peek().is_symbol(":") else tuple(self.separated(self.expression))
        term = ast.AggregateTerm(name.text, arguments, name.span.to(self.previous().span))
        self.expect(":")
        self.expect("{")
        self.deeper()
        body = self.body()
        self.depth -= 1
        self.expect("}")
        if self.peek().text in ARITHMETIC and self.peek().kind is not TokenKind.STRING:
            hint = f"compute with its value in another part: `N = {name.text} … : {{ … }}, M = N {self.peek().text} 2`"
            span = term.span.to(self.peek().span)
            raise self.problem("DL113", "an aggregate is one side of a comparison, by itself", span, hint)
        return term, body

    def _aggregation_first(self) -> ast.Aggregation:
        """Reads `count : { arc(X, _) } > 3`, which is `3 < count : …`."""
        start = self.peek().span
        aggregate, body = self._aggregated_body()
        token = self.peek()
        if not (token.kind is TokenKind.SYMBOL and token.text in COMPARISONS):
            hint = f"write `N = {aggregate.function} … : {{ … }}`"
            raise self.expected(f"a comparison behind `{aggregate.function} … : {{ … }}`", hint)
        operator = COMPARISONS[self.take().text]
        if self.at_aggregation():
            hint = "give one of them a name: `N = count : { … }, N < count : { … }`"
            raise self.problem("DL113", "one side of a comparison can be an aggregate", self.peek().span, hint)
        value = self.expression()
        return ast.Aggregation(TURNED[operator], value, aggregate, body, start.to(value.span))

    def _atom_of_its_own(self) -> ast.Atom | None:
        """Returns an atom that cannot be a function call: without arguments, or with names of them."""
        name, after = self.peek(), self.peek(1)
        if name.kind is not TokenKind.NAME or name.is_word(*LITERALS):
            return None
        if not after.is_symbol("("):
            self.take()
            if self._at_end_of_atom():
                return ast.Atom(name.text, (), False, name.span, name.span)
            self.index -= 1
            return None
        if self.peek(2).is_symbol(")"):
            self.take()
            self.take()
            return ast.Atom(name.text, (), False, name.span.to(self.take().span), name.span)
        if not self._has_argument_names():
            return None
        self.take()
        self.take()
        terms, names = self._arguments(self.expression)
        end = self.expect(")")
        return ast.Atom(name.text, terms, False, name.span.to(end.span), name.span, names)

    def _has_argument_names(self) -> bool:
        """At `emp(id: E)` or `emp(E, boss: M)`."""
        level = 0
        for index in range(self.index + 1, len(self.tokens)):
            token = self.tokens[index]
            if token.text not in ("(", ")", ":") or token.kind is not TokenKind.SYMBOL:
                continue
            if token.text == "(":
                level += 1
            elif token.text == ")":
                level -= 1
                if level == 0:
                    break
            elif level == 1:
                name = self.tokens[index - 1]
                if name.kind is TokenKind.NAME and self.tokens[index - 2].is_symbol("(", ","):
                    return True
        return False
