"""What stays in memory between runs of a database in one process, and that it is never what was replaced."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from emberlog import Database, EmberlogError, Execution, Limits
from emberlog.datatypes import INT
from emberlog.engines.local import encoding, kept, recursion
from emberlog.engines.local.engine import LocalEngine
from emberlog.engines.local.kept import KeptInputs, Wanted
from emberlog.events import Event, ExecutorChosen
from emberlog.io.local_relation import LocalRelation

TC = "tc(X, Y) :- arc(X, Y). tc(X, Z) :- tc(X, Y), arc(Y, Z). tc(X, _)?"
ABOVE = "above(P, Q) :- below(Q, P). above(P, R) :- above(P, Q), below(R, Q). above(_, _)?"
BY_WORKERS = Execution(executor="cyclic")


def inputs_of(db: Database[LocalRelation]) -> KeptInputs:
    assert isinstance(db._engine, LocalEngine)
    return db._engine._kept


def answer(db: Database[LocalRelation], program: str, heard: list[str]) -> set[tuple[object, ...]]:
    def hear(event: Event) -> None:
        if isinstance(event, ExecutorChosen):
            heard.append(event.why)

    (relation,) = db.datalog(program, execution=BY_WORKERS, listener=hear).values()
    return set(relation.collect())


@pytest.fixture
def db() -> Database[LocalRelation]:
    db = Database(engine="local")
    db["arc"] = [(1, 2), (2, 3)]
    db["below"] = [("b", "a"), ("c", "b")]
    return db


@pytest.mark.parametrize(("program", "name"), [(TC, "arc"), (ABOVE, "below")])
def test_a_second_run_reads_nothing_again_and_says_so(
    db: Database[LocalRelation], program: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []
    first = answer(db, program, heard)
    assert "in memory from before" not in heard[0] and len(first) == 3
    monkeypatch.setattr(kept, "_encoded", None)
    assert answer(db, program, heard) == first
    assert f"has {name} in memory from before" in heard[1]


def test_texts_of_another_run_do_not_get_in_the_way(db: Database[LocalRelation]) -> None:
    heard: list[str] = []
    named = "named(X, N) :- below(X, Y), N = cat(X, '!'). named(X, N) :- named(Y, N), below(X, Y). named(_, _)?"
    for _ in range(2):
        assert answer(db, named, heard) == {("b", "b!"), ("c", "c!"), ("c", "b!")}
        assert answer(db, ABOVE, heard) == {("a", "b"), ("b", "c"), ("a", "c")}


@pytest.mark.parametrize("how", ["replaced", "forgotten"])
def test_data_that_is_registered_anew_is_read_anew(db: Database[LocalRelation], how: str) -> None:
    heard: list[str] = []
    assert answer(db, TC, heard) == {(1, 2), (2, 3), (1, 3)}
    if how == "forgotten":
        del db["arc"]
    db["arc"] = [(1, 2)]
    assert answer(db, TC, heard) == {(1, 2)}
    gc.collect()
    assert len(inputs_of(db)._entries) == 1


def test_what_is_kept_goes_when_nobody_has_the_relation_any_more() -> None:
    inputs = KeptInputs()
    relation = LocalRelation(["a", "b"], [INT, INT], [(1, 2)])
    inputs.read({"arc": Wanted(relation, (INT, INT), must_be_set=False)}, frozenset({"arc"}), 1)
    assert inputs.bytes
    del relation
    gc.collect()
    assert not inputs.bytes and not inputs._entries


def test_a_file_whose_columns_are_declared_is_kept_until_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "arc.csv"
    path.write_text("to,from\n2,1\n3,2\n")
    db = Database(engine="local")
    db.register("arc", path, header=True)
    heard: list[str] = []
    declared = f"declare arc(from: int, to: int). {TC}"
    for _ in range(2):
        assert answer(db, declared, heard) == {(1, 2), (2, 3), (1, 3)}
    assert "has arc in memory from before" in heard[1]
    path.write_text("to,from\n2,1\n")
    assert answer(db, declared, heard) == {(1, 2)}
    assert "in memory" not in heard[2]


def test_rows_that_come_twice_are_kept_as_they_are_asked_for() -> None:
    db = Database(engine="local")
    db["arc"] = pa.table({"a": [1, 1, 2], "b": [2, 2, 3]})
    heard: list[str] = []
    count = "n(count<X>) :- arc(X, _). n(_)?"
    for _ in range(2):
        assert answer(db, TC, heard) == {(1, 2), (2, 3), (1, 3)}
        assert answer(db, count, heard) == {(2,)}


def test_what_is_kept_is_bounded(db: Database[LocalRelation]) -> None:
    heard: list[str] = []
    answer(db, TC, heard)
    answer(db, ABOVE, heard)
    assert inputs_of(db).bytes > 0 and len(inputs_of(db)._entries) == 2
    inputs_of(db).most = inputs_of(db).bytes - 1
    answer(db, ABOVE, heard)
    assert len(inputs_of(db)._entries) == 1  # what was read last
    db.datalog(TC, execution=Execution(executor="cyclic", memory=1 << 30))
    assert len(inputs_of(db)._entries) == 1  # a bound on memory is for what the run needs
    db.close()
    assert not inputs_of(db)._entries


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Gets an element whenever facts of workers become a table."""
    listed: list[int] = []

    def counted(*given: Any) -> LocalRelation:
        listed.append(1)
        return encoding.decoded(*given)

    monkeypatch.setattr(recursion, "decoded", counted)
    return listed


@pytest.mark.parametrize("execution", [BY_WORKERS, Execution(executor="cyclic", representation="hash")])
def test_texts_are_looked_up_when_they_are_read(listed: list[int], execution: Execution) -> None:
    db = Database(engine="local")
    db["below"] = [("b", "a"), ("c", "b"), ("d", None)]
    program = "above(P, Q) :- below(Q, P). above(P, R) :- above(P, Q), below(R, Q)."
    db["known"] = [("b", "a"), ("c", "b")]
    result = db.datalog(program.replace("below", "known"), execution=execution)["above"]
    assert result.count() == 3 and not listed
    assert set(result.collect()) == {("a", "b"), ("b", "c"), ("a", "c")} and listed == [1]
    with_null = db.datalog(program, execution=execution)["above"]
    assert set(with_null.collect()) == {("a", "b"), ("b", "c"), ("a", "c"), (None, "d")}


def test_facts_that_are_bits_are_listed_when_they_are_read(listed: list[int]) -> None:
    db = Database(engine="local")
    db["arc"] = [(a, b) for a in range(40) for b in range(a + 1, 40)]
    program = "sg(X, Y) :- arc(P, X), arc(P, Y). sg(X, Y) :- arc(A, X), sg(A, B), arc(B, Y). sg(_, _)?"
    execution = Execution(executor="cyclic", representation="rows")
    found = db.datalog(program, execution=execution)["sg"]
    assert found.count() == 39 * 39 and not listed
    assert len(set(found.collect())) == 39 * 39 and found.to_arrow().num_rows == 39 * 39
    assert listed == [1]
    # Limits are those of the run, not of who reads its answer.
    with pytest.raises(EmberlogError, match="1,000 rows"):
        db.datalog(program, execution=execution, limits=Limits(max_rows=1_000))
