"""A plan says nothing twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from emberlog.datatypes import INT
from emberlog.logical.nodes import Definition, Field, Filter, Join, Plan, PlannedStratum, Scan, Union
from emberlog.render.look.plans import stratum_view
from emberlog.render.plan_text import plan_text, stratum_lines_with_notes
from emberlog.render.plan_tree import PlanBranch, plan_tree
from emberlog.render.shared_branches import without_repeats
from tests.unit.render.tags import tags_of

X, Y, Z = (Field(name, INT) for name in "XYZ")


def two_steps() -> Plan:
    """Makes an equal plan each time, of other objects."""
    return Join(Scan("arc", (X, Y)), Scan("arc", (Y, Z)), ("Y",))


def branches(one: PlanBranch) -> Iterator[PlanBranch]:
    yield one
    for child in one.children:
        yield from branches(child)


def test_what_stands_twice_is_named_and_referred_to() -> None:
    plan = Union((filtered(two_steps()), two_steps()))
    assert plan_text(plan).splitlines() == [
        "Union",
        "├ Filter",
        "│ └ Join on Y  #1",
        "│   ├ Scan arc(X, Y)",
        "│   └ Scan arc(Y, Z)",
        "└ Join on Y  as #1",
    ]


def filtered(plan: Plan) -> Plan:
    return Filter(plan, ())


def test_a_repeated_branch_is_no_reason_to_name_what_is_in_it() -> None:
    whole = Filter(two_steps(), ())
    text = plan_text(Union((whole, Filter(two_steps(), ()), two_steps())))
    assert text.splitlines() == [
        "Union",
        "├ Filter  #1",
        "│ └ Join on Y  #2",
        "│   ├ Scan arc(X, Y)",
        "│   └ Scan arc(Y, Z)",
        "├ Filter  as #1",
        "└ Join on Y  as #2",
    ]
    assert "#2" not in plan_text(Union((whole, Filter(two_steps(), ()))))


def test_doubling_plans_stay_small() -> None:
    plan: Plan = two_steps()
    for _ in range(14):
        plan = Union((plan, plan))
    shown = list(branches(without_repeats(plan_tree(plan))))
    assert len(shown) == 3 + 2 * 14
    assert max(Counter((one.operator, one.detail, one.children) for one in shown if one.children).values()) == 1


def test_what_was_counted_differently_is_not_the_same() -> None:
    once, again = two_steps(), two_steps()
    root = Definition("p", Union((once, again)))
    counts = {id(once): "5", id(again): "7"}
    stratum = PlannedStratum(1, root)
    assert not any("#1" in line for line in stratum_lines_with_notes(stratum, lambda node: counts.get(id(node), "1")))
    assert sum("#1" in line for line in stratum_lines_with_notes(stratum, lambda _: "1")) == 2


def test_a_page_links_to_what_is_shown_once() -> None:
    shown = stratum_view(PlannedStratum(1, Definition("p", Union((two_steps(), two_steps())))))
    assert tags_of(shown).text.endswith("Union Join on Y #1 Scan arc(X, Y) Scan arc(Y, Z) Join on Y as #1")
    anchor = shown.partition('href="#')[2].partition('"')[0]
    assert f'id="{anchor}"' in shown
