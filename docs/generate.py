"""Writes the generated parts of the documentation: docs/errors.md, the tables of functions in docs/language.md, the
table of sources and types in docs/api.md, that of programs in docs/streams.md, and what the extensions for
VS Code and JupyterLab have of the language and of the project: how it is read, and the version.

`python3 dev.py docs` runs it; tests fail when what it writes is out of date.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from emberlog import __version__
from emberlog.catalogue.__main__ import errors_page
from emberlog.datatypes import FLOAT, INT, STRING, DataType
from emberlog.editor.token_rules import codemirror_script, textmate_grammar
from emberlog.language.entry import NUMBER, UNSET, Function
from emberlog.language.numbers import NEGATE, OPERATORS
from emberlog.language.registry import AGGREGATES, PROCEDURES, SCALAR_FUNCTIONS

LANGUAGE = Path(__file__).with_name("language.md")
ERRORS = Path(__file__).with_name("errors.md")
API = Path(__file__).with_name("api.md")
STREAMS = Path(__file__).with_name("streams.md")


def table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [headings, tuple("---" for _ in headings), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def scalar_functions() -> str:
    rows = []
    for function in SCALAR_FUNCTIONS.values():
        takes = ", ".join(map(_taken, function.parameters)) + (", …" if function.variadic else "")
        rows.append((code(function.signature), takes, function.meaning, can_fail(function), function.precision))
    return table(("function", "takes", "gives", "can fail", "value"), rows)


def _taken(parameter: DataType) -> str:
    return " or ".join(map(str, parameter.parts)) if parameter.name == "one of" else str(parameter)


def operators() -> str:
    rows = ((code(one.signature), one.meaning, can_fail(one)) for one in (*OPERATORS.values(), NEGATE))
    return table(("operator", "gives", "can fail"), rows)


def can_fail(function: Function) -> str:
    """For which types of arguments some have no value, as far as these differ."""
    kinds = {"ints": INT, "floats": FLOAT, "text": STRING}
    if function.parameters[0] == NUMBER:
        del kinds["text"]
    count = len(function.parameters)
    failing = [name for name, one in kinds.items() if function.fails([one] * count, [UNSET] * count)]
    return "no" if not failing else "yes" if len(failing) == len(kinds) else f"of {' and '.join(failing)}"


def procedures() -> str:
    entries = (description.partition(": ") for description in PROCEDURES.values())
    return table(("written", "means"), ((code(written), meaning) for written, _, meaning in entries))


def aggregates() -> str:
    rows = ((code(one.signature), one.meaning, one.precision) for one in AGGREGATES.values())
    return table(("aggregate", "gives", "value"), rows)


def code(signatures: str) -> str:
    """`round(X), round(X, Digits)` are two; the comma inside parentheses or brackets does not count."""
    return ", ".join(f"`{one}`" for one in re.split(r"(?<=[)>]), ", signatures))


TABLES = {
    "operators": operators,
    "scalar functions": scalar_functions,
    "procedures": procedures,
    "aggregates": aggregates,
}


def renewed(text: str) -> str:
    """The document with every table between its marks written anew."""
    for name, write in TABLES.items():
        start, end = f"<!-- {name}: written by docs/generate.py -->\n", "<!-- end -->"
        before, found, rest = text.partition(start)
        assert found, f"docs/language.md has no place for the table of {name}"
        text = f"{before}{start}\n{write()}\n\n{end}{rest.partition(end)[2]}"
    return text


def sources() -> str:
    """What a program sees of each type, by source: found out by having a table go through all of them."""
    from tests.door import SOURCES, source_table

    with TemporaryDirectory() as folder:
        return table(("type", *SOURCES, "goes out, as Arrow"), source_table(Path(folder)))


def renewed_sources(text: str) -> str:
    """The document with the table of sources written anew."""
    start, end = "<!-- sources: written by docs/generate.py -->\n", "<!-- end -->"
    before, found, rest = text.partition(start)
    assert found, "docs/api.md has no place for the table of sources"
    return f"{before}{start}\n{sources()}\n\n{end}{rest.partition(end)[2]}"


def stream_shapes() -> str:
    """Which programs over streams follow their changes, and which are computed anew, by asking the planners."""
    from tests.stream_shapes import shapes, slide_by_slide, tuple_by_tuple

    rows = [(name, slide_by_slide(checked), tuple_by_tuple(checked)) for name, checked in shapes()]
    kept, following = (sum("anew" not in row[way] for row in rows) for way in (1, 2))
    told = f"Of {len(rows)} kinds of programs {kept} are kept from slide to slide as a whole"
    return f"{told}, and {following} tuple by tuple:\n\n" + table(("program", "slide by slide", "tuple by tuple"), rows)


def renewed_shapes(text: str) -> str:
    """The document with the table of programs over streams written anew."""
    start, end = "<!-- shapes: written by docs/generate.py -->\n", "<!-- end -->"
    before, found, rest = text.partition(start)
    assert found, "docs/streams.md has no place for the table of programs"
    return f"{before}{start}\n{stream_shapes()}\n\n{end}{rest.partition(end)[2]}"


GRAMMAR = Path(__file__).parents[1] / "editors/vscode/syntaxes/datalog.tmLanguage.json"


PACKAGES = (GRAMMAR.parents[1] / "package.json", GRAMMAR.parents[2] / "jupyterlab" / "package.json")
READER = PACKAGES[1].parent / "static" / "datalog.js"


def package(path: Path) -> str:
    """The description of an extension, with the version of the project."""
    text = path.read_text(encoding="utf-8")
    return re.sub(r'("version": )"[^"]*"', rf'\1"{__version__}"', text, count=1)


def grammar() -> str:
    """The TextMate grammar for editors, with the words that the language has."""
    return json.dumps(textmate_grammar(), indent=2, ensure_ascii=False) + "\n"


def reader() -> str:
    """The module that reads programs for the cells of JupyterLab."""
    return f"// Written by docs/generate.py.\n{codemirror_script()}\nexport {{ datalog }};\n"


if __name__ == "__main__":
    ERRORS.write_text(errors_page(), encoding="utf-8")
    LANGUAGE.write_text(renewed(LANGUAGE.read_text(encoding="utf-8")), encoding="utf-8")
    for description in PACKAGES:
        description.write_text(package(description), encoding="utf-8")
    GRAMMAR.write_text(grammar(), encoding="utf-8")
    READER.write_text(reader(), encoding="utf-8")
    API.write_text(renewed_sources(API.read_text(encoding="utf-8")), encoding="utf-8")
    STREAMS.write_text(renewed_shapes(STREAMS.read_text(encoding="utf-8")), encoding="utf-8")
