"""From tokens to the facts, rules and subsumptions of a program in Soufflé's language."""

from __future__ import annotations

from dataclasses import replace

from emberlog.syntax import ast
from emberlog.syntax.ast import ComparisonOperator, Expression
from emberlog.syntax.lexer import Token, TokenKind
from emberlog.syntax.souffle.expression_parser import LEVELS, ExpressionParser
from emberlog.syntax.souffle.tree import Clause

COMPARISONS = {operator.value: operator for operator in ComparisonOperator}
TESTS = {"match": "matches", "contains": "contains"}
"""Constraints whose second argument is the text that they look at."""


DIRECTIVES = (
    *("decl", "type", "functor", "input", "output", "printsize", "limitsize"),
    *("comp", "init", "override", "include", "once", "pragma"),
)


class ClauseParser(ExpressionParser):
    denials = 0
    """How many negations stand around: what they ask of the body around them is no part of what they deny."""

    def clause(self) -> Clause:
        start = self.peek().span
        self.hoisted = []
        heads = self.separated(self._head)
        asked = self.asked()
        worse: ast.Head | None = None
        if self.peek().is_symbol("<=") and len(heads) == 1:
            self.take()
            worse, heads = heads[0], [self._head()]
            asked += self.asked()
        body: ast.Conjunction | None = None
        if self.peek().is_symbol(":-"):
            self.take()
            body = self._body()
        if asked:
            parts = (*asked, *(body.parts if body else ()))
            body = ast.Conjunction(parts, start)
        end = self._full_stop()
        while self.peek().is_symbol(".") and self.peek(1).is_word("plan"):
            self._skip_plan()
        first, *others = heads
        return Clause(ast.Rule(first, body, None, (), start.to(end.span), tuple(others)), worse)

    def _full_stop(self) -> Token:
        before, point, behind = self.previous(), self.peek(), self.peek(1)
        is_directive = point.is_symbol(".") and behind.is_word(*DIRECTIVES) and point.span.end == behind.span.start
        if point.span.begin.line > before.span.finish.line and (is_directive or not point.is_symbol(".")):
            raise self.problem("DL110", "this clause has no full stop at its end", before.span, "write `.` behind it")
        return self.expect(".")

    def _skip_plan(self) -> None:
        """Passes over `.plan 0:(2,1)`: joins are ordered by statistics."""
        self.take()
        line = self.take().span.begin.line
        while self.peek().span.begin.line == line and self.peek().kind is not TokenKind.END:
            self.take()

    def _head(self) -> ast.Head:
        name = self.named()
        self.expect("(")
        terms = self.arguments()
        return ast.Head(name.name, terms, None, name.span.to(self.previous().span), name.span)

    def _body(self) -> ast.Conjunction:
        alternatives = [self._conjunction()]
        while self.peek().is_symbol(";"):
            self.take()
            alternatives.append(self._conjunction())
        if len(alternatives) == 1:
            return alternatives[0]
        span = alternatives[0].span.to(alternatives[-1].span)
        return ast.Conjunction((ast.Disjunction(tuple(alternatives), span),), span)

    def _conjunction(self) -> ast.Conjunction:
        around, self.hoisted = self.hoisted, []
        start = self.peek().span
        parts: list[ast.BodyPart] = []
        while True:
            found = self._part()
            parts += [*self.asked(), *found]
            if not self.peek().is_symbol(","):
                break
            self.take()
        self.hoisted = around
        return ast.Conjunction(tuple(parts), start.to(self.previous().span))

    def aggregate_body(self) -> ast.Conjunction:
        start = self.peek().span
        if not self.peek().is_symbol("{"):
            parts = tuple(self._part())
            return ast.Conjunction(parts, start.to(self.previous().span))
        self.take()
        body = self._body()
        self.expect("}")
        return body

    def _part(self) -> list[ast.BodyPart]:
        token = self.peek()
        if token.is_symbol("!"):
            self.take()
            self.deeper()
            self.denials += 1
            parts = self._part()
            self.denials -= 1
            self.depth -= 1
            span = token.span.to(self.previous().span)
            match parts:
                case [ast.Atom(negated=False) as atom]:
                    return [replace(atom, negated=True, span=span)]
                case _:
                    return [ast.Negation(ast.Conjunction(tuple(parts), span), span)]
        if token.is_symbol("(") and self._at_group():
            self.take()
            self.deeper()
            body = self._body()
            self.depth -= 1
            self.expect(")")
            return list(body.parts)
        if token.is_word("true", "false") and not self.peek(1).is_symbol("("):
            self.take()
            if token.text == "true":
                return []
            zero, one = ast.Constant(0, token.span), ast.Constant(1, token.span)
            return [ast.Comparison(ComparisonOperator.EQUAL, zero, one, token.span)]
        if token.kind is TokenKind.NAME and token.text in TESTS and self.peek(1).is_symbol("("):
            self.take()
            self.take()
            pattern, text = self._two()
            return [ast.Atom(TESTS[token.text], (text, pattern), False, token.span, token.span)]
        if self._at_atom():
            name = self.named()
            self.expect("(")
            terms = self.arguments()
            return [ast.Atom(name.name, terms, False, name.span.to(self.previous().span), name.span)]
        return self._constraint()

    def _two(self) -> tuple[Expression, Expression]:
        first = self.expression()
        self.expect(",")
        second = self.expression()
        self.expect(")")
        return first, second

    def _at_group(self) -> bool:
        """At `(a(x) ; b(x))`, as opposed to `(x + 1) * 2 > y`."""
        after = self.tokens[min(self.matching_parenthesis() + 1, len(self.tokens) - 1)]
        return not (_is_operator(after) or after.is_symbol(*COMPARISONS, "+", "-", "*", "/", "%", "^"))

    def _at_atom(self) -> bool:
        """At a relation, as opposed to a call that is compared."""
        ahead = 0
        if self.peek().kind is not TokenKind.NAME:
            return False
        while self.is_joined(ahead + 1):
            ahead += 2
        if not self.peek(ahead + 1).is_symbol("("):
            return False
        behind = self.tokens[min(self.matching_parenthesis(ahead + 1) + 1, len(self.tokens) - 1)]
        is_name = behind.kind is TokenKind.NAME and not _is_operator(behind)
        return is_name or behind.is_symbol(",", ".", ";", ")", "}") or behind.kind is TokenKind.END

    def _constraint(self) -> list[ast.BodyPart]:
        left = self.expression()
        token = self.peek()
        if not (token.kind is TokenKind.SYMBOL and token.text in COMPARISONS):
            raise self.expected("a comparison such as `<` or `=`")
        operator = COMPARISONS[self.take().text]
        right = self.expression()
        span = left.span.to(right.span)
        asked = self.hoisted[-1] if self.hoisted else None
        if isinstance(asked, ast.Aggregation) and asked.value is right and not self.denials:
            self.hoisted[-1] = replace(asked, operator=operator, value=left, span=span)
            return []
        return [ast.Comparison(operator, left, right, span)]


def _is_operator(token: Token) -> bool:
    return token.kind is TokenKind.NAME and any(token.text in level for level in LEVELS)
