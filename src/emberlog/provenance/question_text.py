"""A fact as people write it, `hcc(4, 1)` or `hcc(4, X)`: the relation, and its values with None for any value."""

from __future__ import annotations

from emberlog.diagnostics import EmberlogError, fail
from emberlog.source import Source
from emberlog.syntax import ast
from emberlog.syntax.parser import parse


def asked_in_text(text: str) -> tuple[str, tuple[ast.Value | None, ...]]:
    """Raises DL441 if the text is no fact."""
    try:
        statements = parse(Source("<fact>", f"{text.strip().rstrip('.?')}?")).statements
    except EmberlogError:
        statements = ()
    match statements:
        case (ast.Query(ast.Atom(predicate, terms)),):
            return predicate, tuple(_value(term, text) for term in terms)
        case _:
            raise _no_fact(text)


def _value(term: ast.Expression, text: str) -> ast.Value | None:
    match term:
        case ast.Constant(value):
            return value
        case ast.Unary(ast.Constant(int() | float() as number)):
            return -number
        case ast.Variable() | ast.Wildcard():
            return None
        case _:
            raise _no_fact(text)


def _no_fact(text: str) -> EmberlogError:
    hint = "write a relation and constants, tc(1, 4); a variable or _ is any value"
    return fail("DL441", f"`{text}` is not a fact", None, hint)
