"""A database's engine in this process: no Spark, no Java."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa

from emberlog.config import Execution
from emberlog.datatypes import INT
from emberlog.engines.engine import Counted, Engine, Inputs, Outputs, Request, RunOutputs
from emberlog.engines.experience import Experience
from emberlog.engines.interpreter import interpreter
from emberlog.engines.interpreter.interpreter import INTERPRETER
from emberlog.engines.local.kept import KeptInputs
from emberlog.engines.local.run import (
    FEW_APART,
    FEW_DERIVED,
    FEW_HANDLED,
    FEW_HANDLED_LOADED,
    FEW_READ,
    MANY_READ,
    crew_for,
    few_handled,
    how_it_runs,
    planner_of,
    run,
)
from emberlog.engines.recording import ITERATION, Recording, is_latest
from emberlog.engines.worker_counts import WorkerCounts
from emberlog.io.intake import Glance, NoRows, Source, register
from emberlog.io.local_files import LocalReader
from emberlog.io.local_relation import LocalRelation
from emberlog.io.matching import free_name
from emberlog.io.shelves import Shelf, shelf_of
from emberlog.io.text_format import TextOptions
from emberlog.io.writers import write_relations
from emberlog.logical.classes import links_of_classes
from emberlog.logical.nodes import Fixpoint, LogicalPlan, Plan
from emberlog.logical.statistics import RelationStatistics
from emberlog.semantics.model import CheckedProgram, Column, Fact, RecursionCase, Relation
from emberlog.timing import Part, timed
from emberlog.workers.plan.worker_plan import WorkerPlanner


def _one_by_one(facts: LocalRelation, history: LocalRelation, case: RecursionCase) -> list[Fact]:
    """Returns facts with their iterations, fact by fact: Arrow makes no groups of lists and pairs."""
    chosen = max if is_latest(case) else min
    came: dict[Fact, int] = {}
    for *fact, iteration in history.facts:
        assert isinstance(iteration, int)
        key = tuple(fact)
        came[key] = chosen(came.get(key, iteration), iteration)
    return [(*fact, came.get(fact)) for fact in facts.facts]


class LocalEngine(Engine[LocalRelation]):
    def __init__(self, workers: int | None) -> None:
        """Without a number of workers, each recursion has as many as pay."""
        Execution(workers=workers)  # says what is wrong with the number
        self._workers = workers
        self._registered: dict[str, Source[LocalRelation]] = {}
        self._kept = KeptInputs()
        self._experience = Experience()

    def register(
        self, name: str, data: object, *, columns: Sequence[str] | None, text: TextOptions, format: str | None
    ) -> None:
        self._registered[name] = register(LocalReader(), name, data, columns=columns, text=text, format=format)

    def forget(self, name: str) -> None:
        del self._registered[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._registered)

    def original(self, name: str) -> LocalRelation:
        return self._registered[name].original()

    def columns(self, name: str, declared: Sequence[Column] | None) -> Sequence[Column] | None:
        return self._registered[name].columns(declared)

    def glance(self, name: str) -> Glance:
        return self._registered[name].glance()

    def statistics(self, name: str, relation: Relation) -> RelationStatistics:
        return self._registered[name].relation(relation).statistics

    def repeated_rows(self, name: str, relation: Relation) -> int | None:
        return self._registered[name].repeated_rows(relation)

    def planner(self, plan: LogicalPlan, execution: Execution, *, without_data: bool) -> WorkerPlanner:
        workers = execution.workers or self._workers
        if workers is None and execution.representation != "auto":
            workers = 1  # which has every representation
        return planner_of(plan, replace(execution, workers=workers), without_data=without_data)

    def choices(self, plan: LogicalPlan, planner: WorkerPlanner) -> tuple[str, ...]:
        from emberlog.engines.local.recursion import LocalJob

        lines = []
        for stratum in planner.strata:
            names = ", ".join(stratum.relations)
            if not isinstance(stratum.root, Fixpoint):
                many = f"it reads more than {MANY_READ:,} facts, or makes more than {FEW_HANDLED:,} rows of them"
                lines.append(f"{names}: {INTERPRETER}, or workers where {many}")
            elif reasons := planner.compiled(stratum, plan.statistics).obstacles:
                lines.append(f"{names}: {INTERPRETER}; {'; '.join(reasons)}")
            else:
                planned = planner.plan(stratum, plan.statistics)
                rows = sum(plan.statistics[name].rows for name in planned.inputs if name in plan.statistics)
                crew = crew_for(planned, planner.execution, int(rows))
                job = LocalJob(planned, planner.strata, planner.execution, crew.workers, crew.threads)
                why = "; ".join((planned.main.placement.why, *job.folded))
                how = how_it_runs(planned.main.placement, crew)
                lines.append(f"{names}: {how}; {why}")
                if (links := links_of_classes(stratum.root)) is not None:
                    lines.append(
                        f"{names}: where it is not small, union-find in this process, of the links of `{links}`"
                    )
        if any(isinstance(stratum.root, Fixpoint) for stratum in planner.strata):
            small = f"reads up to {FEW_READ:,} facts and derives up to {FEW_DERIVED:,}"
            lines.append(
                f"a recursion that {small} stays with {INTERPRETER}, up to {few_handled():,} rows handled, "
                f"or {FEW_HANDLED_LOADED:,} when it runs again"
            )
            if planner.execution.workers is None:
                lines.append(f"one that reads at least {FEW_APART:,} facts has a thread for each core")
        return tuple(lines)

    def inputs(self, checked: CheckedProgram, names: Sequence[str]) -> Inputs[LocalRelation]:
        found = {name: self._source(one := checked.relations[name]).relation(one) for name in names}
        return Inputs(found, any(relation.plain_times for relation in found.values()))

    def _source(self, relation: Relation) -> Source[LocalRelation]:
        return self._registered.get(relation.data_name) or NoRows(relation.name)

    def run(self, request: Request) -> Outputs[LocalRelation]:
        with timed(Part.READING):
            inputs = self.inputs(request.checked, request.inputs)
        recording: Recording[LocalRelation] = Recording()
        run_plan = partial(
            run,
            inputs=inputs.relations,
            limits=request.limits,
            execution=request.planner.execution,
            places=request.places,
            interpret_small=not request.execution.asks_for_workers,
            kept=self._kept,
            experience=self._experience,
        )
        found = run_plan(request.plan, listener=request.listener, recording=recording, planner=request.planner)
        outputs = {name: relation.with_times(plain=inputs.plain_times) for name, relation in found.items()}
        return LocalOutputs(request.checked, outputs, recording if request.execution.provenance else None, run_plan)

    def counted(self, request: Request) -> Counted:
        """Counts by the interpreter, which counts every node, or by the workers where much is read: they count
        steps."""
        inputs = self.inputs(request.checked, request.inputs).relations
        if sum(map(len, inputs.values())) > MANY_READ:
            heard = WorkerCounts()
            # Bits are not counted one by one, and rows are.
            execution = replace(request.execution, profile=True, representation="hash")
            planner = self.planner(request.plan, execution, without_data=False)
            self.run(replace(request, listener=heard, execution=execution, planner=planner))
            return Counted(request.plan, {}, heard.facts, tuple(heard.rounds), tuple(heard.steps))
        counts: Counter[int] = Counter()

        def saw(node: Plan, rows: int) -> None:
            counts[id(node)] += rows

        interpreter.run(request.plan, {name: one.facts for name, one in inputs.items()}, request.limits, saw)
        return Counted(request.plan, counts)

    def close(self) -> None:
        self._registered.clear()
        self._kept.clear()


class LocalOutputs(RunOutputs[LocalRelation, LocalRelation]):
    """Holds the relations of a run in this process."""

    def __init__(
        self,
        checked: CheckedProgram,
        relations: Mapping[str, LocalRelation],
        recording: Recording[LocalRelation] | None,
        run_plan: Callable[..., object],
    ) -> None:
        super().__init__(checked, relations, recording)
        self._run_plan = run_plan

    def _rerun(self, plan: LogicalPlan) -> Recording[LocalRelation]:
        recording: Recording[LocalRelation] = Recording()
        self._run_plan(plan, recording=recording)
        return recording

    def header(self, name: str) -> str:
        return self[name].header

    def at_hand(self, name: str) -> LocalRelation:
        return self[name]

    def _write(self, relations: Mapping[str, LocalRelation], folder: str | Path, format: str, *, header: bool) -> None:
        write_relations(relations, folder, format, header=header)

    def _dated(self, facts: LocalRelation, history: LocalRelation, case: RecursionCase) -> LocalRelation:
        names = [*facts.columns, free_name(ITERATION, facts.columns)]
        types = (*facts.types, INT)
        if any(type_.parts for type_ in facts.types):
            return LocalRelation(names, types, _one_by_one(facts, history, case), plain_times=facts.plain_times)
        # A group is a fact of both: unlike a join, that takes null for null.
        keys = [f"c{place}" for place in range(len(facts.types))]
        asked = facts.table.rename_columns(keys).append_column(ITERATION, pa.nulls(len(facts), pa.int64()))
        known = history.table.rename_columns([*keys, ITERATION])
        both = pa.concat_tables(
            [
                one.append_column("is_asked", pa.repeat(is_asked, one.num_rows))
                for one, is_asked in ((asked, True), (known.cast(asked.schema), False))
            ]
        )
        found = both.group_by(keys).aggregate([(ITERATION, "max" if is_latest(case) else "min"), ("is_asked", "any")])
        rows = found.filter(found.column("is_asked_any")).drop_columns(["is_asked_any"])
        rows = rows.select([*keys, next(name for name in rows.column_names if name not in keys)])
        return LocalRelation(names, types, rows, plain_times=facts.plain_times)

    def _history(self, relation: Relation, recorded: LocalRelation) -> LocalRelation:
        return recorded

    def _shelf(self, recorded: LocalRelation) -> Shelf:
        return shelf_of(recorded)

    def close(self) -> None:
        """There is nothing to give back."""
