"""Texts as codes: the same text has the same code, and only that is ever asked of it inside a recursion."""

from __future__ import annotations

from collections.abc import Iterator

from emberlog.logical.expressions import condition_expressions
from emberlog.syntax.ast import Binary, Call, Constant, Expression, Unary
from emberlog.workers.plan.compile import CyclicProgram
from emberlog.workers.plan.rules import Assign, Keep, Refute, RuleChain


class TextCodes:
    """Codes in the order in which texts come."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}
        self.texts: list[str] = []

    def code(self, text: str) -> int:
        known = self.codes.setdefault(text, len(self.texts))
        if known == len(self.texts):
            self.texts.append(text)
        return known


def texts_of(program: CyclicProgram) -> Iterator[str]:
    """The texts that the program itself writes."""
    for facts in program.facts:
        yield from (cell for row in facts.rows for cell in row if isinstance(cell, str))
    for chain in (*program.seeds, *program.rules):
        for expression in _expressions(chain):
            yield from _texts(expression)


def _expressions(chain: RuleChain) -> Iterator[Expression]:
    yield from chain.head
    for step in chain.steps:
        match step:
            case Assign(_, expression):
                yield expression
            case Keep(condition):
                yield from condition_expressions(condition)
            case Refute(guards=guards):
                for guard in guards:
                    yield from condition_expressions(guard)
            case _:
                pass


def _texts(expression: Expression) -> Iterator[str]:
    match expression:
        case Constant(str() as text):
            yield text
        case Unary(operand):
            yield from _texts(operand)
        case Binary(_, left, right):
            yield from _texts(left)
            yield from _texts(right)
        case Call(_, arguments):
            for argument in arguments:
                yield from _texts(argument)
        case _:
            pass
