"""Prepares and carries out a run from the command line, on either engine."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emberlog.cli.fact_files import facts_beside, files_in_folder, is_fact_file
from emberlog.cli.parameters import as_mapping, refuse, text_options_named
from emberlog.cli.program_files import STANDARD_INPUT, program_path, read_program, write_text
from emberlog.cli.progress import Progress
from emberlog.config import Execution, Limits
from emberlog.diagnostics import Diagnostics, fail, nearest
from emberlog.events import both
from emberlog.io.paths import is_text
from emberlog.logical.build import build
from emberlog.logical.needed_strata import needed_inputs
from emberlog.logical.summary import counted, program_summary
from emberlog.optimize.pipeline import optimize
from emberlog.profile import RunProfile
from emberlog.progress.live_line import LiveLine
from emberlog.render.answer_text import answer_text
from emberlog.render.profile_text import profile_text, timing_text
from emberlog.semantics.analysis import analyze
from emberlog.semantics.model import CheckedProgram
from emberlog.semantics.rewriting.input_data import report_missing_inputs
from emberlog.source import Source
from emberlog.syntax import ast
from emberlog.syntax.parser import parse
from emberlog.text_widths import terminal_width
from emberlog.timing import Part, running, timed

if TYPE_CHECKING:
    from emberlog.database import Database


@dataclass(frozen=True, slots=True)
class Task:
    """Holds a program that can be run, as far as one can tell without Spark."""

    program: ast.Program
    checked: CheckedProgram
    params: Mapping[str, ast.Given]
    iterations: int | None
    off: tuple[str, ...]
    inputs: Mapping[str, str]
    """Relation → path of its facts."""
    named: Mapping[str, ast.FactFile]
    """Of these inputs, those whose files the program describes."""
    facts_folder: Path | None
    """Where they were found without being asked for."""
    output: str | None

    @property
    def name(self) -> str:
        return self.program.source.name


def prepare(
    name: str,
    arguments: argparse.Namespace,
    *,
    queries: Sequence[str] = (),
    off: Iterable[str] = (),
    output: str | None = None,
) -> Task:
    """Returns a program with the parameters and the facts of the command line. Raises EmberlogError with what is wrong
    with the program, the paths or the options."""
    params, iterations = as_mapping(arguments.params), arguments.iterations
    facts, inputs = arguments.facts, dict(arguments.inputs)
    program = _with_queries(read_program(name, arguments), queries)
    checked = analyze(program, params=params, iterations=iterations)
    needed = needed_inputs(optimize(build(checked), off=frozenset(off)).plan)
    derived = {name for name, relation in checked.relations.items() if relation.is_derived}
    if output is not None and "://" not in output and os.path.exists(output):
        raise fail("DL408", f"`{output}` is there already", None, "choose another folder, or take it away")
    beside = facts_beside(program_path(name)) if facts is None and name != STANDARD_INPUT else None
    folder = beside if facts is None else Path(facts)
    found = {relation: str(path) for relation, path in (files_in_folder(folder) if folder else {}).items()}
    files = {relation: path for relation, path in found.items() if relation in needed or relation in derived}
    named = {one.relation: one for one in program.files if one.relation not in inputs}
    whereabouts = folder or Path(program_path(name)).parent
    files |= {relation: str(whereabouts / one.path) for relation, one in named.items()}
    _check_inputs(checked, needed, inputs, {**files, **inputs}, folder)
    used = beside if files.keys() - inputs.keys() else None
    if not any(is_text(path) for relation, path in {**files, **inputs}.items() if relation not in named):
        reason = "leave it out: no input is a text file"
        refuse("this run", text_options_named(arguments), reason)
    return Task(program, checked, params, iterations, tuple(off), {**files, **inputs}, named, used, output)


def carry_out(task: Task, arguments: argparse.Namespace, *, form: str, limits: Limits, execution: Execution) -> None:
    """Runs the task on the engine that the options say, tells how it goes on, and shows the answers."""
    since = time.monotonic()
    is_local = arguments.engine == "local"
    with LiveLine(sys.stderr) as line:
        if not is_local:
            line.begin("  starting Spark")
        with timed(Part.IMPORTS):
            if not is_local:
                from emberlog.engines.spark.session import launch_java

                launch_java(arguments.master, conf=dict(arguments.conf))
            from emberlog.cli.databases import computed_once, open_database, read_answers, register_input

        with open_database(arguments) as database:
            started = time.monotonic()
            line.keep(heading(task, database, is_local=is_local))
            for relation, path in task.inputs.items():
                line.begin(f"  reading {path}")
                register_input(database, task, relation, arguments)
            profile = None if arguments.profile is None else RunProfile()
            progress = Progress(line)
            with database.datalog(
                task.program,
                params=task.params,
                iterations=task.iterations,
                limits=limits,
                listener=progress if profile is None else both(profile, progress),
                off=task.off,
                execution=execution,
            ) as result:
                computed = time.monotonic()
                with computed_once(result), timed(Part.ANSWERS):
                    answers = read_answers(result, arguments.show, line, origins=execution.provenance)
                    if task.output is not None:
                        line.begin(f"  writing {task.output}")
                        with timed(Part.WRITING):
                            result.write(task.output, form, iterations=execution.provenance)
            line.clear()
            for answer in answers:
                hint = "--show 0 for none, --output DIR to keep them all"
                print(answer_text(answer, hint=hint, width=terminal_width(sys.stdout)), flush=True)
            if task.output is not None:
                line.keep(f"written: {task.output} ({counted(len(answers), 'relation')}, {form})")
            watch = running()
            if profile is not None:
                if watch is not None:  # all of it, the answers included
                    profile.spent = {part.value: seconds for part, seconds in watch.spent.items() if seconds}
                line.keep(_told(profile, task.name, arguments.profile))
            if arguments.timing and watch is not None:
                line.keep(timing_text({part.value: seconds for part, seconds in watch.spent.items() if seconds}))
            read = time.monotonic()
            spent = (
                f": {started - since:,.1f} s to start Spark, {computed - started:,.1f} s to compute, "
                f"{read - computed:,.1f} s to read the answers"
            )
            line.keep(f"done in {read - since:,.1f} s{'' if is_local else spent}")
            for cut in result.cut_off:
                names, rounds = ", ".join(cut.relations), counted(cut.iterations, "iteration")
                line.keep(f"not at rest: {names} still changed in the last of {rounds}, so the answers are of that one")


def heading(task: Task, database: Database[Any], *, is_local: bool = False) -> str:
    """Returns the line that says what is run and where."""
    where = "in this process" if is_local else f"Spark {database.spark.version} {_master(database)}"
    heading = f"{task.name} · {where} · {program_summary(task.checked)}"
    return heading if task.facts_folder is None else f"{heading}\n  facts from {task.facts_folder}"


def _master(database: Database[Any]) -> str:
    try:
        return str(database.spark.sparkContext.master)
    except Exception:  # a session of Spark Connect does not tell
        return "Connect"


def _told(profile: RunProfile, name: str, page: str) -> str:
    """Returns the profile as text; writes the page if there is to be one."""
    text = profile_text(profile)
    if not page:
        return text
    from emberlog.render.pages.profile import profile_page

    write_text(page, profile_page(name, profile))
    return f"{text}\n\nprofile: {page}"


def _with_queries(program: ast.Program, queries: Sequence[str]) -> ast.Program:
    """Returns the program with these queries instead of its own, if there are any."""
    if not queries:
        return program
    asked: list[ast.Statement] = []
    for text in queries:
        whole = text if text.rstrip().endswith(("?", ".")) else f"{text}?"
        statements = parse(Source("--query", whole)).statements
        if not all(isinstance(one, ast.Query) for one in statements) or not statements:
            raise fail("DL410", f"`{text}` is not a query", None, "write --query 'tc(1, Y)?'")
        asked += statements
    others = tuple(one for one in program.statements if not isinstance(one, ast.Query))
    return replace(program, statements=(*others, *asked))


def _check_inputs(
    checked: CheckedProgram,
    needed: Sequence[str],
    named: Mapping[str, str],
    given: Mapping[str, str],
    folder: Path | None,
) -> None:
    """Raises errors for inputs that are needed and have no file, and for files that belong to no input."""
    diagnostics = Diagnostics()
    for relation, path in named.items():
        if relation not in checked.relations:
            guess = nearest(relation, checked.relations)
            hint = f"did you mean `{guess}`?" if guess else f"its inputs are {', '.join(checked.inputs) or 'none'}"
            diagnostics.error("DL411", f"the program has no input `{relation}`", None, hint)
        elif "://" not in path and is_fact_file(Path(path)) and not glob(path) and not os.path.exists(path):
            diagnostics.error("DL405", f"cannot read `{path}`: no such file or directory", None)

    def how(relation: str) -> Iterable[str]:
        if folder:
            yield f"`{folder}` has no file for it"
        yield f"give them: --input {relation}=PATH, or --facts DIR with a file {relation}.csv"

    report_missing_inputs(checked, needed, given, how, diagnostics)
    diagnostics.raise_errors()
