"""Cells of a notebook on Spark, in a real kernel over its messages."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest

from tests.kernels import Kernel, started_kernel

CHAIN = """\
%%datalog chain --db db
n(0).
n(Y) :- n(X), X < {last}, Y = later(X).
"""


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    with started_kernel() as started:
        started.run("%load_ext emberlog")
        started.run("import emberlog\ndb = emberlog.Database(master='local[1]')\nspark = db.spark")
        started.run(
            "def later(number):\n    import time\n    time.sleep(0.05)\n    return number + 1\n"
            "db.function('later', later, ['int'], 'int')"
        )
        yield started


def test_the_active_session_is_used_and_told(kernel: Kernel) -> None:
    kernel.run("flight = spark.createDataFrame([('BER', 'OSL'), ('OSL', 'KEF')], ['a', 'b'])")
    shown = kernel.run("%%datalog paths\ntrip(A, B) :- flight(A, B).\ntrip(A, C) :- trip(A, B), flight(B, C).")
    assert "Spark" in shown.text and "local[1]" in shown.text
    assert "3" in kernel.run("print(paths['trip'].count())").text
    again = kernel.run("%datalog trip('BER', To)?")
    assert "Spark" in again.text
    local = kernel.run("%%datalog --engine local\np(X) :- q(X).\nq(1).")
    assert "in this process" in local.text


def test_an_error_of_spark_is_the_diagnostic_alone(kernel: Kernel) -> None:
    shown = kernel.run("%%datalog\nq(1, 0).\np(Y) :- q(X, Z), Y = X / Z.", fine=False)
    assert shown.error == "EmberlogError"
    assert "DL501" in shown.text and "Traceback" not in shown.text and ".py" not in shown.text


@pytest.mark.parametrize("executor", ["driver", "cyclic", "dataframe"])
def test_an_interrupt_keeps_the_session(kernel: Kernel, executor: str) -> None:
    kernel.run("from emberlog import Execution")
    name = kernel.begin(
        "print('begun', flush=True)\n"
        f"db.datalog('n(0). n(Y) :- n(X), X < 5000000, Y = X + 1.', execution=Execution(executor='{executor}'),"
        "limits=emberlog.Limits(max_iterations=None))"
    )
    kernel.rest(name, until="begun")
    time.sleep(3)
    kernel.manager.interrupt_kernel()
    since = time.monotonic()
    stopped = kernel.rest(name)
    assert stopped.error == "Interrupted", stopped.text
    assert re.fullmatch(
        r"interrupted after \d+\.\d s; what was there before still is", stopped.text.split("begun")[-1].strip()
    )
    assert time.monotonic() - since < 20
    kernel.run("emberlog.Database().close()")  # which leaves a session alone that it did not start
    shown = kernel.run("%%datalog\np(1). p(X + 1) :- p(X), X < 5.")
    assert "Spark" in shown.text
    assert "5" in kernel.run("print(spark.range(5).count())").text


def test_an_interrupted_cell_can_be_run_again(kernel: Kernel) -> None:
    name = kernel.begin(CHAIN.format(last=10_000))
    time.sleep(3)
    kernel.manager.interrupt_kernel()
    stopped = kernel.rest(name)
    assert stopped.error == "Interrupted", stopped.text
    assert "interrupted after" in stopped.text and "Traceback" not in stopped.text
    for _ in range(2):
        kernel.run(CHAIN.format(last=5))
        assert "6" in kernel.run("print(chain['n'].count())").text
