"""A run from the command line: what is checked before Spark starts, and what is told while it goes on."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

from emberlog.cli.answers import answer_text, with_origins
from emberlog.cli.fact_files import facts_beside, files_in_folder, is_fact_file
from emberlog.cli.live_line import LiveLine
from emberlog.cli.parameters import as_mapping
from emberlog.cli.program_files import STANDARD_INPUT, program_path, read_source
from emberlog.cli.progress import Progress
from emberlog.cli.spark_failures import told_as_such
from emberlog.cli.terminal import silence_py4j
from emberlog.config import Execution, Limits
from emberlog.diagnostics import Diagnostics, fail, nearest
from emberlog.logical.build import build
from emberlog.logical.nodes import LogicalPlan
from emberlog.logical.summary import counted, program_summary
from emberlog.logical.traverse import plans_of, scans
from emberlog.optimize.pipeline import optimize
from emberlog.semantics.analysis import analyze
from emberlog.semantics.model import CheckedProgram
from emberlog.source import NOWHERE, Source
from emberlog.syntax import ast
from emberlog.syntax.parser import parse

if TYPE_CHECKING:
    from emberlog.cli.profiling import Profiling
    from emberlog.database import Database


@dataclass(frozen=True, slots=True)
class Task:
    """A program that can be run, as far as one can tell without Spark."""

    program: ast.Program
    checked: CheckedProgram
    params: Mapping[str, ast.Value]
    iterations: int | None
    off: tuple[str, ...]
    inputs: Mapping[str, str]
    """Relation → path of its facts."""
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
    """A program with the parameters and the facts of the command line. Raises EmberlogError with what is wrong with the
    program, the paths or the options."""
    params, iterations = as_mapping(arguments.params), arguments.iterations
    facts, inputs = arguments.facts, dict(arguments.inputs)
    program = _with_queries(parse(read_source(name)), queries)
    checked = analyze(program, params=params, iterations=iterations)
    needed = _needed_inputs(optimize(build(checked), off=frozenset(off)).plan)
    if output is not None and "://" not in output and os.path.exists(output):
        raise fail("DL408", f"`{output}` is there already", None, "choose another folder, or take it away")
    beside = facts_beside(program_path(name)) if facts is None and name != STANDARD_INPUT else None
    folder = beside if facts is None else Path(facts)
    found = {relation: str(path) for relation, path in (files_in_folder(folder) if folder else {}).items()}
    files = {relation: path for relation, path in found.items() if relation in needed}
    _check_inputs(checked, needed, inputs, {**files, **inputs}, folder)
    used = beside if files.keys() - inputs.keys() else None
    return Task(program, checked, params, iterations, tuple(off), {**files, **inputs}, used, output)


def carry_out(
    task: Task,
    *,
    limits: Limits,
    header: bool,
    form: str,
    show: int,
    execution: Execution,
    profiling: Profiling | None,
    master: str | None,
    conf: Mapping[str, str],
) -> None:
    since = time.monotonic()
    silence_py4j()
    with told_as_such(), LiveLine(sys.stderr) as line:
        line.begin("  starting Spark")
        from emberlog.cli.reading import computed_once, read_answers
        from emberlog.database import Database

        with Database(master=master, conf=conf) as database:
            started = time.monotonic()
            line.keep(heading(task, database))
            for relation, path in task.inputs.items():
                line.begin(f"  reading {path}")
                database.register(relation, path, header=header)
            with database.datalog(
                task.program,
                params=task.params,
                iterations=task.iterations,
                limits=limits,
                listener=Progress(line) if profiling is None else profiling.beside(Progress(line)),
                off=task.off,
                execution=execution,
            ) as result:
                computed = time.monotonic()
                with computed_once(result):
                    answers = read_answers(result, show, line)
                    if execution.provenance:
                        answers = [with_origins(answer, result) for answer in answers]
                    if task.output is not None:
                        line.begin(f"  writing {task.output}")
                        result.write(task.output, form, iterations=execution.provenance)
            line.clear()
            for answer in answers:
                print(answer_text(answer, hint="--show 0 for none, --output DIR to keep them all"), flush=True)
            if task.output is not None:
                line.keep(f"written: {task.output} ({counted(len(answers), 'relation')}, {form})")
            if profiling is not None:
                line.keep(profiling.finish(task.name))
            read = time.monotonic()
            line.keep(
                f"done in {read - since:,.1f} s: {started - since:,.1f} s to start Spark, "
                f"{computed - started:,.1f} s to compute, {read - computed:,.1f} s to read the answers"
            )


def heading(task: Task, database: Database) -> str:
    parts = [task.name, f"Spark {database.spark.version} {_master(database)}", program_summary(task.checked)]
    heading = " · ".join(parts)
    return heading if task.facts_folder is None else f"{heading}\n  facts from {task.facts_folder}"


def _master(database: Database) -> str:
    try:
        return str(database.spark.sparkContext.master)
    except Exception:  # a session of Spark Connect does not tell
        return "Connect"


def _with_queries(program: ast.Program, queries: Sequence[str]) -> ast.Program:
    """The program with these queries instead of its own, if there are any."""
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
    return ast.Program(program.source, (*others, *asked), program.comments)


def _needed_inputs(plan: LogicalPlan) -> list[str]:
    """The relations without which the outputs cannot be computed."""
    read = {scan.relation for stratum in plan.strata for one in plans_of(stratum.root) for scan in scans(one)}
    return [name for name in plan.inputs if name in read or name in plan.outputs]


def _check_inputs(
    checked: CheckedProgram,
    needed: Sequence[str],
    named: Mapping[str, str],
    given: Mapping[str, str],
    folder: Path | None,
) -> None:
    """Every input that is needed has a file, and every file that was named belongs to an input."""
    diagnostics = Diagnostics()
    for relation, path in named.items():
        if relation not in checked.inputs:
            guess = nearest(relation, checked.inputs)
            hint = f"did you mean `{guess}`?" if guess else f"its inputs are {', '.join(checked.inputs) or 'none'}"
            diagnostics.error("DL411", f"the program has no input `{relation}`", None, hint)
        elif "://" not in path and is_fact_file(Path(path)) and not glob(path) and not os.path.exists(path):
            diagnostics.error("DL405", f"cannot read `{path}`: no such file or directory", None)
    for relation in needed:
        if relation not in given:
            span = checked.relations[relation].span
            looked = [f"`{folder}` has no file for it"] if folder else []
            diagnostics.error(
                "DL401",
                f"there are no facts for the relation `{relation}`",
                None if span is NOWHERE else span,
                *looked,
                f"give them: --input {relation}=PATH, or --facts DIR with a file {relation}.csv",
            )
    diagnostics.raise_errors()
