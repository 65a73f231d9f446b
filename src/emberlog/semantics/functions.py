"""The names, arities and types of scalar functions, procedures and aggregates; not how they are computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from emberlog.datatypes import BOOL, FLOAT, INT, STRING, UNKNOWN, DataType, join_types, list_of, pair_of
from emberlog.diagnostics import fail

ANY = DataType("any")
NUMBER = DataType("number")
ORDERED = DataType("ordered")
"""Stand-ins for several types in a signature: any type, int or float, anything but a list."""


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    name: str
    parameters: tuple[DataType, ...]
    result: Callable[[Sequence[DataType]], DataType]
    signature: str
    """As documentation shows it."""
    meaning: str
    variadic: bool = False
    """The last parameter may be repeated."""
    optional: int = 0
    """How many of the last parameters may be left out."""
    implementation: Callable[..., object] | None = None
    """Of a function that the user registered; executors have their own for the built-in ones."""

    def accepts(self, count: int) -> bool:
        if self.variadic:
            return count >= len(self.parameters)
        return len(self.parameters) - self.optional <= count <= len(self.parameters)

    def parameter(self, index: int) -> DataType:
        return self.parameters[min(index, len(self.parameters) - 1)]


def _always(result: DataType) -> Callable[[Sequence[DataType]], DataType]:
    return lambda _: result


def _widest(types: Sequence[DataType]) -> DataType:
    widest = UNKNOWN
    for one in types:
        widest = join_types(widest, one) or UNKNOWN
    return widest


def _part(index: int) -> Callable[[Sequence[DataType]], DataType]:
    def result(types: Sequence[DataType]) -> DataType:
        return types[0].parts[index] if types[0].name == "pair" else UNKNOWN

    return result


PAIR = DataType("pair")

_FUNCTIONS = (
    ScalarFunction("abs", (NUMBER,), _widest, "abs(X)", "the absolute value"),
    ScalarFunction("floor", (NUMBER,), _always(INT), "floor(X)", "the largest int that is not larger"),
    ScalarFunction("ceil", (NUMBER,), _always(INT), "ceil(X)", "the smallest int that is not smaller"),
    ScalarFunction(
        "round",
        (NUMBER, INT),
        lambda types: INT if len(types) == 1 else FLOAT,
        "round(X), round(X, Digits)",
        "the nearest int, halves away from zero; with digits, the nearest such float",
        optional=1,
    ),
    ScalarFunction("sqrt", (NUMBER,), _always(FLOAT), "sqrt(X)", "the square root"),
    ScalarFunction("exp", (NUMBER,), _always(FLOAT), "exp(X)", "e to the power X"),
    ScalarFunction("log", (NUMBER,), _always(FLOAT), "log(X)", "the natural logarithm"),
    ScalarFunction("pow", (NUMBER, NUMBER), _always(FLOAT), "pow(X, Y)", "X to the power Y"),
    ScalarFunction("least", (ORDERED, ORDERED), _widest, "least(X, Y, …)", "the smallest argument", variadic=True),
    ScalarFunction("greatest", (ORDERED, ORDERED), _widest, "greatest(X, Y, …)", "the largest argument", variadic=True),
    ScalarFunction("cat", (STRING, STRING), _always(STRING), "cat(S, T, …)", "the strings joined", variadic=True),
    ScalarFunction("len", (STRING,), _always(INT), "len(S)", "the number of characters"),
    ScalarFunction(
        "substr",
        (STRING, INT, INT),
        _always(STRING),
        "substr(S, Start, Length)",
        "the part of S from Start, counted from 0; what lies outside S is left out",
    ),
    ScalarFunction("lower", (STRING,), _always(STRING), "lower(S)", "S in lower case"),
    ScalarFunction("upper", (STRING,), _always(STRING), "upper(S)", "S in upper case"),
    ScalarFunction("contains", (STRING, STRING), _always(BOOL), "contains(S, Part)", "whether Part occurs in S"),
    ScalarFunction(
        "starts_with", (STRING, STRING), _always(BOOL), "starts_with(S, Prefix)", "whether S begins with Prefix"
    ),
    ScalarFunction(
        "matches",
        (STRING, STRING),
        _always(BOOL),
        "matches(S, Pattern)",
        "whether the regular expression fits all of S",
    ),
    ScalarFunction("to_string", (ANY,), _always(STRING), "to_string(X)", "X as text"),
    ScalarFunction(
        "to_number",
        (STRING,),
        _always(FLOAT),
        "to_number(S)",
        "the number that S spells, as a float; other text is an error",
    ),
    ScalarFunction("int", (ANY,), _always(INT), "int(X)", "X as an int: a float loses its fraction, text is read"),
    ScalarFunction("float", (ANY,), _always(FLOAT), "float(X)", "X as a float: text is read"),
    ScalarFunction("string", (ANY,), _always(STRING), "string(X)", "the same as to_string"),
    ScalarFunction(
        "encd",
        (ORDERED, ORDERED),
        lambda types: pair_of(types[0], types[1]),
        "encd(D, C)",
        "D and C as one value, ordered by D and then by C",
    ),
    ScalarFunction("decd_first", (PAIR,), _part(0), "decd_first(P)", "the D of a pair made by encd"),
    ScalarFunction("decd_second", (PAIR,), _part(1), "decd_second(P)", "the C of a pair made by encd"),
)

SCALAR_FUNCTIONS = {function.name: function for function in _FUNCTIONS}

CAN_FAULT = frozenset(("sqrt", "exp", "log", "pow", "matches", "to_number", "int", "float"))
"""Functions without a value for some arguments: the root of a negative number, text that spells no number."""

PROCEDURES = {
    "larger": "larger(A, X, Y): A is the larger of X and Y",
    "largest": "largest(A, X, …): A is the largest of the others",
    "encd": "encd(D, C, DC): DC is the pair of D and C",
    "decd": "decd(DC, D, C): D and C are what DC was made of",
}
"""Streamlog's built-in body literals with an output argument."""


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    name: str
    arities: tuple[int, ...]
    result: Callable[[Sequence[DataType]], DataType]
    signature: str
    meaning: str
    direction: int = 0
    """In recursion: -1 when values only fall, +1 when they only rise, 0 when they may do either."""
    is_meet: bool = False
    """Idempotent: a contribution that comes twice changes nothing."""
    numeric: bool = False
    """The aggregated value must be a number."""
    implementation: Callable[[Sequence[object]], object] | None = None
    """Of an aggregate that the user registered: from the sorted list of a group's values, nulls left out."""


def _last(types: Sequence[DataType]) -> DataType:
    return types[-1]


def _first(types: Sequence[DataType]) -> DataType:
    return types[0]


def _count_or_value(types: Sequence[DataType]) -> DataType:
    return types[1] if len(types) == 2 else INT


_AGGREGATES = (
    AggregateFunction(
        "count", (0, 1), _always(INT), "count<_>, count<X>", "the number of valuations (with X not null)"
    ),
    AggregateFunction("countd", (1,), _always(INT), "countd<X>", "the number of different values"),
    AggregateFunction("sum", (1,), _first, "sum<X>", "the sum", numeric=True),
    AggregateFunction("avg", (1,), _always(FLOAT), "avg<X>", "the mean, a float", numeric=True),
    AggregateFunction("min", (1,), _first, "min<X>", "the smallest value", direction=-1, is_meet=True),
    AggregateFunction("max", (1,), _first, "max<X>", "the largest value", direction=1, is_meet=True),
    AggregateFunction("mmin", (1,), _first, "mmin<X>", "the same as min", direction=-1, is_meet=True),
    AggregateFunction("mmax", (1,), _first, "mmax<X>", "the same as max", direction=1, is_meet=True),
    AggregateFunction(
        "mcount",
        (1, 2),
        _count_or_value,
        "mcount<Key>, mcount<(Key, N)>",
        "the sum over the keys of the largest N (1 if not given) of each",
        direction=1,
    ),
    AggregateFunction(
        "msum",
        (2,),
        _last,
        "msum<(Key, X)>",
        "the sum over the keys of the largest X, not negative, of each",
        direction=1,
    ),
    AggregateFunction(
        "argmin",
        (2,),
        _last,
        "argmin<Cost, X>",
        "the X of the smallest cost; among equals the smallest X",
        direction=-1,
        is_meet=True,
    ),
    AggregateFunction(
        "argmax",
        (2,),
        _last,
        "argmax<Cost, X>",
        "the X of the largest cost; among equals the smallest X",
        direction=1,
        is_meet=True,
    ),
    AggregateFunction(
        "collect",
        (1,),
        lambda types: list_of(types[0]),
        "collect<X>",
        "the list of all values, sorted, repeats included",
    ),
    AggregateFunction("any", (1,), _always(BOOL), "any<B>", "whether some value is true", direction=1, is_meet=True),
    AggregateFunction("all", (1,), _always(BOOL), "all<B>", "whether every value is true", direction=-1, is_meet=True),
)

AGGREGATES = {function.name: function for function in _AGGREGATES}


@dataclass(frozen=True, slots=True)
class Functions:
    """The functions that a program can use: the built-in ones, and what the user registered."""

    scalars: Mapping[str, ScalarFunction]
    aggregates: Mapping[str, AggregateFunction]

    def with_scalar(
        self, name: str, implementation: Callable[..., object], parameters: Sequence[DataType], result: DataType
    ) -> Functions:
        """These functions and one more, computed by Python code."""
        self._check_name(name, self.scalars, SCALAR_FUNCTIONS)
        if not parameters:
            raise fail("DL219", f"the function `{name}` has no parameters", None, "a function has at least one")
        signature = f"{name}({', '.join(map(str, parameters))})"
        function = ScalarFunction(
            name, tuple(parameters), _always(result), signature, "registered", implementation=implementation
        )
        return Functions({**self.scalars, name: function}, self.aggregates)

    def with_aggregate(
        self, name: str, implementation: Callable[[Sequence[object]], object], result: DataType
    ) -> Functions:
        """These functions and one more aggregate, computed by Python code from the list of a group's values."""
        self._check_name(name, self.aggregates, AGGREGATES)
        function = AggregateFunction(
            name, (1,), _always(result), f"{name}<X>", "registered", implementation=implementation
        )
        return Functions(self.scalars, {**self.aggregates, name: function})

    @staticmethod
    def _check_name(name: str, known: Mapping[str, object], built_in: Mapping[str, object]) -> None:
        if not name.isidentifier() or name.startswith("_") or name in ("true", "false", "not", "div", "mod"):
            raise fail("DL219", f"`{name}` cannot be the name of a function", None, "use letters, digits and _")
        if name in built_in and name in known:
            raise fail("DL219", f"`{name}` is built in", None, "choose another name")


BUILT_IN = Functions(SCALAR_FUNCTIONS, AGGREGATES)
