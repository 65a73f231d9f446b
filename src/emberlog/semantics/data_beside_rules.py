"""Lets a relation have registered data beside the facts and rules of the program.

The data becomes an input of its own, which a rule copies into the relation: no later stage knows the difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from emberlog.diagnostics import Diagnostics
from emberlog.semantics.model import Column
from emberlog.syntax import ast
from emberlog.syntax.ast import DeclarationKind

Inputs = Mapping[str, Sequence[Column]]


def data_of(name: str) -> str:
    """Returns the name of the input that holds the data of a relation; no program can write it."""
    return f"{name} (data)"


def with_data_beside_rules(
    program: ast.Program, inputs: Inputs, diagnostics: Diagnostics
) -> tuple[ast.Program, dict[str, Sequence[Column]], dict[str, str]]:
    """Returns the program with a copying rule for each relation that it defines and that has data, the inputs that it
    then has, and for each of these inputs that are new the name that its data is registered under."""
    heads: dict[str, ast.Head] = {}
    for statement in program.statements:
        if isinstance(statement, ast.Rule) and statement.head.predicate in inputs:
            heads.setdefault(statement.head.predicate, statement.head)
    if not heads:
        return program, dict(inputs), {}
    declarations = {one.predicate: one for one in program.statements if isinstance(one, ast.Declaration)}
    added: list[ast.Statement] = []
    for name, head in heads.items():
        declaration = declarations.get(name)
        if declaration is not None and declaration.kind is DeclarationKind.STREAM:
            diagnostics.error(
                "DL217",
                f"`{name}` is a stream, and the program has facts or rules for it too",
                head.span,
                "give what the program defines another name, and join them with a rule",
            )
            continue
        if declaration is not None:
            columns = tuple(replace(column, aggregate=None) for column in declaration.columns)
            added.append(replace(declaration, predicate=data_of(name), columns=columns))
        if len(inputs[name]) == len(head.terms):
            added.append(_copying_rule(name, len(inputs[name]), head))
        else:
            message = f"`{name}` has {len(head.terms)} columns in the program; the data has {len(inputs[name])}"
            diagnostics.error("DL402", message, head.span)
    renamed = {data_of(name) if name in heads else name: columns for name, columns in inputs.items()}
    whole = replace(program, statements=(*program.statements, *added))
    return whole, renamed, {data_of(name): name for name in heads}


def _copying_rule(name: str, arity: int, head: ast.Head) -> ast.Rule:
    variables = tuple(ast.Variable(f"C{index + 1}", head.span) for index in range(arity))
    atom = ast.Atom(data_of(name), variables, False, head.span, head.name_span)
    copied = ast.Head(name, variables, None, head.span, head.name_span)
    return ast.Rule(copied, ast.Conjunction((atom,), head.span), data_of(name), span=head.span)
