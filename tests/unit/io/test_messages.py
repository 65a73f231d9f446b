"""The whole texts of what is told about data, as a person reads them: messages.txt.

`EMBERLOG_UPDATE=1 python -m pytest tests/unit/io/test_messages.py` writes the file anew; read the difference.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import emberlog
from tests.text_files import CASES

MESSAGES = Path(__file__).with_name("messages.txt")

Local = emberlog.Database[emberlog.LocalRelation]


def partly_named(db: Local) -> None:
    db["e"] = pd.DataFrame({"dst": [2], "source": [1]})
    db.datalog("declare e(src: int, dst: int). q(X, Y) :- e(X, Y).")


def half_a_character(db: Local) -> None:
    db["e"] = [("\ud83d",)]


def half_a_character_in_a_program(db: Local) -> None:
    db.datalog(r'q("\ud83d").')


def two_delimiters(db: Local) -> None:
    db.register("e", "e.csv", delimiter="||")


def two_quotes(db: Local) -> None:
    db.register("e", "e.csv", quote='""')


def no_such_encoding(db: Local) -> None:
    db.register("e", "e.csv", encoding="utf-9")


def text_options_of_a_list(db: Local) -> None:
    db.register("e", [(1, 2)], header=True)


MISTAKES: tuple[Callable[[Local], None], ...] = (
    partly_named,
    half_a_character,
    half_a_character_in_a_program,
    two_delimiters,
    two_quotes,
    no_such_encoding,
    text_options_of_a_list,
)

FILES = (
    "a forgotten delimiter",
    "not utf-8",
    "utf-16 that nobody named",
    "a header noticed above numbers",
    "a header noticed by declared names",
    "a header that is wrong in its column",
    "a header with one declared name",
    "truncated",
    "not packed at all",
)


def read(name: str, db: Local) -> None:
    case = CASES[name]
    Path(case.name).write_bytes(case.content)
    db.register("e", case.name, **case.options)
    db.datalog(case.program)


def told_by(action: Callable[[Local], Any]) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error", emberlog.EmberlogWarning)
        try:
            action(emberlog.Database(engine="local"))
        except (emberlog.EmberlogError, emberlog.EmberlogWarning) as error:
            return str(error)
    return "nothing"


def test_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = {action.__name__.replace("_", " "): told_by(action) for action in MISTAKES}
    found |= {name: told_by(lambda db, name=name: read(name, db)) for name in FILES}  # type: ignore[misc]
    text = "\n\n".join(f"# {name}\n\n{told}" for name, told in found.items()) + "\n"
    if os.environ.get("EMBERLOG_UPDATE"):
        MESSAGES.write_text(text, encoding="utf-8")
    assert text == MESSAGES.read_text(encoding="utf-8")
