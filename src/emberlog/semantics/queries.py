"""Queries: the relation exists, the constants fit its columns, and only a stream has a window."""

from __future__ import annotations

from collections.abc import Mapping

from emberlog.datatypes import FLOAT, INT, join_types
from emberlog.diagnostics import Diagnostics
from emberlog.language.registry import BUILT_IN
from emberlog.semantics.elaborate import decimal_constant, elaborated
from emberlog.semantics.expression_types import ExpressionTyper
from emberlog.semantics.model import CheckedQuery, Column, Relation, Term
from emberlog.semantics.normalize import Vocabulary, constant_value, refuse_null
from emberlog.semantics.widening import whole_constant
from emberlog.syntax import ast
from emberlog.syntax.ast import Constant, Parameter, Variable

_TYPER = ExpressionTyper({}, BUILT_IN, Diagnostics())


def check_queries(
    program: ast.Program,
    relations: Mapping[str, Relation],
    params: Mapping[str, ast.Given] | None,
    vocabulary: Vocabulary,
    diagnostics: Diagnostics,
) -> tuple[CheckedQuery, ...]:
    """Returns the queries whose relation exists; `resolve` has reported the others."""
    queries = []
    for statement in program.statements:
        if not isinstance(statement, ast.Query):
            continue
        relation = relations.get(statement.atom.predicate)
        if relation is None or relation.arity != len(statement.atom.terms):
            continue
        terms = tuple(
            _term(term, index, relation, params, vocabulary, diagnostics)
            for index, term in enumerate(statement.atom.terms)
        )
        if statement.window is not None and not relation.is_stream and program.is_readable:
            diagnostics.error(
                "DL241",
                f"`{relation.name}` is not derived from a stream, so it has no window",
                statement.window.span,
                "declare the input with STREAM, its timestamp first, or leave the window out",
            )
        if statement.window is not None and (key := statement.window.key) is not None:
            without = [
                one.name
                for one in relations.values()
                if one.is_stream and not one.is_derived and key not in [column.name for column in one.columns[1:]]
            ]
            if without:
                diagnostics.error(
                    "DL247",
                    f"the stream `{without[0]}` has no column `{key}`",
                    statement.window.span,
                    "sessions are told apart by a column that every stream has under the same name",
                )
        queries.append(CheckedQuery(relation.name, terms, statement.window, statement.span))
    return tuple(queries)


def _term(
    term: ast.Expression,
    index: int,
    relation: Relation,
    params: Mapping[str, ast.Given] | None,
    vocabulary: Vocabulary,
    diagnostics: Diagnostics,
) -> Term | Parameter:
    match term:
        case ast.Wildcard(span):
            return Variable(f"_{index + 1}", span)
        case Variable():
            return term
        case Parameter(name, span) if f"${name}" in vocabulary.branches:
            return _term(ast.Call(f"${name}", (), span), index, relation, params, vocabulary, diagnostics)
        case Parameter(name, span):
            if params is None:
                return term
            if name not in params:
                hint = f'give it one: --param {name}=… or params={{"{name}": …}}'
                diagnostics.error("DL211", f"the parameter `${name}` has no value", span, hint)
                return term
            return _constant(ast.given_constant(params[name], span), index, relation, diagnostics)
        case Constant():
            return _constant(term, index, relation, diagnostics)
        case ast.Call(function) if function.startswith("$") and not ast.variables_of(term):
            value = elaborated(constant_value(term, vocabulary, diagnostics), _TYPER)
            if isinstance(value, Constant):
                return _constant(value, index, relation, diagnostics)
            return Constant("", term.span, relation.columns[index].type)  # it is reported
        case _:
            diagnostics.error(
                "DL218",
                "an argument of a query is a constant, a parameter or a variable",
                term.span,
                "write the value itself, or a rule that computes it",
            )
            return Constant(0, term.span)


def _constant(constant: Constant, index: int, relation: Relation, diagnostics: Diagnostics) -> Constant:
    column: Column = relation.columns[index]
    if constant.value is None:
        refuse_null(
            constant,
            f"no fact of `{relation.name}` agrees with null",
            diagnostics,
            "ask with a variable, and look for null in the answers",
        )
    constant = whole_constant(constant, column.type)
    constant = decimal_constant(constant, column.type) or constant
    found = constant.type
    joined = join_types(column.type, found)
    if joined is None or (column.type == INT and found == FLOAT) or (joined.is_decimal and joined != column.type):
        diagnostics.error(
            "DL224",
            f"column {index + 1} of `{relation.name}` is {column.type}, and this is {found.described}",
            constant.span,
        )
    if column.type == FLOAT and found == INT:
        assert isinstance(constant.value, int)
        return Constant(float(constant.value), constant.span)
    return constant
