"""Stores of rows that expire: which rows are kept, which are seen, and what is left when they are gone."""

from __future__ import annotations

import numpy as np

from emberlog.streams.plan.expiring_program import NEVER, NOT_YET
from emberlog.streams.state.frontier_store import FEWEST_ROWS, BestStore, ExpiryQueue, FrontierStore
from emberlog.workers.kernels.lanes import Lanes

NOTHING = np.empty((4, 0), np.int64)


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


def test_a_store_of_dead_rows_is_compacted() -> None:
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


# --- one row per key: what beats it, what makes it last, and when it is lost ------------------------------------------


def test_only_the_best_row_of_a_key_is_kept() -> None:
    store = BestStore(1, (1,), 0, tells_longer=False, tracks_changes=True)
    assert entered(store, ranked((1, 50, 9), (1, 40, 3), (1, 60, 12), (2, 7, 5))) == ([[1, 40], [2, 7]], [])
    assert sorted(store.all[[1, 3]].T.tolist()) == [[7, 5], [40, 3]], "what would be seen later is derived again then"


def test_a_row_that_only_holds_longer_is_no_change() -> None:
    store = BestStore(1, (1,), 0, tells_longer=False, tracks_changes=True)
    entered(store, ranked((1, 40, 3)))
    store.add(ranked((1, 40, 8)))
    assert store.advance() == 0
    assert store.settle()[0].shape[1] == 0
    store.expire(4)
    assert store.lost.shape[1] == 0 and seen(store) == [[1, 40]], "its place in the queue has moved with it"
    store.settle()
    store.expire(9)
    assert store.lost.tolist() == [[1]] and seen(store) == []


def test_a_row_that_holds_longer_is_a_change_for_those_who_have_copies() -> None:
    store = BestStore(1, (1,), 0, tells_longer=True)
    entered(store, ranked((1, 40, 3)))
    store.add(ranked((1, 40, 8), (1, 40, 2)))
    assert store.advance() == 1 and store.delta[:, 0].tolist()[-1] == 8


def test_what_is_lost_and_derived_again_has_not_changed_if_it_is_the_same() -> None:
    store = BestStore(1, (1,), 0, tells_longer=False, tracks_changes=True)
    entered(store, ranked((1, 40, 3), (2, 5, 3)))
    store.expire(4)
    assert sorted(store.lost[0].tolist()) == [1, 2]
    assert entered(store, ranked((1, 40, 6), (2, 9, 6))) == ([[2, 9]], [[2, 5]])
    store.expire(5)
    assert entered(store, NOTHING) == ([], [])


def test_a_compacted_store_has_the_same_rows_and_goes_on() -> None:
    store = BestStore(1, (1,), 0, tells_longer=False, tracks_changes=True)
    entered(store, ranked(*((key, key, 2 if key % 4 else 9) for key in range(FEWEST_ROWS))))
    store.expire(3)
    store.settle()
    fresh = store.compacted()
    assert isinstance(fresh, BestStore) and seen(fresh) == seen(store) and fresh.count < store.count
    fresh.expire(10)
    assert fresh.lost.shape[1] == FEWEST_ROWS // 4


# --- the queue by slide: what expires is found without looking at what does not ---------------------------------------


def test_rows_come_out_with_the_slide_after_their_last() -> None:
    queue = ExpiryQueue()
    queue.enter(np.array([1, 2, 3]), np.array([5, 4, 5]))
    queue.enter(np.array([4]), np.array([4]))
    assert queue.take(4).tolist() == []
    assert queue.take(5).tolist() == [2, 4]
    assert queue.take(6).tolist() == [1, 3]
    assert queue.entries == 0


def test_what_never_expires_is_not_entered() -> None:
    queue = ExpiryQueue()
    queue.enter(np.array([1, 2]), np.array([NEVER, 3]))
    assert queue.entries == 1


def test_slides_that_are_left_out_are_made_up_for() -> None:
    queue = ExpiryQueue()
    queue.enter(np.array([1, 2, 3]), np.array([0, 1_000, 10**9]))
    assert sorted(queue.take(10**9).tolist()) == [1, 2]
    assert queue.take(10**9 + 1).tolist() == [3]
