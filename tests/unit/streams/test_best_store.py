"""One row per key: what beats it, what makes it last, and when it is lost."""

from __future__ import annotations

import numpy as np

from emberlog.streams.state.frontier_store import FEWEST_ROWS, BestStore
from tests.unit.streams.test_frontier_store import entered, ranked, seen

NOTHING = np.empty((4, 0), np.int64)


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


def test_a_tidied_store_has_the_same_rows_and_goes_on() -> None:
    store = BestStore(1, (1,), 0, tells_longer=False, tracks_changes=True)
    entered(store, ranked(*((key, key, 2 if key % 4 else 9) for key in range(FEWEST_ROWS))))
    store.expire(3)
    store.settle()
    fresh = store.compacted()
    assert isinstance(fresh, BestStore) and seen(fresh) == seen(store) and fresh.count < store.count
    fresh.expire(10)
    assert fresh.lost.shape[1] == FEWEST_ROWS // 4
