"""Keeps a relation that does not fit into memory in sections on disk, of which one at a time is looked at.

Contributions of a round go to the section of their key and wait there. At the end of the round each section that got
some is brought into memory, where they are combined with what is known. Sections for which there is room stay there;
everything is on disk all the same, so that they can be dropped at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from emberlog.workers.kernels.hashing import rows_of_owner, sections_of
from emberlog.workers.kernels.lanes import Lanes, joined
from emberlog.workers.kernels.memory import TooLarge, at_once, give_back, is_short
from emberlog.workers.kernels.tuning import SECTIONS, SPILL_BLOCK
from emberlog.workers.store.spilled_rows import SpilledRows, SpillFile
from emberlog.workers.store.stores import KeyedStore, SetStore

if TYPE_CHECKING:
    from emberlog.workers.store.joined import Joined

Done = TypeVar("Done")


class _Section:
    def __init__(self, store: SectionedStore) -> None:
        self.new_store = store.new_store
        self.known = SpilledRows(store.width, store.known_file)
        """What came or changed, in the order in which it did; later rows of a key are as good or better."""
        self.inbox = SpilledRows(store.width, store.inbox_file)
        self.delta = SpilledRows(store.width, store.delta_file)
        self.count = 0
        self.kept: SetStore | KeyedStore | None = None
        """All rows, if there is room for them."""

    def advance(self) -> int:
        """Combines what waits with what is known; returns the number of rows that came or changed."""
        if not self.inbox.count:
            return 0
        store = self.loaded()
        for lanes in self.inbox.batches():
            store.add(lanes)
        changed = store.advance()
        block = at_once(SPILL_BLOCK)
        for begin in range(0, changed, block):
            part = _delta_rows(store, begin, min(begin + block, changed))
            self.delta.add(part)
            self.known.add(part)
        self.inbox.clear()
        self.count = store.count
        self.kept = store
        return changed

    def loaded(self) -> SetStore | KeyedStore:
        if self.kept is not None:
            return self.kept
        store = self.new_store()
        if isinstance(store, SetStore):
            store.take_over(self.known.all, self.known.count)
        else:
            for lanes in self.known.batches():
                store.add(lanes)
        store.advance()
        return store


class SectionedStore:
    """Takes the place of a set, or of keyed rows that only improve."""

    def __init__(self, new_store: Callable[[], SetStore | KeyedStore], store: SetStore | KeyedStore) -> None:
        """Goes on for a store in memory: its delta is this one's, and what is new there is new here."""
        self.new_store = new_store
        self.is_set = isinstance(store, SetStore)
        self.keys = store.width if isinstance(store, SetStore) else store.keys
        self.width = store.width
        self.known_file, self.inbox_file, self.delta_file = SpillFile(), SpillFile(), SpillFile()
        self.sections = [_Section(self) for _ in range(SECTIONS)]
        is_new, is_delta = store.new_rows(), store.rows_of_delta()
        block = at_once(SPILL_BLOCK)
        for begin in range(0, store.count, block):
            end = min(begin + block, store.count)
            lanes = store.rows[:, begin:end]
            for number, rows in self._by_section(lanes[:, ~is_new[begin:end]]):
                self.sections[number].known.add(rows)
                self.sections[number].count += rows.shape[1]
            for number, rows in self._by_section(lanes[:, is_new[begin:end]]):
                self.sections[number].inbox.add(rows)
            for number, rows in self._by_section(lanes[:, is_delta[begin:end]]):
                self.sections[number].delta.add(rows)

    def _by_section(self, lanes: Lanes) -> Iterator[tuple[int, Lanes]]:
        if lanes.shape[1]:
            section = sections_of(lanes, self.keys, SECTIONS)
            for number in range(SECTIONS):
                rows = rows_of_owner(lanes, section, number)
                if rows.shape[1]:
                    yield number, rows

    def add(self, batch: Lanes) -> bool:
        block = at_once(SPILL_BLOCK)
        for begin in range(0, batch.shape[1], block):
            for number, rows in self._by_section(batch[:, begin : begin + block]):
                self.sections[number].inbox.add(rows)
        return True

    def add_joined(self, joined: Joined) -> bool:
        """Refuses, because rows have to go to their sections first."""
        return False

    def advance(self) -> int:
        for section in self.sections:
            section.delta.clear()
        self.delta_file.clear()
        changed = 0
        for section in self.sections:
            changed += self._with_room(section.advance)
            if is_short():
                self._drop()
        self.inbox_file.clear()
        return changed

    def _with_room(self, act: Callable[[], Done]) -> Done:
        """Does something with one section, if need be with nothing else in memory."""
        try:
            return act()
        except (TooLarge, MemoryError):
            pass
        # What was in memory may have been changed in part. What is on disk was not.
        self._drop()
        return act()

    def _drop(self) -> None:
        for section in self.sections:
            section.kept = None
        give_back()

    def parts(self) -> Iterator[Lanes]:
        """Yields all rows but those that are new, in batches."""
        for section in self.sections:
            if self.is_set:
                yield from section.known.batches()
            else:
                yield self._with_room(section.loaded).all

    def delta_parts(self) -> Iterator[Lanes]:
        for section in self.sections:
            yield from section.delta.batches()

    def contributions(self) -> Iterator[Lanes]:
        """Yields all that is known, as contributions, without memory for more than a few of them."""
        for section in self.sections:
            yield from section.known.batches()
            yield from section.inbox.batches()

    @property
    def count(self) -> int:
        return sum(section.count for section in self.sections)

    @property
    def fresh(self) -> int:
        """Returns how many contributions wait; some may turn out to be known."""
        return sum(section.inbox.count for section in self.sections)

    @property
    def delta(self) -> Lanes:
        return joined(list(self.delta_parts()), self.width)

    @property
    def all(self) -> Lanes:
        return joined(list(self.parts()), self.width)

    @property
    def rows(self) -> Lanes:
        return self.all


def _delta_rows(store: SetStore | KeyedStore, begin: int, end: int) -> Lanes:
    if isinstance(store, SetStore):
        return store.rows[:, store.delta_begin + begin : store.delta_begin + end]
    return store.rows[:, store.delta_rows[begin:end]]
