"""Defines the functions of dates, timestamps and durations.

They take timestamps: where a program gives a date, the type checker writes `timestamp!` around it. So does the rest of
what only types tell: `T + D` of a timestamp and a duration becomes `later!(T, D)`, and `string(T)` becomes `text!`.
Everything is in UTC; no setting of a machine or a session has a say.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from emberlog.datatypes import DATE, DURATION, FLOAT, INT, STRING, TIMESTAMP, DataType
from emberlog.language.entry import ANY, Constants, Function, Types, always, never, one_of, sometimes
from emberlog.language.faults import Fault
from emberlog.language.spellings import (
    BEYOND,
    DAY,
    DIRECTIVES,
    FIRST_MOMENT,
    HOUR,
    LAST_MOMENT,
    MINUTE,
    SECOND,
    day_of,
    days_of,
    formatted,
    in_calendar,
    moment_of,
    parsed,
    read_date,
    read_timestamp,
    spelled_as,
)
from emberlog.language.values import CellValue

if TYPE_CHECKING:
    from emberlog.language.entry import Bad, Vector
    from emberlog.language.spark_columns import Scope, Typed

NOT_WHOLE_DAYS = "a date and a duration that is not of whole days give no date"
MOMENT = one_of(DATE, TIMESTAMP)

SPANS = {"day": DAY, "hour": HOUR, "minute": MINUTE, "second": SECOND}
UNITS_OF_CALENDAR = ("year", "quarter", "month", "week", *SPANS)
"""What moments can be truncated to."""


# --- plain Python ---------------------------------------------------------------------------------------------------


def _whole_day(time: int) -> int:
    if time % DAY:
        raise Fault("DL517", NOT_WHOLE_DAYS, "timestamp(D) is the midnight of a date: add the duration to it")
    return time // DAY


def _date(value: CellValue) -> int:
    if isinstance(value, str):
        try:
            return read_date(value)
        except ValueError:
            raise Fault("DL516", f'"{value}" is not a date', 'a date is written "2026-01-05"') from None
    assert isinstance(value, int)
    return in_calendar(value) // DAY


def _timestamp(value: CellValue) -> int:
    if isinstance(value, str):
        try:
            return read_timestamp(value)
        except ValueError:
            hint = 'a timestamp is written "2026-01-05 10:30:00"; parse_time(S, Format) reads other forms'
            raise Fault("DL516", f'"{value}" is not a timestamp', hint) from None
    assert isinstance(value, int)
    return in_calendar(value)


def _field(read: Callable[[Any], int]) -> Callable[[int], int]:
    return lambda time: read(moment_of(in_calendar(time)))


def _truncate(time: int, unit: str) -> int:
    in_calendar(time)
    if unit in SPANS:
        return time - time % SPANS[unit]
    day = day_of(time // DAY)
    match unit:
        case "year":
            return days_of(day.replace(month=1, day=1)) * DAY
        case "quarter":
            return days_of(day.replace(month=day.month - (day.month - 1) % 3, day=1)) * DAY
        case "month":
            return days_of(day.replace(day=1)) * DAY
        case "week":
            return (days_of(day) - day.weekday()) * DAY  # the first day of all is a Monday
        case _:
            raise Fault("DL516", f'"{unit}" is not a unit of the calendar', f"known are {', '.join(UNITS_OF_CALENDAR)}")


def _add_months(time: int, months: int) -> int:
    in_calendar(time)
    day = day_of(time // DAY)
    years, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if not 1 <= years <= 9999:
        raise Fault("DL515", BEYOND)
    _, last = calendar.monthrange(years, month + 1)
    return days_of(day.replace(years, month + 1, min(day.day, last))) * DAY + time % DAY


# --- vectors --------------------------------------------------------------------------------------------------------


def _beyond(times: Vector, overflown: Any = False) -> Bad:
    bad = (times < FIRST_MOMENT) | (times > LAST_MOMENT) | overflown
    return bad if bad.any() else None


def _later_vectors(times: Vector, durations: Vector) -> tuple[Vector, Bad]:
    total = times + durations
    return total, _beyond(total, ((times ^ total) & (durations ^ total)) < 0)


def _earlier_vectors(times: Vector, durations: Vector) -> tuple[Vector, Bad]:
    total = times - durations
    return total, _beyond(total, ((times ^ durations) & (times ^ total)) < 0)


def _whole_day_vector(times: Vector) -> tuple[Vector, Bad]:
    bad = times % DAY != 0
    return times // DAY, bad if bad.any() else None


def _field_vector(read: Callable[[Any], Any]) -> Callable[[Vector], tuple[Vector, Bad]]:
    """Returns a field of moments, read from days of numpy, which knows the same calendar."""

    def computed(times: Vector) -> tuple[Vector, Bad]:
        import numpy as np

        return read((times // DAY).astype("datetime64[D]")).astype(np.int64), _beyond(times)

    return computed


def _within_vector(span: int, unit: int) -> Callable[[Vector], tuple[Vector, Bad]]:
    return lambda times: (times % span // unit, _beyond(times))


def _since(days: Any, unit: str) -> Any:
    return (days - days.astype(f"datetime64[{unit}]").astype("datetime64[D]")).astype("int64")


def _weekday(days: Any) -> Any:
    return (days.astype("int64") + 3) % 7 + 1  # the first of January 1970 was a Thursday


def _week(days: Any) -> Any:
    """Returns the week of ISO 8601: that of a day is the one of its Thursday."""
    thursday = days + (4 - _weekday(days))
    return _since(thursday, "Y") // 7 + 1


# --- columns of Spark -----------------------------------------------------------------------------------------------


def _spark_days(scope: Scope, operand: Typed) -> tuple[Typed, Any, Any]:
    """Returns a timestamp that is held, its day as Spark knows it, and whether the calendar has it. Spark's timestamps
    would be read in the time zone of the session; a day has none."""
    from pyspark.sql import functions as F

    one = scope.bound(operand)
    fits = (one.column >= F.lit(FIRST_MOMENT)) & (one.column <= F.lit(LAST_MOMENT))
    within = F.when(fits, one.column)
    number = F.call_function("div", within - F.pmod(within, F.lit(DAY)), F.lit(DAY))
    return one, F.date_from_unix_date(number.cast("int")), fits


def _opened(column: Any, type_: DataType, operands: list[Typed], fits: Any) -> Typed:
    from emberlog.language import spark_columns as spark

    return spark.opened(column, type_, operands, spark.Check(~fits, "DL515", BEYOND), conditions=1)


def _field_column(function: str) -> Callable[[Scope, list[Typed]], Typed]:
    def compiled(scope: Scope, operands: list[Typed]) -> Typed:
        from pyspark.sql import functions as F

        one, day, fits = _spark_days(scope, operands[0])
        found = getattr(F, function)(day)
        found = found + F.lit(1) if function == "weekday" else found
        return _opened(found.cast("long"), INT, [one], fits)

    return compiled


def _within_column(span: int, unit: int) -> Callable[[Scope, list[Typed]], Typed]:
    def compiled(scope: Scope, operands: list[Typed]) -> Typed:
        from pyspark.sql import functions as F

        one, _, fits = _spark_days(scope, operands[0])
        found = F.call_function("div", F.pmod(F.when(fits, one.column), F.lit(span)), F.lit(unit))
        return _opened(found, INT, [one], fits)

    return compiled


def _moved_column(function: str) -> Callable[[Scope, list[Typed]], Typed]:
    def compiled(scope: Scope, operands: list[Typed]) -> Typed:
        from pyspark.sql import functions as F

        from emberlog.language import spark_columns as spark

        one, other = (scope.bound(operand) for operand in operands)
        total = scope.held(spark.opened(getattr(F, function)(one.column, other.column), TIMESTAMP, [one, other]))
        fits = (total.column >= F.lit(FIRST_MOMENT)) & (total.column <= F.lit(LAST_MOMENT))
        beyond = spark.Check(F.coalesce(~fits, F.lit(True)), "DL515", BEYOND)
        return spark.opened(F.when(fits, total.column), TIMESTAMP, [total], beyond, conditions=1)

    return compiled


def _midnight_column(_scope: Scope, operands: list[Typed]) -> Typed:
    from pyspark.sql import functions as F

    from emberlog.language import spark_columns as spark

    return spark.from_operands(operands[0].column * F.lit(DAY), TIMESTAMP, operands)


def _whole_day_column(scope: Scope, operands: list[Typed]) -> Typed:
    from pyspark.sql import functions as F

    from emberlog.language import spark_columns as spark

    one = scope.bound(operands[0])
    is_midnight = F.pmod(one.column, F.lit(DAY)) == 0
    day = F.when(is_midnight, F.call_function("div", one.column, F.lit(DAY)))
    return spark.opened(day, DATE, [one], spark.Check(~is_midnight, "DL517", NOT_WHOLE_DAYS), conditions=1)


def _date_column(scope: Scope, operands: list[Typed]) -> Typed:
    from pyspark.sql import functions as F

    if operands[0].type == STRING:
        return _python_column("date", "is not a date")(scope, operands)
    one, day, fits = _spark_days(scope, operands[0])
    return _opened(F.unix_date(day).cast("long"), DATE, [one], fits)


def _python_column(name: str, complaint: str) -> Callable[[Scope, list[Typed]], Typed]:
    """Returns the form of a function that Python computes; where it has no value, its argument is told."""

    def compiled(scope: Scope, operands: list[Typed]) -> Typed:
        from pyspark.sql import functions as F

        from emberlog.language import spark_columns as spark

        held = [scope.held(operand) for operand in operands]
        made = spark.through_python(scope, BY_NAME[name], held)
        first, missing = held[0].column, made.column.isNull()
        checks = []
        if held[0].type.is_whole:
            beyond = (first < F.lit(FIRST_MOMENT)) | (first > F.lit(LAST_MOMENT))
            checks.append(spark.Check(missing & beyond, "DL515", BEYOND))
        if STRING in (one.type for one in held):
            quoted = F.concat(F.lit('"'), held[-1 if held[0].type.is_whole else 0].column, F.lit('"'))
            checks.append(spark.Check(missing, "DL516", f" {complaint}", quoted))
        else:
            checks.append(spark.Check(missing, "DL515", BEYOND))
        return replace(made, checks=(*made.checks, *checks))

    return compiled


# --- the entries ----------------------------------------------------------------------------------------------------


def _entry(
    name: str,
    parameters: tuple[DataType, ...],
    result: DataType | Callable[[Types], DataType],
    meaning: str,
    **rest: Any,
) -> Function:
    rest.setdefault("fails", sometimes)
    letters = {MOMENT: "T", TIMESTAMP: "T", STRING: "S", DURATION: "D", INT: "N"}
    listed = ", ".join(letters.get(one, "X") for one in parameters)
    rest.setdefault("signature", f"{name}({listed})")
    found = always(result) if isinstance(result, DataType) else result
    return Function(name=name, parameters=parameters, result=found, meaning=meaning, **rest)


def _field_entry(name: str, meaning: str, read: Callable[[Any], int], vector: Any, spark: Any) -> Function:
    return _entry(
        name,
        (MOMENT,),
        INT,
        meaning,
        python=_field(read),
        vector=vector,
        spark=spark,
        leaves_range=True,
        non_negative=True,
    )


def _clock(name: str, meaning: str, span: int, unit: int) -> Function:
    return _field_entry(
        name, meaning, lambda moment: getattr(moment, name), _within_vector(span, unit), _within_column(span, unit)
    )


def _of_calendar(
    name: str, meaning: str, read: Callable[[Any], int], days: Callable[[Any], Any], spark: str
) -> Function:
    return _field_entry(name, meaning, read, _field_vector(days), _field_column(spark))


def _same_kind(types: Types) -> DataType:
    return DATE if types[0] == DATE else TIMESTAMP


def _reads_text(types: Types, _constants: Constants) -> bool:
    return STRING in types or INT in types


_FORMAT = "as the format says: " + ", ".join(f"`%{letter}` {what}" for letter, (what, *_) in DIRECTIVES.items())

FORMAT_TIME = _entry(
    "format_time",
    (MOMENT, STRING),
    STRING,
    f"T {_FORMAT}",
    python=formatted,
    spark=_python_column("format_time", "is not a format of a moment"),
    signature="format_time(T, Format)",
)
PARSE_TIME = _entry(
    "parse_time",
    (STRING, STRING),
    TIMESTAMP,
    "the timestamp that S spells in a format of `%Y %m %d %H %M %S %f %%`; other text is an error",
    python=parsed,
    spark=_python_column("parse_time", "is not a moment in the format"),
    signature="parse_time(S, Format)",
)
PARSE_DATE = _entry(
    "parse_date",
    (STRING, STRING),
    DATE,
    "the date that S spells in such a format; other text is an error",
    python=lambda text, format: parsed(text, format) // DAY,
    spark=_python_column("parse_date", "is not a moment in the format"),
    signature="parse_date(S, Format)",
)
TRUNCATE = _entry(
    "truncate",
    (MOMENT, STRING),
    _same_kind,
    "the first moment of the year, quarter, month, week (from Monday), day, hour, minute or second that T is in; of a "
    "date, a date",
    python=_truncate,
    spark=_python_column("truncate", "is not a unit of the calendar"),
    signature="truncate(T, Unit)",
)

FUNCTIONS = (
    _of_calendar(
        "year",
        "the year",
        lambda moment: moment.year,
        lambda days: days.astype("datetime64[Y]").astype("int64") + 1970,
        "year",
    ),
    _of_calendar(
        "month",
        "the month, 1 to 12",
        lambda moment: moment.month,
        lambda days: days.astype("datetime64[M]").astype("int64") % 12 + 1,
        "month",
    ),
    _of_calendar(
        "day", "the day of the month", lambda moment: moment.day, lambda days: _since(days, "M") + 1, "dayofmonth"
    ),
    _clock("hour", "the hour, 0 to 23", DAY, HOUR),
    _clock("minute", "the minute", HOUR, MINUTE),
    _clock("second", "the second, without its fraction", MINUTE, SECOND),
    _of_calendar("weekday", "the weekday, 1 (Monday) to 7", lambda moment: moment.isoweekday(), _weekday, "weekday"),
    _of_calendar(
        "day_of_year",
        "the day of the year, 1 to 366",
        lambda moment: moment.timetuple().tm_yday,
        lambda days: _since(days, "Y") + 1,
        "dayofyear",
    ),
    _of_calendar(
        "week",
        "the week of the year of ISO 8601, 1 to 53",
        lambda moment: moment.isocalendar().week,
        _week,
        "weekofyear",
    ),
    TRUNCATE,
    _entry(
        "add_months",
        (MOMENT, INT),
        _same_kind,
        "T so many months later, at the end of a month that is too short; of a date, a date",
        python=_add_months,
        spark=_python_column("add_months", ""),
        leaves_range=True,
        signature="add_months(T, Months)",
    ),
    FORMAT_TIME,
    PARSE_TIME,
    PARSE_DATE,
    _entry(
        "date",
        (one_of(DATE, TIMESTAMP, STRING),),
        DATE,
        "the day of T in UTC; text such as `2026-01-05` is read",
        python=_date,
        spark=_date_column,
        rises=True,
        signature="date(T)",
    ),
    _entry(
        "timestamp",
        (one_of(DATE, TIMESTAMP, STRING, INT),),
        TIMESTAMP,
        "a date's midnight in UTC; an int counts microseconds since 1970; text such as `2026-01-05 10:30:00` is read",
        python=_timestamp,
        spark=_python_column("timestamp", "is not a timestamp"),
        fails=_reads_text,
        signature="timestamp(X)",
    ),
    _entry(
        "seconds",
        (DURATION,),
        FLOAT,
        "the seconds of a duration, with their fraction",
        python=lambda duration: duration / SECOND,
        fails=never,
        rises=True,
        keeps_sign=True,
    ),
)

BY_NAME = {one.name: one for one in FUNCTIONS}

MIDNIGHT = _entry(
    "timestamp!",
    (DATE,),
    TIMESTAMP,
    "the midnight of a date in UTC",
    python=lambda day: day * DAY,
    vector=lambda days: (days * DAY, None),
    spark=_midnight_column,
    fails=never,
    rises=True,
)
LATER = _entry(
    "later!",
    (TIMESTAMP, DURATION),
    TIMESTAMP,
    "a moment that is later by a duration",
    python=lambda time, duration: in_calendar(time + duration),
    vector=_later_vectors,
    spark=_moved_column("try_add"),
    leaves_range=True,
    rises=True,
)
EARLIER = _entry(
    "earlier!",
    (TIMESTAMP, DURATION),
    TIMESTAMP,
    "a moment that is earlier by a duration",
    python=lambda time, duration: in_calendar(time - duration),
    vector=_earlier_vectors,
    spark=_moved_column("try_subtract"),
    leaves_range=True,
)
WHOLE_DAY = _entry(
    "whole_day!",
    (TIMESTAMP,),
    DATE,
    "the date of a midnight; other moments are an error",
    python=_whole_day,
    vector=_whole_day_vector,
    spark=_whole_day_column,
    rises=True,
)
TEXT = _entry(
    "text!",
    (ANY, STRING),
    STRING,
    "a value of the type that is named, as text",
    python=spelled_as,
    fails=never,
)
INTERNAL = (MIDNIGHT, LATER, EARLIER, WHOLE_DAY, TEXT)
"""What the type checker writes, and programs cannot."""
