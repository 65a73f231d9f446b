"""Chooses how a recursive stratum is evaluated, and runs it under the settings that its rounds need."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from emberlog.engines.runner import Outcome
from emberlog.engines.spark.frames.environment import Environment, RelationResult, Session
from emberlog.engines.spark.frames.partitions import Partitions
from emberlog.engines.spark.frames.resources import Kept
from emberlog.engines.spark.frames.rounds import WholeRounds, full_plans
from emberlog.engines.spark.frames.semi_naive import SemiNaive, delta_plans, has_delta_plans
from emberlog.engines.spark.frames.settings import recursion_settings
from emberlog.engines.spark.frames.stages import Staged, stage_ranks, staged_plans
from emberlog.logical.nodes import Fixpoint
from emberlog.optimize.derive_delta_rules import INCREMENTAL
from emberlog.semantics.model import RecursionCase
from emberlog.workers.fixpoint.profile import Profile


def run_fixpoint(session: Session, fixpoint: Fixpoint, known: Mapping[str, Kept] | None = None) -> Outcome[DataFrame]:
    """Computes the relations of a recursive stratum. `known` contributions are some that the rules give anyway: of a
    recursion that only grows or improves, so that it may begin with them."""
    found, profile = _results(session, fixpoint, known or {})
    return Outcome(
        {name: one.frame for name, one in found.items()},
        {name: one.rows for name, one in found.items()},
        session.watch.iteration,
        {name: one.history for name, one in found.items() if one.history is not None},
        tuple(kept for one in found.values() for kept in one.kept),
        profile=profile,
    )


def _results(
    session: Session, fixpoint: Fixpoint, known: Mapping[str, Kept]
) -> tuple[dict[str, RelationResult], Profile | None]:
    is_incremental = fixpoint.recursion.case in INCREMENTAL and has_delta_plans(fixpoint)
    environment = Environment(session, fixpoint, delta_plans(fixpoint) if is_incremental else full_plans(fixpoint))
    environment.prepare(known)
    with recursion_settings(session.spark) as most_partitions:
        environment.begin(Partitions(session.spark, most_partitions))
        # A count of nothing is a fact that no change brings about.
        if is_incremental and not any(one.has_value_of_nothing for one in environment.contributions.values()):
            return SemiNaive(environment).run(), environment.counts.profile
        ranks = stage_ranks(fixpoint) if fixpoint.recursion.case is RecursionCase.STAGED else None
        if ranks is not None:
            staged = Staged(environment, ranks, staged_plans(fixpoint))
            if staged.begin():
                return staged.run(), environment.counts.profile
        return WholeRounds(environment).run(), environment.counts.profile
