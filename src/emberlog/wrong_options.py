"""Tells a person who passes an option that there is none of its name, and where it belongs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
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


def tells_unknown_options(
    elsewhere: Elsewhere = _nowhere, otherwise: str = ""
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Makes unknown keyword arguments of a function a diagnostic. `elsewhere` has a hint for each option that belongs
    somewhere else, with `otherwise` as the hint for names that nobody knows; `{}` in it is the name."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        name = function.__name__
        known = [one for one in inspect.signature(function).parameters if one != "self"]

        @wraps(function)
        def told(*args: P.args, **kwargs: P.kwargs) -> R:
            if not kwargs.keys() <= set(known):
                owner = type(args[0]).__name__ if name == "__init__" else name
                _refuse(owner, [one for one in kwargs if one not in known], known, elsewhere(known), otherwise)
            return function(*args, **kwargs)

        return told

    return decorate


def with_told_options(elsewhere: Elsewhere = _nowhere) -> Callable[[type[C]], type[C]]:
    """Makes unknown keyword arguments of a dataclass a diagnostic."""

    def decorate(options: type[C]) -> type[C]:
        options.__init__ = tells_unknown_options(elsewhere)(options.__init__)  # type: ignore[method-assign]
        return options

    return decorate


def _refuse(
    owner: str, unknown: Iterable[str], known: Iterable[str], elsewhere: Mapping[str, str], otherwise: str
) -> None:
    found = Diagnostics()
    for name in unknown:
        guess = nearest(name, known)
        if name in elsewhere:
            hint = elsewhere[name]
        elif guess is not None:
            hint = f"did you mean `{guess}`?"
        else:
            hint = otherwise.format(name) or f"it has {', '.join(known)}"
        found.error("DL508", f"{owner} has no option `{name}`", None, hint)
    found.raise_errors()
