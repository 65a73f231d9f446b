"""`emberlog fmt`: programs in their canonical form."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from emberlog.cli import exit_codes
from emberlog.cli.parameters import add_command

if TYPE_CHECKING:
    from emberlog.source import Source

NAME = "fmt"

EXAMPLES = """\
examples:
  emberlog fmt tc.dl              rewrite the file in its canonical form
  emberlog fmt --check rules/*.dl only say which files are not in it (exit code 1 when some are not)
  emberlog fmt --diff tc.dl       only show what would change (exit code 1 when something would)
  cat tc.dl | emberlog fmt -      from standard input to standard output

Only the layout and the spelling change, never the meaning; comments stay. A file with syntax errors is left alone.
"""


def register(commands: Any) -> None:
    parser = add_command(
        commands,
        NAME,
        run,
        help="write programs in their canonical form",
        description="Rewrites programs in their canonical form: one spelling of arrows, negation, spaces and lines.",
        examples=EXAMPLES,
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="a program; - is standard input")
    parser.add_argument("--check", action="store_true", help="write nothing, name the files that would change")
    parser.add_argument("--diff", action="store_true", help="write nothing, show what would change")


def run(arguments: argparse.Namespace) -> int:
    from emberlog.cli.program_files import STANDARD_INPUT, read_source, write_text
    from emberlog.cli.terminal import wants_colour
    from emberlog.diagnostics import Diagnostic, EmberlogError, fail, render, summarize
    from emberlog.dialects import SOUFFLE, dialect_of
    from emberlog.logical.summary import counted
    from emberlog.syntax.canonical_form import canonical_text

    only_look = arguments.check or arguments.diff
    diagnostics: list[Diagnostic] = []
    changed = unchanged = 0
    for name in arguments.files:
        try:
            source = read_source(name)
            if dialect_of(source.text) == SOUFFLE:
                hint = "emberlog convert writes it in our language"
                raise fail("DL123", f"`{source.name}` is a program of Soufflé, which fmt does not lay out", None, hint)
            text = canonical_text(source)
            is_changed = text != source.text
            if arguments.diff:
                sys.stdout.write(_difference(source, text))
            elif name == STANDARD_INPUT and not arguments.check:
                sys.stdout.write(text)
            elif is_changed and not only_look:
                write_text(name, text)
            if is_changed and name != STANDARD_INPUT and not arguments.diff:
                print(f"{'would rewrite' if only_look else 'rewrote'} {name}", file=sys.stderr)
        except EmberlogError as error:
            diagnostics += error.diagnostics
        else:
            changed += is_changed
            unchanged += not is_changed
    if diagnostics:
        print(render(diagnostics, colour=wants_colour(sys.stderr)), file=sys.stderr)
        print(f"\n{summarize(diagnostics)}", file=sys.stderr)
        return exit_codes.ERRORS
    if len(arguments.files) > 1:
        verb = "would change" if only_look else "changed"
        print(f"{counted(changed, 'file')} {verb}, {unchanged:,} already fine", file=sys.stderr)
    return exit_codes.ERRORS if only_look and changed else exit_codes.FINE


def _difference(source: Source, text: str) -> str:
    import difflib

    before, after = source.text.splitlines(keepends=True), text.splitlines(keepends=True)
    lines = difflib.unified_diff(before, after, source.name, f"{source.name} (canonical)")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
