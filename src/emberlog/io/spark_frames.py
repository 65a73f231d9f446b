"""Makes frames of Spark the facts of relations: people's own, those of files and tables, and data of this process."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emberlog.io.intake import Source
from emberlog.io.local_relation import LocalRelation
from emberlog.io.matching import chosen_places, declared_order, has_plain_times
from emberlog.io.spark_conversions import as_relation, columns_of_frame, frame_of_table, narrower_decimals, quoted
from emberlog.logical.statistics import RelationStatistics
from emberlog.semantics.model import Column, Relation


class FrameSource(Source[DataFrame]):
    """Holds a frame of Spark."""

    def __init__(self, name: str, given: DataFrame, *, is_chosen: bool = False) -> None:
        self._name = name
        self._is_chosen = is_chosen
        self._given = given = narrower_decimals(name, given)
        columns_of_frame(name, given)  # better said now than when a program reads it

    def columns(self, declared: Sequence[Column] | None) -> Sequence[Column]:
        return columns_of_frame(self._name, self._in_order(declared))

    def relation(self, relation: Relation) -> DataFrame:
        return as_relation(self._in_order(relation.columns if relation.is_declared else None), relation)

    def original(self) -> DataFrame:
        return self._given

    def chosen(self, columns: Sequence[str]) -> FrameSource:
        chosen_places(self._name, self._given.columns, columns)
        given = self._given.select(*(F.col(quoted(wanted)) for wanted in columns))
        return FrameSource(self._name, given, is_chosen=True)

    def has_plain_times(self, relation: Relation) -> bool:
        return has_plain_times(self.columns(relation.columns if relation.is_declared else None), relation)

    def _in_order(self, declared: Sequence[Column] | None) -> DataFrame:
        own = self._given.columns
        order = declared_order(self._name, own, declared, is_chosen=self._is_chosen)
        if order == list(range(len(own))):
            return self._given
        return self._given.select(*(F.col(quoted(own[place])) for place in order))


class HeldSource(Source[DataFrame]):
    """Hands data of this process to Spark, once it is in the types of a relation."""

    def __init__(self, spark: SparkSession, held: Source[LocalRelation]) -> None:
        self._spark = spark
        self._held = held
        self._made: dict[object, tuple[LocalRelation, DataFrame]] = {}
        """What was made last, by the columns that were asked for: one program asks several times."""

    def columns(self, declared: Sequence[Column] | None) -> Sequence[Column] | None:
        return self._held.columns(declared)

    def relation(self, relation: Relation) -> DataFrame:
        return self._relation(relation)[1]

    def original(self) -> DataFrame:
        found = self._held.original()
        if not found.types:
            return frame_of_table(self._spark, found.table, ())
        return self._spark.createDataFrame(found.to_arrow())

    def chosen(self, columns: Sequence[str]) -> HeldSource:
        return HeldSource(self._spark, self._held.chosen(columns))

    def has_plain_times(self, relation: Relation) -> bool:
        return self._relation(relation)[0].plain_times

    def repeated_rows(self, relation: Relation) -> int | None:
        return self._held.repeated_rows(relation)

    def statistics(self, relation: Relation) -> RelationStatistics:
        return self._relation(relation)[0].statistics

    def _relation(self, relation: Relation) -> tuple[LocalRelation, DataFrame]:
        key = (relation.columns, relation.is_declared)
        found = self._made.get(key)
        if found is None:
            local = self._held.relation(relation)
            table = local.table.rename_columns([f"c{i}" for i in range(relation.arity)])
            found = local, frame_of_table(self._spark, table, local.types)
            self._made = {key: found}  # another thread may ask for other columns
        return found
