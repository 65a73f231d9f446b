"""A worker's budget: who asks for room, what becomes of what is known when there is none, where budgets come from."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from emberlog.config import Execution
from emberlog.engines.spark.job import Status
from emberlog.semantics.model import CellValue, Fact
from emberlog.workers.fixpoint import chains
from emberlog.workers.kernels import machine_memory, memory
from emberlog.workers.kernels.machine_memory import bytes_of, memory_for_each, memory_from_spark
from emberlog.workers.kernels.memory import TooLarge, allowed, check, claim, loading_code, used_memory
from emberlog.workers.store.stores import SetStore
from tests.oracle.evaluate import evaluate
from tests.programs import checked
from tests.unit.workers.task_runs import Barrier, facts_in, job_for, run_tasks

MIB = 1 << 20


@pytest.fixture
def budget() -> Iterator[None]:
    with allowed(32 * MIB):
        yield


def test_room_is_claimed_before_it_is_used(budget: None) -> None:
    claim(16 * MIB)
    with pytest.raises(TooLarge, match=r"more than the 32\.0 MiB of a worker"):
        claim(64 * MIB)


def test_what_is_there_already_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    used = 640 * MIB
    monkeypatch.setattr(memory, "LOOK_SECONDS", 0)
    monkeypatch.setattr(memory, "used_memory", lambda: used)
    with allowed(32 * MIB):
        used += 32 * MIB
        check()
        used += 1
        with pytest.raises(TooLarge):
            check()
    check()  # the budget went with the run


def test_code_that_is_loaded_meanwhile_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that just began loads its kernels while it derives the first facts."""
    used = 640 * MIB
    monkeypatch.setattr(memory, "LOOK_SECONDS", 0)
    monkeypatch.setattr(memory, "MOST_CODE", 4 * MIB)
    monkeypatch.setattr(memory, "used_memory", lambda: used)
    with allowed(8 * MIB):
        with loading_code():
            used += 3 * MIB
        used += 8 * MIB
        check()
        with loading_code():
            used += 5 * MIB
        with pytest.raises(TooLarge):
            check()


def test_the_system_tells_what_is_used() -> None:
    before = used_memory()
    much = np.ones(256 * MIB, np.int8)
    assert 200 * MIB < used_memory() - before < 300 * MIB
    del much
    assert used_memory() - before < 100 * MIB


def test_without_a_budget_there_is_no_limit() -> None:
    with allowed(None):
        claim(1 << 50)


@pytest.mark.parametrize("width", [1, 2, 12], ids=["one column", "a pair", "wide"])
def test_a_store_stops_before_it_passes_the_budget(width: int) -> None:
    """Rows that come in one go, many more than there is room for."""
    rows = np.arange(4 * MIB, dtype=np.int64) * 2**30
    batch = np.repeat(rows[None, : len(rows) // width], width, axis=0)
    SetStore(width).add(batch[:, :10].copy())  # loads the kernels
    gc.collect()
    before = used_memory()
    with allowed(32 * MIB):
        store = SetStore(width)
        with pytest.raises(TooLarge):
            store.add(batch)
    assert used_memory() <= before + 40 * MIB  # all rows would take more than 64
    assert store.count > 0


# --- what is known is handed over -------------------------------------------------------------------------------------

GRAPH = [(a, b) for a in range(12) for b in ((a * 3 + 1) % 12, (a * 5 + 2) % 12)]
TC = "declare arc(int a, int b).\ntc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"
SQUARED = "declare arc(int a, int b).\ntc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), tc(Z, Y).\n"
TEXTS = "declare arc(string a, string b).\ntc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"
SG = """
declare arc(int a, int b).
sg(X, Y) :- arc(P, X), arc(P, Y), X != Y.
sg(X, Y) :- arc(A, X), sg(A, B), arc(B, Y).
"""
NEAR = """
declare arc(int a, int b).
near(X, min<D>) :- X = 0, D = 0.
near(Y, min<D>) :- near(X, D1), arc(X, Y), D = D1 + 1.
"""
MUTUAL = """
declare arc(int a, int b).
odd(X, Y) :- arc(X, Y).
odd(X, Y) :- even(X, Z), arc(Z, Y).
even(X, Y) :- odd(X, Z), arc(Z, Y).
"""
BSP = Execution(mode="bsp", memory=MIB)
HASH = Execution(representation="hash", memory=MIB)
PROGRAMS: dict[str, tuple[str, Execution]] = {
    "rounds": (TC, Execution(mode="bsp", representation="hash", memory=MIB)),
    "decomposed": (TC, HASH),
    "without rounds": (SQUARED, Execution(mode="async", memory=MIB)),
    "not linear": (SQUARED, BSP),
    "texts": (TEXTS, Execution(mode="bsp", representation="hash", memory=MIB)),
    "bit rows": (SG, Execution(memory=MIB, representation="rows")),
    "marks": (TC, Execution(memory=MIB, representation="marks")),
    "lanes": (TC, Execution(memory=MIB, representation="lanes")),
    "minimum": (NEAR, BSP),
    "several relations": (MUTUAL, BSP),
}


def named(fact: Fact) -> Fact:
    return tuple(f"n{value}" for value in fact)


def written(relation: str, fact: Fact) -> str:
    return f"{relation}({', '.join(repr(value).replace(chr(39), chr(34)) for value in fact)}).\n"


class FullAfter:
    """A memory that is full for one worker once it has looked so often."""

    def __init__(self, barrier: Barrier, worker: int, looks: int) -> None:
        self.barrier, self.worker, self.left = barrier, worker, looks

    def __call__(self) -> int:
        if getattr(self.barrier.own, "number", None) == self.worker:
            self.left -= 1
            return 0 if self.left > 0 else 1 << 60
        return 0


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("workers", [1, 3])
def test_what_is_known_is_right_whenever_memory_runs_out(
    name: str, workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every look at the memory in turn: the program with all that is known as facts has the same answer."""
    text, execution = PROGRAMS[name]
    facts = [named(fact) for fact in GRAPH] if name == "texts" else GRAPH
    expected = evaluate(checked(text), {"arc": facts})
    monkeypatch.setattr(memory, "LARGE_BYTES", 0)
    monkeypatch.setattr(memory, "LOOK_SECONDS", 0)
    monkeypatch.setattr(chains, "WORTH_A_LOOK", 1)
    most = 0
    for looks in (*range(2, 40, min(workers, 3)), *range(40, 2000, 60)):
        folder = tmp_path / str(looks)
        barrier = Barrier(workers)
        with monkeypatch.context() as patched:
            patched.setattr(memory, "used_memory", FullAfter(barrier, looks % workers, looks))
            job = job_for(text, {"arc": facts}, folder, workers, execution)
            statuses = [summary.status for summary in run_tasks(job, monkeypatch, barrier)]
        if statuses == [Status.DONE] * workers:
            break
        assert statuses[looks % workers] == Status.UNFIT
        assert set(statuses) <= {Status.UNFIT, Status.LOST, Status.DONE}
        known = ""
        for place, output in enumerate(job.known, len(job.outputs)):
            relation = output.relation.removeprefix("known of ")
            found = facts_in(folder / f"relation-{place}")
            most = max(most, len(found))
            known += "".join(written(relation, fact) for fact in found)
        assert evaluate(checked(text + known), {"arc": facts}) == expected
    else:
        raise AssertionError("memory ran out every time")
    # Closures keep nothing; whoever keeps facts hands over more than it began with.
    assert most == 0 if name in ("marks", "lanes") else most > 2


def test_the_others_hand_over_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is told why a worker stopped keeps what it knows."""
    text, execution = PROGRAMS["rounds"]
    barrier = Barrier(3)
    monkeypatch.setattr(memory, "LARGE_BYTES", 0)
    monkeypatch.setattr(memory, "LOOK_SECONDS", 0)
    monkeypatch.setattr(chains, "WORTH_A_LOOK", 1)
    monkeypatch.setattr(memory, "used_memory", FullAfter(barrier, 1, 25))
    job = job_for(text, {"arc": GRAPH}, tmp_path, 3, execution)
    summaries = run_tasks(job, monkeypatch, barrier)
    assert [summary.status for summary in summaries] == [Status.LOST, Status.UNFIT, Status.LOST]
    assert summaries[0].message == "worker 1 has no memory left"
    assert all(summary.rows["known of tc"] > 0 for summary in summaries)


# --- where budgets come from ------------------------------------------------------------------------------------------


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Files of a system that has this memory left, and these groups."""

    def make(available: int, groups: dict[str, dict[str, str]], own: str = "") -> None:
        (tmp_path / "meminfo").write_text(f"MemTotal: 99 kB\nMemAvailable: {available // 1024} kB\n")
        (tmp_path / "own").write_text(own)
        for folder, files in groups.items():
            (tmp_path / "groups" / folder).mkdir(parents=True, exist_ok=True)
            for file, content in files.items():
                (tmp_path / "groups" / folder / file).write_text(content)
        monkeypatch.setattr(machine_memory, "_MACHINE", tmp_path / "meminfo")
        monkeypatch.setattr(machine_memory, "_OWN_GROUP", tmp_path / "own")
        monkeypatch.setattr(machine_memory, "_GROUPS", tmp_path / "groups")

    return make


def test_workers_share_what_the_machine_has_left(machine: Callable[..., None]) -> None:
    machine(1000 * MIB, {})
    assert memory_for_each(2) == 400 * MIB


def test_a_container_may_have_less(machine: Callable[..., None]) -> None:
    group = {"memory.max": f"{500 * MIB}", "memory.current": f"{300 * MIB}", "memory.stat": f"inactive_file {50 * MIB}"}
    machine(1000 * MIB, {"": {"memory.max": "max", "memory.current": "7"}, "a/b": group}, own="0::/a/b/c\n")
    assert memory_for_each(1) == int(250 * MIB * 0.8)


def test_older_groups(machine: Callable[..., None]) -> None:
    group = {"memory.limit_in_bytes": f"{500 * MIB}", "memory.usage_in_bytes": f"{300 * MIB}"}
    machine(1000 * MIB, {"memory/a": group}, own="9:memory:/a\n1:cpu:/a\n")
    assert memory_for_each(1) == int(200 * MIB * 0.8)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"spark.master": "spark://host:7077"}, None),
        ({"spark.executor.pyspark.memory": "2g", "spark.executor.cores": "4"}, 512 * MIB),
        ({"spark.master": "yarn", "spark.executor.memoryOverhead": "1000", "spark.executor.cores": "2"}, 400 * MIB),
        ({"spark.master": "yarn", "spark.executor.memory": "1g"}, int(384 * MIB * 0.8)),
        ({"spark.master": "k8s://host", "spark.executor.memory": "10g", "spark.task.cpus": "1"}, int(1024 * MIB * 0.8)),
    ],
)
def test_what_spark_leaves_to_python(settings: dict[str, str], expected: int | None) -> None:
    assert memory_from_spark(settings) == expected


@pytest.mark.parametrize(("text", "size"), [("512m", 512 * MIB), ("2gb", 2048 * MIB), ("3", 3 * MIB), ("1K", 1024)])
def test_sizes_as_spark_writes_them(text: str, size: CellValue) -> None:
    assert bytes_of(text, "m") == size
