"""Makes the functions that a user registered into functions of Spark, which end in faults with the name of the rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import Column

from emberlog.datatypes import DataType
from emberlog.language.aggregates import Aggregate
from emberlog.language.entry import Function
from emberlog.language.faults import Fault
from emberlog.language.spark_columns import arrow_udf, fault_text, reader, writer
from emberlog.language.spark_types import spark_type


def scalar_udf(function: Function, result: DataType, rules: str | None) -> Callable[..., Column]:
    """Returns a registered function of one row. It is not called where an argument is null, and is null there."""
    compute = function.python
    return _row_udf(lambda *arguments: None if None in arguments else compute(*arguments), result, rules)


def aggregate_udf(
    aggregate: Aggregate, types: Sequence[DataType], result: DataType, rules: str | None
) -> Callable[..., Column]:
    """Returns an aggregate that Python computes as a function of the list of a group's contributions."""
    accumulator, readers = aggregate.python, list(map(reader, types))

    def of_list(contributions: Any) -> Any:
        group = accumulator()
        for arguments in contributions or ():
            group.add(*(read(cell) for read, cell in zip(readers, arguments.values(), strict=True)))
        return group.value()

    return _row_udf(of_list, result, rules)


def _row_udf(compute: Callable[..., Any], result: DataType, rules: str | None) -> Callable[..., Column]:
    from pyspark.sql.pandas.types import to_arrow_type

    write = writer(result)
    spark_result = spark_type(result)
    arrow_result = to_arrow_type(spark_result)
    text = fault_text

    def value(row: tuple[Any, ...]) -> Any:
        try:
            return write(compute(*row))
        except Fault as fault:
            raise ValueError(text(fault.code, fault.message, rules)) from None

    def computed(*columns: Any) -> Any:
        import pyarrow as pa

        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        return pa.array([value(row) for row in rows], arrow_result)

    return arrow_udf(computed, spark_result)
