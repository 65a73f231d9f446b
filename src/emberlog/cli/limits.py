"""`--max-iterations`, `--max-rows` and `--timeout`: what a run may use before it is stopped."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from emberlog.cli.parameters import positive_int, positive_number

if TYPE_CHECKING:
    from emberlog.config import Limits


def add_limit_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "limits", "A run that passes one is stopped, with an error that says how far it came."
    )
    group.add_argument("--max-iterations", metavar="N", type=positive_int, help="rounds of one recursion (100,000)")
    group.add_argument("--max-rows", metavar="N", type=positive_int, help="facts derived in all (10,000,000,000)")
    group.add_argument("--timeout", metavar="SECONDS", type=positive_number, help="seconds (no limit)")


def limits_of(arguments: argparse.Namespace) -> Limits:
    from emberlog.config import Limits

    names = ("max_iterations", "max_rows", "timeout")
    given = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    return Limits(**given)
