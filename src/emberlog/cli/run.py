"""`emberlog run`: computes the facts of a program on Spark, shows them and keeps them."""

from __future__ import annotations

import argparse
from typing import Any

from emberlog.cli import exit_codes
from emberlog.cli.parameters import (
    add_command,
    add_fact_options,
    add_limit_options,
    add_program_options,
    add_spark_options,
    limits_of,
    refuse,
    refuse_spark_options,
    whole_number,
)
from emberlog.config import EXECUTORS, MODES, PARTITIONINGS, REPRESENTATIONS

NAME = "run"

ENGINES = ("spark", "local")
FORMATS = ("csv", "parquet", "json")

EXAMPLES = """\
examples:
  emberlog run tc.dl                             facts in the program, or in a folder `facts` beside it
  emberlog run tc.dl --facts data                data/arc.csv holds the facts of arc, and so on
  emberlog run tc.dl --input arc=roads.parquet   one relation, one file or folder
  emberlog run tc.dl --query 'tc(1, Y)?'         only this, instead of the queries of the program
  emberlog run tc.dl --output result             keep the facts, in a folder for each relation: result/tc
  emberlog run sssp.dl --param source=1          with the value of $source
  emberlog run tc.dl --master 'local[4]' --conf spark.driver.memory=8g
  emberlog run tc.dl --engine local              in this process, without Spark and Java
  emberlog run tc.dl --profile profile.html      tell where the time went, and write it as a page with plots
  emberlog run tc.dl --timing                    tell what it spent its time on, from its start to the last answer
  emberlog run tc.dl --provenance                tell the iteration and the rule that each fact comes from

Facts are read from .csv, .tsv, .facts, .parquet, .json and .orc, also compressed. The answers go to standard output,
everything else to standard error. Ctrl-C stops the run and leaves nothing behind.
"""


def register(commands: Any) -> None:
    parser = add_command(
        commands,
        NAME,
        run,
        help="compute the facts of a program on Spark",
        description="Runs a program on Spark, shows the first facts of each answer, and writes them all if asked to.",
        examples=EXAMPLES,
    )
    parser.add_argument("program", metavar="FILE", help="a program, or a folder with program.dl; - is standard input")
    add_program_options(parser)
    parser.add_argument(
        "--query", metavar="QUERY", action="append", default=[], help="ask this instead; may be repeated"
    )
    _add_data_options(parser.add_argument_group("facts"))
    add_limit_options(parser)
    _add_execution_options(parser.add_argument_group("how it runs"))
    add_spark_options(parser.add_argument_group("Spark"))


def _add_data_options(group: Any) -> None:
    add_fact_options(group)
    group.add_argument("--output", metavar="DIR", help="write all facts there; it must not exist yet")
    group.add_argument("--format", choices=FORMATS, help="of the output (csv)")
    group.add_argument("--show", metavar="N", type=whole_number, default=10, help="facts of an answer shown (10)")


def _add_execution_options(group: Any) -> None:
    group.add_argument("--engine", choices=ENGINES, default=ENGINES[0], help="Spark, or this process (spark)")
    group.add_argument("--executor", choices=EXECUTORS, default=EXECUTORS[0], help="how recursion is run (auto)")
    group.add_argument("--mode", choices=MODES, default=MODES[0], help="of the cyclic executor (auto)")
    group.add_argument(
        "--partitioning", choices=PARTITIONINGS, default=PARTITIONINGS[0], help="of values among its workers (auto)"
    )
    group.add_argument("--workers", metavar="N", type=whole_number, help="of the cyclic executor")
    group.add_argument(
        "--representation", choices=REPRESENTATIONS, default=REPRESENTATIONS[0], help="of facts in it (auto)"
    )
    group.add_argument(
        "--profile",
        metavar="FILE.html",
        nargs="?",
        const="",
        help="tell where the time went; write it as a page, too, if a file is named",
    )
    group.add_argument("--timing", action="store_true", help="tell where the time went, from the start of the process")
    group.add_argument(
        "--provenance",
        action="store_true",
        help="record iterations: facts are shown with iteration and rule, and written with their iteration",
    )
    group.add_argument("--off", metavar="PASS", action="append", default=[], help="leave a pass of the optimizer out")


def run(arguments: argparse.Namespace) -> int:
    from emberlog.timing import Part, Stopwatch, measured, process_began

    with measured(Stopwatch(Part.IMPORTS, process_began())) as watch:
        from emberlog.cli.running import carry_out, prepare
        from emberlog.config import Execution
        from emberlog.deadline import within
        from emberlog.diagnostics import warn

        watch.switch(Part.PLANNING)
        refuse_spark_options(arguments)
        if arguments.output is None:
            refuse("a run without --output", {"--format": arguments.format}, "say --output DIR, or leave it out")
        execution = Execution(
            executor=arguments.executor,
            mode=arguments.mode,
            partitioning=arguments.partitioning,
            workers=arguments.workers,
            representation=arguments.representation,
            profile=arguments.profile is not None,
            provenance=arguments.provenance,
        )
        # Everything that can be wrong without Spark is said before Spark takes its seconds to start.
        limits = limits_of(arguments)
        with within(limits.timeout):
            task = prepare(
                arguments.program, arguments, queries=arguments.query, off=arguments.off, output=arguments.output
            )
        warn(task.checked.warnings)
        watch.switch(Part.OTHER)
        carry_out(task, arguments, form=arguments.format or FORMATS[0], limits=limits, execution=execution)
        return exit_codes.FINE
