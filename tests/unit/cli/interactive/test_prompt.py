"""`emberlog repl` at a terminal, key by key."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from unittest.mock import patch

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from emberlog import __version__
from emberlog.__main__ import main
from emberlog.cli.interactive.console import Console
from emberlog.cli.interactive.engine import Engine
from emberlog.cli.interactive.prompt import ProgramCompleter, coloured
from emberlog.config import Limits
from emberlog.places import history_file
from tests.golden.corpus import GOLDEN

CTRL_C, CTRL_D, ENTER, UP, TAB = "\x03", "\x04", "\r", "\x1b[A", "\t"


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[PipeInput]:
    """A terminal that takes keys; what is written goes where `capsys` finds it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        yield keys


def repl(*, is_terminal: bool = True) -> int:
    with patch.object(sys.stdout, "isatty", lambda: is_terminal, create=True):
        return main(["repl"])


def test_a_conversation(keys: PipeInput, capsys: pytest.CaptureFixture[str]) -> None:
    keys.send_text(f"arc(1, 2). arc(2, 3).{ENTER}tc(X, Y) :- arc(X, Y).{ENTER}")
    keys.send_text(f"tc(X, Y) :- tc(X, Z),{ENTER}arc(Z, Y).{ENTER}tc(1, Y)?{ENTER}{CTRL_D}")
    assert repl() == 0
    out = capsys.readouterr().out
    assert out.startswith(f"Emberlog {__version__}. Rules and facts end with a full stop")
    assert out.endswith("arc: 2 facts\ntc: 1 rule\ntc: 2 rules\ntc(1, Y): 2 facts\n  1  2\n  1  3\n")


def test_an_empty_line_ends_a_statement(keys: PipeInput, capsys: pytest.CaptureFixture[str]) -> None:
    keys.send_text(f"arc(1, 2){ENTER}{ENTER}p(1).{ENTER}.quit{ENTER}")
    assert repl() == 0
    out = capsys.readouterr().out
    assert "error[DL111]" in out and out.endswith("p: 1 fact\n")


def test_ctrl_c_forgets_what_is_typed(keys: PipeInput, capsys: pytest.CaptureFixture[str]) -> None:
    keys.send_text(f"p(1),{ENTER}q({CTRL_C}p(2).{ENTER}{CTRL_D}")
    assert repl() == 0
    out = capsys.readouterr().out
    assert "error" not in out and out.endswith("p: 1 fact\n")


def test_help_in_the_middle_of_a_statement(keys: PipeInput, capsys: pytest.CaptureFixture[str]) -> None:
    keys.send_text(f"p(X) :-{ENTER}.help{ENTER}q(X).{ENTER}{CTRL_D}")
    assert repl() == 0
    out = capsys.readouterr().out
    assert "  .undo" in out and out.endswith("p: 1 rule\n")


def test_the_history_comes_back(keys: PipeInput, capsys: pytest.CaptureFixture[str]) -> None:
    keys.send_text(f"p(1).{ENTER}{CTRL_D}")
    assert repl() == 0
    keys.send_text(f"{UP}{ENTER}p(X)?{ENTER}{CTRL_D}")
    assert repl() == 0
    assert capsys.readouterr().out.endswith("p: 1 fact\np(X): 1 fact\n  1\n")
    file = history_file()
    assert file is not None and stat.S_IMODE(file.stat().st_mode) == 0o600


def test_without_a_home_there_is_no_history(
    keys: PipeInput, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert history_file() is None
    keys.send_text(f"p(1).{ENTER}{CTRL_D}")
    assert repl() == 0
    assert capsys.readouterr().out.endswith("p: 1 fact\n")


def test_tab_completes(keys: PipeInput, capsys: pytest.CaptureFixture[str]) -> None:
    Path("roads.csv").write_text("1,2\n")

    def type_slowly() -> None:
        """As a person does, who waits for what Tab gives."""
        for text in (".load roa", TAB, ENTER, "p(X) :- roa", TAB, "X, _).", ENTER, CTRL_D):
            time.sleep(0.5)
            keys.send_text(text)

    person = Thread(target=type_slowly)
    person.start()
    assert repl() == 0
    person.join()
    out = capsys.readouterr().out
    assert "roads: facts from roads.csv\n" in out and out.endswith("p: 1 rule\n")


def test_output_to_a_file_is_no_conversation(
    keys: PipeInput, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", Lines(["p(1).\n", "p(X)?\n"]))
    assert repl(is_terminal=False) == 0
    assert capsys.readouterr().out == "p: 1 fact\np(X): 1 fact\n  1\n"


class Lines(list[str]):
    def isatty(self) -> bool:
        return True


# --- completion and colours -------------------------------------------------------------------------------------------


@pytest.fixture
def console() -> Console:
    console = Console(Engine(Limits()), {}, lambda _: None, show=20)
    console.feed("arc(1, 2).")
    console.feed("track(X) :- arc(X, _).")
    console.feed(".param start=1")
    return console


def completed(console: Console, text: str) -> list[str]:
    return [one.text for one in ProgramCompleter(console).get_completions(Document(text), CompleteEvent())]


def test_what_is_completed(console: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "facts").mkdir()
    assert completed(console, "p(X) :- ar") == ["arc("]
    assert completed(console, "tr")[0] == "track("
    assert completed(console, "p(Alpha) :- arc(Al") == ["Alpha"]
    assert completed(console, "p(X) :- arc(X, $st") == ["$start"]
    assert "upper(" in completed(console, "p(X) :- arc(X, Y), Z = upp")
    assert completed(console, 'p("ar') == []
    assert completed(console, ".lo") == [".load"]
    assert completed(console, "p(X) :-\n.he") == [".help"]
    assert completed(console, ".load fa") == ["cts"]
    assert completed(console, ".facts tr") == ["track"]
    assert completed(console, ".help DL20")[:2] == ["DL201", "DL203"]
    assert completed(console, ".explain arc") == ["arc("]
    assert completed(console, ".quit ") == []


@pytest.mark.parametrize(
    "text", ["p(X) :-\n  q(X), // not yet\n", '.load "x', 'p("open\n', "/* open\nstill", "", "\n\n"]
)
def test_colours_change_no_letter(text: str) -> None:
    assert "\n".join("".join(piece for _, piece in line) for line in coloured(text)) == text


def test_colours_change_no_letter_of_the_corpus() -> None:
    programs = sorted(GOLDEN.rglob("*.dl"))
    assert len(programs) > 200
    for program in programs:
        text = program.read_text(encoding="utf-8", errors="replace").replace("\r", "")
        assert "\n".join("".join(piece for _, piece in line) for line in coloured(text)) == text


def test_words_have_the_colour_of_their_kind() -> None:
    (line,) = coloured('declare p(X) :- q(X, "a", 1), Y = upper(X), not r($s). // so')
    found = {piece: style.removeprefix("class:") for style, piece in line if style}
    assert found == {
        "declare": "keyword",
        "p": "relation",
        "q": "relation",
        '"a"': "text",
        "1": "number",
        "upper": "function",
        "not": "keyword",
        "r": "relation",
        "$s": "parameter",
        "// so": "comment",
    }


def test_the_history_is_not_of_other_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    file = history_file()
    assert file == tmp_path / "emberlog" / "history" and os.stat(file.parent).st_mode & 0o077 == 0
