"""Short ways to read a program in tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from emberlog.diagnostics import EmberlogError
from emberlog.semantics.analysis import analyze
from emberlog.semantics.model import CheckedProgram, Column
from emberlog.source import Source
from emberlog.syntax import ast
from emberlog.syntax.parser import parse


def parsed(text: str) -> ast.Program:
    return parse(Source("program.dl", text))


def checked(
    text: str,
    *,
    params: Mapping[str, ast.Value] | None = None,
    inputs: Mapping[str, Sequence[Column]] | None = None,
    iterations: int | None = None,
) -> CheckedProgram:
    return analyze(parsed(text), params=params, inputs=inputs, iterations=iterations)


def codes(text: str, **options: object) -> list[str]:
    """The codes of the errors that a program gives, in the order shown."""
    with pytest.raises(EmberlogError) as caught:
        checked(text, **options)  # type: ignore[arg-type]
    return [d.code for d in caught.value.diagnostics if d.severity.value == "error"]


def warnings(text: str) -> list[str]:
    return [warning.code for warning in checked(text).warnings]


_LIMITS = frozenset({"DL510", "DL511", "DL512", "DL514"})


def is_limit(error: EmberlogError) -> bool:
    """Tells whether a run went on for too long: any other error is that of a value."""
    return any(one.code in _LIMITS for one in error.diagnostics)
