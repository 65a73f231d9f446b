"""Saves the relations of a worker as pieces of a checkpoint, and restores them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from emberlog.workers.kernels.lanes import Lanes, joined
from emberlog.workers.recover.checkpoints import SavedState, StateToSave
from emberlog.workers.store.relations import WorkerRelation
from emberlog.workers.store.stores import KeyedStore, SetStore, Store, ample_rows

IsMine: TypeAlias = Callable[[Lanes], Any]
"""Says which rows a worker owns, as numpy selects them."""

_FACTS, _DELTA, _DELTA_END, _LARGEST = "facts", "delta", "delta end", "largest"


def save_relation(state: StateToSave, name: str, relation: WorkerRelation, *, is_new: bool = False) -> None:
    """Saves a relation between two rounds. `is_new` where it is not the one that was saved under this name before."""
    _save_store(state, f"{name}.{_FACTS}", relation.store, is_new=is_new)
    if relation.largest is not None:
        _save_store(state, f"{name}.{_LARGEST}", relation.largest, is_new=is_new)


def restore_relation(state: SavedState, name: str, relation: WorkerRelation) -> None:
    """Fills an empty relation."""
    _restore_store(state, f"{name}.{_FACTS}", relation.store)
    if relation.largest is not None:
        _restore_store(state, f"{name}.{_LARGEST}", relation.largest)


def restore_rest(state: SavedState, name: str, relation: WorkerRelation, first: int) -> None:
    """Fills an empty relation of a recursion that is over with its rows from this one on."""
    rows = state.lanes(f"{name}.{_FACTS}", skip=first)
    match relation.store:
        case SetStore() as store:
            store.take_over(rows, rows.shape[1])
            store.delta_begin = store.delta_end = store.count
        case KeyedStore() as store:
            store.take_over(rows)
            store.delta_rows = np.empty(0, np.int64)
        case store:
            raise _unknown(store)


def move_relation(states: Sequence[SavedState], name: str, relation: WorkerRelation, is_mine: IsMine) -> None:
    """Fills an empty relation with the rows that are this worker's, from the checkpoints of more or fewer workers, as
    they were when the last round of each began."""
    piece = f"{name}.{_FACTS}"
    known: list[Lanes] = []
    new: list[Lanes] = []
    for state in states:
        rows = state.lanes(piece)
        is_new = np.zeros(rows.shape[1], np.bool_)
        match relation.store:
            case SetStore():
                rows = rows[:, : state.number(f"{piece}.{_DELTA_END}")]
                is_new = np.arange(rows.shape[1]) >= state.number(f"{piece}.{_DELTA}")
            case KeyedStore():
                is_new[state.lanes(f"{piece}.{_DELTA}")[0]] = True
            case store:
                raise _unknown(store)
        mine = is_mine(rows)
        known.append(rows[:, mine & ~is_new])
        new.append(rows[:, mine & is_new])
    rows = joined([*known, *new], relation.layout.width)
    first = sum(part.shape[1] for part in known)
    match relation.store:
        case SetStore() as store:
            store.take_over(rows, rows.shape[1])
            store.delta_begin, store.delta_end = first, store.count
        case KeyedStore() as store:
            store.take_over(rows)
            store.delta_rows = np.arange(first, rows.shape[1])
        case store:
            raise _unknown(store)


def refill_relation(
    state: SavedState, name: str, relation: WorkerRelation, is_mine: IsMine = lambda rows: slice(None)
) -> None:
    """Contributes all that was known: it is new once more, and joins what is there already."""
    if relation.largest is not None:
        # The last lane says how much of the largest value is counted: here nothing is.
        relation.add(state.lanes(f"{name}.{_LARGEST}")[:-1])
    else:
        rows = state.lanes(f"{name}.{_FACTS}")
        relation.store.add(np.ascontiguousarray(rows[:, is_mine(rows)]))


def _save_store(state: StateToSave, name: str, store: Store, *, is_new: bool) -> None:
    match store:
        case SetStore():
            (state.whole if is_new else state.grown)(name, store.all)
            state.number(f"{name}.{_DELTA}", store.delta_begin)
            state.number(f"{name}.{_DELTA_END}", store.delta_end)
        case KeyedStore():
            mark = state.marks.get(name)
            if mark is None or is_new or not store.tracks:
                state.whole(name, store.all)
            else:
                state.patched(name, store.all, np.flatnonzero(store.stamps[: store.count] >= mark))
            # Rows that change from now on are stamped with the number of this round, or a later one.
            state.marks[name] = store.round
            state.whole(f"{name}.{_DELTA}", store.delta_rows[None])
        case _:
            raise _unknown(store)


def _restore_store(state: SavedState, name: str, store: Store) -> None:
    # Rows come in the order in which they were, so they have the numbers that they had.
    match store:
        case SetStore():
            count = state.rows(name)
            # Room for more: otherwise the next row has all of them copied.
            room = ample_rows(store.width, count, count + 1) - count
            store.take_over(state.lanes(name, room), count)
            store.delta_begin = state.number(f"{name}.{_DELTA}")
            store.delta_end = state.number(f"{name}.{_DELTA_END}")
        case KeyedStore():
            store.take_over(state.lanes(name))
            store.delta_rows = state.lanes(f"{name}.{_DELTA}")[0]
        case _:
            raise _unknown(store)


def _unknown(store: Store) -> AssertionError:
    return AssertionError(f"DL901: there are no checkpoints of a {type(store).__name__}")
