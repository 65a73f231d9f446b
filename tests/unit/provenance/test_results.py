"""Questions to the result of a run, on a database without Spark."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import emberlog
from emberlog.config import Execution
from emberlog.diagnostics import EmberlogError
from emberlog.provenance.asked import Asked

TC = "r1: tc(X, Y) :- arc(X, Y). r2: tc(X, Y) :- tc(X, Z), arc(Z, Y)."

Local = emberlog.Result["emberlog.LocalRelation"]


@pytest.fixture
def db() -> emberlog.Database[emberlog.LocalRelation]:
    db = emberlog.Database(engine="local")
    db["arc"] = [(1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (5, 1)]
    return db


Db = emberlog.Database["emberlog.LocalRelation"]


def code_of(error: pytest.ExceptionInfo[EmberlogError]) -> str:
    return error.value.diagnostics[0].code


def test_a_proof_of_a_user_function(db: Db) -> None:
    db.function("double", lambda x: 2 * x, ["int"], "int")
    result = db.datalog("twice(X, D) :- arc(X, _), D = double(X).", provenance=True)
    assert str(result.why("twice", (5, 10))).splitlines() == [
        "twice(5, 10)           r1",
        "├ arc(5, 1)            input arc",
        "└ D = double(5) = 10   holds",
    ]
    assert "20 = double(5)" in str(result.why_not("twice", (5, 20)))


def test_a_proof_of_a_user_aggregate(db: Db) -> None:
    db.aggregate("spread", lambda values: len(values) - 1, "int")
    result = db.datalog("range(X, spread<Y>) :- arc(X, Y).", provenance=True)
    assert str(result.why("range", (1, 1))).splitlines() == [
        "range(1, 1)",
        "├ spread<2>     r1",
        "│ └ arc(1, 2)   input arc",
        "└ spread<3>     r1",
        "  └ arc(1, 3)   input arc",
    ]


def test_a_proof_of_a_user_function_in_a_recursion(db: Db) -> None:
    db["start"], db["road"] = [("a", 1)], [("a", "b"), ("b", "c"), ("a", "c")]
    db.function("toll", lambda place, cost: cost * 2 + len(place), ["string", "int"], "int")
    result = db.datalog(
        "due(P, C) :- start(P, C). due(Q, D) :- due(P, C), road(P, Q), D = toll(Q, C), D < 100.", provenance=True
    )
    assert str(result.why("due", ("c", 7))).splitlines() == [
        'due("c", 7)                r2, iteration 2   P = "b", C = 3',
        '├ due("b", 3)              r2, iteration 1   P = "a", C = 1',
        '│ ├ due("a", 1)            r1, start',
        '│ │ └ start("a", 1)        input start',
        '│ ├ road("a", "b")         input road',
        '│ ├ D = toll("b", 1) = 3   holds',
        "│ └ 3 < 100                holds",
        '├ road("b", "c")           input road',
        '├ D = toll("c", 3) = 7     holds',
        "└ 7 < 100                  holds",
    ]


def test_only_some_contributions_are_listed(db: Db) -> None:
    db["number"] = [(n,) for n in range(100)]
    proof = db.datalog("total(sum<N>) :- number(N).", provenance=True).why("total", (4950,), contributions=3)
    assert str(proof).splitlines()[-1] == "└ … 97 more for sum"


def test_alternatives_come_with_the_smallest_first(db: Db) -> None:
    result = db.datalog(TC, provenance=True)
    proofs = result.why("tc", (1, 5), all=True)
    assert [("Z = 2" in str(proof), "Z = 3" in str(proof)) for proof in proofs] == [(True, False), (False, True)]
    assert len(result.why("tc", (1, 5), all=True, limit=1)) == 1


def test_no_proof_goes_round_in_a_circle(db: Db) -> None:
    """tc(1, 2) could also be had from tc(1, 1), which needs tc(1, 2) itself."""
    db["arc"] = [(1, 2), (2, 1)]
    result = db.datalog(TC, provenance=True)
    assert len(result.why("tc", (1, 2), all=True)) == 1


def test_a_proof_can_end_early(db: Db) -> None:
    proof = db.datalog(TC, provenance=True).why("tc", (1, 5), depth=1)
    assert str(proof).splitlines() == [
        "tc(1, 5)      r2, iteration 2   Z = 4",
        "├ tc(1, 4)    not shown further",
        "└ arc(4, 5)   not shown further",
    ]


def test_a_query_restricts_what_is_shown_but_not_what_can_be_asked(db: Db) -> None:
    result = db.datalog(f"{TC} tc(5, Y)?", provenance=True)
    assert list(result) == ["tc"]
    assert {fact[0] for fact in result["tc"]} == {5}
    assert result.why("tc", (1, 5)).tree.root.iteration == 2
    assert "switched off: proofs need the relations" in result.explain()
    assert "restricted to what is demanded, which is found first: tc[bf]" in result.explain()
    assert "recorded for provenance\n  tc: the iteration of each fact" in result.explain()


def test_without_provenance_a_query_is_rewritten_as_ever(db: Db) -> None:
    result = db.datalog(f"{TC} tc(5, Y)?")
    assert "recorded for provenance" not in result.explain()
    with pytest.raises(EmberlogError) as error:
        result.why("tc", (5, 1))
    assert code_of(error) == "DL440"


@pytest.mark.parametrize(
    ("relation", "fact", "code"),
    [
        ("tca", (1, 4), "DL401"),
        ("tc", (1,), "DL441"),
        ("tc", (1, "four"), "DL441"),
        ("tc", (1, True), "DL441"),
        ("tc", (1, 9), "DL442"),
        ("tc", (1, None), "DL443"),
        ("tc", {"X": 1, "Z": 4}, "DL441"),
        ("tc", {"X": 9}, "DL442"),
    ],
)
def test_questions_that_have_no_answer(db: Db, relation: str, fact: Asked, code: str) -> None:
    with pytest.raises(EmberlogError) as error:
        db.datalog(TC, provenance=True).why(relation, fact)
    assert code_of(error) == code


def test_facts_by_the_names_of_their_columns(db: Db) -> None:
    result = db.datalog(f"{TC} round :- tc(X, X).", provenance=True)
    assert str(result.why("tc", {"Y": 2, "X": 1})) == str(result.why("tc", (1, 2)))
    assert str(result.why("round", ())) == str(result.why("round", (True,)))
    assert str(result.why_not("tc", {"X": 9})) == str(result.why_not("tc", (9, None)))


def test_a_fact_that_is_there_is_not_refuted(db: Db) -> None:
    with pytest.raises(EmberlogError) as error:
        db.datalog(TC, provenance=True).why_not("tc", (1, 4))
    assert code_of(error) == "DL445"


def test_history(db: Db) -> None:
    result = db.datalog(f"{TC} leaf(X) :- arc(_, X), !arc(X, _).", provenance=True)
    assert (1, 5, 2) in result.history("tc").collect()
    assert result.history("tc").columns == ["X", "Y", "iteration"]
    with pytest.raises(EmberlogError) as error:
        result.history("leaf")
    assert code_of(error) == "DL401"


def test_json_has_a_node_for_every_fact_and_every_child_is_there(db: Db) -> None:
    drawn = db.datalog(TC, provenance=True).why("tc", (1, 5)).to_json()
    again = json.loads(json.dumps(drawn))
    assert again["rules"]["r2"] == {"text": "r2: tc(X, Y) :- tc(X, Z), arc(Z, Y).", "line": 1}
    root, *others = again["nodes"]
    assert root == {
        "id": 0,
        "kind": "derived",
        "text": "tc(1, 5)",
        "how": "r2, iteration 2",
        "relation": "tc",
        "fact": [1, 5],
        "iteration": 2,
        "rule": "r2",
        "bindings": {"X": 1, "Y": 5, "Z": 4},
        "children": [1, 2],
    }
    ids = {node["id"] for node in again["nodes"]}
    assert all(set(node.get("children", ())) <= ids for node in others)


def test_moments_can_be_given_as_such() -> None:
    db = emberlog.Database(engine="local")
    noon = datetime(2024, 5, 1, 12, tzinfo=UTC)
    db["seen"] = [("a", noon)]
    result = db.datalog("late(W, T) :- seen(W, T).", provenance=True)
    assert result.why("late", ("a", noon)).tree.root.relation == "late"


def test_a_deep_proof_needs_no_deep_recursion() -> None:
    db = emberlog.Database(engine="local")
    db["arc"] = [(n, n + 1) for n in range(3_000)]
    result = db.datalog("reach(0). reach(Y) :- reach(X), arc(X, Y).", provenance=True)
    proof = result.why("reach", (3_000,))
    assert proof.tree.root.iteration == 3_000
    assert len(str(proof).splitlines()) == 6_001


@pytest.mark.parametrize("options", [{"representation": "lanes"}, {"mode": "async"}])
def test_what_has_no_iterations_does_not_go_with_provenance(db: Db, options: dict[str, str]) -> None:
    with pytest.raises(EmberlogError) as error:
        db.datalog(TC, provenance=True, execution=Execution(**options))  # type: ignore[arg-type]
    assert code_of(error) == "DL508"


def test_a_stream_has_no_provenance() -> None:
    db = emberlog.Database(engine="local")
    with pytest.raises(EmberlogError) as error:
        db.datalog("STREAM ride(Ts: Timestamp, City: String). seen(C) :- ride(_, C).", provenance=True)
    assert code_of(error) == "DL446"


def test_facts_in_arrow_tables_are_found_by_their_values() -> None:
    """More facts than are made into Python objects without being asked for."""
    db = emberlog.Database(engine="local")
    db["arc"] = [(n, n + 1) for n in range(300)]
    result = db.datalog(TC, provenance=True)
    assert result["tc"].count() == 300 * 301 // 2
    assert result.why("tc", (7, 300)).tree.root.iteration == 292
    assert "no fact matches" in str(result.why_not("tc", (7, 7)))


def test_the_origin_of_a_fact_is_its_iteration_and_its_rule(db: Db) -> None:
    db["arc"] = [(1, 2), (2, 3), (1, None)]
    result = db.datalog(f"{TC}\nend: last(max<Y>) :- tc(1, Y). many(count<X>) :- arc(X, _). arc2(7).", provenance=True)
    origins = {
        (relation, fact): result.origin(relation, fact)
        for relation, fact in (("tc", (1, 3)), ("tc", (1, None)), ("last", (3,)), ("many", (None,)), ("arc", (1, 2)))
    }
    assert [(one.iteration, one.when, one.by) for one in origins.values()] == [
        (1, "iteration 1", "r2"),
        (0, "start", "r1"),
        (None, "", "end"),
        (None, "", "r4"),
        (None, "", "input"),
    ]


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("tc(X, Y) :- arc(X, Y). tc(X, Y) :- tc(X, Z), arc(Z, Y).", {(1, 2, 0), (2, 3, 0), (1, 3, 1)}),
        ("tc(1, 3)? tc(X, Y) :- arc(X, Y). tc(X, Y) :- tc(X, Z), arc(Z, Y).", {(1, 3, 1)}),
        ("tc(X, X) :- arc(X, _). tc(Y, min<Z>) :- tc(X, Z), arc(X, Y).", {(1, 1, 0), (2, 1, 1), (3, 1, 2)}),
        ("@iterations(3) tc(1, sum<V>) :- arc(_, V). tc(X, sum<V>) :- tc(X, V), V < 9.", {(1, 5, 3)}),
    ],
)
def test_facts_are_written_with_their_iterations(db: Db, tmp_path: Path, program: str, expected: object) -> None:
    db["arc"] = [(1, 2), (2, 3)]
    result = db.datalog(program, provenance=True)
    result.write(tmp_path / "out", "parquet", iterations=True)
    written = pq.read_table(tmp_path / "out" / "tc")
    assert written.column_names[-1] == "iteration"
    assert {tuple(row.values()) for row in written.to_pylist()} == expected


def test_pairs_are_written_with_their_iterations(db: Db, tmp_path: Path) -> None:
    db["arc"] = [(1, 2), (2, 3)]
    onward = "on(Q) :- on(P), X = decd_first(P), Z = decd_second(P), arc(Z, Y), Q = encd(X, Y)."
    result = db.datalog(f"on(P) :- arc(X, Y), P = encd(X, Y). {onward}", provenance=True)
    result.write(tmp_path / "out", "json", iterations=True)
    rows = [json.loads(line) for line in (tmp_path / "out/on/facts.json").read_text().splitlines()]
    assert {"P": {"first": 1, "second": 3}, "iteration": 1} in rows and len(rows) == 3


def test_a_column_of_the_program_keeps_its_name(db: Db, tmp_path: Path) -> None:
    db["arc"] = [(1, 2), (2, 3)]
    result = db.datalog(f"declare tc(X: int, Iteration: int). {TC} arcs(count<X>) :- arc(X, _).", provenance=True)
    result.write(tmp_path / "out", "json", iterations=True)
    rows = [json.loads(line) for line in (tmp_path / "out/tc/facts.json").read_text().splitlines()]
    assert {"X": 1, "Iteration": 3, "iteration_": 1} in rows and len(rows) == 3
    assert (tmp_path / "out/arcs/facts.json").read_text() == '{"count": 2}\n'


def test_iterations_are_written_if_they_were_recorded(db: Db, tmp_path: Path) -> None:
    db["arc"] = [(1, 2)]
    with pytest.raises(EmberlogError) as error:
        db.datalog(TC).write(tmp_path / "out", iterations=True)
    assert code_of(error) == "DL440"


def test_a_refutation_reads_what_no_plan_would(db: Db) -> None:
    result = db.datalog("p(0). p(1) :- 0.0 = 0.5, arc(X, _).", provenance=True)
    assert "arc" in result.explained.inputs
    assert "0.0 = 0.5" in str(result.why_not("p", (1,)))
    assert str(result.why("arc", (1, 2))) == "arc(1, 2)   input arc"


def test_facts_that_are_computed_have_proofs_of_their_own(db: Db) -> None:
    result = db.datalog("p(1 + 2). p(3 + 4). q(X) :- p(X).", provenance=True)
    assert str(result.why("q", (7,))).splitlines()[1].split() == ["└", "p(7)", "fact", "2"]
