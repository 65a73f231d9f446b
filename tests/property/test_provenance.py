"""Every derived fact of a random program has a valid proof of the smallest height, and every absent one a refutation.

`EMBERLOG_EXAMPLES` sets the number of programs.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given, reject
from hypothesis import strategies as st

from emberlog.diagnostics import EmberlogError
from emberlog.optimize.pipeline import plan_program
from emberlog.provenance.facts import FactBase
from emberlog.provenance.proofs import Prover
from emberlog.semantics.model import CellValue, CheckedQuery
from emberlog.syntax.ast import Constant, Variable
from tests.oracle.evaluate import evaluate
from tests.proof_checker import Checker, check_everything
from tests.property.programs import FLOATS, INTS, STRINGS, RandomProgram
from tests.property.shapes import programs
from tests.property.test_programs import LIMITS, properties, read
from tests.recorded_runs import RECORDERS, questions_of, recorded

DOMAIN: dict[str, tuple[CellValue, ...]] = {
    "int": (*INTS, 7),
    "float": FLOATS,
    "string": STRINGS,
    "bool": (False, True),
}


@given(programs(), st.sampled_from(sorted(RECORDERS)))
@properties
def test_every_fact_has_a_smallest_proof_and_every_other_a_refutation(random: RandomProgram, recorder: str) -> None:
    checked = read(random)
    try:
        checker = Checker(checked, random.facts, LIMITS)
        recording = recorded(checked, random.facts, recorder, LIMITS)
    except EmberlogError:
        reject()
    check_everything(checker, FactBase(checked, recording.relations, recording.histories), DOMAIN)


@given(programs(), st.data(), st.sampled_from(sorted(RECORDERS)))
@properties
def test_a_query_restricts_what_is_recorded_and_no_proof(
    random: RandomProgram, data: st.DataObject, recorder: str
) -> None:
    """All that is recorded is proved in its own iteration, and all that is asked for is recorded. Whatever else is
    asked gets its answer by a run for it."""
    written = read(random)
    asked = [name for name, relation in written.relations.items() if relation.is_derived and relation.arity]
    assume(asked)
    name = data.draw(st.sampled_from(asked))
    columns = written.relations[name].columns
    bound = data.draw(st.sets(st.integers(0, len(columns) - 1), min_size=1))
    terms = tuple(
        Constant(data.draw(st.sampled_from(DOMAIN[str(column.type)])))  # type: ignore[arg-type]
        if place in bound and str(column.type) in DOMAIN
        else Variable(f"V{place}")
        for place, column in enumerate(columns)
    )
    checked = replace(written, queries=(CheckedQuery(name, terms),))
    try:
        checker = Checker(checked, random.facts, LIMITS)
        recording = recorded(checked, random.facts, recorder, LIMITS, restricted=True)
        questions = questions_of(checked, random.facts, recorder, LIMITS)
    except EmberlogError:
        reject()
    base = FactBase(checked, recording.relations, recording.histories)
    answer = evaluate(checked, random.facts, LIMITS)[name]
    agreeing = {fact for fact in base.find(name, {}).facts if _agrees(terms, fact)}
    assert len(agreeing) == len(answer) and all(checker.has(checker.facts, name, fact) for fact in agreeing)
    prover = Prover(base, contributions=3)
    for relation in sorted(checker.needed):
        facts = sorted(base.find(relation, {}).facts, key=repr)
        assert all(checker.has(checker.facts, relation, fact) for fact in facts)
        for fact in facts[:20]:
            checker.check_proof(prover.proof(base.goal(relation, fact), depth=None, facts=10_000))
    for fact in sorted(checker.facts[name].facts, key=repr)[:3]:
        if None not in fact:
            checker.check_proof(questions.why(name, fact, depth=None, contributions=3).tree)
    if plan_program(checked, provenance=True).demands:
        absent = tuple(DOMAIN[str(column.type)][-1] for column in columns if str(column.type) in DOMAIN)
        if len(absent) == len(columns) and not checker.has(checker.facts, name, absent):
            refutation = questions.why_not(name, absent, depth=1).tree
            checker.check_refutation(refutation.root, refutation.steps[refutation.root])


def _agrees(terms: tuple[Constant | Variable, ...], fact: tuple[CellValue, ...]) -> bool:
    return all(not isinstance(term, Constant) or term.value == value for term, value in zip(terms, fact, strict=True))
