"""Gives texts their codes, and reads codes back: numbers in this process, hashes across workers, where either everyone
knows all texts or the owner of a code its text."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from emberlog.datatypes import FLOAT, DataType
from emberlog.io.local_relation import cell_of
from emberlog.language.values import CellValue
from emberlog.syntax.ast import Constant
from emberlog.workers.kernels.hashing import hash_texts, owners
from emberlog.workers.kernels.lanes import NULL, Lane, Mask
from emberlog.workers.kernels.memory import claim
from emberlog.workers.kernels.tuning import MOST_ASKED
from emberlog.workers.plan.compile import CyclicProgram

Column: TypeAlias = pa.Array | pa.ChunkedArray

FEW = 8
"""Texts are looked up one by one if there are more than this many times those that are asked for."""


class Texts(ABC):
    """Is what a worker knows of texts. Its lanes hold a code for each: the same for the same text, and no other."""

    def __init__(self) -> None:
        self.written: dict[str, int] = {}
        """The codes of texts that rules write, each looked up once."""

    def code(self, text: str) -> int:
        """Returns the code of a text of the program."""
        if text not in self.written:
            self.written[text] = int(self.encode(pa.array([text], pa.large_string()))[0])
        return self.written[text]

    def encode_values(self, values: Iterable[CellValue], type_: DataType) -> Lane:
        """Returns the codes of values that are kept as codes, none of which is null."""
        if type_.parts:
            values = [json.dumps(_spelled(value, type_), separators=(",", ":")) for value in values]
        return self.encode(pa.array(values, pa.large_string()))

    def decode_values(self, lane: Lane, type_: DataType) -> npt.NDArray[Any]:
        """Returns the values of codes, as objects."""
        texts = self.decode(lane)
        if not type_.parts:
            found: npt.NDArray[Any] = texts.to_numpy(zero_copy_only=False)
            return found
        return np.fromiter((cell_of(json.loads(one)) for one in texts.to_pylist()), object, len(lane))

    @abstractmethod
    def encode(self, column: Column) -> Lane:
        """Returns the codes of a column without nulls. Texts that are new are remembered."""

    @abstractmethod
    def decode(self, lane: Lane) -> pa.LargeStringArray:
        """Returns the texts of codes that were given out."""


def _spelled(value: CellValue, type_: DataType) -> object:
    """Returns a value such that equal ones are spelled alike: lists for pairs and lists, and floats where floats are
    meant."""
    if value is None or not type_.parts:
        return float(value) if type_ == FLOAT and isinstance(value, int) else value
    assert isinstance(value, tuple)
    return [_spelled(part, one) for part, one in zip(value, type_.types_of(value), strict=True)]


def dictionary_of(column: Column) -> tuple[pa.LargeStringArray, Lane]:
    """Returns the texts of a column, each once, and for each row the place of its text among them."""
    texts = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    encoded: Any = texts.cast(pa.large_string()).dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return encoded.dictionary, encoded.indices.to_numpy(zero_copy_only=False)


class TextCodes(Texts):
    """Gives codes in the order in which texts come, to all threads of this process.

    Columns of inputs are looked up by Arrow, which reads all texts that are known each time. If a few are asked for
    again and again, as those that a round makes, they are looked up one by one, in a dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[pa.LargeStringArray] = []
        """The texts in the order of their codes, each part much shorter than the one before, so that there are few."""
        self._count = 0
        self._read = 0
        """How many known texts were read to look up a few."""
        self._codes: dict[str, int] | None = None
        self._lock = Lock()

    def copy(self) -> TextCodes:
        """Returns codes that begin with these, and go on by themselves."""
        copied = TextCodes()
        with self._lock:
            parts = [self._all()] if self._count else []
            copied._parts, copied._count, copied.written = parts, self._count, dict(self.written)
        return copied

    @property
    def bytes(self) -> int:
        return sum(part.nbytes for part in self._parts)

    def encode(self, column: Column) -> Lane:
        dictionary, places = dictionary_of(column)
        with self._lock:
            if len(dictionary) * FEW < self._count:
                self._read += self._count
            one_by_one = self._codes is not None or self._read > FEW * self._count
            lane: Lane = (self._found_one_by_one(dictionary) if one_by_one else self._found(dictionary))[places]
        return lane

    def _found(self, texts: pa.LargeStringArray) -> Lane:
        """Returns the codes of texts, each of which is there once. Texts that are new are remembered."""
        known = pc.index_in(texts, self._all()) if self._count else pa.nulls(len(texts), pa.int32())
        is_new = known.is_null().to_numpy(zero_copy_only=False)
        self._append(texts if is_new.all() else texts.filter(pa.array(is_new)))
        codes: Lane = known.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        codes[is_new] = np.arange(self._count - int(is_new.sum()), self._count)
        return codes

    def _found_one_by_one(self, texts: pa.LargeStringArray) -> Lane:
        if self._codes is None:
            self._codes = dict(zip(self._all().to_pylist(), range(self._count), strict=True))
        known = [self._codes.get(text) for text in texts.to_pylist()]
        new = [place for place, code in enumerate(known) if code is None]
        if new:
            codes = range(self._count, self._count + len(new))
            self._append(texts.take(pa.array(new, pa.int64())))
            for place, code in zip(new, codes, strict=True):
                known[place] = code
        return np.array(known, np.int64)

    def _append(self, texts: pa.LargeStringArray) -> None:
        if self._codes is not None:
            self._codes.update(zip(texts.to_pylist(), range(self._count, self._count + len(texts)), strict=True))
        self._count += len(texts)
        while self._parts and len(self._parts[-1]) < 2 * len(texts):
            texts = pa.concat_arrays([self._parts.pop(), texts])
        if len(texts):
            self._parts.append(texts)

    def _all(self) -> pa.LargeStringArray:
        if len(self._parts) != 1:
            self._parts = [pa.concat_arrays([pa.array([], pa.large_string()), *self._parts])]
        return self._parts[0]

    def decode(self, lane: Lane) -> pa.LargeStringArray:
        with self._lock:
            if len(lane) * FEW < self._count:
                return pa.chunked_array(self._parts).take(pa.array(lane)).combine_chunks()
            return self._all().take(pa.array(lane))


def texts_of(program: CyclicProgram) -> Iterator[str]:
    """Yields the texts that the program itself writes."""
    for facts in program.facts:
        yield from (cell for row in facts.rows for cell in row if isinstance(cell, str))
    for expression in program.expressions:
        if isinstance(expression, Constant) and isinstance(expression.value, str):
            yield expression.value


# Texts across workers: the same text has the same 64-bit hash everywhere, and whoever holds a hash can read it back.
#
# Two different texts with one hash would be taken for the same, so texts are compared where they meet: when they are
# made or read, and when they are handed round. The chance is one in millions of millions; if it happens, the run begins
# anew with another seed.

SEED = 0


class SameHash(Exception):
    """Says that two different texts have the same hash, or that one has that of null."""


def hashes_of(texts: pa.LargeStringArray, seed: int = SEED) -> Lane:
    _, offsets, data = texts.buffers()
    if not len(texts):
        return np.empty(0, np.int64)
    starts = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    letters = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    return hash_texts(starts, letters, seed)


@dataclass(frozen=True, slots=True)
class _Run:
    """Holds texts in the order in which they came, and their hashes in order of size."""

    texts: pa.LargeStringArray
    hashes: Lane
    places: Lane
    """The place of the text of each hash."""

    @staticmethod
    def of(texts: pa.LargeStringArray, hashes: Lane) -> _Run:
        order = np.argsort(hashes, kind="stable")
        return _Run(texts, hashes[order], order)

    def __len__(self) -> int:
        return len(self.hashes)

    def find(self, lane: Lane) -> Lane:
        """Returns the place of the text of each hash; -1 where it is not here."""
        found = np.minimum(np.searchsorted(self.hashes, lane), len(self) - 1)
        return np.where(self.hashes[found] == lane, self.places[found], -1)

    def followed_by(self, other: _Run) -> _Run:
        hashes = np.concatenate([self.hashes, other.hashes])
        order = np.argsort(hashes, kind="stable")
        places = np.concatenate([self.places, other.places + len(self)])[order]
        return _Run(pa.concat_arrays([self.texts, other.texts]), hashes[order], places)


class TextTable(Texts):
    """Holds the texts that a worker has met: read, made, or heard of from others."""

    def __init__(self, seed: int = SEED) -> None:
        super().__init__()
        self.seed = seed
        self._runs: list[_Run] = []
        """Each much shorter than the one before, so that there are few."""
        self.count = 0

    @property
    def runs(self) -> Sequence[_Run]:
        return self._runs

    def encode(self, column: Column) -> Lane:
        claim(column.nbytes + 16 * len(column))
        dictionary, places = dictionary_of(column)
        lane: Lane = self.add(dictionary)[places]
        return lane

    def add(self, texts: pa.LargeStringArray) -> Lane:
        """Takes note of texts, and returns their hashes; raises SameHash if one is that of another text."""
        hashes = hashes_of(texts, self.seed)
        if bool((hashes == NULL).any()):
            raise SameHash
        is_new = np.ones(len(hashes), np.bool_)
        for run in self._runs:
            places = run.find(hashes)
            known = np.flatnonzero(places >= 0)
            if len(known):
                _compare(run.texts.take(pa.array(places[known])), texts.take(pa.array(known)))
                is_new[known] = False
        if is_new.any():
            # A text may come twice here; its first place stands for it.
            _, first = np.unique(hashes[is_new], return_index=True)
            new = np.flatnonzero(is_new)
            kept = new[np.sort(first)]
            added = _Run.of(_copied(texts, kept), hashes[kept])
            if len(kept) < len(new):
                _compare(added.texts.take(pa.array(added.find(hashes[new]))), texts.take(pa.array(new)))
            self._append(added)
        return hashes

    def _append(self, run: _Run) -> None:
        self.count += len(run)
        while self._runs and len(self._runs[-1]) < 2 * len(run):
            claim(2 * (self._runs[-1].texts.nbytes + run.texts.nbytes))
            run = self._runs.pop().followed_by(run)
        self._runs.append(run)

    def decode(self, lane: Lane) -> pa.LargeStringArray:
        return _decoded(self._runs, lane)

    def has(self, lane: Lane) -> Mask:
        """Tells which codes can be read here."""
        found = np.zeros(len(lane), np.bool_)
        for run in self._runs:
            found |= run.find(lane) >= 0
        return found

    @property
    def nbytes(self) -> int:
        return sum(run.texts.nbytes + 16 * len(run) for run in self._runs)

    def since(self, place: int) -> pa.LargeStringArray:
        """Returns the texts that came behind the first ones, in their order."""
        parts = [pa.array([], pa.large_string())]
        for run in self._runs:
            parts.append(run.texts.slice(min(max(place, 0), len(run))))
            place -= len(run)
        return pa.concat_arrays(parts)


def _decoded(runs: Sequence[_Run], lane: Lane) -> pa.LargeStringArray:
    if len(runs) == 1:
        (run,) = runs
        places = run.find(lane)
        if len(places) and int(places.min()) < 0:
            raise _unknown()
        return run.texts.take(pa.array(places))
    parts, rows = [pa.array([], pa.large_string())], [np.empty(0, np.int64)]
    for run in runs:
        places = run.find(lane)
        here = np.flatnonzero(places >= 0)
        parts.append(run.texts.take(pa.array(places[here])))
        rows.append(here)
    order = np.full(len(lane), -1, np.int64)
    order[np.concatenate(rows)] = np.arange(sum(map(len, rows)))
    if len(order) and int(order.min()) < 0:
        raise _unknown()
    return pa.concat_arrays(parts).take(pa.array(order))


def _unknown() -> AssertionError:
    return AssertionError("DL901: a code whose text is not on this worker")


class SpreadTexts(Texts):
    """Holds the texts whose codes this worker owns, and for a while those that it asked others for. What it reads goes
    to the owner of its code, which sees two texts with one hash; who needs the letters asks there (`OwnedTexts`).
    A text is nobody's but its owner's in between, so that more workers have room for more texts."""

    def __init__(self, number: int, workers: int, seed: int = SEED, room: int = MOST_ASKED) -> None:
        """`room` is for how many bytes of texts that were asked for stay here."""
        super().__init__()
        self.number = number
        self.workers = workers
        self.seed = seed
        self.own = TextTable(seed)
        self._room = room
        self._new = TextTable(seed)
        """What the owners have not been told."""
        self._asked = TextTable(seed)

    def encode(self, column: Column) -> Lane:
        return self._new.encode(column)

    def decode(self, lane: Lane) -> pa.LargeStringArray:
        return _decoded((*self.own.runs, *self._asked.runs), lane)

    def can_read(self, lane: Lane) -> Mask:
        """Tells which codes have their texts here; null needs none."""
        found: Mask = self.own.has(lane) | self._asked.has(lane) | (lane == NULL)
        return found

    def leaving(self) -> dict[int, pa.LargeStringArray]:
        """Returns what the owners have to be told, by their number; from now on it is not here any more."""
        if not self._new.count:
            return {}
        texts, self._new = self._new.since(0), TextTable(self.seed)
        owner = owners(hashes_of(texts, self.seed), self.workers)
        order = np.argsort(owner, kind="stable")
        ends = np.cumsum(np.bincount(owner, minlength=self.workers))
        texts = texts.take(pa.array(order))
        begins = ends - np.bincount(owner, minlength=self.workers)
        return {
            int(one): texts.slice(int(begins[one]), int(ends[one] - begins[one]))
            for one in np.flatnonzero(ends > begins)
        }

    def wanted(self, lanes: Iterable[Lane]) -> dict[int, Lane]:
        """Returns the codes in some lanes whose texts have to be asked for, by the number of their owner. Makes room
        for them first, if there is little left."""
        codes = np.unique(np.concatenate([np.empty(0, np.int64), *lanes]))
        owner = owners(codes, self.workers)
        elsewhere = (owner != self.number) & (codes != NULL)
        codes, owner = codes[elsewhere], owner[elsewhere]
        missing = ~self._asked.has(codes)
        if missing.any() and self._asked.nbytes > self._room:
            self._asked = TextTable(self.seed)
            missing[:] = True
        codes, owner = codes[missing], owner[missing]
        return {int(one): codes[owner == one] for one in np.unique(owner)}

    def learn(self, texts: pa.LargeStringArray) -> None:
        """Takes note of texts that were asked for."""
        self._asked.add(texts)


def _compare(known: pa.LargeStringArray, other: pa.LargeStringArray) -> None:
    if not known.equals(other):
        raise SameHash


def _copied(texts: pa.LargeStringArray, places: Lane) -> pa.LargeStringArray:
    """Returns some of the texts, with none of the memory of the others."""
    taken = texts.take(pa.array(places))
    claim(taken.nbytes + 16 * len(taken))
    return taken


# Texts as lanes, so that they can be sent and saved like facts.


def packed(texts: pa.LargeStringArray) -> Lane:
    """Returns texts as words: their number, their ends, and their letters."""
    claim(2 * texts.nbytes)
    texts = pa.concat_arrays([texts])
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1] if len(texts) else _NO_ENDS
    begin, end = int(ends[0]), int(ends[-1])
    words = np.zeros(1 + len(texts) + -(-(end - begin) // 8), np.int64)
    words[0] = len(texts)
    words[1 : len(texts) + 1] = ends[1:] - begin
    if end > begin:
        words[len(texts) + 1 :].view(np.uint8)[: end - begin] = np.frombuffer(data, np.uint8)[begin:end]
    return words


_NO_ENDS = np.zeros(1, np.int64)


def unpacked(words: Lane) -> Iterator[pa.LargeStringArray]:
    """Yields the texts of one `packed` lane after the other; raises ValueError if there are none in it."""
    while len(words):
        count = int(words[0])
        if not 0 <= count < len(words):
            raise ValueError("these are no texts")
        offsets = np.concatenate([np.zeros(1, np.int64), words[1 : count + 1]])
        end = count + 1 + -(-int(offsets[-1]) // 8)
        letters = np.ascontiguousarray(words[count + 1 : end])
        texts = pa.LargeStringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(letters))
        texts.validate(full=True)
        yield texts
        words = words[end:]
