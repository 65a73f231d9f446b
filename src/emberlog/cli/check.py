"""`emberlog check`: whether programs are right, and what they are."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from emberlog.cli import exit_codes
from emberlog.cli.parameters import add_command, add_program_options, as_mapping

if TYPE_CHECKING:
    from emberlog.diagnostics import Diagnostic
    from emberlog.semantics.model import CheckedProgram

NAME = "check"

EXAMPLES = """\
examples:
  emberlog check tc.dl                     one program
  emberlog check rules/*.dl                several: each is a program of its own
  emberlog check --param source=1 sssp.dl  with the value of $source
  cat tc.dl | emberlog check -             from standard input
  emberlog check --json tc.dl              for editors and other tools

Parameters without a value are left open. Nothing is run, and no data is read.
"""


def register(commands: Any) -> None:
    parser = add_command(
        commands,
        NAME,
        run,
        help="find the errors of programs and say what they are",
        description="Reads programs and shows every error and warning in them, or says what each of them is.",
        examples=EXAMPLES,
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="a program; - is standard input")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    add_program_options(parser)


def run(arguments: argparse.Namespace) -> int:
    from emberlog.cli.program_files import read_program
    from emberlog.diagnostics import EmberlogError
    from emberlog.semantics.analysis import analyze

    params = as_mapping(arguments.params) or None
    diagnostics: list[Diagnostic] = []
    programs: list[tuple[str, CheckedProgram | None]] = []
    for name in arguments.files:
        try:
            checked = analyze(read_program(name, arguments), params=params, iterations=arguments.iterations)
        except EmberlogError as error:
            diagnostics += error.diagnostics
            programs.append((name, None))
        else:
            diagnostics += checked.warnings if arguments.warnings != "ignore" else ()
            programs.append((name, checked))
    if arguments.json:
        print(_as_json(programs, diagnostics))
    else:
        _print_text(programs, diagnostics)
    if arguments.warnings == "error" and diagnostics:
        return exit_codes.ERRORS
    return exit_codes.FINE if all(checked is not None for _, checked in programs) else exit_codes.ERRORS


def _print_text(programs: Sequence[tuple[str, CheckedProgram | None]], diagnostics: Sequence[Diagnostic]) -> None:
    from emberlog.cli.terminal import wants_colour
    from emberlog.diagnostics import Severity, render, summarize

    if diagnostics:
        print(render(diagnostics, colour=wants_colour(sys.stdout)))
        print()
    for _, checked in programs:
        if checked is not None:
            print("\n".join(description(checked)))
    if diagnostics:
        worst = min(diagnostics, key=lambda one: one.severity is not Severity.ERROR)
        print(f"{summarize(diagnostics)} (emberlog explain {worst.code} tells more)")


def description(checked: CheckedProgram) -> list[str]:
    """Tells what the program is, and below it why its recursive aggregates are legal and what its streams mean."""
    from emberlog.logical.summary import aggregate_notes, input_notes, program_summary, stream_notes

    notes = (*input_notes(checked), *aggregate_notes(checked), *stream_notes(checked))
    return [f"{checked.program.source.name}: {program_summary(checked)}", *(f"  {note}" for note in notes)]


def _as_json(programs: Sequence[tuple[str, CheckedProgram | None]], diagnostics: Sequence[Diagnostic]) -> str:
    import json

    from emberlog.diagnostics import to_json

    shown = [_program_object(name, checked) for name, checked in programs]
    return json.dumps(
        {"programs": shown, "diagnostics": json.loads(to_json(diagnostics))}, indent=2, ensure_ascii=False
    )


def _program_object(name: str, checked: CheckedProgram | None) -> dict[str, Any]:
    if checked is None:
        return {"file": name, "ok": False}
    relations = [
        {
            "name": relation.name,
            "columns": [
                {"name": column.name, "type": str(column.type), "aggregate": column.aggregate}
                for column in relation.columns
            ],
            "input": not relation.is_derived,
            "stream": relation.is_stream,
            "time": relation.time.value,
        }
        for relation in checked.relations.values()
    ]
    strata = [
        {
            "relations": list(stratum.relations),
            "rules": [rule.name for rule in stratum.rules],
            "recursive": stratum.recursion is not None,
            "case": stratum.recursion.case.value if stratum.recursion else None,
            "reason": stratum.recursion.reason if stratum.recursion else None,
        }
        for stratum in checked.strata
    ]
    return {"file": name, "ok": True, "relations": relations, "strata": strata, "outputs": list(checked.outputs)}
