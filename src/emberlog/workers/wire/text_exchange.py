"""Carries mail between workers together with the texts that its receivers may not know: whoever gets a code can read it
back, and two texts with one hash meet before their codes do."""

from __future__ import annotations

import socket
from collections.abc import Collection, Mapping

from emberlog.workers.store.texts import TextTable, packed, unpacked
from emberlog.workers.wire.exchange import Exchange, PeerLost
from emberlog.workers.wire.messages import Mail, Message

_TEXTS = 1 << 20
"""The channel of texts, behind those of relations."""


class TextExchange(Exchange):
    def __init__(self, number: int, connections: Mapping[int, socket.socket], texts: TextTable) -> None:
        super().__init__(number, connections)
        self._texts = texts
        self._told = dict.fromkeys(self.peers, 0)
        """How many of this worker's texts each of the others knows, in the order in which they came here."""

    def swap(self, mail: Mail) -> Mail:
        self._enclose(mail, self.peers)
        received = super().swap(mail)
        for peer in self.peers:
            self._learn(received[peer])
        # Everyone has heard everything from everyone: what is new here is known to the others, too.
        self._told = dict.fromkeys(self.peers, self._texts.count)
        return received

    def trade(self, mail: Mail, senders: Collection[int], patience: float | None) -> Mail:
        self._enclose(mail, [peer for peer in self.peers if mail[peer].numbers])
        received = super().trade(mail, senders, patience)
        for peer in self.peers:
            # The others may not have heard of it: it is passed on with what they get from here.
            knows_all = self._told[peer] == self._texts.count
            self._learn(received[peer])
            if knows_all:
                self._told[peer] = self._texts.count
        return received

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
        words = message.batches.pop(_TEXTS, None)
        if words is not None:
            try:
                for texts in unpacked(words[0]):
                    self._texts.add(texts)
            except ValueError as error:
                raise PeerLost("a frame with broken texts") from error
