"""Tells a person what is wrong with arguments of a call: options that belong elsewhere, values missing or too many."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from typing import ParamSpec, TypeAlias, TypeVar

from emberlog.diagnostics import Diagnostics, nearest

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")
Elsewhere: TypeAlias = Callable[[Collection[str]], Mapping[str, str]]
"""Says of options where they belong that are none of these."""


def _nowhere(known: Collection[str]) -> Mapping[str, str]:
    return {}


def tells_wrong_arguments(
    elsewhere: Elsewhere = _nowhere, otherwise: str = ""
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Makes arguments that a function does not have, or misses, a diagnostic. `elsewhere` has a hint for each option
    that belongs somewhere else, with `otherwise` as the hint for names that nobody knows; `{}` in it is the name."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        name = function.__name__
        parameters = [one for one in inspect.signature(function).parameters.values() if one.name != "self"]
        known = [one.name for one in parameters]
        required = {one.name for one in parameters if one.default is one.empty}
        in_order = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
        has_self = len(parameters) < len(inspect.signature(function).parameters)

        @wraps(function)
        def told(*args: P.args, **kwargs: P.kwargs) -> R:
            count = len(args) - has_self
            placed = in_order[:count]
            is_right = kwargs.keys() <= set(known) and not kwargs.keys() & set(placed)
            if not is_right or count > len(in_order) or required - kwargs.keys() - set(placed):
                owner = type(args[0]).__name__ if name == "__init__" else name
                found = Diagnostics()
                unknown = [one for one in kwargs if one not in known]
                _refuse(owner, unknown, known, elsewhere(known), otherwise, found)
                _refuse_places(owner, count, kwargs, in_order, known, found)
                _refuse_gaps(owner, required - kwargs.keys() - set(placed), in_order, known, found)
                found.raise_errors()
            return function(*args, **kwargs)

        return told

    return decorate


def with_told_options(elsewhere: Elsewhere = _nowhere) -> Callable[[type[C]], type[C]]:
    """Makes arguments that a dataclass does not have a diagnostic."""

    def decorate(options: type[C]) -> type[C]:
        options.__init__ = tells_wrong_arguments(elsewhere)(options.__init__)  # type: ignore[method-assign]
        return options

    return decorate


def _refuse(
    owner: str,
    unknown: Iterable[str],
    known: Iterable[str],
    elsewhere: Mapping[str, str],
    otherwise: str,
    found: Diagnostics,
) -> None:
    for name in unknown:
        guess = nearest(name, known)
        if name in elsewhere:
            hint = elsewhere[name]
        elif guess is not None:
            hint = f"did you mean `{guess}`?"
        else:
            hint = otherwise.format(name) or f"it has {', '.join(known)}"
        found.error("DL508", f"{owner} has no option `{name}`", None, hint)


def _refuse_places(
    owner: str, count: int, named: Collection[str], in_order: Sequence[str], known: Sequence[str], found: Diagnostics
) -> None:
    """Reports values without names that are too many, or that are given by name, too."""
    if count > len(in_order):
        values = "no value" if not in_order else "one value" if len(in_order) == 1 else f"{len(in_order)} values"
        others = [f"{one}=…" for one in known if one not in in_order]
        hint = f"what else it has is given by name: {', '.join(others)}" if others else f"it has {', '.join(known)}"
        found.error("DL508", f"{owner} takes {values} without a name, not {count}", None, hint)
    for name in in_order[:count]:
        if name in named:
            hint = f"leave `{name}=…` out, or the value without a name"
            found.error("DL508", f"{owner} is given `{name}` twice", None, hint)


def _refuse_gaps(
    owner: str, missing: Collection[str], in_order: Sequence[str], known: Sequence[str], found: Diagnostics
) -> None:
    """Reports what a call cannot do without."""
    written = [one if one in in_order else f"{one}=…" for one in known if one in in_order or one in missing]
    more = ", …" if len(written) < len(known) else ""
    for name in (one for one in known if one in missing):
        found.error("DL508", f"{owner} needs `{name}`", None, f"it is written {owner}({', '.join(written)}{more})")
