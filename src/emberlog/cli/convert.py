"""`emberlog convert`: programs of Soufflé in our language."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from emberlog.cli import exit_codes
from emberlog.cli.parameters import add_command, add_include_option

NAME = "convert"

EXAMPLES = """\
examples:
  emberlog convert points_to.dl                    write the program in our language to standard output
  emberlog convert points_to.dl > points_to_here.dl

A program of Soufflé runs as it is, too: emberlog run points_to.dl. Files that `.input` names become comments.
"""


def register(commands: Any) -> None:
    parser = add_command(
        commands,
        NAME,
        run,
        help="write a program of Soufflé in our language",
        description="Writes a program of Soufflé in our language, with components instantiated.",
        examples=EXAMPLES,
    )
    parser.add_argument("program", metavar="FILE", help="a program in Soufflé's language; - is standard input")
    add_include_option(parser)
    parser.set_defaults(dialect="souffle")


def run(arguments: argparse.Namespace) -> int:
    from emberlog.cli.program_files import read_program
    from emberlog.diagnostics import EmberlogError
    from emberlog.syntax.printer import print_program

    program = read_program(arguments.program, arguments)
    if not program.is_readable:
        raise EmberlogError(program.problems)
    for file in program.files:
        print(f"// emberlog run … --input {file.relation}={file.path}")
    sys.stdout.write(print_program(program))
    return exit_codes.FINE
