"""Keeps inputs as workers read them, with their indexes, from one run of a database to the next.

What is kept of a relation goes when the relation does: data that is registered anew is another one. All of it together
takes a share of the memory that is free; what was not read for longest goes first.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias
from weakref import ref

from emberlog.datatypes import DataType
from emberlog.io.local_relation import LocalRelation
from emberlog.timing import Part, timed
from emberlog.workers.kernels.tuning import KEPT_SHARE

if TYPE_CHECKING:
    from emberlog.workers.store.indexes import StaticIndexes
    from emberlog.workers.store.texts import TextCodes

_log = logging.getLogger("emberlog.local")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Says which relation is read, and how."""

    relation: LocalRelation
    types: tuple[DataType, ...]
    must_be_set: bool

    @property
    def is_coded(self) -> bool:
        return any(type_.is_coded for type_ in self.types)

    @property
    def key(self) -> tuple[object, ...]:
        return id(self.relation), self.types, self.must_be_set


_Key: TypeAlias = tuple[tuple[object, ...], ...]


@dataclass(slots=True)
class _Entry:
    """Holds a relation, or all relations of a stratum that have texts: their codes count only together."""

    relations: tuple[ref[LocalRelation], ...]
    indexes: tuple[StaticIndexes, ...]
    texts: TextCodes | None = None

    @property
    def is_there(self) -> bool:
        return all(relation() is not None for relation in self.relations)

    @property
    def bytes(self) -> int:
        return sum(one.bytes for one in self.indexes) + (0 if self.texts is None else self.texts.bytes)


@dataclass(frozen=True, slots=True)
class Read:
    """Holds what a stratum reads."""

    indexes: Mapping[str, StaticIndexes]
    texts: TextCodes
    from_before: Sequence[str] = ()
    """What an earlier run or stratum has read."""


@dataclass(slots=True)
class KeptInputs:
    most: int | None = None
    """Bytes that may be kept; in any case no more than a share of what is free."""
    _entries: dict[_Key, _Entry] = field(default_factory=dict)
    """Those that were read last are last."""
    _lock: Lock = field(default_factory=Lock)

    def read(self, wanted: Mapping[str, Wanted], lasting: frozenset[str], threads: int) -> Read:
        """Returns relations as workers read them. `lasting` are those that are worth keeping, because a later run may
        read them again."""
        from emberlog.workers.store.texts import TextCodes

        plain = [name for name, one in wanted.items() if not one.is_coded]
        coded = [name for name, one in wanted.items() if one.is_coded]
        before: list[str] = []
        indexes: dict[str, StaticIndexes] = {}
        texts = TextCodes()
        for group in (*([name] for name in plain), coded):
            if not group:
                continue
            key = tuple(wanted[name].key for name in group)
            entry = self._entry(key)
            if entry is None:
                codes = TextCodes() if group is coded else None
                found = tuple(_encoded(name, wanted[name], codes or texts, threads) for name in group)
                gone = partial(self._drop, key)
                entry = _Entry(tuple(ref(wanted[name].relation, gone) for name in group), found, codes)
                if lasting.issuperset(group):
                    with self._lock:
                        self._entries[key] = entry
            else:
                before += group
            indexes |= zip(group, entry.indexes, strict=True)
            if entry.texts is not None:
                texts = entry.texts.copy()
        return Read(indexes, texts, sorted(before))

    def _entry(self, key: _Key) -> _Entry | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or not entry.is_there:
                return None
            self._entries[key] = self._entries.pop(key)
            return entry

    def known(self, wanted: Mapping[str, Wanted]) -> list[str]:
        """Names what would not have to be read again."""
        coded = tuple(one.key for one in wanted.values() if one.is_coded)
        keys = {name: coded if one.is_coded else (one.key,) for name, one in wanted.items()}
        return sorted(name for name, key in keys.items() if self._entry(key) is not None)

    @property
    def bytes(self) -> int:
        return sum(entry.bytes for _, entry in self._there())

    def _there(self) -> list[tuple[_Key, _Entry]]:
        """Lists what is kept; a relation that goes meanwhile takes its entry along."""
        return [(key, entry) for key in list(self._entries) if (entry := self._entries.get(key)) is not None]

    def _drop(self, key: _Key, _relation: ref[LocalRelation]) -> None:
        """Lets go of what was read of a relation that is gone. It is called wherever that turns out, so it waits for
        nobody; an entry of another relation may have the key by now."""
        entry = self._entries.get(key)
        if entry is not None and not entry.is_there:
            self._entries.pop(key, None)

    def settle(self) -> None:
        """Lets go of what is too much."""
        from emberlog.workers.kernels.machine_memory import memory_for_each

        free = memory_for_each(1)
        with self._lock:
            sizes = {key: entry.bytes for key, entry in self._there()}
            total = sum(sizes.values())
            most = total if self.most is None else self.most
            if free is not None:
                most = min(most, int((free + total) * KEPT_SHARE))
            for key, size in sizes.items():
                if total <= most:
                    break
                self._entries.pop(key, None)
                total -= size
        if total:
            _log.debug("inputs and indexes kept for later runs take %s bytes", f"{total:,}")

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()


def _encoded(name: str, wanted: Wanted, codes: TextCodes, threads: int) -> StaticIndexes:
    from emberlog.engines.local.encoding import encoded
    from emberlog.workers.store.indexes import StaticIndexes
    from emberlog.workers.store.stores import StaticStore

    with timed(Part.READING):
        rows = encoded(name, wanted.relation, wanted.types, codes, must_be_set=wanted.must_be_set, threads=threads)
    return StaticIndexes(StaticStore(rows))
