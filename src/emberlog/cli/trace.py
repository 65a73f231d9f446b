"""`emberlog trace`: how facts came and changed, iteration by iteration."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from emberlog.cli import exit_codes
from emberlog.cli.asking import add_question_options, asked, result_of
from emberlog.cli.parameters import add_command, positive_int

NAME = "trace"

EXAMPLES = """\
examples:
  emberlog trace cc.dl 'hcc(4, X)'     how the value of a group changed
  emberlog trace cc.dl 'hcc(_, _)'     everything, the first facts of each iteration
"""


def register(commands: Any) -> None:
    parser = add_command(
        commands,
        NAME,
        run,
        help="show how facts came and changed",
        description="Runs a program and shows, iteration by iteration, which facts came and what they replaced.",
        examples=EXAMPLES,
    )
    add_question_options(parser)
    parser.add_argument("--limit", metavar="N", type=positive_int, default=20, help="facts of an iteration shown (20)")
    parser.add_argument("--json", action="store_true", help="plain values, for programs")


def run(arguments: argparse.Namespace) -> int:
    with asked(arguments) as question:
        trace = result_of(question, "a trace").trace(question.relation, question.fact, limit=arguments.limit)
        if arguments.json:
            import json

            text = json.dumps(trace.to_json(), indent=2, ensure_ascii=False)
        else:
            from emberlog.text_widths import terminal_width

            text = trace.to_text(terminal_width(sys.stdout))
    sys.stdout.write(f"{text}\n")
    return exit_codes.FINE
