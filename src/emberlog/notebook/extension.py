"""Brings Emberlog into a notebook, and takes it away again."""

from __future__ import annotations

import warnings
from typing import Any

from emberlog.cli.terminal import silence_py4j
from emberlog.diagnostics import EmberlogWarning
from emberlog.editor.pygments_lexer import highlight_cells
from emberlog.notebook.completion import Completer
from emberlog.notebook.magics import DatalogMagics

_format_others = warnings.formatwarning


def load(shell: Any) -> None:
    """Registers the magics and their completion. Warnings of `db.datalog(…)` are shown as the diagnostics that they
    are, without the line of the cell."""
    magics = DatalogMagics(shell)
    shell.register_magic_function(magics.cell, "cell", "datalog")
    shell.register_magic_function(magics.line, "line", "datalog")
    unload(shell)
    shell.Completer.custom_matchers.append(Completer(magics).match)
    warnings.formatwarning = _formatted
    silence_py4j()
    highlight_cells(shell)


def unload(shell: Any) -> None:
    """Takes away what changes the shell itself; the magics stay, as those of other extensions do."""
    matchers = shell.Completer.custom_matchers
    matchers[:] = [one for one in matchers if not isinstance(getattr(one, "__self__", None), Completer)]
    warnings.formatwarning = _format_others


def _formatted(message: Warning | str, *others: Any, **more: Any) -> str:
    return f"{message}\n" if isinstance(message, EmberlogWarning) else _format_others(message, *others, **more)
