"""What running a program gives: its relations, how it was planned, and answers to questions about its facts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, TypeVar, cast, overload
from weakref import ref

from emberlog.config import StreamOptions, refuse_options
from emberlog.diagnostics import fail, nearest
from emberlog.engines.engine import Outputs
from emberlog.engines.recording import Recording, what_is_recorded
from emberlog.events import RecursionCutOff
from emberlog.io.local_relation import LocalRelation
from emberlog.io.shelves import Shelf
from emberlog.logical.build import build
from emberlog.logical.connection_graph import build_connection_graph
from emberlog.logical.needed_strata import needed_inputs
from emberlog.logical.nodes import LogicalPlan
from emberlog.optimize.pipeline import Optimized, plan_program
from emberlog.provenance.asked import Asked
from emberlog.provenance.explanation import Proof, Refutation
from emberlog.provenance.questions import Origin, Questions
from emberlog.provenance.trace import Trace
from emberlog.render.answer_text import Answer
from emberlog.render.plan_text import explain_text, pass_lines
from emberlog.semantics.model import CheckedProgram, CheckedQuery
from emberlog.shown import Shown
from emberlog.source import NOWHERE, Span
from emberlog.syntax import ast
from emberlog.wrong_options import tells_wrong_arguments

if TYPE_CHECKING:
    import typing_extensions
    from pyspark.sql import DataFrame

    from emberlog.stream_run import StreamRun
    from emberlog.streams.plan.window_plans import WindowPlans
    from emberlog.streams.spark.sinks import ForEach
    from emberlog.streams.steps.progress import StreamProgress

    Frame = typing_extensions.TypeVar("Frame", default=DataFrame)
else:
    Frame = TypeVar("Frame")


_MOST_PROOFS = 10

_NUMBERS = count()

_log = logging.getLogger("emberlog")


@dataclass(frozen=True, repr=False)
class Explained(Shown):
    """Holds a program that can be run, and says how. What only an explanation needs is made when it is asked for."""

    checked: CheckedProgram
    optimized: Optimized
    provenance: bool
    """Whether all that has a part in an answer is computed, and stays for questions."""
    _describe: Callable[[], tuple[str, ...]] = field(repr=False)
    _plans: WindowPlans | None = field(repr=False)
    """What is done with each relation of a program over streams from slide to slide; `choices` tells it."""

    @cached_property
    def logical(self) -> LogicalPlan:
        """The plan before any pass."""
        return build(self.checked)

    @property
    def choices(self) -> tuple[str, ...]:
        """How each stratum will be run, and why; after a run, how it was."""
        return self._describe()

    @property
    def places(self) -> dict[str, Span]:
        """Where each rule stands in the program."""
        return {rule.name: rule.span for rule in self.checked.rules if rule.span is not NOWHERE}

    @property
    def inputs(self) -> list[str]:
        """The relations that have to be registered for it to run."""
        plan = self.optimized.plan
        return list(plan.inputs) if self.provenance else needed_inputs(plan)

    def passes(self) -> str:
        """What each pass of the optimizer changed, line by line."""
        return "\n".join(pass_lines(self.optimized, in_full=True))

    def __str__(self) -> str:
        text = explain_text(self.checked, build_connection_graph(self.checked), self.logical, self.optimized)
        sections = {"how it runs": self.choices, "recorded for provenance": self._recorded}
        blocks = ("\n".join((title, *(f"  {line}" for line in lines))) for title, lines in sections.items() if lines)
        return "\n\n".join((text, *blocks))

    @property
    def _recorded(self) -> tuple[str, ...]:
        if not self.provenance:
            return ()
        return tuple(
            f"{', '.join(stratum.relations)}: {what_is_recorded(stratum.recursion.case)}"
            for stratum in self.checked.strata
            if stratum.recursion is not None
        )

    def __repr__(self) -> str:
        return f"Explained({self.checked.program.source.name}: {', '.join(self.checked.relations)})"


class Result(Mapping[str, Frame], Shown):
    """The relations that a program gives: Spark DataFrames, or LocalRelations from a local database.

    Recursive relations that Spark computed are held in its memory. `close`, or the end of a `with` block, gives it back
    at once; without them Spark does so some time after the last frame that reads them is gone.
    """

    def __init__(
        self,
        explained: Explained,
        outputs: Outputs[Frame],
        cut_off: Iterable[RecursionCutOff] = (),
        given: MutableMapping[object, tuple[str, ref[Result[Frame]]]] | None = None,
    ) -> None:
        """`given` is told which relations of this result people have."""
        self.explained = explained
        self._given = given
        self._cut_off = tuple(cut_off)
        self._outputs = outputs
        self._questions: Questions | None = None
        self._timing: Mapping[str, float] = {}
        self._number = next(_NUMBERS)
        """The larger, the later it was made."""
        self._read: tuple[Answer, ...] = ()
        """What somebody has read of the relations already: a notebook shows that, and reads nothing for it."""

    @property
    def program(self) -> ast.Program:
        return self.explained.checked.program

    @property
    def plan(self) -> LogicalPlan:
        """What was run."""
        return self.explained.optimized.plan

    @property
    def cut_off(self) -> tuple[RecursionCutOff, ...]:
        """The recursions that `@iterations` ended while they were still changing."""
        return self._cut_off

    @property
    def timing(self) -> Mapping[str, float]:
        """Where the time of the run went: seconds by part, which add up to the whole."""
        return self._timing

    def explain(self) -> str:
        """How the program was understood, planned and improved."""
        return str(self.explained)

    def __getitem__(self, name: str) -> Frame:
        if name not in self._outputs:
            guess = nearest(name, self._outputs)
            hint = f"did you mean `{guess}`?" if guess else f"it has {', '.join(self._outputs)}"
            raise fail("DL401", f"the program has no output `{name}`", None, hint)
        frame = self._outputs[name]
        if self._given is not None:
            self._given[frame] = (name, ref(self))
        return frame

    def __contains__(self, name: object) -> bool:
        return name in self._outputs

    def _at_hand(self, name: str) -> LocalRelation | None:
        """Returns the facts of a relation where they are in this process: for who shows some of them, without a job."""
        return self._outputs.at_hand(name)

    def _header(self, name: str) -> str:
        """The columns of a relation and their types, in one line."""
        return self._outputs.header(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._outputs)

    def __len__(self) -> int:
        return len(self._outputs)

    @tells_wrong_arguments()
    def write(self, folder: str | Path, format: str = "csv", *, header: bool = False, iterations: bool = False) -> None:
        """Writes every relation into a folder of its own name in this one, which must not be there yet. With
        `iterations`, recursive ones get a further column, the iteration that each fact comes from."""
        if iterations:
            self._asked()  # says so if nothing was recorded
        self._outputs.write(folder, format, header=header, iterations=iterations)

    @tells_wrong_arguments()
    def start(
        self,
        path: str | Path | None = None,
        *,
        checkpointLocation: str | Path,
        format: str | None = None,
        outputMode: str = "complete",
        foreachBatch: Callable[[Mapping[str, Frame], int], None] | None = None,
        queryName: str | None = None,
        availableNow: bool = False,
        processingTime: str | None = None,
        closes: bool = False,
        watermark: int | str = 0,
        slide: int | str | None = None,
        timeToLive: int | str | None = None,
        idle: str | None = None,
        renew: Sequence[str] = (),
        newProgram: bool = False,
        early: bool = False,
        late: str = "drop",
        bad: str = "keep",
        evaluation: Literal["incremental", "simple", "live"] = "incremental",
        workers: int = 1,
        options: Mapping[str, str] | None = None,
        listener: Callable[[StreamProgress], None] | None = None,
    ) -> StreamRun:
        """Starts a program over streams, and lets its answers go to files, a table in memory, the console, any format
        of Spark, or a function that gets the frames of a batch by relation, and its number. See docs/streams.md."""
        chosen = StreamOptions(
            checkpointLocation=str(checkpointLocation),
            path=None if path is None else str(path),
            format=format,
            outputMode=outputMode,
            queryName=queryName,
            options=dict(options or {}),
            availableNow=availableNow,
            processingTime=processingTime,
            closes=closes,
            watermark=watermark,
            slide=slide,
            timeToLive=timeToLive,
            idle=idle,
            renew=tuple(renew),
            newProgram=newProgram,
            early=early,
            late=late,
            bad=bad,
            evaluation=evaluation,
            workers=workers,
        )
        return self._start(chosen, cast("ForEach | None", foreachBatch), listener)

    def _start(
        self, options: StreamOptions, function: ForEach | None, listener: Callable[[StreamProgress], None] | None
    ) -> StreamRun:
        """Starts a program over streams with options that are one object: for the command line, too."""
        from emberlog.stream_run import StreamRun
        from emberlog.streams.spark.start import StreamAnswers

        if not isinstance(self._outputs, StreamAnswers):
            raise fail(
                "DL342", "this program reads no stream: its answers are there already", None, "read or write them"
            )
        return StreamRun(self._outputs, options, function, listener)

    # --- provenance -------------------------------------------------------------------------------------------------

    @overload
    def why(
        self,
        relation: str,
        fact: Asked,
        *,
        all: Literal[False] = False,
        limit: int = 10,
        depth: int | None = None,
        contributions: int = 10,
    ) -> Proof: ...

    @overload
    def why(
        self,
        relation: str,
        fact: Asked,
        *,
        all: Literal[True],
        limit: int = 10,
        depth: int | None = None,
        contributions: int = 10,
    ) -> tuple[Proof, ...]: ...

    @tells_wrong_arguments()
    def why(
        self,
        relation: str,
        fact: Asked,
        *,
        all: bool = False,
        limit: int = _MOST_PROOFS,
        depth: int | None = None,
        contributions: int = 10,
    ) -> Proof | tuple[Proof, ...]:
        """A smallest proof of a fact, `result.why("tc", (1, 4))`; with `all`, that and others, `limit` at most.

        None in the fact is any value, if only one fact agrees. `depth` ends the proof early; of an aggregate that all
        its contributions decide, so many `contributions` are listed. The run must have had `provenance=True`."""
        if all:
            if depth is not None:
                refuse_options("all=True", ["depth"], {"depth": "leave it out: proofs of a list are told in full"})
            return self._asked().all_whys(relation, fact, limit=limit, contributions=contributions)
        if limit != _MOST_PROOFS:
            refuse_options("a single proof", ["limit"], {"limit": "say all=True, or leave it out"})
        return self._asked().why(relation, fact, depth=depth, contributions=contributions)

    @tells_wrong_arguments()
    def why_not(self, relation: str, fact: Asked, *, depth: int = 1) -> Refutation:
        """Why a fact is not there: how far the body of each rule holds, and what fails; None in the fact is any value.
        With a larger `depth`, the same for the facts that are missing then."""
        return self._asked().why_not(relation, fact, depth=depth)

    @tells_wrong_arguments()
    def trace(self, relation: str, fact: Asked | None = None, *, limit: int = 20) -> Trace:
        """How facts came and changed, iteration by iteration: `result.trace("hcc", (4, None))`. None is any value; of
        each iteration at most `limit` facts are listed."""
        return self._asked().trace(relation, fact, limit=limit)

    @tells_wrong_arguments()
    def origin(self, relation: str, fact: Asked) -> Origin:
        """The iteration and the rule that a fact comes from: the first that derived it, of a group the last that
        improved its value."""
        return self._asked().origin(relation, fact)

    @tells_wrong_arguments()
    def history(self, relation: str) -> Frame:
        """All facts that a recursive relation ever had, with the iteration that brought them in the last column."""
        self._asked()  # says so if there is none
        if relation not in self._outputs.histories:
            guess = nearest(relation, self._outputs.histories)
            hint = f"did you mean `{guess}`?" if guess else "what is not recursive, or has stages, has none"
            raise fail("DL401", f"there is no history of `{relation}`", None, hint)
        return self._outputs.histories[relation]

    def _asked(self) -> Questions:
        if self._questions is None:
            recording = self._outputs.recorded()
            if recording is None:
                raise fail("DL440", "this run recorded no provenance", None, "say datalog(…, provenance=True)")
            explained = self.explained
            self._questions = Questions(explained.checked, recording, explained.optimized.demands, self._rerun)
        return self._questions

    def _rerun(self, query: CheckedQuery) -> Recording[Shelf]:
        """Records what a question needs that the queries of the program did not ask for."""
        asked = replace(self.explained.checked, queries=(query,))
        _log.info("%s: run once more for a question, with another query", self.program.source.name)
        recording = self._outputs.recorded(plan_program(asked, statistics=self.plan.statistics, provenance=True).plan)
        assert recording is not None
        return recording

    # --- the end ----------------------------------------------------------------------------------------------------

    @property
    def is_closed(self) -> bool:
        """Whether recursive relations can no longer be read, as their memory was given back."""
        return self._outputs.is_closed

    def close(self) -> None:
        """Gives back the memory of recursive relations, which can no longer be read then."""
        self._outputs.close()

    def __enter__(self) -> Result[Frame]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return "\n".join(f"{name}({self._outputs.header(name)})" for name in self._outputs)
