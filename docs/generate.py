"""Writes the generated parts of the documentation: docs/errors.md, and the tables of functions in docs/language.md.

`python3 dev.py docs` runs it; tests fail when what it writes is out of date.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from emberlog.catalogue.__main__ import errors_page
from emberlog.semantics.functions import AGGREGATES, PROCEDURES, SCALAR_FUNCTIONS

LANGUAGE = Path(__file__).with_name("language.md")
ERRORS = Path(__file__).with_name("errors.md")


def table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [headings, tuple("---" for _ in headings), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def scalar_functions() -> str:
    rows = []
    for function in SCALAR_FUNCTIONS.values():
        takes = ", ".join(str(parameter) for parameter in function.parameters) + (", …" if function.variadic else "")
        rows.append((code(function.signature), takes, function.meaning))
    return table(("function", "takes", "gives"), rows)


def procedures() -> str:
    entries = (description.partition(": ") for description in PROCEDURES.values())
    return table(("written", "means"), ((code(written), meaning) for written, _, meaning in entries))


def aggregates() -> str:
    rows = ((code(function.signature), function.meaning) for function in AGGREGATES.values())
    return table(("aggregate", "gives"), rows)


def code(signatures: str) -> str:
    """`round(X), round(X, Digits)` are two; the comma inside parentheses or brackets does not count."""
    return ", ".join(f"`{one}`" for one in re.split(r"(?<=[)>]), ", signatures))


TABLES = {"scalar functions": scalar_functions, "procedures": procedures, "aggregates": aggregates}


def renewed(text: str) -> str:
    """The document with every table between its marks written anew."""
    for name, write in TABLES.items():
        start, end = f"<!-- {name}: written by docs/generate.py -->\n", "<!-- end -->"
        before, found, rest = text.partition(start)
        assert found, f"docs/language.md has no place for the table of {name}"
        text = f"{before}{start}\n{write()}\n\n{end}{rest.partition(end)[2]}"
    return text


if __name__ == "__main__":
    ERRORS.write_text(errors_page(), encoding="utf-8")
    LANGUAGE.write_text(renewed(LANGUAGE.read_text(encoding="utf-8")), encoding="utf-8")
