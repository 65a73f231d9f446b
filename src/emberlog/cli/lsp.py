"""`emberlog lsp`: the language server that editors start."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from emberlog.cli import exit_codes
from emberlog.cli.parameters import add_command

NAME = "lsp"

EXAMPLES = """\
examples:
  emberlog lsp                     what an editor starts, by itself
  emberlog lsp --stdio             the same, for editors that ask for it

docs/editors.md has what to write into the settings of VS Code, Neovim, Emacs, Helix and JupyterLab. It tells errors
while you type, and knows types, definitions, references, names to complete, renaming, formatting and quick fixes.

It needs pygls: pip install 'emberlog[lsp]'
"""


def register(commands: Any) -> None:
    parser = add_command(
        commands,
        NAME,
        run,
        help="the language server, for editors",
        description="Answers an editor on standard input and output, in the Language Server Protocol.",
        examples=EXAMPLES,
    )
    # Many editors add it to the command of any server.
    parser.add_argument("--stdio", action="store_true", help="speak on standard input and output, as it always does")


def run(arguments: argparse.Namespace) -> int:
    import importlib.util

    from emberlog.diagnostics import fail

    if importlib.util.find_spec("pygls") is None:
        raise fail("DL530", "the language server needs pygls", None, "pip install 'emberlog[lsp]'")
    if sys.stdin.isatty():
        print("emberlog lsp is started by editors: docs/editors.md says how. Ctrl-C ends it.", file=sys.stderr)
    from emberlog.editor.server import serve

    serve(_fact_files, _explanations)
    return exit_codes.FINE


def _fact_files(program: Path) -> dict[str, Path]:
    from emberlog.cli.fact_files import facts_beside, files_in_folder

    folder = facts_beside(program)
    return files_in_folder(folder) if folder is not None else {}


def _explanations() -> Mapping[str, str]:
    """Returns an address for each code: its entry in the page of all errors, which is written to where editors can open
    it."""
    from emberlog import __version__
    from emberlog.catalogue import CATALOGUE
    from emberlog.catalogue.__main__ import errors_page, heading
    from emberlog.places import kept_folder

    try:
        path = kept_folder() / f"errors-{__version__}.md"
        text = errors_page()
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    except OSError:
        return {}
    return {code: f"{path.as_uri()}#{_anchor(heading(entry))}" for code, entry in CATALOGUE.items()}


def _anchor(title: str) -> str:
    """Returns what readers of Markdown call the place of a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
