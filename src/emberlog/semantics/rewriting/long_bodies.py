"""Divides bodies that are too long to plan: atoms that share variables become relations of their own."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from emberlog.semantics.rewriting.bodies import body_variables
from emberlog.syntax import ast

LONGEST = 100
"""Parts of a body that are planned together; a part may become several literals."""

AT_ONCE = 50
"""Atoms that one relation joins."""

MakeRelation = Callable[[ast.Conjunction, tuple[ast.Variable, ...]], str]


def divided(
    body: ast.Conjunction, read: Collection[str], is_builtin: Callable[[str], bool], make: MakeRelation
) -> ast.Conjunction:
    """Returns the body with atoms of relations that `make` makes of some of its atoms; `read` are the variables that
    the heads read. Only what is known of facts moves: no comparison, and nothing that can fail."""
    while len(body.parts) > LONGEST:
        plain = [
            part for part in body.parts if isinstance(part, ast.Atom) and _is_plain(part, is_builtin(part.predicate))
        ]
        chosen = _joined(plain)
        if len(chosen) < 2:
            return body
        inside = set(body_variables(chosen))
        others = tuple(part for part in body.parts if not any(part is one for one in chosen))
        needed = sorted(inside & {*read, *body_variables(others)})
        if not needed:
            return body
        span = chosen[0].span
        terms = tuple(ast.Variable(name, span) for name in needed)
        name = make(ast.Conjunction(tuple(chosen), span), terms)
        body = replace(body, parts=(ast.Atom(name, terms, False, span, span), *others))
    return body


def _is_plain(atom: ast.Atom, is_builtin: bool) -> bool:
    simple = ast.Variable | ast.Constant | ast.Wildcard
    return not (atom.negated or is_builtin) and all(isinstance(term, simple) for term in atom.terms)


def _joined(atoms: list[ast.Atom]) -> list[ast.Atom]:
    """Returns the first atom and those that share variables with it, or with others of them."""
    chosen, known = atoms[:1], set(body_variables(atoms[:1]))
    left = atoms[1:]
    while len(chosen) < AT_ONCE:
        found = next((one for one in left if known.intersection(body_variables((one,)))), None)
        if found is None:
            break
        left = [one for one in left if one is not found]
        chosen.append(found)
        known.update(body_variables((found,)))
    return chosen
