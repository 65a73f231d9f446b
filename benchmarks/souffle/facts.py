"""Makes facts for the analyses: of any number of rows, the same ones for the same seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path

Rows = list[tuple[int | str, ...]]
Facts = dict[str, Rows]


def points_to(rows: int, seed: int = 0) -> Facts:
    """Returns an object-oriented program with about so many facts: methods mostly call methods near to them, and
    variables stand for what is near, too."""
    dice = random.Random(seed)
    methods = max(rows // 34, 6)
    types = max(methods // 6, 4)
    fields = types * 2
    facts: Facts = {name: [] for name in _OF_POINTS_TO}

    def add(name: str, *row: int | str) -> None:
        facts[name].append(row)

    classes = list(range(types))
    interfaces = [types + number for number in range(max(types // 8, 1))]
    for one in classes:
        add("class_type", one)
        if one:
            add("direct_superclass", one, dice.randrange(one))
        if dice.random() < 0.2:
            add("direct_interface", one, dice.choice(interfaces))
    for one in interfaces:
        add("interface_type", one)
    arrays = {one: types * 2 + number for number, one in enumerate(dice.sample(classes, max(types // 10, 1)))}
    for element, array in arrays.items():
        add("array_type", array, element)
    for number in range(fields):
        add("field_of", number, dice.randrange(types))

    variable = heap = site = 0
    parameters: dict[int, int] = {}
    locals_of: list[list[int]] = []
    for method in range(methods):
        owner = method % types
        signature = f"s{dice.randrange(max(types // 8, 3))}"
        add("declares", owner, signature, method)
        own = list(range(variable, variable + 8))
        variable += 8
        locals_of.append(own)
        for one in own:
            add("variable_in", one, method)
        add("this_of", method, own[0])
        add("parameter", method, 0, own[1])
        parameters[method] = own[1]
        add("return_of", method, own[7])
        for place in (2, 3):
            kind = dice.choice(list(arrays.values())) if dice.random() < 0.1 else dice.randrange(types)
            add("alloc", own[place], heap, method)
            add("heap_type", heap, kind)
            heap += 1
        add("move", own[4], own[dice.randrange(4)])
        add("move", own[7], own[dice.randrange(1, 7)])
        add("load", own[5], own[dice.randrange(4)], dice.randrange(fields))
        add("store", own[dice.randrange(4)], dice.randrange(fields), own[dice.randrange(5)])
        if dice.random() < 0.3:
            add("cast", own[6], own[dice.randrange(6)], dice.randrange(types))
        if dice.random() < 0.1:
            add("store_element", own[dice.randrange(5)], own[dice.randrange(4)])
            add("load_element", own[6], own[dice.randrange(5)])
        if dice.random() < 0.02:
            add("store_static", dice.randrange(fields), own[2])
            add("load_static", own[6], dice.randrange(fields))
        if dice.random() < 0.05:
            add("throws", own[3])
            add("catches", method, dice.randrange(types), own[6])
        for _ in range(2):
            add("site_in", site, method)
            add("argument", site, 0, own[dice.randrange(6)])
            add("result", site, own[6])
            near = min(max(method + dice.randrange(-3, 8), 0), methods - 1)
            chance = dice.random()
            if chance < 0.5:
                add("virtual_call", site, own[dice.randrange(5)], f"s{dice.randrange(max(types // 8, 3))}")
            elif chance < 0.7:
                add("special_call", site, own[dice.randrange(4)], near)
            else:
                add("static_call", site, near)
            site += 1
    for method in dice.sample(range(methods), max(methods // 8, 1)):
        add("entry", method)
    for one in dice.sample(classes, max(types // 20, 1)):
        add("initializer", one, dice.randrange(methods))
    for name in ("source_method", "sanitizer"):
        for method in dice.sample(range(methods), max(methods // 20, 1)):
            add(name, method)
    for method in dice.sample(range(methods), max(methods // 20, 1)):
        add("sink_parameter", method, 0)
    return facts


_OF_POINTS_TO = (
    *("class_type", "interface_type", "direct_superclass", "direct_interface", "array_type", "declares", "is_abstract"),
    *("initializer", "this_of", "parameter", "return_of", "variable_type", "variable_in", "field_of", "heap_type"),
    *("alloc", "move", "cast", "load", "store", "load_static", "store_static", "load_element", "store_element"),
    *("virtual_call", "special_call", "static_call", "site_in", "argument", "result", "throws", "catches", "entry"),
    *("source_method", "sink_parameter", "sanitizer"),
)


def access(rows: int, seed: int = 0) -> Facts:
    """Returns a company with about so many facts."""
    dice = random.Random(seed)
    people = max(rows // 16, 8)
    groups, roles, things = max(people // 20, 3), max(people // 40, 4), max(people * 2, 8)
    facts: Facts = {name: [] for name in _OF_ACCESS}

    def add(name: str, *row: int | str) -> None:
        facts[name].append(row)

    for one in range(people):
        add("person", one)
        add("member", one, dice.randrange(groups))
        add("person_role", one, dice.randrange(roles))
        if one:
            add("manager", one, dice.randrange(one))
        if dice.random() < 0.02:
            add("suspended", one)
        if dice.random() < 0.05:
            add("delegates", one, dice.randrange(people), dice.randrange(roles))
        add("document.clearance", one, dice.randrange(4))
        add("device.on_site", one, dice.randrange(20))
    for one in range(1, groups):
        add("subgroup", one, dice.randrange(one))
        add("group_role", one, dice.randrange(roles))
    for one in range(1, roles):
        if dice.random() < 0.5:
            add("includes", one, dice.randrange(one))
        if dice.random() < 0.1:
            add("conflict", one, dice.randrange(one))
    for first, second in ((4, 3), (3, 2), (2, 1)):
        add("implies", first, second)
    for kind in ("document", "service", "device"):
        count = things if kind == "document" else things // 4
        for one in range(count):
            add(f"{kind}.thing", one)
            if one:
                add(f"{kind}.inside", one, dice.randrange(one))
            if dice.random() < 0.3:
                add(f"{kind}.owner", one, dice.randrange(people))
            if dice.random() < 0.02 and one > count // 10:  # what is near the top holds nearly everything
                add(f"{kind}.grant", dice.randrange(roles), dice.randrange(1, 5), one)
            if kind != "device" and dice.random() < 0.01:
                add(f"{kind}.deny", dice.randrange(roles), dice.randrange(1, 5), one)
            if kind != "service" and dice.random() < 0.05:
                add(f"{kind}.secret", one, dice.randrange(4))
            if kind == "document" and dice.random() < 0.001:
                add("document.is_public", one)
            if kind == "service" and dice.random() < 0.2:
                add("service.runs_as", one, dice.randrange(roles))
            if kind == "device":
                add("device.located", one, dice.randrange(20))
            if kind != "device" and dice.random() < 0.5:
                add(f"{kind}.used", dice.randrange(people), dice.randrange(1, 5), one)
    return facts


_OF_ACCESS = (
    *("person", "member", "subgroup", "includes", "group_role", "person_role", "suspended", "manager", "delegates"),
    *("conflict", "implies"),
    *(f"document.{name}" for name in ("inside", "thing", "owner", "grant", "deny", "is_public", "secret")),
    *("document.clearance", "document.used"),
    *(f"service.{name}" for name in ("inside", "thing", "owner", "grant", "deny", "used", "runs_as")),
    *(f"device.{name}" for name in ("inside", "thing", "owner", "grant", "secret", "located", "on_site")),
)


def data_flow(rows: int, seed: int = 0) -> Facts:
    """Returns procedures of forty nodes with loops, branches and a few variables each."""
    dice = random.Random(seed)
    size = 40
    procedures = max(rows // (size * 6), 2)
    facts: Facts = {name: [] for name in _OF_DATA_FLOW}

    def add(name: str, *row: int | str) -> None:
        facts[name].append(row)

    globals_ = range(100)
    locks = max(procedures // 10, 3)
    for one in range(20):
        add("shared", one)
    for procedure in range(procedures):
        first = procedure * size
        nodes = range(first, first + size)
        variables = [100 + procedure * 8 + number for number in range(8)]
        expressions = [procedure * 5 + number for number in range(5)]
        add("entry_of", procedure, first)
        add("exit_of", procedure, first + size - 1)
        add("is_parameter", procedure, variables[0])
        add("is_parameter", procedure, variables[1])
        for one in expressions:
            for variable in dice.sample(variables, 2):
                add("reads", one, variable)
        for node in nodes:
            add("node_in", node, procedure)
            if node + 1 in nodes and dice.random() < 0.97:
                add("flow", node, node + 1)
            if dice.random() < 0.15:
                add("flow", node, dice.randrange(max(node - 10, first), min(node + 10, first + size)))
            chance = dice.random()
            variable = dice.choice(variables) if dice.random() < 0.9 else dice.choice(globals_)
            if chance < 0.15:
                add("assigns_constant", node, variable, dice.randrange(-5, 6))
            elif chance < 0.3:
                other = dice.choice(variables)
                add("copies", node, variable, other)
                add("uses", node, other)
            elif chance < 0.45:
                other = dice.choice(variables)
                add("adds", node, variable, other, dice.randrange(-3, 4))
                add("uses", node, other)
            if chance < 0.6:
                add("defines", node, variable)
            else:
                add("uses", node, variable)
            if dice.random() < 0.3:
                add("computes", node, dice.choice(expressions))
            if dice.random() < 0.02:
                add("acquires", node, dice.randrange(locks))
            if dice.random() < 0.02:
                add("releases", node, dice.randrange(locks))
            if dice.random() < 0.03:
                add("calls", node, min(procedure + dice.randrange(1, 20), procedures - 1))
    for one in range(max(procedures // 20, 1)):
        add("is_main", one)
    return facts


_OF_DATA_FLOW = (
    *("flow", "node_in", "entry_of", "exit_of", "defines", "uses", "assigns_constant", "copies", "adds", "computes"),
    *("reads", "calls", "is_parameter", "acquires", "releases", "shared", "is_main"),
)

ANALYSES: Mapping[str, Callable[[int, int], Facts]] = {"points_to": points_to, "access": access, "data_flow": data_flow}


def program(name: str) -> Path:
    return Path(__file__).with_name(f"{name}.dl")
