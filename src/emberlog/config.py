"""The options of a run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Literal

from emberlog.diagnostics import Diagnostics
from emberlog.wrong_options import tells_wrong_arguments, with_told_options


@with_told_options()
@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use before it is stopped with an error; None is no limit.

    The defaults let every recursion over finite data come to its end, and stop one that makes up
    new values for ever before it eats the machine.
    """

    max_iterations: int | None = 100_000
    """Rounds of one recursive stratum."""
    max_rows: int | None = 10_000_000_000
    """Derived facts, all strata together."""
    timeout: float | None = None
    """Seconds, for reading, checking and planning the program and for running it."""

    def __post_init__(self) -> None:
        diagnostics = Diagnostics()
        for one in fields(self):
            value = getattr(self, one.name)
            if value is not None and value <= 0:
                diagnostics.error("DL509", f"the limit {one.name} must be larger than 0, not {value:,}", None)
        diagnostics.raise_errors()


DEFAULT_LIMITS = Limits()


def refuse_options(who: str, given: Iterable[str], reasons: Mapping[str, str]) -> None:
    """Raises an error for every option given that somebody cannot honour; `reasons` say why, or what to do instead."""
    diagnostics = Diagnostics()
    for name in given:
        if name in reasons:
            diagnostics.error("DL336", f"{who} has no option `{name}`", None, reasons[name])
    diagnostics.raise_errors()


EXECUTORS = ("auto", "cyclic", "dataframe", "driver")
MODES = ("auto", "bsp", "decomposed", "async")
PARTITIONINGS = ("auto", "hash", "range", "locality")
REPRESENTATIONS = ("auto", "hash", "marks", "lanes", "rows")


@with_told_options()
@dataclass(frozen=True, slots=True)
class Recovery:
    """What the cyclic executor does about faults of machines: workers that die or stall, disks that fill up."""

    retries: int = 2
    """How often a recursion that lost a worker is tried again, from its last checkpoint where there is one."""
    stall_seconds: float = 60.0
    """A worker that gives no sign of life for so long is lost. One that computes for hours gives them all the time."""
    checkpoint_seconds: float | None = 10.0
    """How long workers go on between two checkpoints; they take longer where checkpoints would cost more than a
    twelfth of the time. None: the clock does not matter."""
    checkpoint_rounds: int | None = None
    """A checkpoint is made after so many rounds, too."""
    location: str | None = None
    """A folder that driver and executors all see, as a path, or as an address that pyarrow.fs opens (`s3://`, `gs://`,
    `abfs://`, `hdfs://`): inputs, results and checkpoints of runs are kept there. None: on one machine among its
    temporary files, on a cluster in Spark's checkpoint directory if there is one that all see."""

    @property
    def asked_checkpoints(self) -> tuple[str, ...]:
        """Names the fields that ask for checkpoints as nobody would who leaves them to Emberlog."""
        names = ("checkpoint_seconds", "checkpoint_rounds")
        defaults = {one.name: one.default for one in fields(self)}
        return tuple(name for name in names if getattr(self, name) not in (None, defaults[name]))

    def __post_init__(self) -> None:
        diagnostics = Diagnostics()
        if self.retries < 0:
            diagnostics.error("DL508", f"the number of retries must be at least 0, not {self.retries:,}", None)
        for name in ("stall_seconds", "checkpoint_seconds", "checkpoint_rounds"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                diagnostics.error("DL508", f"{name} must be larger than 0, not {value:,}", None)
        diagnostics.raise_errors()


_OF_WORKERS = (
    "mode",
    "workers",
    "partitioning",
    "representation",
    "memory",
    "through_spark",
    "recovery",
)
"""The options that are for the workers of the cyclic executor."""

_CHOICES = (
    ("executor", EXECUTORS),
    ("mode", MODES),
    ("partitioning", PARTITIONINGS),
    ("representation", REPRESENTATIONS),
)


@with_told_options(lambda known: {one.name: f"say recovery=Recovery({one.name}=…)" for one in fields(Recovery)})
@dataclass(frozen=True, slots=True)
class Execution:
    """How recursive strata are run. Everything here is chosen well by itself; to choose is for experts and tests."""

    executor: str = "auto"
    """`cyclic`: the whole recursion as one Spark job; `dataframe`: a series of ordinary jobs; `driver`: everything in
    the driver's process, without jobs; `auto`: in the driver's process what is small, else cyclic where it can run the
    stratum."""
    mode: str = "auto"
    """Of the cyclic executor. `bsp`: in rounds, with an exchange after each; `decomposed`: without any exchange;
    `async`: each worker to its local fixpoint, and on as messages arrive; `auto`: decomposed where the rules allow it,
    else bsp."""
    workers: int | None = None
    """Of the cyclic executor; None: as many as Spark runs tasks at once, with dynamic allocation as many as it could
    (at most 32); in one process, one for each core, where that pays."""
    partitioning: str = "auto"
    """Of values among the workers of the cyclic executor. `hash`: evenly and at random; `range`: neighbours in their
    order together; `locality`: those that the recursion's arcs link together; `auto`: by locality in the mode async,
    where the rules walk arcs, else by hash, or dealt out in small groups if they are few."""
    representation: str = "auto"
    """Of facts in the cyclic executor. `hash`: rows in a hash table; `marks`: one source at a time, with an array of
    marks; `lanes`: many sources at a time, a bit each; `rows`: a matrix of bits; `auto`: by statistics of the data."""
    memory: int | None = None
    """Bytes that each worker of the cyclic executor may use; None: its share of what the machine has left. A recursion
    that needs more goes on with facts on disk where it can, else on the dataframe executor."""
    through_spark: bool = False
    """Facts go in and out of the workers as rows of Spark, never as files, also where they share a disk."""
    profile: bool = False
    """Whether it is counted what each rule does in each iteration, for `RulesProfiled`. DataFrames compute each rule by
    itself then, and at once."""
    recovery: Recovery = Recovery()
    """What the cyclic executor does about workers that die or stall."""
    provenance: bool = False
    """Whether the iteration that each fact came in is recorded, for `Result.why` and the like."""

    def __post_init__(self) -> None:
        diagnostics = Diagnostics()
        for name, known in _CHOICES:
            value = getattr(self, name)
            if value not in known:
                diagnostics.error("DL508", f"there is no {name} `{value}`", None, f"it is one of {', '.join(known)}")
        if self.workers is not None and self.workers < 1:
            diagnostics.error("DL508", f"the number of workers must be at least 1, not {self.workers:,}", None)
        if self.memory is not None and self.memory < 1:
            diagnostics.error("DL508", f"the memory of a worker must be larger than 0, not {self.memory:,}", None)
        if self.mode == "async" and self.representation not in ("auto", "hash"):
            hint = "leave the representation to Emberlog, or choose `hash`"
            diagnostics.error("DL508", f"the mode async keeps no facts as `{self.representation}`", None, hint)
        if self.provenance and self.representation == "lanes":
            hint = "provenance goes with auto, hash, marks and rows"
            what = "the representation `lanes` does not tell in which iteration a fact came"
            diagnostics.error("DL508", what, None, hint)
        if self.provenance and self.mode == "async":
            hint = "provenance goes with auto, bsp and decomposed"
            diagnostics.error("DL508", "the mode async has no iterations that could be recorded", None, hint)
        diagnostics.raise_errors()
        if self.executor == "driver":
            hint = "it is for workers in jobs of Spark: leave it out, or choose another executor"
            refuse_options("the executor driver", self.chosen, dict.fromkeys(("through_spark", "recovery"), hint))
        if self.executor == "dataframe":
            hint = "it is for the workers of the cyclic executor: leave it out, or choose another executor"
            refuse_options("the executor dataframe", self.chosen, dict.fromkeys(_OF_WORKERS, hint))

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names the fields that are not left to Emberlog."""
        return tuple(one.name for one in fields(self) if getattr(self, one.name) != one.default)

    @property
    def asks_for_workers(self) -> bool:
        """Tells whether a choice was made that only workers can honour. To be profiled is none: the run stays as it
        is."""
        return self.executor == "cyclic" or any(name in _OF_WORKERS for name in self.chosen)


DEFAULT_EXECUTION = Execution()


def options_of_a_run(known: Collection[str]) -> dict[str, str]:
    """Says of each option of a run where it goes: into a call that has these options, or else into `datalog`."""
    hints: dict[str, str] = {}
    for options in (Limits, Execution):
        into = options.__name__.lower()
        say = "say %s" if into in known else "say db.datalog(…, %s)"
        hints |= {one.name: say % f"{into}={options.__name__}({one.name}=…)" for one in fields(options)}
    return hints


OF_A_RUN = tells_wrong_arguments(
    options_of_a_run, 'a parameter of the program is given in params={{"{0}": …}}, and data as db["{0}"] = …'
)
"""For what runs a program."""


WHERE_DRIVER_IS = "in the driver's process"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Holds how far a stratum may go that is computed in the driver's process because it is small."""

    read: int
    """Bytes of all that it reads: a million arcs are 16 MB."""
    derived: int = 2_000_000
    """Facts that it gives."""
    written: int = 64 << 20
    """Bytes of these facts, eight for each cell. Indexes and what is derived twice take a few times as much."""
    seconds: float | None = None
    """For which workers compute it, the first time with the loading of their kernels; None if it does not matter."""

    def facts_of(self, columns: int) -> int:
        """Returns how many facts of so many columns a stratum may give."""
        return min(self.derived, self.written // (8 * max(columns, 1)))

    def __str__(self) -> str:
        within = "" if self.seconds is None else f" in {self.seconds:g} s"
        return f"reads up to {self.read >> 20} MiB and derives up to {self.derived:,} facts{within}"


ON_A_CLUSTER = Bounds(32 << 20, seconds=3.0)
"""The memory of a driver is much less than what all executors have together, and what takes seconds is worth workers
elsewhere."""
ON_ONE_MACHINE = Bounds(256 << 20, derived=4_000_000)
"""Where tasks are threads of the driver, their workers have the same cores and the same memory as its own, and take
longer to begin: only what is derived decides, because Spark reads much of it faster from files."""


OUTPUT_MODES = ("complete", "changes")
LATE_TUPLES = ("drop", "keep")
BAD_ROWS = ("keep", "fail")
EVALUATIONS = ("incremental", "simple", "live")
Evaluation = Literal["incremental", "simple", "live"]
FILE_FORMATS = ("parquet", "csv", "json", "orc")
"""The formats of files that hold each step of a stream query once."""


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """Holds how a program over streams is run, and where its answers go, from the command line to the worker. The names
    are those of PySpark where it has them."""

    checkpointLocation: str
    """A folder that is the query's own: a start with the same one goes on where the last run ended."""
    path: str | None = None
    format: str | None = None
    """`parquet`, `csv`, `json`, `orc`: files, each step once. `memory`, `console`, or any other that Spark writes."""
    outputMode: str = "complete"
    """`complete`: the whole answer at each slide; `changes`: the facts that each slide added and removed."""
    queryName: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    """Options of the format."""
    availableNow: bool = False
    """Evaluates the input that is there, and ends."""
    processingTime: str | None = None
    """The time between micro-batches, as in `10 seconds`; None: as fast as they come."""
    closes: bool = False
    """With `availableNow`: no more will come, so all slides that tuples wait for close in the end."""
    watermark: int | str = 0
    """How long tuples out of order are waited for: `10 minutes`, or a plain number where times are plain numbers."""
    slide: int | str | None = None
    """The time between two slides, for a query without a window."""
    timeToLive: int | str | None = None
    """How long a tuple stays, for a query without a window: `30 days`; None: for ever."""
    idle: str | None = None
    """After how long without a row nobody waits for a stream any more, as in `30 seconds`, by the clock on the wall. If
    all streams are that long without one, all slides that tuples wait for close."""
    renew: tuple[str, ...] = ()
    """The relations, none of them a stream, that are read anew where a checkpoint has them as they were."""
    newProgram: bool = False
    """Goes on with the window of a checkpoint that another program has made over the same streams."""
    early: bool = False
    """Tells the answer of the slide that closes next with every batch, too, as far as its tuples are there."""
    late: str = "drop"
    """`keep` sends late tuples to the sink too, under the name of their stream and `_late`. They are always counted."""
    bad: str = "keep"
    """What becomes of rows that cannot be used, because they have no value where one is needed or a rule has none for
    them: `keep` puts them aside with the reason, `fail` ends the query."""
    evaluation: Evaluation = "incremental"
    """`incremental`: from slide to slide, as far as the program allows it; `simple`: each slide from scratch; `live`:
    as a live view, tuple by tuple, with counts, sums and negation, and with rows that are deleted."""
    workers: int = 1
    """How many tasks share the facts of the window, run at the same time and exchange what belongs to others."""

    @property
    def tells_changes(self) -> bool:
        return self.outputMode == "changes"

    def __post_init__(self) -> None:
        diagnostics = Diagnostics()
        known = (("outputMode", OUTPUT_MODES), ("late", LATE_TUPLES), ("bad", BAD_ROWS), ("evaluation", EVALUATIONS))
        for name, values in known:
            value = getattr(self, name)
            if value not in values:
                diagnostics.error("DL508", f"there is no {name} `{value}`", None, f"it is one of {', '.join(values)}")
        if self.workers < 1:
            diagnostics.error("DL508", f"the number of workers must be at least 1, not {self.workers:,}", None)
        if (self.renew or self.newProgram) and self.tells_changes:
            what = "a new program" if self.newProgram else "a relation that is renewed"
            hint = 'take it with outputMode="complete", or begin with a new checkpoint'
            diagnostics.error("DL508", f"what {what} changes is not told as changes", None, hint)
        if self.availableNow and self.processingTime is not None:
            diagnostics.error("DL508", "availableNow and processingTime are different triggers: choose one", None)
        if self.closes and not self.availableNow:
            hint = "it says that no more will come, which is known with availableNow only"
            diagnostics.error("DL508", "closes needs availableNow", None, hint)
        diagnostics.raise_errors()
