"""All workers come to the same partitioning: one sees all arcs, and tells the others where everything belongs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from emberlog.workers.kernels.lanes import Lanes, joined
from emberlog.workers.plan.partition_choice import Kind
from emberlog.workers.plan.walks import Walk
from emberlog.workers.store.partitioning import Hashed, Partitioning, as_lanes, divided, from_lanes
from emberlog.workers.wire.exchange import Exchange
from emberlog.workers.wire.messages import Message


def arcs_of(walks: Sequence[Walk], relations: Mapping[str, Lanes]) -> Lanes:
    """The arcs that are walked, a row for each: where from, where to."""
    return joined([np.ascontiguousarray(relations[one.relation][[one.origin, one.target]]) for one in walks], 2)


def agreed(
    kind: Kind, walks: Sequence[Walk], shares: Mapping[str, Lanes], exchange: Exchange, workers: int
) -> Partitioning:
    """The partitioning for relations of which every worker has a share."""
    if kind is Kind.HASH or workers == 1:
        return Hashed(workers)
    mail = [Message() for _ in range(workers)]
    mail[0].batches[0] = arcs_of(walks, shares)
    received = exchange.swap(mail)
    mail = [Message() for _ in range(workers)]
    if exchange.number == 0:
        found = divided(kind, joined([message.batches[0] for message in received], 2), workers)
        for message in mail:
            message.batches[0] = as_lanes(found)
    return from_lanes(exchange.swap(mail)[0].batches[0], workers)
