"""Where facts live: by the pivot if there is one, else by what is joined, with copies and moves where needed."""

from __future__ import annotations

from emberlog.engines.spark.description import described
from emberlog.optimize.pipeline import RULE_PASSES, plan_program
from emberlog.workers.plan.compile import compile_fixpoint
from emberlog.workers.plan.hot_keys import splittable
from emberlog.workers.plan.mode import Mode
from emberlog.workers.plan.placement import Copies, Placement, place
from emberlog.workers.plan.rules import Send
from tests.local_runs import SETUPS, run_locally
from tests.oracle.evaluate import evaluate
from tests.programs import checked
from tests.unit.workers.test_compile import fixpoint

EXIT = "tc(X, Y) :- arc(X, Y). "


def placed(text: str, *, decompose: bool = True) -> Placement:
    return place(compile_fixpoint(fixpoint(text)), mode=None if decompose else Mode.BSP)


def moves(placement: Placement) -> int:
    return sum(isinstance(step, Send) for chain in placement.rules for step in chain.steps)


def test_an_argument_that_every_rule_keeps_is_the_pivot() -> None:
    left = placed(EXIT + "tc(X, Y) :- tc(X, Z), arc(Z, Y).")
    right = placed(EXIT + "tc(X, Y) :- arc(X, Z), tc(Z, Y).")
    assert (left.is_decomposed, left.homes) == (True, {"tc": 0})
    assert (right.is_decomposed, right.homes) == (True, {"tc": 1})
    assert "tc[1]" in left.why and "tc[2]" in right.why
    assert moves(left) == moves(right) == 0


def test_mutual_recursion_is_decomposed_where_the_argument_goes_round() -> None:
    both = placed("odd(X, Y) :- arc(X, Y). odd(X, Y) :- even(X, Z), arc(Z, Y). even(X, Y) :- odd(X, Z), arc(Z, Y).")
    assert (both.is_decomposed, both.homes) == (True, {"odd": 0, "even": 0})
    swapped = placed("p(X, Y) :- arc(X, Y). p(X, Y) :- q(Y, X). q(X, Y) :- p(X, Z), arc(Z, Y).")
    assert not swapped.is_decomposed


def test_an_aggregated_value_is_no_pivot() -> None:
    placement = placed("cc(X, min<X>) :- arc(X, _). cc(Y, min<Z>) :- cc(X, Z), arc(X, Y).")
    assert (placement.is_decomposed, placement.homes) == (False, {"cc": 0})


def test_a_delta_lives_where_it_is_joined() -> None:
    placement = placed(EXIT + "tc(X, Y) :- tc(X, Z), arc(Z, Y).", decompose=False)
    assert (placement.is_decomposed, placement.homes, placement.copies) == (False, {"tc": 1}, {})
    assert moves(placement) == 0


def test_a_join_of_two_deltas_keeps_a_copy_by_the_other_column() -> None:
    placement = placed(EXIT + "tc(X, Y) :- tc(X, Z), tc(Z, Y).")
    assert not placement.is_decomposed
    assert {placement.homes["tc"], *placement.copies.get("tc", ())} == {0, 1}


def test_valuations_move_to_the_rows_that_they_look_for() -> None:
    placement = placed(EXIT + "tc(X, Y) :- tc(X, Z), tc(Z, W), tc(W, Y).")
    assert moves(placement) > 0


LARGE = Copies({"arc": 3 << 30}, 1 << 30)


def placed_large(text: str, mode: Mode | None = None) -> Placement:
    return place(compile_fixpoint(fixpoint(text)), mode=mode, copies=LARGE)


def test_what_is_too_large_is_not_copied_to_every_worker() -> None:
    placement = placed_large(EXIT + "tc(X, Y) :- tc(X, Z), arc(Z, Y).")
    assert (placement.is_decomposed, placement.homes, placement.statics) == (False, {"tc": 1}, {"arc": 0})
    assert moves(placement) == 0
    assert placement.why == (
        "every recursive rule keeps tc[1], but a copy of arc takes 3.0 GiB on each worker, where one may take 1.0 GiB"
    )


def test_what_fits_is_and_the_reason_says_how_large_it_is() -> None:
    copies = Copies({"arc": 1 << 20}, 1 << 30)
    placement = place(compile_fixpoint(fixpoint(EXIT + "tc(X, Y) :- tc(X, Z), arc(Z, Y).")), copies=copies)
    assert placement.is_decomposed
    assert placement.why == "every recursive rule keeps tc[1]; copies of arc take 1.0 MiB on each worker"


def test_who_asks_for_copies_gets_them() -> None:
    placement = placed_large(EXIT + "tc(X, Y) :- tc(X, Z), arc(Z, Y).", Mode.DECOMPOSED)
    assert (placement.is_decomposed, placement.statics) == (True, {"arc": None})


def test_valuations_move_to_what_is_too_large() -> None:
    rules = "sg(X, Y) :- arc(P, X), arc(P, Y), X != Y. sg(X, Y) :- arc(A, X), sg(A, B), arc(B, Y)."
    assert placed(rules, decompose=False).statics == {"arc": None}
    placement = placed_large(rules)
    assert placement.statics == {"arc": 0}
    assert moves(placement) == 1


def test_valuations_move_to_what_is_too_large_and_negated() -> None:
    rules = EXIT + "tc(X, Y) :- tc(X, Z), step(Z, Y), !arc(Y, X)."
    assert place(compile_fixpoint(fixpoint(rules)), mode=Mode.BSP).statics["arc"] is None
    placement = placed_large(rules, Mode.BSP)
    assert placement.statics["arc"] is not None
    assert moves(placement) == 1


def test_what_no_column_spreads_stays_everywhere_and_is_told() -> None:
    placement = placed_large("p(X, Y) :- arc(X, Y). p(X, Y) :- p(Z, W), arc(X, Z), arc(W, Y).")
    assert placement.statics == {"arc": None}
    assert "no column spreads arc" in placement.why


def test_a_mark_in_a_head_says_where_facts_live() -> None:
    """It may cost the decomposition, and it may be what it would have been anyway."""
    rules = "tc(X, {0}Y) :- arc(X, Y). tc(X, {0}Y) :- tc(X, Z), arc(Z, Y)."
    moved = placed(rules.format("#"))
    assert (moved.is_decomposed, moved.homes) == (False, {"tc": 1})
    assert "`#` places tc[2]" in moved.why
    kept = placed("tc(#X, Y) :- arc(X, Y). tc(#X, Y) :- tc(X, Z), arc(Z, Y).")
    assert (kept.is_decomposed, kept.homes) == (True, {"tc": 0})


def test_an_aggregated_column_is_no_place() -> None:
    placement = placed("cc(X, #min<X>) :- arc(X, _). cc(Y, #min<Z>) :- cc(X, Z), arc(X, Y).")
    assert placement.homes == {"cc": 0}


def test_where_facts_live_does_not_change_them() -> None:
    arcs = {"arc": frozenset((number, (number * 3 + 1) % 17) for number in range(17))}
    for mark in (("", ""), ("#", ""), ("", "#")):
        for body in ("tc(X, Z), arc(Z, Y)", "tc(X, Z), tc(Z, Y)"):
            first, second = mark
            program = checked(
                f"declare arc(int a, int b).\ntc({first}X, {second}Y) :- arc(X, Y). tc({first}X, {second}Y) :- {body}."
            )
            expected = evaluate(program, arcs)
            for name, execution in SETUPS.items():
                assert run_locally(plan_program(program).plan, arcs, execution=execution) == expected, (name, mark)


def test_explain_tells_what_moves() -> None:
    program = checked("declare arc(int a, int b).\ntc(X, #Y) :- arc(X, Y). tc(X, #Y) :- tc(X, Z), tc(Z, Y).")
    told = described(plan_program(program, off=frozenset(one.name for one in RULE_PASSES)).plan)
    assert [line.strip() for line in told if "located:" in line] == [
        "located: where Z is: tc(X, Y) :- Δtc(X, Z), tc(Z, Y). Combined, then exchanged: tc by column 2.",
        "located: where Y is: r2.1(Y, Z) :- Δtc(Z, Y). Exchanged.",
        "located: where Z is: tc(X, Y) :- r2.1(Y, Z), tc(X, Z). Combined, then exchanged: tc by column 2.",
    ]


def landed(text: str) -> Placement:
    return place(compile_fixpoint(fixpoint(text)), shares_memory=True)


def test_workers_of_one_memory_derive_what_they_own() -> None:
    text = "cc(X, min<X>) :- arc(X, _). cc(Y, min<Z>) :- cc(X, Z), arc(X, Y)."
    apart, together = placed(text), landed(text)
    assert (apart.lands, apart.statics, moves(apart)) == (frozenset(), {"arc": 0}, 0)
    assert (together.lands, together.statics) == (frozenset({"cc"}), {"arc": 1})
    (send,) = [step for step in together.rules[0].steps if isinstance(step, Send)]
    assert (send.to_all, send.lands_at) == (True, "Y")
    assert splittable(together.statics, together.rules, ()) == frozenset()
    assert splittable(apart.statics, apart.rules, ()) == {"arc"}


def test_facts_are_exchanged_where_rules_want_a_relation_by_different_columns() -> None:
    """Along an arc and against it: by whichever column arcs are spread, one of the rules would find heads of others."""
    both_ways = (
        "cc(X, min<X>) :- arc(X, _). cc(Y, min<Z>) :- cc(X, Z), arc(X, Y). cc(Y, min<Z>) :- cc(X, Z), arc(Y, X)."
    )
    assert landed(both_ways).lands == frozenset()
    assert landed(both_ways).rules == placed(both_ways).rules


def test_facts_are_exchanged_where_a_head_is_made_before_the_last_move() -> None:
    pointers = "p(Y, X) :- new(Y, X). p(Y, W) :- load(Y, X), p(X, Z), p(Z, W)."
    assert landed(pointers).lands == frozenset()


def test_facts_are_exchanged_where_a_rule_looks_into_the_recursion_behind_the_join() -> None:
    text = "p(X, min<X>) :- arc(X, _). q(X, min<Z>) :- p(X, Z). p(Y, min<S>) :- p(X, Z), arc(X, Y), q(X, W), S = Z + W."
    assert "p" not in landed(text).lands


def test_a_relation_lands_only_if_all_its_rules_do() -> None:
    """A rule without a join leaves its head where the body is."""
    mutual = "p(X, Y) :- arc(X, Y). p(Y, X) :- q(X, Y). q(X, Y) :- p(X, Z), arc(Z, Y)."
    assert "p" not in landed(mutual).lands
