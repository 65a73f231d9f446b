"""docs/api.md describes what is public, and nothing else, with the right parameters."""

from __future__ import annotations

import inspect
import re
from functools import cached_property
from pathlib import Path

import pytest

import emberlog

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")

CREATED_BY_PEOPLE = (emberlog.Database, emberlog.Limits, emberlog.Execution, emberlog.Recovery, emberlog.Diagnostic)

HEADINGS = re.findall(r"^### `(\w+)(?:\.(\w+))?(\(.*\))?`$", PAGE, re.MULTILINE)


def parameters_of(function: object) -> str:
    """`(program, *, params)`: names only, with the star before those that have to be named."""
    shown: list[str] = []
    for parameter in inspect.signature(function).parameters.values():  # type: ignore[arg-type]
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        shown.append(parameter.name)
    return f"({', '.join(shown)})"


def public_members(class_: type) -> dict[str, str]:
    """Name → parameters; an attribute has none. What comes with being a mapping is not counted."""
    fields = getattr(class_, "__dataclass_fields__", {}) if class_ is not emberlog.Limits else {}
    attributes = {name: "" for name in fields if not name.startswith("_")}
    found = {name: value for name, value in vars(class_).items() if not name.startswith("_")}
    return {
        **attributes,
        **{name: parameters_of(value) for name, value in found.items() if inspect.isfunction(value)},
    } | {name: "" for name, value in found.items() if isinstance(value, property | cached_property)}


def described(class_: type) -> dict[str, str]:
    return {member: parameters for name, member, parameters in HEADINGS if name == class_.__name__ and member}


@pytest.mark.parametrize(
    "class_", [emberlog.Database, emberlog.Result, emberlog.Explained], ids=lambda one: one.__name__
)
def test_members(class_: type) -> None:
    expected = public_members(class_)
    assert described(class_) == expected


@pytest.mark.parametrize("class_", CREATED_BY_PEOPLE, ids=lambda one: one.__name__)
def test_how_it_is_made(class_: type) -> None:
    made = [parameters for name, member, parameters in HEADINGS if name == class_.__name__ and not member]
    assert made == [parameters_of(class_)]


def test_every_public_name_is_in_the_table() -> None:
    table = PAGE.partition("| name | what it is |")[2].partition("\n\n")[0]
    names = {
        name for cell in re.findall(r"^\| \[(.*?)\]", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", cell)
    }
    assert names == set(emberlog.__all__) - {"__version__"}


def test_every_event_is_named() -> None:
    from emberlog import events

    made = {
        name
        for name, value in vars(events).items()
        if inspect.isclass(value) and name.endswith(("Started", "Finished"))
    }
    assert made == set(re.findall(r"`(\w+(?:Started|Finished))`", PAGE))
