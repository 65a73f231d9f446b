"""Values of declared types: read from their text to a tree and written from a tree, each time anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from tests.oracle import decimals, times

Tree = tuple[str, list[Any]]
"""The text before the fields, and the fields: trees, and texts of everything else."""

_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", '"': '"'}


class TooLong(Exception):
    pass


def _read(text: str, place: int) -> tuple[Any, int]:
    """The value that begins at a place, and where it ends."""
    begun = place
    if text[place] == '"':
        place += 1
        while text[place] != '"':
            place += 2 if text[place] == "\\" else 1
        return text[begun : place + 1], place + 1
    while place < len(text) and text[place] not in "([,)]":
        place += 1
    if place == len(text) or text[place] in ",)]":
        return text[begun:place], place
    place += 1
    opening, fields = text[begun:place], []
    while True:
        field, place = _read(text, place)
        fields.append(field)
        place += 1
        if text[place - 1] in ")]":
            return (opening, fields), place
        place += 1  # the blank behind a comma


def _written(tree: Any) -> str:
    if isinstance(tree, str):
        return tree
    opening: str = tree[0]
    fields: list[Any] = tree[1]
    return opening + ", ".join(map(_written, fields)) + ("]" if opening == "[" else ")")


def _tree(text: str) -> Any:
    tree, end = _read(text, 0)
    assert end == len(text), text
    return tree


def _field_text(value: Any, kind: str) -> str:
    if kind == "record":
        return str(value)
    if kind == "string":
        escapes = {letter: name for name, letter in _LETTERS.items()}
        return '"' + "".join(f"\\{escapes[one]}" if one in escapes else one for one in value) + '"'
    if kind == "bool":
        return "true" if value else "false"
    if kind == "float":
        return repr(float(value))
    return str(value) if kind == "int" else str((times.FUNCTIONS | decimals.FUNCTIONS)["text!"](value, kind))


def _field_value(tree: Any, kind: str, otherwise: Any) -> Any:
    if kind == "record":
        return _written(tree)
    if kind == "string":
        letters, found = iter(tree[1:-1]), ""
        for one in letters:
            found += _LETTERS[next(letters)] if one == "\\" else one
        return found
    if kind == "bool":
        return tree == "true"
    if kind in ("int", "float"):
        return int(tree) if kind == "int" else float(tree)
    if kind.startswith("decimal"):
        return int(tree.replace(".", ""))
    return _duration(tree) if kind == "duration" else times.FUNCTIONS[kind](tree)


def _duration(text: str) -> int:
    days, _, clock = text.lstrip("-")[1:].partition("T")
    total = timedelta(days=int(days.removesuffix("D") or 0))
    for letter, unit in (("H", "hours"), ("M", "minutes"), ("S", "seconds")):
        amount, found, rest = clock.partition(letter)
        if found:
            whole, _, fraction = amount.partition(".")
            total += timedelta(**{unit: int(whole)}, microseconds=int(fraction.ljust(6, "0")))
            clock = rest
    count = total // timedelta(microseconds=1)
    return -count if text.startswith("-") else count


def _record(opening: str, kinds: str, *values: Any) -> str:
    fields = [_field_text(value, kind) for value, kind in zip(values, kinds.split(";"), strict=True)]
    text = _written((opening, fields))
    if len(text) > 32_768:
        raise TooLong
    return text


def _branch(text: str, opening: str) -> bool:
    tree = _tree(text)
    return bool((tree if isinstance(tree, str) else tree[0]) == opening)


def _field(text: str, opening: str, place: int, kind: str, otherwise: Any) -> Any:
    if not _branch(text, opening):
        return otherwise
    return _field_value(_tree(text)[1][place], kind, otherwise)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {"record!": _record, "branch!": _branch, "field!": _field}
