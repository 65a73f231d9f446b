"""An argument that a call does not have, or misses, is a diagnostic that says what to write, never a TypeError of
Python's."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from emberlog import Database, EmberlogError, Execution, Limits, Recovery, Result

LOCAL: Any = Database(engine="local")
"""Not checked for types: these are the mistakes that a type checker finds."""


def told(call: Callable[[], object]) -> str:
    with pytest.raises(EmberlogError) as caught:
        call()
    assert {one.code for one in caught.value.diagnostics} == {"DL508"}
    return "\n".join(f"{one.message}: {one.notes[0].text}" for one in caught.value.diagnostics)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: LOCAL.datalog("a(1).", executor="cyclic"),
            "datalog has no option `executor`: say execution=Execution(executor=…)",
        ),
        (
            lambda: LOCAL.datalog("a(1).", workers=2, timeout=1),
            "datalog has no option `workers`: say execution=Execution(workers=…)\n"
            "datalog has no option `timeout`: say limits=Limits(timeout=…)",
        ),
        (lambda: LOCAL.datalog("a(1).", parms={}), "datalog has no option `parms`: did you mean `params`?"),
        (
            lambda: LOCAL.datalog("a($source).", source=1),
            "datalog has no option `source`: "
            'a parameter of the program is given in params={"source": …}, and data as db["source"] = …',
        ),
        (
            lambda: LOCAL.query("a(X)?", mode="bsp"),
            "query has no option `mode`: say db.datalog(…, execution=Execution(mode=…))",
        ),
        (
            lambda: Database(arc=[(1, 2)]),  # type: ignore[call-overload]
            'Database has no option `arc`: data is registered by its name: db["arc"] = …',
        ),
        (
            lambda: Database(engine="local", executor="cyclic"),  # type: ignore[call-overload]
            "Database has no option `executor`: say db.datalog(…, execution=Execution(executor=…))",
        ),
        (
            lambda: LOCAL.register("arc", [(1, 2)], delimeter=";"),
            "register has no option `delimeter`: did you mean `delimiter`?",
        ),
        (
            lambda: LOCAL.datalog("a(1).").start(checkpointLocation="x", evaluatoin="live"),
            "start has no option `evaluatoin`: did you mean `evaluation`?",
        ),
        (
            lambda: Execution(retries=3),  # type: ignore[call-arg]
            "Execution has no option `retries`: say recovery=Recovery(retries=…)",
        ),
        (
            lambda: Limits(seconds=3),  # type: ignore[call-arg]
            "Limits has no option `seconds`: it has max_iterations, max_rows, timeout",
        ),
        (
            lambda: Recovery(stall_second=3),  # type: ignore[call-arg]
            "Recovery has no option `stall_second`: did you mean `stall_seconds`?",
        ),
        (lambda: LOCAL.datalog(), "datalog needs `program`: it is written datalog(program, …)"),
        (lambda: LOCAL.register("arc"), "register needs `data`: it is written register(name, data, …)"),
        (
            lambda: LOCAL.register(),
            "register needs `name`: it is written register(name, data, …)\n"
            "register needs `data`: it is written register(name, data, …)",
        ),
        (
            lambda: LOCAL.query("a(X)?", {}),
            "query takes one value without a name, not 2: "
            "what else it has is given by name: params=…, iterations=…, limits=…, listener=…",
        ),
        (
            lambda: LOCAL.datalog("a(1).", program="b(1)."),
            "datalog is given `program` twice: leave `program=…` out, or the value without a name",
        ),
        (
            lambda: LOCAL.register("arc", columms=["x"]),
            "register has no option `columms`: did you mean `columns`?\n"
            "register needs `data`: it is written register(name, data, …)",
        ),
        (
            lambda: Limits(1, 2, 3, 4),  # type: ignore[call-arg]
            "Limits takes 3 values without a name, not 4: it has max_iterations, max_rows, timeout",
        ),
        (
            lambda: LOCAL.datalog("a(1).").start(),
            "start needs `checkpointLocation`: it is written start(path, checkpointLocation=…, …)",
        ),
        (lambda: LOCAL.datalog("a(1).").why("a"), "why needs `fact`: it is written why(relation, fact, …)"),
        (
            lambda: LOCAL.rules("a(1).", "mine"),
            "rules takes one value without a name, not 2: what else it has is given by name: name=…",
        ),
    ],
)
def test_it_is_told_where_it_belongs(call: Callable[[], object], words: str) -> None:
    assert told(call) == words


@pytest.mark.parametrize(
    "door", [Database, Database.datalog, Database.register, Result.start, Result.why, Execution, Limits]
)
def test_help_and_editors_see_the_options_as_they_are(door: Callable[..., object]) -> None:
    kinds = {one.kind for one in inspect.signature(door).parameters.values()}
    assert not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
    assert door.__doc__
