"""`emberlog stream`: keeps the answers of a program true while files arrive."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from emberlog.cli import exit_codes
from emberlog.cli.parameters import (
    add_command,
    add_fact_options,
    add_limit_options,
    add_program_options,
    add_spark_options,
    limits_of,
    positive_int,
    refuse,
    whole_number,
)
from emberlog.config import BAD_ROWS, EVALUATIONS, FILE_FORMATS, LATE_TUPLES, OUTPUT_MODES, StreamOptions

if TYPE_CHECKING:
    from emberlog.semantics.model import CheckedProgram

NAME = "stream"

EXAMPLES = """\
examples:
  emberlog stream cheap_path.dl --input ride=rides/                     watch the folder rides/, until Ctrl-C
  emberlog stream cheap_path.dl --input ride=rides/ --output answers    keep the answers, in a folder for each relation
  emberlog stream cheap_path.dl --input ride=rides/ --once              evaluate what is there, and end
  emberlog stream cheap_path.dl --input ride=rides/ --watermark '10 minutes' --late keep
  emberlog stream cheap_path.dl --input ride=rides/ --mode complete --every '1 minute'

A stream is a folder into which .csv, .tsv, .facts, .parquet, .json or .orc files are put, each as a whole.
Other relations are read once, as `emberlog run` reads them. The answers go to standard output or to files, everything
else to standard error. A run with the checkpoint of an earlier one goes on where that ended.
"""


def register(commands: Any) -> None:
    parser = add_command(
        commands,
        NAME,
        run,
        help="keep the answers of a program over streams true on Spark",
        description="Runs a program over streams: its answers at each slide, while files arrive.",
        examples=EXAMPLES,
    )
    parser.add_argument("program", metavar="FILE", help="a program, or a folder with program.dl; - is standard input")
    add_program_options(parser)
    _add_input_options(parser.add_argument_group("facts"))
    _add_output_options(parser.add_argument_group("answers"))
    _add_time_options(parser.add_argument_group("slides"))
    add_limit_options(parser)
    spark = parser.add_argument_group("Spark")
    spark.add_argument("--workers", metavar="N", type=positive_int, default=1, help="that share the window (1)")
    add_spark_options(spark)


def _add_input_options(group: Any) -> None:
    add_fact_options(group, "the folder of a stream, or the facts of a relation; may be repeated")
    group.add_argument("--kind", metavar="KIND", help="of the files of streams, as in csv; default: as the first file")


def _add_output_options(group: Any) -> None:
    group.add_argument("--output", metavar="DIR", help="write the answers there, each batch in a folder of its own")
    group.add_argument("--format", choices=FILE_FORMATS, help="of the output (parquet)")
    group.add_argument("--mode", choices=OUTPUT_MODES, help="what each slide tells (changes; complete for sessions)")
    group.add_argument("--show", metavar="N", type=whole_number, help="rows of a batch shown, without --output (10)")
    group.add_argument("--late", choices=LATE_TUPLES, default=LATE_TUPLES[0], help="tuples that come too late (drop)")
    group.add_argument("--bad", choices=BAD_ROWS, default=BAD_ROWS[0], help="rows that cannot be used (keep)")
    group.add_argument("--checkpoint", metavar="DIR", help="where a restart goes on; default: in the output")


def _add_time_options(group: Any) -> None:
    group.add_argument("--watermark", metavar="TIME", default="0", help="how long to wait for tuples out of order (0)")
    group.add_argument("--slide", metavar="TIME", help="between answers, for a query without a window")
    group.add_argument("--time-to-live", metavar="TIME", help="how long tuples stay, for a query without a window")
    group.add_argument("--idle", metavar="TIME", help="after how long nobody waits for a stream that is silent")
    group.add_argument("--early", action="store_true", help="tell the slide that closes next with every batch, too")
    group.add_argument("--every", metavar="TIME", help="between batches, as in '10 seconds'; default: as they come")
    group.add_argument(
        "--evaluation",
        choices=EVALUATIONS,
        default=EVALUATIONS[0],
        help="how slides follow each other (incremental)",
    )
    group.add_argument("--once", action="store_true", help="evaluate what is there, close the last slide, and end")


def run(arguments: argparse.Namespace) -> int:
    from emberlog.cli.running import prepare
    from emberlog.cli.streaming import carry_out

    if arguments.output is None:
        refuse("a stream without --output", {"--format": arguments.format}, "say --output DIR, or leave it out")
    else:
        shown = {"--show": arguments.show is not None}
        refuse("a stream with --output", shown, "leave one of them out: answers are written or shown")
    task = prepare(arguments.program, arguments)
    carry_out(
        task,
        _options(arguments, task.checked),
        arguments=arguments,
        kind=arguments.kind,
        show=10 if arguments.show is None else arguments.show,
        limits=limits_of(arguments),
        master=arguments.master,
        conf=dict(arguments.conf),
    )
    return exit_codes.FINE


def _options(arguments: argparse.Namespace, checked: CheckedProgram) -> StreamOptions:
    from emberlog.places import new_folder
    from emberlog.syntax.ast import WindowKind

    has_sessions = any(one.window is not None and one.window.kind is WindowKind.SESSION for one in checked.queries)
    mode = arguments.mode or ("complete" if has_sessions else "changes")

    output = arguments.output
    return StreamOptions(
        checkpointLocation=arguments.checkpoint or (f"{output}/_checkpoint" if output else str(new_folder())),
        path=output,
        format=(arguments.format or FILE_FORMATS[0]) if output else None,
        outputMode=mode,
        availableNow=arguments.once,
        processingTime=arguments.every,
        closes=arguments.once,
        watermark=_time(arguments.watermark),
        slide=None if arguments.slide is None else _time(arguments.slide),
        timeToLive=None if arguments.time_to_live is None else _time(arguments.time_to_live),
        idle=arguments.idle,
        early=arguments.early,
        late=arguments.late,
        bad=arguments.bad,
        evaluation=arguments.evaluation,
        workers=arguments.workers,
    )


def _time(text: str) -> int | str:
    """Reads a length of time. A plain number counts what the times of the stream count."""
    return int(text) if text.isdigit() else text
