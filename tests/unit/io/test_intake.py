"""Files as a local database reads them: quickly where they hold plain numbers, exactly in any case."""

from __future__ import annotations

import bz2
import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import emberlog
from emberlog.datatypes import FLOAT, INT, STRING, DataType
from emberlog.diagnostics import EmberlogError
from emberlog.io.facts import infer_columns, read_facts
from emberlog.io.intake import Source
from emberlog.io.intake import register as register_with
from emberlog.io.local_files import LocalReader, read_numbers
from emberlog.io.local_relation import LocalRelation
from emberlog.io.text_format import TextOptions
from emberlog.semantics.model import Column, Relation

UNKNOWN = DataType("unknown")


def register(
    name: str, data: object, *, header: bool | None = None, format: str | None = None
) -> Source[LocalRelation]:
    return register_with(LocalReader(), name, data, text=TextOptions(header=header), format=format)


def relation(*types: DataType) -> Relation:
    return Relation("t", tuple(Column(f"c{i + 1}", type_) for i, type_ in enumerate(types)), is_derived=False)


@pytest.mark.parametrize(
    "text",
    [
        "1,2\n3,4\n",
        "1,2\r\n3,4",
        "\n1,2\n\n3,4\n",
        "-1,2.5\n3,4\n",
        "1e3,.5\n-2.,0\n",
        "1,2\n3,\n",
        "1,\\N\n",
        "1,x\n",
        '"1",2\n',
        "1,0x10\n",
        "1,nan\n",
        "1,inf\n",
        " 1, 2\n",
        "007,-0\n",
        "9223372036854775807,-9223372036854775808\n",
        "1,+2\n",
    ],
)
def test_quick_or_not_the_facts_are_the_same(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text, newline="")
    columns = infer_columns(path, [Column("c1", UNKNOWN), Column("c2", UNKNOWN)])
    source = register("t", path)
    assert [column.type for column in source.columns(None) or ()] == [column.type for column in columns]
    found = source.relation(relation(*(column.type for column in columns))).facts
    expected = frozenset(read_facts(path, columns))
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


def test_what_is_plain_is_read_quickly() -> None:
    assert read_numbers(b"1,2\n3,4\n", ",") is not None
    assert read_numbers(b"1\t2.5\n", "\t") is not None
    for odd in (b"", b"1,x\n", b'"1",2\n', b"1,\n", b"1,2\n3\n", b"1\t2\n", b"9223372036854775808,1\n"):
        assert read_numbers(odd, ",") is None, odd


def test_an_int_that_does_not_fit_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("1,9223372036854775808\n")
    with pytest.raises(EmberlogError, match="does not fit in a 64-bit int"):
        register("t", path).relation(relation(INT, INT))


def test_an_int_is_a_float_where_one_is_wanted_and_text_stays_text(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("007,1\n")
    assert register("t", path).relation(relation(INT, FLOAT)).facts == {(7, 1.0)}
    assert register("t", path).relation(relation(STRING, INT)).facts == {("007", 1)}


def test_files_are_read_again_when_they_change(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("1,2\n")
    source = register("t", path)
    assert source.relation(relation(INT, INT)).facts == {(1, 2)}
    path.write_text("3,4\n")
    os.utime(path, ns=(1, 1))
    assert source.relation(relation(INT, INT)).facts == {(3, 4)}


def write_parquet(path: Path, rows: list[tuple[int, int]]) -> None:
    pq.write_table(pa.table({"a": [one for one, _ in rows], "b": [other for _, other in rows]}), path)


def write_lines(path: Path, rows: list[tuple[int, int]]) -> None:
    path.write_text("".join(f'{{"a": {one}, "b": {other}}}\n' for one, other in rows))


def write_text(path: Path, rows: list[tuple[int, int]]) -> None:
    path.write_text("a,b\n" + "".join(f"{one},{other}\n" for one, other in rows))


@pytest.mark.parametrize(("kind", "write"), [(".parquet", write_parquet), (".json", write_lines), (".csv", write_text)])
def test_a_program_sees_files_as_they_are_when_it_runs(
    tmp_path: Path, kind: str, write: Callable[[Path, list[tuple[int, int]]], None]
) -> None:
    path = tmp_path / f"arc{kind}"
    write(path, [(1, 2)])
    db = emberlog.Database(engine="local")
    header = True if kind == ".csv" else None
    db.register("arc", path, header=header)
    db.register("back", path, columns=["b", "a"], header=header)
    program = "there(X, Y) :- arc(X, Y). back_again(X, Y) :- back(X, Y)."
    found = db.datalog(program)
    assert (found["there"].collect(), found["back_again"].collect()) == ([(1, 2)], [(2, 1)])
    write(path, [(1, 2), (3, 4)])
    found = db.datalog(program)
    assert {*found["there"].collect()} == {(1, 2), (3, 4)}
    assert {*found["back_again"].collect()} == {(2, 1), (4, 3)}
    path.unlink()
    with pytest.raises(EmberlogError, match="DL405"):
        db.datalog(program)


def test_folders_patterns_and_compressed_files(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "a.csv").write_text("1,2\n")
    (folder / "b.csv.gz").write_bytes(gzip.compress(b"3,4.5\n"))
    (folder / "c.csv.bz2").write_bytes(bz2.compress(b"5,6\n"))
    (folder / "_SUCCESS").touch()
    source = register("t", folder)
    assert [column.type for column in source.columns(None) or ()] == [INT, FLOAT]
    assert source.relation(relation(INT, FLOAT)).facts == {(1, 2.0), (3, 4.5), (5, 6.0)}
    assert register("t", f"{folder}/[ab].csv").relation(relation(INT, INT)).facts == {(1, 2)}


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.touch()
    source = register("t", path)
    assert source.columns(None) is None
    assert source.relation(relation(INT)).facts == frozenset()


def test_lines_of_json(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('{"b": 1, "a": "x"}\n{"b": 2, "a": null}\n')
    source = register("t", path)
    assert [column.name for column in source.columns(None) or ()] == ["b", "a"]
    assert source.relation(relation(INT, STRING)).facts == {(1, "x"), (2, None)}


@pytest.mark.parametrize(("name", "code"), [("t.xls", "DL407"), ("t.parquet", "DL405"), ("t.json", "DL404")])
def test_files_that_cannot_be_read(tmp_path: Path, name: str, code: str) -> None:
    (tmp_path / name).write_text("not what it seems")
    with pytest.raises(EmberlogError, match=code):
        register("t", tmp_path / name)


def test_a_format_that_the_name_does_not_tell(tmp_path: Path) -> None:
    (tmp_path / "arcs").write_text("source,target\nx,2\n")
    source = register("t", tmp_path / "arcs", header=True, format="csv")
    assert source.relation(relation(STRING, INT)).facts == {("x", 2)}


def test_a_compressed_file_that_ends_too_soon(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"1,2\n" * 1_000)[:-20])
    with pytest.raises(EmberlogError, match="DL405"):
        register("t", path).relation(relation(INT, INT))


def test_types_are_those_of_all_files_together(tmp_path: Path) -> None:
    """An empty cell is a null of any type, in whichever file it stands."""
    (tmp_path / "a.csv").write_text("1,\n")
    (tmp_path / "b.csv").write_text("2,5\n")
    source = register("t", tmp_path)
    assert [column.type for column in source.columns(None) or ()] == [INT, INT]
    assert source.relation(relation(INT, INT)).facts == {(1, None), (2, 5)}


def test_only_line_breaks_end_a_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a\u2028b,c\x0bd\n", encoding="utf-8")
    assert register("t", path).original().facts == {("a\u2028b", "c\x0bd")}


@pytest.mark.parametrize("data", [[(1, None)], pa.table({"a": [1], "b": pa.nulls(1)})], ids=["rows", "arrow"])
def test_nothing_but_nulls_is_of_every_type(data: object) -> None:
    source = register("t", data)
    assert [column.type for column in source.columns(None) or ()] == [INT, UNKNOWN]
    for type_ in (INT, FLOAT, STRING, DataType("pair", (INT, INT))):
        assert source.relation(relation(INT, type_)).facts == {(1, None)}


def test_columns_are_chosen_if_each_is_there_once() -> None:
    table = pa.table([[1], [2], [3]], names=["a", "b", "b"])
    chosen = register_with(LocalReader(), "t", table, columns=["a"])
    assert chosen.original().facts == {(1,)}
    with pytest.raises(EmberlogError, match="has several columns `b`"):
        register_with(LocalReader(), "t", table, columns=["b"])


@pytest.mark.parametrize(
    ("columns", "declared", "facts"),
    [
        (["size"], "size: string", {("1.50",), ("2.00",)}),
        (["size", "n"], "n: string, size: float", {("1", 1.5), ("2", 2.0)}),  # in the order of the declaration
        (["size", "n"], "a: string, b: string", {("1.50", "1"), ("2.00", "2")}),  # in the order that was chosen
        (["size", "n"], "", {(1.5, 1), (2.0, 2)}),
        (["n", "n"], "", {(1, 1), (2, 2)}),
    ],
)
def test_a_declaration_says_what_chosen_columns_of_text_are(
    tmp_path: Path, columns: list[str], declared: str, facts: set[tuple[object, ...]]
) -> None:
    path = tmp_path / "part.csv"
    path.write_text("n,size,name\n1,1.50,a\n2,2.00,b\n")
    db = emberlog.Database(engine="local")
    db.register("part", path, columns=columns, header=True)
    terms = ", ".join("XY"[: len(columns)])
    program = (f"declare part({declared})." if declared else "") + f"found({terms}) :- part({terms})."
    assert {*db.datalog(program)["found"].collect()} == facts
    assert db["part"].columns == columns


def test_a_column_of_text_is_not_chosen_in_two_types(tmp_path: Path) -> None:
    path = tmp_path / "part.csv"
    path.write_text("n\n1\n")
    db = emberlog.Database(engine="local")
    db.register("part", path, columns=["n", "n"], header=True)
    with pytest.raises(EmberlogError, match=r"`n` of `part` is chosen as string and as int"):
        db.datalog("declare part(a: string, b: int). found(X) :- part(X, _).")


def test_rows_that_chosen_columns_do_not_tell_apart_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "part.csv"
    path.write_text("n,name\n1,a\n1,b\n1,b\n2,c\n")
    source = register_with(LocalReader(), "part", path, columns=["n"], text=TextOptions(header=True))
    assert source.repeated_rows(Relation("part", (Column("n", INT),), is_derived=False)) == 2
