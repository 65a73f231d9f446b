"""Registers the inputs that a program of Soufflé describes itself: text files, tables of SQLite, and JSON."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emberlog.datatypes import FLOAT, INT, INT_MAX, INT_MIN, STRING
from emberlog.diagnostics import fail
from emberlog.io.arrow_values import table_of
from emberlog.io.local_files import text_at
from emberlog.io.paths import KINDS, kind_of
from emberlog.io.text_format import TextOptions
from emberlog.semantics.model import Fact, Relation
from emberlog.syntax import ast

if TYPE_CHECKING:
    from emberlog.database import Database


def register_described(database: Database[Any], file: ast.FactFile, path: str, relation: Relation) -> None:
    """Registers the facts of one input, which are at this path."""
    if file.kind == "file":
        # Its name may end in anything.
        kind = None if kind_of(file.path) in KINDS else "csv"
        delimiter, header, quote = file.delimiter, file.header, file.quote
        if file.places:
            text = TextOptions(header=header, delimiter=delimiter, quote=quote)
            database[file.relation] = text_at(file.places, path, relation, text, kind)
        else:
            database.register(file.relation, path, format=kind, delimiter=delimiter, header=header, quote=quote)
        return
    if not Path(path).is_file():
        raise fail("DL405", f"cannot read `{path}`: no such file or directory", file.span)
    rows = _of_sqlite(file, path) if file.kind == "sqlite" else _of_json(file, path, relation)
    wrong = next((row for row in rows if len(row) != relation.arity), None)
    if wrong is not None:
        message = f"a row of `{path}` has {len(wrong)} values, and `{file.relation}` has {relation.arity} columns"
        raise fail("DL402", message, file.span)
    columns = relation.columns
    facts = _checked(rows, path, relation)
    database[file.relation] = table_of([one.name for one in columns], [one.type for one in columns], facts)


def _of_sqlite(file: ast.FactFile, path: str) -> list[Sequence[Any]]:
    """Returns the rows of the table, or the view, that has the relation's name."""
    try:
        with closing(sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True)) as connection:
            name = file.relation.replace('"', '""')
            return connection.execute(f'SELECT * FROM "{name}"').fetchall()
    except sqlite3.Error as error:
        raise fail("DL405", f"cannot read `{file.relation}` from `{path}`: {error}", file.span) from None


def _of_json(file: ast.FactFile, path: str, relation: Relation) -> list[Sequence[Any]]:
    """Returns the rows of a list of lists, or of objects whose names are the columns."""
    names = [column.name for column in relation.columns]
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        rows = [[row[name] for name in names] if isinstance(row, dict) else row for row in found]
    except (OSError, ValueError, TypeError) as error:
        raise fail("DL405", f"cannot read `{path}`: {error}", file.span) from None
    except KeyError as missing:
        raise fail("DL405", f"cannot read `{path}`: an object has no {missing}", file.span) from None
    if not all(isinstance(row, list) for row in rows):
        raise fail("DL405", f"cannot read `{path}`: it is no list of lists or of objects", file.span)
    return rows


def _checked(rows: Sequence[Sequence[Any]], path: str, relation: Relation) -> list[Fact]:
    """Returns the rows in the types that the program declares; an int is a float where one is declared."""
    for row in rows:
        for value, column in zip(row, relation.columns, strict=True):
            is_whole = type(value) is int and INT_MIN <= value <= INT_MAX
            fits = {INT: is_whole, FLOAT: is_whole or isinstance(value, float), STRING: isinstance(value, str)}
            if value is not None and not fits.get(column.type, False):
                message = f"{value!r} in `{path}` is not {column.type.described}: the column `{column.name}`"
                raise fail("DL403", message, relation.span)
    floats = [column.type == FLOAT for column in relation.columns]
    return [
        tuple(
            float(value) if is_float and value is not None else value
            for value, is_float in zip(row, floats, strict=True)
        )
        for row in rows
    ]
