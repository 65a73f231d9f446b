"""Answers questions about one window of a stream query: why a fact is there, until when, and why not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from emberlog.config import DEFAULT_LIMITS, Execution, Limits
from emberlog.engines.local.run import run
from emberlog.engines.recording import Recording
from emberlog.io.local_relation import LocalRelation
from emberlog.io.shelves import shelf_of
from emberlog.optimize.pipeline import plan_program
from emberlog.provenance.asked import Asked, asked_pattern, asked_relation, only_fact, refuse_present
from emberlog.provenance.facts import FactBase
from emberlog.provenance.model import Goal, InputFact, ProofTree
from emberlog.provenance.proofs import Prover
from emberlog.provenance.questions import MOST_FACTS
from emberlog.provenance.refutations import Pattern, Refuter
from emberlog.provenance.streams.expiry import Certainty, Expiry, Promise, expiry_of, promise_of
from emberlog.provenance.streams.stream_proof import Lasting, StreamProof, StreamRefutation
from emberlog.semantics.model import CellValue, CheckedProgram, CheckedQuery, Fact
from emberlog.streams.evaluate.window_facts import WindowFacts
from emberlog.streams.plan.batch_program import BatchProgram, batch_program
from emberlog.streams.plan.maintenance import read_by
from emberlog.streams.plan.several_windows import by_window
from emberlog.syntax.ast import Constant, Variable


class StreamQuestions:
    def __init__(self, checked: CheckedProgram, window: WindowFacts, limits: Limits = DEFAULT_LIMITS) -> None:
        self.checked = checked
        self.window = window
        self._limits = limits
        self._changing = frozenset(name for name, relation in checked.relations.items() if relation.is_stream)

    def why(self, relation: str, fact: Asked, *, depth: int | None = None, contributions: int = 10) -> StreamProof:
        """Tells why a fact is there, by the derivation that lasts longest, and until when."""
        questions = self._in_its_window(relation)
        if questions is not self:
            return questions.why(relation, fact, depth=depth, contributions=contributions)
        name, runs, pattern = self._asked(relation, fact)
        found = only_fact(name, pattern, runs.facts(name, pattern, self.window.at))
        promise = promise_of(runs.program.checked, name, self._changing)
        expiry = expiry_of(self.window, promise, lambda slide: found in runs.facts(name, found, slide))
        base = runs.recorded(self._slide_of_proof(promise, expiry))
        prover, goal = Prover(base, contributions=contributions), base.goal(name, found)
        whole = prover.proof(goal, depth=None, facts=MOST_FACTS)
        shown = whole if depth is None else prover.proof(goal, depth=depth, facts=MOST_FACTS)
        return StreamProof(shown, base.checked, self.window, self._lasting(runs.program, promise, expiry, whole))

    def why_not(self, relation: str, fact: Asked, *, depth: int = 1) -> StreamRefutation:
        """Tells why a fact is not there: how far the body of each rule holds, and what fails."""
        questions = self._in_its_window(relation)
        if questions is not self:
            return questions.why_not(relation, fact, depth=depth)
        name, runs, pattern = self._asked(relation, fact)
        base = runs.recorded(self.window.at)
        refuse_present(base, name, pattern)
        tree = Refuter(base).tree(Pattern(name, pattern), depth=max(depth, 1))
        return StreamRefutation(tree, base.checked, self.window)

    def _in_its_window(self, relation: str) -> StreamQuestions:
        """Returns questions about the window that a relation is asked for in, if there are several; where no query asks
        for it, about the first that reads it."""
        schedules = self.window.schedule.each
        if not schedules:
            return self
        name, parts = asked_relation(tuple(self.checked.relations), relation), by_window(self.checked)
        places = [place for place, part in enumerate(parts) if name in part.outputs]
        places += [place for place, part in enumerate(parts) if name in _read_for(part)]
        return StreamQuestions(self.checked, self.window.of(schedules[next(iter(places), 0)]), self._limits)

    def _asked(self, relation: str, values: Asked) -> tuple[str, _WindowRuns, tuple[CellValue, ...]]:
        """Returns the relation, its program, and the pattern of its facts there, without a time that only annotates."""
        name = asked_relation(tuple(self.checked.relations), relation)
        program, whole = question_program(self.checked, name), self.checked.relations[name]
        own = program.checked.relations[name]
        if isinstance(values, Mapping):
            values = asked_pattern(whole, values)
        if own.arity < whole.arity == len(values):
            with_time = asked_pattern(whole, values)
            if with_time[0] is not None:
                timed = _WindowRuns(question_program(self.checked, name, with_time=True), self.window, self._limits)
                only_fact(name, with_time, timed.facts(name, with_time, self.window.at))
            values = values[1:]
        return name, _WindowRuns(program, self.window, self._limits), asked_pattern(own, values)

    def _slide_of_proof(self, promise: Promise, expiry: Expiry) -> int:
        """Chooses the slide whose window a proof is made from. What holds until a slide is proved from what is left
        then: these are the derivations that last longest. What may change is proved from the whole window."""
        if promise.certainty is Certainty.MAY_CHANGE:
            return self.window.at
        last_slides = self.window.last_slides()
        if expiry.until is None and last_slides:
            return last_slides[-1] + self.window.schedule.distance
        return self.window.at if expiry.until is None else expiry.until

    def _lasting(self, program: BatchProgram, promise: Promise, expiry: Expiry, proof: ProofTree) -> Lasting:
        used = [
            goal
            for goal, step in proof.steps.items()
            if isinstance(step, InputFact) and goal.relation in program.streams
        ]
        latest: dict[str, dict[Fact, int]] = {
            stream: self.window.latest_times(program, stream) for stream in {goal.relation for goal in used}
        }
        times: dict[Goal, int] = {goal: latest[goal.relation][goal.fact] for goal in used}
        leaving = [
            goal for goal in sorted(used, key=times.__getitem__) if self.window.last_slide(times[goal]) == expiry.until
        ]
        return Lasting(promise, expiry, times, tuple(leaving) if expiry.until is not None else ())


def _read_for(checked: CheckedProgram) -> set[str]:
    """Lists the relations that the outputs of a program are made of."""
    needed = set(checked.outputs)
    for stratum in reversed(checked.strata):
        if needed.intersection(stratum.relations):
            needed |= read_by(stratum)
    return needed


def question_program(checked: CheckedProgram, relation: str, *, with_time: bool = False) -> BatchProgram:
    """Makes the program that computes one relation; with its own time, if that is asked for."""
    names = ("Time" if with_time else "_1", *(f"_{place}" for place in range(2, checked.relations[relation].arity + 1)))
    query = CheckedQuery(relation, tuple(map(Variable, names))[: checked.relations[relation].arity])
    return batch_program(replace(checked, queries=(query,)))


class _WindowRuns:
    """Runs `program` on the window at its slide, and at later ones if no more tuples come.

    It is the batch program that defines the answer of a slide, with the times that only annotate facts left out: facts
    are told apart by their other columns."""

    def __init__(self, program: BatchProgram, window: WindowFacts, limits: Limits) -> None:
        self.program = program
        self.window = window
        self._limits = limits

    def facts(self, relation: str, pattern: Sequence[CellValue], slide: int) -> list[Fact]:
        """Returns the facts that agree with the pattern, in which None is any value. No more than these is computed."""
        columns = self.program.checked.relations[relation].columns
        terms = tuple(
            Constant.of(value, column.type) if isinstance(value, bool | int | float | str) else Variable(f"_{place}")
            for place, (value, column) in enumerate(zip(pattern, columns, strict=True), 1)
        )
        asked = replace(self.program.checked, queries=(CheckedQuery(relation, terms),))
        inputs = self.window.inputs(self.program, slide)
        found = run(plan_program(asked).plan, inputs, self._limits, interpret_small=True)[relation].facts
        return [
            fact
            for fact in found
            if all(value is None or value == own for value, own in zip(pattern, fact, strict=True))
        ]

    def recorded(self, slide: int) -> FactBase:
        """Returns all that has a part in the relation that is asked about, with its iterations."""
        recording: Recording[LocalRelation] = Recording()
        run(
            plan_program(self.program.checked, provenance=True).plan,
            self.window.inputs(self.program, slide),
            self._limits,
            execution=Execution(provenance=True),
            interpret_small=True,
            recording=recording,
        )
        shelves = {name: shelf_of(relation) for name, relation in recording.relations.items()}
        histories = {name: shelf_of(history) for name, history in recording.histories.items()}
        return FactBase(self.program.checked, shelves, histories)
