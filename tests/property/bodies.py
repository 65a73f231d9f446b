"""Random rule bodies: atoms first, which bind variables, then whatever may use them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

from tests.property.programs import FLOAT, INT, STRING, Signature, constant


@dataclass
class Body:
    """A body while it grows."""

    literals: list[str] = field(default_factory=list)
    bound: dict[str, list[str]] = field(default_factory=lambda: {INT: [], FLOAT: [], STRING: []})
    count: int = 0

    def fresh(self, kind: str) -> str:
        self.count += 1
        return f"{'XYS'[(INT, FLOAT, STRING).index(kind)]}{self.count}"

    def bind(self, kind: str) -> str:
        variable = self.fresh(kind)
        self.bound[kind].append(variable)
        return variable


def atom(draw: st.DrawFn, body: Body, relation: Signature) -> None:
    """A positive atom that joins with what is there, binds new variables, and now and then has a constant."""
    terms = []
    new: list[tuple[str, str]] = []
    for kind in relation.types:
        form = draw(st.sampled_from(("new",) * 5 + ("old",) * 6 + ("constant", "wildcard", "wildcard", "repeated")))
        repeated = [variable for variable, of_kind in new if of_kind == kind]
        if form == "old" and body.bound[kind]:
            terms.append(draw(st.sampled_from(body.bound[kind])))
        elif form == "constant":
            terms.append(constant(draw, kind))
        elif form == "wildcard":
            terms.append("_")
        elif form == "repeated" and repeated:
            terms.append(repeated[0])
        else:
            variable = body.fresh(kind)
            new.append((variable, kind))
            terms.append(variable)
    for variable, kind in new:
        body.bound[kind].append(variable)
    body.literals.append(f"{relation.name}({', '.join(terms)})")


def value(draw: st.DrawFn, body: Body, kind: str) -> str:
    """A bound variable, or a constant where there is none."""
    if body.bound[kind] and draw(st.integers(0, 6)) > 0:
        return draw(st.sampled_from(body.bound[kind]))
    return constant(draw, kind)


def expression(draw: st.DrawFn, body: Body, kind: str) -> str:
    """A computed value. Ints stay small, whatever they are computed from, so that recursion ends."""
    one, other = value(draw, body, kind), value(draw, body, kind)
    forms: tuple[str, ...]
    match kind:
        case "int":
            forms = (
                f"({one} + {other}) mod 5",
                f"least({one} + 1, 5)",
                f"greatest({one}, {other})",
                f"abs({one} - 2)",
                f"{one} div 2",
                f"len({value(draw, body, STRING)})",
                f"-{one} mod 3",
                f"if({one} > {other}, {one}, 2)",
                f"if({one} > 3, null, {one})",
                f"coalesce(if({one} between 1 and 2, {other}, null), 3)",
                f"band({one}, 3)",
                "2 * 3 - 4",
            )
        case "float":
            forms = (
                f"least({one} + {other}, 4.0)",
                f"{one} / 2",
                f"float({value(draw, body, INT)})",
                f"{value(draw, body, INT)} / 4",
                f"if({value(draw, body, INT)} in (0, 1), {one}, least({one}, 2.0))",
                "1 / 2",
            )
        case _:
            forms = (
                f"substr(cat({one}, {other}), 0, 2)",
                f"upper({one})",
                f"to_string({value(draw, body, INT)})",
                f'if({one} like "a%" and {other} != "b", trim({other}), "b")',
                f'split_part({one}, "a", 0)',
            )
    return draw(st.sampled_from(forms))


def assignment(draw: st.DrawFn, body: Body) -> None:
    kind = draw(st.sampled_from((INT, INT, INT, FLOAT, STRING)))
    computed = expression(draw, body, kind)
    body.literals.append(f"{body.bind(kind)} = {computed}")


def division(draw: st.DrawFn, body: Body) -> None:
    """May be a division by zero, and may be protected from it."""
    divisor = value(draw, body, INT)
    protected = draw(st.booleans())
    if protected:
        body.literals.append(f"{divisor} > 0")
    computed = f"{value(draw, body, INT)} / {divisor}"
    body.literals.append(f"{body.bind(FLOAT)} = {computed}")


def test_literal(draw: st.DrawFn, body: Body) -> str:
    kind = draw(st.sampled_from((INT, INT, FLOAT, STRING)))
    operator = draw(st.sampled_from(("=", "!=", "<", "<=", ">", ">=")))
    left, right = value(draw, body, kind), value(draw, body, kind)
    if kind == STRING and draw(st.booleans()):
        negation = draw(st.sampled_from(("", "!")))
        function = draw(st.sampled_from(("contains", "starts_with", "matches")))
        return f'{negation}{function}({left}, "a")'
    if kind == INT and draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from((f"is_null({left})", f"!is_null({left})", f"{left} not in (1, 2)")))
    if kind == INT and draw(st.integers(0, 3)) == 0:
        left = expression(draw, body, INT)
    return f"{left} {operator} {right}"


def negation(draw: st.DrawFn, body: Body, relation: Signature) -> None:
    terms = []
    for kind in relation.types:
        form = draw(st.sampled_from(("value", "value", "wildcard")))
        terms.append("_" if form == "wildcard" else value(draw, body, kind))
    mark = draw(st.sampled_from(("!", "not ", "~")))
    body.literals.append(f"{mark}{relation.name}({', '.join(terms)})")


def alternatives(draw: st.DrawFn, body: Body, positive: Sequence[Signature]) -> None:
    """A disjunction of tests, or of two atoms that bind the same variables."""
    wanted = draw(st.sampled_from(positive))
    twins = [relation for relation in positive if relation.types == wanted.types]
    if draw(st.booleans()):
        body.literals.append(f"({test_literal(draw, body)} ; {test_literal(draw, body)})")
        return
    terms = ", ".join(body.fresh(kind) for kind in wanted.types)
    both = " ; ".join(f"{draw(st.sampled_from(twins)).name}({terms})" for _ in range(2))
    for term, kind in zip(terms.split(", "), wanted.types, strict=True):
        body.bound[kind].append(term)
    body.literals.append(f"({both})")


def extend(
    draw: st.DrawFn, body: Body, positive: Sequence[Signature], negative: Sequence[Signature], *, atoms: int = 3
) -> None:
    """A few atoms, then a few other literals."""
    for _ in range(draw(st.integers(0 if body.literals else 1, atoms))):
        atom(draw, body, draw(st.sampled_from(positive)))
    for _ in range(draw(st.integers(0, 3))):
        form = draw(st.sampled_from(("test", "test", "assign", "negate", "either", "divide")))
        if form == "test":
            body.literals.append(test_literal(draw, body))
        elif form == "assign":
            assignment(draw, body)
        elif form == "negate" and negative:
            negation(draw, body, draw(st.sampled_from(negative)))
        elif form == "either":
            alternatives(draw, body, positive)
        elif form == "divide":
            division(draw, body)


def head_terms(draw: st.DrawFn, body: Body, types: Sequence[str]) -> list[str]:
    return [expression(draw, body, kind) if draw(st.integers(0, 5)) == 0 else value(draw, body, kind) for kind in types]
