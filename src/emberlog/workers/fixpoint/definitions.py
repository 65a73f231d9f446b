"""Computes relations without recursion beside one: those that it reads, and those that fold its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from emberlog.language.faults import Fault
from emberlog.workers.fixpoint.chains import Batch, ChainRunner
from emberlog.workers.fixpoint.worker import Worker, WorkerTask, gather
from emberlog.workers.kernels.lanes import Lane, Lanes, floats_to_lane, lane_to_floats
from emberlog.workers.plan.rules import Atom, Combine, RelationLayout, Start
from emberlog.workers.store.joined import written_out
from emberlog.workers.store.relations import WorkerRelation
from emberlog.workers.store.stores import StaticStore, StreamedStatic
from emberlog.workers.wire.messages import Progress, Running


class DefinitionWorker(Worker):
    """Computes one relation from its seeds, combined where they arise, then by the owner of each key."""

    def __init__(
        self, task: WorkerTask, statics: Mapping[str, StaticStore], streams: Mapping[str, StreamedStatic]
    ) -> None:
        super().__init__(task, statics)
        self.streams = streams
        (self.relation,) = self.program.relations
        self.computed = WorkerRelation(self.relation, tracks=False)

    def run(self) -> Running:
        if self.relation.comes_once:
            return  # whoever reads the facts has them as they are found
        for lanes in self._contributions():
            self.computed.add(lanes)
            self.check_limits(Progress(0, self.computed.count, self.computed.count))
        if self.task.workers > 1:
            mail = self.empty_mail()
            lanes = self.computed.contributed()
            self.post(mail, 0, lanes, self.route(self.relation.name, lanes))
            received = yield mail
            self.computed = WorkerRelation(self.relation, tracks=False)
            self.computed.add(gather(received, 0, self.relation.width))
        if self.relation.counts_nothing and not self.computed.count and self.owns_keyless():
            self.computed.add(np.zeros((self.relation.width, 1), np.int64))

    def _contributions(self) -> Iterator[Lanes]:
        counted = [runner for runner in self.seeds if _reads_nothing(runner)]
        for runner in counted:
            start = runner.chain.steps[0]
            assert isinstance(start, Start)
            rows = self._rows_of(start.atom)
            if rows:
                yield _repeated(self.relation, runner.contributions(Batch({}, 1)), rows)
        self.seeds = [runner for runner in self.seeds if runner not in counted]
        for _, contribution in self.seed_contributions():
            yield from written_out(contribution)

    def contributions_of(self, runner: ChainRunner, batch: Batch) -> Lanes:
        """Valuations of which nobody needs to know anything are worth the same, so their number is enough."""
        if batch.lanes or batch.rows == 1:
            return super().contributions_of(runner, batch)
        return _repeated(self.relation, runner.contributions(Batch({}, 1)), batch.rows)

    def started(self, atom: Atom) -> Iterator[list[Lane]]:
        if atom.relation in self.streams:
            return self.streams[atom.relation].batches()
        return super().started(atom)

    def _rows_of(self, atom: Atom) -> int:
        """Returns how many rows `started` gives."""
        if atom.relation in self.streams:
            return self.streams[atom.relation].count()
        return sum(len(lanes[0]) for lanes in self.started(atom))

    def results(self, relation: str) -> Iterator[list[Lane]]:
        if not self.relation.comes_once:
            yield from self.computed.batches()
            return
        count = 0
        for lanes in self._contributions():
            count += lanes.shape[1]
            self.check_limits(Progress(0, count, count))
            yield self.computed.visible(lanes)

    def result_count(self, relation: str) -> int:
        if not self.relation.comes_once:
            return self.computed.count
        facts = sum(len(facts.rows) for facts in self.program.facts) if self.task.number == 0 else 0
        return facts + sum(self._valuations(runner) for runner in self.seeds)

    def _valuations(self, runner: ChainRunner) -> int:
        """Returns how many there are of a rule's body: nobody needs to know which."""
        if runner.first_step == 0 and self.task.number != 0:
            return 0
        body = self.runner(replace(runner.chain, head=()))
        return sum(batch.rows for batch in body.run(body.first_step, len(body.chain.steps), body.start()))


def _reads_nothing(runner: ChainRunner) -> bool:
    """Tells whether all rows of a relation are worth the same, so that their number is enough."""
    steps = runner.chain.steps
    return len(steps) == 1 and isinstance(steps[0], Start) and not runner.needed[0]


def _repeated(relation: RelationLayout, lanes: Lanes, times: int) -> Lanes:
    """Returns one contribution that is worth so many equal ones."""
    result = lanes.copy()
    for place, rule in enumerate(relation.combine):
        lane = relation.keys + place
        if rule is Combine.SUM_INT:
            total = int(lanes[lane, 0]) * times
            if not -(2**63) <= total < 2**63:
                raise Fault("DL502", f"a sum of `{relation.name}` does not fit in a 64-bit int")
            result[lane, 0] = total
        elif rule is Combine.SUM_WIDE:
            total = ((int(lanes[lane + 1, 0]) << 64) + int(lanes[lane, 0])) * times
            low = (total + 2**63) % 2**64 - 2**63
            result[lane, 0], result[lane + 1, 0] = low, (total - low) >> 64
        elif rule is Combine.SUM_FLOAT:
            result[lane] = floats_to_lane(lane_to_floats(lanes[lane]) * times)
    return result
