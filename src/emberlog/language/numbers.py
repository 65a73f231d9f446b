"""Defines the operators and functions of numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any

from emberlog.datatypes import FLOAT, INT, INT_MAX, INT_MIN, UNKNOWN, DataType
from emberlog.language.entry import (
    NUMBER,
    ORDERED,
    UNSET,
    Constants,
    Function,
    Types,
    always,
    arithmetic_type,
    never,
    of_floats,
    of_ints,
    sometimes,
    widest,
)
from emberlog.language.faults import Fault
from emberlog.language.values import NOT_FINITE, CellValue, Number, in_range, kind_of, number

if TYPE_CHECKING:
    from decimal import Decimal

    from emberlog.language.entry import Bad, Vector
    from emberlog.language.spark_columns import Scope, Typed

DIVISION_BY_ZERO = "division by zero"


# --- plain Python ---------------------------------------------------------------------------------------------------


def _checked(function: Callable[..., Number]) -> Callable[..., Number]:
    """Returns the function with its arguments and its result checked."""

    def checked(*values: CellValue) -> Number:
        try:
            return in_range(function(*map(number, values)))
        except (OverflowError, ValueError):
            raise Fault("DL502", NOT_FINITE) from None

    return checked


def _of_reals(function: Callable[..., float]) -> Callable[..., Number]:
    return _checked(lambda *values: function(*map(float, values)))


def _divide(left: Number, right: Number) -> float:
    if right == 0:
        raise Fault("DL501", DIVISION_BY_ZERO)
    return float(left) / float(right)


def _integer_divide(left: int, right: int) -> int:
    """Divides towards zero, where Python's `//` goes down."""
    if right == 0:
        raise Fault("DL501", DIVISION_BY_ZERO)
    quotient, remainder = divmod(left, right)
    return quotient + (1 if remainder and quotient < 0 else 0)


def _modulo(left: int, right: int) -> int:
    """Returns what the division towards zero leaves: it has the sign of the dividend."""
    return left - right * _integer_divide(left, right)


MOST_PLACES = 400
"""No float has digits beyond these places."""


def rounded(value: Number, digits: int) -> Decimal:
    """Rounds a number to so many decimal places, halves away from zero. A float counts as the number that it prints
    as, not as the binary fraction behind it: 1.005 is 1.005."""
    from decimal import ROUND_HALF_UP, Context, Decimal

    places = max(-MOST_PLACES, min(MOST_PLACES, digits))
    enough = Context(prec=800)  # digits to write down any float in full
    return Decimal(repr(value)).quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP, context=enough)


def _round(value: Number, digits: int | None = None) -> Number:
    if digits is not None:
        return float(rounded(value, digits))
    if type(value) is int:
        return value
    below = math.floor(abs(value))
    away = below + (abs(value) - below >= 0.5)
    return away if value > 0 else -away


def _extreme(choose: Callable[..., Any]) -> Callable[..., CellValue]:
    def chosen(*values: CellValue) -> CellValue:
        found: list[Any] = list(values)
        if float in map(type, values):
            found = [float(number(value)) for value in values]
        if len({type(value) for value in found}) > 1:
            raise Fault("DL403", f"{kind_of(values[0])} and values of other types have no order")
        return choose(found)  # type: ignore[no-any-return]

    return chosen


# --- vectors --------------------------------------------------------------------------------------------------------


def _finite(values: Vector) -> tuple[Vector, Bad]:
    import numpy as np

    finite = np.isfinite(values)
    return values, None if finite.all() else ~finite


def _add_vectors(left: Vector, right: Vector) -> tuple[Vector, Bad]:
    total = left + right
    if total.dtype.kind == "f":
        return _finite(total)
    return total, _any(((left ^ total) & (right ^ total)) < 0)


def _subtract_vectors(left: Vector, right: Vector) -> tuple[Vector, Bad]:
    difference = left - right
    if difference.dtype.kind == "f":
        return _finite(difference)
    return difference, _any(((left ^ right) & (left ^ difference)) < 0)


def multiply_vectors(left: Vector, right: Vector) -> tuple[Vector, Bad]:
    import numpy as np

    product = left * right
    if product.dtype.kind == "f":
        return _finite(product)
    if not len(left) or _largest(left) * _largest(right) <= INT_MAX:
        return product, None
    # Python knows the whole product: it fits if its upper half is the sign of the lower one.
    high = np.array([(a * b) >> 64 for a, b in zip(left.tolist(), right.tolist(), strict=True)], np.int64)
    return product, _any(high != (product >> 63))


def _largest(values: Vector) -> int:
    return max(abs(int(values.min())), abs(int(values.max())))


def _any(bad: Vector) -> Bad:
    return bad if bad.any() else None


def _divide_vectors(left: Vector, right: Vector) -> tuple[Vector, Bad]:
    return _finite(left / right)


def _integer_divide_vectors(left: Vector, right: Vector) -> tuple[Vector, Bad]:
    import numpy as np

    bad = _any((right == 0) | ((right == -1) & (left == INT_MIN)))
    divisor = right if bad is None else np.where(bad, 1, right)
    # Division towards zero is exact once the remainder is taken away.
    return (left - np.fmod(left, divisor)) // divisor, bad


def _modulo_vectors(left: Vector, right: Vector) -> tuple[Vector, Bad]:
    import numpy as np

    bad = _any(right == 0)
    # Whatever is divided by -1 leaves nothing, which the processor does not know of the smallest int.
    return np.fmod(left, np.where((right == 0) | (right == -1), 1, right)), bad


def _negate_vector(value: Vector) -> tuple[Vector, Bad]:
    return -value, None if value.dtype.kind == "f" else _any(value == INT_MIN)


def _abs_vector(value: Vector) -> tuple[Vector, Bad]:
    import numpy as np

    return np.abs(value), None if value.dtype.kind == "f" else _any(value == INT_MIN)


def to_ints(values: Vector) -> tuple[Vector, Bad]:
    """Returns whole floats as ints; bad where they are out of range."""
    import numpy as np

    bad = _any(~((values >= -(2.0**63)) & (values < 2.0**63)))
    return (values if bad is None else np.where(bad, 0.0, values)).astype(np.int64), bad


def _neighbour_vector(function: str) -> Callable[..., tuple[Vector, Bad]]:
    def whole(values: Vector) -> tuple[Vector, Bad]:
        import numpy as np

        return (values, None) if values.dtype.kind != "f" else to_ints(getattr(np, function)(values))

    return whole


def _round_vectors(values: Vector, digits: Vector | None = None) -> tuple[Vector, Bad]:
    import numpy as np

    if digits is not None:
        return _finite(_rounded_vector(values.astype(np.float64), np.broadcast_to(digits, values.shape)))
    if values.dtype.kind != "f":
        return values, None
    size = np.abs(values)
    below = np.floor(size)
    return to_ints(np.copysign(below + (size - below >= 0.5), values))


_EXACT_POWERS = 22
"""Powers of ten up to this one are floats."""


def _rounded_vector(values: Vector, digits: Vector) -> Vector:
    """Rounds where a scaled float tells on which side of a half the number is, and asks Python about the rest."""
    import numpy as np

    with np.errstate(all="ignore"):
        power = np.power(10.0, np.clip(digits, 0, _EXACT_POWERS).astype(np.float64))
        scaled = np.abs(values) * power
        below = np.floor(scaled)
        rest = scaled - below
        result = np.copysign((below + (rest >= 0.5)) / power, values)
        # The product is off by half a unit in the last place, and so is the text that the float prints as.
        unclear = np.abs(rest - 0.5) <= 4 * np.spacing(scaled)
        unclear |= (digits < 0) | (digits > _EXACT_POWERS) | ~(scaled < 2.0**52)
    for place in np.flatnonzero(unclear).tolist():
        if math.isfinite(values[place]):
            result[place] = float(rounded(float(values[place]), int(digits[place])))
    return result  # type: ignore[no-any-return]


def _real_vector(function: str) -> Callable[..., tuple[Vector, Bad]]:
    def computed(*values: Vector) -> tuple[Vector, Bad]:
        import numpy as np

        return _finite(getattr(np, function)(*values))

    return computed


def _extreme_vector(function: str) -> Callable[..., tuple[Vector, Bad]]:
    def chosen(*values: Vector) -> tuple[Vector, Bad]:
        import numpy as np

        result = values[0]
        for other in values[1:]:
            result = getattr(np, function)(result, other)
        return result, None

    return chosen


# --- columns of Spark -----------------------------------------------------------------------------------------------


def _arithmetic(symbol: str, of_ints: str) -> Callable[[Scope, list[Typed]], Typed]:
    """Returns the form of an operator that is Spark's own for floats, and one of its `try_` functions for ints."""

    def compiled(_scope: Scope, operands: list[Typed]) -> Typed:
        from emberlog.language import spark_columns as spark

        type_ = arithmetic_type(symbol, *(operand.type for operand in operands)) or UNKNOWN
        return spark.arithmetic_of(of_ints, operands, type_)

    return compiled


def _divide_columns(_scope: Scope, operands: list[Typed]) -> Typed:
    from emberlog.language import spark_columns as spark

    return spark.divided(operands)


def _integer_divide_columns(scope: Scope, operands: list[Typed]) -> Typed:
    from emberlog.language import spark_columns as spark

    return spark.whole_quotient(scope, *operands)


def _modulo_columns(_scope: Scope, operands: list[Typed]) -> Typed:
    from emberlog.language import spark_columns as spark

    return spark.remainder(operands)


def _negate_column(_scope: Scope, operands: list[Typed]) -> Typed:
    from emberlog.language import spark_columns as spark

    zero = spark.constant(0.0 if operands[0].type == FLOAT else 0)
    return spark.arithmetic_of("try_subtract", [zero, *operands], operands[0].type)


def _abs_column(scope: Scope, operands: list[Typed]) -> Typed:
    from pyspark.sql import functions as F

    from emberlog.language import spark_columns as spark

    one = scope.bound(operands[0])
    if one.type == FLOAT:
        return spark.from_operands(F.abs(one.column), FLOAT, [one])
    return spark.arithmetic(F.try_multiply(one.column, F.signum(one.column).cast("long")), INT, [one])


def _neighbour_column(function: str) -> Callable[[Scope, list[Typed]], Typed]:
    """Returns the form of a function to whole numbers, which in Spark stops at the last int without a word."""

    def compiled(scope: Scope, operands: list[Typed]) -> Typed:
        from pyspark.sql import functions as F

        from emberlog.language import spark_columns as spark

        if operands[0].type == INT:
            return operands[0]
        one = scope.bound(operands[0])
        return spark.whole(getattr(F, function)(one.column), one)

    return compiled


def _round_column(scope: Scope, operands: list[Typed]) -> Typed:
    """Compiles `round(X)`. With digits, Spark rounds what Java prints, which is not always what Python prints."""
    from pyspark.sql import functions as F

    from emberlog.language import spark_columns as spark

    if len(operands) > 1:
        return spark.through_python(scope, ROUND, operands)
    if operands[0].type == INT:
        return operands[0]
    one = scope.bound(operands[0])
    size = F.abs(one.column)
    below = size - size % F.lit(1.0)
    away = below + F.when(size - below >= F.lit(0.5), F.lit(1.0)).otherwise(F.lit(0.0))
    return spark.whole(F.when(one.column < 0, -away).otherwise(away), one)


def _real_column(function: str) -> Callable[[Scope, list[Typed]], Typed]:
    """Returns the form of a function of floats; where Spark gives null there is no finite value either."""

    def compiled(scope: Scope, operands: list[Typed]) -> Typed:
        from pyspark.sql import functions as F

        from emberlog.language import spark_columns as spark

        # A number that is none to the power 0 is 1, so operands have to be numbers first.
        closed = [scope.closed(operand) for operand in operands] if len(operands) > 1 else operands
        return spark.arithmetic(getattr(F, function)(*(one.as_float() for one in closed)), FLOAT, closed)

    return compiled


def _extreme_column(function: str) -> Callable[[Scope, list[Typed]], Typed]:
    """Returns the form of `least` or `greatest`, which in Spark pass over nulls."""

    def compiled(scope: Scope, operands: list[Typed]) -> Typed:
        from pyspark.sql import functions as F

        from emberlog.language import spark_columns as spark

        bound = [scope.bound(operand) for operand in operands]
        type_ = widest([operand.type for operand in bound])
        columns = [operand.converted(type_) for operand in bound]
        are_there = reduce(operator.and_, [column.isNotNull() for column in columns])
        return spark.from_operands(F.when(are_there, getattr(F, function)(*columns)), type_, bound, conditions=1)

    return compiled


# --- the entries ----------------------------------------------------------------------------------------------------


def _divides(_types: Types, constants: Constants) -> bool:
    """Returns a quotient of floats can overflow whatever the divisor is; only a divisor of at least 1 keeps it in
    range."""
    divisor = constants[1]
    return not (isinstance(divisor, int | float) and abs(divisor) >= 1)


def _divides_ints(_types: Types, constants: Constants) -> bool:
    return constants[1] is UNSET or constants[1] in (0, -1)


def _leaves_remainder(_types: Types, constants: Constants) -> bool:
    return constants[1] is UNSET or constants[1] == 0


def _operator(symbol: str, meaning: str, **rest: Any) -> Function:
    return Function(
        name=symbol,
        parameters=(NUMBER, NUMBER),
        result=lambda types: arithmetic_type(symbol, *types) or UNKNOWN,
        signature=f"X {symbol} Y",
        meaning=meaning,
        **rest,
    )


NEGATE = Function(
    name="-X",
    parameters=(NUMBER,),
    result=widest,
    signature="-X",
    meaning="negation",
    python=_checked(lambda value: -value),
    vector=_negate_vector,
    spark=_negate_column,
    fails=of_ints,
    leaves_range=True,
)

OPERATORS = {
    one.name: one
    for one in (
        _operator(
            "+",
            "the sum: of two ints an int, of two durations one, of a moment and a duration a moment, otherwise a float",
            is_mixed=True,
            python=_checked(lambda left, right: left + right),
            vector=_add_vectors,
            spark=_arithmetic("+", "try_add"),
            fails=sometimes,
            leaves_range=True,
            commutative=True,
        ),
        _operator(
            "-",
            "the difference: of two ints an int, of two moments a duration, of a moment and a duration a moment, "
            "otherwise a float",
            is_mixed=True,
            python=_checked(lambda left, right: left - right),
            vector=_subtract_vectors,
            spark=_arithmetic("-", "try_subtract"),
            fails=sometimes,
            leaves_range=True,
        ),
        _operator(
            "*",
            "the product: of two ints an int, of a duration and an int a duration, otherwise a float",
            is_mixed=True,
            python=_checked(lambda left, right: left * right),
            vector=multiply_vectors,
            spark=_arithmetic("*", "try_multiply"),
            fails=sometimes,
            leaves_range=True,
            commutative=True,
        ),
        _operator(
            "/",
            "division, a float; of a duration and an int a duration, cut off towards zero",
            is_real=True,
            python=_checked(_divide),
            vector=_divide_vectors,
            spark=_divide_columns,
            fails=_divides,
        ),
        _operator(
            "div",
            "division of ints, cut off towards zero: `-7 div 2` is `-3`",
            python=_checked(_integer_divide),
            vector=_integer_divide_vectors,
            spark=_integer_divide_columns,
            fails=_divides_ints,
        ),
        _operator(
            "mod",
            "the remainder, with the sign of the dividend: `-7 mod 2` is `-1`; also written `%`",
            python=_checked(_modulo),
            vector=_modulo_vectors,
            spark=_modulo_columns,
            fails=_leaves_remainder,
        ),
    )
}
"""By the symbols of the syntax tree."""


def _round_type(types: Types) -> DataType:
    return INT if len(types) == 1 else FLOAT


ROUND = Function(
    name="round",
    parameters=(NUMBER, INT),
    optional=1,
    result=_round_type,
    signature="round(X), round(X, Digits)",
    meaning="the nearest int, halves away from zero; with digits, the nearest such float, where X counts as the "
    "decimal number that it prints as: 1.005 is a half",
    python=_checked(_round),
    vector=_round_vectors,
    spark=_round_column,
    fails=lambda types, constants: len(types) > 1 or of_floats(types, constants),
    leaves_range=True,
    rises=True,
    keeps_sign=True,
)


def _real(
    name: str, meaning: str, function: Callable[..., float], *, spark: str, ulps: int = 0, **laws: Any
) -> Function:
    return Function(
        name=name,
        parameters=(NUMBER,),
        result=always(FLOAT),
        signature=f"{name}(X)",
        meaning=meaning,
        python=_of_reals(function),
        vector=_real_vector(name),
        spark=_real_column(spark),
        fails=sometimes,
        is_real=True,
        ulps=ulps,
        **laws,
    )


def _neighbour(name: str, meaning: str, function: Callable[..., int]) -> Function:
    return Function(
        name=name,
        parameters=(NUMBER,),
        result=always(INT),
        signature=f"{name}(X)",
        meaning=meaning,
        python=_checked(function),
        vector=_neighbour_vector(name),
        spark=_neighbour_column(name),
        fails=of_floats,
        leaves_range=True,
        rises=True,
        keeps_sign=True,
    )


def _extreme_function(name: str, meaning: str, choose: Callable[..., Any], vector: str) -> Function:
    return Function(
        name=name,
        parameters=(ORDERED, ORDERED),
        result=widest,
        signature=f"{name}(X, Y, …)",
        meaning=meaning,
        python=_extreme(choose),
        vector=_extreme_vector(vector),
        spark=_extreme_column(name),
        fails=never,
        is_mixed=True,
        variadic=True,
        rises=True,
        commutative=True,
    )


HALF = 2**32
"""What the upper half of an int counts."""


def _halves_vectors(upper: Vector, lower: Vector) -> tuple[Vector, Bad]:
    import numpy as np

    far = (upper > HALF) | (upper < -HALF)
    top = np.where(far, HALF, upper) + (lower >> 32)
    return (top << 32) | (lower & (HALF - 1)), _any((top < -(2**31)) | (top >= 2**31))


def _halves_columns(scope: Scope, operands: list[Typed]) -> Typed:
    from emberlog.language import spark_columns as spark

    return spark.put_together(*(scope.bound(operand) for operand in operands))


HALVES = Function(
    name="halves!",
    parameters=(INT, INT),
    result=always(INT),
    signature="halves!(Upper, Lower)",
    meaning="Upper times 2³², and Lower: the sum of numbers whose halves were added up apart",
    python=_checked(lambda upper, lower: upper * HALF + lower),
    vector=_halves_vectors,
    spark=_halves_columns,
    fails=sometimes,
    leaves_range=True,
)
"""What the optimizer writes where parts of a sum need not fit. Programs cannot write it."""

FUNCTIONS = (
    Function(
        name="abs",
        parameters=(NUMBER,),
        result=widest,
        signature="abs(X)",
        meaning="the absolute value",
        python=_checked(abs),
        vector=_abs_vector,
        spark=_abs_column,
        fails=of_ints,
        leaves_range=True,
        non_negative=True,
    ),
    _neighbour("floor", "the largest int that is not larger", math.floor),
    _neighbour("ceil", "the smallest int that is not smaller", math.ceil),
    ROUND,
    _real("sqrt", "the square root", math.sqrt, spark="sqrt", rises=True, non_negative=True),
    _real("exp", "e to the power X", math.exp, spark="exp", ulps=4, rises=True, non_negative=True),
    _real("log", "the natural logarithm", math.log, spark="ln", ulps=4, rises=True),
    Function(
        name="pow",
        parameters=(NUMBER, NUMBER),
        result=always(FLOAT),
        signature="pow(X, Y)",
        meaning="X to the power Y",
        python=_of_reals(math.pow),
        vector=_real_vector("power"),
        spark=_real_column("pow"),
        fails=sometimes,
        is_real=True,
        ulps=4,
    ),
    _extreme_function("least", "the smallest argument", min, "minimum"),
    _extreme_function("greatest", "the largest argument", max, "maximum"),
)
