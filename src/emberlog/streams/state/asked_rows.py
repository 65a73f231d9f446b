"""Rows that the queries of a relation ask for, and how two batches of rows differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from emberlog.diagnostics import InternalError
from emberlog.semantics.model import CheckedQuery
from emberlog.syntax.ast import Constant, Parameter
from emberlog.workers.fixpoint.evaluate import Evaluator
from emberlog.workers.kernels.lanes import Lane, Lanes, Mask
from emberlog.workers.kernels.tables import find_all, refill, table_for


def asked_rows(queries: Sequence[CheckedQuery], lanes: Lanes, codes: Mapping[str, int]) -> Lanes:
    """Without queries, everything is asked for."""
    if not queries:
        return lanes
    asked = np.zeros(lanes.shape[1], np.bool_)
    for query in queries:
        asked |= _agrees(query, lanes, codes)
    return lanes if asked.all() else lanes[:, asked]


def _agrees(query: CheckedQuery, lanes: Lanes, codes: Mapping[str, int]) -> Mask:
    agrees = np.ones(lanes.shape[1], np.bool_)
    bound: dict[str, Lane] = {}
    for term, lane in zip(query.terms, lanes, strict=True):
        if isinstance(term, Parameter):
            raise InternalError(f"DL902: the parameter ${term.name} has no value")
        if isinstance(term, Constant):
            agrees &= lane == Evaluator(query.relation, {}, codes).constant(term)
        elif term.name in bound:
            agrees &= lane == bound[term.name]
        else:
            bound[term.name] = lane
    return agrees


def difference(now: Lanes, before: Lanes) -> tuple[Lanes, Lanes]:
    """The rows of the first batch that the second one does not have, and the other way round; in each all rows are
    different."""
    if not now.shape[1] or not before.shape[1]:
        return now, before
    now = np.ascontiguousarray(now)
    table = table_for(now.shape[1])
    refill(table, now, now.shape[0], now.shape[1])
    found = find_all(table, now, now.shape[0], np.ascontiguousarray(before))
    is_added = np.ones(now.shape[1], np.bool_)
    is_added[found[found >= 0]] = False
    return now[:, is_added], before[:, found < 0]
