"""Programs as plain data: what the generator makes, the oracle evaluates, the shrinker cuts, and engines read as text.

Nothing here is shared with Emberlog: a mistake of its parser or printer is as visible as one of its executors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TypeAlias, assert_never

Scalar: TypeAlias = bool | int | float | str | date | timedelta | Decimal
"""A datetime is a date, too."""
Value: TypeAlias = "Scalar | tuple[Value, ...] | None"
Row: TypeAlias = "tuple[Value, ...]"


@dataclass(frozen=True, slots=True)
class Const:
    value: Scalar | None


@dataclass(frozen=True, slots=True)
class Var:
    name: str


@dataclass(frozen=True, slots=True)
class Neg:
    operand: Expr


@dataclass(frozen=True, slots=True)
class Op:
    symbol: str
    """One of + - * / div mod."""
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class If:
    condition: Condition
    first: Expr
    second: Expr


Expr: TypeAlias = Const | Var | Neg | Op | Call | If


@dataclass(frozen=True, slots=True)
class Anything:
    """Stands for `_`."""


Term: TypeAlias = Expr | Anything


@dataclass(frozen=True, slots=True)
class Atom:
    relation: str
    terms: tuple[Term, ...]
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    symbol: str
    """One of = != < <= > >=."""
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Test:
    """A function that gives true or false, standing in a body by itself; or `in`, `between` or `like`."""

    __test__ = False
    call: Call
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class Logic:
    """Conditions of an `if` put together."""

    word: str
    """One of and, or, not."""
    parts: tuple[Condition, ...]


Condition: TypeAlias = Comparison | Test | Logic


@dataclass(frozen=True, slots=True)
class Procedure:
    """Streamlog's `larger`, `largest`, `encd` and `decd`, with a result among the arguments."""

    name: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Either:
    alternatives: tuple[tuple[Literal, ...], ...]


Literal: TypeAlias = Atom | Comparison | Test | Procedure | Either


@dataclass(frozen=True, slots=True)
class Aggregate:
    function: str
    arguments: tuple[Expr, ...]
    """None for `count<_>`."""


@dataclass(frozen=True, slots=True)
class Rule:
    relation: str
    head: tuple[Expr | Aggregate, ...]
    body: tuple[Literal, ...]
    iterations: int | None = None


@dataclass(frozen=True, slots=True)
class Input:
    """A relation without rules: registered with the database, or written as facts."""

    name: str
    types: tuple[str, ...]
    rows: tuple[Row, ...]
    is_inline: bool
    is_declared: bool


@dataclass(frozen=True, slots=True)
class Query:
    relation: str
    terms: tuple[Const | Var | Anything, ...]

    @property
    def asks_for_all(self) -> bool:
        names = [term.name for term in self.terms if isinstance(term, Var)]
        return len(set(names)) == len(names) and not any(isinstance(term, Const) for term in self.terms)


@dataclass(frozen=True, slots=True)
class Program:
    inputs: tuple[Input, ...]
    declared: tuple[tuple[str, tuple[str, ...]], ...]
    """The types of derived relations that are declared: all those with an int in a column of floats."""
    facts: tuple[tuple[str, Row], ...]
    """Facts of derived relations, in the text."""
    rules: tuple[Rule, ...]
    queries: tuple[Query, ...]

    @property
    def registered(self) -> dict[str, tuple[Row, ...]]:
        return {one.name: one.rows for one in self.inputs if not one.is_inline}

    @property
    def text(self) -> str:
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        declared = [(one.name, one.types) for one in self.inputs if one.is_declared]
        for name, types in (*declared, *self.declared):
            yield f"declare {name}({', '.join(f'{type_} c{i}' for i, type_ in enumerate(types))})."
        inline = [(one.name, row) for one in self.inputs if one.is_inline for row in one.rows]
        for name, row in (*inline, *self.facts):
            yield f"{name}({', '.join(constant_text(value) for value in row)})."
        for rule in self.rules:
            yield rule_text(rule)
        for query in self.queries:
            yield f"{query.relation}({', '.join(map(term_text, query.terms))})?"


# --- text -----------------------------------------------------------------------------------------------------------

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"})
_SUM, _PRODUCT, _SIGNED, _PRIMARY = range(4)
_LEVELS = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "div": _PRODUCT, "mod": _PRODUCT}


WORDS = ("in", "between", "like", "in list")
"""Tests that stand behind their first argument."""


def constant_text(value: Value) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case datetime():
            return f'timestamp "{value.isoformat(" ")}"'
        case date():
            return f'date "{value.isoformat()}"'
        case timedelta() if value % timedelta(days=1):
            return f"{value // timedelta(microseconds=1)} microseconds"
        case timedelta():
            return f"{value.days} days"
        case Decimal():
            return f"{value:f}m"
        case str():
            return f'"{value.translate(_ESCAPES)}"'
        case _:
            raise ValueError(f"no constant is written for {value!r}")


def expression_text(expression: Expr, level: int = _SUM) -> str:
    """Writes no parenthesis that is not needed, so that the parser has to know how operators bind."""
    match expression:
        case Const(value):
            text, own = constant_text(value), _PRIMARY
            if text.startswith("-"):
                own = _SIGNED
        case Var(name):
            text, own = name, _PRIMARY
        case Neg(operand):
            text, own = f"-{expression_text(operand, _PRIMARY)}", _SIGNED
        case Op(symbol, left, right):
            own = _LEVELS[symbol]
            text = f"{expression_text(left, own)} {symbol} {expression_text(right, own + 1)}"
        case Call("list", arguments):
            text, own = f"[{', '.join(map(expression_text, arguments))}]", _PRIMARY
        case Call(function, arguments):
            text, own = f"{function}({', '.join(map(expression_text, arguments))})", _PRIMARY
        case If(condition, first, second):
            parts = (_condition_text(condition), expression_text(first), expression_text(second))
            text, own = f"if({', '.join(parts)})", _PRIMARY
        case _:
            assert_never(expression)
    return text if own >= level else f"({text})"


def _condition_text(condition: Condition) -> str:
    match condition:
        case Logic("not", (one,)):
            return f"not ({_condition_text(one)})"
        case Logic(word, parts):
            return f" {word} ".join(f"({_condition_text(one)})" for one in parts)
        case _:
            return literal_text(condition)


def _test_text(call: Call, is_negated: bool) -> str:
    if call.function not in WORDS:
        return f"{'not ' * is_negated}{expression_text(call)}"
    subject, *others = map(expression_text, call.arguments)
    word, _, is_list = call.function.partition(" ")
    joined = " and ".join(others) if word != "in" or is_list else f"({', '.join(others)})"
    return f"{subject} {'not ' * is_negated}{word} {joined}"


def term_text(term: Term | Aggregate) -> str:
    match term:
        case Anything():
            return "_"
        case Aggregate(function, ()):
            return f"{function}<_>"
        case Aggregate("mcount" | "msum" as function, (key, value)):
            return f"{function}<({expression_text(key)}, {expression_text(value)})>"
        case Aggregate(function, arguments):
            return f"{function}<{', '.join(map(expression_text, arguments))}>"
        case _:
            return expression_text(term)


def literal_text(literal: Literal) -> str:
    match literal:
        case Atom(relation, terms, is_negated):
            return f"{'!' * is_negated}{relation}({', '.join(map(term_text, terms))})"
        case Comparison(symbol, left, right):
            return f"{expression_text(left)} {symbol} {expression_text(right)}"
        case Test(call, is_negated):
            return _test_text(call, is_negated)
        case Procedure(name, arguments):
            return f"{name}({', '.join(map(expression_text, arguments))})"
        case Either(alternatives):
            return f"({' ; '.join(', '.join(map(literal_text, one)) for one in alternatives)})"
        case _:
            assert_never(literal)


def rule_text(rule: Rule) -> str:
    bound = "" if rule.iterations is None else f"@iterations({rule.iterations})\n"
    head = f"{rule.relation}({', '.join(map(term_text, rule.head))})"
    return f"{bound}{head} :- {', '.join(map(literal_text, rule.body))}."


# --- parts ----------------------------------------------------------------------------------------------------------


def variables(term: Term | Aggregate | Condition) -> Iterator[str]:
    match term:
        case Var(name):
            yield name
        case Neg(operand):
            yield from variables(operand)
        case Op(_, left, right):
            yield from variables(left)
            yield from variables(right)
        case Call(_, arguments) | Aggregate(_, arguments):
            for argument in arguments:
                yield from variables(argument)
        case If(condition, first, second):
            for part in (condition, first, second):
                yield from variables(part)
        case Logic(_, parts):
            for part in parts:
                yield from variables(part)
        case Comparison(_, left, right):
            yield from variables(left)
            yield from variables(right)
        case Test(call):
            yield from variables(call)
        case Const() | Anything():
            pass
        case _:
            assert_never(term)


def read_relations(body: Iterable[Literal]) -> Iterator[str]:
    for literal in body:
        match literal:
            case Atom(relation):
                yield relation
            case Either(alternatives):
                for one in alternatives:
                    yield from read_relations(one)
            case _:
                pass
