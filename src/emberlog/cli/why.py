"""`emberlog why`: a smallest proof of a fact."""

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
    result_of,
    tell,
    width_for,
)
from emberlog.cli.parameters import add_command, positive_int, refuse, whole_number

NAME = "why"

EXAMPLES = """\
examples:
  emberlog why tc.dl 'tc(1, 4)'                       a smallest proof, down to input facts
  emberlog why tc.dl 'tc(1, 4)' --all                 other proofs, too
  emberlog why cc.dl 'hcc(4, X)'                      of the one fact that agrees
  emberlog why tc.dl 'tc(1, 4)' --output why.html     a page to open and close; also .json, .dot and .mmd
  emberlog why prices.dl 'way("a", "b", F)' --input ride=rides/ --at '2026-03-02 08:15:00'     at a slide of a stream

The program is run for it with provenance, in this process unless --engine spark says otherwise.
"""


def register(commands: Any) -> None:
    parser = add_command(
        commands,
        NAME,
        run,
        help="show why a fact is there",
        description="Runs a program and proves one of its facts: rules, values of variables, iterations, input facts.",
        examples=EXAMPLES,
    )
    add_question_options(parser)
    parser.add_argument("--all", action="store_true", help="other proofs, too, as text")
    parser.add_argument("--limit", metavar="N", type=positive_int, help="proofs with --all (10)")
    parser.add_argument("--depth", metavar="N", type=positive_int, help="end the proof after so many steps")
    parser.add_argument(
        "--contributions",
        metavar="N",
        type=whole_number,
        default=10,
        help="listed of a sum, a count and their like (10)",
    )
    add_form_options(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.all:
        given = {"--depth": arguments.depth, "--format": form_of(arguments) != "text"}
        refuse("--all", given, "leave it out: all proofs are told in full, as text")
    else:
        refuse("a single proof", {"--limit": arguments.limit}, "say --all, or leave it out")
    with asked(arguments) as question:
        answering, relation, fact = question.answering, question.relation, question.fact
        if arguments.all:
            proofs = result_of(question, "--all").why(
                relation, fact, all=True, limit=arguments.limit or 10, contributions=arguments.contributions
            )
            text = "\nor\n\n".join(in_form(proof, "text", width_for(arguments.output)) for proof in proofs)
        else:
            proof = answering.why(relation, fact, depth=arguments.depth, contributions=arguments.contributions)
            text = in_form(proof, form_of(arguments), width_for(arguments.output))
    tell(arguments.output, text)
    return exit_codes.FINE
