"""What one job does: a recursion, the relations without recursion that it reads, and those that only fold its result.
What is in the middle can also be a join that Spark had better not do pair by pair (see `multiway`).

A huge result that somebody only counts is then never written out, and what the recursion reads need not come through
Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import assert_never

from emberlog.config import DEFAULT_EXECUTION, Execution
from emberlog.datatypes import DataType
from emberlog.diagnostics import fail
from emberlog.language.registry import BUILT_IN, Functions
from emberlog.logical.nodes import Aggregate, Definition, Fixpoint, Plan, PlannedStratum
from emberlog.logical.statistics import NO_STATISTICS, Statistics
from emberlog.logical.traverse import relations_read, walk
from emberlog.workers.kernels.tuning import COPIES_IN_MEMORY, COPY_SHARE, UNKNOWN_MEMORY
from emberlog.workers.plan.capabilities import Compiled, compile_stratum
from emberlog.workers.plan.compile import CyclicProgram
from emberlog.workers.plan.definition_plans import as_fixpoint
from emberlog.workers.plan.factored import DoesNotFactor, factor, relations_needed_whole
from emberlog.workers.plan.hot_keys import splittable
from emberlog.workers.plan.mode import Mode, needs_rounds
from emberlog.workers.plan.nulls import Columns, union_of
from emberlog.workers.plan.partition_choice import PartitionChoice, choose_partitioning
from emberlog.workers.plan.placement import NO_LIMIT, Copies, Placement, has_one_group, place
from emberlog.workers.plan.rules import Probe, Refute, columns_read
from emberlog.workers.plan.spread_copies import with_spread_copies


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
        made = {relation.name for stratum in self.strata for relation in stratum.program.relations} | self.copied.keys()
        read: dict[str, tuple[DataType, ...]] = {}
        for stratum in self.strata:
            read.update(stratum.program.static_types)
        return {name: types for name, types in read.items() if name not in made}

    @property
    def copied(self) -> dict[str, str]:
        """The copies of relations that are spread by further columns, and whose rows each has."""
        return {name: one for stratum in self.strata for name, one in stratum.program.copied.items()}

    @property
    def nullable(self) -> dict[str, frozenset[int]]:
        """By relation: the columns that may be null."""
        return union_of(one.program.nullable for one in self.strata)

    @property
    def splittable(self) -> frozenset[str]:
        """The relations that are fed whose hot keys may be on all workers."""
        seeds = [chain for one in self.strata for chain in one.program.seeds]
        rules = [chain for one in self.strata for chain in one.placement.rules]
        fed = self.inputs.keys() | {copy for copy, name in self.copied.items() if name in self.inputs}
        return splittable(self.spread, rules, seeds) & fed

    @property
    def has_texts(self) -> bool:
        """Tells whether there are columns whose values are codes."""
        types = [*self.inputs.values(), *self.outputs.values()]
        return any(type_.is_coded for one in types for type_ in one)

    @property
    def reads_letters(self) -> str | None:
        """Names a rule of the job that needs the letters of texts while it runs; None where codes are enough, so that
        each text can stay with one worker."""
        return next((name for one in self.strata if (name := one.program.reads_letters) is not None), None)

    def used_columns(self, relation: str) -> frozenset[int]:
        """The columns of a relation that is fed which some stratum reads, or which spread it or a copy of it."""
        used: set[int] = set()
        for name in (relation, *(copy for copy, one in self.copied.items() if one == relation)):
            column = self.spread[name]
            used |= {column} if column is not None else set()
            for one in self.partition_choice.walks:
                used |= {one.origin, one.target} if one.relation == name else set()
            for stratum in self.strata:
                for chain in (*stratum.program.seeds, *stratum.program.rules):
                    used |= columns_read(chain, name)
        return frozenset(used)

    @property
    def spread(self) -> dict[str, int | None]:
        """How each relation that some stratum reads is spread."""
        return {name: column for stratum in self.strata for name, column in stratum.placement.statics.items()}


class WorkerPlanner:
    """Compiles the strata of a plan for workers, each once, and plans what they compute together."""

    def __init__(
        self,
        strata: Sequence[PlannedStratum],
        outputs: Sequence[str],
        execution: Execution = DEFAULT_EXECUTION,
        *,
        functions: Functions = BUILT_IN,
        unique: Mapping[str, frozenset[int]] | None = None,
        computes_before: bool = True,
        without_data: bool = False,
        room_for_copies: int | None = None,
        shares_memory: bool = False,
    ) -> None:
        """`computes_before` says that relations without recursion which a recursion reads are not there yet, so that
        workers compute them beside it. `unique` has columns that no two facts of a relation agree in, which is known of
        what is not among the strata. `without_data`, a type may not be known yet; most data have plain ones.
        `room_for_copies` is how many bytes a relation may take on every worker; None where they share one memory, as
        `shares_memory` says of workers that are threads."""
        self._strata = {stratum.relations: stratum for stratum in strata}
        self._outputs = outputs
        self.execution = execution
        self._functions = functions
        self._computes_before = computes_before
        self._unique = dict(unique or {})
        self._without_data = without_data
        self._room_for_copies = room_for_copies
        self._shares_memory = shares_memory
        self._found_nulls: Columns = {}
        """By relation: the columns that are known to have nulls."""
        self._made_nulls: dict[str, frozenset[int]] = {}
        """By relation: the columns that may be null by its rules."""
        self._compiled: dict[tuple[str, ...], tuple[Definition | Fixpoint, Compiled]] = {}
        self._plans: dict[tuple[str, ...], tuple[CyclicProgram, WorkerPlan]] = {}
        self.elsewhere: dict[tuple[str, ...], str] = {}
        """By their relations: strata that were not computed as they are planned here, and how they were."""
        self.begun: dict[tuple[str, ...], str] = {}
        """Those that were, after another process had begun with them: what became of that."""

    @property
    def strata(self) -> list[PlannedStratum]:
        """The strata, as they are planned by now."""
        return list(self._strata.values())

    def tell_nulls(self, nullable: Columns) -> bool:
        """Takes note of columns of relations that have nulls; returns whether that is news, so that what was compiled
        before is forgotten."""
        known = union_of((self._found_nulls, nullable))
        if known == self._found_nulls:
            return False
        self._found_nulls = known
        self._compiled.clear()
        self._plans.clear()
        return True

    def compiled(self, stratum: PlannedStratum, statistics: Statistics = NO_STATISTICS) -> Compiled:
        """Returns what a stratum is for workers. It is compiled again only if its plan is another one by now."""
        root, found = self._compiled.get(stratum.relations, (None, None))
        if found is None or root is not stratum.root:
            self._strata[stratum.relations] = stratum
            found = self._compile(stratum, statistics)
            self._compiled[stratum.relations] = stratum.root, found
            if found.program is not None:
                self._unique.update(unique_columns(found.program))
                for relation in found.program.relations:
                    self._made_nulls[relation.name] = found.program.nullable.get(relation.name, frozenset())
        return found

    def _compile(self, stratum: PlannedStratum, statistics: Statistics) -> Compiled:
        match stratum.root:
            case Definition():
                fixpoint = as_fixpoint(stratum.root)
                if fixpoint is None:
                    return Compiled(None, ("it is neither a set nor one aggregation",))
            case Fixpoint():
                fixpoint = stratum.root
                for name in sorted(_read_by([stratum])) if self._computes_before else ():
                    self._definition(name, statistics)  # what it is grouped by is unique
            case _:
                assert_never(stratum.root)
        nullable = union_of((self._found_nulls, self._made_nulls))
        return compile_stratum(
            fixpoint, self._unique, statistics, self._functions, nullable, without_data=self._without_data
        )

    def _definition(self, name: str, statistics: Statistics) -> CyclicProgram | None:
        """Returns the program of a relation without recursion; None for any other, and for what workers cannot run."""
        stratum = self._strata.get((name,))
        if stratum is None or not isinstance(stratum.root, Definition):
            return None
        return self.compiled(stratum, statistics).program

    def plan(self, main: PlannedStratum, statistics: Statistics = NO_STATISTICS) -> WorkerPlan:
        """Plans one of the strata, most often a recursive one, for which there are no obstacles."""
        program = self.compiled(main, statistics).program
        assert program is not None
        compiled, known = self._plans.get(main.relations, (None, None))
        if known is None or compiled is not program:
            known = self._plan(main, program, statistics)
            self._plans[main.relations] = program, known
        return known

    def _plan(self, main: PlannedStratum, program: CyclicProgram, statistics: Statistics) -> WorkerPlan:
        definition = partial(self._definition, statistics=statistics)
        before = _before(program, definition) if self._computes_before else []
        later = self.strata[list(self._strata).index(main.relations) + 1 :]
        after = _after(later, definition, program, before, self._outputs)
        programs = [*before, program, *after]
        wanted = after or [program]
        types = {
            relation.name: tuple(column.type for column in relation.columns)
            for one in wanted
            for relation in one.relations
        }
        if not after:
            needed = _read_by(later) | set(self._outputs)
            types = {name: one for name, one in types.items() if name in needed}
        streamed = {relation.name for relation in program.relations} if after else set()
        placing = partial(_placements, streamed=streamed, execution=self.execution, shares_memory=self._shares_memory)
        copies = self._copies(programs, statistics)
        placements = placing(programs, copies=copies)
        if large := _too_large(placements, copies):
            spread, columns = with_spread_copies(programs, large)
            copies = self._copies(spread, statistics)
            instead = placing(spread, copies=copies, columns=columns)
            if len(_too_large(instead, copies)) < len(large):
                programs, placements = spread, instead
        place = len(before)
        before, program = programs[:place], programs[place]
        members = zip(programs, placements, strict=True)
        is_recursive = isinstance(main.root, Fixpoint)
        beside = {one.relations[0].name: one for one in before}
        return WorkerPlan(
            main.index,
            tuple(
                WorkerStratum(one, placement, one is program and is_recursive, one is program)
                for one, placement in members
            ),
            types,
            frozenset(streamed),
            choose_partitioning(program, placements[len(before)], self.execution, beside, statistics),
        )

    def _copies(self, programs: Iterable[CyclicProgram], statistics: Statistics) -> Copies:
        sizes = {
            name: int(8 * len(types) * statistics[one.copied.get(name, name)].rows) * COPIES_IN_MEMORY
            for one in programs
            for name, types in one.static_types.items()
            if one.copied.get(name, name) in statistics
        }
        return Copies(sizes, self._room_for_copies)


def room_for_copies(memory: int | None) -> int:
    """Returns how many bytes a relation may take on every worker, each of which has so much memory."""
    return int((UNKNOWN_MEMORY if memory is None else memory) * COPY_SHARE)


def unique_columns(program: CyclicProgram) -> dict[str, frozenset[int]]:
    """Returns, for each relation that is aggregated, the columns that it is grouped by: no two facts agree in them."""
    return {
        relation.name: frozenset(place for place, column in enumerate(relation.columns) if column.lane < relation.keys)
        for relation in program.relations
        if relation.combine
    }


def _before(program: CyclicProgram, definition: Callable[[str], CyclicProgram | None]) -> list[CyclicProgram]:
    """Lists what the program reads, directly or not, and workers can compute, in the order of evaluation. Spark has the
    faster functions of texts."""
    found: dict[str, CyclicProgram] = {}

    def visit(one: CyclicProgram) -> None:
        for name in one.statics:
            known = definition(name) if name not in found else None
            if known is not None and not known.looks_into_texts:
                visit(known)
                found[name] = known

    visit(program)
    return list(found.values())


def _after(
    later: Sequence[PlannedStratum],
    definition: Callable[[str], CyclicProgram | None],
    program: CyclicProgram,
    before: Sequence[CyclicProgram],
    outputs: Sequence[str],
) -> list[CyclicProgram]:
    """Lists the relations that fold the result of the recursion, if nobody else reads it."""
    members = {relation.name for relation in program.relations}
    if members.intersection(outputs):
        return []
    readers = [one for one in later if members & _read_by([one])]
    if not all(isinstance(one.root, Definition) and _is_aggregation(one.root.plan) for one in readers):
        return []
    available = {name for one in (program, *before) for name in one.statics}
    folds = []
    for reader in readers:
        fold = definition(reader.relations[0])
        if fold is None or not fold.relations[0].combine or not _can_fold(fold, members, available):
            return []
        folds.append(fold)
    return folds


def _looked_up(program: CyclicProgram) -> set[str]:
    steps = [step for chain in (*program.seeds, *program.rules) for step in chain.steps]
    return {
        step.atom.relation if isinstance(step, Probe) else step.relation
        for step in steps
        if isinstance(step, Probe | Refute)
    }


def _is_aggregation(plan: Plan) -> bool:
    return any(isinstance(node, Aggregate) for node in walk(plan))


def _can_fold(fold: CyclicProgram, members: set[str], available: set[str]) -> bool:
    """Tells whether a relation can be computed from the facts of a recursion as they come, with what is there."""
    return not _looked_up(fold) & members and set(fold.statics) - members <= available


def _read_by(strata: Iterable[PlannedStratum]) -> set[str]:
    return {name for one in strata for name in relations_read(one.root)}


def _placements(
    programs: Sequence[CyclicProgram],
    streamed: set[str],
    execution: Execution,
    copies: Copies,
    columns: Mapping[str, int] = MappingProxyType({}),
    *,
    shares_memory: bool,
) -> list[Placement]:
    """Placements that agree how each relation is spread; where strata want different things, it is everywhere.
    `columns` say how some should be spread if that is possible."""
    preferred: dict[str, int | None] = dict(columns)
    for program in programs:
        wanted = wanted_whole(program, execution)
        if execution.representation != "auto" or not copies.too_large(wanted):
            preferred.update(wanted)
        if shares_memory:  # each reads a part of it, and none needs a copy of that
            preferred.update(dict.fromkeys(program.static_types.keys() - _looked_up(program)))
    order = sorted(programs, key=lambda one: not one.rules)  # what the rounds want counts most
    while True:
        chosen: dict[str, int | None] = dict(preferred)
        found: dict[int, Placement] = {}
        everywhere: set[str] = set()
        for program in order:
            placement = place_as_asked(program, execution, chosen, copies, shares_memory=shares_memory)
            found[id(program)] = placement
            for name, column in placement.statics.items():
                if name not in streamed and chosen.setdefault(name, column) != column:
                    everywhere.add(name)
        if not everywhere:
            return [_with_streams(found[id(program)], streamed) for program in programs]
        preferred.update(dict.fromkeys(everywhere, None))


def place_as_asked(
    program: CyclicProgram,
    execution: Execution,
    preferred: Mapping[str, int | None],
    copies: Copies = NO_LIMIT,
    *,
    shares_memory: bool = False,
) -> Placement:
    """The placement of one stratum, as far as the execution leaves a choice; an error if it asks for the impossible."""
    even_alone = execution.mode == "decomposed" or execution.representation in ("marks", "lanes")
    mode = None if execution.mode == "auto" else Mode(execution.mode)
    if mode is Mode.ASYNC and program.rules and (reason := needs_rounds(program)) is not None:
        names = ", ".join(relation.name for relation in program.relations)
        raise fail("DL334", f"{names} cannot be computed without rounds: {reason}")
    placement = place(
        program, mode=mode, even_alone=even_alone, preferred=preferred, copies=copies, shares_memory=shares_memory
    )
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


def _too_large(placements: Iterable[Placement], copies: Copies) -> set[str]:
    """Returns the relations that are whole on every worker, although they are too large for that."""
    return {name for one in placements for name in copies.too_large(one.statics)}


def _with_streams(placement: Placement, streamed: set[str]) -> Placement:
    """A relation that is streamed stays where it arose, whatever column that is."""
    spread = {name: 0 if name in streamed else column for name, column in placement.statics.items()}
    return replace(placement, statics=spread)
