"""Workers that are short of memory and have a way out: keys slice by slice, facts in sections, rounds in portions."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emberlog.config import Execution
from emberlog.datatypes import INT
from emberlog.engines.spark.job import Status
from emberlog.workers.kernels.lanes import Lanes
from emberlog.workers.kernels.memory import TooLarge, allowed
from emberlog.workers.plan.rules import ColumnLane, Combine, RelationLayout
from emberlog.workers.store.relations import WorkerRelation
from emberlog.workers.store.sectioned_store import SectionedStore
from emberlog.workers.store.spilled_rows import SpilledRows, SpillFile, SpillPlace, local_folders, spilling_to
from emberlog.workers.store.stores import KeyedStore, SetStore
from tests.oracle.evaluate import evaluate
from tests.programs import checked
from tests.short_memory import short_memory
from tests.unit.workers.task_runs import facts_in, job_for, run_tasks

GRAPH = [(a, b) for a in range(24) for b in ((a * 3 + 1) % 24, (a * 5 + 2) % 24)]
ARC = "declare arc(int a, int b).\n"
TC = "tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n"
CARRIED = ", ".join(f"C{number}" for number in range(10))
COMPUTED = ", ".join(f"C{number} = X * {number}" for number in range(10))
PROGRAMS = {
    "closure": ARC + TC,
    "texts": "declare arc(string a, string b).\n" + TC,
    "wide": f"""{ARC}
tc(X, {CARRIED}, Y) :- arc(X, Y), {COMPUTED}.
tc(X, {CARRIED}, Y) :- tc(X, {CARRIED}, Z), arc(Z, Y).
""",
    "minimum": f"""{ARC}
near(X, Y, min<D>) :- arc(X, Y), D = X + Y.
near(X, Y, min<D>) :- near(X, Z, C), arc(Z, Y), D = C + Z.
""",
    "argmin": f"""{ARC}
via(X, Y, argmin<D, Z>) :- arc(X, Y), D = 1, Z = X.
via(X, Y, argmin<D, Z>) :- via(X, Z, _), arc(Z, Y), D = Z + Y.
""",
    "several relations": f"""{ARC}
odd(X, Y) :- arc(X, Y).
odd(X, Y) :- even(X, Z), arc(Z, Y).
even(X, Y) :- odd(X, Z), arc(Z, Y).
""",
    "same generation": f"""{ARC}
sg(X, Y) :- arc(P, X), arc(P, Y), X != Y.
sg(X, Y) :- arc(A, X), sg(A, B), arc(B, Y).
""",
}
SLICED, IN_SECTIONS = "keys were gone through slice by slice", "facts were kept in sections on disk"


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("mode", ["decomposed", "bsp"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_answer_is_that_of_the_reference(
    name: str, mode: str, workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "same generation" and mode == "decomposed":
        mode = "auto"
    text = PROGRAMS[name]
    facts = [(f"n{a}", f"n{b}") for a, b in GRAPH] if name == "texts" else GRAPH
    job = job_for(text, {"arc": facts}, tmp_path, workers, Execution(mode=mode, representation="hash", memory=1 << 12))
    with short_memory(7, 0.3) as found:
        summaries = run_tasks(job, monkeypatch)
    assert [summary.status for summary in summaries] == [Status.DONE] * workers
    expected = evaluate(checked(text), {"arc": facts})
    for number, output in enumerate(job.outputs):
        listed = facts_in(tmp_path / f"relation-{number}")
        assert len(listed) == len(set(listed))
        assert set(listed) == expected[output.relation]
    told = {summary.spilled for summary in summaries}
    if mode == "decomposed":
        assert found.divided > 1
        assert SLICED in told
    else:
        assert found.spilled
        assert IN_SECTIONS in told


def test_a_recursion_that_looks_its_own_facts_up_keeps_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no way out for it but another executor."""
    text = ARC + "tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), tc(Y, Z).\n"
    job = job_for(text, {"arc": GRAPH}, tmp_path, 2, Execution(mode="bsp", representation="hash", memory=1 << 20))
    with short_memory(7, 0.9) as found:
        summaries = run_tasks(job, monkeypatch)
    assert [summary.status for summary in summaries] == [Status.DONE] * 2
    assert not found.spilled


def rows(*values: tuple[int, ...]) -> Lanes:
    return np.ascontiguousarray(np.array(values, np.int64).T)


def as_set(parts: Any) -> set[tuple[int, ...]]:
    return {tuple(row) for part in parts for row in part.T.tolist()}


def test_rows_come_back_in_their_order() -> None:
    spilled = SpilledRows(2)
    some = np.arange(300_000, dtype=np.int64).reshape(2, -1)
    spilled.add(some[:, :7])
    spilled.add(some[:, 7:])
    assert spilled.count == 150_000
    assert np.array_equal(np.concatenate(list(spilled.batches()), axis=1), some)
    assert np.array_equal(spilled.all, some)
    spilled.clear()
    assert spilled.all.shape == (2, 0)


def test_rows_without_columns_are_counted() -> None:
    spilled = SpilledRows(0)
    spilled.add(np.empty((0, 3), np.int64))
    assert spilled.all.shape == (0, 3)


def test_a_full_disk_is_as_bad_as_a_full_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def __getattr__(self, name: str) -> Any:
            return lambda *_: self

        def write(self, _: object) -> int:
            raise OSError(errno.ENOSPC, "full")

    file = SpillFile()
    monkeypatch.setattr(file, "_file", Full())
    with pytest.raises(TooLarge, match="cannot be written to disk: No space left"):
        file.append(rows((1, 2)))


def test_a_set_goes_on_in_sections() -> None:
    """What is known, new and in the delta stays so."""
    store = SetStore(2)
    store.add(rows((1, 1), (2, 2)))
    store.advance()
    store.add(rows((3, 3), (1, 1)))
    store.advance()
    store.add(rows((4, 4)))
    sectioned = SectionedStore(lambda: SetStore(2), store)
    assert sectioned.count == 3
    assert as_set(sectioned.delta_parts()) == {(3, 3)}
    sectioned.add(rows((4, 4), (2, 2), (5, 5), (5, 5)))
    assert sectioned.advance() == 2
    assert as_set(sectioned.delta_parts()) == {(4, 4), (5, 5)}
    assert sectioned.count == 5
    assert as_set(sectioned.parts()) == {(n, n) for n in range(1, 6)}
    sectioned.add(rows((4, 4)))
    assert sectioned.advance() == 0
    assert sectioned.delta.shape[1] == 0


def test_keyed_rows_go_on_in_sections() -> None:
    store = KeyedStore(1, (0,))
    store.add(rows((1, 50), (2, 50), (3, 50)))
    store.advance()
    store.add(rows((2, 40), (4, 40)))
    sectioned = SectionedStore(lambda: KeyedStore(1, (0,)), store)
    sectioned.add(rows((2, 45), (3, 60), (1, 10)))
    assert sectioned.advance() == 3
    assert as_set(sectioned.delta_parts()) == {(1, 10), (2, 40), (4, 40)}
    assert as_set(sectioned.parts()) == {(1, 10), (2, 40), (3, 50), (4, 40)}
    assert sectioned.count == 4


def test_sections_that_were_dropped_are_read_again() -> None:
    sectioned = SectionedStore(lambda: KeyedStore(1, (0,)), KeyedStore(1, (0,)))
    for value in (9, 7, 8):
        sectioned.add(np.stack([np.arange(100), np.full(100, value)]))
        changed = sectioned.advance()
        assert changed == (0 if value == 8 else 100)
        sectioned._drop()
    assert as_set(sectioned.parts()) == {(key, 7) for key in range(100)}


def test_what_is_known_of_a_relation_in_sections_has_all_that_waits() -> None:
    columns = (ColumnLane(0, INT), ColumnLane(1, INT))
    resident = WorkerRelation(RelationLayout("p", columns, 1, (Combine.MIN,), (INT, INT)), spills=True)
    resident.add(rows((1, 5), (2, 5)))
    resident.advance()
    resident.add(rows((1, 3)))
    resident._spill()
    resident.add(rows((7, 7)))
    known = as_set(resident.known())
    assert {(1, 3), (2, 5), (7, 7)} <= known


LANES = np.arange(3 * 1001, dtype=np.int64).reshape(3, 1001)


def test_files_are_where_spark_has_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path}/one,{tmp_path}/two,{tmp_path}/none")
    assert local_folders() == (f"{tmp_path}/one", f"{tmp_path}/two")
    monkeypatch.delenv("SPARK_LOCAL_DIRS")
    monkeypatch.setenv("LOCAL_DIRS", f"{tmp_path}/two")
    assert local_folders() == (f"{tmp_path}/two",)
    chosen: list[object] = []
    made = tempfile.TemporaryFile

    def note(**options: Any) -> object:
        chosen.append(options["dir"])
        return made(**options)

    monkeypatch.setattr(tempfile, "TemporaryFile", note)
    with spilling_to(SpillPlace(local_folders())):
        SpillFile()
    SpillFile()
    assert chosen == [f"{tmp_path}/two", None]


def test_a_folder_that_is_gone_is_too_little_memory(tmp_path: Path) -> None:
    with spilling_to(SpillPlace((f"{tmp_path}/gone",))), pytest.raises(TooLarge, match="cannot be written to disk"):
        SpillFile()


def test_without_the_package_nothing_is_written_that_had_to_be_encrypted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers", None)
    with (
        spilling_to(SpillPlace(is_encrypted=True)),
        pytest.raises(TooLarge, match=r"encryption\.enabled is on, and workers have no package cryptography"),
    ):
        SpillFile()


def test_what_is_written_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cryptography", reason="the extra emberlog[encryption] is not installed")
    written = []
    for _ in range(2):
        with spilling_to(SpillPlace(is_encrypted=True)):
            file = SpillFile()
        first, second = file.append(LANES), file.append(LANES[:2] + 7)
        assert file.read(second, 2, 1001).tolist() == (LANES[:2] + 7).tolist()
        assert file.read(first, 3, 1001).tolist() == LANES.tolist()
        written.append(os.pread(file._file.fileno(), LANES.nbytes, first))
        file.clear()
        assert file.append(LANES) == first
        assert file.read(first, 3, 1001).tolist() == LANES.tolist()
        written.append(os.pread(file._file.fileno(), LANES.nbytes, first))
    assert len({LANES.tobytes(), *written}) == 5
    assert not any(LANES.tobytes()[begin : begin + 16] in one for one in written for begin in range(0, 800, 8))


@pytest.mark.parametrize("size", [4 << 20, 1 << 30])
def test_what_waits_to_be_written_is_a_small_part_of_the_budget(size: int) -> None:
    """All sections have files with rows that wait: together they were more than a small budget allows."""
    store = SectionedStore(lambda: SetStore(2), SetStore(2))
    with allowed(size):
        for begin in range(0, 1 << 17, 1 << 12):
            numbers = np.arange(begin, begin + (1 << 12))
            store.add(np.stack([numbers, -numbers]))
        waiting = sum(lanes.nbytes for section in store.sections for lanes in section.inbox._waiting)
    assert 0 < waiting <= size // 8
    assert store.fresh == 1 << 17
