"""A live view: the answers of a program, which follow as facts are inserted and deleted."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType

from emberlog.config import Limits
from emberlog.deadline import within
from emberlog.diagnostics import fail, nearest
from emberlog.engines.interpreter.interpreter import asked_facts
from emberlog.io.local_relation import LocalRelation
from emberlog.live.maintain.maintainer import Maintainer
from emberlog.live.methods import maintainers
from emberlog.live.rows import read_rows, rows_with_repeats
from emberlog.live.searches.facts import Facts, Relations
from emberlog.provenance.asked import Asked
from emberlog.provenance.explanation import Proof, Refutation
from emberlog.result import Result
from emberlog.semantics.model import CheckedProgram, Fact, Relation

Ask = Callable[[Mapping[str, LocalRelation]], Result[LocalRelation]]
"""Runs the program with provenance on relations by the names that they are registered under."""


@dataclass(frozen=True, slots=True)
class Change:
    """Holds what a transaction did to a relation."""

    added: LocalRelation
    removed: LocalRelation

    def __bool__(self) -> bool:
        return bool(len(self.added) or len(self.removed))

    def __repr__(self) -> str:
        return f"Change(+{len(self.added):,} -{len(self.removed):,}: {self.added.header})"


Changes = Mapping[str, Change]
Subscriber = Callable[[Changes], object]


class LiveView(Mapping[str, LocalRelation]):
    """The relations that a program gives, kept up to date by transactions. Several threads can use it: a transaction
    has it for itself until it ends."""

    def __init__(
        self,
        checked: CheckedProgram,
        inputs: Mapping[str, LocalRelation],
        limits: Limits,
        ask: Ask,
        *,
        plain_times: bool,
        sets: bool,
    ) -> None:
        self._checked = checked
        self._limits = limits
        self._ask = ask
        self._plain_times = plain_times
        self._sets = sets
        self._lock = threading.RLock()
        self._transaction: Transaction | None = None
        self._is_closed = False
        self._subscribers: list[Subscriber] = []
        self._telling = threading.RLock()
        self._is_telling = False
        self._untold: deque[Changes] = deque()
        """The changes of transactions that subscribers have not heard of."""
        self._facts = Relations()
        with within(limits.timeout):
            for name, relation in inputs.items():
                rows = self._facts[name].rows
                for row in relation.facts if sets else rows_with_repeats(relation):
                    rows[row] = rows.get(row, 0) + 1
            self._maintainers: list[Maintainer] = []
            for maintainer in maintainers(checked, self._facts, limits):
                maintainer.begin()
                self._maintainers.append(maintainer)
        self._inputs = {checked.relations[name].data_name: checked.relations[name] for name in inputs}
        asked = {query.relation for query in checked.queries}
        self._outputs = [name for name in checked.outputs if not asked or name in asked]
        self._answers: dict[str, LocalRelation] = {}
        self._changes: Changes = {name: Change(*(self._relation(name, ()),) * 2) for name in self._outputs}
        self._result: Result[LocalRelation] | None = None

    # --- what is there ----------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> LocalRelation:
        with self._in_use():
            if name not in self._outputs:
                guess = nearest(name, self._outputs)
                hint = f"did you mean `{guess}`?" if guess else f"it has {', '.join(self._outputs)}"
                raise fail("DL401", f"the program has no output `{name}`", None, hint)
            if name not in self._answers:
                # While a transaction is under way nothing has changed yet.
                self._answers[name] = self._relation(name, self._asked_of(name, self._facts[name]))
            return self._answers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._outputs)

    def __len__(self) -> int:
        return len(self._outputs)

    @property
    def changes(self) -> Changes:
        """What the last transaction added to each relation, and removed."""
        with self._in_use():
            return self._changes

    def __repr__(self) -> str:
        return f"LiveView({', '.join(self._outputs)})"

    def explain(self) -> str:
        """How each relation follows changes, and why some are computed anew."""
        kept = "each row once" if self._sets else "rows counted"
        lines = [f"  {name}: input, {kept}" for name in self._inputs]
        written = [one for one in self._maintainers if one.relations[0] in self._checked.relations]  # no rounds
        lines += [f"  {', '.join(one.relations)}: {one.method}" for one in written]
        return "\n".join(("how it follows changes", *lines))

    # --- provenance -------------------------------------------------------------------------------------------------

    def why(self, relation: str, fact: Asked, *, depth: int | None = None, contributions: int = 10) -> Proof:
        """A smallest proof of a fact, as the facts are now. None in the fact is any value."""
        return self._run().why(relation, fact, depth=depth, contributions=contributions)

    def why_not(self, relation: str, fact: Asked, *, depth: int = 1) -> Refutation:
        """Why a fact is not there, as the facts are now."""
        return self._run().why_not(relation, fact, depth=depth)

    def _run(self) -> Result[LocalRelation]:
        """Runs the program once for questions; the next transaction ends what this is good for."""
        with self._in_use():
            if self._result is None:
                self._result = self._ask(
                    {name: self._relation(one.name, self._facts[one.name]) for name, one in self._inputs.items()}
                )
            return self._result

    # --- changes ----------------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Begins a transaction; the end of the `with` block commits it. An exception, or a fault of the program on the
        new facts, takes back all of it: the view stays as it was."""
        with self._in_use():
            if self._transaction is not None:
                raise fail(
                    "DL448",
                    "a transaction of this live view is under way",
                    None,
                    "end it before the next one begins: there is one at a time",
                )
            self._transaction = transaction = Transaction(self)
            try:
                yield transaction
                changes = self._commit(transaction)
            finally:
                self._transaction = None
                transaction._is_over = True
            self._untold.append(changes)
        self._tell()

    def _tell(self) -> None:
        """Tells subscribers of transactions in the order of commits: also where threads take turns, and where a
        subscriber makes a transaction itself. The view is free meanwhile."""
        with self._telling:
            if self._is_telling:
                return  # a subscriber has made this transaction, and who tells it of another one goes on with this
            self._is_telling = True
            try:
                while self._untold:
                    changes = self._untold.popleft()
                    for subscriber in tuple(self._subscribers):
                        subscriber(changes)
            finally:
                self._is_telling = False

    def subscribe(self, callback: Subscriber) -> Callable[[], None]:
        """Lets a function hear of the changes of every transaction, once it is committed. Returns what ends that."""
        with self._in_use():
            self._subscribers.append(callback)

        def unsubscribe() -> None:
            with self._lock:
                if callback in self._subscribers:
                    self._subscribers.remove(callback)

        return unsubscribe

    def _commit(self, transaction: Transaction) -> Changes:
        try:
            with within(self._limits.timeout):
                for name, rows in transaction._pending.items():
                    self._put(self._facts[name], rows)
                for maintainer in self._maintainers:
                    if any(self._facts[name].is_changed for name in maintainer.reads):
                        maintainer.update()
                changes = {
                    name: Change(
                        self._relation(name, self._asked_of(name, self._facts[name].come)),
                        self._relation(name, self._asked_of(name, self._facts[name].gone)),
                    )
                    for name in self._outputs
                }
        except BaseException:
            for maintainer in self._maintainers:
                maintainer.abort()
            for facts in self._facts.values():
                facts.abort()
            raise
        for name, change in changes.items():
            if change:
                self._answers.pop(name, None)
        for maintainer in self._maintainers:
            maintainer.commit()
        for facts in self._facts.values():
            facts.commit()
        self._changes = changes
        self._result = None
        return changes

    def _put(self, facts: Facts, rows: Mapping[Fact, int]) -> None:
        """Lets an input have rows so many times."""
        for row, times in rows.items():
            before = facts.rows.get(row, 0)
            if before == times:
                continue
            if not before:
                facts.add(row, times)
            else:
                facts.renumber(row, times)
                if not times:
                    facts.remove(row)

    def _input(self, name: str) -> Relation:
        """Returns the input that is registered under a name."""
        if name in self._inputs:
            return self._inputs[name]
        if name in self._checked.relations:
            hint = f"change what it is derived from: {', '.join(self._inputs) or 'nothing, the program has no inputs'}"
            raise fail("DL449", f"`{name}` is not an input of this live view", None, hint)
        guess = nearest(name, self._inputs)
        hint = f"did you mean `{guess}`?" if guess else f"its inputs are {', '.join(self._inputs)}"
        raise fail("DL401", f"the live view has no input `{name}`", None, hint)

    # --- the end ----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Gives back its memory. It cannot be used any more."""
        with self._lock:
            if self._transaction is not None:
                raise fail("DL448", "a transaction of this live view is under way", None, "end it first")
            self._is_closed = True
            self._facts.clear()
            self._maintainers.clear()
            self._answers.clear()
            self._subscribers.clear()
            self._result = None

    def __enter__(self) -> LiveView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        with self._lock:
            if self._is_closed:
                raise fail("DL448", "this live view was closed", None, "make another one: db.live(…)")
            yield

    # --- relations --------------------------------------------------------------------------------------------------

    def _asked_of(self, name: str, facts: Iterable[Fact]) -> Iterable[Fact]:
        queries = [query for query in self._checked.queries if query.relation == name]
        return asked_facts(queries, frozenset(facts)) if queries else facts

    def _relation(self, name: str, facts: Iterable[Fact]) -> LocalRelation:
        columns = self._checked.relations[name].columns
        names, types = [column.name for column in columns], [column.type for column in columns]
        return LocalRelation(names, types, frozenset(facts), plain_times=self._plain_times)


class Transaction:
    """Collects changes of inputs, which take effect together when the transaction is committed."""

    def __init__(self, view: LiveView) -> None:
        self._view = view
        self._pending: dict[str, dict[Fact, int]] = {}
        """How often each row will be there, by relation."""
        self._is_over = False

    def insert(self, relation: str, rows: object) -> int:
        """Inserts rows, given in any form that can be registered. Returns how many there are more."""
        own, found = self._read(relation, rows)
        pending = self._pending_of(own)
        inserted = 0
        for row in found:
            times = self._times(own, row)
            if not (self._view._sets and times):
                pending[row] = times + 1
                inserted += 1
        return inserted

    def delete(self, relation: str, rows: object) -> int:
        """Deletes rows, of those that are there several times one for each that is given. Returns how many were there;
        the others are no error."""
        own, found = self._read(relation, rows)
        pending = self._pending_of(own)
        deleted = 0
        for row in found:
            times = self._times(own, row)
            if times:
                pending[row] = times - 1
                deleted += 1
        return deleted

    def update(self, relation: str, old: object, new: object) -> int:
        """Puts a row in the place of another, `update("edge", (1, 2), (1, 3))`. Returns 1, or 0 if the old row was not
        there: then nothing changes."""
        self._read(relation, [new])  # says what is wrong with it, whether the old one is there or not
        deleted = self.delete(relation, [old])
        if deleted:
            self.insert(relation, [new])
        return deleted

    def replace(self, relation: str, rows: object) -> None:
        """Lets the relation have these rows and no others."""
        own, found = self._read(relation, rows)
        times: dict[Fact, int] = dict.fromkeys(self._view._facts[own.name].rows, 0)
        times.update(dict.fromkeys(self._pending_of(own), 0))
        for row in found:
            times[row] = 1 if self._view._sets else times.get(row, 0) + 1
        self._pending[own.name] = times

    def _read(self, relation: str, rows: object) -> tuple[Relation, Iterable[Fact]]:
        if self._is_over:
            raise fail("DL448", "this transaction is over", None, "begin another one: with live.transaction() as t: …")
        own = self._view._input(relation)
        return own, read_rows(own, rows)

    def _pending_of(self, relation: Relation) -> dict[Fact, int]:
        return self._pending.setdefault(relation.name, {})

    def _times(self, relation: Relation, row: Fact) -> int:
        known = self._pending_of(relation).get(row)
        return self._view._facts[relation.name].rows.get(row, 0) if known is None else known
