"""Columns of plans as columns of Spark: their names.

Spark does not tell `x` from `X` in a name and reads dots and quotes in it, so variables get names without either.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F


def spark_name(name: str) -> str:
    """Returns a name of lower-case letters, digits and `_` that no other name is turned into: `X` is `_x`, `_` is
    `__`."""
    return "".join(map(_encoded, name))


def _encoded(character: str) -> str:
    if character == "_":
        return "__"
    if "A" <= character <= "Z":
        return f"_{character.lower()}"
    if "a" <= character <= "z" or "0" <= character <= "9":
        return character
    return f"_{ord(character)}_"


def column(name: str) -> Column:
    """Returns the column of a variable."""
    return F.col(spark_name(name))
