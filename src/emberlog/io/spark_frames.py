"""Makes frames of Spark the facts of relations: people's own, those of files and tables, and data of this process.

What is small may be on Spark, in this process, or in both: `Placed` makes the one from the other, once.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types
from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame

from emberlog.io.arrow_values import arrow_type
from emberlog.io.intake import Glance, Source, TableSource
from emberlog.io.local_relation import LocalRelation
from emberlog.io.matching import chosen_places, declared_order, has_plain_times
from emberlog.io.paths import file_states
from emberlog.io.spark_conversions import (
    CHANGED,
    CORRUPT,
    as_relation,
    as_stream,
    columns_of_frame,
    frame_of_table,
    local_frame,
    narrower_decimals,
    quoted,
)
from emberlog.logical.statistics import RelationStatistics
from emberlog.semantics.model import Column, Relation

_log = logging.getLogger("emberlog")


class Placed:
    """Holds a relation where it is, on Spark or in this process, and brings it to the other when somebody needs it
    there; once."""

    def __init__(
        self,
        frame: Callable[[], DataFrame],
        local: LocalRelation | None = None,
        at_hand: Callable[[int | None], LocalRelation | None] = lambda _most: None,
    ) -> None:
        """`at_hand` gives the facts in this process where they can be had without a job of Spark, unless they take
        more than so many bytes."""
        self._make_frame = frame
        self._frame: DataFrame | None = None
        self._making = Lock()
        """Two threads may read answers that both need a relation which takes a job to make."""
        self._local = local
        self.is_made_here = local is not None
        """Whether the frame is made of what is in this process, and not the other way round."""
        self._at_hand = at_hand
        self._passed = 0
        """How many bytes were too few."""

    @staticmethod
    def here(spark: SparkSession, relation: LocalRelation) -> Placed:
        return Placed(lambda: frame_of(spark, relation), relation)

    @property
    def frame(self) -> DataFrame:
        with self._making:
            if self._frame is None:
                self._frame = self._make_frame()
            return self._frame

    @property
    def is_here(self) -> bool:
        return self._local is not None

    def local(self, most: int | None) -> LocalRelation | None:
        """Returns the facts in this process, if that takes no job and at most so many bytes."""
        if self._local is None and (most is None or most > self._passed):
            self._local = self._at_hand(most)
            self._passed = most or 0
        return self._local if self._local is not None and (most is None or size_of(self._local) <= most) else None

    def bring(self, relation: LocalRelation) -> None:
        """Takes what somebody collected."""
        self._local = relation

    def distinct(self) -> Placed:
        """Returns the relation with each row once on Spark; here it is as it was, and whoever reads it has to know."""
        return Placed(lambda: self.frame.distinct(), self._local, self.local)


def size_of(relation: LocalRelation) -> int:
    """Returns how many bytes the facts take, about."""
    if relation.is_table:
        return int(relation.table.nbytes)
    return 8 * len(relation) * len(relation.types)


def frame_of(spark: SparkSession, relation: LocalRelation) -> DataFrame:
    """Returns facts of this process as a frame that lives in its plan: no job is run to make it or to count it."""
    if all(type_.is_known for type_ in relation.types):
        # Workers have narrower ints, and texts in other forms.
        wanted = pa.schema(list(zip(relation.columns, map(arrow_type, relation.types), strict=True)))
        return frame_of_table(spark, relation.table.cast(wanted), relation.types)
    return local_frame(spark, relation.columns, relation.types, list(relation.facts))


class CountedFrame(ClassicFrame):
    """Is a frame like any other, but it is known how many rows it has, and Spark hears of it when it is first used for
    anything else than counting them."""

    def __new__(cls, *_given: object) -> CountedFrame:
        # Until 4.2, Spark's own takes what its frames are made of and nothing else.
        made: CountedFrame = object.__new__(cls)
        return made

    def __init__(self, spark: SparkSession, rows: int, make: Callable[[], DataFrame]) -> None:
        self._rows = rows
        self._make = make
        self._made: Any = None
        super().__init__(None, spark)

    @property
    def _jdf(self) -> Any:
        if self._made is None:
            self._made = self._make()._jdf
        return self._made

    @_jdf.setter
    def _jdf(self, made: Any) -> None:
        self._made = made

    def count(self) -> int:
        return self._rows


class MadeWhenRead(Mapping[str, DataFrame]):
    """Holds frames by name, each of which is made when somebody reads it, once."""

    def __init__(self, make: Mapping[str, Callable[[], DataFrame]]) -> None:
        self._make = make
        self._made: dict[str, DataFrame] = {}

    def __getitem__(self, name: str) -> DataFrame:
        if name not in self._made:
            self._made[name] = self._make[name]()
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._make

    def __iter__(self) -> Iterator[str]:
        return iter(self._make)

    def __len__(self) -> int:
        return len(self._make)


class ParquetHere:
    """Reads Parquet files of this machine into this process, and again when they have changed, where their values mean
    the same to Arrow and to Spark."""

    def __init__(self, name: str, files: Sequence[Path], schema: spark_types.StructType) -> None:
        self._name = name
        self._files = files
        self._schema = schema
        self._read: tuple[object, TableSource | None] = (None, None)
        """What was read, and what the files were like then."""

    def source(self, most: int | None) -> TableSource | None:
        """Returns the rows, unless they take more than so many bytes."""
        try:
            state = file_states(self._files)
            if self._read[0] != state:
                files = [pyarrow.parquet.ParquetFile(file) for file in self._files]
                if not all(_means_the_same(one.schema_arrow, self._schema) for one in files):
                    self._read = state, None
                elif most is None or self._size(files) <= most:
                    whole = pa.concat_tables([one.read() for one in files], promote_options="default")
                    self._read = state, TableSource(self._name, whole)
                else:
                    return None
        except (OSError, pa.ArrowException) as problem:
            _log.info("Spark reads `%s` for this process, which cannot: %s", self._name, problem)
            return None
        return self._read[1]

    def _size(self, files: Sequence[pyarrow.parquet.ParquetFile]) -> int:
        """Returns about how many bytes the rows take here."""
        texts = sum(map(os.path.getsize, self._files)) if _has_texts(self._schema) else 0
        rows: int = sum(one.metadata.num_rows for one in files)
        return 8 * rows * len(self._schema.fields) + texts


def _has_texts(schema: spark_types.StructType) -> bool:
    return any(isinstance(field.dataType, spark_types.StringType) for field in schema.fields)


_THE_SAME: dict[type[spark_types.DataType], tuple[pa.DataType, ...]] = {
    spark_types.ByteType: (pa.int8(),),
    spark_types.ShortType: (pa.int16(),),
    spark_types.IntegerType: (pa.int32(),),
    spark_types.LongType: (pa.int64(),),
    spark_types.FloatType: (pa.float32(),),
    spark_types.DoubleType: (pa.float64(),),
    spark_types.StringType: (pa.string(), pa.large_string()),
    spark_types.BooleanType: (pa.bool_(),),
}
"""What is read alike by both. Moments, dates and decimals have several forms in files, and are left to Spark."""


def _means_the_same(found: pa.Schema, schema: spark_types.StructType) -> bool:
    return found.names == schema.names and all(
        own.type in _THE_SAME.get(type(field.dataType), ()) for own, field in zip(found, schema.fields, strict=True)
    )


class FrameSource(Source[DataFrame]):
    """Holds a frame of Spark."""

    def __init__(
        self, name: str, given: DataFrame, *, chosen: Sequence[str] | None = None, here: ParquetHere | None = None
    ) -> None:
        """`chosen` are the columns of `here` that somebody chose, if any."""
        self._name = name
        self._chosen = chosen
        self._here = here
        self._all = given = narrower_decimals(name, given)
        self._extras = [one for one in (CORRUPT, CHANGED) if given.isStreaming and one in given.columns]
        self._given = given = given.drop(*self._extras) if self._extras else given
        columns_of_frame(name, given)  # better said now than when a program reads it

    def columns(self, declared: Sequence[Column] | None) -> Sequence[Column]:
        return columns_of_frame(self._name, self._in_order(declared))

    def glance(self) -> Glance:
        return Glance(columns_of_frame(self._name, self._given), None)

    def relation(self, relation: Relation) -> DataFrame:
        frame = self._in_order(relation.columns if relation.is_declared else None)
        if not relation.is_stream or not frame.isStreaming:
            return as_relation(frame, relation)
        if self._extras:
            places = self._order(relation.columns if relation.is_declared else None)
            own = [self._given.columns[place] for place in places]
            frame = self._all.select(*(F.col(quoted(name)) for name in (*own, *self._extras)))
        return as_stream(frame, relation, self._extras)

    def original(self) -> DataFrame:
        return self._given

    def chosen(self, columns: Sequence[str]) -> FrameSource:
        chosen_places(self._name, self._given.columns, columns)
        given = self._all.select(*(F.col(quoted(wanted)) for wanted in (*columns, *self._extras)))
        return FrameSource(self._name, given, chosen=columns, here=self._here)

    def at_hand(self, relation: Relation, most: int | None) -> LocalRelation | None:
        source = self._here.source(most) if self._here is not None else None
        if source is not None and self._chosen is not None:
            source = source.chosen(self._chosen)
        return None if source is None else source.relation(relation)

    def has_plain_times(self, relation: Relation) -> bool:
        return has_plain_times(self.columns(relation.columns if relation.is_declared else None), relation)

    def _order(self, declared: Sequence[Column] | None) -> list[int]:
        own = list(self._given.columns)
        if CHANGED in self._extras and declared and own[0].lower() not in [one.name.lower() for one in declared]:
            own[0] = declared[0].name  # the time of a change has a name of its own
        return declared_order(self._name, own, declared, is_chosen=self._chosen is not None)

    def _in_order(self, declared: Sequence[Column] | None) -> DataFrame:
        own = self._given.columns
        order = self._order(declared)
        if order == list(range(len(own))):
            return self._given
        return self._given.select(*(F.col(quoted(own[place])) for place in order))


class HeldSource(Source[DataFrame]):
    """Hands data of this process to Spark, once it is in the types of a relation."""

    def __init__(self, spark: SparkSession, held: Source[LocalRelation]) -> None:
        self._spark = spark
        self._held = held
        self._made: dict[object, Placed] = {}
        """What was made last, by the columns that were asked for: one program asks several times."""

    def columns(self, declared: Sequence[Column] | None) -> Sequence[Column] | None:
        return self._held.columns(declared)

    def glance(self) -> Glance:
        return self._held.glance()

    def relation(self, relation: Relation) -> DataFrame:
        return self._placed(relation).frame

    def at_hand(self, relation: Relation, most: int | None) -> LocalRelation | None:
        return self._placed(relation).local(most)

    def original(self) -> DataFrame:
        found = self._held.original()
        if not found.types:
            return frame_of_table(self._spark, found.table, ())
        return self._spark.createDataFrame(found.to_arrow())

    def chosen(self, columns: Sequence[str]) -> HeldSource:
        return HeldSource(self._spark, self._held.chosen(columns))

    def has_plain_times(self, relation: Relation) -> bool:
        return self._local(relation).plain_times

    def repeated_rows(self, relation: Relation) -> int | None:
        return self._held.repeated_rows(relation)

    def statistics(self, relation: Relation) -> RelationStatistics:
        return self._local(relation).statistics

    def _local(self, relation: Relation) -> LocalRelation:
        found = self._placed(relation).local(None)
        assert found is not None
        return found

    def _placed(self, relation: Relation) -> Placed:
        key = (relation.columns, relation.is_declared)
        found = self._made.get(key)
        if found is None:
            local = self._held.relation(relation)

            def frame() -> DataFrame:
                table = local.table.rename_columns([f"c{i}" for i in range(relation.arity)])
                return frame_of_table(self._spark, table, local.types)

            found = Placed(frame, local)
            self._made = {key: found}  # another thread may ask for other columns
        return found
