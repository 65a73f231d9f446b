"""Says by plain rules which facts a relation with one choice or with several keeps.

With one, the smallest fact of each key. With several, the smallest fact of all is kept first, then the smallest one
that has no key with a kept fact in common, and so on. Rules find the same facts in stages: a fact that is the smallest
of each of its keys has nobody before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emberlog.semantics.rewriting.bodies import plain_atom
from emberlog.source import Span
from emberlog.syntax import ast
from emberlog.syntax.ast import AggregateTerm, BinaryOperator, ComparisonOperator, Constant, Variable


def one_of_each_key(
    values: Sequence[ast.Expression], keys: frozenset[int], cost: Sequence[ast.Expression], span: Span
) -> tuple[ast.HeadTerm, ...]:
    """Returns the terms of a head that keeps one fact of each key: of the smallest cost the one that is smallest, by
    its columns from left to right."""
    terms: list[ast.HeadTerm] = list(values)
    before = list(cost)
    for place in (place for place in range(len(values)) if place not in keys):
        if before:
            whole = before[0]
            for part in before[1:]:
                whole = ast.Call("encd", (whole, part), span)
            terms[place] = AggregateTerm("argmin", (whole, values[place]), span)
        else:
            terms[place] = AggregateTerm("min", (values[place],), span)
        before.append(values[place])
    return tuple(terms)


def rules_of_several_choices(
    name: str, whole: str, domains: Sequence[frozenset[int]], own: Sequence[Variable], span: Span
) -> Iterator[tuple[str, Sequence[ast.HeadTerm], Sequence[ast.BodyPart]]]:
    """Yields head, terms and body of the rules that keep facts of `whole`, no two of which have a key in common: in
    each stage those that come first among the open ones by all their keys, after which the facts that share a key with
    them are not open any more. No rule reads two relations of the recursion, so workers take them all."""
    opened, votes, kept = f"{name} (open)", f"{name} (votes)", f"{name} (first)"
    closed, size = f"{name} (closed)", f"{name} (size)"
    stage, most = Variable("Stage", span), Variable("Most", span)
    zero, one = Constant(0, span), Constant(1, span)
    anything = (ast.Wildcard(span),) * len(own)
    yield size, (AggregateTerm("count", (one,), span),), (plain_atom(whole, anything, span),)
    yield opened, (zero, *own), (plain_atom(whole, own, span),)
    is_open, is_kept = plain_atom(opened, (stage, *own), span), plain_atom(kept, (stage, *own), span)
    for number, keys in enumerate(domains, 1):
        first = f"{kept} {number}"
        yield first, (stage, *one_of_each_key(own, keys, (), span)), (is_open,)
        vote = AggregateTerm("sum", (one,), span)
        yield votes, (stage, *own, vote), (plain_atom(first, (stage, *own), span),)
    every = Constant(len(domains), span)
    yield kept, (stage, *own), (plain_atom(votes, (stage, *own, every), span),)
    yield closed, (stage, *own, AggregateTerm("max", (zero,), span)), (is_open,)
    yield closed, (stage, *own, AggregateTerm("max", (one,), span)), (is_kept,)
    for keys in domains:
        same = [value if place in keys else ast.Wildcard(span) for place, value in enumerate(own)]
        parts = (plain_atom(kept, (stage, *same), span), plain_atom(whole, own, span))
        yield closed, (stage, *own, AggregateTerm("max", (one,), span)), parts
    still = plain_atom(closed, (stage, *own, zero), span)
    bound = ast.Comparison(ComparisonOperator.LESS, stage, most, span)
    after = ast.Binary(BinaryOperator.ADD, stage, one, span)
    yield opened, (after, *own), (still, plain_atom(size, (most,), span), bound)
    yield name, tuple(own), (plain_atom(kept, (ast.Wildcard(span), *own), span),)
