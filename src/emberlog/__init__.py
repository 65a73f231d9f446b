"""Datalog for Apache Spark.

The public names are loaded when they are first used, so that `import emberlog` (and with it `emberlog check`) stays
quick and needs neither Spark nor Java.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emberlog.config import Execution as Execution
    from emberlog.config import Limits as Limits
    from emberlog.config import Recovery as Recovery
    from emberlog.database import Database as Database
    from emberlog.diagnostics import Diagnostic as Diagnostic
    from emberlog.diagnostics import EmberlogError as EmberlogError
    from emberlog.diagnostics import EmberlogWarning as EmberlogWarning
    from emberlog.io.local_relation import LocalRelation as LocalRelation
    from emberlog.provenance.explanation import Proof as Proof
    from emberlog.provenance.explanation import Refutation as Refutation
    from emberlog.provenance.trace import Trace as Trace
    from emberlog.result import Explained as Explained
    from emberlog.result import Result as Result
    from emberlog.syntax.ast import Program as Program

__version__ = "0.7.0"

_HOME_OF = {
    "Database": "emberlog.database",
    "Diagnostic": "emberlog.diagnostics",
    "EmberlogError": "emberlog.diagnostics",
    "EmberlogWarning": "emberlog.diagnostics",
    "Execution": "emberlog.config",
    "Explained": "emberlog.result",
    "Limits": "emberlog.config",
    "LocalRelation": "emberlog.io.local_relation",
    "Program": "emberlog.syntax.ast",
    "Proof": "emberlog.provenance.explanation",
    "Recovery": "emberlog.config",
    "Refutation": "emberlog.provenance.explanation",
    "Result": "emberlog.result",
    "Trace": "emberlog.provenance.trace",
}

__all__ = (
    "Database",
    "Diagnostic",
    "EmberlogError",
    "EmberlogWarning",
    "Execution",
    "Explained",
    "Limits",
    "LocalRelation",
    "Program",
    "Proof",
    "Recovery",
    "Refutation",
    "Result",
    "Trace",
    "__version__",
)


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module `emberlog` has no attribute `{name}`")
    value: object = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})


def load_ipython_extension(shell: object) -> None:
    """Brings `%datalog` and `%%datalog` into a notebook: `%load_ext emberlog`."""
    from emberlog.notebook.extension import load

    load(shell)


def unload_ipython_extension(shell: object) -> None:
    """Takes them away again: `%unload_ext emberlog`."""
    from emberlog.notebook.extension import unload

    unload(shell)
