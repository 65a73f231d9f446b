"""A shell of IPython for each test, as a notebook or a terminal has it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output


class Shell:
    """Runs cells, and gives back what they show."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell: Any = shell

    def run(self, cell: str, *, fine: bool = True) -> str:
        with capture_output() as shown:
            done = self.shell.run_cell(cell, store_history=True)
        outputs = "".join(f"{one.data.get('text/plain', '')}\n" for one in shown.outputs)
        assert not fine or done.success, shown.stdout
        return f"{shown.stdout}{shown.stderr}{outputs}"

    def __getitem__(self, name: str) -> Any:
        return self.shell.user_ns[name]

    def __setitem__(self, name: str, value: object) -> None:
        self.shell.user_ns[name] = value

    def completions(self, text: str) -> list[str]:
        with provisionalcompleter():
            return [one.text for one in self.shell.Completer.completions(text, len(text))]


@pytest.fixture
def shell() -> Iterator[Shell]:
    InteractiveShell.clear_instance()
    started: Any = InteractiveShell.instance(colors="nocolor")
    started.history_manager.enabled = False
    assert started.extension_manager.load_extension("emberlog") is None
    yield Shell(started)
    started.extension_manager.unload_extension("emberlog")
    InteractiveShell.clear_instance()
