"""Inputs of program analyses, shaped like code: many small methods, local data flow, few links between them."""

from __future__ import annotations

import numpy as np

from benchmarks.data.randomness import Ints, Sequence
from benchmarks.data.relations import Relations, without_repeats

_MODULE = 1_000
"""Variables or vertices of one module. Data flows inside modules, so that answers grow as fast as the code does."""


def andersen(variables: int, seed: int = 1) -> Relations:
    """Andersen's four kinds of statements: `p = &o`, `p = q`, `p = *q`, `*p = q`.

    A pointer may point to a variable, so objects and variables share their numbers.
    """
    random = Sequence(seed, f"andersen {variables}")

    def statement(count: int) -> dict[str, Ints]:
        left = random.below(variables, count)
        right = left // _MODULE * _MODULE + random.below(_MODULE, count)
        return without_repeats({"left": left, "right": np.minimum(right, variables - 1)})

    return {
        "address_of": statement(variables // 4),
        "assign": statement(variables * 3 // 4),
        "load": statement(variables // 12),
        "store": statement(variables // 12),
    }


def objects_with_contexts(methods: int, seed: int = 1) -> Relations:
    """An object-oriented program for a points-to analysis that keeps calls from different places apart.

    Each method has eight variables (the first is its parameter, the last its result): two objects made, moves between
    them, loads and stores of fields, and two calls. A call goes to the method that the class of the receiver's object
    gives, always one of the same module of 128 methods.
    """
    random = Sequence(seed, f"contexts {methods}")
    size, classes, module = 8, 16, 128
    signatures = max(1, methods // 16)
    every_method = np.arange(methods, dtype=np.int64)

    def variable(method: Ints) -> Ints:
        return method * size + random.below(size, len(method))

    def times(count: int) -> Ints:
        return np.repeat(every_method, count)

    def field_near(method: Ints) -> Ints:
        """The methods of one neighbourhood know the same four fields."""
        return method // 16 * 4 + random.below(4, len(method))

    allocating, calling = times(2), times(2)
    moving, loading, storing = times(4), times(1), times(1)
    heap = np.arange(len(allocating), dtype=np.int64)
    made_in = allocating * size + 1 + np.tile(np.arange(2, dtype=np.int64), methods)
    # Receivers are mostly variables that surely have an object.
    receiver = np.where(
        random.chances(0.7, len(calling)), calling * size + 1 + random.below(2, len(calling)), variable(calling)
    )
    signature = np.minimum(
        calling // module * (module // 16) + random.below(module // 16, len(calling)), signatures - 1
    )
    slot = np.arange(classes * signatures, dtype=np.int64)
    return {
        "entry": {"method": np.arange(max(2, methods // 50), dtype=np.int64) * 49 % methods},
        "alloc": {"var": made_in, "heap": heap, "method": allocating},
        "move": without_repeats({"to": variable(moving), "from": variable(moving)}),
        "load": {"to": variable(loading), "base": variable(loading), "field": field_near(loading)},
        "store": {"base": variable(storing), "field": field_near(storing), "from": variable(storing)},
        "call": {
            "site": np.arange(1, len(calling) + 1, dtype=np.int64),
            "receiver": receiver,
            "signature": signature,
            "argument": variable(calling),
            "result": variable(calling),
        },
        "class_of": {"heap": heap, "class": random.below(classes, len(heap))},
        "dispatch": {
            "class": slot // signatures,
            "signature": slot % signatures,
            "method": (slot % signatures * 16 + slot // signatures) % methods,
        },
        "formal": {"method": every_method, "var": every_method * size},
        "returned": {"method": every_method, "var": every_method * size + size - 1},
    }


def value_flow(variables: int, seed: int = 1) -> Relations:
    """Assignments and dereferences for a context-free value-flow analysis (CSPA): many small clusters of variables."""
    random = Sequence(seed, f"value flow {variables}")
    cluster = 20
    source = random.below(variables, variables)
    inside = source // cluster * cluster + random.below(cluster, variables)
    target = np.where(random.chances(0.02, variables), random.below(variables, variables), inside)
    target = np.minimum(target, variables - 1)
    later = source > target  # data flows forwards, so that clusters are not one big cycle
    pointer = random.below(variables, variables // 4)
    return {
        "assign": without_repeats({"to": np.where(later, source, target), "from": np.where(later, target, source)}),
        "dereference": without_repeats(
            {"pointer": pointer, "value": pointer // cluster * cluster + random.below(cluster, len(pointer))}
        ),
    }


def brackets(vertices: int, kinds: int, seed: int = 1) -> Relations:
    """A graph whose arcs are opening and closing brackets of several kinds, for context-free (Dyck) reachability."""
    random = Sequence(seed, f"brackets {vertices} {kinds}")
    arcs = vertices

    def bracket() -> dict[str, Ints]:
        start = random.below(vertices, arcs)
        end_of_module = np.minimum(start // _MODULE * _MODULE + _MODULE, vertices) - 1
        end = np.minimum(start + 1 + random.below(20, arcs), end_of_module)
        return without_repeats({"kind": random.below(kinds, arcs), "src": start, "dst": end})

    return {"open": bracket(), "close": bracket()}
