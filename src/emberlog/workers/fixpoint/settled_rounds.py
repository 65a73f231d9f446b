"""Rounds of a bounded recursion in which only sums change: the joins are done, and what is left is arithmetic.

Which valuations a rule has is a matter of keys, where no sum is joined with, compared, or made a key. So once a round
has the keys of the round before, all later rounds have them. The rules then run a last time, with the numbers of
rows in place of sums; each round after that looks the sums up, evaluates the expressions, and adds up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from emberlog.logical.expressions import columns_of
from emberlog.syntax.ast import Expression, Variable
from emberlog.workers.fixpoint.chains import BATCH, Batch, ChainRunner
from emberlog.workers.fixpoint.profile import Recorder
from emberlog.workers.fixpoint.worker import Worker
from emberlog.workers.kernels.floats import floats_to_lane, lane_to_floats
from emberlog.workers.kernels.fused import add_pairs
from emberlog.workers.kernels.lanes import Floats, Lane, Lanes, joined
from emberlog.workers.plan.rules import Assign, Atom, Combine, Probe, RuleChain, Send, Start, reads
from emberlog.workers.store.joined import LastJoin
from emberlog.workers.store.relations import WorkerRelation
from emberlog.workers.store.stores import KeyedStore

MOST_PAIRS = 1 << 22
"""Contributions of a rule that are remembered; where there are more, rounds go on as they began."""

_ROW = "number of the row"
"""No variable of a rule has this name."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a rule does once, and what it does in each round."""

    once: RuleChain
    """The rule without sums: it has the number of the row that it began with in place of the sum there."""
    join: LastJoin | None
    """The last join, if `once` ends before it: what it makes of a valuation has the same value."""
    keys: tuple[Expression, ...]
    """Of a contribution, where there is no last join."""
    source: Atom
    sum: str
    """The variable that a sum of the source is bound to."""
    assigns: tuple[Assign, ...]
    value: Expression


@dataclass(frozen=True, slots=True, eq=False)
class _Rule:
    """A rule whose valuations are known but for sums."""

    plan: _Plan
    runner: ChainRunner
    lanes: Mapping[str, Lane]
    rows: int
    valuations: Lane
    """Of each contribution."""
    targets: Lane
    """The row that each contribution is added to."""

    def values(self, sums: Lane) -> Floats:
        """Of each valuation, given the sums of the source."""
        evaluator = self.runner.evaluator
        lanes = {**self.lanes, self.plan.sum: sums[self.lanes[_ROW]]}
        for assign in self.plan.assigns:
            lanes[assign.variable] = evaluator.lane(assign.expression, lanes, self.rows)
        return lane_to_floats(evaluator.lane(self.plan.value, lanes, self.rows))


class SettledRounds:
    def __init__(self, stores: Mapping[str, KeyedStore], seeds: Mapping[str, KeyedStore], rules: Sequence[_Rule]):
        self._stores = stores
        self._rules = rules
        self._sums = {name: _sums(store) for name, store in stores.items()}
        self._seeds = {name: _sums(store) for name, store in seeds.items()}

    def run(self, iteration: int, recorder: Recorder | None) -> bool:
        """Runs a round; says whether a sum has changed."""
        following = {name: np.zeros(len(sums)) for name, sums in self._sums.items()}
        for name, seeds in self._seeds.items():
            following[name][: len(seeds)] = seeds  # they were entered first
        lanes = {name: floats_to_lane(sums) for name, sums in self._sums.items()}
        for rule in self._rules:
            since = perf_counter()
            values = rule.values(lanes[rule.plan.source.relation])
            chain = rule.runner.chain
            add_pairs(following[chain.relation], rule.targets, values, rule.valuations)
            if recorder is not None:
                recorder.repeated(chain.name, chain.relation, iteration, perf_counter() - since)
        differs = any(not np.array_equal(self._sums[name], sums) for name, sums in following.items())
        self._sums = following
        return differs

    def finish(self) -> None:
        """Puts the sums where those of the first of these rounds were."""
        for name, store in self._stores.items():
            store.rows[store.keys, : store.count] = self._sums[name].view(np.int64)


def settled_rounds(
    worker: Worker, residents: Mapping[str, WorkerRelation], seeds: Mapping[str, WorkerRelation]
) -> SettledRounds | None:
    """How rounds go on from these facts, whose keys are those of the round before; None if a round is more than sums,
    or too much to remember. `seeds` has what each round begins with."""
    if any(resident.relation.combine != (Combine.SUM_FLOAT,) for resident in residents.values()):
        return None
    rules = []
    for runner in worker.rules:
        plan = _plan(runner, residents)
        rule = None if plan is None else _settled_rule(worker, runner, plan, residents)
        if rule is None:
            return None
        rules.append(rule)
    stores, begun = ({name: _store(one) for name, one in found.items()} for found in (residents, seeds))
    return SettledRounds(stores, begun, rules)


def _store(resident: WorkerRelation) -> KeyedStore:
    assert isinstance(resident.store, KeyedStore)
    return resident.store


def _sums(store: KeyedStore) -> Floats:
    return store.rows[store.keys, : store.count].copy().view(np.float64)


def _plan(runner: ChainRunner, residents: Mapping[str, WorkerRelation]) -> _Plan | None:
    chain, join = runner.chain, runner.last_join
    start = chain.steps[0] if chain.steps else None
    if not isinstance(start, Start) or start.atom.relation not in residents:
        return None
    variables, column = start.atom.variables, _sum_column(residents[start.atom.relation])
    if len(set(variables)) < len(variables):
        return None
    changing, assigns = {variables[column]}, []
    for step in chain.steps[1:]:
        if isinstance(step, Send) or (isinstance(step, Probe) and step.atom.relation in residents):
            return None
        if reads(step) & changing:
            if not isinstance(step, Assign):
                return None
            changing.add(step.variable)
            assigns.append(step)
    *keys, value = chain.head
    if any(columns_of(key) & changing for key in keys):
        return None
    needed = set(columns_of(value)).union(*(columns_of(assign.expression) for assign in assigns)) - changing
    steps = chain.steps[1:]
    if join is not None and join.base is not None and join.column is None:
        needed |= reads(chain.steps[join.position])
        steps, keys = chain.steps[1 : join.position], []
    else:
        join = None
        needed = needed.union(*map(columns_of, keys))
    atom = replace(start.atom, variables=(*variables[:column], _ROW, *variables[column + 1 :]))
    once = replace(
        chain,
        steps=(Start(atom), *(step for step in steps if step not in assigns)),
        head=(Variable(_ROW), *map(Variable, sorted(needed))),
    )
    return _Plan(once, join, tuple(keys), atom, variables[column], tuple(assigns), value)


def _sum_column(resident: WorkerRelation) -> int:
    relation = resident.relation
    (column,) = (place for place, one in enumerate(relation.columns) if one.lane == relation.keys)
    return column


def _settled_rule(
    worker: Worker, runner: ChainRunner, plan: _Plan, residents: Mapping[str, WorkerRelation]
) -> _Rule | None:
    once = ChainRunner(plan.once, worker, worker.task.codes)
    names = [term.name for term in plan.once.head if isinstance(term, Variable)]
    found: list[Lanes] = []
    valuations: list[Lane] = []
    keys: list[Lanes] = []
    rows = pairs = 0
    for batch in once.run(1, len(once.chain.steps), _started(plan.source, residents)):
        batch, contributed = _contributed(worker, runner, plan, batch)
        for own, own_keys in contributed:
            pairs += len(own)
            if pairs > MOST_PAIRS:
                return None
            valuations.append(own + rows)
            keys.append(own_keys)
        found.append(np.stack([batch.lanes[name] for name in names]))
        rows += batch.rows
    target = _store(residents[runner.chain.relation])
    lanes = dict(zip(names, joined(found, len(names)), strict=True))
    targets = target.find(joined(keys, target.keys))
    return _Rule(plan, runner, lanes, rows, np.concatenate([np.empty(0, np.int64), *valuations]), targets)


def _started(atom: Atom, residents: Mapping[str, WorkerRelation]) -> Iterator[Batch]:
    resident = residents[atom.relation]
    column = _sum_column(resident)
    for begin in range(0, resident.count, BATCH):
        lanes = resident.visible(resident.store.all[:, begin : begin + BATCH])
        lanes[column] = np.arange(begin, begin + len(lanes[column]))
        yield Batch(dict(zip(atom.variables, lanes, strict=True)), len(lanes[column]))


def _contributed(
    worker: Worker, runner: ChainRunner, plan: _Plan, batch: Batch
) -> tuple[Batch, Iterator[tuple[Lane, Lanes]]]:
    """The valuations that contribute something, and for each contribution the number of its valuation and its keys."""
    if plan.join is None:
        keys = [runner.evaluator.lane(key, batch.lanes, batch.rows) for key in plan.keys]
        stacked = np.stack(keys) if keys else np.empty((0, batch.rows), np.int64)
        return batch, iter(((np.arange(batch.rows), stacked),))
    step = runner.chain.steps[plan.join.position]
    assert isinstance(step, Probe)
    index = worker.static_index(step.atom.relation, step.keys)
    values = np.stack([batch.lanes[step.atom.variables[key]] for key in step.keys])
    is_met = index.contains(values)
    batch, key = batch.kept(is_met), plan.join.key  # an expression may fail for what is joined with nothing
    found = index.matches(np.ascontiguousarray(values[:, is_met]))
    return batch, ((pairs.probes, index.column(key, pairs.rows)[None]) for pairs in found)
