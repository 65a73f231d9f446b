"""Every derived fact of a random program has a valid proof of the smallest height, and every absent one a refutation.

`EMBERLOG_EXAMPLES` sets the number of programs.
"""

from __future__ import annotations

from hypothesis import given, reject
from hypothesis import strategies as st

from emberlog.diagnostics import EmberlogError
from emberlog.provenance.facts import FactBase
from emberlog.semantics.model import CellValue
from tests.proof_checker import Checker, check_everything
from tests.property.programs import FLOATS, INTS, STRINGS, RandomProgram
from tests.property.shapes import programs
from tests.property.test_programs import LIMITS, properties, read
from tests.recorded_runs import RECORDERS, recorded

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
