"""Closures: recursions that hand some columns through and take the others along arcs, as a matrix.

The number of derivations of each seed and of each arc is counted, whatever rules they come from. So a transaction is a
few seeds and arcs that come and go, and what follows from them is found without a Python object for each fact.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from emberlog.config import Limits
from emberlog.io.local_relation import LocalRelation
from emberlog.live.maintain.closure_shape import ClosureShape
from emberlog.live.maintain.loading import Loader
from emberlog.live.maintain.maintainer import Maintainer, counted_changes, counter, prepare, read_by
from emberlog.live.maintain.reached import Changes, Pair, Reached
from emberlog.live.maintain.supporting import Supporting
from emberlog.live.maintain.watch import Watch
from emberlog.live.searches.bodies import Body
from emberlog.live.searches.facts import Facts, Key, key_of
from emberlog.logical.nodes import PlannedStratum
from emberlog.semantics.model import Fact

SMALL_MATRIX = 1 << 22
"""Cells that are worth it, however few of them have facts."""
CELLS_PER_FACT = 64
"""How many cells take the memory that one fact takes as a Python object."""

_log = logging.getLogger("emberlog")


class Closing(Maintainer):
    """Keeps a closure up to date as long as a matrix takes less memory than its facts one by one do."""

    def __init__(
        self,
        facts: Mapping[str, Facts],
        own: Facts,
        shape: ClosureShape,
        seeds: Sequence[Body],
        steps: Sequence[Body],
        written: Iterable[Fact],
        limits: Limits,
        loader: Loader,
        stratum: PlannedStratum,
        one_by_one: Callable[[], Supporting],
    ) -> None:
        """`one_by_one` makes what keeps the facts where a matrix is too large."""
        self.relations = (own.name,)
        self.reads = read_by([*seeds, *steps])
        self.method = (
            "a matrix of levels: what loses its support from lower levels goes, and is reached again from what is left"
        )
        self._facts = facts
        self._own = own
        self._shape = shape
        self._seeds, self._steps = seeds, steps
        self._written = written
        self._loader = loader
        self._stratum = stratum
        self._watch = Watch([own], limits)
        self._one_by_one = one_by_one
        self._taken_over: Supporting | None = None
        self._reached = Reached()
        self._row, self._column = key_of(shape.kept), key_of(shape.moved)
        self._fact = _fact_of(shape)
        width = len(shape.moved)
        self._source, self._target = key_of(range(width)), key_of(range(width, 2 * width))
        self._width = width
        self._counts: tuple[dict[Fact, int], dict[Fact, int]] = ({}, {})
        """How many derivations each seed has, and each arc."""
        self._before: tuple[dict[Fact, int], dict[Fact, int]] = ({}, {})
        """Of those that have changed, how many there were before."""
        self._highest = self._committed = 0

    # --- the beginning ----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        [relation] = self._loader.relations(self._stratum).values()
        if _cells(relation, self._shape) > max(SMALL_MATRIX, CELLS_PER_FACT * len(relation)):
            self._taken_over = self._one_by_one()
            self._taken_over.begin()
            self.method = self._taken_over.method
            return
        self._own.keep_in(_Facts(self._reached, self._fact, self._row, self._column))
        seeds: dict[Fact, int] = dict.fromkeys(self._written, 1)
        arcs: dict[Fact, int] = {}
        for bodies, numbers in ((self._seeds, seeds), (self._steps, arcs)):
            for body in bodies:
                body.from_nothing()((), counter(numbers, 1))
        self._follow(self._changes(seeds, arcs))
        self.commit()
        self._own.commit()
        prepare([*self._seeds, *self._steps], exact=True)

    # --- a transaction ----------------------------------------------------------------------------------------------

    def update(self) -> None:
        if self._taken_over is not None:
            self._taken_over.update()
            return
        changes = self._changes(
            *(counted_changes(bodies, self._facts) if bodies else {} for bodies in (self._seeds, self._steps))
        )
        if self._reached.cells_with(changes) > max(SMALL_MATRIX, CELLS_PER_FACT * len(self._reached)):
            self._hand_over().update()
        else:
            self._follow(changes)

    def _changes(self, seeds: Mapping[Fact, int], arcs: Mapping[Fact, int]) -> Changes:
        lost_seeds, new_seeds = self._count(0, seeds)
        lost_arcs, new_arcs = self._count(1, {arc: number for arc, number in arcs.items() if self._leads_on(arc)})
        row, column, source, target = self._row, self._column, self._source, self._target
        return Changes(
            [(row(one), column(one)) for one in lost_seeds],
            [(row(one), column(one)) for one in new_seeds],
            [(source(one), target(one)) for one in lost_arcs],
            [(source(one), target(one)) for one in new_arcs],
        )

    def _follow(self, changes: Changes) -> None:
        reached = self._reached
        reached.make_room(changes)
        reached.update(changes)
        come, gone = reached.come, reached.gone
        if come or gone:
            self._own.follow(map(self._fact, come), map(self._fact, gone))
        if reached.highest > self._highest:
            self._highest = reached.highest
            self._watch.check_iterations(self._own.name, self._highest - self._committed)
        self._watch.check_rows()

    def _leads_on(self, arc: Fact) -> bool:
        """Tells whether a fact may agree with the source of an arc: a null agrees with nothing."""
        return None not in arc[: self._width]

    def _count(self, which: int, changes: Mapping[Fact, int]) -> tuple[list[Fact], list[Fact]]:
        """Counts derivations; returns what has none any more, and what has some now."""
        counts, known = self._counts[which], self._before[which]
        lost, new = [], []
        for one, change in changes.items():
            before = known[one] = counts.get(one, 0)
            if before + change:
                counts[one] = before + change
                if not before:
                    new.append(one)
            else:
                del counts[one]
                lost.append(one)
        return lost, new

    def _hand_over(self) -> Supporting:
        """Lets the facts be kept one by one from now on, as they were before the transaction."""
        _log.info("%s: keeps its facts one by one, as a matrix of them would be larger", self._own.name)
        levels = [(self._fact(pair), level) for pair, level in self._reached.levels()]
        self._taken_over = self._one_by_one()
        self._taken_over.take_over(levels)
        self.method = self._taken_over.method
        self._reached = Reached()
        for one in (*self._counts, *self._before):
            one.clear()
        return self._taken_over

    def commit(self) -> None:
        if self._taken_over is not None:
            self._taken_over.commit()
            return
        self._reached.commit()
        self._committed = self._highest
        for before in self._before:
            before.clear()

    def abort(self) -> None:
        if self._taken_over is not None:
            self._taken_over.abort()
            return
        self._reached.abort()
        self._highest = self._committed
        for counts, known in zip(self._counts, self._before, strict=True):
            for one, before in known.items():
                if before:
                    counts[one] = before
                else:
                    counts.pop(one, None)
            known.clear()


class _Facts(Collection[Fact]):
    """Shows what is reached as facts."""

    def __init__(
        self,
        reached: Reached,
        fact: Callable[[Pair], Fact],
        row: Callable[[Fact], Key],
        column: Callable[[Fact], Key],
    ) -> None:
        self._reached = reached
        self._fact = fact
        self._row, self._column = row, column

    def __len__(self) -> int:
        return len(self._reached)

    def __iter__(self) -> Iterator[Fact]:
        return map(self._fact, self._reached)

    def __contains__(self, fact: object) -> bool:
        return isinstance(fact, tuple) and (self._row(fact), self._column(fact)) in self._reached


def _fact_of(shape: ClosureShape) -> Callable[[Pair], Fact]:
    """Returns what puts the columns of a row and those of a column together."""
    if len(shape.kept) == len(shape.moved) == 1:
        return (lambda pair: pair) if shape.kept == (0,) else (lambda pair: (pair[1], pair[0]))
    order = [*shape.kept, *shape.moved]
    places = [order.index(place) for place in range(len(order))]
    is_row_single, is_column_single = len(shape.kept) == 1, len(shape.moved) == 1

    def fact(pair: Pair) -> Fact:
        row, column = pair
        cells = ((row,) if is_row_single else row) + ((column,) if is_column_single else column)
        return tuple([cells[place] for place in places])

    return fact


def _cells(relation: LocalRelation, shape: ClosureShape) -> float:
    """Estimates the cells of a matrix that holds a relation."""
    statistics = relation.statistics
    sides = [math.prod(statistics.columns[place].distinct for place in places) for places in (shape.kept, shape.moved)]
    return math.prod(min(side, statistics.rows) for side in sides)
