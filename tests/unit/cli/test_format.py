"""`emberlog fmt`."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path

import pytest

from emberlog.source import Source
from emberlog.syntax.canonical_form import canonical_text
from tests.unit.cli.conftest import Emberlog

UNTIDY = "% rules\ntc( X,Y )<-arc(X,Y).   // exit\n\n\n\ntc(X,Y)←tc(X,Z),arc(Z,Y), ~bad(Z)  .\n"
TIDY = "% rules\ntc(X, Y) :- arc(X, Y).  // exit\n\ntc(X, Y) :- tc(X, Z), arc(Z, Y), !bad(Z).\n"


def test_rewrites_in_place(emberlog: Emberlog) -> None:
    Path("a.dl").write_text(UNTIDY)
    outcome = emberlog("fmt", "a.dl")
    assert outcome == (0, "", "rewrote a.dl\n")
    assert Path("a.dl").read_text() == TIDY


def test_is_idempotent(emberlog: Emberlog) -> None:
    assert canonical_text(Source("a", TIDY)) == TIDY
    Path("a.dl").write_text(TIDY)
    before = os.stat("a.dl").st_mtime_ns
    assert emberlog("fmt", "a.dl") == (0, "", "")
    assert os.stat("a.dl").st_mtime_ns == before


def test_keeps_permissions_and_links_and_leaves_nothing_behind(emberlog: Emberlog) -> None:
    Path("real.dl").write_text(UNTIDY)
    os.chmod("real.dl", 0o640)
    os.symlink("real.dl", "link.dl")
    assert emberlog("fmt", "link.dl").code == 0
    assert os.path.islink("link.dl")
    assert Path("real.dl").read_text() == TIDY
    assert stat.S_IMODE(os.stat("real.dl").st_mode) == 0o640
    assert sorted(os.listdir()) == ["link.dl", "real.dl"]


def test_a_failed_write_leaves_the_old_text(emberlog: Emberlog, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.dl").write_text(UNTIDY)

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    outcome = emberlog("fmt", "a.dl")
    assert outcome.code == 1
    assert "error[DL408]: cannot write `a.dl`: no space left on device" in outcome.err
    assert Path("a.dl").read_text() == UNTIDY
    assert os.listdir() == ["a.dl"]


def test_check_writes_nothing(emberlog: Emberlog) -> None:
    Path("a.dl").write_text(UNTIDY)
    Path("b.dl").write_text(TIDY)
    outcome = emberlog("fmt", "--check", "a.dl", "b.dl")
    assert outcome == (1, "", "would rewrite a.dl\n1 file would change, 1 already fine\n")
    assert Path("a.dl").read_text() == UNTIDY
    assert emberlog("fmt", "--check", "b.dl").code == 0


def test_diff_writes_nothing(emberlog: Emberlog) -> None:
    Path("a.dl").write_text("p(X):-q(X).")
    outcome = emberlog("fmt", "--diff", "a.dl")
    assert outcome.code == 1
    assert outcome.out.splitlines() == [
        "--- a.dl",
        "+++ a.dl (canonical)",
        "@@ -1 +1 @@",
        "-p(X):-q(X).",
        "\\ No newline at end of file",
        "+p(X) :- q(X).",
    ]
    assert Path("a.dl").read_text() == "p(X):-q(X)."


@pytest.mark.parametrize(("option", "expected"), [((), TIDY), (("--check",), "")])
def test_standard_input_goes_to_standard_output(
    emberlog: Emberlog, monkeypatch: pytest.MonkeyPatch, option: tuple[str, ...], expected: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(UNTIDY.encode())))
    outcome = emberlog("fmt", *option, "-")
    assert outcome.out == expected
    assert outcome.code == (1 if option else 0)


def test_a_file_with_errors_is_left_alone_and_the_others_are_done(emberlog: Emberlog) -> None:
    Path("bad.dl").write_text("p(X :- q(X).")
    Path("a.dl").write_text(UNTIDY)
    outcome = emberlog("fmt", "bad.dl", "a.dl")
    assert outcome.code == 1
    assert "error[DL110]" in outcome.err
    assert Path("bad.dl").read_text() == "p(X :- q(X)."
    assert Path("a.dl").read_text() == TIDY


def test_a_canonical_form_that_reads_differently_is_never_written(
    emberlog: Emberlog, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("a.dl").write_text(UNTIDY)
    monkeypatch.setattr("emberlog.syntax.canonical_form.print_program", lambda program: "other(1).\n")
    assert emberlog("fmt", "a.dl").code == 3
    assert Path("a.dl").read_text() == UNTIDY
