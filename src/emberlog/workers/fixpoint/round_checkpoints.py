"""Saves what a worker in rounds knows, between rounds, within long ones and while results are written; restores it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

import numpy as np

from emberlog.workers.fixpoint.worker import WorkerTask
from emberlog.workers.kernels.lanes import Lane, Lanes
from emberlog.workers.plan.static_placement import NO_HOME
from emberlog.workers.recover.checkpoints import SavedState, StateToSave
from emberlog.workers.recover.store_states import IsMine, move_relation, restore_relation, restore_rest, save_relation
from emberlog.workers.store.partitioning import Hashed
from emberlog.workers.store.relations import WorkerRelation
from emberlog.workers.store.stores import SetStore, Store

_TOLD, _RULE, _ROW = "rounds", "rule", "row"


class RoundPosition:
    """Records how far a worker has come within a round, so that a checkpoint can resume there. Rules read the delta one
    after the other, in batches; whoever asks for the next one is through with the last."""

    def __init__(self, rule: int = 0, row: int = 0) -> None:
        self.rule = rule
        """The one under way."""
        self.row = row
        """Of the delta that it reads: the first that it is not through with."""
        self._begun = -1

    def begin_rule(self) -> int | None:
        """Returns the row with which the next rule begins; None if it was through with all of them before."""
        self._begun += 1
        if self._begun < self.rule:
            return None
        if self._begun > self.rule:
            self.rule, self.row = self._begun, 0
        return self.row

    def counted(self, batches: Iterator[list[Lane]]) -> Iterator[list[Lane]]:
        for batch in batches:
            yield batch
            self.row += len(batch[0])

    def save(self, state: StateToSave) -> None:
        state.number(_RULE, self.rule)
        state.number(_ROW, self.row)

    @staticmethod
    def saved(state: SavedState) -> RoundPosition:
        return RoundPosition(state.number(_RULE), state.number(_ROW))


class RoundCheckpoints:
    def __init__(
        self,
        task: WorkerTask,
        relations: Callable[[], Iterator[tuple[str, WorkerRelation]]],
        outgoing: dict[str, Store],
        *,
        is_alone: bool,
        can_cut_rounds: bool,
    ) -> None:
        self._task = task
        self._relations = relations
        self._outgoing = outgoing
        self.is_alone = is_alone
        self.can_cut_rounds = can_cut_rounds
        """Whether a checkpoint in the middle of a round can be resumed from."""
        self.is_off = False
        """Whether relations are on disk only for this attempt, so that there is nothing to save."""
        self.iteration = 0
        """The last one that is over."""
        self.position = RoundPosition()
        """In the round after it."""
        self.swaps = 0
        """How often workers sent each other a portion of it."""
        self.told: list[tuple[int, int]] = []
        """Of each round, how many facts changed and how many there were."""
        self.drained: dict[str, int] = {}
        """Of a recursion that is over: how many rows of its relations an earlier attempt has written; or this one, at
        the last checkpoint."""
        self.drained_to: dict[str, int] = {}
        """The files of an earlier attempt, and how many bytes each has."""
        self._round_began = 0.0

    def begin_round(self) -> None:
        self.position, self.swaps, self._round_began = RoundPosition(), 0, time.monotonic()

    def is_due(self, iteration: int) -> bool:
        if self._task.checkpoints is None or self.is_off:
            return False  # this is asked in every round, and a round can be short
        is_spilled = any(relation.is_spilled for _, relation in self._relations())
        return not is_spilled and self._task.is_checkpoint_due(iteration, self._rows_to_save)

    @property
    def _rows_to_save(self) -> int | None:
        """Returns the number of rows, if rows only come."""
        stores = [*(relation.store for _, relation in self._relations()), *self._outgoing.values()]
        return sum(store.count for store in stores) if all(isinstance(store, SetStore) for store in stores) else None

    def save(self, iteration: int, *, is_agreed: bool = True) -> None:
        with self._saving(iteration, is_agreed=is_agreed) as state:
            self._save_state(state, iteration)

    def save_within_round(self) -> None:
        """Saves the state if it is time, and the round is one that can be cut. Workers in step each have a position of
        their own in it, but only in a long one: in short ones they would never save the same."""
        checkpoints = self._task.checkpoints
        # Of a round that was sent in part, only what all have after the same portion is saved.
        if checkpoints is None or not self.can_cut_rounds or self.swaps or not self.is_due(self.iteration):
            return
        if self.is_alone or checkpoints.is_long(time.monotonic() - self._round_began):
            self.save(self.iteration, is_agreed=self.is_alone)

    def save_drained(self, rows: Mapping[str, int], files: Mapping[str, int]) -> None:
        """Saves that the first rows of relations are in these files. What a relation has no longer changes."""
        with self._saving(self.iteration, is_agreed=self.is_alone) as state:
            if self.drained:
                state.unchanged()
            else:
                self._save_state(state, self.iteration)
            for name, count in rows.items():
                state.number(_drained(name), count)
            state.results(files)
        self.drained = dict(rows)

    def _saving(self, iteration: int, *, is_agreed: bool) -> AbstractContextManager[StateToSave]:
        assert self._task.checkpoints is not None
        return self._task.checkpoints.saving(
            iteration,
            self.swaps,
            is_alone=self.is_alone,
            is_agreed=is_agreed,
            rows=self._rows_to_save,
            can_move=self._can_move,
        )

    @property
    def _can_move(self) -> bool:
        """Tells whether the rows are all there is to it. Any number of workers agrees on who owns them before it asks
        for them."""
        return not self._task.placement.copies and all(one.largest is None for _, one in self._relations())

    def is_mine(self, name: str, relation: WorkerRelation) -> IsMine:
        """Returns which rows of a relation this worker owns."""
        task, home = self._task, self._task.placement.homes[name]
        partitioning = task.partitioning or Hashed(task.workers)
        if home == NO_HOME:
            return lambda rows: partitioning.owners(np.zeros(rows.shape[1], np.int64)) == task.number
        lane = relation.layout.columns[home].lane
        return lambda rows: partitioning.owners(rows[lane]) == task.number

    def _save_state(self, state: StateToSave, iteration: int) -> None:
        state.grown(_TOLD, np.array(self.told, np.int64).reshape(-1, 2).T)
        self.position.save(state)
        for name, relation in self._relations():
            save_relation(state, name, relation)
        for name, store in self._outgoing.items():
            state.grown(_leaving(name, iteration), store.all)

    def restore_moved(self, states: Sequence[SavedState], relations: Mapping[str, WorkerRelation]) -> int:
        """Fills the relations from the checkpoints of more or fewer workers; returns the number of rows of the delta.
        Each begins its round anew, and what they had for each other is derived again."""
        told = [state.lanes(_TOLD).T for state in states]
        if all(state.is_alone for state in states):
            # Each tells of its own facts only, and some are ahead of others; the first one tells of all that were.
            rounds = min(map(len, told)) if self._task.number == 0 else 0
            told = [sum((_first_rounds(one, rounds) for one in told), np.zeros((rounds, 2), np.int64))]
        self.told = [(changed, total) for changed, total in told[0].tolist()]
        for name, relation in relations.items():
            move_relation(states, name, relation, self.is_mine(name, relation))
        self._round_began = time.monotonic()
        return sum(relation.store.delta.shape[1] for relation in relations.values())

    def restore(self, saved: SavedState, relations: Mapping[str, WorkerRelation]) -> int:
        """Fills the relations of the recursion, and their copies; returns the number of rows of the delta."""
        self.told = [(changed, total) for changed, total in saved.lanes(_TOLD).T.tolist()]
        drained = {name: saved.number_or_zero(_drained(name)) for name in relations}
        if any(drained.values()):
            self.drained, self.drained_to = drained, saved.results
            for name, relation in relations.items():
                restore_rest(saved, name, relation, drained[name])
            return 0
        for name, relation in self._relations():
            restore_relation(saved, name, relation)
        self.position, self.swaps, self._round_began = RoundPosition.saved(saved), saved.swaps, time.monotonic()
        for name in relations:
            if saved.has(_leaving(name, saved.iteration)):
                lanes = saved.lanes(_leaving(name, saved.iteration))
                self._outgoing[name] = store = SetStore(len(lanes))
                store.take_over(lanes, lanes.shape[1])
        return sum(relation.store.delta.shape[1] for relation in relations.values())


def _first_rounds(told: Lanes, rounds: int) -> Lanes:
    """Returns what is told of the first rounds, with what came later in the last of them."""
    first = told[:rounds].copy()
    if rounds:
        first[-1] = told[rounds - 1 :, 0].sum(), told[-1, 1]
    return first


def _drained(relation: str) -> str:
    """Returns the name of the number of rows that are written."""
    return f"{relation} drained"


def _leaving(relation: str, iteration: int) -> str:
    """Returns the name of what waits for the end of a round."""
    return f"{relation} leaving {iteration}"
