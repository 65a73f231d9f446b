"""`emberlog explain`: shows how a program is evaluated, or what an error code means."""

from __future__ import annotations

import argparse
import os
import re
import sys
from typing import TYPE_CHECKING, Any

from emberlog.cli import exit_codes
from emberlog.cli.asking import ENGINES, add_engine_options, form_of, tell
from emberlog.cli.parameters import (
    add_command,
    add_fact_options,
    add_program_options,
    as_mapping,
    refuse,
    text_options_named,
)

if TYPE_CHECKING:
    from emberlog.syntax import ast

FORMATS = ("text", "dot", "mermaid", "svg", "html")

_CODE = re.compile(r"(?:DL)?(\d{3})", re.IGNORECASE)

NAME = "explain"

EXAMPLES = """\
examples:
  emberlog explain tc.dl                     connection graph, strata, plan, what each pass changed
  emberlog explain tc.dl --passes            every line that each pass changed, and why there is such a pass
  emberlog explain tc.dl --off prune_columns without one of the passes
  emberlog explain tc.dl --cost              rows expected of each node, by the data in facts/, and the order of joins
  emberlog explain tc.dl --analyze           the same, beside the rows that were counted in a run in this process
  emberlog explain tc.dl --analyze --engine spark                                        … or in a run on Spark
  emberlog explain tc.dl --output tc.html    a page with pictures; also .svg, .dot and .mmd
  emberlog explain DL231                     what an error code means and how to mend it
"""


def register(commands: Any) -> None:
    parser = add_command(
        commands,
        NAME,
        run,
        help="show how a program is evaluated, or what an error code means",
        description="Shows how a program will be evaluated, in text or in pictures. Given an error code, explains it.",
        examples=EXAMPLES,
    )
    parser.add_argument("subject", metavar="FILE|CODE", help="a program (- is standard input), or a code such as DL231")
    parser.add_argument("--passes", action="store_true", help="every line that each pass changed")
    parser.add_argument("--off", metavar="PASS", action="append", default=[], help="leave a pass out; may be repeated")
    parser.add_argument("--format", choices=FORMATS, help="default: what the name of --output says, otherwise text")
    parser.add_argument("--output", metavar="FILE", help="write to a file")
    add_program_options(parser)
    costs = parser.add_argument_group("costs")
    costs.add_argument("--cost", action="store_true", help="how many rows are expected, and how joins are ordered")
    costs.add_argument("--analyze", action="store_true", help="run it, and count them as well")
    add_fact_options(costs)
    add_engine_options(costs)
    parser.set_defaults(engine=None)


def run(arguments: argparse.Namespace) -> int:
    about_passes = {"--passes": arguments.passes, "--format": arguments.format}
    about_data = {
        "--facts": arguments.facts,
        "--input": arguments.inputs,
        **text_options_named(arguments),
        "--engine": arguments.engine,
        "--master": arguments.master,
        "--conf": arguments.conf,
    }
    about_program = {
        "--off": arguments.off,
        "--param": arguments.params,
        "--iterations": arguments.iterations,
        "--dialect": arguments.dialect,
        "--include": arguments.include,
    }
    code = _CODE.fullmatch(arguments.subject)
    if code and not os.path.exists(arguments.subject):
        costs_asked = {"--cost": arguments.cost, "--analyze": arguments.analyze, "--output": arguments.output}
        given = {**about_passes, **about_data, **about_program, **costs_asked}
        refuse("the explanation of a code", given, "leave it out: it is for programs")
        return _explain_code(f"DL{code[1]}")
    if arguments.cost or arguments.analyze:
        refuse("the table of costs", about_passes, "leave it out, or --cost and --analyze")
        arguments.engine = arguments.engine or ENGINES[0]
        return _tell(arguments.output, _costs(arguments), is_text=True)
    refuse("a plan", about_data, "say --cost or --analyze, or leave it out: a plan is made without data")
    from emberlog.cli.program_files import read_program

    form = form_of(arguments, FORMATS)
    if form != "text":
        refuse("a picture", {"--passes": arguments.passes}, "leave it out: it is for text")
    text = explanation(
        read_program(arguments.subject, arguments),
        form,
        params=as_mapping(arguments.params),
        iterations=arguments.iterations,
        off=frozenset(arguments.off),
        passes_in_full=arguments.passes,
    )
    return _tell(arguments.output, text, is_text=form == "text")


def _tell(output: str | None, text: str, *, is_text: bool) -> int:
    from emberlog.cli.terminal import with_bold_headings

    tell(output, with_bold_headings(text, sys.stdout) if is_text and not output else text)
    return exit_codes.FINE


def _costs(arguments: argparse.Namespace) -> str:
    """Returns the rows expected and those counted, by the data that the program reads, with a final line break."""
    from emberlog.cli.databases import open_database, register_inputs
    from emberlog.cli.running import prepare

    task = prepare(arguments.subject, arguments, off=arguments.off)
    with open_database(arguments) as database:
        register_inputs(database, task, arguments)
        told = database.cost(
            task.program, analyze=arguments.analyze, params=task.params, iterations=task.iterations, off=task.off
        )
    return f"{told}\n"


def explanation(
    program: ast.Program,
    form: str,
    *,
    params: dict[str, ast.Given],
    iterations: int | None,
    off: frozenset[str],
    passes_in_full: bool,
) -> str:
    """Returns the explanation of a program in one of the formats, with a final line break."""
    from emberlog.diagnostics import warn
    from emberlog.engines.spark.description import described
    from emberlog.logical.build import build
    from emberlog.logical.connection_graph import build_connection_graph
    from emberlog.optimize.pipeline import plan_program
    from emberlog.semantics.analysis import analyze
    from emberlog.streams.plan.window_plans import plan_windows

    checked = analyze(program, params=params, iterations=iterations)
    warn(checked.warnings)
    graph = build_connection_graph(checked)
    plan = build(checked)
    optimized = plan_program(checked, off=off)
    title = checked.program.source.name
    is_stream = checked.has_streams
    choices = plan_windows(checked).notes if is_stream else described(optimized.plan)
    if form == "text":
        from emberlog.render.plan_text import explain_text

        text = explain_text(checked, graph, plan, optimized, passes_in_full=passes_in_full)
        how = "".join(f"  {line}\n" for line in choices)
        return f"{text}\n\nhow it runs\n{how}" if choices else f"{text}\n"
    if form == "html":
        from emberlog.render.pages.explanation import explanation_page

        return explanation_page(checked, graph, plan, optimized, choices)
    from emberlog.render.pictures.drawing import draw_all

    drawings = draw_all(graph, plan if is_stream else optimized.plan)
    if form == "dot":
        from emberlog.render.pictures.graphviz import drawings_dot

        return drawings_dot(drawings, title)
    if form == "mermaid":
        from emberlog.render.pictures.mermaid import drawings_mermaid

        return drawings_mermaid(drawings, title)
    from emberlog.render.pictures.svg import drawings_svg

    return drawings_svg(drawings, title)


def _explain_code(code: str) -> int:
    from emberlog.catalogue import CATALOGUE, entry_text
    from emberlog.diagnostics import nearest

    if code not in CATALOGUE:
        guess = nearest(code, CATALOGUE)
        hint = f"; did you mean {guess}?" if guess else ""
        print(f"emberlog explain: there is no code {code}{hint}", file=sys.stderr)
        return exit_codes.USAGE
    print(entry_text(CATALOGUE[code]))
    return exit_codes.FINE
