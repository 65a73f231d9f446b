"""`emberlog why`, `why-not` and `trace`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Emberlog

TC = "arc(1, 2). arc(2, 3).\nr1: tc(X, Y) :- arc(X, Y).\nr2: tc(X, Y) :- tc(X, Z), arc(Z, Y).\n"


@pytest.fixture(autouse=True)
def program(emberlog: Emberlog) -> None:
    """In the folder that `emberlog` has made its own."""
    Path("tc.dl").write_text(TC)


def test_why(emberlog: Emberlog) -> None:
    outcome = emberlog("why", "tc.dl", "tc(1, 3)")
    assert (outcome.code, outcome.out.splitlines()[0]) == (0, "tc(1, 3)        r2, iteration 1   Z = 2")
    assert emberlog("why", "tc.dl", "tc(1, 3)", "--all").out == outcome.out
    assert "not shown further" in emberlog("why", "tc.dl", "tc(1, 3)", "--depth", "1").out


def test_other_forms(emberlog: Emberlog) -> None:
    assert json.loads(emberlog("why", "tc.dl", "tc(1, 3)", "--format", "json").out)["title"] == "why tc(1, 3)"
    for name, beginning in (("why.html", "<!DOCTYPE"), ("why.dot", "digraph"), ("why.mmd", "---")):
        outcome = emberlog("why", "tc.dl", "tc(1, 3)", "--output", name)
        assert (outcome.code, outcome.out) == (0, "")
        assert Path(name).read_text(encoding="utf-8").startswith(beginning)


def test_why_not(emberlog: Emberlog) -> None:
    outcome = emberlog("why-not", "tc.dl", "tc(3, 1)", "--depth", "2")
    assert outcome.code == 0
    assert "└ tc(3, _)" in outcome.out


def test_trace(emberlog: Emberlog) -> None:
    assert "iteration 1   tc(1, 3)   r2 from tc(1, 2), arc(2, 3)" in emberlog("trace", "tc.dl", "tc(1, X)").out
    assert json.loads(emberlog("trace", "tc.dl", "tc(1, X)", "--json").out)["relation"] == "tc"


@pytest.mark.parametrize(
    ("question", "code"), [("tc(1, 9)", "DL442"), ("tc(1, X)", "DL443"), ("tc(1, 2 + 1)", "DL441"), ("tc(", "DL441")]
)
def test_mistakes(emberlog: Emberlog, question: str, code: str) -> None:
    outcome = emberlog("why", "tc.dl", question)
    assert outcome.code == 1
    assert outcome.err.startswith(f"error[{code}]")


PRICES = """\
STREAM ride(Ts: timestamp, From: string, To: string, Fare: float).
way(Ts, A, B, min<F>) :- ride(Ts, A, B, F).
query way(_, A, B, F), WINDOW(60 minutes, 15 minutes).
"""


def test_a_stream_is_asked_at_a_slide(emberlog: Emberlog) -> None:
    Path("prices.dl").write_text(PRICES)
    Path("rides").mkdir()
    Path("rides/1.csv").write_text("2026-03-02 08:05:00,a,b,6.5\n")
    Path("rides/2.csv").write_text("2026-03-02 09:35:00,b,c,1.0\n")
    stream = ("prices.dl", 'way("a", "b", F)', "--input", "ride=rides")
    then = emberlog("why", *stream, "--at", "2026-03-02 08:20:00")
    assert then.code == 0
    assert "slide 2026-03-02 08:15:00" in then.out and "holds until 2026-03-02 09:00:00" in then.out
    assert "slide 2026-03-02 09:45:00" in emberlog("why-not", *stream).out
    for command, *options in (("why", "--all"), ("trace",)):
        assert emberlog(command, *stream, *options).err.startswith("error[DL446]")
    assert emberlog("why", *stream, "--at", "noon").err.startswith("error[DL508]")
    assert emberlog("why", "tc.dl", "tc(1, 3)", "--at", "3").err.startswith("error[DL336]")
