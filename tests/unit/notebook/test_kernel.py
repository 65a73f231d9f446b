"""Cells in a real kernel, over the messages that JupyterLab and VS Code send and get."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.kernels import Kernel, started_kernel

SLOW = """\
import time, emberlog
db = emberlog.Database(engine="local")
def later(number):
    time.sleep(0.05)
    return number + 1
db.function("later", later, ["int"], "int")
"""
RUN = "%%datalog counted --db db\nn(0).\nn(Y) :- n(X), X < {last}, Y = later(X).\n"
COUNTED = "print(counted['n'].count(), 'facts')"


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    with started_kernel() as started:
        started.run("%load_ext emberlog")
        started.run(SLOW)
        yield started


def test_a_long_run_has_a_line_that_goes_away(kernel: Kernel) -> None:
    shown = kernel.run(RUN.format(last=30))
    places = {
        content["transient"]["display_id"]: content["data"]
        for content in shown.of("display_data")
        if content["transient"].get("display_id")
    }
    (place,) = places
    assert "application/vnd.jupyter.widget-view+json" in places[place]
    values = [
        content["data"]["state"].get("value", "") for content in shown.of("comm_msg") if "state" in content["data"]
    ]
    texts = [one.replace("\u2007", " ") for one in values if isinstance(one, str)]
    assert any(one.startswith("n   iteration") and "facts/s" in one and " s" in one for one in texts), texts
    (end,) = shown.of("update_display_data")
    assert end["transient"]["display_id"] == place and end["data"] == {}
    assert shown.of("comm_close")
    assert not shown.of("stream")


def test_a_short_run_has_none(kernel: Kernel) -> None:
    shown = kernel.run("%%datalog\np(1).")
    assert {kind for kind, _ in shown.outputs} == {"display_data"}
    assert not shown.of("update_display_data")


def test_progress_can_be_switched_off(kernel: Kernel) -> None:
    kernel.run("db.progress = False")
    shown = kernel.run(RUN.format(last=20))
    kernel.run("db.progress = True")
    assert not shown.of("comm_open")


def test_an_interrupt_keeps_kernel_and_results(kernel: Kernel) -> None:
    kernel.run(RUN.format(last=3))
    name = kernel.begin(RUN.format(last=10_000))
    time.sleep(1.5)
    kernel.manager.interrupt_kernel()
    since = time.monotonic()
    stopped = kernel.rest(name)
    assert stopped.error == "Interrupted"
    assert stopped.of("error")[0]["traceback"][0].startswith("interrupted after")
    assert time.monotonic() - since < 10
    assert "4 facts" in kernel.run(COUNTED).text
    kernel.run(RUN.format(last=5))
    assert "6 facts" in kernel.run(COUNTED).text


def test_an_interrupted_call_of_ones_own_shows_no_frames(kernel: Kernel) -> None:
    unlimited = "limits=emberlog.Limits(max_iterations=None)"
    name = kernel.begin(f"db.datalog('n(0). n(Y) :- n(X), X < 50000000, Y = X + 1.', {unlimited})")
    time.sleep(1)
    kernel.manager.interrupt_kernel()
    stopped = kernel.rest(name)
    assert stopped.error == "Interrupted" and len(stopped.of("error")[0]["traceback"]) == 1


def test_an_error_has_its_caret_and_no_frames(kernel: Kernel) -> None:
    for cell in ("%%datalog\np(X) :- q(Y).", "db.datalog('p(X) :- q(Y).')"):
        (error,) = kernel.run(cell, fine=False).of("error")
        assert error["ename"] == "EmberlogError"
        (text,) = error["traceback"]
        assert "DL203" in text and "^" in text and ".py" not in text


def test_completion_over_messages(kernel: Kernel) -> None:
    kernel.run("flight = [(1, 2)]")
    assert kernel.completions("%%datalog r\np(X) :- fli") == ["flight("]
    assert kernel.completions("%%datalog --eng") == ["--engine"]
