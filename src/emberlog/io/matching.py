"""Matches the columns of data with those that a program wants: their names, their number and their types.

Data in this process and data that Spark reads are converted in two ways, but by the same rules and with the same
errors, which are here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from emberlog.datatypes import FLOAT, INT, STRING, TIMESTAMP, UNKNOWN, DataType
from emberlog.diagnostics import EmberlogError, fail, nearest
from emberlog.semantics.model import Column, Relation

_HINTS = {
    "time": "a timestamp, a duration or text can be used",
    "binary": "text in UTF-8 can be used",
    "map": "one row for each entry can be used",
    "struct": "its fields as columns of their own can be used; a struct of two fields is a pair",
}


def declared_order(
    relation: str, own: Sequence[str], declared: Sequence[Column] | None, *, is_chosen: bool = False
) -> list[int]:
    """Returns the places of the columns in their own order, or in that of a declaration with just the same names.
    Raises DL423 if only some names agree, where to go by position is a guess, unless somebody chose the order."""
    names = [name.lower() for name in own]
    wanted = [column.name.lower() for column in declared or ()]
    in_place = list(range(len(names)))
    if names == [f"c{place + 1}" for place in in_place]:  # names that nobody gave
        return in_place
    if sorted(names) == sorted(wanted) and len(set(names)) == len(names):
        return [names.index(name) for name in wanted]
    if len(names) == len(wanted) and not is_chosen and set(names) & set(wanted):
        said = _listed(column.name for column in declared or ())
        raise fail(
            "DL423",
            f"the columns of `{relation}` are {_listed(own)} in the data, and {said} in the declaration",
            None,
            "give them the same names, or say their order: db.register(…, columns=[…])",
        )
    return in_place


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def chosen_places(name: str, own: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Returns the places of the columns that somebody chose by name; raises DL409 if one is not there just once."""
    for one in wanted:
        if one not in own:
            guess = nearest(one, own)
            hints = [f"did you mean `{guess}`?"] if guess else []
            raise fail("DL409", f"the data of `{name}` has no column `{one}`", None, *hints, f"it has {', '.join(own)}")
        if own.count(one) > 1:
            raise fail("DL409", f"the data of `{name}` has several columns `{one}`")
    return [own.index(one) for one in wanted]


def check_arity(own: Sequence[str], relation: Relation) -> None:
    """Raises DL402 if the data has more or fewer columns than the relation."""
    if len(own) != relation.arity:
        counted = f"{len(own):,} column{'' if len(own) == 1 else 's'}"
        raise fail(
            "DL402",
            f"the data of `{relation.name}` has {counted}, but the program uses {relation.arity}",
            None,
            f"the program has {relation}; the data has {', '.join(own)}",
        )


def check_type(found: DataType | None, given: str, relation: Relation, column: Column) -> DataType:
    """Returns the type that the column's values get; raises DL403 if those of type `found` cannot have it. `given` is
    what the data itself calls its type."""
    wanted = column.type if column.type.is_known else found
    is_time = wanted == TIMESTAMP and found == INT  # a clock can be a plain count
    is_wider = wanted == FLOAT and found == INT
    is_spelled = found == STRING and wanted is not None and wanted.is_told_by_type and not wanted.parts
    # What does not fit is refused when the values are converted.
    is_decimal = _are_exact(found, wanted) or (wanted == FLOAT and found is not None and found.is_decimal)
    if found is None or wanted is None:
        fits = False
    else:
        fits = found in (wanted, UNKNOWN) or is_time or is_wider or is_spelled or is_decimal
    if not fits or wanted is None:
        raise fail(
            "DL403",
            f"the column `{column.name}` of `{relation.name}` is {wanted}, and the data has {given}",
            relation.span if relation.is_declared else None,
        )
    return wanted


def _are_exact(found: DataType | None, wanted: DataType | None) -> bool:
    """Tells whether both are ints or decimals, which convert where no digit gets lost."""
    types = [one for one in (found, wanted) if one is not None and (one == INT or one.is_decimal)]
    return len(types) == 2 and any(one.is_decimal for one in types)


def unknown_type(name: str, column: str, given: str) -> EmberlogError:
    """Returns the error for a column of a type that programs do not know."""
    if given.startswith("decimal"):
        hint = "decimals have up to 19 digits; cast it, or give text and declare the column decimal(2)"
        message = f"the column `{column}` of `{name}` is of type {given}, which programs do not know"
        return fail("DL413", message, None, hint)
    plain = given.split("<")[0]
    found = next((kind for kind in _HINTS if kind in plain), given)
    hint = _HINTS.get(found, "leave the column out, or convert it")
    message = f"the column `{column}` of `{name}` is of type {found}, which programs do not know"
    return fail("DL403", message, None, hint)


def has_plain_times(given: Sequence[Column], relation: Relation) -> bool:
    """Tells whether a column that the relation takes as a timestamp holds plain numbers."""
    return any(
        wanted.type == TIMESTAMP and own.type == INT for own, wanted in zip(given, relation.columns, strict=True)
    )


def no_equal_float(value: int, where: str) -> EmberlogError:
    """Returns the error for an int in a column of floats that would become another number."""
    return fail("DL506", f"{where} is of floats, and {value:,} has no equal float", None, "give all values as ints")


def has_half_characters(text: str) -> bool:
    """Tells whether a text has surrogates, which have no bytes in UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def half_character(what: str) -> EmberlogError:
    """Returns the error for a text with half of a character."""
    hint = "two halves together are one character; text.encode('utf-8', 'replace').decode() has `?` for a lone one"
    return fail("DL424", f"{what} has half of a character, which is no text", None, hint)


def decimal_misfit(value: object, scale: int, where: str) -> EmberlogError:
    """Returns the error for a decimal that would lose digits, or does not fit in 64 bits."""
    return fail("DL413", f"{where} holds {value}, {no_decimal(scale)}", None, DECIMAL_HINT)


def no_decimal(scale: int) -> str:
    kept = f"with {scale} digits behind the point" if scale else "without digits behind the point"
    return f"which is no number of 64 bits {kept}"


DECIMAL_HINT = "declare the scale that is meant, decimal(2), or give text, or floats"


def free_name(name: str, taken: Iterable[str]) -> str:
    """Returns the name, or one that begins like it if a column has it already."""
    used = {one.lower() for one in taken}
    while name.lower() in used:
        name = f"{name}_"
    return name


def distinct_names(names: Sequence[str]) -> list[str]:
    """Returns the names, changed where one is like another before it: Spark takes no heed of capitals."""
    distinct: list[str] = []
    for name in names:
        distinct.append(free_name(name, distinct))
    return distinct
