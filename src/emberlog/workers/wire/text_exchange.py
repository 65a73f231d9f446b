"""Carries mail between workers together with texts: to everyone who may not know them, where rules look into texts;
else to the owners of their codes, who are asked for them when results are written. Two texts with one hash meet either
way."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pyarrow as pa

from emberlog.workers.kernels.lanes import Lane
from emberlog.workers.store.texts import SpreadTexts, TextTable, packed, unpacked
from emberlog.workers.wire.frames import PeerLost
from emberlog.workers.wire.messages import Carrier, Mail, Message, added

_TEXTS = 1 << 20
"""The channel of texts, behind those of relations."""


class ToldTexts:
    """Tells everyone every text: whoever gets a code can read it back."""

    def __init__(self, carrier: Carrier, workers: int, texts: TextTable) -> None:
        self.number = carrier.number
        self._carrier = carrier
        self._texts = texts
        self._told = dict.fromkeys(_others(carrier.number, workers), 0)
        """How many of this worker's texts each of the others knows, in the order in which they came here."""

    def swap(self, mail: Mail) -> Mail:
        self._enclose(mail, self._told)
        received = self._carrier.swap(mail)
        for peer in self._told:
            self._learn(received[peer])
        # Everyone has heard everything from everyone: what is new here is known to the others, too.
        self._told = dict.fromkeys(self._told, self._texts.count)
        return received

    def trade(self, mail: Mail, senders: Collection[int], patience: float | None) -> Mail:
        self._enclose(mail, [peer for peer in self._told if mail[peer].numbers])
        received = self._carrier.trade(mail, senders, patience)
        for peer in self._told:
            # The others may not have heard of it: it is passed on with what they get from here.
            knows_all = self._told[peer] == self._texts.count
            self._learn(received[peer])
            if knows_all:
                self._told[peer] = self._texts.count
        return received

    def readable(self, batches: Iterator[list[Lane]], coded: Sequence[int]) -> Iterator[list[Lane]]:
        """Yields batches whose codes can be read here, which all can."""
        return batches

    def readable_alone(self, batches: Iterator[list[Lane]], coded: Sequence[int]) -> Iterator[list[Lane]]:
        """Yields the same without the other workers."""
        return batches

    def _enclose(self, mail: Mail, peers: Collection[int]) -> None:
        by_place = {}
        for peer in peers:
            place = self._told[peer]
            if place < self._texts.count:
                if place not in by_place:
                    by_place[place] = packed(self._texts.since(place))[None]
                mail[peer].batches[_TEXTS] = by_place[place]
                self._told[peer] = self._texts.count

    def _learn(self, message: Message) -> None:
        for texts in _enclosed(message):
            self._texts.add(texts)


class OwnedTexts:
    """Tells each text to the owner of its code, with the next mail that everyone gets, and asks owners for the texts of
    a batch of results before it is written."""

    def __init__(self, carrier: Carrier, workers: int, texts: SpreadTexts) -> None:
        self.number = carrier.number
        self._carrier = carrier
        self._workers = workers
        self._texts = texts

    def swap(self, mail: Mail) -> Mail:
        for owner, texts in self._texts.leaving().items():
            if owner == self.number:
                self._texts.own.add(texts)
            else:
                mail[owner].batches[_TEXTS] = packed(texts)[None]
        received = self._carrier.swap(mail)
        for message in received:
            for texts in _enclosed(message):
                self._texts.own.add(texts)
        return received

    def trade(self, mail: Mail, senders: Collection[int], patience: float | None) -> Mail:
        # No text is made on the way, so there is none to tell.
        return self._carrier.trade(mail, senders, patience)

    def readable(self, batches: Iterator[list[Lane]], coded: Sequence[int]) -> Iterator[list[Lane]]:
        """Yields batches when the texts of their codes, which are in the columns `coded`, are here. All workers take
        part in it until nobody has another batch."""
        if not coded:
            yield from batches
            return
        while True:
            batch = next(batches, None)
            asked = [Message(sums=(int(batch is not None),)) for _ in range(self._workers)]
            for owner, codes in self._texts.wanted([batch[column] for column in coded] if batch else ()).items():
                asked[owner].batches[0] = codes[None]
            received = self.swap(asked)
            if added(received) == (0,):
                return
            answers = [Message() for _ in range(self._workers)]
            for peer, message in enumerate(received):
                if 0 in message.batches:
                    answers[peer].batches[_TEXTS] = packed(self._texts.own.decode(message.batches[0][0]))[None]
            for message in self._carrier.swap(answers):
                for texts in _enclosed(message):
                    self._texts.learn(texts)
            if batch is not None:
                yield batch

    def readable_alone(self, batches: Iterator[list[Lane]], coded: Sequence[int]) -> Iterator[list[Lane]]:
        """Yields the rows whose codes can be read without the other workers."""
        for batch in batches:
            if not coded:
                yield batch
                continue
            can_read = np.logical_and.reduce([self._texts.can_read(batch[column]) for column in coded])
            if can_read.any():
                yield [lane[can_read] for lane in batch]


TextExchange = ToldTexts | OwnedTexts


def _others(number: int, workers: int) -> list[int]:
    return [peer for peer in range(workers) if peer != number]


def _enclosed(message: Message) -> Iterator[pa.LargeStringArray]:
    """Yields the texts that came with a message, and takes them out of it."""
    words = message.batches.pop(_TEXTS, None)
    if words is not None:
        try:
            yield from unpacked(np.ascontiguousarray(words[0]))
        except ValueError as error:
            raise PeerLost("a frame with broken texts") from error
