"""What one job does: a recursion, the relations without recursion that it reads, and those that only fold its result.
What is in the middle can also be a join that Spark had better not do pair by pair (see `multiway`).

A huge result that somebody only counts is then never written out, and what the recursion reads need not come through
Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from emberlog.config import DEFAULT_EXECUTION, Execution
from emberlog.datatypes import DataType
from emberlog.diagnostics import fail
from emberlog.logical.nodes import Definition, Fixpoint, PlannedStratum
from emberlog.logical.statistics import NO_STATISTICS, Statistics
from emberlog.logical.traverse import plans_of, scans
from emberlog.workers.plan.capabilities import obstacles
from emberlog.workers.plan.compile import CyclicProgram, compile_fixpoint
from emberlog.workers.plan.definition_plans import as_fixpoint
from emberlog.workers.plan.factored import DoesNotFactor, factor, relations_needed_whole
from emberlog.workers.plan.mode import Mode, needs_rounds
from emberlog.workers.plan.partition_choice import PartitionChoice, choose_partitioning
from emberlog.workers.plan.placement import Placement, has_one_group, place
from emberlog.workers.plan.rules import Probe, Refute, columns_read


@dataclass(frozen=True, slots=True)
class WorkerStratum:
    program: CyclicProgram
    placement: Placement
    is_recursive: bool
    is_main: bool
    """Whether it is what the job is for."""


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    index: int
    """Of the main stratum in the plan."""
    strata: tuple[WorkerStratum, ...]
    outputs: Mapping[str, tuple[DataType, ...]]
    """What is handed out: the relations of the main stratum, or those that fold them."""
    streamed: frozenset[str]
    """Relations that later strata of the job only read from beginning to end."""
    partition_choice: PartitionChoice

    @property
    def main(self) -> WorkerStratum:
        return next(stratum for stratum in self.strata if stratum.is_main)

    @property
    def inputs(self) -> dict[str, tuple[DataType, ...]]:
        """What has to be fed."""
        made = {relation.name for stratum in self.strata for relation in stratum.program.relations}
        read: dict[str, tuple[DataType, ...]] = {}
        for stratum in self.strata:
            read.update(stratum.program.static_types)
        return {name: types for name, types in read.items() if name not in made}

    def used_columns(self, relation: str) -> frozenset[int]:
        """The columns of a relation that is fed which some stratum reads, or which spread it."""
        column = self.spread[relation]
        used = {column} if column is not None else set()
        for walk in self.partition_choice.walks:
            used |= {walk.origin, walk.target} if walk.relation == relation else set()
        for stratum in self.strata:
            for chain in (*stratum.program.seeds, *stratum.program.rules):
                used |= columns_read(chain, relation)
        return frozenset(used)

    @property
    def spread(self) -> dict[str, int | None]:
        """How each relation that some stratum reads is spread."""
        return {name: column for stratum in self.strata for name, column in stratum.placement.statics.items()}


def plan_workers(
    strata: Sequence[PlannedStratum],
    main: PlannedStratum,
    outputs: Sequence[str],
    execution: Execution = DEFAULT_EXECUTION,
    statistics: Statistics = NO_STATISTICS,
) -> WorkerPlan:
    """The job for one of the strata, most often a recursive one; it has no obstacles."""
    position = next(place for place, one in enumerate(strata) if one.relations == main.relations)
    root = main.root if isinstance(main.root, Fixpoint) else as_fixpoint(main.root)
    assert root is not None
    known = dict(_definitions(strata, statistics))
    unique = {name: key for name, one in known.items() if (key := _key_of(one)) is not None}
    program = compile_fixpoint(root, unique, statistics)
    before = _before(program, known)
    after = _after(strata, position, known, program, outputs)
    programs = [*before, program, *after]
    wanted = after or [program]
    types = {
        relation.name: tuple(column.type for column in relation.columns) for one in wanted for relation in one.relations
    }
    if not after:
        needed = _read_elsewhere(strata[position + 1 :]) | set(outputs)
        types = {name: one for name, one in types.items() if name in needed}
    streamed = {relation.name for relation in program.relations} if after else set()
    placements = _placements(programs, streamed, execution)
    members = zip(programs, placements, strict=True)
    is_recursive = isinstance(main.root, Fixpoint)
    return WorkerPlan(
        main.index,
        tuple(
            WorkerStratum(one, placement, one is program and is_recursive, one is program) for one, placement in members
        ),
        types,
        frozenset(streamed),
        choose_partitioning(
            program, placements[len(before)], execution, {one.relations[0].name: one for one in before}
        ),
    )


def _definitions(strata: Sequence[PlannedStratum], statistics: Statistics) -> Iterator[tuple[str, CyclicProgram]]:
    """The relations without recursion that workers can compute."""
    for stratum in strata:
        if isinstance(stratum.root, Definition):
            fixpoint = as_fixpoint(stratum.root)
            if fixpoint is not None and not obstacles(fixpoint):
                yield stratum.root.relation, compile_fixpoint(fixpoint, None, statistics)


def _key_of(program: CyclicProgram) -> frozenset[int] | None:
    """The columns that no two rows agree in: those that an aggregate is grouped by."""
    (relation,) = program.relations
    keys = frozenset(place for place, column in enumerate(relation.columns) if column.lane < relation.keys)
    return keys if relation.combine else None


def _before(program: CyclicProgram, known: Mapping[str, CyclicProgram]) -> list[CyclicProgram]:
    """What the program reads, directly or not, and workers can compute; in the order of evaluation."""
    found: dict[str, CyclicProgram] = {}

    def visit(one: CyclicProgram) -> None:
        for name in one.statics:
            if name in known and name not in found:
                visit(known[name])
                found[name] = known[name]

    visit(program)
    return list(found.values())


def _after(
    strata: Sequence[PlannedStratum],
    position: int,
    known: Mapping[str, CyclicProgram],
    program: CyclicProgram,
    outputs: Sequence[str],
) -> list[CyclicProgram]:
    """The relations that fold the result of the recursion, if nobody else reads it."""
    members = {relation.name for relation in program.relations}
    if members.intersection(outputs):
        return []
    readers = [one for one in strata[position + 1 :] if members & _read_elsewhere([one])]
    folds = []
    for reader in readers:
        fold = known.get(reader.relations[0]) if isinstance(reader.root, Definition) else None
        if fold is None or not fold.relations[0].combine or not _can_fold(fold, members, program, known):
            return []
        folds.append(fold)
    return folds


def _can_fold(
    fold: CyclicProgram, members: set[str], program: CyclicProgram, known: Mapping[str, CyclicProgram]
) -> bool:
    looked_up = {
        step.atom.relation if isinstance(step, Probe) else step.relation
        for chain in fold.seeds
        for step in chain.steps
        if isinstance(step, Probe | Refute)
    }
    others = set(fold.statics) - members
    available = set(program.statics) | {name for one in _before(program, known) for name in one.statics}
    return not looked_up & members and others <= available


def _read_elsewhere(strata: Sequence[PlannedStratum]) -> set[str]:
    return {scan.relation for one in strata for plan in plans_of(one.root) for scan in scans(plan)}


def _placements(programs: Sequence[CyclicProgram], streamed: set[str], execution: Execution) -> list[Placement]:
    """Placements that agree how each relation is spread; where strata want different things, it is everywhere."""
    preferred: dict[str, int | None] = {}
    for program in programs:
        preferred.update(wanted_whole(program, execution))
    order = sorted(programs, key=lambda one: not one.rules)  # what the rounds want counts most
    while True:
        chosen: dict[str, int | None] = dict(preferred)
        found: dict[int, Placement] = {}
        everywhere: set[str] = set()
        for program in order:
            placement = place_as_asked(program, execution, chosen)
            found[id(program)] = placement
            for name, column in placement.statics.items():
                if name not in streamed and chosen.setdefault(name, column) != column:
                    everywhere.add(name)
        if not everywhere:
            return [_with_streams(found[id(program)], streamed) for program in programs]
        preferred.update(dict.fromkeys(everywhere, None))


def place_as_asked(program: CyclicProgram, execution: Execution, preferred: Mapping[str, int | None]) -> Placement:
    """The placement of one stratum, as far as the execution leaves a choice; an error if it asks for the impossible."""
    even_alone = execution.mode == "decomposed" or execution.representation in ("marks", "lanes")
    mode = None if execution.mode == "auto" else Mode(execution.mode)
    if mode is Mode.ASYNC and program.rules and (reason := needs_rounds(program)) is not None:
        names = ", ".join(relation.name for relation in program.relations)
        raise fail("DL334", f"{names} cannot be computed without rounds: {reason}")
    placement = place(program, mode=mode, even_alone=even_alone, preferred=preferred)
    if execution.mode == "decomposed" and program.rules and not placement.is_decomposed:
        raise fail("DL332", f"this recursion cannot be decomposed: {placement.why}")
    if program.rules and (obstacle := _obstacle_to_bits(program, placement, execution)) is not None:
        names = ", ".join(relation.name for relation in program.relations)
        raise fail("DL337", f"the facts of {names} cannot be kept as `{execution.representation}`: {obstacle}")
    return placement


def _obstacle_to_bits(program: CyclicProgram, placement: Placement, execution: Execution) -> str | None:
    """Says why facts cannot be kept as the execution asks for; None if they can, or if it leaves the choice."""
    if execution.representation in ("auto", "hash"):
        return None
    try:
        factored = factor(program)
    except DoesNotFactor as problem:
        return str(problem)
    if execution.representation == "rows":
        return None
    if not factored.is_one_sided:
        return "no column is handed through every recursive rule"
    if not placement.is_decomposed and execution.workers != 1:
        return "workers would have to exchange what they find"
    return None


def wanted_whole(program: CyclicProgram, execution: Execution) -> dict[str, int | None]:
    """The relations that every worker needs whole if facts may be kept as marks or bits. That does not pay for a single
    source: rounds share its work among the workers."""
    if execution.representation == "hash" or execution.mode == "async":
        return {}
    if execution.representation == "auto" and has_one_group(program):
        return {}
    return dict.fromkeys(relations_needed_whole(program))


def _with_streams(placement: Placement, streamed: set[str]) -> Placement:
    """A relation that is streamed stays where it arose, whatever column that is."""
    spread = {name: 0 if name in streamed else column for name, column in placement.statics.items()}
    return replace(placement, statics=spread)
