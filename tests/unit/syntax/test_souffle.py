"""Programs in Soufflé's language: their files, their conversion, and texts that are none."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from emberlog.__main__ import main
from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from emberlog.dialects import EMBERLOG, SOUFFLE, dialect_of, parse_tolerantly
from emberlog.editor.view import ProgramView
from emberlog.source import Source
from emberlog.syntax.parser import parse
from emberlog.syntax.printer import print_program

GOLDEN = Path(__file__).parents[2] / "golden"
PROGRAMS = sorted(GOLDEN.glob("souffle/*/program.dl"))
MISTAKES = sorted(GOLDEN.glob("errors/souffle_*/program.dl"))

REACH = """
.decl edge(x: number, y: number)
.input edge(filename="edges.txt", delimiter=";", headers=true)
.decl reach(x: number, y: number)
reach(x, y) :- edge(x, y).
reach(x, z) :- reach(x, y), edge(y, z).
.output reach
"""


@pytest.mark.parametrize("path", [*PROGRAMS, *MISTAKES], ids=lambda path: path.parent.name)
def test_the_language_is_known_by_the_text(path: Path) -> None:
    assert dialect_of(path.read_text(encoding="utf-8")) == SOUFFLE
    assert dialect_of("edge(1, 2).\nedge(X, Y)?\n// .decl in a comment") == EMBERLOG
    assert dialect_of("/* It was\n.decl edge(x: number)\n*/\nedge(1, 2).") == EMBERLOG
    assert dialect_of('edge(1, "/* no comment").\n.decl edge(x: number, y: symbol)') == SOUFFLE
    assert dialect_of("/* a comment without an end\n.decl edge(x: number)\n" + "/*" * 50_000) == EMBERLOG


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.parent.name)
def test_a_converted_program_is_the_same(path: Path) -> None:
    program = parse_tolerantly(Source(path.name, path.read_text(encoding="utf-8")))
    assert not program.problems
    again = parse(Source("converted", print_program(program)))
    assert again.statements == program.statements


def test_the_command_converts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "reach.dl").write_text(REACH)
    assert main(["convert", str(tmp_path / "reach.dl")]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("// emberlog run … --input edge=edges.txt\ndeclare edge(x: int, y: int).\n")
    assert printed.endswith("reach(_, _)?\n")


def test_the_command_line_reads_the_files_that_the_program_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "reach.dl").write_text(REACH)
    (tmp_path / "edges.txt").write_text("from;to\n1;2\n2;3\n")
    assert main(["run", str(tmp_path / "reach.dl"), "--engine", "local"]) == 0
    assert "reach(x, y): 3 facts" in capsys.readouterr().out
    (tmp_path / "edges.txt").unlink()
    assert main(["run", str(tmp_path / "reach.dl"), "--engine", "local"]) == 1
    assert "DL405" in capsys.readouterr().err


def test_without_parameters_facts_are_raw_text_between_tabs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.dl").write_text(".decl t(s: symbol, n: number)\n.input t\n.output t\n")
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "t.facts").write_text('a "b", c\t1\n')
    assert main(["run", str(tmp_path / "p.dl"), "--engine", "local"]) == 0
    assert 'a "b", c  1' in capsys.readouterr().out


def test_python_is_told_which_data_is_missing() -> None:
    with Database(engine="local") as database:
        with pytest.raises(EmberlogError, match=r"DL401.*no data for the input `edge`"):
            database.datalog(REACH)
        database["edge"] = [(1, 2), (2, 3)]
        assert sorted(database.datalog(REACH, dialect="souffle")["reach"].collect()) == [(1, 2), (1, 3), (2, 3)]
        with pytest.raises(EmberlogError, match="there is no dialect `prolog`"):
            database.datalog(REACH, dialect="prolog")
        with pytest.raises(EmberlogError, match="DL122"):
            database.datalog(REACH, dialect="emberlog")


@pytest.mark.parametrize("seed", range(300))
def test_broken_texts_are_told_and_nothing_else(seed: int) -> None:
    """Deletes, doubles and swaps pieces of programs."""
    chance = random.Random(seed)
    text = chance.choice([*PROGRAMS, *MISTAKES]).read_text(encoding="utf-8")
    for _ in range(chance.randint(1, 6)):
        at, length = chance.randrange(len(text)), chance.randint(1, 12)
        piece = text[at : at + length]
        match chance.randrange(3):
            case 0:
                text = text[:at] + text[at + length :]
            case 1:
                text = text[:at] + piece + text[at:]
            case _:
                other = chance.randrange(len(text))
                text = text[:other] + piece + text[other:]
    program = parse_tolerantly(Source("broken", text), SOUFFLE)
    with Database(engine="local") as database:
        try:
            database.check(program)
        except EmberlogError as error:
            assert not any(one.code.startswith("DL9") for one in error.diagnostics)


def test_a_program_of_souffle_is_not_laid_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "reach.dl").write_text(REACH)
    assert main(["fmt", str(tmp_path / "reach.dl")]) == 1
    assert "emberlog convert writes it in our language" in capsys.readouterr().err
    assert (tmp_path / "reach.dl").read_text() == REACH


def test_an_editor_is_told_the_same_mistakes() -> None:
    wrong = REACH + "reach(x, z) :- edge(x, _).\n"
    view = ProgramView(Source("reach.dl", wrong))
    assert [one.code for one in view.diagnostics] == ["DL203"]
    assert [one.code for one in ProgramView(Source("reach.dl", REACH)).diagnostics] == []
    found = view.at(wrong.index("reach(x, y) :-"))
    assert found is not None
