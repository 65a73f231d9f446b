"""Runs a program with provenance and asks it about a fact, for `emberlog why`, `why-not` and `trace`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from emberlog.cli.parameters import (
    add_fact_options,
    add_limit_options,
    add_program_options,
    add_spark_options,
    limits_of,
    refuse,
)
from emberlog.diagnostics import fail
from emberlog.text_widths import terminal_width

if TYPE_CHECKING:
    from datetime import datetime

    from emberlog.cli.running import Task
    from emberlog.provenance.asked import Asked
    from emberlog.provenance.explanation import Explanation
    from emberlog.provenance.streams.questions import StreamQuestions
    from emberlog.result import Result

ENGINES = ("local", "spark")

_FORM_OF_SUFFIX = {
    ".dot": "dot",
    ".gv": "dot",
    ".htm": "html",
    ".html": "html",
    ".json": "json",
    ".mermaid": "mermaid",
    ".mmd": "mermaid",
    ".svg": "svg",
}
FORMS = ("text", "json", "dot", "mermaid", "html")


def add_engine_options(group: Any) -> None:
    group.add_argument("--engine", choices=ENGINES, default=ENGINES[0], help="this process, or Spark (local)")
    add_spark_options(group)


def add_question_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("program", metavar="FILE", help="a program, or a folder with program.dl; - is standard input")
    parser.add_argument("fact", metavar="FACT", help="such as 'tc(1, 4)'; a variable or _ is any value")
    parser.add_argument("--at", metavar="TIME", help="of streams: the last slide that is not after it (the last one)")
    add_program_options(parser)
    add_fact_options(parser.add_argument_group("facts"))
    add_limit_options(parser)
    group = parser.add_argument_group("how it runs")
    add_engine_options(group)


def add_form_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=FORMS, help="default: what the name of --output says, otherwise text")
    parser.add_argument("--output", metavar="FILE", help="write to a file, such as why.html, .json, .dot or .mmd")


@dataclass(frozen=True, slots=True)
class Question:
    answering: Result[Any] | StreamQuestions
    """What is asked: the result of a run, or a window of streams."""
    relation: str
    fact: Asked


@contextmanager
def asked(arguments: argparse.Namespace) -> Iterator[Question]:
    """Runs the program, and gives what can answer and the fact that is asked about."""
    from emberlog.cli.running import prepare
    from emberlog.provenance.asked import asked_in_text

    relation, fact = asked_in_text(arguments.fact)
    task = prepare(arguments.program, arguments)
    from emberlog.cli.databases import open_database, register_inputs
    from emberlog.progress.live_line import LiveLine

    with LiveLine(sys.stderr) as line:
        line.begin(f"  running {task.name}")
        with open_database(arguments) as database:
            register_inputs(database, task, arguments)
            with _answering(database, task, arguments) as answering:
                yield Question(answering, relation, fact)
        line.clear()


def _answering(
    database: Any, task: Task, arguments: argparse.Namespace
) -> AbstractContextManager[Result[Any] | StreamQuestions]:
    options = {"params": task.params, "iterations": task.iterations, "limits": limits_of(arguments)}
    if task.checked.has_streams:
        return nullcontext(database.window(task.program, at=_moment(arguments.at), **options))
    if arguments.at is not None:
        refuse("this program", {"--at": True}, "leave it out: it is a moment of a stream, and no stream is read")
    run: Result[Any] = database.datalog(task.program, provenance=True, **options)
    return run


def result_of(question: Question, what: str) -> Result[Any]:
    """Returns the run that is asked; raises an error for a window of streams, of which `what` is not told."""
    from emberlog.result import Result

    if not isinstance(question.answering, Result):
        raise fail("DL446", f"{what} is not for streams", None, "`emberlog why` proves a fact of one slide")
    return question.answering


def _moment(text: str | None) -> int | datetime | None:
    from emberlog.provenance.asked import moment_in

    if text is None or text.lstrip("-").isdigit():
        return None if text is None else int(text)
    moment = moment_in(text)
    if moment is None:
        raise fail("DL508", f"`{text}` is no time", None, "write --at '2026-03-02 08:15:00', or a number")
    return moment


def form_of(arguments: argparse.Namespace, forms: Sequence[str] = FORMS) -> str:
    """Returns the form that is asked for, by its name or by that of the file."""
    suffix = os.path.splitext(arguments.output or "")[1].lower()
    named = _FORM_OF_SUFFIX.get(suffix, "text")
    return arguments.format or (named if named in forms else "text")


def in_form(explanation: Explanation, form: str, width: int | None = None) -> str:
    """Returns the explanation in one of the forms, with a final line break; as text, in lines of this width."""
    match form:
        case "json":
            import json

            return json.dumps(explanation.to_json(), indent=2, ensure_ascii=False) + "\n"
        case "dot":
            return explanation.to_graphviz()
        case "mermaid":
            return explanation.to_mermaid()
        case "html":
            return explanation.to_html()
        case _:
            from emberlog.render.outline_text import outline_text

            return f"{outline_text(explanation.outline, width=width)}\n"


def width_for(output: str | None) -> int | None:
    """Returns the width of the terminal that a text goes to; None if it goes elsewhere."""
    return terminal_width(sys.stdout) if output is None else None


def tell(output: str | None, text: str) -> None:
    """Writes a text to the file that was named, or else to standard output."""
    if output is None:
        sys.stdout.write(text)
        return
    from emberlog.cli.program_files import write_text

    write_text(output, text)
    print(f"{output}: {len(text.encode()):,} bytes written", file=sys.stderr)
