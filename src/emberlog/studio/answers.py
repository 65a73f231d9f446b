"""Shows answers page by page: rows are sorted and filtered where they are, and only a page leaves it.

Facts of this process are a table of Arrow, and those of Spark a frame. A column is filtered by a short text: `5`,
`>= 5`, `10..20`, `!= 3`, `null`, `!null`; a column of texts by what they contain, or by `= Berlin`.
"""

from __future__ import annotations

import re
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from emberlog.datatypes import STRING, DataType
from emberlog.diagnostics import EmberlogError, fail
from emberlog.io.arrow_values import shown_column, shown_type
from emberlog.io.local_relation import LocalRelation
from emberlog.studio.runs import answered

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

ALL_IN_ORDER = 200_000
"""Rows that are shown in order without being asked to."""
FULLY_SORTED = 5_000_000
"""Rows above which only as much is sorted as a page needs."""
_AHEAD = 1_000
"""Rows that are sorted beyond the page, for the pages that follow."""

_CONDITION = re.compile(r"\s*(<=|>=|!=|=|<|>|!)?\s*(.*?)\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Condition:
    """Says which values of a column are shown."""

    column: int
    operator: str
    """One of =, !=, <, <=, >, >=, `between`, `contains`, `null` and `!null`."""
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """Says what of an answer is shown, and in which order."""

    sort: int | None = None
    """The column; None is the order of all columns, or none at all where there are too many rows."""
    is_descending: bool = False
    filters: tuple[tuple[int, str], ...] = ()
    """Of columns, as the person writes them."""


@dataclass(frozen=True, slots=True)
class Page:
    rows: tuple[tuple[Any, ...], ...]
    """As Python knows them."""
    first: int
    matching: int
    """Rows that the filters leave."""
    total: int
    is_in_order: bool = True


def condition_of(column: int, type_: DataType, text: str) -> Condition | None:
    """Reads what a person writes to filter a column; None where it is blank."""
    if not text.strip():
        return None
    found = _CONDITION.fullmatch(text)
    assert found is not None
    operator, value = found[1] or "", found[2]
    if value.lower() == "null" and operator in ("", "=", "!", "!="):
        return Condition(column, "!null" if operator.startswith("!") else "null")
    if operator == "!":
        raise fail("DL532", f"`{text}` is no filter", None, "write != and a value, or !null")
    if type_.parts:
        raise fail("DL532", f"a column of {type_} is filtered by null and !null only")
    if type_ == STRING:
        return Condition(column, operator or "contains", (value,))
    values = tuple(value.split("..")) if ".." in value and not operator else (value,)
    if len(values) > 2:
        raise fail("DL532", f"`{text}` is no filter", None, "a range has two ends: 10..20")
    for one in values:
        _as_value(one.strip(), shown_type(type_, plain_times=False) if type_.is_known else pa.string(), type_)
    return Condition(column, "between" if len(values) == 2 else operator or "=", tuple(map(str.strip, values)))


def _as_value(text: str, kind: pa.DataType, type_: DataType) -> pa.Scalar:
    try:
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            return pc.assume_timezone(pa.scalar(text.removesuffix("Z")).cast(pa.timestamp(kind.unit)), kind.tz)
        return pa.scalar(text.lower() if pa.types.is_boolean(kind) else text).cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise fail("DL532", f"`{text}` is not {type_.described}, as the column has") from None


class Answer(ABC):
    """Holds the facts of one relation, for a person who looks at some of them."""

    def __init__(self, name: str, columns: Sequence[str], types: Sequence[DataType]) -> None:
        self.name = name
        self.columns = tuple(columns)
        self.types = tuple(types)

    @property
    @abstractmethod
    def total(self) -> int:
        """Returns how many facts there are."""

    def page(self, view: View, first: int, count: int) -> Page:
        """Returns `count` rows from the place `first` on; raises DL532 if a filter cannot be read."""
        read = [condition_of(column, self.types[column], text) for column, text in view.filters]
        if view.sort is not None and self.types[view.sort].parts:
            raise fail("DL532", f"a column of {self.types[view.sort]} has no order here")
        return self._page(view, tuple(one for one in read if one is not None), max(first, 0), count)

    @abstractmethod
    def _page(self, view: View, conditions: tuple[Condition, ...], first: int, count: int) -> Page: ...

    def write(self, path: Path, form: str) -> None:
        """Writes all facts into one file, as `csv` or `parquet`."""
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            self._write(Path(folder) / "written", form)
            written = sorted(Path(folder).rglob(f"*.{form}*"))
            next(one for one in written if not one.name.startswith((".", "_"))).rename(path)

    @abstractmethod
    def _write(self, folder: Path, form: str) -> None: ...


@dataclass(slots=True)
class _Sorted:
    """Holds the rows of a view: all that match, and the places of those that come first in their order."""

    table: pa.Table
    keys: list[tuple[str, str]]
    places: pa.Array | None = None
    """None as long as nothing is sorted, or if there is no order."""


class LocalAnswer(Answer):
    """Shows facts of this process."""

    def __init__(self, name: str, relation: LocalRelation) -> None:
        super().__init__(name, relation.columns, relation.types)
        self.relation = relation
        self._filtered: tuple[tuple[Condition, ...], pa.Table] | None = None
        self._sorted: tuple[object, _Sorted] | None = None

    @property
    def total(self) -> int:
        return len(self.relation)

    def _page(self, view: View, conditions: tuple[Condition, ...], first: int, count: int) -> Page:
        if not self.types:
            rows = tuple(self.relation.facts)[first : first + count]
            return Page(rows, first, self.total, self.total)
        ordered = self._in_order(view, conditions)
        table = ordered.table
        if not ordered.keys:
            return Page(self._shown(table.slice(first, count)), first, table.num_rows, self.total, False)
        end = min(first + count, table.num_rows)
        places = ordered.places
        if places is None or len(places) < end:
            places = ordered.places = self._places(table, ordered.keys, end)
        rows = self._shown(table.take(places.slice(first, count)))
        return Page(rows, first, table.num_rows, self.total)

    def _write(self, folder: Path, form: str) -> None:
        from emberlog.io.writers import write_relations

        write_relations({"facts": self.relation}, folder, form, **({"header": True} if form == "csv" else {}))

    def _in_order(self, view: View, conditions: tuple[Condition, ...]) -> _Sorted:
        key, known = (view.sort, view.is_descending, conditions), self._sorted  # other threads ask for other views
        if known is None or known[0] != key:
            table = self._matching(conditions)
            plain = [f"{place}" for place, type_ in enumerate(self.types) if not type_.parts]
            others = [(name, "ascending") for name in plain if name != f"{view.sort}"]
            if view.sort is not None:  # then the others, so that no row is on two pages
                keys = [(f"{view.sort}", "descending" if view.is_descending else "ascending"), *others]
            else:
                keys = others if table.num_rows <= ALL_IN_ORDER else []
            known = self._sorted = (key, _Sorted(table.rename_columns([f"{i}" for i in range(len(self.types))]), keys))
        return known[1]

    @staticmethod
    def _places(table: pa.Table, keys: list[tuple[str, str]], end: int) -> pa.Array:
        few = end + _AHEAD
        if table.num_rows > FULLY_SORTED and few < table.num_rows // 100 and not table.column(keys[0][0]).null_count:
            return pc.select_k_unstable(table.select([name for name, _ in keys]), few, keys)
        return pc.sort_indices(table, sort_keys=keys)  # nulls come last

    def _matching(self, conditions: tuple[Condition, ...]) -> pa.Table:
        if not conditions:
            return self.relation.table
        known = self._filtered
        if known is None or known[0] != conditions:
            table, mask = self.relation.table, None
            for one in conditions:
                column = shown_column(
                    table.column(one.column), self.types[one.column], plain_times=self.relation.plain_times
                )
                holds = _mask(column, one, self.types[one.column])
                mask = holds if mask is None else pc.and_(mask, holds)
            known = self._filtered = (conditions, table.filter(mask))
        return known[1]

    def _shown(self, table: pa.Table) -> tuple[tuple[Any, ...], ...]:
        plain_times = self.relation.plain_times
        relation = LocalRelation(self.columns, self.types, table, plain_times=plain_times)
        return tuple(zip(*(column.to_pylist() for column in relation.to_arrow().columns), strict=True))


def _mask(column: pa.ChunkedArray, one: Condition, type_: DataType) -> Any:
    match one.operator:
        case "null":
            return pc.is_null(column)
        case "!null":
            return pc.is_valid(column)
        case "contains":
            return pc.match_substring(column, one.values[0], ignore_case=True)
    values = [_as_value(text, column.type, type_) for text in one.values]
    if one.operator == "between":
        return pc.and_(pc.greater_equal(column, values[0]), pc.less_equal(column, values[1]))
    return _ARROW[one.operator](column, values[0])


_ARROW: Mapping[str, Any] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


class SparkAnswer(Answer):
    """Shows a frame of Spark: each page is a query of its own."""

    def __init__(self, name: str, frame: DataFrame, types: Sequence[DataType]) -> None:
        super().__init__(name, frame.columns, types)
        self.frame = frame
        self._counts: dict[tuple[Condition, ...], int] = {}

    @property
    def total(self) -> int:
        return self._count(())

    def _count(self, conditions: tuple[Condition, ...]) -> int:
        if conditions not in self._counts:
            self._counts[conditions] = self._matching(conditions).count()
        return self._counts[conditions]

    def _page(self, view: View, conditions: tuple[Condition, ...], first: int, count: int) -> Page:
        from emberlog.engines.spark.failures import told_as_such

        with told_as_such():
            return self._read(view, conditions, first, count)

    def _read(self, view: View, conditions: tuple[Condition, ...], first: int, count: int) -> Page:
        total, matching = self.total, self._count(conditions)
        frame = self._matching(conditions)
        plain = [place for place, type_ in enumerate(self.types) if not type_.parts]
        places = [view.sort, *(place for place in plain if place != view.sort)] if view.sort is not None else plain
        is_in_order = view.sort is not None or total <= ALL_IN_ORDER
        if is_in_order:
            columns = [self._column(frame, place) for place in places]
            descends = view.sort is not None and view.is_descending
            frame = frame.orderBy(
                *(
                    one.desc_nulls_last() if descends and number == 0 else one.asc_nulls_last()
                    for number, one in enumerate(columns)
                )
            )
        rows = frame.offset(first).limit(count).collect()
        return Page(tuple(map(tuple, rows)), first, matching, total, is_in_order)

    def _write(self, folder: Path, form: str) -> None:
        from emberlog.io.spark_writers import write_relations

        write_relations({"facts": self.frame.coalesce(1)}, folder, form, header=form == "csv")

    def _matching(self, conditions: tuple[Condition, ...]) -> DataFrame:
        frame = self.frame
        for one in conditions:
            frame = frame.filter(self._holds(frame, one))
        return frame

    def _column(self, frame: DataFrame, place: int) -> Column:
        return frame["`{}`".format(self.columns[place].replace("`", "``"))]

    def _holds(self, frame: DataFrame, one: Condition) -> Column:
        column, values = self._column(frame, one.column), list(one.values)
        kind = frame.schema[one.column].dataType
        match one.operator:
            case "null":
                return column.isNull()
            case "!null":
                return column.isNotNull()
            case "contains":
                from pyspark.sql import functions as F

                return F.lower(column).contains(values[0].lower())
        from pyspark.sql import functions as F

        given = [F.lit(text).cast(kind) for text in values]
        match one.operator:
            case "between":
                return column.between(given[0], given[1])
            case "=":
                return column == given[0]
            case "!=":
                return column != given[0]
            case "<":
                return column < given[0]
            case "<=":
                return column <= given[0]
            case ">":
                return column > given[0]
        return column >= given[0]


@dataclass(frozen=True, slots=True)
class Problem:
    """Says why a page cannot be shown."""

    text: str
    hints: tuple[str, ...] = field(default=())


def page_or_problem(answer: Answer, view: View, first: int, count: int) -> Page | Problem:
    try:
        return answered(lambda: answer.page(view, first, count))
    except EmberlogError as error:
        found = error.diagnostics[0]
        return Problem(found.message, tuple(note.text for note in found.notes))
