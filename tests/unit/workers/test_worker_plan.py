"""What runs in one job: the recursion, what it reads, and what folds it."""

from __future__ import annotations

from emberlog.config import DEFAULT_EXECUTION, Execution
from emberlog.logical.nodes import Fixpoint
from emberlog.optimize.pipeline import plan_program
from emberlog.workers.plan.worker_plan import WorkerPlan
from tests.local_runs import plan_workers
from tests.programs import checked

CLOSURE = """\
declare arc(int a, int b).
tc(X, Y) :- arc(X, Y).
tc(X, Y) :- tc(X, Z), arc(Z, Y).
"""


def plan_of(text: str, execution: Execution = DEFAULT_EXECUTION) -> WorkerPlan:
    plan = plan_program(checked(text)).plan
    (recursive,) = [stratum for stratum in plan.strata if isinstance(stratum.root, Fixpoint)]
    return plan_workers(plan.strata, recursive, plan.outputs, execution)


def names(worker_plan: WorkerPlan) -> list[str]:
    return [relation.name for stratum in worker_plan.strata for relation in stratum.program.relations]


def test_a_recursion_alone() -> None:
    worker_plan = plan_of(CLOSURE)
    assert names(worker_plan) == ["tc"]
    assert list(worker_plan.outputs) == ["tc"]
    assert list(worker_plan.inputs) == ["arc"]


def test_a_count_is_computed_beside_the_recursion() -> None:
    worker_plan = plan_of(f"{CLOSURE}size(count<_>) :- tc(_, _).\nsize(N)?")
    assert names(worker_plan) == ["tc", "size"]
    assert list(worker_plan.outputs) == ["size"]
    assert worker_plan.streamed == {"tc"}


def test_a_recursion_that_others_read_is_handed_out() -> None:
    for query in ("tc(X, Y)?\nsize(N)?", "both(X, N)?"):
        worker_plan = plan_of(f"{CLOSURE}size(count<_>) :- tc(_, _).\nboth(X, N) :- tc(X, 1), size(N).\n{query}")
        assert names(worker_plan) == ["tc"]
        assert list(worker_plan.outputs) == ["tc"]


def test_what_the_recursion_reads_is_computed_beside_it() -> None:
    worker_plan = plan_of(
        """\
declare road(int a, int b, int length).
degree(X, count<Y>) :- road(X, Y, _).
arc(X, Y) :- road(X, Y, L), degree(X, D), L > D.
tc(X, Y) :- arc(X, Y).
tc(X, Y) :- tc(X, Z), arc(Z, Y).
tc(X, Y)?
"""
    )
    assert names(worker_plan) == ["degree", "arc", "tc"]
    assert list(worker_plan.inputs) == ["road"]


def test_strata_agree_how_a_relation_is_spread() -> None:
    """The rounds look arcs up by their beginning, the seed by their end."""
    worker_plan = plan_of(
        """\
declare arc(int a, int b).
into(Y, count<X>) :- arc(X, Y).
near(X, min<D>) :- into(X, D), arc(_, X).
near(Y, min<D>) :- near(X, D1), arc(X, Y), D = D1 + 1.
near(X, D)?
"""
    )
    for stratum in worker_plan.strata:
        for relation, column in stratum.placement.statics.items():
            assert worker_plan.spread[relation] == column


def test_a_relation_that_is_looked_up_where_its_key_is_has_parts() -> None:
    worker_plan = plan_of(
        """\
declare arc(int a, int b).
near(X, min<D>) :- X = 0, D = 0.
near(Y, min<D>) :- near(X, D1), arc(X, Y), D = D1 + 1.
"""
    )
    assert worker_plan.spread == {"arc": 0}


def test_one_source_is_shared_by_all_workers() -> None:
    from_one = """\
declare arc(int a, int b).
reach(X, Y) :- arc(X, Y), X = 7.
reach(X, Y) :- reach(X, Z), arc(Z, Y).
"""
    worker_plan = plan_of(from_one)
    assert not worker_plan.main.placement.is_decomposed
    assert worker_plan.spread == {"arc": 0}
    asked_for = plan_of(from_one, Execution(mode="decomposed"))
    assert asked_for.main.placement.is_decomposed
    marked = plan_of(from_one, Execution(representation="marks"))
    assert marked.spread == {"arc": None}
    assert plan_of(CLOSURE).main.placement.is_decomposed
