"""Gives texts their codes: numbers in this process, hashes across workers. A recursion only compares texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emberlog.logical.expressions import condition_expressions
from emberlog.syntax.ast import Binary, Call, Constant, Expression, Unary
from emberlog.workers.kernels.hashing import hash_texts
from emberlog.workers.kernels.lanes import Lane, Lanes
from emberlog.workers.kernels.memory import claim
from emberlog.workers.plan.compile import CyclicProgram
from emberlog.workers.plan.rules import Assign, Keep, Refute, RuleChain


class TextCodes:
    """Gives codes in the order in which texts come."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}
        self.texts: list[str] = []

    def code(self, text: str) -> int:
        known = self.codes.setdefault(text, len(self.texts))
        if known == len(self.texts):
            self.texts.append(text)
        return known


def texts_of(program: CyclicProgram) -> Iterator[str]:
    """Yields the texts that the program itself writes."""
    for facts in program.facts:
        yield from (cell for row in facts.rows for cell in row if isinstance(cell, str))
    for chain in (*program.seeds, *program.rules):
        for expression in _expressions(chain):
            yield from _texts(expression)


def _expressions(chain: RuleChain) -> Iterator[Expression]:
    yield from chain.head
    for step in chain.steps:
        match step:
            case Assign(_, expression):
                yield expression
            case Keep(condition):
                yield from condition_expressions(condition)
            case Refute(guards=guards):
                for guard in guards:
                    yield from condition_expressions(guard)
            case _:
                pass


def _texts(expression: Expression) -> Iterator[str]:
    match expression:
        case Constant(str() as text):
            yield text
        case Unary(operand):
            yield from _texts(operand)
        case Binary(_, left, right):
            yield from _texts(left)
            yield from _texts(right)
        case Call(_, arguments):
            for argument in arguments:
                yield from _texts(argument)
        case _:
            pass


# Texts across workers: the same text has the same 64-bit hash everywhere, and every worker can read a hash back.
#
# Two different texts with one hash would be taken for the same, so all texts of a run are compared once, when they are
# handed round. The chance is one in millions of millions; if it happens, the run begins anew with another seed.

SEED = 0


class SameHash(Exception):
    """Says that two different texts have the same hash."""


def hashes_of(texts: pa.LargeStringArray, seed: int = SEED) -> Lane:
    _, offsets, data = texts.buffers()
    if not len(texts):
        return np.empty(0, np.int64)
    starts = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    letters = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    return hash_texts(starts, letters, seed)


class TextTable:
    """Holds the texts that a worker has seen, and after `merge` those of all workers."""

    def __init__(self, texts: Iterable[str] = (), seed: int = SEED) -> None:
        self.seed = seed
        self._parts: list[pa.LargeStringArray] = []
        self._hashes = np.empty(0, np.int64)
        self._texts: pa.LargeStringArray = pa.array([], pa.large_string())
        written = list(texts)
        if written:
            self._parts.append(pa.array(written, pa.large_string()))

    @property
    def is_used(self) -> bool:
        return bool(self._parts)

    def encode(self, column: pa.ChunkedArray) -> Lane:
        """Returns the hashes of a column without nulls; its texts are remembered."""
        claim(column.nbytes + 16 * len(column))
        encoded: Any = column.cast(pa.large_string()).combine_chunks().dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        self._parts.append(encoded.dictionary)
        hashes = hashes_of(encoded.dictionary, self.seed)
        lane: Lane = hashes[encoded.indices.to_numpy(zero_copy_only=False)]
        return lane

    def codes(self, texts: Iterable[str]) -> dict[str, int]:
        """Returns what the lanes of some texts hold."""
        known = list(texts)
        return dict(zip(known, hashes_of(pa.array(known, pa.large_string()), self.seed).tolist(), strict=True))

    def pack(self) -> Lanes:
        """This worker's texts as one lane of words: their number, their ends, and their letters."""
        everything = pa.chunked_array(self._parts or [self._texts], pa.large_string())
        # Once as they come, once each, and once as words: that is enough for the last as well.
        claim(2 * everything.nbytes)
        texts: pa.LargeStringArray = pc.unique(everything)
        self._parts = [texts]
        _, offsets, data = texts.buffers()
        ends = np.frombuffer(offsets, np.int64)[: len(texts) + 1] if len(texts) else np.zeros(1, np.int64)
        packed = np.zeros(1 + len(texts) + -(-int(ends[-1]) // 8), np.int64)
        packed[0] = len(texts)
        packed[1 : len(texts) + 1] = ends[1:]
        if ends[-1]:
            packed[len(texts) + 1 :].view(np.uint8)[: ends[-1]] = np.frombuffer(data, np.uint8)[: ends[-1]]
        return packed[None]

    def merge(self, packed: Iterable[Lanes]) -> None:
        """Takes over the texts of all workers, this one's included."""
        self._parts.clear()
        everything = pa.chunked_array([_unpacked(lanes[0]) for lanes in packed], pa.large_string())
        claim(2 * everything.nbytes)
        texts: pa.LargeStringArray = pc.unique(everything)
        hashes = hashes_of(texts, self.seed)
        order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[order]
        self._texts = texts.take(pa.array(order))
        if bool((self._hashes[1:] == self._hashes[:-1]).any()):
            raise SameHash

    def decode(self, lane: Lane) -> pa.LargeStringArray:
        return self._texts.take(pa.array(np.searchsorted(self._hashes, lane)))


def _unpacked(words: Lane) -> pa.LargeStringArray:
    count = int(words[0])
    offsets = np.concatenate([np.zeros(1, np.int64), words[1 : count + 1]])
    letters = np.ascontiguousarray(words[count + 1 :])
    return pa.LargeStringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(letters))
