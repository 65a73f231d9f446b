"""Values of declared types: read from their text to a tree and written from a tree, each time anew."""

from __future__ import annotations

import json
import re
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
        return repr(float(value) + 0.0)
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


class NoValue(Exception):
    pass


def _of_type(text: str, types: Any, kind: str) -> tuple[str, str]:
    """The value of a kind at the beginning of a text, in full, and the rest of the text."""
    text = text.lstrip()
    if not kind.startswith("="):
        quoted = re.match(r'"(?:[^"\\]|\\.)*"', text, re.DOTALL)
        if quoted:
            if kind != "string":
                raise NoValue
            return _field_text(_field_value(quoted[0], kind, None), kind), text[quoted.end() :].lstrip()
        end = min((text.index(mark) for mark in ",])" if mark in text), default=len(text))
        plain = text[:end].strip()
        if kind == "bool" and plain not in ("true", "false"):
            raise NoValue
        try:
            value = plain if kind == "string" else _field_value(plain, kind, None)
        except (ValueError, times.NoMoment):
            raise NoValue from None
        if kind == "float" and abs(float(plain)) == float("inf"):
            raise NoValue
        if kind == "int" and int(plain) not in range(-(2**63), 2**63):
            raise NoValue
        return _field_text(value, kind), text[end:]
    for opening, kinds in sorted(types[kind[1:]], reverse=True):
        name = opening.rstrip("(")
        rest = text[len(name) :].lstrip()
        if not text.startswith(name) or (name[-1] not in "[]" and re.match(r"\w", text[len(name) :])):
            continue
        if not kinds:
            return opening, re.sub(r"^\(\s*\)", "", rest).lstrip()
        if name != "[":
            if not rest.startswith("("):
                raise NoValue
            rest = rest[1:]
        fields: list[str] = []
        for place, one in enumerate(kinds):
            field, rest = _of_type(rest, types, one)
            fields.append(field)
            expected = "," if place < len(kinds) - 1 else "]" if name == "[" else ")"
            if not rest.startswith(expected):
                raise NoValue
            rest = rest[1:].lstrip()
        return _written((opening, fields)), rest
    raise NoValue


def _read_value(text: str, grammar: str) -> str:
    name, types = json.loads(grammar)
    try:
        value, rest = _of_type(text, types, f"={name}")
    except NoValue:
        value, rest = "", text
    if rest or not value:
        shown = text if len(text) <= 60 else f"{text[:60]}…"
        closings = {"(": "…)", "[": "…]"}
        known = ", ".join(opening + closings.get(opening[-1], "") for opening, _ in types[name])
        raise NoValue(f"`{shown}` is no value of the type `{name}`", f"values are written {known}")
    return value


class OutOfBounds(Exception):
    pass


def _bounded(value: int, least: int, greatest: int, name: str) -> int:
    if value not in range(least, greatest + 1):
        raise OutOfBounds(f"{value:,} is no {name}", f"they go from {least:,} to {greatest:,}")
    return value


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "record!": _record,
    "branch!": _branch,
    "field!": _field,
    "read!": _read_value,
    "bounded!": _bounded,
}
