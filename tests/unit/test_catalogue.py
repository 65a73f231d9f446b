"""The catalogue of codes agrees with the sources, with its own examples and with docs/errors.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from emberlog.catalogue import CATALOGUE, CHAPTERS, Entry, FoundBy
from emberlog.catalogue.__main__ import errors_page
from emberlog.diagnostics import Diagnostic, EmberlogError, Severity
from emberlog.dialects import parse_tolerantly
from emberlog.logical.build import build
from emberlog.semantics.analysis import analyze
from emberlog.source import Source
from tests.oracle.evaluate import evaluate

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "emberlog"

PROGRAMS = [entry for entry in CATALOGUE.values() if entry.found_by is not FoundBy.OTHER]


def codes_in_sources() -> set[str]:
    files = [path for path in SOURCES.rglob("*.py") if SOURCES / "catalogue" not in path.parents]
    return {code for path in files for code in re.findall(r"\bDL\d{3}\b", path.read_text(encoding="utf-8"))}


def test_every_code_of_the_sources_is_in_the_catalogue() -> None:
    assert codes_in_sources() - set(CATALOGUE) == set()


def test_every_code_of_the_catalogue_is_in_the_sources() -> None:
    assert set(CATALOGUE) - codes_in_sources() == set()


def test_codes_are_in_order_and_in_their_chapter() -> None:
    assert list(CATALOGUE) == sorted(CATALOGUE)
    assert len(CATALOGUE) == sum(len(entries) for _, _, entries in CHAPTERS)
    for title, _, entries in CHAPTERS:
        assert all(f"({entry.code[:3]}xx)" in title for entry in entries)


@pytest.mark.parametrize("entry", list(CATALOGUE.values()), ids=list(CATALOGUE))
def test_the_texts_of_an_entry(entry: Entry) -> None:
    assert entry.title[0].islower() or entry.title[0] == "`"
    assert not entry.title.endswith(".")
    assert entry.meaning.endswith(".") and entry.remedy.endswith((".", "`", ")"))
    assert "!" not in re.sub("`[^`]*`", "", entry.meaning + entry.remedy)


def found(entry: Entry) -> tuple[Diagnostic, ...]:
    """What the example gives, up to the stage that the entry names."""
    try:
        checked = analyze(parse_tolerantly(Source("example.dl", entry.example)), params={})
        if entry.found_by is FoundBy.PLAN:
            build(checked)
        if entry.found_by is FoundBy.RUN:
            assert checked.warnings == ()
            evaluate(checked, {})
    except EmberlogError as error:
        return error.diagnostics
    return checked.warnings


@pytest.mark.parametrize("entry", PROGRAMS, ids=[entry.code for entry in PROGRAMS])
def test_an_example_gives_exactly_its_code(entry: Entry) -> None:
    diagnostics = found(entry)
    assert {diagnostic.code for diagnostic in diagnostics} == {entry.code}
    severity = Severity.WARNING if entry.is_warning else Severity.ERROR
    assert {diagnostic.severity for diagnostic in diagnostics} == {severity}


def test_the_page_is_up_to_date() -> None:
    written = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert written == errors_page(), "run: python -m emberlog.catalogue > docs/errors.md"
