"""How the values of a recursion are divided among its workers, and why: what was asked for, or what suits its mode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from emberlog.config import Execution
from emberlog.diagnostics import fail
from emberlog.workers.plan.compile import CyclicProgram
from emberlog.workers.plan.mode import Mode
from emberlog.workers.plan.placement import Placement
from emberlog.workers.plan.walks import Walk, walks_of


class Kind(Enum):
    HASH = "hash"
    RANGE = "range"
    LOCALITY = "locality"


@dataclass(frozen=True, slots=True)
class PartitionChoice:
    kind: Kind
    walks: tuple[Walk, ...]
    """The arcs that it is computed from; none for hashes."""
    why: str


def choose_partitioning(
    program: CyclicProgram,
    placement: Placement,
    execution: Execution,
    definitions: Mapping[str, CyclicProgram] | None = None,
) -> PartitionChoice:
    """`definitions` are the relations that the job computes before the recursion. An error if execution asks for the
    impossible."""
    if not program.rules:
        return PartitionChoice(Kind.HASH, (), "there is no recursion")  # whatever is asked for is meant for one
    walks = walks_of(program, placement, definitions)
    asked_for = None if execution.partitioning == "auto" else Kind(execution.partitioning)
    if asked_for in (Kind.RANGE, Kind.LOCALITY):
        if placement.mode is Mode.DECOMPOSED:
            raise fail(
                "DL335", f"values cannot be placed by {asked_for.value}: nothing is exchanged in mode decomposed"
            )
        if not walks:
            raise fail("DL335", f"values cannot be placed by {asked_for.value}: the rules walk no arcs of a relation")
        return PartitionChoice(asked_for, walks, "asked for")
    if asked_for is Kind.HASH:
        return PartitionChoice(Kind.HASH, (), "asked for")
    if placement.mode is Mode.ASYNC and walks:
        return PartitionChoice(
            Kind.LOCALITY, walks, "what is linked together is derived together, without any exchange"
        )
    if placement.mode is Mode.ASYNC:
        return PartitionChoice(Kind.HASH, (), "the rules walk no arcs of a relation")
    if placement.mode is Mode.DECOMPOSED:
        return PartitionChoice(Kind.HASH, (), "nothing is exchanged")
    return PartitionChoice(Kind.HASH, (), "in rounds every worker waits for all others, wherever values are")
