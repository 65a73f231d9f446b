"""`emberlog repl`: rules tried out one after the other."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from emberlog.cli import exit_codes
from emberlog.cli.parameters import (
    add_command,
    add_limit_options,
    add_parameter_option,
    as_mapping,
    limits_of,
    whole_number,
)

if TYPE_CHECKING:
    from emberlog.cli.interactive.console import Console
    from emberlog.cli.interactive.engine import Engine

NAME = "repl"

EXAMPLES = """\
examples:
  emberlog repl                     an empty program; type rules, facts and queries
  emberlog repl examples/org_chart  with a program and its facts
  emberlog repl facts/              with a folder of facts, a file for each relation
  emberlog repl --spark             answers from Spark instead of this process
  emberlog repl < session.txt       the lines of a file (exit code 1 when one of them is a mistake)

A statement may go over several lines and ends with a full stop, a query with a question mark. A statement with
an error is shown and not kept. Lines that begin with a full stop are commands: .help lists them. Tab completes
relations, functions, commands and files; Ctrl-C forgets what is typed, Ctrl-R looks for it in the history, and Ctrl-D
leaves.
"""


def register(commands: Any) -> None:
    parser = add_command(
        commands,
        NAME,
        run,
        help="try rules interactively",
        description="Takes rules, facts and queries one after the other and answers each query at once.",
        examples=EXAMPLES,
    )
    parser.add_argument("paths", metavar="PATH", nargs="*", help="a program, facts or a folder to begin with")
    parser.add_argument(
        "--spark", action="store_true", help="answer with Spark, for data that is too large for one process"
    )
    parser.add_argument("--show", metavar="N", type=whole_number, default=20, help="facts of an answer shown (20)")
    add_parameter_option(parser)
    add_limit_options(parser)


def run(arguments: argparse.Namespace) -> int:
    from emberlog.cli.interactive.console import Console
    from emberlog.cli.terminal import wants_colour

    is_conversation = sys.stdin.isatty() and sys.stdout.isatty()
    engine = _engine(arguments)
    console = Console(
        engine,
        as_mapping(arguments.params),
        print,
        show=arguments.show,
        colour=wants_colour(sys.stdout),
    )
    try:
        if is_conversation:
            _greet(engine)
        for path in arguments.paths:
            console.feed(f".load {path}")
        if is_conversation:
            from emberlog.cli.interactive.prompt import converse

            converse(console)
        else:
            _read_lines(console)
    finally:
        engine.close()
    return exit_codes.FINE if is_conversation or not console.mistakes else exit_codes.ERRORS


def _engine(arguments: argparse.Namespace) -> Engine:
    from emberlog.progress.live_line import LiveLine

    with LiveLine(sys.stderr) as line:
        if arguments.spark:
            line.begin("starting Spark")
        from emberlog.cli.interactive.engine import Engine

        return Engine(limits_of(arguments), on_spark=arguments.spark)


def _greet(engine: Engine) -> None:
    from emberlog import __version__

    print(f"Emberlog {__version__}. Rules and facts end with a full stop, queries with a question mark.")
    print(f"{engine.introduction}\n.help lists the commands, Tab completes, .quit leaves.")


def _read_lines(console: Console) -> None:
    for line in sys.stdin:
        console.feed(line.rstrip("\n"))
        if console.is_over:
            return
    if console.is_in_a_statement:
        console.feed("")
