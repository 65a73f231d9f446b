"""Programs in Soufflé's language: their files, their conversion, and texts that are none."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from emberlog.__main__ import main
from emberlog.database import Database
from emberlog.diagnostics import EmberlogError, EmberlogWarning
from emberlog.dialects import EMBERLOG, SOUFFLE, dialect_of, parse_tolerantly
from emberlog.editor.view import ProgramView
from emberlog.semantics.analysis import analyze
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
    assert program.is_readable
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


def test_a_compressed_file_is_told_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.dl").write_text(".decl p(x: number)\n.input p\n.output p\n")
    (tmp_path / "p.facts").write_bytes(gzip.compress(b"1\n2\n"))
    assert main(["run", str(tmp_path / "p.dl"), "--engine", "local"]) == 1
    assert "call it `p.facts.gz`" in capsys.readouterr().err
    (tmp_path / "p.facts").rename(tmp_path / "p.facts.gz")
    (tmp_path / "p.dl").write_text('.decl p(x: number)\n.input p(filename="p.facts.gz", compress=true)\n.output p\n')
    assert main(["run", str(tmp_path / "p.dl"), "--engine", "local"]) == 0
    assert "p(x): 2 facts" in capsys.readouterr().out


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


@pytest.mark.parametrize(
    ("mistake", "code"),
    [
        (".type T = A { x number } | B {}\n.decl p(x: T)\np($A(1)). p($B).\n.output p", "DL110"),
        ('.decl p(x: Tpye, y: Tpye)\np("a", "b"). p(1, 2).\n.output p', "DL115"),
        (".type T = Missing | number\n.decl p(x: T)\np(1).\n.output p", "DL115"),
        (".comp C { .decl p(x: number) p(1 . }\n.init c = C\n.decl q(x: number)\nq(x) :- c.p(x).", "DL110"),
        (".comp C > { .decl p(x: number) }\n.init c = C\n.decl q(x: number)\nq(x) :- c.p(x).", "DL110"),
        (".comp C {\n .decl p(x: number)\n p(x) :- q(x.\n}\n.decl q(x: number)\nq(1).", "DL110"),
        (".decl p(x: number) britree\np(1).", "DL123"),
        (".decl p(x: number)\np(1)\n.decl q(x: number)\nq(1).", "DL110"),
    ],
)
def test_a_mistake_brings_no_others_with_it(mistake: str, code: str) -> None:
    with pytest.raises(EmberlogError) as caught:
        analyze(parse_tolerantly(Source("p.dl", mistake), SOUFFLE))
    assert [one.code for one in caught.value.diagnostics] == [code]


DEEP = {
    "a sum": "p(" + "+".join(["1"] * 5_000) + ").",
    "words": "p(" + " band ".join(["1"] * 5_000) + ").",
    "powers": "p(" + "^".join(["1"] * 5_000) + ").",
    "signs": "p(" + "-" * 5_000 + "1).",
    "parentheses": "p(" + "(" * 5_000 + "1" + ")" * 5_000 + ").",
    "records": ".type L = [a: number, b: L]\n.decl l(x: L)\nl(" + "[1, " * 5_000 + "nil" + "]" * 5_000 + ").",
    "alternatives": "p(x) :- " + "(p(x); " * 5_000 + "p(x)" + ")" * 5_000 + ".",
    "negations": "p(x) :- q(x), " + "!(" * 5_000 + "q(x)" + ")" * 5_000 + ".",
    "aggregates": "p(x) :- " + "x = count : { " * 5_000 + "q(_)" + "}" * 5_000 + ".",
    "components": ".comp C { " * 5_000 + "}" * 5_000,
}


@pytest.mark.parametrize("what", DEEP)
def test_what_is_too_deep_is_told(what: str) -> None:
    text = f".decl p(x: number)\n.decl q(x: number)\nq(1).\n{DEEP[what]}\n.output p\n"
    with pytest.raises(EmberlogError) as caught:
        analyze(parse_tolerantly(Source("p.dl", text), SOUFFLE))
    assert {one.code for one in caught.value.diagnostics} == {"DL112"}


def test_a_fact_of_an_instance_is_asked_for_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.dl").write_text(
        ".comp C { .decl e(x: number)  .decl p(x: number)  p(x) :- e(x). }\n.init a = C\na.e(1).\n.output a.p\n"
    )
    assert main(["why", str(tmp_path / "p.dl"), "a.p(1)"]) == 0
    assert capsys.readouterr().out.startswith("a.p(1)")
    assert main(["why-not", str(tmp_path / "p.dl"), "a.p(2)"]) == 0


def test_what_is_passed_over_is_told(tmp_path: Path) -> None:
    directives = '.output p(IO=file, filename="p.csv")\n.limitsize p(n=5)\n'
    (tmp_path / "p.dl").write_text(f".decl p(x: number)\np(1).\n{directives}")
    with Database(engine="local") as database, pytest.warns(EmberlogWarning, match="DL298") as caught:
        assert database.datalog(tmp_path / "p.dl")["p"].collect() == [(1,)]
    assert len(caught) == 2
    assert main(["convert", str(tmp_path / "p.dl")]) == 0


def test_hints_speak_the_language_of_the_program() -> None:
    program = ".decl p(x: number)\n.decl q(x: number)\np(1).\nq(y) :- p(x).\n"
    with Database(engine="local") as database, pytest.raises(EmberlogError, match="DL203") as caught:
        database.datalog(program)
    assert "make it a parameter" not in str(caught.value)


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
