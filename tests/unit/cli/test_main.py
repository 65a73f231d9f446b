"""The command line as a whole: help, exit codes, colours, and errors that no command expects."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import emberlog as package
from emberlog.__main__ import COMMANDS, main
from emberlog.cli import exit_codes
from emberlog.cli.parameters import parse_parameter, parse_value
from emberlog.cli.terminal import wants_colour
from emberlog.syntax.ast import Constant, Value
from tests.unit.cli.conftest import Emberlog

NAMES = [command.NAME for command in COMMANDS]

SOURCES = Path(__file__).parents[3] / "src"


def run_process(*arguments: str, then: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    shell = f'"{sys.executable}" -m emberlog {" ".join(arguments)} {then}'
    variables = {**os.environ, "PYTHONPATH": str(SOURCES), **environment}
    return subprocess.run(["bash", "-c", shell], capture_output=True, text=True, env=variables)


def test_no_arguments_show_the_help(emberlog: Emberlog) -> None:
    outcome = emberlog()
    assert outcome.code == 0
    assert outcome.out == emberlog("--help").out


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("command", [(), *((one.NAME,) for one in COMMANDS)], ids=" ".join)
def test_the_help_fits_the_terminal(
    emberlog: Emberlog, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], width: int
) -> None:
    monkeypatch.setenv("COLUMNS", f"{width}")
    _, _, below = emberlog(*command, "--help").out.partition("\n\n")  # what is above is up to argparse
    wide = [one for one in below.splitlines() if len(one) > width]
    assert [one for one in wide if not one.startswith("  emberlog ")] == []  # these are copied as a whole


def test_the_help_teaches(emberlog: Emberlog) -> None:
    text = emberlog("--help").out
    for name in NAMES:
        assert f"\n    {name} " in text
    for number in (exit_codes.FINE, exit_codes.ERRORS, exit_codes.USAGE, exit_codes.INTERNAL, exit_codes.INTERRUPTED):
        assert f"\n  {number:<5}" in text
    assert "NO_COLOR" in text
    assert "reach(X, Z) :- reach(X, Y), arc(Y, Z)." in text


@pytest.mark.parametrize("command", NAMES)
def test_every_command_has_help_with_examples(emberlog: Emberlog, command: str) -> None:
    outcome = emberlog(command, "--help")
    assert outcome.code == 0
    assert f"examples:\n  emberlog {command} " in outcome.out


def test_version(emberlog: Emberlog) -> None:
    assert emberlog("--version").out.startswith(f"emberlog {package.__version__} (Python 3.")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("chek", "a.dl"), "there is no command `chek`; did you mean `check`?"),
        (("frobnicate",), f"there is no command `frobnicate`; the commands: {', '.join(NAMES)}"),
        (("a.dl",), "say what to do with a.dl, for example: emberlog check a.dl"),
        (("check",), "the following arguments are required: FILE"),
        (("check", "--jsn", "a.dl"), "there is no option --jsn; did you mean --json?"),
        (("check", "--param", "x", "a.dl"), "write NAME=VALUE, as in source=977, not `x`"),
        (("check", "--iterations", "0", "a.dl"), "a whole number larger than 0 is needed, not `0`"),
        (("explain", "a.dl", "--format", "pdf"), "invalid choice: 'pdf'"),
    ],
)
def test_wrong_usage(emberlog: Emberlog, arguments: tuple[str, ...], message: str) -> None:
    outcome = emberlog(*arguments)
    assert outcome.code == 2
    assert message in outcome.err


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("977", 977),
        ("-3", -3),
        ("2.5", 2.5),
        ("1e3", 1000.0),
        ("true", True),
        ("false", False),
        ("BER", "BER"),
        ('"007"', "007"),
        ("'007'", "007"),
        ("", ""),
        ("a=b", "a=b"),
        ("1_000", Constant(1000)),
        ("a: 1", "a: 1"),
        ("1), q(2", "1), q(2"),
    ],
)
def test_parameter_values(text: str, value: Value | Constant) -> None:
    assert parse_value(text) == value
    assert type(parse_value(text)) is type(value)
    assert parse_parameter(f"x={text}") == ("x", value)


class Terminal:
    def __init__(self, *, is_terminal: bool) -> None:
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal


@pytest.mark.parametrize(
    ("is_terminal", "environment", "expected"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "0"}, False),
        (True, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_colours(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, environment: dict[str, str], expected: bool
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert wants_colour(Terminal(is_terminal=is_terminal)) is expected  # type: ignore[arg-type]


def test_forced_colours_reach_the_output(emberlog: Emberlog, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("bad.dl").write_text("p(X) :- q(Y, Y).\n")
    Path("fine.dl").write_text("p(X) :- q(X).\n")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert emberlog("check", "bad.dl").out.startswith("\x1b[1;31merror[DL203]")
    assert emberlog("explain", "fine.dl").out.startswith("\x1b[1mprogram\x1b[0m\n  fine.dl\n")
    assert "\x1b" not in emberlog("explain", "fine.dl", "--format", "svg").out


def test_an_internal_error_is_one_line(emberlog: Emberlog, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.dl").write_text("p(X) :- q(X).\n")

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("division by zero\nand more")

    monkeypatch.setattr("emberlog.semantics.analysis.analyze", fail)
    outcome = emberlog("check", "a.dl")
    assert outcome.code == 3
    assert outcome.err == (
        "error[DL901]: Emberlog itself failed: ZeroDivisionError: division by zero; please report it with the "
        "program and this command, and what EMBERLOG_DEBUG=1 adds\n"
    )
    monkeypatch.setenv("EMBERLOG_DEBUG", "1")
    outcome = emberlog("check", "a.dl")
    assert outcome.code == 3
    assert outcome.err.startswith("Traceback")


def test_an_internal_error_with_a_code_of_its_own(emberlog: Emberlog, monkeypatch: pytest.MonkeyPatch) -> None:
    from emberlog.diagnostics import InternalError

    Path("a.dl").write_text("p(X) :- q(X).\n")

    def fail(*_: object, **__: object) -> None:
        raise InternalError("DL902: no way to run this")

    monkeypatch.setattr("emberlog.semantics.analysis.analyze", fail)
    assert emberlog("check", "a.dl").err.startswith("error[DL902]: Emberlog itself failed: no way to run this; ")


def test_an_interrupt_ends_with_its_own_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("emberlog.__main__._run", interrupt)
    assert main(["check"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_broken_pipe_ends_quietly(tmp_path: Path) -> None:
    program = tmp_path / "many.dl"
    program.write_text("".join(f"p{i}(X) :- e{i}(X).\n" for i in range(1_000)))
    done = run_process("explain", str(program), then='| head -n 1; echo "${PIPESTATUS[0]}"')
    assert done.stdout == "program\n0\n"
    assert done.stderr == ""


def test_a_terminal_without_the_characters_still_gets_an_answer(tmp_path: Path) -> None:
    program = tmp_path / "bad.dl"
    program.write_text("p(X) :- q(Y, Y).\n")
    done = run_process("check", str(program), PYTHONIOENCODING="ascii")
    assert done.returncode == 1
    assert "error[DL203]" in done.stdout
    assert done.stderr == ""


def test_the_module_can_be_run() -> None:
    done = run_process("--version")
    assert (done.returncode, done.stderr) == (0, "")


def test_an_option_that_does_not_exist(emberlog: Emberlog) -> None:
    outcome = emberlog("run", "tc.dl", "--inputs", "arc=arc.csv")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.endswith("emberlog run: error: there is no option --inputs; did you mean --input?\n")
    assert "unrecognized arguments: --nothing-like-it" in emberlog("run", "tc.dl", "--nothing-like-it").err
