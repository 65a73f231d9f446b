"""The syntax tree: what a person wrote, with spans, before any meaning is given to it.

Expressions keep this form in all later stages: a plan's columns are named by the variables.
Spans never take part in comparisons, so trees can be compared by content.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from emberlog.datatypes import DataType, type_of_value
from emberlog.diagnostics import Diagnostic, Severity
from emberlog.shown import Shown
from emberlog.source import NOWHERE, Source, Span


def _span() -> Span:
    return field(default=NOWHERE, compare=False, repr=False)


Value: TypeAlias = int | float | str | bool | None
"""A constant of a program; None is `null`."""


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Wildcard:
    """`_`: a fresh variable each time."""

    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Constant:
    value: Value
    span: Span = _span()
    meant: DataType | None = None
    """The type, where the value does not tell it: a date, a timestamp, a duration and a decimal are ints."""

    @staticmethod
    def of(value: Value, type_: DataType, span: Span = NOWHERE) -> Constant:
        """Returns the constant of a value that a column of this type holds."""
        return Constant(value, span, type_ if type_.is_told_by_type else None)

    @property
    def type(self) -> DataType:
        return self.meant or type_of_value(self.value)

    # True == 1 == 1.0 in Python, but not in a program.
    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Constant)
            and type(self.value) is type(other.value)
            and self.value == other.value
            and self.meant == other.meant
        )

    def __hash__(self) -> int:
        return hash((type(self.value), self.value, self.meant))


Given: TypeAlias = Value | Constant
"""The value of a parameter; a constant where the value does not tell its type."""


def given_constant(given: Given, span: Span) -> Constant:
    """Returns the value of a parameter as a constant where the parameter stands. There is one zero: -0.0 is 0.0."""
    if isinstance(given, Constant):
        return Constant(given.value, span, given.meant)
    return Constant(given + 0.0 if isinstance(given, float) else given, span)


@dataclass(frozen=True, slots=True)
class Parameter:
    """`$name`: a constant that the caller gives."""

    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Unary:
    """Arithmetic negation, the only unary operator."""

    operand: Expression
    span: Span = _span()


class BinaryOperator(Enum):
    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    INTEGER_DIVIDE = "div"
    MODULO = "mod"


@dataclass(frozen=True, slots=True)
class Binary:
    operator: BinaryOperator
    left: Expression
    right: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Call:
    """A scalar function call."""

    function: str
    arguments: tuple[Expression, ...]
    span: Span = _span()


Expression: TypeAlias = Variable | Wildcard | Constant | Parameter | Unary | Binary | Call


@dataclass(frozen=True, slots=True)
class AggregateTerm:
    """`min<D + 1>` in a head. `count<_>` and `count<*>` have no arguments; `mcount<(K, V)>` has two."""

    function: str
    arguments: tuple[Expression, ...]
    span: Span = _span()


HeadTerm: TypeAlias = Expression | AggregateTerm


@dataclass(frozen=True, slots=True)
class Head:
    """`location` is the index of the argument that `#` marks, if any. `names` are those of the arguments, if they are
    written: `emp(id: E)`. A relation without arguments has no terms."""

    predicate: str
    terms: tuple[HeadTerm, ...]
    location: int | None = None
    span: Span = _span()
    name_span: Span = _span()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Atom:
    """A relation, a built-in test such as `contains(S, "x")`, or a procedure such as `larger(A, X, Y)`."""

    predicate: str
    terms: tuple[Expression, ...]
    negated: bool = False
    span: Span = _span()
    name_span: Span = _span()
    names: tuple[str, ...] = ()
    """Of the arguments, if they are written; any others are `_`."""


class ComparisonOperator(Enum):
    EQUAL = "="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="


@dataclass(frozen=True, slots=True)
class Comparison:
    operator: ComparisonOperator
    left: Expression
    right: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Conjunction:
    parts: tuple[BodyPart, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Disjunction:
    """At least two alternatives."""

    alternatives: tuple[Conjunction, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Negation:
    """`!(arc(X, Y), big(Y))`: no values of the variables that stand only in it satisfy the body."""

    body: Conjunction
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Aggregation:
    """`N = sum Z : { arc(X, Z) }`: compares a value with an aggregate over all that satisfies a body of its own."""

    operator: ComparisonOperator
    value: Expression
    aggregate: AggregateTerm
    body: Conjunction
    span: Span = _span()


BodyPart: TypeAlias = Atom | Comparison | Disjunction | Negation | Aggregation


@dataclass(frozen=True, slots=True)
class Annotation:
    """`@iterations(20)`, `@premappable`."""

    name: str
    arguments: tuple[Expression, ...] = ()
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule, or a fact when the body is None."""

    head: Head
    body: Conjunction | None = None
    label: str | None = None
    annotations: tuple[Annotation, ...] = ()
    span: Span = _span()
    others: tuple[Head, ...] = ()
    """Further heads: `c(X), d(X) :- a(X).` means a rule for each."""
    elsewhere: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """Variables that the person wrote in other places of the statement that this rule is a part of."""

    @property
    def heads(self) -> tuple[Head, ...]:
        return (self.head, *self.others)


class WindowKind(Enum):
    """Says which tuples are in a window: how it is written."""

    CLOSED = "WINDOW"
    """Those of the last `size`, both ends included."""
    HOP = "HOP"
    """The same without those of the moment at which the window ends."""
    TUMBLE = "TUMBLE"
    """Windows that follow each other, so that each tuple is in one."""
    SESSION = "SESSION"
    """Tuples with no gap longer than `size` between them."""


@dataclass(frozen=True, slots=True)
class Window:
    """`WINDOW(size, slide)` of a query over a stream, or one of the other kinds."""

    size: Duration
    slide: Duration | None = None
    span: Span = _span()
    kind: WindowKind = WindowKind.CLOSED
    key: str | None = None
    """The column whose values have sessions of their own."""


@dataclass(frozen=True, slots=True)
class Duration:
    amount: int
    unit: str | None = None
    """Canonical, in the plural: `minutes`; None for a bare number."""
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Query:
    atom: Atom
    window: Window | None = None
    span: Span = _span()


class DeclarationKind(Enum):
    """A schema in braces is a STREAM if its first column is a timestamp, otherwise STATIC."""

    RELATION = "declare"
    STATIC = "RELATION"
    STREAM = "STREAM"


@dataclass(frozen=True, slots=True)
class ColumnDeclaration:
    name: str
    type: DataType
    aggregate: str | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Declaration:
    kind: DeclarationKind
    predicate: str
    columns: tuple[ColumnDeclaration, ...]
    span: Span = _span()
    name_span: Span = _span()
    choices: tuple[tuple[str, ...], ...] = ()
    """The columns of which each combination of values has one fact: `choice X, (Y, Z)`."""
    is_equivalence: bool = False


@dataclass(frozen=True, slots=True)
class Subsumption:
    """`p(X, C1) <= p(X, C2) :- C2 < C1.`: facts like the first are left out where there is one like the second."""

    worse: Head
    better: Head
    body: Conjunction | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class BranchDeclaration:
    """`Node(left: Tree, right: Tree)` in the declaration of a type."""

    name: str
    fields: tuple[ColumnDeclaration, ...]
    span: Span = _span()
    opening: str = field(default="", compare=False, repr=False)
    """How its values begin as text, if that is not `$Node(`: records of Soufflé are `[1, 2]`, and `nil`."""


@dataclass(frozen=True, slots=True)
class TypeDeclaration:
    """`type Tree = Leaf | Node(left: Tree, right: Tree).` or `type city <: string.`"""

    name: str
    base: DataType | None
    branches: tuple[BranchDeclaration, ...]
    span: Span = _span()
    name_span: Span = _span()


@dataclass(frozen=True, slots=True)
class ProgramOption:
    """An annotation that ends with a full stop holds for the whole program: `@iterations(20).`"""

    annotation: Annotation
    span: Span = _span()


Statement: TypeAlias = Rule | Query | Declaration | TypeDeclaration | Subsumption | ProgramOption


@dataclass(frozen=True, slots=True)
class Comment:
    """Kept so that the printer can give it back; `text` includes its marks."""

    text: str
    trailing: bool
    """True when it stands behind a statement on the same line."""
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class FactFile:
    """`.input edge(filename="edges.csv", delimiter=",")`: the file that a program of Soufflé names for an input."""

    relation: str
    path: str
    delimiter: str
    header: bool
    quote: str
    span: Span = _span()
    kind: str = "file"
    """Of text, or `sqlite`, where the table is called like the relation, or `json`."""
    places: tuple[int, ...] = ()
    """The places of the columns in a file of text, from 0; none for all columns as they are."""


@dataclass(frozen=True, slots=True, repr=False)
class Program(Shown):
    source: Source = field(compare=False, repr=False)
    statements: tuple[Statement, ...]
    comments: tuple[Comment, ...] = ()
    problems: tuple[Diagnostic, ...] = field(default=(), compare=False, repr=False)
    """What is wrong with its syntax, so that the analysis can tell it with the rest."""
    unread: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """The names in statements that could not be read: whatever they mean, they are not unknown."""
    files: tuple[FactFile, ...] = ()
    """Where facts are, if the program says so."""

    @property
    def is_readable(self) -> bool:
        """Tells whether all of its text could be read; there may be warnings."""
        return all(one.severity is Severity.WARNING for one in self.problems)

    def __repr__(self) -> str:
        count = len(self.statements)
        return f"Program({self.source.name}: {count:,} statement{'' if count == 1 else 's'})"

    def __str__(self) -> str:
        return self.source.text


def is_text(expression: Expression) -> bool:
    """Tells whether an expression is a text as it is written."""
    return isinstance(expression, Constant) and isinstance(expression.value, str) and expression.meant is None


def variables_of(expression: HeadTerm) -> tuple[Variable, ...]:
    """Returns the variables in an expression, in the order of the text, repeated ones repeated."""
    if isinstance(expression, Variable):  # nearly all are
        return (expression,)
    match expression:
        case Unary(operand):
            return variables_of(operand)
        case Binary(_, left, right):
            return variables_of(left) + variables_of(right)
        case Call(_, arguments) | AggregateTerm(_, arguments):
            return tuple(variable for argument in arguments for variable in variables_of(argument))
        case _:
            return ()
