"""Fact files: what is read from them, what is refused, and that writing is the inverse of reading."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emberlog.datatypes import (
    BOOL,
    FLOAT,
    INT,
    INT_MAX,
    INT_MIN,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    DataType,
    list_of,
    pair_of,
)
from emberlog.diagnostics import EmberlogError
from emberlog.io.facts import infer_columns, read_facts, write_facts
from emberlog.semantics.model import CellValue, Column, Fact


def columns(*types: DataType) -> list[Column]:
    return [Column(f"c{number}", type_) for number, type_ in enumerate(types, start=1)]


def read(tmp_path: Path, text: str, *types: DataType, name: str = "p.csv") -> list[Fact]:
    path = tmp_path / name
    path.write_bytes(text.encode())
    return list(read_facts(path, columns(*types)))


def test_every_type(tmp_path: Path) -> None:
    text = "1,2.5,true,abc,1000000\n-7,1e3,FALSE,,1970-01-01T00:00:01Z\n"
    assert read(tmp_path, text, INT, FLOAT, BOOL, STRING, TIMESTAMP) == [
        (1, 2.5, True, "abc", 1_000_000),
        (-7, 1000.0, False, "", 1_000_000),
    ]


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("1970-01-01", 0),
        ("1970-01-02T00:00:00", 86_400_000_000),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01 00:00:00.000001", 1),
        ("1969-12-31T23:59:59Z", -1_000_000),
    ],
)
def test_times_are_microseconds_in_utc(tmp_path: Path, text: str, microseconds: int) -> None:
    assert read(tmp_path, f"{text}\n", TIMESTAMP) == [(microseconds,)]


def test_quoted_cells_hold_delimiters_quotes_and_line_breaks(tmp_path: Path) -> None:
    assert read(tmp_path, '"a,b","say ""hi"""\r\n"two\r\nlines",x\r\n', STRING, STRING) == [
        ("a,b", 'say "hi"'),
        ("two\r\nlines", "x"),
    ]


def test_nulls(tmp_path: Path) -> None:
    assert read(tmp_path, '\\N,,\\N\n"\\N",1,2.0\n', STRING, INT, FLOAT) == [(None, None, None), ("\\N", 1, 2.0)]


def test_empty_lines_and_a_missing_last_line_break_do_not_matter(tmp_path: Path) -> None:
    assert read(tmp_path, "1,2\n\n3,4", INT, INT) == [(1, 2), (3, 4)]
    assert read(tmp_path, "1,", INT, INT) == [(1, None)]
    assert read(tmp_path, "", INT, INT) == []


def test_tabs(tmp_path: Path) -> None:
    assert read(tmp_path, "1\ta,b\n", INT, STRING, name="p.tsv") == [(1, "a,b")]
    assert read(tmp_path, "1\ta,b\n", INT, STRING, name="p.facts") == [(1, "a,b")]


def test_a_byte_order_mark_is_no_part_of_the_first_cell(tmp_path: Path) -> None:
    assert read(tmp_path, "\ufeff1\n", INT) == [(1,)]


def test_a_header_is_skipped_on_request(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("from,to\n1,2\n")
    assert read_facts(path, columns(INT, INT), header=True) == ((1, 2),)


def test_unknown_types_are_inferred_column_by_column(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("1,1,1,,7\n2,2.5,x,,\n")
    found = infer_columns(path, columns(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN))
    assert [column.type for column in found] == [INT, FLOAT, STRING, STRING, INT]
    assert read(tmp_path, "1,1,1,,7\n2,2.5,x,,\n", *[UNKNOWN] * 5) == [(1, 1.0, "1", "", 7), (2, 2.5, "x", "", None)]


def test_nothing_is_inferred_from_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("")
    assert infer_columns(path, columns(UNKNOWN))[0].type == UNKNOWN


def error_of(tmp_path: Path, text: str, *types: DataType, name: str = "p.csv") -> tuple[str, str]:
    with pytest.raises(EmberlogError) as caught:
        read(tmp_path, text, *types, name=name)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic.code, str(caught.value).replace(str(tmp_path) + "/", "")


def test_an_unparsable_value_is_shown_in_its_place(tmp_path: Path) -> None:
    code, text = error_of(tmp_path, "1,2\n3,x4\n", INT, INT)
    assert code == "DL404"
    assert text == "error[DL404]: `x4` is not an int: column 2, `c2`\n  ┌ p.csv:2:3\n2 │ 3,x4\n  │   ^^"


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("1.5", INT),
        ("9223372036854775808", INT),
        ("1_000", INT),
        ("١", INT),
        ("nan", FLOAT),
        ("inf", FLOAT),
        ("1e999", FLOAT),
        ("yes", BOOL),
        ("yesterday", TIMESTAMP),
        ('"[1, x]"', list_of(INT)),
        ('"[1]"', pair_of(INT, INT)),
    ],
)
def test_values_that_are_none_of_the_type(tmp_path: Path, text: str, type_: DataType) -> None:
    assert error_of(tmp_path, f"{text}\n", type_)[0] == "DL404"


def test_quotes_that_do_not_fit(tmp_path: Path) -> None:
    assert error_of(tmp_path, '"abc\n', STRING)[0] == "DL404"
    assert error_of(tmp_path, '"abc"d\n', STRING)[0] == "DL404"


def test_a_line_with_too_few_cells(tmp_path: Path) -> None:
    code, text = error_of(tmp_path, "1;2\n", INT, INT)
    assert code == "DL402"
    assert "this line has 1 cell, but the relation has 2 columns" in text
    assert "these look separated by semicolons" in text


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(EmberlogError, match=r"DL405.*no such file"):
        read_facts(tmp_path / "missing.csv", columns(INT))
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(EmberlogError, match=r"DL405"):
        read_facts(tmp_path / "folder.csv", columns(INT))
    with pytest.raises(EmberlogError, match=r"DL407"):
        read_facts(tmp_path / "facts.xlsx", columns(INT))
    (tmp_path / "latin.csv").write_bytes(b"caf\xe9\n")
    with pytest.raises(EmberlogError, match=r"DL406.*not text in UTF-8"):
        read_facts(tmp_path / "latin.csv", columns(STRING))


def test_writing_sorts_with_null_first(tmp_path: Path) -> None:
    path = tmp_path / "new" / "p.csv"
    write_facts(path, {(2, "b"), (None, "z"), (1, None), (1, "a")}, columns(INT, STRING))
    assert path.read_text() == ",z\n1,\\N\n1,a\n2,b\n"
    assert [each.name for each in path.parent.iterdir()] == ["p.csv"]


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(EmberlogError, match="DL408"):
        write_facts(tmp_path / "taken" / "p.csv", [], columns(INT))


TEXTS = st.text(alphabet=",;\"'\\N\n\r\t aé☃0.-", max_size=6)

TYPES: dict[DataType, st.SearchStrategy[CellValue]] = {
    INT: st.integers(INT_MIN, INT_MAX),
    FLOAT: st.floats(allow_nan=False, allow_infinity=False),
    BOOL: st.booleans(),
    STRING: TEXTS,
    TIMESTAMP: st.integers(INT_MIN, INT_MAX),
    list_of(STRING): st.lists(TEXTS, max_size=3).map(tuple),
    pair_of(FLOAT, INT): st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.integers(INT_MIN, INT_MAX)),
}


@st.composite
def typed_facts(draw: st.DrawFn) -> tuple[list[DataType], set[Fact]]:
    types = draw(st.lists(st.sampled_from(list(TYPES)), min_size=1, max_size=4))
    values: list[st.SearchStrategy[CellValue]] = [st.none() | TYPES[type_] for type_ in types]
    return types, draw(st.sets(st.tuples(*values), max_size=5))


@settings(deadline=None)
@given(typed_facts(), st.sampled_from(["p.csv", "p.tsv"]))
def test_what_is_written_reads_back_as_it_was(typed: tuple[list[DataType], set[Fact]], name: str) -> None:
    types, facts = typed
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        write_facts(path, facts, columns(*types))
        assert set(read_facts(path, columns(*types))) == facts
