"""Kernels of notebooks, driven by their messages as JupyterLab and VS Code drive them."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

PATIENCE = 120.0
"""Seconds for a cell; the first one on Spark starts a JVM."""


def new_manager(env: dict[str, str] | None = None) -> KernelManager:
    """Makes what starts kernels of this very Python, whatever kernels the machine has under a name."""
    manager = KernelManager()
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager._kernel_spec = KernelSpec(argv=command, display_name="test", language="python", env=env or {})
    return manager


@dataclass
class Outcome:
    """Holds what came back from a cell."""

    outputs: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """Type and content of messages, in their order."""

    @property
    def text(self) -> str:
        """What a person reads: streams, plain texts of what is displayed, and tracebacks."""
        parts = []
        for _, content in self.outputs:
            parts += [content.get("text") or "", content.get("data", {}).get("text/plain", "")]
            parts += content.get("traceback", [])
        return "\n".join(part for part in parts if part)

    @property
    def error(self) -> str:
        """The name of the exception, if one came."""
        return next((content["ename"] for kind, content in self.outputs if kind == "error"), "")

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [content for one, content in self.outputs if one == kind]


class Kernel:
    def __init__(self, manager: KernelManager) -> None:
        self.manager = manager
        self.client: Any = manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def begin(self, code: str) -> str:
        """Sends a cell, and returns its name."""
        return str(self.client.execute(code))

    def run(self, code: str, *, fine: bool = True) -> Outcome:
        outcome = self.rest(self.begin(code))
        assert not fine or not outcome.error, outcome.text
        return outcome

    def rest(self, name: str, *, until: str = "") -> Outcome:
        """Collects what comes back from a cell up to its end, or up to a text."""
        outcome = Outcome()
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            message = self.client.get_iopub_msg(timeout=PATIENCE)
            kind, content = message["msg_type"], message["content"]
            if message["parent_header"].get("msg_id") != name or kind == "execute_input":
                continue
            if kind != "status":
                outcome.outputs.append((kind, content))
            elif content["execution_state"] == "idle":
                return outcome
            if until and until in str(content):
                return outcome
        raise TimeoutError(outcome.text)

    def completions(self, code: str) -> list[str]:
        name = self.client.complete(code)
        while True:
            reply = self.client.get_shell_msg(timeout=PATIENCE)
            if reply["parent_header"].get("msg_id") == name:
                return list(reply["content"]["matches"])


@contextmanager
def started_kernel(env: dict[str, str] | None = None) -> Iterator[Kernel]:
    manager = new_manager(env)
    manager.start_kernel()
    kernel = None
    try:
        kernel = Kernel(manager)
        yield kernel
    finally:
        if kernel is not None:
            kernel.client.stop_channels()
        manager.shutdown_kernel(now=True)
