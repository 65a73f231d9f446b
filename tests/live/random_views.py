"""Live views of random programs, whose answers are compared after each random transaction with those from scratch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

from emberlog.config import Limits
from emberlog.database import Database
from emberlog.diagnostics import EmberlogError
from emberlog.io.local_relation import LocalRelation
from emberlog.live.view import Change, LiveView
from emberlog.streams.steps.culprits import VALUE_FAULTS
from tests.programs import is_limit

Row: TypeAlias = "tuple[Any, ...]"
Rows: TypeAlias = "dict[str, Counter[Row]]"
Answers: TypeAlias = "Mapping[str, frozenset[Row]]"
FromScratch: TypeAlias = "Callable[[Mapping[str, Sequence[Row]]], Answers | None]"
"""Returns the answers for these inputs, and None where there is an error instead."""

LIMITS = Limits(max_iterations=300, max_rows=200_000, timeout=60)
MOST_OPERATIONS = 6


class TooLong(Exception):
    """The program may have no end on these rows, which says nothing about views."""


@dataclass(frozen=True, slots=True)
class Pools:
    """The values to make rows of, by relation and column."""

    columns: Mapping[str, Sequence[Sequence[Any]]]

    def row(self, random: Random, relation: str) -> Row:
        return tuple(random.choice(values) for values in self.columns[relation])


def typed(rows: Iterable[Row]) -> frozenset[Row]:
    """Rows in which 1, 1.0 and true are three values."""
    return frozenset(tuple(map(repr, row)) for row in rows)


def check_view(
    text: str,
    registered: Mapping[str, Sequence[Row]],
    pools: Pools,
    from_scratch: FromScratch,
    random: Random,
    transactions: int,
    shown: Callable[[Row], Row] = lambda row: row,
) -> int:
    """Compares a view with the answers from scratch, at first and after each transaction; returns how many there
    were. `shown` brings a row of a relation into the form of the answers."""
    db: Database[LocalRelation] = Database(engine="local")
    rows: Rows = {name: Counter(given) for name, given in registered.items()}
    for name, given in registered.items():
        db[name] = list(given)
    before = from_scratch(_lists(rows))
    try:
        live = db.live(text, limits=LIMITS)
    except EmberlogError as error:
        _refuse_limits(error)
        assert before is None, f"an error in place of answers: {error}\n{_told(text, rows)}"
        return 0
    assert before is not None, f"no error\n{_told(text, rows)}"
    _compare(live, before, shown, text, rows, "at first")
    made = 0
    for number in range(transactions):
        planned = {name: Counter(counted) for name, counted in rows.items()}
        operations = [_operation(random, planned, pools) for _ in range(random.randint(1, MOST_OPERATIONS))]
        wants_abort, fails = random.random() < 0.05, random.random() < 0.1
        after = from_scratch(_lists(planned))
        story = f"transaction {number}: {operations}"
        try:
            with _failing(live, random) if fails else nullcontext(), live.transaction() as transaction:
                for name, *arguments in operations:
                    getattr(transaction, name)(*arguments)
                if wants_abort:
                    raise _Abort
        except _Abort:
            after, planned = before, rows
        except EmberlogError as error:
            _refuse_limits(error)
            assert {one.code for one in error.diagnostics} <= VALUE_FAULTS, error
            assert after is None, f"an error in place of answers: {error}\n{_told(text, rows)}\n{story}"
            after, planned = before, rows
        else:
            assert after is not None, f"no error\n{_told(text, rows)}\n{story}"
            _compare_changes(live.changes, before, after, shown, f"{_told(text, rows)}\n{story}")
        _compare(live, after, shown, text, rows, story)
        before, rows = after, planned
        made += 1
    return made


class _Abort(Exception):
    """Ends a transaction."""


@contextmanager
def _failing(live: LiveView, random: Random) -> Iterator[None]:
    """Lets a commit end behind the update of one stratum, if that comes to its turn: all of it is taken back."""
    if not live._maintainers:
        yield
        return
    maintainer = random.choice(live._maintainers)
    update = maintainer.update

    def fail() -> None:
        update()
        raise _Abort

    maintainer.update = fail  # type: ignore[method-assign]
    try:
        yield
    finally:
        maintainer.update = update  # type: ignore[method-assign]


def _refuse_limits(error: EmberlogError) -> None:
    if is_limit(error):
        raise TooLong


def _operation(random: Random, rows: Rows, pools: Pools) -> tuple[Any, ...]:
    """Chooses what a transaction does, and does it to the rows."""
    name = random.choice(sorted(rows))
    own = rows[name]
    some = random.randint(1, 4)
    match random.choices(("insert", "delete", "update", "replace"), (45, 40, 12, 3))[0]:
        case "insert":
            given = [pools.row(random, name) for _ in range(some)]
            own.update(given)
            return "insert", name, given
        case "delete":
            there = sorted(own, key=repr)
            given = [
                random.choice(there) if there and random.random() < 0.9 else pools.row(random, name)
                for _ in range(some)
            ]
            for row in given:
                _take(own, row)
            return "delete", name, given
        case "update":
            there = sorted(own, key=repr)
            old = random.choice(there) if there else pools.row(random, name)
            new = pools.row(random, name)
            if _take(own, old):
                own[new] += 1
            return "update", name, old, new
        case _:
            given = [pools.row(random, name) for _ in range(some)]
            own.clear()
            own.update(given)
            return "replace", name, given


def _take(rows: Counter[Row], row: Row) -> bool:
    if not rows[row]:
        return False
    rows[row] -= 1
    rows += Counter()  # which leaves out what is not there
    return True


def _lists(rows: Rows) -> dict[str, list[Row]]:
    return {name: [row for row, times in counted.items() if times > 0] for name, counted in rows.items()}


def _compare(live: LiveView, expected: Answers, shown: Callable[[Row], Row], text: str, rows: Rows, story: str) -> None:
    for name, facts in expected.items():
        found, wanted = typed(map(shown, live[name].collect())), typed(facts)
        assert found == wanted, (
            f"{name}: lacks {sorted(wanted - found)}, has {sorted(found - wanted)}\n{_told(text, rows)}\n{story}\n"
            f"{live.explain()}"
        )


def _compare_changes(
    changes: Mapping[str, Change], before: Answers, after: Answers, shown: Callable[[Row], Row], story: str
) -> None:
    for name, change in changes.items():
        old, new = typed(before[name]), typed(after[name])
        found = typed(map(shown, change.added.collect()))
        assert found == new - old, f"{name} added {sorted(found)}, not {sorted(new - old)}\n{story}"
        found = typed(map(shown, change.removed.collect()))
        assert found == old - new, f"{name} removed {sorted(found)}, not {sorted(old - new)}\n{story}"


def _told(text: str, rows: Rows) -> str:
    given = "\n".join(f"{name} = {dict(counted)}" for name, counted in rows.items())
    return f"{text}\n{given}"
