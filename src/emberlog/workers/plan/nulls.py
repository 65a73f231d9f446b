"""Finds out where a recursion may meet nulls, and puts into its rules what they mean: in a join a null equals nothing.

A null is a lane like any other, of one value that nothing else has. As a fact, and as a part of a group, it is compared
as that. Whatever cannot be null costs nothing, and a program without nulls stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace

from emberlog.datatypes import BOOL, FLOAT, INT_MIN, STRING
from emberlog.language.registry import BUILT_IN
from emberlog.semantics.model import Compare, Holds
from emberlog.semantics.totality import FAILS, TRY
from emberlog.syntax.ast import Binary, Call, ComparisonOperator, Constant, Expression, Unary, Variable
from emberlog.workers.plan.compile import CyclicProgram
from emberlog.workers.plan.rules import Assign, Keep, Probe, Refute, RuleChain, Start, Step, binds

Columns = Mapping[str, frozenset[int]]
"""By relation: its columns that may be null."""


def union_of(parts: Iterable[Columns]) -> dict[str, frozenset[int]]:
    """Returns the columns of all of them, but for relations that have none."""
    found: dict[str, frozenset[int]] = {}
    for part in parts:
        for name, columns in part.items():
            if columns:
                found[name] = found.get(name, frozenset()) | columns
    return found


def may_be_null(expression: Expression, nullable: Set[str]) -> bool:
    """Tells whether an expression can be null, given the variables that can."""
    match expression:
        case Variable(name):
            return name in nullable
        case Constant(value):
            return value is None
        case Unary(operand):
            return may_be_null(operand, nullable)
        case Binary(_, left, right):
            return may_be_null(left, nullable) or may_be_null(right, nullable)
        case Call(name) if name in ("is_null", FAILS):
            return False
        case Call("coalesce", arguments):
            return all(may_be_null(one, nullable) for one in arguments)
        case Call("if", (_, first, second)):
            return may_be_null(first, nullable) or may_be_null(second, nullable)
        case Call(name, arguments):
            # A function of the user's may give null itself.
            is_strict = name == TRY or (name in BUILT_IN and not BUILT_IN[name].takes_nulls)
            return not is_strict or any(may_be_null(one, nullable) for one in arguments)
        case _:
            return True


def carry_nulls(program: CyclicProgram, read: Columns) -> CyclicProgram:
    """Returns the program with rules that know nulls, given where relations that it reads have some; the program itself
    if there can be none."""
    return _Nulls(program, read).carried()


def obstacles_to_nulls(program: CyclicProgram) -> Iterator[str]:
    """Says why workers cannot carry the nulls of a program."""
    for chain in (*program.seeds, *program.rules):
        if chain.nullable is not None and any(may_be_null(one, chain.nullable) for one in chain.aggregated):
            yield f"{chain.relation} aggregates what may be null"
    for name, column in program.recursion.stage_columns.items():
        if column in program.nullable.get(name, ()):
            yield f"the stage of {name} may be null"
    for facts in program.facts:
        relation = program.relation(facts.relation)
        for column in program.nullable.get(facts.relation, ()):
            if any(row[relation.columns[column].lane] == INT_MIN for row in facts.rows):
                yield f"a fact of {facts.relation} has the int that stands for null"


class _Nulls:
    def __init__(self, program: CyclicProgram, read: Columns) -> None:
        self.program = program
        self.nullable = {name: frozenset(read.get(name, ())) for name in program.statics}
        for relation in program.relations:
            rows = [row for facts in program.facts if facts.relation == relation.name for row in facts.rows]
            lanes = {lane for row in rows for lane, cell in enumerate(row) if cell is None}
            self.nullable[relation.name] = self._columns(relation.name, lanes)

    def _columns(self, relation: str, lanes: Set[int]) -> frozenset[int]:
        layout = self.program.relation(relation)
        return frozenset(place for place, column in enumerate(layout.columns) if column.lane in lanes)

    def carried(self) -> CyclicProgram:
        program = self.program
        chains = (*program.seeds, *program.rules)
        is_open = True
        while is_open:
            is_open = False
            for chain in chains:
                lanes = {lane for lane, value in enumerate(chain.head) if self._gives_null(value, chain)}
                more = self.nullable[chain.relation] | self._columns(chain.relation, lanes)
                is_open |= more != self.nullable[chain.relation]
                self.nullable[chain.relation] = more
        if not any(self.nullable.values()) and not any(self._computes_nulls(chain) for chain in chains):
            return program
        return replace(
            program,
            seeds=tuple(map(self._guarded, program.seeds)),
            rules=tuple(map(self._guarded, program.rules)),
            watches=tuple(
                replace(watch, nullable=self._in_atom(watch.atom.relation, watch.atom.variables))
                for watch in program.watches
            ),
            nullable={name: columns for name, columns in self.nullable.items() if columns},
        )

    def _in_atom(self, relation: str, variables: tuple[str, ...]) -> frozenset[str]:
        return frozenset(variables[column] for column in self.nullable[relation])

    def _variables(self, chain: RuleChain) -> frozenset[str]:
        """Returns the variables that may be null when they are bound."""
        joined, found = _joined(chain), set[str]()
        for step in chain.steps:
            match step:
                case Start(atom) | Probe(atom):
                    found |= self._in_atom(atom.relation, atom.variables)
                case Assign(variable, expression) if may_be_null(expression, found - joined):
                    found.add(variable)
                case _:
                    pass
        return frozenset(found)

    def _gives_null(self, value: Expression, chain: RuleChain) -> bool:
        """Tells whether a lane of the head may be null."""
        known = _joined(chain)
        if isinstance(value, Variable):
            known |= _compared(chain)
        return may_be_null(value, self._variables(chain) - known)

    def _computes_nulls(self, chain: RuleChain) -> bool:
        """Tells whether a variable may be null on the way although no column is."""
        return bool(self._variables(chain)) or any(may_be_null(one, frozenset()) for one in chain.aggregated)

    def _guarded(self, chain: RuleChain) -> RuleChain:
        nullable, joined, bound = self._variables(chain), _joined(chain), set[str]()
        steps: list[Step] = []
        for step in chain.steps:
            steps.append(self._refuting(step, nullable, chain) if isinstance(step, Refute) else step)
            new = binds(step) - bound
            bound |= new
            steps += (Keep(_is_there(name)) for name in sorted(new & nullable & joined))
        relation = self.program.relation(chain.relation)
        lanes = {relation.columns[column].lane for column in self.nullable[chain.relation]}
        checked = {lane for lane in lanes if not may_be_null(chain.head[lane], nullable)}
        return replace(chain, steps=tuple(steps), nullable=nullable, checked=frozenset(checked))

    def _refuting(self, step: Refute, nullable: Set[str], chain: RuleChain) -> Refute:
        """Returns the step for valuations with nulls, which find no match, as nulls of the relation do."""
        guards: list[Compare | Holds] = []
        for key, name in zip(step.keys, step.variables, strict=True):
            if name in nullable:
                guards.append(_is_there(name))
            elif key in self.nullable[step.relation] and chain.types[name] not in (FLOAT, STRING, BOOL):
                guards.append(Compare(ComparisonOperator.NOT_EQUAL, Variable(name), Constant(INT_MIN)))
        return replace(step, guards=(*step.guards, *guards))


def _is_there(name: str) -> Compare:
    return Compare(ComparisonOperator.EQUAL, Variable(name), Variable(name))


def _joined(chain: RuleChain) -> frozenset[str]:
    """Returns the variables that have to agree in several places, which a null never does."""
    places = Counter[str]()
    for step in chain.steps:
        match step:
            case Start(atom) | Probe(atom):
                places.update(atom.variables)
            case Assign(variable):
                places[variable] += 1
            case _:
                pass
    return frozenset(name for name, count in places.items() if count > 1)


def _compared(chain: RuleChain) -> frozenset[str]:
    """Returns the variables that a comparison keeps from being null in the head."""
    sides = (
        side
        for step in chain.steps
        if isinstance(step, Keep) and isinstance(step.condition, Compare)
        for side in (step.condition.left, step.condition.right)
    )
    tested = (
        step.condition.test.arguments[0]
        for step in chain.steps
        if isinstance(step, Keep)
        and isinstance(step.condition, Holds)
        and step.condition.negated
        and isinstance(step.condition.test, Call)
        and step.condition.test.function == "is_null"
    )
    return frozenset(one.name for one in (*sides, *tested) if isinstance(one, Variable))
