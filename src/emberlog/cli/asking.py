"""What `emberlog why`, `why-not` and `trace` share: a program is run with provenance, and then asked about a fact."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from emberlog.cli.limits import add_limit_options, limits_of
from emberlog.cli.parameters import add_fact_options, add_program_options, add_spark_options, as_mapping

if TYPE_CHECKING:
    from emberlog.provenance.explanation import Explanation
    from emberlog.result import Result

ENGINES = ("local", "spark")

_FORM_OF_SUFFIX = {".html": "html", ".htm": "html", ".json": "json", ".dot": "dot", ".gv": "dot", ".mmd": "mermaid"}
FORMS = ("text", "json", "dot", "mermaid", "html")


def add_engine_options(group: Any) -> None:
    group.add_argument("--engine", choices=ENGINES, default=ENGINES[0], help="this process, or Spark (local)")
    add_spark_options(group)


def add_question_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("program", metavar="FILE", help="a program, or a folder with program.dl; - is standard input")
    parser.add_argument("fact", metavar="FACT", help="such as 'tc(1, 4)'; a variable or _ is any value")
    add_program_options(parser)
    add_fact_options(parser.add_argument_group("facts"))
    add_limit_options(parser)
    group = parser.add_argument_group("how it runs")
    add_engine_options(group)


def add_form_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=FORMS, help="default: what the name of --output says, otherwise text")
    parser.add_argument("--output", metavar="FILE", help="write to a file, such as why.html, .json, .dot or .mmd")


@contextmanager
def asked(arguments: argparse.Namespace) -> Iterator[tuple[Result[Any], str, tuple[Any, ...]]]:
    """The result of the run, and the fact that is asked about."""
    from emberlog.cli.running import prepare
    from emberlog.provenance.question_text import asked_in_text

    relation, fact = asked_in_text(arguments.fact)
    task = prepare(
        arguments.program,
        params=as_mapping(arguments.params),
        iterations=arguments.iterations,
        facts=arguments.facts,
        inputs=dict(arguments.inputs),
    )
    from emberlog.cli.live_line import LiveLine
    from emberlog.cli.spark_failures import told_as_such

    with told_as_such(), LiveLine(sys.stderr) as line:
        line.begin(f"  running {task.name}")
        with chosen_database(arguments) as database:
            for name, path in task.inputs.items():
                database.register(name, path, header=arguments.header)
            with database.datalog(
                task.program,
                params=task.params,
                iterations=task.iterations,
                limits=limits_of(arguments),
                provenance=True,
            ) as result:
                yield result, relation, fact
        line.clear()


def chosen_database(arguments: argparse.Namespace) -> Any:
    """On the engine that the options say."""
    from emberlog.database import Database

    if arguments.engine == "local":
        return Database(engine="local")
    from emberlog.cli.terminal import silence_py4j

    silence_py4j()
    return Database(master=arguments.master, conf=dict(arguments.conf))


def form_of(arguments: argparse.Namespace) -> str:
    suffix = os.path.splitext(arguments.output or "")[1].lower()
    return arguments.format or _FORM_OF_SUFFIX.get(suffix, "text")


def in_form(explanation: Explanation, form: str) -> str:
    """With a final line break."""
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
            return f"{explanation}\n"


def tell(arguments: argparse.Namespace, text: str) -> None:
    if arguments.output is None:
        sys.stdout.write(text)
        return
    from emberlog.cli.program_files import write_text

    write_text(arguments.output, text)
    print(f"{arguments.output}: {len(text.encode()):,} bytes written", file=sys.stderr)
