"""Words that the grammar itself knows."""

from emberlog.language.registry import AGGREGATES

AGGREGATE_NAMES = {name: name for name in AGGREGATES} | {"count_distinct": "countd", "sum_distinct": "sumd"}
"""Every spelling of an aggregate. In a head, parentheses will do as well, `min(L)`, as in Datalography."""

LITERALS = {"null": None, "true": True, "false": False}
"""Names that are values, in any case."""

TIME_UNITS = {
    "milliseconds": 1,
    "seconds": 1_000,
    "minutes": 60_000,
    "hours": 3_600_000,
    "days": 86_400_000,
    "weeks": 7 * 86_400_000,
    "months": 30 * 86_400_000,
    "years": 365 * 86_400_000,
}
"""In milliseconds; accepted in the singular too."""

ANNOTATIONS = {"iterations": 1, "premappable": 0}
"""The annotations and how many arguments each takes."""
