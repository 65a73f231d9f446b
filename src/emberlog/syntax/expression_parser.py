"""Arithmetic, constants, variables and function calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from itertools import groupby

from emberlog.datatypes import DATE, DURATION, INT_MAX, INT_MIN, TIMESTAMP, decimal_of
from emberlog.language.spellings import UNITS, read_date, read_timestamp
from emberlog.source import Span
from emberlog.syntax import ast
from emberlog.syntax.ast import BinaryOperator, ComparisonOperator, Expression
from emberlog.syntax.foreign_forms import ForeignForms
from emberlog.syntax.formatted_text import StrayBrace, ValueInside, pieces_of
from emberlog.syntax.lexer import Token, TokenKind
from emberlog.syntax.token_reader import DEEPEST
from emberlog.syntax.vocabulary import AGGREGATE_NAMES, LITERALS, TIME_UNITS

_ADDITIVE = {"+": BinaryOperator.ADD, "-": BinaryOperator.SUBTRACT}
_MULTIPLICATIVE = {
    "*": BinaryOperator.MULTIPLY,
    "/": BinaryOperator.DIVIDE,
    "div": BinaryOperator.INTEGER_DIVIDE,
    "mod": BinaryOperator.MODULO,
    "%": BinaryOperator.MODULO,
}

ARITHMETIC = (*_ADDITIVE, *_MULTIPLICATIVE)
COMPARISONS = {operator.value: operator for operator in ComparisonOperator}
INFIX_TESTS = ("in", "like", "between")
"""Words between a value and what it is tested against."""

BETWEEN, LIKE, ONE_OF, IN_RANGE, MEMBER = "between!", "like!", "in!", "range!", "member!"
"""What such tests are called in the tree."""

FORMATTED = "format!"
"""What a text with values inside is a call of: its texts and values, from left to right."""

_MOMENTS = ("date", "timestamp")
_MEANT = frozenset((*LITERALS, *_MOMENTS, "if"))
"""Names with a meaning of their own in an expression."""

_NO_VARIABLES = _MEANT | AGGREGATE_NAMES.keys() | {"_"}

_OPPOSITES = {"=": "!=", "<": ">=", ">": "<="}
_OPPOSITES |= {value: key for key, value in _OPPOSITES.items()}


def both(left: Expression, right: Expression) -> Expression:
    """Returns the condition that two conditions hold."""
    return ast.Call("if", (left, right, ast.Constant(False)), left.span.to(right.span))


def either(left: Expression, right: Expression) -> Expression:
    """Returns the condition that one of two conditions holds."""
    return ast.Call("if", (left, ast.Constant(True), right), left.span.to(right.span))


def negated(condition: Expression) -> Expression:
    """Returns the opposite, which does not hold for a null either."""
    match condition:
        case ast.Constant(bool() as value):
            return replace(condition, value=not value)
        case ast.Call(name, (left, right)) if name in _OPPOSITES:
            return replace(condition, function=_OPPOSITES[name])
        case ast.Call("if", (left, ast.Constant(True), right)):
            return both(negated(left), negated(right))
        case ast.Call("if", (left, right, ast.Constant(False))):
            return either(negated(left), negated(right))
        case ast.Call("not!", (inner,)):
            return inner
        case _:
            return ast.Call("not!", (condition,), condition.span)


def _joined(parts: Iterable[Expression], span: Span) -> Expression:
    """Returns a text with values inside; texts that follow each other are one."""
    joined: list[Expression] = []
    for is_plain, group in groupby(parts, ast.is_text):
        if is_plain:
            text = "".join(str(one.value) for one in group if isinstance(one, ast.Constant))
            joined += [ast.Constant(text, span)] if text else []
        else:
            joined += group
    if any(not ast.is_text(one) for one in joined):
        return ast.Call(FORMATTED, tuple(joined), span)
    return joined[0] if joined else ast.Constant("", span)


def test_value(test: ast.Atom) -> Expression:
    """Returns a test that stands between values as one value, true or false; its negation is left out."""
    subject, *others = test.terms

    def compared(operator: str, value: Expression) -> Expression:
        return ast.Call(operator, (subject, value), test.span)

    match test.predicate:
        case "between!":
            return both(compared(">=", others[0]), compared("<=", others[1]))
        case "range!":
            is_whole = compared("=", ast.Call("floor", (subject,), test.span))
            return both(both(compared(">=", others[0]), compared("<", others[1])), is_whole)
        case "in!" if not all(isinstance(one, ast.Constant) for one in others):
            return reduce(either, (compared("=", one) for one in others))
        case name:
            return ast.Call(name, test.terms, test.span)


class ExpressionParser(ForeignForms):
    operators = 0
    """Binary operators read so far in the whole text."""

    def expression(self) -> Expression:
        token = self.tokens[self.index]
        if token.kind is TokenKind.NAME and self.tokens[self.index + 1].is_symbol(",", ")"):  # nearly all are
            if token.is_quoted or token.text.lower() in _NO_VARIABLES:
                return self._name()
            self.index += 1
            return ast.Variable(token.text, token.span)
        self.deeper()
        begun = self.operators
        left = self._product(begun)
        while self.peek().kind is TokenKind.SYMBOL and self.peek().text in _ADDITIVE:
            operator = _ADDITIVE[self.take().text]
            left = self._binary(operator, left, self._product(begun), begun)
        self.depth -= 1
        return left

    def _product(self, begun: int) -> Expression:
        left = self._signed()
        while self._at_multiplicative():
            operator = _MULTIPLICATIVE[self.take().text]
            left = self._binary(operator, left, self._signed(), begun)
        return left

    def _at_multiplicative(self) -> bool:
        token = self.tokens[self.index]
        return token.text in _MULTIPLICATIVE and token.kind in (TokenKind.SYMBOL, TokenKind.NAME)

    def _binary(self, operator: BinaryOperator, left: Expression, right: Expression, begun: int) -> Expression:
        """`begun`: how many operators there were before this expression, which bounds the height of its tree."""
        span = left.span.to(right.span)
        self.operators += 1
        if self.operators - begun > DEEPEST:
            raise self.problem(
                "DL112", f"this expression has more than {DEEPEST} operators", span, "split it with `X = …`"
            )
        return ast.Binary(operator, left, right, span)

    def _signed(self) -> Expression:
        token = self.peek()
        if not token.is_symbol("-"):
            return self._primary()
        self.take()
        number = self.peek()
        if number.kind is TokenKind.DECIMAL:
            return self._decimal(self.take(), token.span.to(number.span), sign=-1)
        if number.kind in (TokenKind.INT, TokenKind.FLOAT):
            self.take()
            assert isinstance(number.value, int | float)
            if self._at_unit(number):
                return self._length_of_time(-number.value, token.span.to(number.span))
            # There is one zero: -0.0 is 0.0.
            return ast.Constant(-number.value or number.value, token.span.to(number.span))
        self.deeper()
        operand = self._signed()
        self.depth -= 1
        return ast.Unary(operand, token.span.to(operand.span))

    def _primary(self) -> Expression:
        token = self.peek()
        match token.kind:
            case TokenKind.INT | TokenKind.FLOAT:
                return self._number(self.take())
            case TokenKind.DECIMAL:
                return self._decimal(self.take(), token.span)
            case TokenKind.STRING:
                self.take()
                return ast.Constant(str(token.value), token.span)
            case TokenKind.PARAMETER:
                self.take()
                if self.peek().is_symbol("(") and self.peek().span.start == token.span.end:
                    return self._record(token)
                return ast.Parameter(token.text, token.span)
            case TokenKind.NAME:
                return self._name()
            case _:
                if token.is_symbol("("):
                    return self._parenthesised()
                if token.is_symbol("["):
                    return self._list()
                if token.is_symbol("#"):
                    raise self.problem(
                        "DL119",
                        "`#` marks a location, and stands before an argument of a head",
                        token.span,
                        "in a body, leave it out",
                    )
                raise self.expected("a value")

    def _record(self, name: Token) -> Expression:
        """Reads `$Node(L, R)`. A branch without fields, `$Leaf`, looks like a parameter; the analysis knows."""
        self.take()
        fields = () if self.peek().is_symbol(")") else tuple(self.separated(self.expression))
        return ast.Call(f"${name.text}", fields, name.span.to(self.expect(")").span))

    def _number(self, token: Token) -> Expression:
        assert isinstance(token.value, int | float)
        if self._at_unit(token):
            return self._length_of_time(token.value, token.span)
        if isinstance(token.value, int) and token.value > INT_MAX:
            self.report("DL105", "this number does not fit into a 64-bit int", token.span)
            return ast.Constant(0, token.span)
        return ast.Constant(token.value, token.span)

    def _decimal(self, token: Token, span: Span, *, sign: int = 1) -> Expression:
        assert isinstance(token.value, int)
        value = sign * token.value
        if value > INT_MAX:
            self.report("DL105", "this decimal does not fit into 64 bits", span)
            value = 0
        return ast.Constant(value, span, decimal_of(int(token.text)))

    def _at_unit(self, number: Token) -> bool:
        word = self.peek()
        if number.kind is not TokenKind.INT or word.kind is not TokenKind.NAME:
            return False
        unit = word.text.lower()
        return unit in TIME_UNITS or f"{unit}s" in TIME_UNITS or unit in UNITS or f"{unit}s" in UNITS

    def _length_of_time(self, amount: int | float, number: Span) -> Expression:
        word = self.take()
        unit = word.text.lower() if word.text.lower().endswith("s") else f"{word.text.lower()}s"
        span = number.to(word.span)
        if unit in ("months", "years"):
            months = "N" if unit == "months" else "12 * N"
            raise self.problem(
                "DL260",
                f"{unit} have no fixed length, so they are no duration",
                span,
                f"add_months(T, {months}) goes from a date or a timestamp to another; 30 days is a duration",
            )
        value = int(amount) * (UNITS["days"] * 7 if unit == "weeks" else UNITS[unit])
        if not INT_MIN <= value <= INT_MAX:
            self.report("DL105", "this duration does not fit into 64 bits of microseconds", span)
            value = 0
        return ast.Constant(value, span, DURATION)

    def _moment(self, name: Token) -> Expression:
        """Reads `date "2026-01-05"` or `timestamp "2026-01-05 10:30:00"`."""
        text = self.take()
        span = name.span.to(text.span)
        is_date = name.text.lower() == "date"
        try:
            value = (read_date if is_date else read_timestamp)(str(text.value))
        except ValueError:
            form = '"2026-01-05"' if is_date else '"2026-01-05 10:30:00", with a time zone behind it or in UTC'
            kind = "date" if is_date else "timestamp"
            self.report(
                "DL261", f"`{text.value}` is not a {kind}", span, f"a {kind} is written {form}; years go from 1 to 9999"
            )
            value = 0
        return ast.Constant(value, span, DATE if is_date else TIMESTAMP)

    def _list(self) -> Expression:
        """`[X, Y]`"""
        start = self.take()
        elements = () if self.peek().is_symbol("]") else tuple(self.separated(self.expression))
        return ast.Call("list!", elements, start.span.to(self.expect("]").span))

    def _parenthesised(self) -> Expression:
        self.take()
        inner = self.expression()
        self.expect(")")
        return inner

    def _name(self) -> Expression:
        token = self.take()
        if token.text.lower() in _MEANT:
            if token.is_word(*LITERALS):
                return ast.Constant(LITERALS[token.text.lower()], token.span)
            if token.is_word("if") and self.peek().is_symbol("("):
                return self._choice(token)
            if token.is_word(*_MOMENTS) and self.peek().kind is TokenKind.STRING:
                return self._moment(token)
        if self.peek().is_symbol("("):
            self.take()
            if self.peek().is_symbol(")"):
                raise self.problem(
                    "DL114",
                    f"`{token.text}` has no arguments",
                    token.span.to(self.peek().span),
                    "a function has at least one",
                )
            arguments = tuple(self.separated(self.expression))
            end = self.expect(")")
            return ast.Call(token.text, arguments, token.span.to(end.span))
        if token.text == "_":
            return ast.Wildcard(token.span)
        if token.text == "f" and self.peek().kind is TokenKind.STRING and self.peek().span.start == token.span.end:
            return self._formatted(token, self.take())
        self._refuse_aggregate(token)
        if token.is_quoted:
            raise self.problem(
                "DL108",
                "a name in backquotes is that of a relation or a column",
                token.span,
                "a variable is a plain name; text is quoted with \" or '",
            )
        return ast.Variable(token.text, token.span)

    def _formatted(self, start: Token, string: Token) -> Expression:
        """Reads `f"{From} to {To}"`: the texts and the values as texts, joined."""
        span = start.span.to(string.span)
        parts: list[Expression] = []
        for piece in pieces_of(string, self.diagnostics):
            match piece:
                case str():
                    parts.append(ast.Constant(piece, string.span))
                case StrayBrace(place):
                    hint = "a value stands between `{` and `}`; the brace itself is written twice, `{{`"
                    raise self.problem("DL110", f"nothing belongs to this `{place.text}`", place, hint)
                case ValueInside(tokens):
                    inner = type(self)(tokens, self.diagnostics)
                    inner.begun = self.begun
                    value = inner.expression()
                    if inner.peek().kind is not TokenKind.END:
                        raise inner.expected("`}`")
                    parts.append(value)
        return _joined(parts, span)

    def _choice(self, start: Token) -> Expression:
        """`if(X > 3, "many", "few")`"""
        self.take()
        arguments = [self.condition()]
        for _ in range(2):
            if not self.peek().is_symbol(","):
                raise self.expected("`,`", "it is written `if(Condition, X, Y)`: X where the condition holds, else Y")
            self.take()
            arguments.append(self.expression())
        return ast.Call("if", tuple(arguments), start.span.to(self.expect(")").span))

    def condition(self) -> Expression:
        """Reads what `if` tests: comparisons and tests, joined by `and`, `or` and `not`."""
        self.deeper()
        left = self._all_of()
        while self.peek().is_word("or"):
            self.take()
            left = either(left, self._all_of())
        self.depth -= 1
        return left

    def _all_of(self) -> Expression:
        left = self._tested()
        while self.peek().is_word("and"):
            self.take()
            left = both(left, self._tested())
        return left

    def _tested(self) -> Expression:
        token = self.peek()
        if token.is_symbol("!") or token.is_word("not"):
            self.take()
            self.deeper()
            inner = self._tested()
            self.depth -= 1
            return negated(inner)
        if token.is_symbol("(") and self.at_group():
            self.take()
            inner = self.condition()
            self.expect(")")
            return inner
        left = self.expression()
        if (test := self.infix_test(left)) is not None:
            return negated(test_value(test)) if test.negated else test_value(test)
        if self.peek().kind is TokenKind.SYMBOL and self.peek().text in COMPARISONS:
            operator = COMPARISONS[self.take().text]
            right = self.expression()
            return ast.Call(operator.value, (left, right), left.span.to(right.span))
        return left

    def at_group(self) -> bool:
        """At `(a(X) ; b(X))`, as opposed to `(X + 1) * 2 > Y`."""
        end = self.matching_parenthesis()
        after = self.tokens[min(end + 1, len(self.tokens) - 1)]
        if after.is_word("not"):
            after = self.tokens[min(end + 2, len(self.tokens) - 1)]
        is_operator = after.text in COMPARISONS or after.text in ARITHMETIC
        return not (is_operator or after.is_symbol("<-") or after.is_word(*INFIX_TESTS))

    def infix_test(self, left: Expression) -> ast.Atom | None:
        """Reads what follows in `X in (1, 2)`, `X between 1 and 5` and `S like "a%"`, if that is what it is."""
        is_negated = self.peek().is_word("not")
        word = self.peek(1 if is_negated else 0)
        if not word.is_word(*INFIX_TESTS):
            return None
        self.take()
        if is_negated:
            self.take()
        terms: tuple[Expression, ...] = (left,)
        match word.text.lower():
            case "between":
                low = self.expression()
                if not self.peek().is_word("and"):
                    raise self.expected("`and`", "it is written `X between 1 and 5`")
                self.take()
                name, terms = BETWEEN, (left, low, self.expression())
            case "like":
                name, terms = LIKE, (left, self.expression())
            case _ if self.peek().is_symbol("("):
                self.take()
                name, terms = ONE_OF, (left, *self.separated(self.expression))
                self.expect(")")
            case _:
                right = self.expression()
                match right:
                    case ast.Call("range", (first, last)):
                        name, terms = IN_RANGE, (left, first, last)
                    case _:
                        name, terms = MEMBER, (left, right)
        return ast.Atom(name, terms, is_negated, left.span.to(self.previous().span), word.span)

    def at_aggregation(self) -> bool:
        """At `count : {` or `sum Z * 2 : {`."""
        word = self.peek()
        if word.text.lower() not in AGGREGATE_NAMES or not word.is_word(*AGGREGATE_NAMES):
            return False
        if self.peek(1).is_symbol("(", "<"):
            return False
        ahead = 1
        while not self.peek(ahead).is_symbol(":", ".", ";", "{", "=") and self.peek(ahead).kind is not TokenKind.END:
            ahead += 1
        return self.peek(ahead).is_symbol(":") and self.peek(ahead + 1).is_symbol("{")

    def _refuse_aggregate(self, name: Token) -> None:
        if name.text.lower() not in AGGREGATE_NAMES:
            return
        self.index -= 1
        is_aggregation = self.at_aggregation()
        self.index += 1
        if is_aggregation:
            hint = f"compute with its value in another part: `N = {name.text} … : {{ … }}, M = 2 * N`"
            raise self.problem("DL113", "an aggregate is one side of a comparison, by itself", name.span, hint)
        follows_directly = self.peek().span.start == name.span.end
        if self.peek().is_symbol("<") and follows_directly:
            raise self.problem(
                "DL113",
                "an aggregate can only stand in a head, as an argument of its own",
                name.span,
                f"write `h(X, {name.text}<…>) :- …` and use `h` here",
                "for the smaller or larger of two values there are least(X, Y) and greatest(X, Y)",
            )
