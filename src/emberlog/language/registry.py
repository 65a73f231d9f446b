"""Collects the entries of the language, and adds the functions that a user registers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from emberlog.datatypes import BOOL, FLOAT, INT, STRING, DataType
from emberlog.diagnostics import fail
from emberlog.language import bits, choices, conversions, decimals, lists, moments, numbers, records, text_parts, texts
from emberlog.language.aggregates import AGGREGATES as _AGGREGATES
from emberlog.language.aggregates import Aggregate, registered
from emberlog.language.conversions import NARROW, WIDEN
from emberlog.language.entry import Function, always, sometimes
from emberlog.language.faults import Fault
from emberlog.language.values import CellValue, in_range

SCALAR_FUNCTIONS = {
    one.name: one
    for kind in (numbers, bits, texts, lists, text_parts, conversions, choices, moments, decimals)
    for one in kind.FUNCTIONS
}
AGGREGATES = {one.name: one for one in _AGGREGATES}

INTERNAL = {
    one.name: one
    for one in (
        WIDEN,
        NARROW,
        numbers.HALVES,
        text_parts.LIKE,
        lists.MAKE,
        lists.MEMBER,
        *choices.TESTS,
        *moments.INTERNAL,
        *decimals.INTERNAL,
        *records.INTERNAL,
    )
}
"""What rewrites put into expressions, and programs cannot write."""

PROCEDURES = {
    "larger": "larger(A, X, Y): A is the larger of X and Y",
    "largest": "largest(A, X, …): A is the largest of the others",
    "encd": "encd(D, C, DC): DC is the pair of D and C",
    "decd": "decd(DC, D, C): D and C are what DC was made of",
}
"""Streamlog's built-in body literals with an output argument."""


@dataclass(frozen=True, slots=True)
class Functions:
    """Holds the functions that a program can use: the built-in ones, and what the user registered."""

    scalars: Mapping[str, Function]
    aggregates: Mapping[str, Aggregate]

    def __getitem__(self, name: str) -> Function:
        """Returns the scalar function of an expression, one that programs cannot write included."""
        return INTERNAL[name] if name in INTERNAL else self.scalars[name]

    def find(self, name: str) -> Function | None:
        """Returns the scalar function of this name, or None."""
        return INTERNAL.get(name) or self.scalars.get(name)

    def __contains__(self, name: str) -> bool:
        return name in self.scalars or name in INTERNAL

    def with_registered(self, functions: Sequence[Function]) -> Functions:
        """Returns these functions and some that the user brought; these themselves if there are none."""
        if not functions:
            return self
        return Functions({**self.scalars, **{one.name: one for one in functions}}, self.aggregates)

    def with_scalar(
        self, name: str, implementation: Callable[..., object], parameters: Sequence[DataType], result: DataType
    ) -> Functions:
        """Returns these functions and one more, computed by Python code."""
        _check_name(name, self.scalars, SCALAR_FUNCTIONS)
        if not parameters:
            raise fail("DL219", f"the function `{name}` has no parameters", None, "a function has at least one")
        function = Function(
            name=name,
            parameters=tuple(parameters),
            result=always(result),
            signature=f"{name}({', '.join(map(str, parameters))})",
            meaning="registered",
            python=checked_call(name, implementation, result),
            fails=sometimes,
            is_registered=True,
        )
        return Functions({**self.scalars, name: function}, self.aggregates)

    def with_aggregate(
        self, name: str, implementation: Callable[[Sequence[object]], object], result: DataType
    ) -> Functions:
        """Returns these functions and one more aggregate, computed by Python code from the list of a group's values."""
        _check_name(name, self.aggregates, AGGREGATES)
        aggregate = Aggregate(
            name=name,
            arities=(1,),
            result=always(result),
            signature=f"{name}<X>",
            meaning="registered",
            python=registered(checked_call(name, implementation, result)),
            is_registered=True,
        )
        return Functions(self.scalars, {**self.aggregates, name: aggregate})


def _check_name(name: str, known: Mapping[str, object], built_in: Mapping[str, object]) -> None:
    if (
        not name.isidentifier()
        or name.startswith("_")
        or name.lower() in ("null", "true", "false", "not", "div", "mod")
    ):
        raise fail("DL219", f"`{name}` cannot be the name of a function", None, "use letters, digits and _")
    if name in built_in and name in known:
        raise fail("DL219", f"`{name}` is built in", None, "choose another name")


_PYTHON_TYPES: Mapping[DataType, type] = {INT: int, FLOAT: float, STRING: str, BOOL: bool}


def checked_call(name: str, implementation: Callable[..., object], result: DataType) -> Callable[..., CellValue]:
    """Returns a function of the user's, with its failures and with results that are no values made into faults."""
    # Nothing but plain values goes along when the function is sent to Spark's workers.
    wanted, described = _PYTHON_TYPES.get(result), result.described

    def called(*arguments: object) -> CellValue:
        try:
            value = implementation(*arguments)
        except Exception as error:
            raise Fault("DL505", f"the function `{name}` failed with {type(error).__name__}: {error}") from None
        if wanted is float and type(value) is int:
            value = float(value)
        if value is None:
            return None
        if wanted is not None and type(value) is not wanted:
            raise Fault("DL505", f"the function `{name}` gave a {type(value).__name__}, not {described}")
        if type(value) is int or type(value) is float:
            return in_range(value)
        if not isinstance(value, bool | str | tuple):
            raise Fault("DL505", f"the function `{name}` gave a {type(value).__name__}, which programs do not know")
        if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
            raise Fault("DL505", f"the function `{name}` gave a text with half a character, a lone surrogate")
        return value

    return called


BUILT_IN = Functions(SCALAR_FUNCTIONS, AGGREGATES)
