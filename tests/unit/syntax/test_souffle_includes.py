"""Files that programs of Soufflé include and read, the C preprocessor, and functors that are functions of Python."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from emberlog.__main__ import main
from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from emberlog.dialects import parse_tolerantly
from emberlog.semantics.analysis import analyze
from emberlog.source import Source

needs_preprocessor = pytest.mark.skipif(
    not any(map(shutil.which, ("cpp", "mcpp", "pcpp"))), reason="there is no C preprocessor here"
)

PLAIN = '.include "lib/edges.dl"\nreach(x, y) :- edge(x, y).\nreach(x, z) :- reach(x, y), edge(y, z).\n.output reach\n'
EDGES = '.include "types.dl"\n.decl edge(x: Node, y: Node)\nedge(1, 2). edge(2, 3).\n'
TYPES = ".type Node <: number\n.decl reach(x: Node, y: Node)\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "edges.dl").write_text(EDGES)
    (tmp_path / "types.dl").write_text(TYPES)
    return tmp_path


def answers(path: Path, relation: str) -> list[tuple[object, ...]]:
    with Database(engine="local") as database:
        return sorted(map(tuple, database.datalog(path)[relation].collect()))


def problems(path: Path) -> list[tuple[str, str, int, str]]:
    """Returns code, file, line and text of each mistake."""
    with pytest.raises(EmberlogError) as caught:
        analyze(parse_tolerantly(Source(str(path), path.read_text())))
    return [
        (one.code, Path(one.span.source.name).name, one.span.begin.line, one.span.text)
        for one in caught.value.diagnostics
        if one.span is not None
    ]


def test_a_file_is_found_beside_its_reader_and_beside_those_above(folder: Path) -> None:
    (folder / "main.dl").write_text(PLAIN)
    assert answers(folder / "main.dl", "reach") == [(1, 2), (1, 3), (2, 3)]


def test_a_file_that_says_once_is_read_once(folder: Path) -> None:
    (folder / "types.dl").write_text(f".once\n{TYPES}")
    (folder / "main.dl").write_text(f'.include "types.dl"\n{PLAIN}')
    assert answers(folder / "main.dl", "reach") == [(1, 2), (1, 3), (2, 3)]
    (folder / "types.dl").write_text(TYPES)
    assert problems(folder / "main.dl") == [("DL124", "types.dl", 2, "reach")]


def test_a_file_that_says_once_may_include_itself(folder: Path) -> None:
    (folder / "main.dl").write_text('.once\n.include "main.dl"\n.decl p(x: number)\np(1).\n.output p\n')
    assert answers(folder / "main.dl", "p") == [(1,)]


def test_files_that_include_each_other_twice_have_an_end(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"{number}.dl").write_text(f'.include "{number + 1}.dl"\n' * 2)
    (tmp_path / "40.dl").write_text('.pragma "nothing"\n')
    found = problems(tmp_path / "0.dl")
    assert [code for code, *_ in found] == ["DL126"]


def test_an_include_without_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "main.dl").write_text(".include types.dl\n.decl p(x: number)\np(1).\n")
    assert problems(tmp_path / "main.dl")[0] == ("DL126", "main.dl", 1, "include")


def test_a_mistake_has_its_place_in_the_file_that_has_it(folder: Path) -> None:
    (folder / "types.dl").write_text(TYPES + "reach(x, y) :- nowhere(x, y).\n")
    (folder / "main.dl").write_text(PLAIN)
    assert problems(folder / "main.dl") == [("DL201", "types.dl", 3, "nowhere")]


def test_files_that_are_missing_or_go_round_in_a_circle(folder: Path) -> None:
    (folder / "types.dl").write_text('.include "lib/edges.dl"\n')
    (folder / "main.dl").write_text('.include "nowhere.dl"\n' + PLAIN)
    found = problems(folder / "main.dl")
    assert ("DL126", "main.dl", 1, '"nowhere.dl"') in found
    assert ("DL126", "types.dl", 1, '"lib/edges.dl"') in found


@needs_preprocessor
def test_the_preprocessor_includes_defines_and_leaves_out(folder: Path) -> None:
    text = '#include "lib/edges.dl"\n#define NEAR(x) x < 3\n#ifdef NEVER\n.decl reach(x: symbol)\n#endif\n'
    text += "// it's a comment with an apostrophe\nreach(x, y) :- edge(x, y), NEAR(y).\n.output reach\n"
    (folder / "main.dl").write_text(text)
    assert answers(folder / "main.dl", "reach") == [(1, 2)]


@needs_preprocessor
def test_places_are_those_before_the_preprocessor(folder: Path) -> None:
    text = '#include "lib/edges.dl"\n#define LATE y > 2\n\nreach(x, y) :- edge(x, y), LATE, nowhere(x).\n'
    (folder / "main.dl").write_text(text)
    found = problems(folder / "main.dl")
    assert ("DL201", "main.dl", 4, "nowhere") in found


@needs_preprocessor
def test_what_the_preprocessor_refuses_is_told(folder: Path) -> None:
    (folder / "main.dl").write_text('.decl p(x: number)\n#include "nowhere.h"\np(1).\n')
    ((code, file, line, _),) = problems(folder / "main.dl")
    assert (code, file, line) == ("DL126", "main.dl", 2)


def test_a_functor_is_a_registered_function() -> None:
    text = ".functor twice(x: number): number\n.decl p(x: number)\np(@twice(n) / 4) :- n = 10.\n.output p\n"
    with Database(engine="local") as database:
        database.function("twice", lambda value: 2 * value, ["int"], "int")
        assert [tuple(row) for row in database.datalog(text)["p"].collect()] == [(5,)]
        with pytest.raises(EmberlogError, match=r"DL124.*there is no functor `thrice`"):
            database.datalog(text.replace("@twice", "@thrice"))
        with pytest.raises(EmberlogError, match=r"DL124.*takes 1 argument, and gets 2"):
            database.datalog(text.replace("@twice(n)", "@twice(n, n)"))


FROM_ELSEWHERE = """
.decl edge(x: number, name: symbol)
.input edge(IO={kind}, filename="{name}")
.decl far(name: symbol)
far(n) :- edge(x, n), x > 1.
.output far
"""


def shown_answer(folder: Path, kind: str, name: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    (folder / "main.dl").write_text(FROM_ELSEWHERE.format(kind=kind, name=name))
    code = main(["run", str(folder / "main.dl"), "--engine", "local"])
    captured = capsys.readouterr()
    return code, captured.err if code else captured.out


def test_a_table_of_sqlite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(sqlite3.connect(tmp_path / "facts.db")) as connection:
        connection.execute("CREATE TABLE edge (x INTEGER, name TEXT)")
        connection.executemany("INSERT INTO edge VALUES (?, ?)", [(1, "near"), (2, "further")])
        connection.execute("CREATE TABLE other (x TEXT)")
        connection.commit()
    assert shown_answer(tmp_path, "sqlite", "facts.db", capsys) == (0, "far(name): 1 fact\n  further\n")
    with closing(sqlite3.connect(tmp_path / "facts.db")) as connection:
        connection.execute("DROP TABLE edge")
        connection.commit()
    assert "DL405" in shown_answer(tmp_path, "sqlite", "facts.db", capsys)[1]
    assert "DL405" in shown_answer(tmp_path, "sqlite", "nowhere.db", capsys)[1]
    assert not (tmp_path / "nowhere.db").exists()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('[[1, "near"], [2, "further"]]', ""),
        ('[{"name": "further", "x": 2}, {"name": "near", "x": 1}]', ""),
        ('[{"name": "further"}]', "DL405"),
        ("[[1]]", "DL402"),
        ('[["a", "b"]]', "DL403"),
        ("{", "DL405"),
        ("[1, 2]", "DL405"),
    ],
)
def test_facts_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, code: str) -> None:
    (tmp_path / "facts.json").write_text(text)
    found, shown = shown_answer(tmp_path, "jsonfile", "facts.json", capsys)
    if code:
        assert found == 1 and code in shown
    else:
        assert shown == "far(name): 1 fact\n  further\n"


def test_a_folder_of_included_files_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "main").mkdir()
    program = folder / "main" / "main.dl"
    program.write_text(PLAIN.replace("lib/", "") + ".printsize edge\n")
    assert main(["check", str(program)]) == 1
    capsys.readouterr()
    given = ["-I", str(folder / "lib"), "--include", str(folder)]
    for command in (["check"], ["explain"], ["convert"], ["run", "--engine", "local"]):
        assert main([command[0], str(program), *command[1:], *given]) == 0
    assert "reach(x, y): 3 facts" in capsys.readouterr().out
    with Database(engine="local") as database:
        result = database.datalog(program, include=[str(folder / "lib"), str(folder)])
        assert sorted(map(tuple, result["reach"].collect())) == [(1, 2), (1, 3), (2, 3)]


def test_the_file_beside_the_program_wins_over_named_folders(folder: Path) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "types.dl").write_text(".type Node <: symbol\n")
    (folder / "main.dl").write_text(PLAIN)
    with Database(engine="local") as database:
        result = database.datalog(folder / "main.dl", include=[str(folder / "other")])
        assert len(result["reach"].collect()) == 3


@needs_preprocessor
def test_the_preprocessor_looks_into_named_folders(folder: Path) -> None:
    (folder / "lib" / "edges.h").write_text(EDGES.replace('.include "types.dl"', '#include "types.h"'))
    (folder / "types.h").write_text(TYPES)
    (folder / "main.dl").write_text(PLAIN.replace('.include "lib/edges.dl"', '#include "edges.h"'))
    with Database(engine="local") as database:
        result = database.datalog(folder / "main.dl", include=[str(folder / "lib")])
        assert len(result["reach"].collect()) == 3


def test_a_program_of_ours_includes_nothing(tmp_path: Path) -> None:
    (tmp_path / "plain.dl").write_text("edge(1, 2).\nedge(X, Y)?\n")
    assert main(["check", str(tmp_path / "plain.dl"), "-I", str(tmp_path)]) == 1
    with Database(engine="local") as database, pytest.raises(EmberlogError, match="DL336"):
        database.datalog("edge(1, 2).", include=[str(tmp_path)])


def test_files_are_read_as_described_by_those_who_prove(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = '.decl p(x: number, y: symbol)\n.input p(filename="p.txt", delimiter=";")\n.decl q(y: symbol)\n'
    (tmp_path / "main.dl").write_text(f"{text}q(y) :- p(_, y).\n.output q\n")
    (tmp_path / "p.txt").write_text("1;a, b\n")
    assert main(["why", str(tmp_path / "main.dl"), 'q("a, b")', "--engine", "local"]) == 0
    assert 'p(1, "a, b")' in capsys.readouterr().out
    assert main(["explain", str(tmp_path / "main.dl"), "--analyze", "--engine", "local"]) == 0


def test_a_column_that_the_file_does_not_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "main.dl").write_text('.decl p(x: number)\n.input p(columns="2")\n.output p\n')
    (tmp_path / "p.facts").write_text("1\t2\n")
    assert main(["run", str(tmp_path / "main.dl"), "--engine", "local"]) == 1
    assert "the file of `p` has no column 2: it has 2, counted from 0" in capsys.readouterr().err
