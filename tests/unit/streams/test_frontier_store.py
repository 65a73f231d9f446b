"""Rows that expire: which ones are kept, which are seen, and what is left of a store when they are gone."""

from __future__ import annotations

import numpy as np

from emberlog.streams.plan.expiring_program import NOT_YET
from emberlog.streams.state.frontier_store import FEWEST_ROWS, FrontierStore
from emberlog.workers.kernels.lanes import Lanes


def ranked(*rows: tuple[int, int, int]) -> Lanes:
    """Key, value and last slide."""
    return np.array([(key, value, NOT_YET, last) for key, value, last in rows], np.int64).T.copy()


def entered(store: FrontierStore, rows: Lanes) -> tuple[list[list[int]], list[list[int]]]:
    """What a slide adds to what is seen, and removes from it."""
    store.add(rows)
    store.advance()
    added, removed = store.settle()
    return sorted(added.T.tolist()), sorted(removed.T.tolist())


def seen(store: FrontierStore) -> list[list[int]]:
    return sorted(store.visible().T.tolist())


def test_a_set_keeps_its_longest_lived_derivation() -> None:
    store = FrontierStore(1, (), 0, tracks_changes=True)
    assert entered(store, np.array([[7, 7, 8], [3, 5, 4]])) == ([[7], [8]], [])
    assert store.expire(5) == 1
    assert entered(store, np.empty((2, 0), np.int64)) == ([], [[8]])
    assert seen(store) == [[7]]
    assert store.expire(6) == 1
    assert seen(store) == []


def test_a_frontier_drops_what_is_outlived_and_beaten() -> None:
    store = FrontierStore(1, (1,), 0, tracks_changes=True)
    entered(store, ranked((1, 50, 3), (1, 40, 3), (1, 60, 9), (1, 70, 5), (1, 40, 2)))
    assert sorted(store.all[[1, 3]].T.tolist()) == [[40, 3], [60, 9]]
    assert store.all[2, np.argsort(store.all[3])].tolist() == [NOT_YET, 3], "the second is beaten until the first goes"
    assert seen(store) == [[1, 40]]
    assert store.expire(4) == 0, "the key has a row left"
    assert entered(store, np.empty((4, 0), np.int64)) == ([[1, 60]], [[1, 40]])


def test_a_row_that_only_holds_longer_is_no_news() -> None:
    store = FrontierStore(1, (1,), 0)

    def news(*rows: tuple[int, int, int]) -> list[list[int]]:
        store.add(ranked(*rows))
        store.advance()
        return sorted(store.seen_news[[0, 1, 3]].T.tolist())

    assert news((1, 40, 3), (1, 40, 5)) == [[1, 40, 5]], "nobody has seen the one that holds shorter"
    assert news((1, 40, 7), (1, 40, 8), (2, 9, 4)) == [[2, 9, 4]]
    assert news((1, 30, 4), (1, 60, 9)) == [[1, 30, 4]]
    store.expire(5)
    assert news((1, 40, 9)) == [], "it is seen since the better one has gone"
    assert news((2, 9, 9)) == [[2, 9, 9]], "what was derived from the one that has gone is lost"


def test_larger_values_win_where_the_direction_says_so() -> None:
    store = FrontierStore(1, (-1,), 0, tracks_changes=True)
    assert entered(store, ranked((1, 5, 3), (1, 9, 3))) == ([[1, 9]], [])


def test_ties_go_by_the_next_lane() -> None:
    store = FrontierStore(0, (1, 1), 0, tracks_changes=True)
    rows = np.array([[4, 4, 6], [9, 2, 1], [NOT_YET] * 3, [3, 3, 3]])
    assert entered(store, rows) == ([[4, 2]], [])


def test_a_fact_that_goes_and_comes_in_one_slide_has_not_changed() -> None:
    store = FrontierStore(1, (), 0, tracks_changes=True)
    entered(store, np.array([[7], [3]]))
    store.expire(4)
    assert entered(store, np.array([[7], [9]])) == ([], [])
    assert store.visible().shape[1] == 1


def test_a_store_of_dead_rows_is_tidied_up() -> None:
    store = FrontierStore(1, (), 0, tracks_changes=True)
    keys = np.arange(3 * FEWEST_ROWS)
    entered(store, np.stack([keys, np.where(keys % 3 == 0, 9, 1)]))
    assert store.compacted() is None
    store.expire(2)
    entered(store, np.empty((2, 0), np.int64))
    tidied = store.compacted()
    assert tidied is not None and tidied.count == FEWEST_ROWS and seen(tidied) == seen(store)
    assert tidied.bytes < store.bytes
    tidied.expire(10)
    assert entered(tidied, np.empty((2, 0), np.int64))[1] == [[key] for key in range(0, 3 * FEWEST_ROWS, 3)]
