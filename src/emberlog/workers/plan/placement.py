"""Where rows live: which worker owns a fact, which copies of a relation are kept for joins, when valuations move.

Every relation of the recursion is partitioned by one column, its home. If every recursive rule hands a column
through unchanged (the pivot), that column is the home and the plan is decomposed: what a worker derives is its own, and
nothing is exchanged. A join with a relation of the recursion needs the rows of its key on one worker: where the home
is another column, a copy partitioned by the key is kept, and valuations move to it (`split_rule_by_location`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from emberlog.semantics.model import Compare
from emberlog.syntax.ast import ComparisonOperator, Constant, Expression, Variable
from emberlog.workers.kernels.memory import in_words
from emberlog.workers.plan.compile import CyclicProgram
from emberlog.workers.plan.mode import Mode
from emberlog.workers.plan.rules import Assign, Keep, Probe, RelationLayout, RuleChain, Start
from emberlog.workers.plan.split_rule_by_location import Split, landing, split_rule_by_location
from emberlog.workers.plan.static_placement import NO_HOME, common_columns, spread_statics


@dataclass(frozen=True, slots=True)
class Placement:
    homes: dict[str, int]
    """The column that each relation of the recursion is partitioned by; always a key column."""
    copies: dict[str, tuple[int, ...]]
    """Further columns by which copies of a relation are partitioned."""
    rules: tuple[RuleChain, ...]
    """The rules with the moves that the placement makes necessary."""
    statics: dict[str, int | None]
    """The column by which a relation that does not change is spread; None where every worker has all of it."""
    mode: Mode
    why: str
    lands: frozenset[str] = frozenset()
    """The relations whose facts are derived by the workers that own them, because valuations go to all in front of the
    last join."""
    shares_memory: bool = False
    """Whether workers are threads, so that nothing has to be made small to be sent."""

    @property
    def is_decomposed(self) -> bool:
        return self.mode is Mode.DECOMPOSED


@dataclass(frozen=True, slots=True)
class Copies:
    """Says what it takes to have relations that do not change on every worker, as far as their sizes are known."""

    bytes_of: Mapping[str, int] = field(default_factory=dict)
    """What a copy takes on each worker, with its indexes."""
    room: int | None = None
    """Bytes that one may take; None for any number."""

    def too_large(self, spread: Mapping[str, int | None]) -> list[str]:
        """Returns the relations that are everywhere although that takes too much."""
        if self.room is None:
            return []
        return [name for name, column in spread.items() if column is None and self.bytes_of.get(name, 0) > self.room]

    def described(self, names: Iterable[str]) -> str:
        assert self.room is not None
        sizes = ", ".join(f"a copy of {name} takes {in_words(self.bytes_of[name])}" for name in names)
        return f"{sizes} on each worker, where one may take {in_words(self.room)}"

    def that_fit(self, spread: Mapping[str, int | None]) -> str:
        """Returns what a copy of everything takes, in words, if that is known."""
        copied = [name for name, column in spread.items() if column is None and name in self.bytes_of]
        if self.room is None or not copied:
            return ""
        size = in_words(sum(self.bytes_of[name] for name in copied))
        return f"; copies of {', '.join(copied)} take {size} on each worker"


NO_LIMIT = Copies()


def place(
    program: CyclicProgram,
    *,
    mode: Mode | None = None,
    even_alone: bool = False,
    preferred: Mapping[str, int | None] | None = None,
    copies: Copies = NO_LIMIT,
    shares_memory: bool = False,
) -> Placement:
    """Returns the placement with the fewest moves; only without a mode, or with `DECOMPOSED`, has it the pivot, and
    unless `even_alone` a program that gives it one value only does without. `preferred` says how relations that do not
    change should be spread if that is possible; None for everywhere, which always is. What is too large by `copies` is
    everywhere only if the mode is asked for, or if no column allows anything else. Workers that share one memory tell
    each other at no cost what they join with, and then need not combine and exchange what comes of it."""
    decompose = mode in (None, Mode.DECOMPOSED)
    pivots = _pivots(program)
    is_lone = pivots is not None and not even_alone and _has_one_value(program, pivots)
    too_large: list[str] = []
    shown = ", ".join(f"{name}[{column + 1}]" for name, column in (pivots or {}).items())
    if pivots is not None and decompose and not is_lone:
        spread = _spread(program, pivots, program.rules, preferred or {})
        too_large = [] if mode is Mode.DECOMPOSED else copies.too_large(spread)
        if not too_large:
            why = f"every recursive rule keeps {shown}{copies.that_fit(spread)}"
            return Placement(pivots, {}, program.rules, spread, Mode.DECOMPOSED, why)
    homes = {relation.name: _home(relation.name, program) for relation in program.relations}
    splits, spread = _split(program, homes, preferred or {}, copies)
    rules = tuple(split.chain for split in splits)
    by_column: dict[str, tuple[int, ...]] = {}
    for name, column in dict.fromkeys(copy for split in splits for copy in split.copies):
        by_column[name] = (*by_column.get(name, ()), column)
    why = "no column is handed through every recursive rule" if pivots is None else "asked for"
    marked = [f"{one.name}[{homes[one.name] + 1}]" for one in program.relations if homes[one.name] == one.location]
    if pivots is None and marked:
        why = f"{why}; `#` places {', '.join(marked)}"
    if is_lone and decompose:
        why = "what every recursive rule keeps has one value only, and one worker would have it all"
    if too_large:
        why = f"every recursive rule keeps {shown}, but {copies.described(too_large)}"
    if whole := copies.too_large(spread):
        why = f"{why}; no column spreads {', '.join(whole)}, although {copies.described(whole)}"
    if mode is Mode.ASYNC:
        return Placement(homes, by_column, rules, spread, Mode.ASYNC, why)
    placement = Placement(homes, by_column, rules, spread, Mode.BSP, why, shares_memory=shares_memory)
    return _landed(placement, program, preferred or {}) if shares_memory else placement


def _landed(placement: Placement, program: CyclicProgram, preferred: Mapping[str, int | None]) -> Placement:
    """Returns the placement in which each worker derives what it owns, of relations for which all rules can do that;
    the same one where relations that do not change would have to be spread in another way for something else."""
    landings = [(chain, landing(chain, program, placement.homes)) for chain in placement.rules]
    elsewhere = {chain.relation for chain, one in landings if one is None}
    found = [one for chain, one in landings if one is not None and chain.relation not in elsewhere]
    rules = tuple(chain if one is None or chain.relation in elsewhere else one.chain for chain, one in landings)
    spread = _spread(program, placement.homes, rules, preferred)
    if not found or any(spread[one.relation] != one.column for one in found):
        return placement
    lands = frozenset(one.chain.relation for one in found)
    return replace(placement, rules=rules, statics=spread, lands=lands)


def _split(
    program: CyclicProgram, homes: dict[str, int], preferred: Mapping[str, int | None], copies: Copies
) -> tuple[list[Split], dict[str, int | None]]:
    """Returns the rules with their moves, and how relations that do not change are spread. Valuations move to those
    that are too large to be everywhere, if there is a column that all rules look them up by."""
    splits = [split_rule_by_location(chain, program, homes) for chain in program.rules]
    spread = _spread(program, homes, (split.chain for split in splits), preferred)
    large = common_columns(copies.too_large(spread), program.rules, preferred)
    if not large:
        return splits, spread
    splits = [split_rule_by_location(chain, program, homes, large) for chain in program.rules]
    return splits, _spread(program, homes, (split.chain for split in splits), {**preferred, **large})


def has_one_group(program: CyclicProgram) -> bool:
    """Tells whether there is a pivot, and it has one value only."""
    pivots = _pivots(program)
    return pivots is not None and _has_one_value(program, pivots)


def _has_one_value(program: CyclicProgram, pivots: Mapping[str, int]) -> bool:
    values: set[Expression | None] = set()
    for facts in program.facts:
        lane = program.relation(facts.relation).columns[pivots[facts.relation]].lane
        for row in facts.rows:
            cell = row[lane]
            values.add(None if cell is None or isinstance(cell, tuple) else Constant(cell))
    for chain in program.seeds:
        lane = program.relation(chain.relation).columns[pivots[chain.relation]].lane
        values.add(_constant_of(chain.head[lane], chain))
    return len(values) == 1 and None not in values


def _constant_of(value: Expression, chain: RuleChain) -> Expression | None:
    """Returns the constant that a seed gives, written in its head or compared in its body."""
    if isinstance(value, Constant):
        return value
    for step in chain.steps:
        match step:
            case Keep(Compare(ComparisonOperator.EQUAL, one, other)):
                for left, right in ((one, other), (other, one)):
                    if left == value and isinstance(right, Constant):
                        return right
            case Assign(variable, expression) if Variable(variable) == value and isinstance(expression, Constant):
                return expression
            case _:
                pass
    return None


def _spread(
    program: CyclicProgram,
    homes: dict[str, int],
    rules: Iterable[RuleChain],
    preferred: Mapping[str, int | None],
) -> dict[str, int | None]:
    widths = {name: len(types) for name, types in program.static_types.items()}
    return spread_statics(widths, homes, rules, program.seeds, preferred)


def _driver(chain: RuleChain) -> Start:
    first = chain.steps[0]
    assert isinstance(first, Start)
    return first


def _pivots(program: CyclicProgram) -> dict[str, int] | None:
    """Returns a key column per relation that every rule hands from its delta to its head, if no rule joins two
    deltas."""
    names = {relation.name for relation in program.relations}
    for chain in program.rules:
        if any(isinstance(step, Probe) and step.atom.relation in names for step in chain.steps):
            return None
    candidates = {relation.name: set(_places(relation)) for relation in program.relations}
    for start in sorted(candidates[program.relations[0].name]):
        chosen = _follow({program.relations[0].name: start}, program, candidates)
        if chosen is not None and len(chosen) == len(names):
            return chosen
    return None


def _follow(chosen: dict[str, int], program: CyclicProgram, candidates: dict[str, set[int]]) -> dict[str, int] | None:
    changed = True
    while changed:
        changed = False
        for chain in program.rules:
            driver = _driver(chain).atom
            for known, other in ((driver.relation, chain.relation), (chain.relation, driver.relation)):
                if known not in chosen:
                    continue
                partner = _partner(chain, chosen[known], from_body=known == driver.relation, program=program)
                # A relation that reads itself is checked from its body to its head.
                if partner is None or partner not in candidates[other]:
                    return None
                if other not in chosen:
                    chosen[other] = partner
                    changed = True
                elif chosen[other] != partner:
                    return None
    return chosen


def _partner(chain: RuleChain, column: int, *, from_body: bool, program: CyclicProgram) -> int | None:
    """Returns the column of the head that has the body's value, or the other way round."""
    head = program.relation(chain.relation)
    driver = _driver(chain).atom
    heads = [chain.head[lane.lane] if lane.lane < head.keys else None for lane in head.columns]
    if from_body:
        variable = driver.variables[column]
        matching = [index for index, value in enumerate(heads) if value == Variable(variable)]
        return matching[0] if matching else None
    value = heads[column]
    if not isinstance(value, Variable) or value.name not in driver.variables:
        return None
    return driver.variables.index(value.name)


def _places(relation: RelationLayout) -> list[int]:
    """Returns the columns that can say where a fact lives: keys, and only the one that `#` marks if it is a key."""
    keys = [column for column, lane in enumerate(relation.columns) if lane.lane < relation.keys]
    return [relation.location] if relation.location is not None and relation.location in keys else keys


def _home(name: str, program: CyclicProgram) -> int:
    """Returns the column that most rules look their delta up by, so that a delta is joined where it lies."""
    keys = _places(program.relation(name))
    votes = dict.fromkeys(keys, 0)
    for chain in program.rules:
        for step in chain.steps:
            if isinstance(step, Probe):
                driver = _driver(chain).atom
                for key in step.keys:
                    variable = step.atom.variables[key]
                    if driver.relation == name and variable in driver.variables:
                        votes[driver.variables.index(variable)] = votes.get(driver.variables.index(variable), 0) + 1
                break
        for step in chain.steps:
            if isinstance(step, Probe) and step.atom.relation == name and step.keys:
                votes[step.keys[0]] = votes.get(step.keys[0], 0) + 1
    return max(keys, key=lambda column: votes[column], default=NO_HOME)
