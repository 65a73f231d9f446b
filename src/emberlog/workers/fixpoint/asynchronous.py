"""Runs a recursion that only grows or improves without rounds: each worker to its local fixpoint, and on as mail comes.

What belongs to others is combined until it is shipped: when there is nothing left to do here, or when it has become
much or old. docs/async.md tells why the answer is that of the rounds, and why nobody stops too early.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from enum import IntEnum
from functools import partial
from typing import Protocol

import numpy as np

from emberlog.logical.nodes import Version
from emberlog.workers.fixpoint.chains import Batch, ChainRunner
from emberlog.workers.fixpoint.growing import GrowingWorker
from emberlog.workers.fixpoint.shipping import Installing, Outbox
from emberlog.workers.fixpoint.termination import Detector, Token
from emberlog.workers.fixpoint.worker import FOR_ALL, WorkerTask, as_batch
from emberlog.workers.kernels.hashing import rows_of_owner
from emberlog.workers.kernels.lanes import Lane, Lanes, joined
from emberlog.workers.kernels.tuning import BATCH, MAIL_SECONDS, SHIP_ROWS, SHIP_SECONDS
from emberlog.workers.plan.rules import Atom
from emberlog.workers.recover.checkpoints import SavedState
from emberlog.workers.recover.store_states import refill_relation
from emberlog.workers.store.indexes import Matches
from emberlog.workers.store.joined import Contribution
from emberlog.workers.store.stores import StaticStore
from emberlog.workers.wire.messages import Mail, Message, Progress, Running


class Kind(IntEnum):
    """Names the kinds of messages; the first number of a message is its kind."""

    WORK = 1
    """Contributions, copies and valuations; behind it how many parcels of copies the sender has, and how many facts."""
    TOKEN = 2
    STOP = 3
    """The last message of a worker: what comes behind it belongs to other work."""


class AsyncWorker(GrowingWorker):
    """Runs without rounds. Mail has a message without numbers for a worker that gets nothing, in both directions."""

    def __init__(
        self, task: WorkerTask, statics: Mapping[str, StaticStore], report: Callable[[Progress], None] = lambda _: None
    ) -> None:
        super().__init__(task, statics, report)
        self.patience: float | None = 0.0
        """How many seconds it can wait for a message now; None for ever."""
        self.listens_to = {number for number in range(task.workers) if number != task.number}
        """Workers that may still send something."""
        self.iteration = 0
        self._detector = Detector.of(task.number, task.workers)
        self._is_resting = False
        self._is_over = False
        self._has_said_stop = False
        self._outboxes = {
            relation.name: Outbox(partial(self.new_combiner, relation)) for relation in self.program.relations
        }
        self._installing = Installing(task.workers)
        self._driving: list[tuple[str, Lanes]] = []
        self._copied = {name for name, _ in self.copies}
        self._first_copy = len(self.channels)
        self._first_move = self._first_copy + len(self.copies)
        self._moves = [
            (runner, position)
            for runner in self.rules
            for position in range(len(runner.chain.steps))
            if runner.next_send(position) == position
        ]
        self._leaving: dict[int, list[tuple[Lanes, Lane | None]]] = {}
        """Copies and valuations for others, by channel: rows, and the values that say where to, if not to all."""
        self._arrived: list[tuple[ChainRunner, int, Lanes]] = []
        """Valuations from others, with the step that they have come to."""
        self._totals = [0] * task.workers
        """How many facts everyone has, as far as we know."""
        self._shipped_at = time.monotonic()

    def run(self) -> Running:
        self._distribute(self.seed_contributions())
        for moved in self.task.moved_states:
            self._go_on_from(moved, is_mine=False)
        saved = self.task.saved_state
        if saved is not None:
            self._go_on_from(saved, is_mine=True)
        while True:
            if self._has_work:
                self._work()
                mail = self._shipment() if self._is_due else self.empty_mail()
            elif self._has_mail:
                mail = self._shipment()
            else:
                mail = self._at_rest()
                if self._is_resting and self._is_over and not self.listens_to:
                    return
            received = yield mail
            self._take(received)

    @property
    def is_alone(self) -> bool:
        return True

    def _go_on_from(self, saved: SavedState, *, is_mine: bool) -> None:
        """Refills the relations from a checkpoint. What was known is true, whenever each worker wrote it down: it is
        all new now, and rules fill the gaps. Of one that is not its own a worker takes the rows that it owns."""
        for name, relation in self.relations.items():
            if is_mine:
                refill_relation(saved, name, relation)
            else:
                refill_relation(saved, name, relation, self.saving.is_mine(name, relation))
        self.iteration = max(self.iteration, saved.iteration)

    # At work

    @property
    def _has_work(self) -> bool:
        return bool(self._driving or self._arrived) or any(relation.fresh for relation in self.relations.values())

    def _work(self) -> None:
        """Runs local rounds until it is time to look for mail, or to send some."""
        until = time.monotonic() + MAIL_SECONDS
        while True:
            self._local_round()
            if self.task.is_checkpoint_due(self.iteration):
                self.saving.save(self.iteration)
            if not self._has_work or self._is_due or time.monotonic() >= until:
                return

    def _local_round(self) -> None:
        self.iteration += 1
        self.begin_iteration(self.iteration)
        changed = self.advance()
        self._copy_delta()
        self._distribute(self._contributions())
        self._driving, self._arrived = [], []
        own = self._totals[self.task.number] = self.total()
        self.report(Progress(self.iteration, changed, own))
        self.check_limits(Progress(self.iteration, changed, sum(self._totals)))

    def _contributions(self) -> Iterator[tuple[str, Contribution]]:
        """Yields what the rules make of the delta and of the valuations that came. Those that belong here go on at
        once."""
        under_way = deque((runner, runner.first_step, runner.start()) for runner in self.rules)
        under_way += ((runner, step, _alone(runner, step - 1, lanes)) for runner, step, lanes in self._arrived)
        while under_way:
            runner, begin, batches = under_way.popleft()
            send = runner.next_send(begin)
            if send is None:
                yield from self.heads(runner, begin, batches)
                continue
            lanes, route = self.leaving(runner, begin, send, batches)
            channel = self._first_move + self._moves.index((runner, send))
            for_owner, for_all = self.divided(runner.send(send), lanes, route)
            stays = self._keep_own(channel, *for_owner)
            if for_all is not None:
                stays = joined([stays, self._keep_own(channel + FOR_ALL, for_all, None)], len(for_all))
            if stays.shape[1]:
                under_way.append((runner, send + 1, _alone(runner, send, stays)))

    def _distribute(self, contributions: Iterable[tuple[str, Contribution]]) -> None:
        """Contributions to facts that are here are entered, those of others wait to be shipped."""
        if self.task.workers == 1:
            for name, contribution in contributions:
                self.keep(self.relations[name], contribution)
            return
        for name, lanes in self.combined(contributions):
            owner = self.partitioning.owners(self.route(name, lanes))
            own = rows_of_owner(lanes, owner, self.task.number)
            self.relations[name].add(own)
            if own.shape[1] < lanes.shape[1]:
                self._outboxes[name].add(np.ascontiguousarray(lanes[:, owner != self.task.number]))

    def _copy_delta(self) -> None:
        """Starts to bring what is new to those who keep it by another column; it drives rules when they have it."""
        for name in self._copied:
            if self.relations[name].store.delta.shape[1]:
                self._installing.hold(name, np.ascontiguousarray(self.relations[name].store.delta))
        for place, ((name, column), copy) in enumerate(self.copies.items()):
            relation = self.relations[name]
            lanes = np.ascontiguousarray(relation.store.delta)
            route = lanes[relation.layout.columns[column].lane]
            copy.store.add(self._keep_own(self._first_copy + place, lanes, route))
            copy.advance()

    def _keep_own(self, channel: int, lanes: Lanes, route: Lane | None) -> Lanes:
        """Returns the rows that belong here; the others, or all of those that go to every worker, leave with the next
        shipment."""
        if route is None:
            if lanes.shape[1] and self.task.workers > 1:
                self._leaving.setdefault(channel, []).append((lanes, None))
            return lanes
        owner = self.partitioning.owners(route)
        is_own = owner == self.task.number
        if not is_own.all():
            self._leaving.setdefault(channel, []).append((lanes[:, ~is_own], route[~is_own]))
        return rows_of_owner(lanes, owner, self.task.number)

    # Sending

    @property
    def _has_mail(self) -> bool:
        """Tells whether something has to be shipped before this worker may rest."""
        is_waiting = bool(self._leaving) or any(outbox.waiting for outbox in self._outboxes.values())
        return is_waiting or self._installing.is_owing or self._installing.has_new

    @property
    def _is_due(self) -> bool:
        if self._installing.is_owing or sum(outbox.waiting for outbox in self._outboxes.values()) > SHIP_ROWS:
            return True
        return self._has_mail and time.monotonic() - self._shipped_at > SHIP_SECONDS

    def _shipment(self) -> Mail:
        """Returns all that waits, and to whom copies are confirmed."""
        mail = self.empty_mail()
        for name, outbox in self._outboxes.items():
            if outbox.waiting:
                lanes = outbox.take()
                self.post(mail, self.channels[name], lanes, self.route(name, lanes))
        for channel, parts in self._leaving.items():
            lanes = joined([lanes for lanes, _ in parts], parts[0][0].shape[0])
            routes = [route for _, route in parts if route is not None]
            self.post(mail, channel, lanes, np.concatenate(routes) if routes else None)
            mail[self.task.number].batches.pop(channel, None)  # what is for all went on here at once
        self._leaving = {}
        installing = self._installing
        for peer, message in enumerate(mail):
            if not message.batches and installing.taken[peer] == installing.told[peer]:
                continue
            if any(self._first_copy <= channel < self._first_move for channel in message.batches):
                installing.sent[peer] += 1
            installing.told[peer] = installing.taken[peer]
            message.numbers = (Kind.WORK, installing.taken[peer], self._totals[self.task.number])
            self._detector = self._detector.sent()
        installing.shipped()
        self._driving += installing.released()
        self.effort.exchanges += any(message.numbers for message in mail)
        self._shipped_at = time.monotonic()
        return mail

    def _at_rest(self) -> Mail:
        """Lets the token go, and waits, because there is nothing to do and nothing to ship."""
        mail = self.empty_mail()
        self._is_over = self._is_over or self._detector.is_over
        if self._is_over and not self._has_said_stop:
            self._has_said_stop = True
            for peer in set(range(self.task.workers)) - {self.task.number}:
                mail[peer].numbers = (Kind.STOP,)
        elif self._detector.token is not None and not self._is_over:
            self._detector, token = self._detector.passed_on()
            mail[self._detector.following].numbers = (Kind.TOKEN, token.balance, int(token.is_stained))
        else:
            self._is_resting = True
            timeout = self.task.limits.timeout
            self.patience = None if timeout is None else max(0.0, self.began + timeout - time.monotonic())
        return mail

    # Receiving

    def _take(self, received: Mail) -> None:
        if self._is_resting and not any(message.numbers for message in received):
            self.check_limits(Progress(max(self.iteration, 1), 0, sum(self._totals)))
        self._is_resting, self.patience = False, 0.0
        for sender, message in enumerate(received):
            match message.numbers:
                case ():
                    pass
                case (Kind.TOKEN, balance, is_stained):
                    self._detector = self._detector.given(Token(balance, bool(is_stained)))
                case (Kind.STOP,):
                    self.listens_to.discard(sender)
                    self._is_over = True
                case (Kind.WORK, confirmed, total):
                    self._detector = self._detector.received()
                    self._installing.confirmed[sender] = confirmed
                    self._totals[sender] = total
                    self._unpack(sender, message)
                case _:
                    raise AssertionError(f"DL901: a message that is none: {message.numbers}")
        self._driving += self._installing.released()

    def _unpack(self, sender: int, message: Message) -> None:
        names, copies = list(self.channels), list(self.copies.values())
        has_copies = False
        for channel, lanes in message.batches.items():
            if channel < self._first_copy:
                self.relations[names[channel]].add(lanes)
            elif channel < self._first_move:
                copies[channel - self._first_copy].store.add(lanes)
                copies[channel - self._first_copy].advance()
                has_copies = True
            else:
                runner, send = self._moves[channel % FOR_ALL - self._first_move]
                self._arrived.append((runner, send + 1, lanes))
        self._installing.taken[sender] += has_copies

    # Reading relations of the recursion

    def started(self, atom: Atom) -> Iterator[list[Lane]]:
        if atom.relation not in self._copied:
            yield from super().started(atom)
            return
        for name, lanes in self._driving:
            if name == atom.relation:
                yield from self.relations[name].in_batches(lanes, BATCH)

    def matches(self, atom: Atom, keys: tuple[int, ...], values: Lanes) -> Iterator[Matches]:
        if self._moves:
            # What is new here may be old elsewhere: a valuation has to find all that is here.
            atom = replace(atom, version=Version.FULL)
        return super().matches(atom, keys, values)


class Trade(Protocol):
    """Carries mail: sends some, and gives the next message of each sender; it waits for one only as long as it may."""

    def __call__(self, mail: Mail, senders: Collection[int], patience: float | None, /) -> Mail: ...


def drive_freely(worker: AsyncWorker, trade: Trade) -> None:
    running = worker.run()
    worker.effort.began()
    mail = next(running, None)
    while mail is not None:
        worker.effort.worked()
        received = trade(mail, worker.listens_to, worker.patience)
        worker.effort.waited()
        try:
            mail = running.send(received)
        except StopIteration:
            mail = None
    worker.effort.worked()


def _alone(runner: ChainRunner, send: int, lanes: Lanes) -> Iterator[Batch]:
    """Valuations behind a Send step."""
    return iter((as_batch(runner.carried(send), lanes),))
