"""Makes the program of a seed: always the same one, with the oracle's verdict."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.crosscheck.drafts import Draft, Sig
from tests.crosscheck.kinds import SCALARS, is_readable
from tests.crosscheck.meaning import Unclear
from tests.crosscheck.oracle import Verdict, judged
from tests.crosscheck.programs import Anything, Const, Program, Query, Var, read_relations
from tests.crosscheck.shapes import SHAPES


@dataclass(frozen=True, slots=True)
class Sample:
    seed: int
    program: Program
    verdict: Verdict


def sample(seed: int) -> Sample:
    """Tries until there is a program that has a meaning, and mostly one with an answer that is not empty."""
    attempt = 0
    while True:
        attempt += 1
        random = Random(f"{seed}/{attempt}")
        program = drawn(random)
        try:
            verdict = judged(program)
        except Unclear:
            continue
        if not any(verdict.answers.values()) and not verdict.codes and random.random() < 0.9:
            continue
        return Sample(seed, program, verdict)


def drawn(random: Random) -> Program:
    draft = Draft(random)
    draft.add_inputs()
    shapes, weights = zip(*random.sample(SHAPES, random.choice((2, 4, 9))), strict=True)
    for shape in random.choices(shapes, weights, k=random.choice((1, 2, 2, 3, 3, 4))):
        shape(draft)
    random.shuffle(draft.rules)
    queries = [_query(draft) for _ in range(random.choice((0, 0, 0, 1, 1, 2, 3)))]
    read = {name for rule in draft.rules for name in read_relations(rule.body)}
    inputs = [one for one in draft.inputs if one.name in read]
    return Program(tuple(inputs), tuple(draft.declared), tuple(draft.facts), tuple(draft.rules), tuple(queries))


def _query(draft: Draft) -> Query:
    relation: Sig = draft.random.choice(draft.derived)
    terms: list[Const | Var | Anything] = []
    for place, kind in enumerate(relation.kinds):
        form = draft.random.choices(("variable", "constant", "repeated", "anything"), (60, 18, 7, 15))[0]
        earlier = [
            term
            for term, other in zip(terms, relation.kinds, strict=False)
            if isinstance(term, Var) and other.type == kind.type and is_readable(other)
        ]
        if form == "constant" and kind in SCALARS:
            terms.append(draft.pools.constant(kind))
        elif form == "repeated" and earlier and is_readable(kind) and not kind.parts:
            terms.append(draft.random.choice(earlier))
        elif form == "anything":
            terms.append(Anything())
        else:
            terms.append(Var(f"Q{place}"))
    return Query(relation.name, tuple(terms))
