"""The state of a worker on disk: only what changed, valid as a whole or not at all."""

from __future__ import annotations

import errno
import time
from pathlib import Path

import numpy as np
import pytest

from emberlog.config import Recovery
from emberlog.workers.kernels.lanes import Lanes
from emberlog.workers.recover.checkpoints import FOLDER, Checkpoints, Pace, SavedState, Stale
from emberlog.workers.recover.resuming import Resume, resumed
from emberlog.workers.recover.store_states import _restore_store, _save_store
from emberlog.workers.store.folders import Folder, LocalFolder
from emberlog.workers.store.stores import KeyedStore, SetStore
from tests.interrupted_runs import run_folder

ALWAYS = Recovery(checkpoint_seconds=None, checkpoint_rounds=1)


def rows(*values: tuple[int, ...]) -> Lanes:
    return np.ascontiguousarray(np.array(values, np.int64).T)


FIRST = f"attempt-1/{FOLDER}"


@pytest.fixture(params=["a disk", "a store"])
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Folder:
    store = run_folder(tmp_path, attempts=3)
    return LocalFolder(tmp_path) if request.param == "a disk" else store


def new(place: Folder, worker: int = 0, attempt: int = 1, resume: str | None = None) -> Checkpoints:
    return Checkpoints(place, attempt, worker, ALWAYS, resume)


def save(checkpoints: Checkpoints, iteration: int, store: SetStore | KeyedStore, *, is_alone: bool = False) -> None:
    with checkpoints.saving(iteration, is_alone=is_alone) as state:
        _save_store(state, "facts", store, is_new=False)


def saved(checkpoints: Checkpoints) -> SavedState:
    state = checkpoints.resume_state()
    assert state is not None
    return state


def sizes(place: Folder) -> list[int]:
    return sorted(size for name, size in place.sizes(FIRST).items() if name.endswith(".lanes"))


def test_a_set_is_written_as_it_grows(place: Folder) -> None:
    checkpoints, store = new(place), SetStore(2)
    for number in range(3):
        store.add(rows((number, 1), (number, 2)))
        store.advance()
        save(checkpoints, number + 1, store)
    assert sizes(place) == [4, 4, 4]
    again = SetStore(2)
    _restore_store(saved(new(place, resume="0-3-0.json")), "facts", again)
    assert again.all.tolist() == store.all.tolist()
    assert again.delta.tolist() == rows((2, 1), (2, 2)).tolist()


@pytest.mark.parametrize("keys", [1, 2])
def test_of_keyed_rows_those_that_changed_are_written(place: Folder, keys: int) -> None:
    checkpoints, store = new(place), KeyedStore(keys, (0,))
    store.add(rows(*((*[key] * keys, 50) for key in range(20))))
    store.advance()
    save(checkpoints, 1, store)
    whole = max(sizes(place))
    store.add(rows((*[3] * keys, 40), (*[7] * keys, 60), (*[99] * keys, 1)))
    store.advance()
    save(checkpoints, 2, store)
    assert sum(sizes(place)) < 2 * whole
    again = KeyedStore(keys, (0,))
    _restore_store(saved(new(place, resume="0-2-0.json")), "facts", again)
    assert again.all.tolist() == store.all.tolist()
    assert sorted(again.delta[0].tolist()) == [3, 99]
    again.add(rows((*[99] * keys, 0)))
    assert again.advance() == 1


def test_a_worker_that_went_on_writes_only_what_is_new(place: Folder) -> None:
    store = SetStore(1)
    store.add(rows((1,), (2,)))
    store.advance()
    save(new(place), 1, store)
    resume = resumed(place, 1, 1)
    assert resume == Resume(("0-1-0.json",), 1, is_in_step=True)
    second = new(place, attempt=2, resume=resume.manifests[0])
    again = SetStore(1)
    _restore_store(saved(second), "facts", again)
    again.add(rows((3,)))
    again.advance()
    save(second, 2, again)
    found = SetStore(1)
    _restore_store(saved(new(place, attempt=2, resume="0-2-0.json")), "facts", found)
    assert found.all.tolist() == [[1, 2, 3]]


def test_one_that_its_worker_deletes_while_they_are_read_is_not_missed(
    place: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SetStore(1)
    store.add(rows((1,), (2,)))
    store.advance()
    save(new(place), 2, store)
    listed = type(place).sizes
    monkeypatch.setattr(type(place), "sizes", lambda self, name: {f"{name}/0-1-0.json": 9, **listed(self, name)})
    assert resumed(place, 1, 1) == Resume(("0-2-0.json",), 2, is_in_step=True)


def test_a_list_that_is_not_here_makes_it_stale(place: Folder) -> None:
    with pytest.raises(Stale, match="the list of the last checkpoint cannot be read"):
        new(place, resume="0-9-0.json")


def test_old_checkpoints_go(place: Folder) -> None:
    checkpoints = new(place)
    for iteration in range(1, 9):
        with checkpoints.saving(iteration, is_alone=False) as state:
            state.whole("facts", rows((iteration,)))
    names = sorted(name for name in place.sizes(FIRST) if name.endswith(".json"))
    assert names == [f"{FIRST}/0-7-0.json", f"{FIRST}/0-8-0.json"]
    assert len(sizes(place)) == 2


def test_workers_in_step_go_on_from_the_last_round_that_all_have(place: Folder) -> None:
    store = SetStore(1)
    for worker, rounds in ((0, (1, 2)), (1, (1, 2)), (2, (1,))):
        checkpoints = new(place, worker)
        for iteration in rounds:
            save(checkpoints, iteration, store)
    assert resumed(place, 1, 3) == Resume(("0-1-0.json", "1-1-0.json", "2-1-0.json"), 1, is_in_step=True)
    assert resumed(place, 1, 4) is None


def test_workers_alone_go_on_from_their_own(place: Folder) -> None:
    store = SetStore(1)
    save(new(place, 0), 7, store, is_alone=True)
    save(new(place, 2), 4, store, is_alone=True)
    assert resumed(place, 1, 3) == Resume(("0-7-0.json", None, "2-4-0.json"), 0, is_in_step=False)


def test_a_checkpoint_that_is_broken_is_not_used(place: Folder) -> None:
    store = SetStore(1)
    store.add(rows((1,), (2,)))
    save(new(place), 1, store)
    (file,) = (name for name in place.sizes(FIRST) if name.endswith(".lanes"))
    state = saved(new(place, resume="0-1-0.json"))
    place.write(file, place.read(file)[:1])
    with pytest.raises(Stale, match="broken"):
        state.lanes("facts")
    place.write(file, b"xy")
    with pytest.raises(Stale, match="broken"):
        state.lanes("facts")
    place.delete_files([file])
    with pytest.raises(Stale, match="cannot be read"):
        state.lanes("facts")
    with pytest.raises(Stale, match="has no `other`"):
        state.lanes("other")
    place.write(f"{FIRST}/0-1-0.json", b"{")
    assert resumed(place, 1, 1) is None


def test_what_is_gone_on_from_stays(place: Folder) -> None:
    """A worker may not know that its attempt is over; what it writes then is nobody's, and it deletes nothing."""
    first, store = new(place), SetStore(1)
    store.add(rows((1,), (2,)))
    save(first, 1, store, is_alone=True)
    assert resumed(place, 1, 1) == Resume(("0-1-0.json",), 1, is_in_step=False)
    for iteration in (2, 3):
        store.add(rows((10 + iteration,)))
        with first.saving(iteration, is_alone=True) as state:
            state.whole("facts", store.all)
    again = new(place, attempt=2, resume="0-1-0.json")
    assert saved(again).lanes("facts").tolist() == [[1, 2]]
    # What the second attempt needs no longer it deletes, where it is.
    with again.saving(2, is_alone=True) as state:
        state.whole("facts", rows((5,)))
    assert len(sizes(place)) == 2
    resume = resumed(place, 2, 1)
    assert resume == Resume(("0-2-0.json",), 2, is_in_step=False)


def test_a_full_disk_ends_checkpoints_and_not_the_run(place: Folder) -> None:
    store = SetStore(1)

    def fail() -> None:
        raise OSError(errno.ENOSPC, "no space")

    checkpoints = Checkpoints(place, 1, 0, ALWAYS, reached=fail)
    assert checkpoints.is_due(1)
    save(checkpoints, 1, store)
    assert not checkpoints.is_due(9)
    assert "no space" in (checkpoints.problem or "")
    assert not place.sizes(FIRST)


def test_the_clock_and_the_rounds(place: Folder) -> None:
    never = Checkpoints(place, 1, 0, Recovery(checkpoint_seconds=None))
    assert not never.is_due(10**9)
    soon = Checkpoints(place, 1, 0, Recovery(checkpoint_seconds=1e-9))
    assert soon.is_due(1)
    by_rounds = Checkpoints(place, 1, 0, Recovery(checkpoint_seconds=None, checkpoint_rounds=3))
    assert [by_rounds.is_due(iteration) for iteration in (1, 2, 3)] == [False, False, True]


def test_after_one_that_took_long_the_next_one_waits_unless_little_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    pace = Pace(10.0)
    assert not pace.is_due(0)
    now = 10.0
    assert pace.is_due(10**9)  # nobody knows what is new in it
    pace.saved(2.0, 10**8, 10**9)
    now = 20.0
    assert pace.is_due(10**9 + 10**7)
    assert not pace.is_due(10**9 + 10**8)  # two seconds are more than a twelfth of ten
    assert not pace.is_due(None)
    now = 10.0 + 24.0
    assert pace.is_due(10**9 + 10**9)
    assert pace.is_due(None)
