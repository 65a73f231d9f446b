"""Lets a relation have registered data beside the facts and rules of the program, and says which inputs have none.

Data beside rules becomes an input of its own, which a rule copies into the relation: no later stage knows the
difference. An input without data is empty if it is declared, and a mistake otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from emberlog.datatypes import UNKNOWN, DataType
from emberlog.diagnostics import Diagnostics, nearest
from emberlog.language.records import READ, grammar_of
from emberlog.semantics.model import CheckedProgram, Column
from emberlog.semantics.rewriting.bodies import body_atoms
from emberlog.source import NOWHERE
from emberlog.syntax import ast
from emberlog.syntax.ast import DeclarationKind

Inputs = Mapping[str, Sequence[Column]]


def data_of(name: str) -> str:
    """Returns the name of the input that holds the data of a relation; no program can write it."""
    return f"{name} (data)"


def mentioned_relations(program: ast.Program) -> list[str]:
    """Returns every relation of the program, each once, in the order in which they come."""
    names: list[str] = []
    for statement in program.statements:
        match statement:
            case ast.Rule(body=body):
                names += [head.predicate for head in statement.heads]
                names += [atom.predicate for atom in body_atoms(body.parts if body else ())]
            case ast.Query(atom):
                names.append(atom.predicate)
            case ast.Declaration(_, predicate):
                names.append(predicate)
    return list(dict.fromkeys(names))


def defined_relations(program: ast.Program) -> set[str]:
    """Returns the relations that have rules or facts in the program."""
    return {head.predicate for one in program.statements if isinstance(one, ast.Rule) for head in one.heads}


def with_data_beside_rules(
    program: ast.Program, inputs: Inputs, diagnostics: Diagnostics
) -> tuple[ast.Program, dict[str, Sequence[Column]], dict[str, str]]:
    """Returns the program with a copying rule for each relation that it defines and that has data, the inputs that it
    then has, and for each of these inputs that are new the name that its data is registered under."""
    heads: dict[str, ast.Head] = {}
    for statement in program.statements:
        if isinstance(statement, ast.Rule) and statement.head.predicate in inputs:
            heads.setdefault(statement.head.predicate, statement.head)
    checked = {
        one.predicate: _checking_head(one)
        for one in program.statements
        if isinstance(one, ast.Declaration)
        and one.predicate in inputs
        and not one.predicate.endswith(data_of(""))
        and one.kind is not DeclarationKind.STREAM
        and any(column.type.is_record or column.type.bounds for column in one.columns)
    }
    heads = {**checked, **heads}
    if not heads:
        return program, dict(inputs), {}
    ruled = {one.head.predicate for one in program.statements if isinstance(one, ast.Rule) and one.body is not None}
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
            columns = tuple(
                replace(column, aggregate=None, type=as_given(column.type)) for column in declaration.columns
            )
            added.append(replace(declaration, predicate=data_of(name), columns=columns))
        elif name in ruled:
            diagnostics.warning(
                "DL296",
                f"`{name}` has rules, and data is registered for it, too: what both give counts",
                head.span,
                f"declare it if that is meant: `declare {name}(…).`",
                f'if the data is what an earlier run gave, take it away: del db["{name}"]',
            )
        if len(inputs[name]) == len(head.terms):
            added.append(copying_rule(name, len(inputs[name]), head, declaration))
        else:
            message = f"`{name}` has {len(head.terms)} columns in the program; the data has {len(inputs[name])}"
            diagnostics.error("DL402", message, head.span)
    renamed = {data_of(name) if name in heads else name: columns for name, columns in inputs.items()}
    whole = replace(program, statements=(*program.statements, *added))
    return whole, renamed, {data_of(name): name for name in heads}


def as_given(type_: DataType) -> DataType:
    """Returns the type of data for a column whose values are checked: texts, and ints without bounds."""
    return DataType(type_.name) if type_.is_record or type_.bounds else type_


def _checking_head(declaration: ast.Declaration) -> ast.Head:
    terms = tuple(ast.Variable(column.name, declaration.span) for column in declaration.columns)
    return ast.Head(declaration.predicate, terms, None, declaration.name_span, declaration.name_span)


def copying_rule(name: str, arity: int, head: ast.Head, declaration: ast.Declaration | None = None) -> ast.Rule:
    """Returns the rule that copies registered data into a relation; `head` says where the relation stands. Texts become
    values of the types that the relation declares."""
    variables = tuple(ast.Variable(f"C{index + 1}", head.span) for index in range(arity))
    atom = ast.Atom(data_of(name), variables, False, head.span, head.name_span)
    types = [column.type for column in declaration.columns] if declaration else [UNKNOWN] * len(variables)
    terms = tuple(
        ast.Call(READ.name, (one, ast.Constant(grammar_of(type_), head.span, type_)), head.span)
        if type_.is_record
        else one
        for one, type_ in zip(variables, types, strict=False)
    )
    copied = ast.Head(name, terms, None, head.span, head.name_span)
    return ast.Rule(copied, ast.Conjunction((atom,), head.span), data_of(name), span=head.span)


def report_missing_inputs(
    checked: CheckedProgram,
    needed: Iterable[str],
    given: Collection[str],
    how_to_give: Callable[[str], Iterable[str]],
    diagnostics: Diagnostics,
) -> None:
    """Reports the inputs among `needed` that are not `given`; `how_to_give` has the hints for one of them."""
    for name in needed:
        relation = checked.relations[name]
        place = None if relation.span is NOWHERE else relation.span
        if relation.data_name in given:
            continue
        if relation.is_declared and not relation.is_stream:
            message = f"`{relation.data_name}` is declared, and nobody gives facts for it: it is empty"
            diagnostics.warning("DL294", message, place, "if it should have facts, give them")
            continue
        guess = nearest(name, given)
        known = [f"there are facts for {', '.join(f'`{one}`' for one in sorted(given))}"] if given else []
        hints = [f"did you mean `{guess}`? there are facts for it"] if guess else known
        diagnostics.error("DL401", f"there are no facts for the relation `{name}`", place, *hints, *how_to_give(name))
