"""Each invariant of checked programs, broken by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from emberlog.datatypes import FLOAT, INT, STRING
from emberlog.diagnostics import InternalError
from emberlog.logical.program_invariants import ProgramInvariants
from emberlog.semantics.model import (
    Absent,
    Bind,
    CheckedProgram,
    Column,
    Compare,
    Contribution,
    CoreRule,
    HeadValue,
    Holds,
    Literal,
    Match,
    RecursionCase,
    Relation,
)
from emberlog.syntax.ast import Call, ComparisonOperator, Constant, Parameter, Variable, Wildcard
from tests.programs import checked

TEXT = """
    declare e(int a, int b).
    declare word(int a, string text).
    far(X, Y) :- e(X, Y), X > $least.
    far(X, Y) :- far(X, Z), e(Z, Y), !word(Y, _).
    best(X, min<D>) :- far(X, Y), D = Y + 1.
    known(7).
    best(X, D)?"""
PROGRAM = checked(TEXT, params={"least": 1})
X, Y, Z, D = map(Variable, "XYZD")


def with_rule(number: int, change: Callable[[CoreRule], CoreRule]) -> CheckedProgram:
    """The program with another rule, in its stratum, too."""
    old = PROGRAM.rules[number]
    new = change(old)

    def put(rules: tuple[CoreRule, ...]) -> tuple[CoreRule, ...]:
        return tuple(new if rule is old else rule for rule in rules)

    strata = tuple(replace(stratum, rules=put(stratum.rules)) for stratum in PROGRAM.strata)
    return replace(PROGRAM, rules=put(PROGRAM.rules), strata=strata)


def body(number: int, *literals: Literal) -> CheckedProgram:
    return with_rule(number, lambda rule: replace(rule, body=literals))


def head(number: int, *values: HeadValue) -> CheckedProgram:
    return with_rule(number, lambda rule: replace(rule, head=values))


def relation(name: str, change: Callable[[Relation], Relation]) -> CheckedProgram:
    return replace(PROGRAM, relations={**PROGRAM.relations, name: change(PROGRAM.relations[name])})


def without_recursion() -> CheckedProgram:
    return replace(PROGRAM, strata=tuple(replace(stratum, recursion=None) for stratum in PROGRAM.strata))


def in_one_stratum() -> CheckedProgram:
    """All rules in the stratum of `far`."""
    strata = tuple(replace(one, rules=PROGRAM.rules if "far" in one.relations else ()) for one in PROGRAM.strata)
    return replace(PROGRAM, strata=strata)


def as_case(case: RecursionCase, name: str) -> CheckedProgram:
    """The recursion as another case; `name` is aggregated in it."""
    columns = PROGRAM.relations[name].columns
    aggregated = (*columns[:-1], replace(columns[-1], aggregate="min"))
    relations = {**PROGRAM.relations, name: replace(PROGRAM.relations[name], columns=aggregated)}

    def contributing(rule: CoreRule) -> CoreRule:
        *keys, last = rule.head
        if isinstance(last, Contribution):
            return rule
        return replace(rule, head=(*keys, Contribution("min", (last,))))

    rules = {id(rule): contributing(rule) for rule in PROGRAM.rules}
    strata = tuple(
        replace(
            stratum,
            rules=tuple(rules[id(rule)] for rule in stratum.rules),
            recursion=replace(stratum.recursion, case=case) if stratum.recursion else None,
        )
        for stratum in PROGRAM.strata
    )
    return replace(PROGRAM, relations=relations, rules=tuple(rules.values()), strata=strata)


E = Match("e", (X, Y))
ABOVE = Compare(ComparisonOperator.GREATER, X, Constant(1))

BROKEN: dict[str, Callable[[], CheckedProgram]] = {
    # relations
    "the relation known is called other": lambda: relation("known", lambda one: replace(one, name="other")),
    "the relation known has no columns": lambda: relation("known", lambda one: replace(one, columns=())),
    "two columns of far have one name": lambda: relation(
        "far", lambda one: replace(one, columns=(Column("X", INT), Column("X", INT)))
    ),
    # facts, queries, outputs
    "the program has facts for e, which is an input": lambda: replace(PROGRAM, facts={"e": ((1, 2),)}),
    "a fact of known has not 1 values": lambda: replace(PROGRAM, facts={"known": ((1, 2),)}),
    "there is no relation made_up": lambda: replace(PROGRAM, facts={"made_up": ((1,),)}),
    "a query has 1 terms for best(X, D)": lambda: replace(PROGRAM, queries=(replace(PROGRAM.queries[0], terms=(X,)),)),
    "the queries have changed": lambda: replace(
        PROGRAM, queries=(replace(PROGRAM.queries[0], terms=(X, Constant(1))),)
    ),
    "the output best(X, D) has become best(X, E)": lambda: relation(
        "best", lambda one: replace(one, columns=(one.columns[0], replace(one.columns[1], name="E")))
    ),
    # strata
    "a relation is in two strata": lambda: replace(
        PROGRAM, strata=(*PROGRAM.strata, replace(PROGRAM.strata[0], index=len(PROGRAM.strata) + 1, rules=()))
    ),
    "the rules of the strata are not those of the program": lambda: replace(PROGRAM, rules=PROGRAM.rules[1:]),
    "stratum 1 has the number 2": lambda: replace(
        PROGRAM, strata=(replace(PROGRAM.strata[0], index=2), *PROGRAM.strata[1:])
    ),
    "best is read before it is computed": lambda: body(0, E, Match("best", (X, Y))),
    "far is negated inside its own recursion": lambda: body(1, E, Match("far", (X, Z)), Absent("far", (X, Y))),
    "best is not in the stratum of its rule": in_one_stratum,
    "the stratum of far is recursive": without_recursion,
    "the stratum of far is not recursive": lambda: body(1, E),
    "far is aggregated in a recursion of sets": lambda: as_case(RecursionCase.SET, "far"),
    "a relation of a staged recursion has no stage column": lambda: as_case(RecursionCase.STAGED, "far"),
    # bodies
    "X is not bound where it is read": lambda: body(0, ABOVE, E),
    "Y is not bound where it is read": lambda: body(0, Match("e", (X, X))),
    "Z is not bound where it is read": lambda: body(0, E, Holds(Call("contains", (Z, Constant("a"))))),
    "Y is computed, and bound before": lambda: body(2, Match("far", (X, Y)), Bind(Y, X), Bind(D, Y)),
    "Y is bound behind a negated atom that has it": lambda: body(0, Match("e", (X, X)), Absent("e", (X, Y)), E),
    "an atom has 1 terms for e(a, b)": lambda: body(0, E, Match("e", (X,))),
    "there is no relation nowhere": lambda: body(0, E, Match("nowhere", (X,))),
    "there is no function guess": lambda: body(0, E, Holds(Call("guess", (X,)))),
    "an atom of e has Wildcard() in it": lambda: body(0, E, Match("e", (X, Wildcard()))),  # type: ignore[arg-type]
    "`_` is left, and should have a name": lambda: body(0, E, Holds(Wildcard())),
    "$least has a value, and is left": lambda: body(0, E, Compare(ComparisonOperator.GREATER, X, Parameter("least"))),
    # types
    "b is of type int, and gets a string": lambda: body(0, E, Match("e", (X, Constant("a")))),
    "text is of type string, and gets an int": lambda: body(0, E, Match("word", (X, Y))),
    "D is of type int, and gets a string": lambda: body(2, Match("far", (X, Y)), Bind(D, Call("to_string", (Y,)))),
    "Y is of type int, and gets a float": lambda: head(0, X, Call("float", (Y,))),
    "D has no type": lambda: with_rule(
        2, lambda rule: replace(rule, types={name: rule.types[name] for name in ("X", "Y")})
    ),
    # heads
    "the head has 1 values for far(X, Y)": lambda: head(0, X),
    "e is an input": lambda: with_rule(0, lambda rule: replace(rule, relation="e")),
    "D is aggregated, and the head has a plain value for it": lambda: head(2, X, D),
    "D is not aggregated with max": lambda: head(2, X, Contribution("max", (D,))),
    "Y is not aggregated with min": lambda: head(0, X, Contribution("min", (Y,))),
    "min has not 2 arguments": lambda: head(2, X, Contribution("min", (D, D))),
}


@pytest.mark.parametrize("message", BROKEN)
def test_a_broken_program_is_noticed(message: str) -> None:
    invariants = ProgramInvariants(PROGRAM)
    with pytest.raises(InternalError) as caught:
        invariants.check(BROKEN[message](), "a_pass")
    text = str(caught.value).removeprefix("DL901: after a_pass: ")
    assert text == message or text.startswith(f"{message} in CoreRule(")


def test_a_parameter_without_a_value_may_stay_open() -> None:
    program = checked(TEXT)
    ProgramInvariants(program).check(program, "a_pass")


def test_a_type_that_is_not_known_fits_any() -> None:
    unknown = checked("p(X, Y) :- q(X, Y), r(Y).")
    ProgramInvariants(unknown)
    assert {FLOAT, STRING, INT}.isdisjoint(unknown.rules[0].types.values())
