"""Every option of every door does something, or is an error: none is taken and ignored.

The tables have a row for each option, and a test says so when one is missing.
"""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import pytest

from emberlog import Database, EmberlogError, Execution, Limits, Recovery, Result
from emberlog.__main__ import _parser, main
from emberlog.config import EVALUATIONS, Evaluation, StreamOptions
from emberlog.events import Event, ExecutorChosen, RulesProfiled, StratumFinished
from emberlog.live.slides import LivePlan
from emberlog.streams.evaluate.methods import plan_evaluation, slide_evaluator
from tests.streams import by_evaluator, stream_case

TC = "tc(X, Y) :- arc(X, Y). tc(X, Z) :- tc(X, Y), arc(Y, Z)."
STREAM = "STREAM ride(Ts: timestamp, F: int). cheap(T, F) :- ride(T, F), F < 5."
ARCS = [(number, number + 1) for number in range(20)]


@dataclass
class Ran:
    """What a run did: its events and its result, or the error that it ended with."""

    events: list[Event] = field(default_factory=list)
    result: Any = None
    error: EmberlogError | None = None

    @property
    def code(self) -> str:
        return self.error.diagnostics[0].code if self.error is not None else ""

    def said(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def how(self) -> str:
        return " ".join(f"{event.executor}: {event.how}" for event in self.said(ExecutorChosen))

    @property
    def representation(self) -> str:
        return " ".join(event.representation for event in self.said(StratumFinished))

    @property
    def is_recorded(self) -> bool:
        try:
            return bool(self.result.why("tc", (0, 2)))
        except EmberlogError:
            return False


def ran(run: Callable[[Callable[[Event], None]], object]) -> Ran:
    seen = Ran()
    try:
        seen.result = run(seen.events.append)
    except EmberlogError as error:
        seen.error = error
    return seen


def run_here(**options: Any) -> Ran:
    database = Database(engine="local")
    database["arc"] = ARCS
    return ran(lambda listener: database.datalog(TC, **{"listener": listener, **options}))


@dataclass(frozen=True)
class Row:
    """An option with a value that is not its default, and what it does on each engine: what shows that it is honoured,
    or the code of the error."""

    value: Any
    here: Callable[[Ran], bool] | str
    on_spark: Callable[[Ran], bool] | str
    other: dict[str, Any] = field(default_factory=dict)
    """Other options that it needs to show its effect."""

    def options(self, name: str) -> dict[str, Any]:
        return {name: self.value, **self.other}


def errs(code: str) -> Callable[[Ran], bool]:
    """Of an option whose effect is an error that a run without it does not have."""
    return lambda seen: seen.code == code


EXECUTION = {
    "executor": Row("cyclic", lambda seen: "cyclic:" in seen.how, lambda seen: "cyclic:" in seen.how),
    "mode": Row("async", lambda seen: "async" in seen.how, lambda seen: "async" in seen.how),
    "workers": Row(2, lambda seen: "2 workers" in seen.how, lambda seen: "2 workers" in seen.how),
    "partitioning": Row("range", errs("DL335"), errs("DL335")),
    "representation": Row(
        "rows", lambda seen: "asked for" in seen.representation, lambda seen: "asked for" in seen.representation
    ),
    "memory": Row(1, lambda seen: "cyclic:" in seen.how, lambda seen: "dataframe:" in seen.how),
    "through_spark": Row(True, "DL336", errs("DL336"), {"recovery": Recovery(checkpoint_rounds=1)}),
    "profile": Row(
        True,
        lambda seen: bool(seen.said(RulesProfiled)),
        lambda seen: bool(seen.said(RulesProfiled)),
        {"executor": "cyclic"},
    ),
    "recovery": Row(Recovery(retries=1), "DL336", lambda seen: seen.error is None),
    "provenance": Row(True, lambda seen: seen.is_recorded, lambda seen: seen.is_recorded),
}
"""Whether retries are made and stalls noticed is what tests/spark/test_fault_suite.py looks at; whether a budget holds,
test_local_database.py: so few facts as here do not pass it."""

LIMITS = {
    "max_iterations": Row(3, errs("DL510"), errs("DL510")),
    "max_rows": Row(30, errs("DL511"), errs("DL511")),
    "timeout": Row(1e-9, errs("DL512"), errs("DL512")),
}


def test_no_field_lacks_a_row() -> None:
    assert [one.name for one in fields(Execution)] == list(EXECUTION)
    assert [one.name for one in fields(Limits)] == list(LIMITS)


@pytest.mark.parametrize("name", EXECUTION)
def test_executions_here(name: str) -> None:
    row = EXECUTION[name]
    seen = run_here(execution=Execution(**row.options(name)))
    if isinstance(row.here, str):
        assert seen.code == row.here
        assert f"a local database has no option `{name}`" in str(seen.error)
    else:
        assert row.here(seen), (seen.how, seen.error)
        assert not row.here(run_here()), "a run without the option does the same"


@pytest.mark.parametrize("name", [one.name for one in fields(Recovery)])
def test_recoveries_are_not_for_this_process(name: str) -> None:
    assert run_here(execution=Execution(recovery=Recovery(**dict[str, Any]({name: 1})))).code == "DL336"


@pytest.mark.parametrize("name", LIMITS)
def test_limits_here(name: str) -> None:
    row = LIMITS[name]
    assert callable(row.here)
    assert row.here(run_here(limits=Limits(**row.options(name))))


@pytest.mark.parametrize("name", ["mode", "workers", "partitioning", "representation", "memory", "recovery"])
def test_a_series_of_jobs_has_no_options_of_workers(name: str) -> None:
    row = EXECUTION[name]
    with pytest.raises(EmberlogError) as caught:
        Execution(executor="dataframe", **{name: row.value})
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == ("DL336", f"the executor dataframe has no option `{name}`")


def test_the_text_of_a_refusal() -> None:
    seen = run_here(execution=Execution(through_spark=True, recovery=Recovery(retries=1)))
    assert str(seen.error) == (
        "error[DL336]: a local database has no option `through_spark`\n"
        "  = leave it out: there is no Spark that facts could go through\n\n"
        "error[DL336]: a local database has no option `recovery`\n"
        "  = leave it out: workers are threads of this process, and none is lost without the others"
    )


def test_a_plan_is_made_whatever_a_run_would_refuse() -> None:
    database = Database(engine="local")
    database["arc"] = ARCS
    assert database.check(TC, iterations=3, off=["prune_columns"]).checked.rules
    database["ride"] = [(1, 2)]
    assert database.check(STREAM, off=["prune_columns"]).checked.rules


@pytest.mark.parametrize(
    ("text", "representation", "why"),
    [
        (TC.replace("arc(Y, Z)", "tc(Y, Z)"), "rows", "a rule reads the recursion twice"),
        ("sg(X, Y) :- arc(P, X), arc(P, Y). sg(X, Y) :- arc(A, X), sg(A, B), arc(B, Y).", "lanes", "no column is"),
        ("n(X, min<Y>) :- arc(X, Y). n(X, min<Z>) :- n(Y, Z), arc(X, Y).", "marks", "it is not one relation"),
    ],
)
def test_representations_that_a_recursion_has_not(text: str, representation: str, why: str) -> None:
    database = Database(engine="local")
    database["arc"] = ARCS
    execution = Execution(representation=representation)
    seen = ran(lambda listener: database.datalog(text, execution=execution, off=["linearise"]))
    assert seen.code == "DL337"
    assert f"cannot be kept as `{representation}`: {why}" in str(seen.error)


# --- the methods of a database and of a result -----------------------------------------------------------------------


def parameters(function: Callable[..., object]) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name != "self"]


def refused(call: Callable[[], object], *options: str) -> None:
    with pytest.raises(EmberlogError) as caught:
        call()
    assert [(one.code, one.message.rpartition("`")[0].rpartition("`")[2]) for one in caught.value.diagnostics] == [
        ("DL336", option) for option in options
    ]


DOORS: dict[Callable[..., object], Iterable[str]] = {
    Database.__init__: ("spark", "engine", "workers", "master", "memory", "conf", "progress"),
    Database.register: (
        *("name", "data", "columns", "format", "header", "delimiter", "encoding", "null", "quote"),
        "changes",
    ),
    Database.rules: ("program", "name"),
    Database.remove_rules: ("name",),
    Database.datalog: (
        "program",
        "params",
        "iterations",
        "limits",
        "listener",
        "dialect",
        "include",
        "off",
        "execution",
        "provenance",
    ),
    Database.query: ("query", "params", "iterations", "limits", "listener"),
    Database.window: ("program", "at", "params", "iterations", "limits"),
    Database.check: ("program", "params", "iterations", "off", "provenance"),
    Database.cost: ("program", "analyze", "params", "iterations", "limits", "off"),
    Result.write: ("folder", "format", "header", "iterations"),
    Result.why: ("relation", "fact", "all", "limit", "depth", "contributions"),
    Result.why_not: ("relation", "fact", "depth"),
    Result.trace: ("relation", "fact", "limit"),
    Result.start: (
        "path",
        *(one.name for one in fields(StreamOptions) if one.name != "path"),
        "foreachBatch",
        "listener",
    ),
}
"""What each takes. Whoever adds something has to say in a test below what it does, and where it is refused."""


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__qualname__)
def test_no_parameter_is_new(door: Callable[..., object]) -> None:
    assert sorted(parameters(door)) == sorted(DOORS[door])


@pytest.mark.parametrize(
    "options", [{"master": "local[1]"}, {"memory": "1g"}, {"conf": {"a": "b"}}, {"spark": object()}]
)
def test_a_local_database_has_no_options_of_spark(options: dict[str, Any]) -> None:
    refused(lambda: Database(engine="local", **options), *options)


def test_what_is_no_file_has_no_header(tmp_path: Path) -> None:
    database = Database(engine="local")
    refused(lambda: database.register("arc", ARCS, header=True, format="csv"), "header", "format")
    (tmp_path / "arc.csv").write_text("From,To\n1,2\n", encoding="utf-8")
    database.register("arc", tmp_path / "arc.csv", header=True)
    assert database["arc"].facts == {(1, 2)}


def test_iterations_are_for_recursions_that_need_them(tmp_path: Path) -> None:
    database = Database(engine="local")
    database["arc"] = ARCS
    sums = "n(X, sum<Y>) :- arc(X, Y). n(X, sum<Z>) :- n(Y, Z), arc(X, Y)."
    assert database.datalog(sums, iterations=2)["n"].facts != database.datalog(sums, iterations=3)["n"].facts
    own = f"@iterations(2). {sums}"
    assert database.datalog(own, iterations=3)["n"].facts == database.datalog(sums, iterations=3)["n"].facts
    refused(lambda: database.datalog(TC, iterations=3), "iterations")
    refused(lambda: database.cost(TC, iterations=3, analyze=True), "iterations")


def test_limits_are_for_runs() -> None:
    database = Database(engine="local")
    database["arc"] = ARCS
    refused(lambda: database.cost(TC, limits=Limits(max_rows=1)), "limits")
    with pytest.raises(EmberlogError, match="DL511"):
        database.cost(TC, limits=Limits(max_rows=1), analyze=True)


def test_names_of_columns_are_in_every_parquet_file(tmp_path: Path) -> None:
    result = run_here().result
    refused(lambda: result.write(tmp_path / "facts", "parquet", header=True), "header")
    refused(lambda: result.write(tmp_path / "facts", "json", header=True), "header")
    result.write(tmp_path / "facts", "csv", header=True)
    assert (tmp_path / "facts/tc/facts.csv").read_text(encoding="utf-8").startswith("X,Y\n")


def test_a_proof_and_all_proofs_have_other_options() -> None:
    result = run_here(provenance=True).result
    refused(lambda: result.why("tc", (0, 2), all=True, depth=1), "depth")
    refused(lambda: result.why("tc", (0, 2), limit=3), "limit")
    assert len(str(result.why("tc", (0, 9), depth=1))) < len(str(result.why("tc", (0, 9))))
    assert len(result.why("tc", (0, 2), all=True, limit=1)) == 1


# --- programs over streams -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in EXECUTION if name != "provenance"])
def test_a_stream_has_no_execution(name: str) -> None:
    database = Database(engine="local")
    database["ride"] = [(1, 2)]
    row = EXECUTION[name]
    refused(lambda: database.datalog(STREAM, execution=Execution(**{name: row.value})), name)


def test_a_stream_refuses_what_its_start_has() -> None:
    database = Database(engine="local")
    database["ride"] = [(1, 2)]
    seen = ran(lambda listener: database.datalog(STREAM, listener=listener, off=["prune_columns"]))
    assert [one.message for one in seen.error.diagnostics] == [  # type: ignore[union-attr]
        "a program over streams has no option `listener`",
        "a program over streams has no option `off`",
    ]


WALKED = """
    STREAM link(Ts: timestamp, A: int, B: int).
    reach(Ts, A, B) :- link(Ts, A, B).
    reach(Ts, A, C) :- reach(T1, A, B), link(T2, B, C), largest(Ts, T1, T2).
    query reach(_, A, B), WINDOW(10, 2).
"""


@pytest.mark.parametrize("evaluation", EVALUATIONS)
@pytest.mark.parametrize("name", LIMITS)
def test_limits_hold_for_a_slide(name: str, evaluation: Evaluation) -> None:
    case = stream_case(WALKED)
    limits = Limits(**LIMITS[name].options(name))
    plan = plan_evaluation(case.maintenance, evaluation, limits, LivePlan)
    arcs = {"link": [(1, *arc) for arc in ARCS]}

    def run() -> list[object]:
        evaluator = slide_evaluator(plan, case.schedule, True, {})
        return list(by_evaluator(case, evaluator, case.slides(arcs), arcs))

    seen = ran(lambda _: run())
    assert LIMITS[name].here(seen), seen.error  # type: ignore[operator]


# --- the command line ------------------------------------------------------------------------------------------------


PROGRAM = {"--param", "--warnings", "--iterations", "--dialect", "--include", "-I"}
TEXT = {"--header", "--no-header", "--delimiter", "--encoding", "--null", "--raw", "--quoted"}

COMMANDS = {
    "run": {
        *PROGRAM, "--query", "--facts", "--input", *TEXT, "--output", "--format", "--show",
        "--max-iterations", "--max-rows", "--timeout", "--engine", "--executor", "--mode", "--partitioning",
        "--timing", "--workers", "--representation", "--profile", "--provenance", "--off", "--master", "--conf",
    },
    "stream": {
        *PROGRAM, "--facts", "--input", *TEXT, "--kind", "--output", "--format", "--mode",
        "--show", "--late", "--bad", "--checkpoint", "--watermark", "--slide", "--time-to-live", "--idle", "--early",
        "--every", "--evaluation", "--once",
        "--max-iterations", "--max-rows", "--timeout", "--workers", "--master", "--conf",
    },
    "repl": {"--spark", "--show", "--param", "--max-iterations", "--max-rows", "--timeout"},
    "check": {"--json", *PROGRAM},
    "explain": {
        "--passes", "--off", "--format", "--output", *PROGRAM, "--cost", "--analyze", "--facts",
        "--input", *TEXT, "--engine", "--master", "--conf",
    },
    "why": {
        "--at", *PROGRAM, "--facts", "--input", *TEXT, "--max-iterations", "--max-rows",
        "--timeout", "--engine", "--master", "--conf", "--all", "--limit", "--depth", "--contributions", "--format",
        "--output",
    },
    "why-not": {
        "--at", *PROGRAM, "--facts", "--input", *TEXT, "--max-iterations", "--max-rows",
        "--timeout", "--engine", "--master", "--conf", "--depth", "--format", "--output",
    },
    "trace": {
        "--at", *PROGRAM, "--facts", "--input", *TEXT, "--max-iterations", "--max-rows",
        "--timeout", "--engine", "--master", "--conf", "--limit", "--json",
    },
    "fmt": {"--check", "--diff"},
    "convert": {"--include", "-I"},
    "doctor": {"--start", "--master", "--conf"},
    "lsp": {"--stdio"},
    "studio": {"--facts", "--port", "--no-browser"},
}  # fmt: skip
"""What each command takes. Whoever adds something has to say below where it is refused, if it is."""

REFUSED = [
    ("run tc.dl --engine local --master local[2]", "--master"),
    ("run tc.dl --engine local --conf a=b", "--conf"),
    ("run tc.dl --engine local --format json", "--format"),
    ("run tc.dl --engine local --executor dataframe --mode bsp", "mode"),
    ("run tc.dl --engine local --iterations 3", "iterations"),
    ("run tc.dl --engine local --null NA", "--null"),
    ("run tc.dl --engine local --raw", "--raw"),
    ("doctor --master local[2]", "--master"),
    ("doctor --conf a=b", "--conf"),
    ("stream rides.dl --format csv", "--format"),
    ("stream rides.dl --output answers --show 3", "--show"),
    ("explain tc.dl --facts facts", "--facts"),
    ("explain tc.dl --engine spark", "--engine"),
    ("explain tc.dl --cost --passes", "--passes"),
    ("explain tc.dl --cost --format svg", "--format"),
    ("explain tc.dl --cost --master local[2]", "--master"),
    ("explain tc.dl --format dot --passes", "--passes"),
    ("explain DL231 --off prune_columns", "--off"),
    ("explain DL231 --output page.txt", "--output"),
    ("why tc.dl tc(1,3) --all --depth 2", "--depth"),
    ("why tc.dl tc(1,3) --all --output why.html", "--format"),
    ("why tc.dl tc(1,3) --limit 2", "--limit"),
    ("why tc.dl tc(1,3) --at 3", "--at"),
    ("why tc.dl tc(1,3) --conf a=b", "--conf"),
    ("trace tc.dl tc(1,3) --master local[2]", "--master"),
]


def test_no_option_of_a_command_is_new() -> None:
    (commands,) = (one for one in _parser()._actions if isinstance(one, argparse._SubParsersAction))
    found = {
        name: {option for action in parser._actions for option in action.option_strings} - {"-h", "--help"}
        for name, parser in commands.choices.items()
    }
    assert found == COMMANDS


@pytest.mark.parametrize(("command", "option"), REFUSED)
def test_commands_refuse(
    command: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tc.dl").write_text(f"arc(1, 2). arc(2, 3). {TC}\n", encoding="utf-8")
    (tmp_path / "rides.dl").write_text(STREAM, encoding="utf-8")
    assert main(command.split()) == 1
    told = capsys.readouterr().err
    assert "error[DL336]" in told, told
    assert f"has no option `{option}`" in told
