"""From plans to chains of steps: what a chain begins with, what it reads, in which order."""

from __future__ import annotations

import numpy as np
import pytest

from emberlog.datatypes import INT
from emberlog.logical.build import build
from emberlog.logical.nodes import Definition, Fixpoint, Version
from emberlog.optimize.pipeline import optimize, plan_program
from emberlog.semantics.model import Column, Compare
from emberlog.syntax.ast import ComparisonOperator, Variable
from emberlog.workers.plan.compile import CyclicProgram, compile_fixpoint
from emberlog.workers.plan.conjunctions import NotAConjunction, flatten
from emberlog.workers.plan.rules import Combine, Keep, Probe, Refute, Shown, Start
from emberlog.workers.store.texts import TextCodes, texts_of
from tests.programs import checked


def fixpoint(text: str) -> Fixpoint:
    """The first recursion of a program, its rules as written; inputs of which nothing is known are ints."""
    read = checked(text)
    inputs = {
        name: [Column(c.name, c.type if c.type.is_known else INT) for c in read.relations[name].columns]
        for name in read.inputs
    }
    roots = [stratum.root for stratum in optimize(build(checked(text, inputs=inputs))).plan.strata]
    return next(root for root in roots if isinstance(root, Fixpoint))


def compiled(text: str) -> CyclicProgram:
    return compile_fixpoint(fixpoint(text))


def kinds(program: CyclicProgram, rule: int = 0) -> list[str]:
    return [type(step).__name__ for step in program.rules[rule].steps]


def test_a_chain_begins_with_the_delta() -> None:
    program = compiled("tc(X, Y) :- arc(X, Y). tc(X, Y) :- arc(X, Z), tc(Z, Y).")
    (chain,) = program.rules
    start, probe = chain.steps
    assert isinstance(start, Start) and isinstance(probe, Probe)
    assert (start.atom.relation, start.atom.version) == ("tc", Version.DELTA)
    assert (probe.atom.relation, probe.keys) == ("arc", (1,))
    assert program.statics == ("arc",)


def test_every_recursive_atom_drives_a_chain_and_no_pair_is_joined_twice() -> None:
    program = compiled("tc(X, Y) :- arc(X, Y). tc(X, Y) :- tc(X, Z), tc(Z, Y).")
    versions = [
        [step.atom.version for step in chain.steps if isinstance(step, Start | Probe)] for chain in program.rules
    ]
    assert versions == [[Version.DELTA, Version.FULL], [Version.DELTA, Version.BEFORE]]


def test_tests_come_as_soon_as_they_can_and_what_may_fail_last() -> None:
    program = compiled("p(X) :- q(X, _). p(Z) :- p(X), q(X, Y), X > 3, !bad(Y), Z = Y + 1, Z < 100.")
    assert kinds(program)[:4] == ["Start", "Keep", "Probe", "Refute"]
    assert len(kinds(program)) > 4


def test_a_repeated_variable_is_joined_once() -> None:
    program = compiled("p(X, X) :- q(X). p(X, Y) :- p(X, X), arc(X, Y).")
    start, same, probe = program.rules[0].steps
    assert isinstance(start, Start) and isinstance(probe, Probe)
    first, second = map(Variable, start.atom.variables)
    assert same == Keep(Compare(ComparisonOperator.EQUAL, second, first))
    assert probe.keys == (0,)


def test_a_negated_atom_is_looked_up_by_its_constants_too() -> None:
    program = compiled("p(X) :- q(X). p(Y) :- p(X), arc(X, Y), !blocked(Y, 7).")
    (refute,) = [step for step in program.rules[0].steps if isinstance(step, Refute)]
    assert sorted(refute.keys) == [0, 1]


@pytest.mark.parametrize(
    ("head", "combine", "shown"),
    [
        ("min<D>", (Combine.MIN,), Shown.LANE),
        ("mmax<D>", (Combine.MAX,), Shown.LANE),
    ],
)
def test_meets(head: str, combine: tuple[Combine, ...], shown: Shown) -> None:
    program = compiled(f"s(X, {head}) :- e(X, D, E), E > 0. s(X, {head}) :- s(Y, D), a(Y, X, E), E > 0.")
    relation = program.relation("s")
    assert (relation.keys, relation.combine, relation.columns[1].shown) == (1, combine, shown)


def test_a_choice_lies_behind_its_cost() -> None:
    program = compiled("s(X, argmin<C, V>) :- e(X, C, V). s(Y, argmin<C, V>) :- s(X, _), a(X, Y, C, V).")
    relation = program.relation("s")
    assert relation.combine == (Combine.ARG_MIN, Combine.CHOICE)
    assert relation.columns[1].lane == relation.keys + 1


def test_a_mean_is_a_sum_and_a_count() -> None:
    program = compiled("@iterations(3).\nr(X, avg<V>) :- s(X, V). r(Y, avg<V>) :- r(X, V), arc(X, Y).")
    relation = program.relation("r")
    assert relation.combine == (Combine.SUM_FLOAT, Combine.SUM_INT)
    assert relation.columns[1].shown is Shown.MEAN


def test_the_largest_contribution_of_a_key_counts() -> None:
    program = compiled("o(A, msum<(B, N)>) :- direct(A, B, N). o(A, msum<(B, N)>) :- o(B, N), direct(A, B, _), N > 1.")
    relation = program.relation("o")
    assert relation.largest_per_key
    assert relation.contribution_width == relation.width + 1


def test_an_aggregate_is_no_conjunction() -> None:
    (stratum,) = plan_program(checked("n(X, count<_>) :- arc(X, _).")).plan.strata
    assert isinstance(stratum.root, Definition)
    with pytest.raises(NotAConjunction, match="Aggregate"):
        flatten(stratum.root.plan)


def test_the_texts_of_a_program() -> None:
    program = compiled('p("a", X) :- q(X, "b"). p(T, X) :- p(T, Y), q(X, T), X != "c".  p("d", "e").')
    assert {"a", "b", "c", "d", "e"} >= set(texts_of(program)) >= {"a", "d", "e"}


def test_codes_of_texts_are_given_once() -> None:
    codes = TextCodes()
    assert [codes.code(text) for text in ("x", "", "x", "y")] == [0, 1, 0, 2]
    assert codes.decode(np.array([2, 1, 0, 2])).to_pylist() == ["y", "", "x", "y"]
