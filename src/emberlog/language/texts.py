"""Defines the functions of text. Text is a sequence of Unicode code points; it compares code point by code point."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from emberlog.datatypes import BOOL, INT, STRING, DataType
from emberlog.language.entry import Constants, Function, Types, always
from emberlog.language.faults import Fault
from emberlog.language.values import text

if TYPE_CHECKING:
    from pyspark.sql import Column

    from emberlog.language.entry import Bad, Vector
    from emberlog.language.spark_columns import Scope, Typed


def _substr(source: str, start: int, length: int) -> str:
    end = start + length
    return source[max(0, start) : end] if end > 0 else ""


def clean(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function for arguments of which the first is checked to be text."""
    return lambda first, *rest: function(text(first), *rest)


# --- regular expressions --------------------------------------------------------------------------------------------


def pattern_error(pattern: str) -> str | None:
    """Says what is wrong with a regular expression, or None. The dialect is RE2's, which takes linear time."""
    if pattern not in _CHECKED:
        if len(_CHECKED) >= MOST_CHECKED:
            _CHECKED.clear()
        _CHECKED[pattern] = _pattern_error(pattern)
    return _CHECKED[pattern]


_CHECKED: dict[str, str | None] = {}
"""What is known of patterns. A cache of functools could not be sent to Spark's workers."""

MOST_CHECKED = 256


def _pattern_error(pattern: str) -> str | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        pc.match_substring_regex(pa.array([""]), pattern)
        pc.match_substring_regex(pa.array([""]), whole_pattern(pattern))
    except (pa.ArrowInvalid, UnicodeEncodeError) as error:
        return str(error).removeprefix("Invalid regular expression: ")
    return None


def check_pattern(pattern: str) -> None:
    """Raises a Fault if it is no regular expression."""
    complaint = pattern_error(text(pattern))
    if complaint is not None:
        raise Fault("DL503", f"`{pattern}` is not a regular expression", complaint, "the dialect is that of RE2")


def whole_pattern(pattern: str) -> str:
    r"""Returns a pattern that fits a text from its beginning to its end. The `\E` ends a quotation that `\Q` began."""
    return rf"\A(?:{pattern}{end_of_quotation(pattern)})\z"


def end_of_quotation(pattern: str) -> str:
    return r"\E" if pattern.rfind(r"\Q") > pattern.rfind(r"\E") else ""


def _matches(source: str, pattern: str) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    check_pattern(pattern)
    return bool(pc.match_substring_regex(pa.scalar(source, pa.string()), whole_pattern(pattern)).as_py())


def _matches_vector(sources: Vector, patterns: Vector) -> tuple[Vector, Bad]:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    texts, found, bad = (
        pa.array(sources, pa.string()),
        np.zeros(len(sources), np.bool_),
        np.zeros(len(sources), np.bool_),
    )
    for pattern in dict.fromkeys(patterns.tolist()):
        here = np.flatnonzero(patterns == pattern)
        if pattern_error(pattern) is None:
            found[here] = pc.match_substring_regex(texts.take(here), whole_pattern(pattern)).to_numpy(False)
        else:
            bad[here] = True
    return found, bad if bad.any() else None


def _may_be_no_pattern(_types: Types, constants: Constants) -> bool:
    pattern = constants[1]
    return not isinstance(pattern, str) or pattern_error(pattern) is not None


# --- columns of Spark -----------------------------------------------------------------------------------------------


def of_text(function: Callable[..., Column], result: DataType) -> Callable[[Scope, list[Typed]], Typed]:
    def compiled(scope: Scope, operands: list[Typed]) -> Typed:
        from emberlog.language import spark_columns as spark

        closed = [scope.closed(operand) for operand in operands]
        return spark.from_operands(function(*(operand.column for operand in closed)), result, closed)

    return compiled


def named(name: str) -> Callable[..., Column]:
    def column(*operands: Column) -> Column:
        from pyspark.sql import functions as F

        return getattr(F, name)(*operands)  # type: ignore[no-any-return]

    return column


def _substr_column(scope: Scope, operands: list[Typed]) -> Typed:
    from pyspark.sql import functions as F

    from emberlog.language import spark_columns as spark

    source, start, length = scope.closed(operands[0]), scope.bound(operands[1]), scope.bound(operands[2])
    most = 2**31 - 2  # no text is longer
    beyond = F.when(start.column > 0, F.lit(most).cast("long")).otherwise(F.lit(0).cast("long"))
    behind = spark.clamped(F.coalesce(F.try_add(start.column, length.column), beyond), most)
    first = spark.clamped(start.column, most)
    taken = F.greatest(behind - first, F.lit(0).cast("long"))
    part = F.substring(source.column, (first + 1).cast("int"), taken.cast("int"))
    closed = [source, start, length]
    no_nulls = spark.no_nulls(spark.leaves_of(closed))
    return spark.from_operands(F.when(no_nulls, part), STRING, closed, conditions=1)


# --- the entries ----------------------------------------------------------------------------------------------------

MATCHES = Function(
    name="matches",
    parameters=(STRING, STRING),
    result=always(BOOL),
    signature="matches(S, Pattern)",
    meaning="whether the regular expression, in the dialect of RE2, fits all of S",
    python=clean(_matches),
    vector=_matches_vector,
    fails=_may_be_no_pattern,
)

FUNCTIONS = (
    Function(
        name="cat",
        parameters=(STRING, STRING),
        result=always(STRING),
        signature="cat(S, T, …)",
        meaning="the strings joined",
        python=lambda *parts: "".join(map(text, parts)),
        spark=of_text(named("concat"), STRING),
        variadic=True,
    ),
    Function(
        name="substr",
        parameters=(STRING, INT, INT),
        result=always(STRING),
        signature="substr(S, Start, Length)",
        meaning="the part of S from Start, counted from 0; what lies outside S is left out",
        python=clean(_substr),
        spark=_substr_column,
    ),
    # Java knows other characters than Python, so the next two have no form of Spark's own.
    Function(
        name="lower",
        parameters=(STRING,),
        result=always(STRING),
        signature="lower(S)",
        meaning="S in lower case",
        python=clean(str.lower),
    ),
    Function(
        name="upper",
        parameters=(STRING,),
        result=always(STRING),
        signature="upper(S)",
        meaning="S in upper case",
        python=clean(str.upper),
    ),
    Function(
        name="contains",
        parameters=(STRING, STRING),
        result=always(BOOL),
        signature="contains(S, Part)",
        meaning="whether Part occurs in S",
        python=clean(str.__contains__),
        spark=of_text(named("contains"), BOOL),
    ),
    Function(
        name="starts_with",
        parameters=(STRING, STRING),
        result=always(BOOL),
        signature="starts_with(S, Prefix)",
        meaning="whether S begins with Prefix",
        python=clean(str.startswith),
        spark=of_text(named("startswith"), BOOL),
    ),
    MATCHES,
)
