"""The one canonical form of a program; reading it back gives the same tree. Comments keep their places."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import assert_never

from emberlog.datatypes import DataType
from emberlog.language.comparisons import COMPARISONS
from emberlog.language.records import ending
from emberlog.language.registry import AGGREGATES
from emberlog.language.spellings import MeantText, literal
from emberlog.syntax import ast
from emberlog.syntax.ast import BinaryOperator
from emberlog.syntax.vocabulary import LITERALS

LINE_WIDTH = 100

_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_WORDS = ("_", "div", "mod", "not", "window", *LITERALS)
"""Names that mean something else where the name of a relation or a column can stand."""

_MULTIPLICATIVE = (
    BinaryOperator.MULTIPLY,
    BinaryOperator.DIVIDE,
    BinaryOperator.INTEGER_DIVIDE,
    BinaryOperator.MODULO,
)
_MOMENTS = {"later!": BinaryOperator.ADD, "earlier!": BinaryOperator.SUBTRACT}
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", '"': '\\"', "\0": "\\0"}


def print_program(program: ast.Program) -> str:
    """Returns the canonical text, ending with a line break unless it is empty."""
    lines: list[str] = []
    comments = list(program.comments)
    last_line = 0  # of the source, to keep one blank line where the person left some

    def separate(line: int) -> None:
        nonlocal last_line
        if lines and last_line and line > last_line + 1:
            lines.append("")

    def emit_comments_before(offset: int) -> None:
        nonlocal last_line
        while comments and comments[0].span.start < offset:
            comment = comments.pop(0)
            separate(comment.span.begin.line)
            lines.extend(comment.text.split("\n"))
            last_line = comment.span.finish.line

    for statement in program.statements:
        emit_comments_before(statement.span.start)
        separate(statement.span.begin.line)
        while comments and comments[0].span.start < statement.span.end:  # from inside it to above it
            lines.extend(comments.pop(0).text.split("\n"))
        lines.extend(print_statement(statement).split("\n"))
        last_line = statement.span.finish.line
        if comments and comments[0].trailing and comments[0].span.begin.line == last_line:
            lines[-1] += "  " + comments.pop(0).text
    emit_comments_before(len(program.source.text) + 1)
    return "".join(line + "\n" for line in lines)


def print_statement(statement: ast.Statement) -> str:
    match statement:
        case ast.Rule():
            return _rule(statement)
        case ast.Query(atom, None):
            return f"{_atom(atom)}?"
        case ast.Query(atom, window):
            assert window is not None
            return f"query {_atom(atom)}, {print_window(window)}."
        case ast.Declaration(kind, predicate, columns):
            more = " equivalence" if statement.is_equivalence else _choices(statement.choices)
            return f"{kind.value} {print_name(predicate)}({', '.join(map(_column, columns))}){more}."
        case ast.Subsumption(worse, better, body):
            condition = f" :- {print_body(body)}" if body else ""
            return f"{print_head(worse)} <= {print_head(better)}{condition}."
        case ast.TypeDeclaration(name, None, branches):
            return f"type {print_name(name)} = {' | '.join(map(_branch, branches))}."
        case ast.TypeDeclaration(name, base):
            return f"type {print_name(name)} <: {_type(base)}."
        case ast.ProgramOption(annotation):
            return f"{_annotation(annotation)}."
        case _:
            assert_never(statement)


def _choices(choices: Sequence[Sequence[str]]) -> str:
    written = [", ".join(map(print_name, one)) for one in choices]
    shown = [f"({text})" if len(one) > 1 else text for one, text in zip(choices, written, strict=True)]
    return f" choice {', '.join(shown)}" if shown else ""


def _rule(rule: ast.Rule) -> str:
    lines = [_annotation(annotation) for annotation in rule.annotations]
    start = (f"{print_name(rule.label)}: " if rule.label else "") + ", ".join(map(print_head, rule.heads))
    if rule.body is None:
        return "\n".join([*lines, start + "."])
    line = f"{start} :- {print_body(rule.body)}."
    if len(line) > LINE_WIDTH:
        parts = [_part(part, alone=len(rule.body.parts) == 1) for part in rule.body.parts]
        line = f"{start} :-\n    " + ",\n    ".join(parts) + "."
    return "\n".join([*lines, line])


def print_head(head: ast.Head) -> str:
    terms = [("#" if index == head.location else "") + print_term(term) for index, term in enumerate(head.terms)]
    return _applied(head.predicate, terms, head.names)


def _applied(predicate: str, terms: Sequence[str], names: Sequence[str]) -> str:
    """Prints a relation with its arguments."""
    if names:
        terms = [f"{print_name(name)}: {term}" for name, term in zip(names, terms, strict=True)]
    return print_name(predicate) + (f"({', '.join(terms)})" if terms else "")


def print_name(name: str) -> str:
    """Prints the name of a relation, a column or a rule, in backquotes where it needs them."""
    return name if _PLAIN_NAME.fullmatch(name) and name.lower() not in _WORDS else f"`{name}`"


def print_term(term: ast.HeadTerm) -> str:
    if not isinstance(term, ast.AggregateTerm):
        return print_expression(term)
    arguments = ", ".join(map(print_expression, term.arguments)) or "_"
    if len(term.arguments) > 1 and term.function in AGGREGATES and AGGREGATES[term.function].by_key:
        arguments = f"({arguments})"
    return f"{term.function}<{arguments}>"


def _annotation(annotation: ast.Annotation) -> str:
    arguments = ", ".join(map(print_expression, annotation.arguments))
    return f"@{annotation.name}" + (f"({arguments})" if arguments else "")


def print_body(conjunction: ast.Conjunction) -> str:
    """Prints a body on one line."""
    alone = len(conjunction.parts) == 1
    return ", ".join(_part(part, alone=alone) for part in conjunction.parts)


def _part(part: ast.BodyPart, *, alone: bool) -> str:
    match part:
        case ast.Atom():
            return _atom(part)
        case ast.Comparison(operator, left, right):
            return f"{print_expression(left)} {operator.value} {print_expression(right)}"
        case ast.Negation(body):
            return f"!({print_body(body)})"
        case ast.Aggregation(operator, value, aggregate, body):
            return f"{print_expression(value)} {operator.value} {print_aggregation(aggregate, body)}"
        case ast.Disjunction(alternatives):
            text = " ; ".join(map(_conjunction_in_disjunction, alternatives))
            return text if alone else f"({text})"
        case _:
            assert_never(part)


def print_aggregation(aggregate: ast.AggregateTerm, body: ast.Conjunction) -> str:
    """Prints an aggregate over a body of its own."""
    arguments = ", ".join(map(print_expression, aggregate.arguments))
    return f"{' '.join(filter(None, (aggregate.function, arguments)))} : {{ {print_body(body)} }}"


def _conjunction_in_disjunction(conjunction: ast.Conjunction) -> str:
    """Returns a disjunction directly inside another keeps its parentheses."""
    return ", ".join(_part(part, alone=False) for part in conjunction.parts)


def _atom(atom: ast.Atom) -> str:
    if atom.predicate in ("between!", "range!", "in!", "like!", "member!"):
        return _infix(atom)
    terms = [print_expression(term) for term in atom.terms]
    return ("!" if atom.negated else "") + _applied(atom.predicate, terms, atom.names)


def _column(column: ast.ColumnDeclaration) -> str:
    aggregate = f" aggregate {column.aggregate}" if column.aggregate else ""
    return f"{print_name(column.name)}: {_type(column.type)}{aggregate}"


def _branch(branch: ast.BranchDeclaration) -> str:
    return print_name(branch.name) + (f"({', '.join(map(_column, branch.fields))})" if branch.fields else "")


def _type(type_: DataType | None) -> str:
    name = str(type_)
    return name if type_ is not None and type_.scale is not None else print_name(name)


def print_window(window: ast.Window) -> str:
    slide = f", {print_duration(window.slide)}" if window.slide else ""
    key = f", {print_name(window.key)}" if window.key else ""
    return f"{window.kind.value}({print_duration(window.size)}{slide}{key})"


def print_duration(duration: ast.Duration) -> str:
    return f"{duration.amount} {duration.unit}" if duration.unit else str(duration.amount)


def print_expression(expression: ast.Expression) -> str:
    match expression:
        case ast.Variable(name):
            return name
        case ast.Wildcard():
            return "_"
        case ast.Constant(value, _, meant):
            return print_value(value, meant)
        case ast.Parameter(name):
            return f"${name}"
        case ast.Unary(operand):
            text = print_expression(operand)
            # `-1` is a constant, so the negation of the constant 1 needs its parentheses.
            plain = isinstance(operand, ast.Constant) and not text.startswith("-")
            return f"-({text})" if plain or isinstance(operand, ast.Binary) else f"-{text}"
        case ast.Binary(operator, left, right):
            sides = _operand(operator, left, right_side=False), _operand(operator, right, right_side=True)
            return f" {operator.value} ".join(sides)
        case ast.Call(function, (left, right)) if function in COMPARISONS:
            return f"{print_expression(left)} {function} {print_expression(right)}"
        case ast.Call("not!", (inner,)):
            return f"not ({print_expression(inner)})"
        case ast.Call("list!", elements):
            return f"[{', '.join(map(print_expression, elements))}]"
        case ast.Call("in!" | "like!" | "member!" as test, terms):
            return _infix(ast.Atom(test, terms))
        case ast.Call("if", (condition, first, second)):
            return f"if({_condition(condition)}, {print_expression(first)}, {print_expression(second)})"
        case ast.Call(function, arguments):
            return _call(function, arguments)
        case _:
            assert_never(expression)


def _call(function: str, arguments: tuple[ast.Expression, ...]) -> str:
    """Prints a call; what the type checker wrote is printed as the person wrote it."""
    match function, arguments:
        case (("later!" | "earlier!"), (moment, duration)):
            return print_expression(ast.Binary(_MOMENTS[function], moment, duration))
        case "branch!", (value, ast.Constant(str() as opening)):
            return f"{print_expression(value)} = {opening}{'…' + ending(opening) if ending(opening) else ''}"
        case (("read!" | "bounded!"), (value, *_)):
            return print_expression(value)
        case "field!", (value, opening, ast.Constant(int() as place), *_):
            return f"{print_expression(value)}.{_name_of_field(opening, place)}"
        case "record!", (ast.Constant(str() as opening), _, *values):
            return f"{opening}{', '.join(map(print_expression, values))}{ending(opening)}"
        case "format!", parts:
            return _formatted(parts)
        case "text!", (value, _):
            return f"string({print_expression(value)})"
        case (("timestamp!" | "whole_day!"), (value,)):
            return print_expression(value)
        case _:
            return f"{function}({', '.join(map(print_expression, arguments))})"


def _formatted(parts: Sequence[ast.Expression]) -> str:
    """Prints a text with values inside; what cannot stand in braces is joined by `cat`."""
    values = [print_expression(one) for one in parts if not ast.is_text(one)]
    quote = next((one for one in "\"'" if not any(one in value for value in values)), None)
    if quote is None or any(brace in value for value in values for brace in "{}"):
        texts = (one if ast.is_text(one) else ast.Call("string", (one,)) for one in parts)
        return _call("cat", tuple(texts)) if len(parts) > 1 else f"string({values[0]})"

    def printed(part: ast.Expression) -> str:
        if not ast.is_text(part):
            return f"{{{print_expression(part)}}}"
        inside = print_expression(part)[1:-1].replace("{", "{{").replace("}", "}}")
        return inside if quote == '"' else inside.replace('\\"', '"').replace("'", "\\'")

    return f"f{quote}{''.join(map(printed, parts))}{quote}"


def _name_of_field(opening: ast.Expression, place: int) -> str:
    if isinstance(opening, ast.Constant) and opening.type.named is not None:
        for branch in opening.type.named.branches:
            if branch.opening == opening.value:
                return branch.fields[place][0]
    return str(place)


def _written(operand: ast.Expression) -> ast.Expression:
    """Returns the operand without what the type checker put around it."""
    match operand:
        case ast.Call("timestamp!" | "whole_day!", (inner,)):
            return _written(inner)
        case ast.Call("later!" | "earlier!" as function, (moment, duration)):
            return ast.Binary(_MOMENTS[function], moment, duration)
        case _:
            return operand


def _condition(condition: ast.Expression) -> str:
    match condition:
        case ast.Call("if", (left, ast.Constant(True), right)):
            return f"{_condition_part(left)} or {_condition_part(right)}"
        case ast.Call("if", (left, right, ast.Constant(False))):
            return f"{_condition_part(left)} and {_condition_part(right)}"
        case ast.Call("not!", (inner,)):
            return f"not ({_condition(inner)})"
        case _:
            return print_expression(condition)


def _condition_part(part: ast.Expression) -> str:
    is_compound = isinstance(part, ast.Call) and part.function == "if"
    return f"({_condition(part)})" if is_compound else _condition(part)


def _infix(test: ast.Atom) -> str:
    """Prints `X not in (1, 2)` and the like."""
    subject, *others = map(print_expression, test.terms)
    word = "not " if test.negated else ""
    match test.predicate:
        case "between!":
            return f"{subject} {word}between {others[0]} and {others[1]}"
        case "range!":
            return f"{subject} {word}in range({', '.join(others)})"
        case "in!":
            return f"{subject} {word}in ({', '.join(others)})"
        case "member!":
            return f"{subject} {word}in {others[0]}"
        case _:
            return f"{subject} {word}like {others[0]}"


def _operand(parent: BinaryOperator, operand: ast.Expression, *, right_side: bool) -> str:
    text = print_expression(operand)
    operand = _written(operand)
    if not isinstance(operand, ast.Binary):
        return text
    tighter = operand.operator in _MULTIPLICATIVE and parent not in _MULTIPLICATIVE
    same = (operand.operator in _MULTIPLICATIVE) == (parent in _MULTIPLICATIVE)
    return text if tighter or (same and not right_side) else f"({text})"


def print_value(value: ast.Value, type_: DataType | None = None) -> str:
    """Prints a constant; its type, where the value does not tell it."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() if type_ is not None and type_.is_told_by_type:
            return literal(value, type_)
        case int():
            return str(value)
        case float():
            return _float(value)
        case str() if isinstance(value, MeantText) or (type_ is not None and type_.is_record):
            return str(value)
        case str():
            return '"' + "".join(map(_character, value)) + '"'


def _float(value: float) -> str:
    text = repr(value)
    # The grammar wants digits on both sides of a point, or an exponent: 1e20, 1.5, not 1.
    return text if re.search(r"[.e]", text) else f"{text}.0"


def _character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    # Other control characters and line separators would break the line that holds the string.
    if ord(character) < 32 or character in "\x7f\x85\u2028\u2029":
        return f"\\u{ord(character):04x}"
    return character
