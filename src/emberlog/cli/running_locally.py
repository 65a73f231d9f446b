"""`emberlog run --engine local`: the same task in this process, without Spark."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from emberlog.cli.answers import answer_text, with_origins
from emberlog.cli.live_line import LiveLine
from emberlog.cli.local_answers import read_local_answers
from emberlog.cli.profiling import Profiling
from emberlog.cli.progress import Progress
from emberlog.config import Execution, Limits
from emberlog.database import Database
from emberlog.logical.summary import counted, program_summary

if TYPE_CHECKING:
    from emberlog.cli.running import Task


def carry_out_locally(
    task: Task,
    *,
    limits: Limits,
    header: bool,
    form: str,
    show: int,
    execution: Execution,
    profiling: Profiling | None,
) -> None:
    since = time.monotonic()
    with LiveLine(sys.stderr) as line, Database(engine="local") as database:
        heading = f"{task.name} · in this process · {program_summary(task.checked)}"
        line.keep(heading if task.facts_folder is None else f"{heading}\n  facts from {task.facts_folder}")
        for relation, path in task.inputs.items():
            database.register(relation, path, header=header)
        progress = Progress(line)
        result = database.datalog(
            task.program,
            params=task.params,
            iterations=task.iterations,
            limits=limits,
            listener=progress if profiling is None else profiling.beside(progress),
            off=task.off,
            execution=execution,
        )
        if task.output is not None:
            line.begin(f"  writing {task.output}")
            result.write(task.output, form, iterations=execution.provenance)
        line.clear()
        answers = read_local_answers(result, show)
        if execution.provenance:
            answers = [with_origins(answer, result) for answer in answers]
        for answer in answers:
            print(answer_text(answer, hint="--show 0 for none, --output DIR to keep them all"), flush=True)
        if task.output is not None:
            line.keep(f"written: {task.output} ({counted(len(answers), 'relation')}, {form})")
        if profiling is not None:
            line.keep(profiling.finish(task.name))
        line.keep(f"done in {time.monotonic() - since:,.1f} s")
