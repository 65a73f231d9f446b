"""The conversation of `emberlog repl`, line by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from emberlog.cli.interactive.commands import COMMANDS
from emberlog.cli.interactive.console import Console
from emberlog.cli.interactive.engine import Engine
from emberlog.config import Limits

EXAMPLES = Path(__file__).parents[4] / "examples"

TC = ("arc(1, 2).", "arc(2, 3).", "tc(X, Y) :- arc(X, Y).", "tc(X, Y) :- tc(X, Z), arc(Z, Y).")


class Conversation:
    def __init__(self, show: int = 20, limits: Limits | None = None) -> None:
        self.written: list[str] = []
        self.console = Console(Engine(limits or Limits()), {}, self.written.append, show=show)

    def say(self, *lines: str) -> str:
        """What comes back to the lines."""
        self.written.clear()
        for line in lines:
            self.console.feed(line)
        return "\n".join(self.written)


@pytest.fixture
def talk() -> Conversation:
    return Conversation()


def test_rules_facts_and_a_query(talk: Conversation) -> None:
    assert talk.say(*TC) == "arc: 1 fact\narc: 2 facts\ntc: 1 rule\ntc: 2 rules"
    assert talk.say("tc(1, Y)?") == "tc(1, Y): 2 facts\n  1  2\n  1  3"


def test_relations_as_people_write_them(talk: Conversation) -> None:
    assert (
        talk.say("a(1), done.", "p(X), `my q`(X) :- a(X), done.") == "a: 1 fact\ndone: 1 fact\np: 1 rule\nmy q: 1 rule"
    )
    assert talk.say("done?", "`my q`(X: 1)?") == "done(holds): 1 fact\n  true\nmy q(1): 1 fact\n  1"
    assert "error[DL201]: there is no relation `dnoe`" in talk.say("p(X) :- a(X), dnoe.")
    talk.say("declare e(x: int).", "r(X) :- e(X).")
    assert "warning[DL294]: `e` is declared" in talk.say("r(X)?")


def test_a_query_is_not_kept(talk: Conversation) -> None:
    talk.say(*TC, "tc(1, Y)?")
    assert talk.say("tc(2, Y)?") == "tc(2, Y): 1 fact\n  2  3"


def test_a_statement_over_several_lines(talk: Conversation) -> None:
    assert talk.say("tc(X, Y) :-", "  tc(X, Z),  // not yet.") == ""
    assert talk.console.is_in_a_statement
    assert talk.say("  arc(Z, Y).") == "tc: 1 rule"
    assert not talk.console.is_in_a_statement


def test_an_empty_line_ends_a_statement(talk: Conversation) -> None:
    assert "error[DL111]" in talk.say("arc(1, 2)", "")
    assert talk.say("EDGE(int src, int dst)", "") == "EDGE: declared"


def test_several_statements_on_a_line(talk: Conversation) -> None:
    assert talk.say("p(1). p(2). p(X)?") == "p: 2 facts\np(X): 2 facts\n  1\n  2"


def test_comments_and_empty_lines_are_nothing(talk: Conversation) -> None:
    assert talk.say("", "   ", "// hello", "% hello") == ""


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("tc(1, Q :- arc(1, Q).", "DL110"),
        ("foo(X) :- arc(X, Y), Z > 1.", "DL203"),
        ('arc("one", 2).', "DL224"),
        ("nothing(X)?", "DL201"),
        ("p($source).", "DL211"),
    ],
)
def test_a_mistake_is_shown_and_loses_nothing(talk: Conversation, line: str, code: str) -> None:
    talk.say(*TC)
    assert f"error[{code}]" in talk.say(line)
    assert talk.console.mistakes == 1
    assert talk.say("tc(1, Y)?") == "tc(1, Y): 2 facts\n  1  2\n  1  3"


def test_errors_point_at_the_input(talk: Conversation) -> None:
    assert "  ┌ input 5:1:5\n1 │ foo(X) :- arc(Y, Y).\n" in talk.say(*TC, "foo(X) :- arc(Y, Y).")


def test_warnings_are_those_of_the_new_statement(talk: Conversation) -> None:
    assert "warning[DL290]" in talk.say("p(X) :- e(X, Once).")
    assert "warning" not in talk.say("q(X) :- p(X).")


def test_an_error_while_running_loses_nothing(talk: Conversation) -> None:
    talk.say("share(10, 0).", "each(Y) :- share(X, N), Y = X / N.")
    assert "error[DL501]" in talk.say("each(Y)?")
    assert talk.say("share(X, N)?") == "share(X, N): 1 fact\n  10  0"


def test_an_input_without_facts(talk: Conversation) -> None:
    talk.say("p(X) :- e(X).")
    assert "error[DL401]" in talk.say("p(X)?")


def test_limits() -> None:
    talk = Conversation(limits=Limits(max_iterations=10))
    talk.say("n(0).", "n(X + 1) :- n(X).")
    assert "error[DL510]" in talk.say("n(X)?")


def test_long_answers_are_cut(talk: Conversation) -> None:
    talk = Conversation(show=2)
    talk.say("p(1). p(2). p(3).")
    assert talk.say("p(X)?") == "p(X): 3 facts\n  1\n  2\n  …  (2 of 3 shown; .facts p shows the whole relation)"
    assert talk.say(".facts p") == "p(c1): 3 facts\n  1\n  2\n  3"


def test_an_interrupt_loses_nothing(talk: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    talk.say(*TC)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Engine, "answer", interrupt)
        assert talk.say("tc(1, Y)?") == "interrupted; nothing that was entered before is lost"
    assert talk.say("tc(2, Y)?") == "tc(2, Y): 1 fact\n  2  3"


# --- commands -------------------------------------------------------------------------------------------------------


def test_help_lists_every_command(talk: Conversation) -> None:
    text = talk.say(".help")
    for name, command in COMMANDS.items():
        assert f"  {name} {command.argument}" in text


def test_help_is_there_in_the_middle_of_a_statement(talk: Conversation) -> None:
    talk.say(*TC[:2], "tc(X, Y) :-")
    assert "  .undo" in talk.say("  .help")
    assert talk.say("  arc(X, Y).") == "tc: 1 rule"


def test_help_on_something(talk: Conversation) -> None:
    assert talk.say(".help load").startswith(".load PATH  a program")
    assert talk.say(".help .undo") == ".undo  take the last entry back"
    assert talk.say(".help dl203").startswith("error[DL203]")
    assert talk.say(".help upper").startswith("upper(")
    assert talk.say(".help mcount").startswith("mcount<")
    assert talk.say(".help larger").startswith("larger(A, X, Y): A is")
    assert talk.say(".help uper") == "there is no help on uper; did you mean upper?"
    assert talk.say(".help xyzzy") == "there is no help on xyzzy"


def test_a_misspelt_command(talk: Conversation) -> None:
    assert talk.say(".fcts") == "there is no command .fcts; did you mean .facts?"
    assert talk.say(".xyzzy") == "there is no command .xyzzy; .help lists them"


@pytest.mark.parametrize("name", [".load", ".param", ".save"])
def test_a_command_that_needs_more(talk: Conversation, name: str) -> None:
    assert talk.say(name) == f"write {name} {COMMANDS[name].argument}"


def test_undo(talk: Conversation) -> None:
    assert talk.say(".undo") == "there is nothing to undo"
    talk.say(*TC)
    assert talk.say(".undo") == "taken back: tc(X, Y) :- tc(X, Z), arc(Z, Y)."
    assert talk.say("tc(1, Y)?") == "tc(1, Y): 1 fact\n  1  2"


def test_facts_tell_what_there_is(talk: Conversation) -> None:
    assert talk.say(".facts") == "nothing was entered yet"
    talk.say(*TC)
    assert talk.say(".facts") == "arc: 2 facts\ntc: 2 rules"
    assert talk.say(".facts tcc") == "there is no relation tcc; did you mean tc?"


def test_rules(talk: Conversation) -> None:
    assert talk.say(".rules") == "nothing was entered yet"
    talk.say("p( X ):-e( X ).")
    assert talk.say(".rules") == "p(X) :- e(X)."


def test_parameters(talk: Conversation) -> None:
    assert talk.say(".param source") == "write NAME=VALUE, as in source=977, not `source`"
    assert talk.say(".param source=1") == "$source is 1"
    talk.say(*TC)
    assert talk.say("tc($source, Y)?") == "tc(1, Y): 2 facts\n  1  2\n  1  3"


def test_explain(talk: Conversation) -> None:
    talk.say(*TC)
    assert "Fixpoint tc(X, Y)" in talk.say(".explain")
    assert "tc(1, Y)?" in talk.say(".explain tc(1, Y)?")
    assert talk.say(".explain dl203").startswith("error[DL203]: a variable that is not bound")
    assert talk.say(".explain DL999") == "there is no code DL999"


def test_save(talk: Conversation, tmp_path: Path) -> None:
    talk.say(*TC)
    path = tmp_path / "tc.dl"
    assert talk.say(f".save {path}") == f"{path}: 4 statements written"
    assert path.read_text() == "\n".join((*TC, ""))
    assert "error[DL408]" in talk.say(f".save {tmp_path}/nowhere/tc.dl")


def test_quit(talk: Conversation) -> None:
    talk.say(".quit")
    assert talk.console.is_over


def test_load_a_folder_with_a_program_and_its_facts(talk: Conversation) -> None:
    text = talk.say(f".load {EXAMPLES / 'data_lineage'}")
    assert "rests_on: 2 rules\n" in text
    assert "stale(Report, Owner, Table): 1 fact\n  Monthly revenue  finance  finance.rates\n" in text
    assert talk.say('origins("Churn forecast", N)?') == 'origins("Churn forecast", N): 1 fact\n  Churn forecast  4'
    talk.say(".undo")
    assert talk.say(".facts") == "nothing was entered yet"


def test_load_facts(talk: Conversation, tmp_path: Path) -> None:
    path = tmp_path / "arc.csv"
    path.write_text("1,2\n2,3\n")
    assert talk.say(f".load {path}") == f"arc: facts from {path}"
    assert talk.say("arc(1, Y)?") == "arc(1, Y): 1 fact\n  1  2"
    assert talk.say("two(X, Z) :- arc(X, Y), arc(Y, Z).", "two(X, Z)?").endswith("two(X, Z): 1 fact\n  1  3")
    path.write_text("1,2\n2,3\n3,4\n")
    assert talk.say("two(X, Z)?").startswith("two(X, Z): 2 facts")
    assert "error[DL205]" in talk.say("bad(X) :- arc(X).")


def test_load_a_folder_of_facts(talk: Conversation, tmp_path: Path) -> None:
    (tmp_path / "arc.csv").write_text("1,2\n")
    (tmp_path / "node.tsv").write_text("1\n2\n")
    (tmp_path / "notes.txt").write_text("not facts\n")
    assert talk.say(f".load {tmp_path}").splitlines() == [
        f"arc: facts from {tmp_path}/arc.csv",
        f"node: facts from {tmp_path}/node.tsv",
    ]


def test_declared_types_hold_for_files(talk: Conversation, tmp_path: Path) -> None:
    path = tmp_path / "code.csv"
    path.write_text("007\n")
    assert talk.say("declare code(c: string).", f".load {path}", "code(X)?").endswith("code(X): 1 fact\n  007")


def test_an_empty_file(talk: Conversation, tmp_path: Path) -> None:
    path = tmp_path / "arc.csv"
    path.write_text("")
    talk.say(f".load {path}", "p(X) :- arc(X, _).")
    assert talk.say("p(X)?") == "p(X): 0 facts"


@pytest.mark.parametrize(
    ("name", "code"), [("nowhere.csv", "DL405"), ("nowhere.dl", "DL405"), ("arc.xls", "DL407"), ("nowhere", "DL405")]
)
def test_what_cannot_be_loaded(talk: Conversation, tmp_path: Path, name: str, code: str) -> None:
    (tmp_path / "arc.xls").write_text("1,2\n")
    assert f"error[{code}]" in talk.say(f".load {tmp_path / name}")
    assert talk.console.workbook.entries == []
