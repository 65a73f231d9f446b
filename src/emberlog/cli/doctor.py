"""`emberlog doctor`: is everything there that a run needs, and how to mend what is not."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from emberlog.cli import exit_codes
from emberlog.cli.parameters import add_command, add_spark_options, refuse

if TYPE_CHECKING:
    from emberlog.cli.health import Finding, State

NAME = "doctor"

EXAMPLES = """\
examples:
  emberlog doctor          look at Python, Java, Spark and the machine
  emberlog doctor --start  start Spark, too, and run a small program on it
  emberlog doctor --start --master spark://host:7077
                           the same on a cluster, whose executors are asked what they have

Without --start nothing is started, and the answer comes at once. The exit code is 1 if something has to be mended.
"""


def register(commands: Any) -> None:
    parser = add_command(
        commands,
        NAME,
        run,
        help="tell whether this machine can run programs, and how to mend what is missing",
        description="Looks at everything that a run on Spark needs, and says how to mend what is not right.",
        examples=EXAMPLES,
    )
    parser.add_argument("--start", action="store_true", help="start Spark and run a small program")
    add_spark_options(parser)


def run(arguments: argparse.Namespace) -> int:
    from emberlog.cli.health import State, findings

    if not arguments.start:
        refuse("a look at this machine", {"--master": arguments.master, "--conf": arguments.conf}, "say --start, too")
    worst = State.FINE
    for finding in findings():
        print(finding_text(finding))
        worst = max(worst, finding.state, key=list(State).index)
    if arguments.start:
        if worst is State.MISSING:
            print("Spark was not started, because something is missing")
        else:
            from emberlog.cli.health import try_spark

            for finding in try_spark(arguments.master, dict(arguments.conf)):
                print(finding_text(finding))
                worst = max(worst, finding.state, key=list(State).index)
    print(_verdict(worst, started=arguments.start))
    return exit_codes.ERRORS if worst is State.MISSING else exit_codes.FINE


def finding_text(finding: Finding) -> str:
    text = f"{_mark(finding.state)} {finding.subject:<8} {finding.text}"
    return f"{text}\n           → {finding.remedy}" if finding.remedy else text


def _mark(state: State) -> str:
    from emberlog.cli.health import State
    from emberlog.cli.terminal import wants_colour

    mark, colour = {State.FINE: ("✓", "32"), State.DOUBTFUL: ("?", "33"), State.MISSING: ("✗", "31")}[state]
    return f"\x1b[{colour}m{mark}\x1b[0m" if wants_colour(sys.stdout) else mark


def _verdict(worst: State, *, started: bool) -> str:
    from emberlog.cli.health import State

    match worst:
        case State.FINE if started:
            return "everything is fine"
        case State.FINE:
            return "everything is there (emberlog doctor --start also starts Spark)"
        case State.DOUBTFUL:
            return "programs will run; the lines with ? tell what could be better"
        case State.MISSING:
            return "mend the lines with ✗ first"
