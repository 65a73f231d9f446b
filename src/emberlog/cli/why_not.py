"""`emberlog why-not`: what is missing for a fact that is not there."""

from __future__ import annotations

import argparse
from typing import Any

from emberlog.cli import exit_codes
from emberlog.cli.asking import (
    add_form_options,
    add_question_options,
    asked,
    form_of,
    in_form,
    tell,
    width_for,
)
from emberlog.cli.parameters import add_command, positive_int

NAME = "why-not"

EXAMPLES = """\
examples:
  emberlog why-not tc.dl 'tc(5, 1)'               for each rule how far its body holds, and what fails
  emberlog why-not tc.dl 'tc(5, 1)' --depth 3     the same for the facts that are missing
"""


def register(commands: Any) -> None:
    parser = add_command(
        commands,
        NAME,
        run,
        help="show why a fact is not there",
        description="Runs a program and shows what each rule lacks to derive a fact.",
        examples=EXAMPLES,
    )
    add_question_options(parser)
    parser.add_argument("--depth", metavar="N", type=positive_int, default=1, help="for the facts that are missing (1)")
    add_form_options(parser)


def run(arguments: argparse.Namespace) -> int:
    with asked(arguments) as question:
        refutation = question.answering.why_not(question.relation, question.fact, depth=arguments.depth)
        text = in_form(refutation, form_of(arguments), width_for(arguments.output))
    tell(arguments.output, text)
    return exit_codes.FINE
