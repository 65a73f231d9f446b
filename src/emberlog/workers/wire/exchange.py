"""Carries mail between workers: everyone's message to everyone, all at the same time.

Sending and receiving go on together, so nobody waits for somebody who waits for him. Where workers are connected host
by host, mail goes in two steps: in bundles to a partner on the other host, who hands them on. What everybody only adds
up is added before it is handed on.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Collection, Mapping

from emberlog.workers.kernels.tuning import MOST_QUEUED
from emberlog.workers.wire.link import Link
from emberlog.workers.wire.messages import Mail, Message, added
from emberlog.workers.wire.routes import Letters, Routes, bundled, letters_of, unbundled

_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class Exchange:
    """Holds this worker's connections to others."""

    def __init__(self, number: int, connections: Mapping[int, socket.socket], routes: Routes | None = None) -> None:
        """Without `routes` everyone is connected with everyone."""
        self.number = number
        self.connections = dict(connections)
        self.routes = routes or Routes(number, ("",) * (len(connections) + 1))
        self.peers = self.routes.peers
        """All other workers, however mail gets there."""
        self.bytes_sent = 0
        """What is handed on for others is counted, too."""
        self._selector = selectors.DefaultSelector()
        self._links = {peer: Link(peer, one, self._selector) for peer, one in self.connections.items()}
        self._near = frozenset((number, *self.routes.locals))

    # In rounds

    def swap(self, mail: Mail) -> Mail:
        """Sends everyone his message; gives what everyone has for this worker."""
        if self.routes.is_direct:
            found = self._carry({peer: mail[peer] for peer in self.peers}, self.peers)
        else:
            found = self._swap_by_partners(mail)
        found[self.number] = mail[self.number]
        return [found[worker] for worker in range(len(mail))]

    def _swap_by_partners(self, mail: Mail) -> dict[int, Message]:
        own, routes, sums = self.number, self.routes, mail[self.number].sums
        abroad = {partner: bundled([letters_of(own, mail, group)], sums) for partner, group in routes.abroad.items()}
        within: dict[int, list[Letters]] = {local: [letters_of(own, mail, (local,))] for local in routes.locals}
        found = {peer: Message() for peer in self.peers}
        from_abroad = self._carry(abroad, routes.served)
        for peer, bundle in from_abroad.items():
            for origin, shared, listed in unbundled(bundle, {peer}, self._near):
                found[origin] = listed.get(own) or Message(shared)
                for local, letters in within.items():
                    letters.append((origin, shared, {local: listed[local]} if local in listed else {}))
            found[peer].sums = bundle.sums
        sums = added([mail[own], *from_abroad.values()])
        for peer, bundle in self._carry({one: bundled(all_, sums) for one, all_ in within.items()}, within).items():
            for origin, shared, listed in unbundled(bundle, routes.origins[peer], {own}):
                found[origin] = listed.get(own) or Message(shared)
            found[peer].sums = bundle.sums
        return found

    def _carry(self, outgoing: Mapping[int, Message], senders: Collection[int]) -> dict[int, Message]:
        """Sends a message to each of some neighbours, and gives the next one of each of some."""
        received: dict[int, Message] = {}
        for peer, message in outgoing.items():
            self._queue(peer, message)
        unsent = {peer for peer in outgoing if self._links[peer].queued}
        missing = set(senders)
        for peer in senders:
            link = self._links[peer]
            if link.has_ahead and (ahead := link.receive()) is not None:
                received[peer] = ahead
                missing.remove(peer)
        for peer in missing:
            self._links[peer].watch(_READ)
        for peer in unsent:
            self._links[peer].watch(_READ | _WRITE)
        while missing or unsent:
            for key, events in self._selector.select():
                link, peer = key.data, key.data.peer
                if events & _WRITE:
                    link.send()
                if not link.queued:
                    unsent.discard(peer)
                if events & _READ and peer in missing:
                    if (complete := link.receive()) is not None:
                        received[peer] = complete
                        missing.remove(peer)
                    link.watch(_READ | (_WRITE if link.queued else 0))
                elif events & _READ:  # it is a round ahead
                    link.watch((_READ if link.read_ahead() else 0) | (_WRITE if link.queued else 0))
                else:
                    link.watch(_READ | (_WRITE if link.queued else 0))
        return received

    # Without rounds

    def trade(self, mail: Mail, senders: Collection[int], patience: float | None) -> Mail:
        """Sends messages that have numbers, and gives the next message of each of the senders, empty where there is
        none. Where nobody has any, it waits for one, but no longer than so many seconds; what cannot be sent at once
        goes on its way with the next call, as does what is handed on for others."""
        own, routes = self.number, self.routes
        for peer in routes.locals:
            if mail[peer].numbers:
                self._queue(peer, mail[peer] if routes.is_direct else bundled([(own, (), {peer: mail[peer]})]))
        for partner, group in routes.abroad.items():
            # All for one host in one frame: who has the last message for himself has all that he is to hand on.
            listed = {one: mail[one] for one in group if mail[one].numbers}
            if listed:
                self._queue(partner, bundled([(own, (), listed)]))
        received = [Message() for _ in mail]
        received[own] = mail[own]
        _Trading(self, received, senders).go_on(0.0 if mail[own].numbers else patience)
        return received

    def flush(self) -> None:
        """Sends what is queued; all connections are open again for everything afterwards."""
        while any(link.queued for link in self._links.values()):
            for link in self._links.values():
                link.watch(_WRITE if link.queued else 0)
            for key, _ in self._selector.select():
                key.data.send()
        for link in self._links.values():
            link.watch(_READ)

    def _queue(self, peer: int, message: Message) -> None:
        link = self._links[peer]
        self.bytes_sent += link.put(message)
        link.send()

    def stop(self) -> None:
        """Tells the others that this worker has no memory left; they tell those whom they know."""
        for link in self._links.values():
            link.say_goodbye()

    def close(self) -> None:
        self._selector.close()
        for link in self._links.values():
            link.close()


class _Trading:
    """Is one call of `trade`."""

    def __init__(self, exchange: Exchange, received: Mail, senders: Collection[int]) -> None:
        self._exchange = exchange
        self._links = exchange._links
        self._received = received
        self._has_any = bool(received[exchange.number].numbers)
        self._has_delivered: set[int] = set()
        """Neighbours from whom something came in this call: the next is for the next one."""
        routes = exchange.routes
        origins = routes.origins
        self._heard = {peer for peer in self._links if any(origin in senders for origin in origins[peer])}
        """Neighbours by whom one of the senders may say something."""
        self._served = frozenset(routes.served)
        self._is_full = False

    def go_on(self, patience: float | None) -> None:
        until = None if patience is None else time.monotonic() + patience
        for link in self._links.values():
            if link.queued:
                link.send()
            self._watch(link)
        while True:
            is_behind = self._look_at_queues()
            left = None if until is None or is_behind else max(0.0, until - time.monotonic())
            # What was read ahead is not seen by the selector.
            ready = [(link, _READ) for link in self._links.values() if link.has_ahead and self._reads(link)]
            if not ready:
                ready = [(key.data, events) for key, events in self._exchange._selector.select(left)]
            for link, events in ready:
                if events & _WRITE:
                    link.send()
                if events & _READ and (message := link.receive()) is not None:
                    self._deliver(link, message)
                self._watch(link)
            if self._has_any or (not is_behind and not ready and left is not None):
                return

    def _look_at_queues(self) -> bool:
        """Tells whether this worker sends much faster than others read: it waits for them then. Whoever waits reads, so
        they cannot all wait."""
        queued = sum(link.queued for link in self._links.values())
        # What others have to hand on is not taken from them while this worker cannot hand it on either. Mail within a
        # host always gets on, so mail between hosts does.
        is_full = bool(self._served) and queued > MOST_QUEUED and self._local_queue() > MOST_QUEUED
        if is_full != self._is_full:
            self._is_full = is_full
            for peer in self._served:
                self._watch(self._links[peer])
        return queued > MOST_QUEUED

    def _local_queue(self) -> int:
        return sum(self._links[peer].queued for peer in self._exchange.routes.locals)

    def _reads(self, link: Link) -> bool:
        if link.peer not in self._heard or link.peer in self._has_delivered:
            return False
        return not (self._is_full and link.peer in self._served)

    def _watch(self, link: Link) -> None:
        link.watch((_READ if self._reads(link) else 0) | (_WRITE if link.queued else 0))

    def _deliver(self, link: Link, message: Message) -> None:
        exchange = self._exchange
        if exchange.routes.is_direct:
            self._take(link, link.peer, message)
            return
        if link.peer in self._served:
            letters = unbundled(message, {link.peer}, exchange._near)
        else:
            letters = unbundled(message, exchange.routes.origins[link.peer], {exchange.number})
        for origin, _, listed in letters:
            for receiver, content in listed.items():
                if receiver == exchange.number:
                    self._take(link, origin, content)
                else:
                    exchange._queue(receiver, bundled([(origin, (), {receiver: content})]))
                    self._watch(self._links[receiver])

    def _take(self, link: Link, origin: int, message: Message) -> None:
        self._received[origin] = message
        self._has_delivered.add(link.peer)
        self._has_any = self._has_any or bool(message.numbers)
