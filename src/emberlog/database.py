"""What people touch in Python: a database of named relations, the programs that run on it, and their results."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Literal, TypeVar, cast, overload
from weakref import WeakKeyDictionary, ref

from emberlog.config import (
    DEFAULT_EXECUTION,
    DEFAULT_LIMITS,
    OF_A_RUN,
    Execution,
    Limits,
    options_of_a_run,
    refuse_options,
)
from emberlog.datatypes import TYPE_NAMES, DataType
from emberlog.deadline import within
from emberlog.diagnostics import (
    Diagnostic,
    Diagnostics,
    EmberlogError,
    EmberlogWarning,
    Note,
    Severity,
    fail,
    interrupts_told,
    nearest,
    warn,
)
from emberlog.engines.engine import Counted, Engine, Outputs, Request
from emberlog.engines.run_warnings import CutOffRecursions, rows_that_add_up, tell_repeated_rows
from emberlog.events import Listener, TimeSpent, both, ignore
from emberlog.io.text_format import TextOptions
from emberlog.language.registry import BUILT_IN
from emberlog.logical.statistics import Statistics
from emberlog.optimize.pipeline import Optimized
from emberlog.planning import ProgramLike, ProgramPlanner, parsed, without_problems
from emberlog.progress.run_line import shown_run
from emberlog.render.cost_text import cost_text
from emberlog.result import Explained, Result
from emberlog.semantics.model import CheckedProgram, Relation
from emberlog.semantics.rewriting.input_data import report_missing_inputs
from emberlog.shown import Shown
from emberlog.syntax import ast
from emberlog.timing import Part, measured, timed
from emberlog.workers.plan.worker_plan import WorkerPlanner
from emberlog.wrong_options import tells_wrong_arguments

if TYPE_CHECKING:
    import typing_extensions
    from pyspark.sql import DataFrame, SparkSession

    from emberlog.io.intake import Glance
    from emberlog.io.local_relation import LocalRelation
    from emberlog.live.view import LiveView
    from emberlog.provenance.streams.questions import StreamQuestions
    from emberlog.streams.plan.window_plans import WindowPlans

    Frame = typing_extensions.TypeVar("Frame", default=DataFrame)
else:
    Frame = TypeVar("Frame")


class Database(MutableMapping[str, object], Shown, Generic[Frame]):
    """Relations by name, on a Spark session or in this process.

    `Database(spark)` uses your session, classic or Spark Connect, and leaves it as it was. `Database()` uses the active
    session or starts a local one, which it stops when it is closed. `Database(engine="local")` needs neither Spark nor
    Java: its relations are LocalRelations instead of DataFrames.
    """

    @overload
    def __init__(
        self: Database[DataFrame],
        spark: SparkSession | None = None,
        *,
        engine: Literal["spark"] = "spark",
        master: str | None = None,
        memory: str | None = None,
        conf: Mapping[str, str] | None = None,
        progress: bool = True,
    ) -> None: ...

    @overload
    def __init__(
        self: Database[LocalRelation],
        *,
        engine: Literal["local"],
        workers: int | None = None,
        progress: bool = True,
    ) -> None: ...

    @tells_wrong_arguments(options_of_a_run, 'data is registered by its name: db["{0}"] = …')
    def __init__(
        self,
        spark: SparkSession | None = None,
        *,
        engine: str = "spark",
        workers: int | None = None,
        master: str | None = None,
        memory: str | None = None,
        conf: Mapping[str, str] | None = None,
        progress: bool = True,
    ) -> None:
        self.progress = progress
        """Whether a run that takes longer than a blink shows how far it is, below its cell in a notebook and otherwise
        on standard error if that is a terminal."""
        if engine == "local":
            with timed(Part.IMPORTS):
                from emberlog.engines.local.engine import LocalEngine

            given = {"spark": spark is not None, "master": master, "memory": memory, "conf": conf}
            refuse_options("a local database", _set(given), dict.fromkeys(given, "leave it out: there is no Spark"))
            self._engine = cast("Engine[Frame]", LocalEngine(workers))
        elif engine == "spark":
            with timed(Part.IMPORTS):
                if spark is None and workers is None:
                    from emberlog.engines.spark.session import launch_java

                    launch_java(master, memory=memory, conf=conf)  # which starts while the rest is loaded
                from emberlog.engines.spark.engine import SparkEngine

            if workers is not None:
                hint = "say datalog(…, execution=Execution(workers=…))"
                refuse_options("a database on Spark", ["workers"], {"workers": hint})
            self._engine = cast("Engine[Frame]", SparkEngine(spark, master, memory, conf))
        else:
            raise fail("DL508", f"there is no engine `{engine}`", None, "it is one of spark, local")
        self._functions = BUILT_IN
        self._rules: dict[tuple[str, bool], tuple[ast.Statement, ...]] = {}
        """By their name, or by their text, which is no name."""
        self._results: WeakKeyDictionary[object, tuple[str, ref[Result[Frame]]]] = WeakKeyDictionary()
        """The relations that runs gave, and which they are. This keeps none of them."""
        self._chained: dict[str, tuple[str, ref[Result[Frame]]]] = {}
        """What is registered that a run gave."""
        self._told_repeats: set[str] = set()
        """What is registered whose duplicate rows were looked for."""
        self._plans = ProgramPlanner(self._engine, self._refuse_closed)
        self._how_to_give: Callable[[str], Sequence[str]] = _by_registering
        """Has hints for a relation that nobody gave facts for."""

    @property
    def spark(self) -> SparkSession:
        """The session; a local database has none."""
        from emberlog.engines.spark.engine import SparkEngine

        if not isinstance(self._engine, SparkEngine):
            raise fail("DL508", "a local database has no Spark session")
        return self._engine.spark

    # --- relations --------------------------------------------------------------------------------------------------

    def __setitem__(self, name: str, data: object) -> None:
        """Registers a DataFrame, the name of a table, a path, pandas or Arrow data, or a list of tuples."""
        self.register(name, data)

    @tells_wrong_arguments()
    def register(
        self,
        name: str,
        data: object,
        *,
        columns: Sequence[str] | None = None,
        format: str | None = None,
        header: bool | None = None,
        delimiter: str | None = None,
        encoding: str | None = None,
        null: str | None = None,
        quote: str | None = None,
        changes: str | None = None,
    ) -> None:
        """The same as `db[name] = data`, with a choice of columns, and with what a path does not say: the format of its
        files, and of text files whether they begin with the names of their columns, what separates cells, the encoding,
        the text of a null, and the character around quoted cells (`quote=""`: none, every character counts).
        `changes` says how a streaming frame tells of rows that come and go: `debezium`, `delta`, or a column."""
        if changes is not None:
            from emberlog.streams.spark.change_streams import with_changes

            data = with_changes(name, data, changes)
        text = TextOptions(header=header, delimiter=delimiter, encoding=encoding, null=null, quote=quote)
        if not isinstance(data, str | os.PathLike):
            given = [*text.given, *_set({"format": format})]
            reason = "leave it out: it is for files"
            refuse_options(f"the data of `{name}`", given, dict.fromkeys(given, reason))
        with timed(Part.READING):
            self._engine.register(name, data, columns=columns, text=text, format=format)
        self._plans.forget(name)
        self._told_repeats.discard(name)
        self._chained.pop(name, None)
        with suppress(KeyError, TypeError):  # most data is something else
            self._chained[name] = self._results[data]

    def __getitem__(self, name: str) -> Frame:
        if name not in self:
            raise self._missing(name)
        return self._engine.original(name)

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise self._missing(name)
        self._engine.forget(name)
        self._chained.pop(name, None)
        self._plans.forget(name)

    def __contains__(self, name: object) -> bool:
        return name in set(self._engine)

    def __iter__(self) -> Iterator[str]:
        return iter(self._engine)

    def __len__(self) -> int:
        return len(list(self._engine))

    def __repr__(self) -> str:
        return f"Database({', '.join(self)})"

    def _glance(self, name: str) -> Glance:
        return self._engine.glance(name)

    @contextmanager
    def _lent(self, data: Mapping[str, object], how_to_give: Callable[[str], Sequence[str]]) -> Iterator[None]:
        """While this is entered, has more relations; and whoever misses one is told how to give it there."""
        before = self._how_to_give
        taken: list[str] = []
        try:
            self._how_to_give = how_to_give
            for name, value in data.items():
                self[name] = value
                taken.append(name)
            yield
        finally:
            self._how_to_give = before
            for name in taken:
                del self[name]

    def _missing(self, name: str) -> EmberlogError:
        guess = nearest(name, self)
        hints = [f"did you mean `{guess}`?"] if guess else []
        return fail("DL401", f"no data is registered for `{name}`", None, *hints)

    # --- functions --------------------------------------------------------------------------------------------------

    @tells_wrong_arguments()
    def function(
        self,
        name: str,
        implementation: Callable[..., object],
        parameters: Sequence[str | DataType],
        result: str | DataType,
    ) -> None:
        """A function of one row for programs: `db.function("soundex", soundex, ["string"], "string")`."""
        types = [_type(one) for one in parameters]
        self._functions = self._functions.with_scalar(name, implementation, types, _type(result))

    @tells_wrong_arguments()
    def aggregate(
        self, name: str, implementation: Callable[[Sequence[object]], object], result: str | DataType
    ) -> None:
        """An aggregate for programs, a function of the sorted list of a group's values:
        `db.aggregate("median", statistics.median, "float")`."""
        self._functions = self._functions.with_aggregate(name, implementation, _type(result))

    # --- programs ---------------------------------------------------------------------------------------------------

    @OF_A_RUN
    def datalog(
        self,
        program: ProgramLike,
        *,
        params: Mapping[str, object] | None = None,
        iterations: int | None = None,
        limits: Limits = DEFAULT_LIMITS,
        listener: Listener = ignore,
        off: Iterable[str] = (),
        execution: Execution = DEFAULT_EXECUTION,
        provenance: bool = False,
        dialect: str | None = None,
        include: Sequence[str] = (),
    ) -> Result[Frame]:
        """Runs a program. Recursive relations, and what is small, are computed before this returns; the others are
        Spark queries, run when they are read (a local database computes everything at once). A program over streams
        is only made ready: the `start` of its result runs it. `iterations` bounds recursions that need a bound;
        `off` names passes that are left out; `execution` says how recursions are run; `provenance` records what
        `Result.why` and the like need; `dialect` is "emberlog" or "souffle", by itself that of the text,
        and `include` are folders of files that a program of Soufflé includes."""
        if dialect is not None or include:
            program = parsed(program, dialect, include)
        if provenance:
            execution = replace(execution, provenance=True)
        with within(limits.timeout), measured() as watch, timed(Part.OTHER), shown_run(self.progress) as shown:
            before = watch.spent
            with interrupts_told():
                result = self._datalog(program, params, iterations, limits, listener, off, execution, shown)
            spent = {part.value: after - before[part] for part, after in watch.spent.items()}
            result._timing = {part: seconds for part, seconds in spent.items() if seconds}
            if not result.explained.checked.has_streams:
                listener(TimeSpent(result.timing))
            return result

    def _datalog(
        self,
        program: ProgramLike,
        params: Mapping[str, object] | None,
        iterations: int | None,
        limits: Limits,
        listener: Listener,
        off: Iterable[str],
        execution: Execution,
        shown: Listener,
    ) -> Result[Frame]:
        provenance, off = execution.provenance, frozenset(off)
        with timed(Part.PLANNING):
            checked, optimized = self._plans.plan(program, params, iterations, off, provenance, self._functions)
            planner = self._engine.planner(optimized.plan, execution, without_data=False)
        explained = self._explained(checked, optimized, planner, provenance)
        stream = next((relation for relation in checked.relations.values() if relation.is_stream), None)
        if provenance and stream is not None:
            hint = "ask the query that start() gives: query.why(…)"
            raise fail("DL446", f"`{stream.name}` is a stream, for which nothing is recorded", stream.span, hint)
        if stream is not None:
            given = [*execution.chosen, *_set({"listener": listener is not ignore, "off": off})]
            refuse_options("a program over streams", given, _REFUSED_BY_STREAMS)
        _check_iterations(checked, iterations)
        self._check_inputs(explained)
        self._look_at_chained(checked)
        if stream is not None:
            request = _request(explained, limits, listener, execution, planner)
            return Result(explained, self._stream(request, stream, explained._plans))
        repeated = self._repeated_rows(checked, explained.inputs)
        cut_off = CutOffRecursions(optimized.plan, both(shown, listener))
        request = _request(explained, limits, cut_off, execution, planner)
        result = Result(explained, self._engine.run(request), cut_off.found.values(), self._results)
        found = Diagnostics()
        cut_off.tell(optimized.plan, explained.places, found)
        try:
            warn((*repeated, *found.found))
        except EmberlogWarning:
            result.close()
            raise
        return result

    def _refuse_closed(self, name: str) -> None:
        """Raises an error if the data of a relation is what a run gave whose result was closed."""
        result = self._chained[name][1]() if name in self._chained else None
        if result is not None and result.is_closed:
            hint = "close it when nothing reads it any more, or keep its facts: result.write(…)"
            raise fail("DL427", f"the data of `{name}` is of a result that was closed", None, hint)

    def _look_at_chained(self, checked: CheckedProgram) -> None:
        """Warns of what an earlier run gave for a relation that this program computes, too, and declares: the old facts
        would be among the new ones. Of one that it does not declare, the analysis warns."""
        for relation in map(checked.relations.__getitem__, checked.inputs):
            origin = self._chained.get(relation.data_name, ("", None))[0]
            if origin == relation.data_name != relation.name and checked.relations[origin].is_declared:
                message = f"`{origin}` has rules, and what an earlier run gave for it is registered as its data"
                hint = Note(f'the old facts are among the new ones; take them away: del db["{origin}"]')
                warn([Diagnostic("DL494", message, None, (hint,), Severity.WARNING)])

    def _repeated_rows(self, checked: CheckedProgram, inputs: Sequence[str]) -> Sequence[Diagnostic]:
        """Warnings of duplicate rows that a sum does not count, of each input once."""
        found = Diagnostics()
        for name, rule in rows_that_add_up(checked).items():
            relation = checked.relations[name]
            if name in inputs and relation.data_name in self and relation.data_name not in self._told_repeats:
                self._told_repeats.add(relation.data_name)
                rows = self._engine.repeated_rows(relation.data_name, relation)
                if rows:
                    tell_repeated_rows(relation.data_name, rows, rule, found)
        return found.found

    def _stream(self, request: Request, stream: Relation, plans: WindowPlans | None) -> Outputs[Frame]:
        """Makes a program over streams ready to be started."""
        from emberlog.engines.spark.engine import SparkEngine

        if not isinstance(self._engine, SparkEngine):
            raise fail(
                "DL320",
                f"a local database runs no stream programs: `{stream.name}` is a stream",
                stream.span,
                "a database on Spark does; `window` asks about one slide here",
            )
        from emberlog.live.slides import LivePlan
        from emberlog.streams.spark.start import StreamAnswers

        assert plans is not None
        return cast("Outputs[Frame]", StreamAnswers(self._engine, request, plans, LivePlan))

    @OF_A_RUN
    def window(
        self,
        program: ProgramLike,
        *,
        at: int | datetime | None = None,
        params: Mapping[str, object] | None = None,
        iterations: int | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> StreamQuestions:
        """One slide of a program over streams, to be asked about: `db.window(program).why("way", ("a", "b", None))`. A
        local database has the tuples of the streams as relations. The slide is the last one that is not after `at`,
        otherwise that of the last tuple."""
        from emberlog.engines.local.engine import LocalEngine
        from emberlog.provenance.streams.questions import StreamQuestions
        from emberlog.streams.evaluate.window_facts import window_of_relations

        if not isinstance(self._engine, LocalEngine):
            hint = 'ask the query that start() gives, or use Database(engine="local")'
            raise fail("DL508", "only a local database has whole streams", None, hint)
        explained = self.check(program, params=params, iterations=iterations)
        if not explained.checked.has_streams:
            raise fail("DL342", "this program reads no stream", None, "datalog(…, provenance=True) answers questions")
        _check_iterations(explained.checked, iterations)
        self._check_inputs(explained)
        relations = self._engine.inputs(explained.checked, explained.inputs).relations
        window = window_of_relations(explained.checked, relations, at)
        return StreamQuestions(explained.checked, window, limits)

    @OF_A_RUN
    def live(
        self,
        program: ProgramLike,
        *,
        params: Mapping[str, object] | None = None,
        limits: Limits = DEFAULT_LIMITS,
        iterations: int | None = None,
        sets: bool = False,
    ) -> LiveView:
        """Runs a program, and keeps its answers up to date in this process while facts are inserted and deleted:
        `with live.transaction() as t: t.insert("edge", [(1, 2)])`. It begins with what is registered, and leaves that
        as it is. A row that is there twice has to be deleted twice; with `sets`, each row is there once."""
        from emberlog.engines.local.engine import LocalEngine
        from emberlog.live.view import LiveView

        tree = parsed(program)
        explained = self.check(tree, params=params, iterations=iterations)
        checked = explained.checked
        stream = next((relation for relation in checked.relations.values() if relation.is_stream), None)
        if stream is not None:
            hint = "declare it as a relation, or let datalog(…).start(…) run the program"
            raise fail("DL508", f"a live view has no streams: `{stream.name}` is one", stream.span, hint)
        _check_iterations(checked, iterations)
        self._check_inputs(explained)
        engine = self._engine if isinstance(self._engine, LocalEngine) else LocalEngine(None)
        with within(limits.timeout), timed(Part.READING):
            if engine is not self._engine:
                for name in {checked.relations[name].data_name for name in checked.inputs} & set(self):
                    table = cast("DataFrame", self._engine.original(name)).toArrow()
                    engine.register(name, table, columns=None, text=TextOptions(), format=None)
            inputs = engine.inputs(checked, checked.inputs)

        def ask(relations: Mapping[str, LocalRelation]) -> Result[LocalRelation]:
            database: Database[LocalRelation] = Database(engine="local")
            database._functions = self._functions
            for name, relation in relations.items():
                database[name] = relation
            return database.datalog(tree, params=params, iterations=iterations, limits=limits, provenance=True)

        return LiveView(checked, inputs.relations, limits, ask, plain_times=inputs.plain_times, sets=sets)

    @tells_wrong_arguments()
    def rules(self, program: ProgramLike, *, name: str | None = None) -> None:
        """Adds the rules, facts and declarations of a program to those that `query` asks about. Under a `name` they
        replace what was there; without one, the same program is kept once, however often it is given."""
        tree = without_problems(parsed(program))
        statements = tuple(one for one in tree.statements if not isinstance(one, ast.Query))
        self._rules[tree.source.text if name is None else name, name is not None] = statements

    @tells_wrong_arguments()
    def remove_rules(self, name: str | None = None) -> None:
        """Takes back the rules that were added under a name, or all of them."""
        if name is None:
            self._rules.clear()
        elif self._rules.pop((name, True), None) is None:
            names = [known for known, is_name in self._rules if is_name]
            guess = nearest(name, names)
            hint = f"did you mean `{guess}`?" if guess else f"there are {', '.join(names) or 'none'}"
            raise fail("DL428", f"there are no rules under the name `{name}`", None, hint)

    @OF_A_RUN
    def query(
        self,
        query: str,
        *,
        params: Mapping[str, object] | None = None,
        iterations: int | None = None,
        limits: Limits = DEFAULT_LIMITS,
        listener: Listener = ignore,
    ) -> Frame:
        """The facts that answer one query, `db.query("tc(1, Y)?")`, over the rules given so far."""
        with within(limits.timeout):
            return self._query(query, params, iterations, limits, listener)

    def _query(
        self,
        query: str,
        params: Mapping[str, object] | None,
        iterations: int | None,
        limits: Limits,
        listener: Listener,
    ) -> Frame:
        asked = without_problems(parsed(query if query.rstrip().endswith(("?", ".")) else f"{query}?"))
        queries = [one for one in asked.statements if isinstance(one, ast.Query)]
        if len(queries) != 1:
            found = "no query" if not queries else f"{len(queries):,} queries"
            raise fail("DL410", f"this text has {found}, not one", None, "datalog() runs whole programs")
        program = ast.Program(asked.source, (*itertools.chain(*self._rules.values()), *asked.statements))
        result = self.datalog(program, params=params, iterations=iterations, limits=limits, listener=listener)
        return result[queries[0].atom.predicate]

    @OF_A_RUN
    def check(
        self,
        program: ProgramLike,
        *,
        params: Mapping[str, object] | None = None,
        iterations: int | None = None,
        off: Iterable[str] = (),
        provenance: bool = False,
    ) -> Explained:
        """Checks a program against the registered data and plans it, but does not run it. Raises EmberlogError."""
        checked, optimized = self._plans.plan(program, params, iterations, off, provenance, self._functions)
        planner = self._engine.planner(optimized.plan, DEFAULT_EXECUTION, without_data=True)
        return self._explained(checked, optimized, planner, provenance)

    def _explained(
        self, checked: CheckedProgram, optimized: Optimized, planner: WorkerPlanner, provenance: bool
    ) -> Explained:
        plans = None
        if checked.has_streams:
            from emberlog.streams.plan.window_plans import plan_windows

            plans = plan_windows(checked)

        def describe() -> tuple[str, ...]:
            return self._engine.choices(optimized.plan, planner) if plans is None else plans.notes

        return Explained(checked, optimized, provenance, describe, plans)

    @OF_A_RUN
    def cost(
        self,
        program: ProgramLike,
        *,
        analyze: bool = False,
        params: Mapping[str, object] | None = None,
        iterations: int | None = None,
        limits: Limits = DEFAULT_LIMITS,
        off: Iterable[str] = (),
    ) -> str:
        """What is known of the data, how many rows each node of the plan is expected to give, and how joins are
        ordered and why. With `analyze`, the program is run, and the rows that were counted stand beside them: those of
        each node of a query, and of each step of a rule that workers ran."""
        if not analyze and limits != DEFAULT_LIMITS:
            reason = "leave it out, or say analyze=True: nothing is run that could pass a limit"
            refuse_options("an estimate of costs", ["limits"], {"limits": reason})
        explained, known, counted = self._costs(
            program, params, iterations=iterations, limits=limits, off=off, counts=analyze
        )
        return cost_text(explained.optimized, known, counted)

    def _costs(
        self,
        program: ProgramLike,
        params: Mapping[str, object] | None,
        *,
        iterations: int | None = None,
        limits: Limits = DEFAULT_LIMITS,
        off: Iterable[str] = (),
        counts: bool,
    ) -> tuple[Explained, Statistics, Counted | None]:
        """What is known of the data of a program, and what was counted in a run, if that is asked for."""
        explained = self.check(program, params=params, iterations=iterations, off=off)
        if explained.checked.has_streams:
            raise fail("DL508", "the costs of a program over streams are not known", None, "explain tells the rest")
        self._check_inputs(explained)
        known = self._plans.known(explained.checked)
        if not counts:
            return explained, known, None
        _check_iterations(explained.checked, iterations)
        planner = self._engine.planner(explained.optimized.plan, DEFAULT_EXECUTION, without_data=False)
        request = _request(explained, limits, ignore, DEFAULT_EXECUTION, planner)
        return explained, known, self._engine.counted(request)

    def _check_inputs(self, explained: Explained) -> None:
        """Raises an error that names all inputs that the plan reads and nobody registered; those declared are empty."""
        missing = Diagnostics()
        registered = set(self)

        report_missing_inputs(explained.checked, explained.inputs, registered, self._how_to_give, missing)
        for file in explained.checked.program.files:
            if file.relation not in registered:
                hint = f'give it: db["{file.relation}"] = "{file.path}"'
                missing.error("DL401", f"there is no data for the input `{file.relation}`", file.span, hint)
        missing.raise_errors()
        warn(missing.found)

    # --- the end ----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Forgets the relations, and stops the session if this started it."""
        self._engine.close()

    def __enter__(self) -> Database[Frame]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _by_registering(name: str) -> Sequence[str]:
    return [f'register them: db["{name}"] = …']


def _type(given: str | DataType) -> DataType:
    if isinstance(given, DataType):
        return given
    if given.lower() not in TYPE_NAMES:
        guess = nearest(given.lower(), TYPE_NAMES)
        hints = [f"did you mean `{guess}`?"] if guess else []
        raise fail("DL219", f"there is no type `{given}`", None, *hints, f"types are {', '.join(TYPE_NAMES)}")
    return TYPE_NAMES[given.lower()]


_REFUSED_BY_STREAMS = {
    **{one.name: "leave it out: the options of a stream are those of start(…)" for one in fields(Execution)},
    "workers": "say start(workers=…)",
    "listener": "say start(listener=…): it hears of every batch",
    "off": "leave it out: what keeps a window up to date is not planned by these passes",
}


def _set(options: Mapping[str, object]) -> list[str]:
    """The names of the options that somebody has set."""
    return [name for name, value in options.items() if value]


def _check_iterations(checked: CheckedProgram, iterations: int | None) -> None:
    """Raises an error if a number of rounds is given and no recursion takes one."""
    bounds = {one.recursion.iterations for one in checked.strata if one.recursion is not None}
    if iterations is not None and iterations not in bounds:
        reason = "leave it out: every recursion of it comes to its end by itself, or has a bound of its own"
        refuse_options("this program", ["iterations"], {"iterations": reason})


def _request(
    explained: Explained, limits: Limits, listener: Listener, execution: Execution, planner: WorkerPlanner
) -> Request:
    plan, inputs, places = explained.optimized.plan, explained.inputs, explained.places
    return Request(explained.checked, plan, inputs, places, limits, listener, execution, planner)
