"""Asks every executor of a cluster, before any worker starts there, what it has: a small job of Spark's own.

What runs there is sent by value, so it also answers where Emberlog is missing. A `local` master is not asked: its
executor is this machine with this Python.
"""

from __future__ import annotations

import contextlib
import json
import platform
import re
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from emberlog import __version__
from emberlog.engines.spark.failures import NotHere
from emberlog.engines.spark.frames.faults import is_cancelled
from emberlog.engines.spark.frames.resources import is_connect
from emberlog.engines.spark.session_settings import ports_for, setting
from emberlog.workers.kernels.tuning import BACKLOG
from emberlog.workers.store.folders import folder_at, said_why
from emberlog.workers.wire.handshake import DRIVER, Unreachable
from emberlog.workers.wire.listener import ANY_PORT, Ports

HOLD_SECONDS = 0.1
"""For which a task keeps its slot, so that the others go to other slots."""
MOST_ROUNDS = 4
"""Jobs until the executors that nobody has heard of are left alone: others may have their slots."""
FIRST_TASKS = 8
"""Tasks of the first job where nobody knows how many executors there are."""
CONNECT_SECONDS = 5.0
"""Seconds for an executor to reach the driver."""
FIRST_EXECUTOR_SECONDS = 30.0
"""For which a young session is given time to get one."""
CONNECTED_FOR = 60.0
"""Seconds for which an answer is good that came over Spark Connect, which does not tell when executors change."""

_LOCAL = re.compile(r"local(\[([0-9]+|\*)(,\s*([0-9]+|\*))?\])?")
_VERSIONS = re.compile(r"PYTHON_VERSION_MISMATCH.*?version:? ?\(?'?([0-9.]+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Executor:
    """Holds what one executor said of itself."""

    name: str
    """Spark's number of it, or its process where that cannot be found out."""
    host: str
    python: str
    emberlog: str
    """The version of the package; empty where it cannot be imported."""
    missing: str
    """Why it cannot be imported."""
    cores: int | None
    beyond_reach: str
    """Why it cannot connect to the driver; empty if it can, or if nobody asked."""
    unseen_store: str
    """Why it cannot use the store; empty if it can, or if nobody asked."""

    @property
    def problem(self) -> str | None:
        """Returns why no worker can run there."""
        if not self.emberlog:
            return f"executor {self.name} on {self.host} cannot import Emberlog: {self.missing}"
        if self.emberlog != __version__:
            return f"executor {self.name} on {self.host} has Emberlog {self.emberlog}, and the driver {__version__}"
        return None


@dataclass(frozen=True, slots=True)
class Findings:
    """Holds what all executors said that were asked."""

    executors: tuple[Executor, ...]

    def check(self) -> None:
        """Raises NotHere if workers cannot run on all of them."""
        problems = [problem for one in self.executors if (problem := one.problem) is not None]
        if problems:
            more = f" (and so on {len(problems) - 1:,} more)" if len(problems) > 1 else ""
            raise NotHere(
                f"{problems[0]}{more}; install it there in the same place, or ship it as docs/cluster.md tells"
            )

    @property
    def beyond_reach(self) -> str | None:
        """Returns why the driver cannot be reached from everywhere; None if it can."""
        return next((f"from {one.host}: {one.beyond_reach}" for one in self.executors if one.beyond_reach), None)

    @property
    def unseen_store(self) -> str | None:
        """Returns why not all of them can use the store; None if they can."""
        return next((f"on {one.host}: {one.unseen_store}" for one in self.executors if one.unseen_store), None)

    def slots(self, cpus: int) -> int | None:
        """Returns how many tasks with so many cores each run at once; None if an executor did not tell."""
        if not self.executors or any(one.cores is None for one in self.executors):
            return None
        return sum((one.cores or 0) // cpus for one in self.executors)


_known: dict[tuple[str, str], tuple[frozenset[str], float, Findings]] = {}
"""By session and store: who was there, when, and what they said."""


def is_local(master: str) -> bool:
    """Tells whether tasks run in the process of the session, on this machine."""
    return _LOCAL.fullmatch(master) is not None


def probe(spark: SparkSession, tasks: int | None, store: str = "") -> Findings:
    """Returns what the executors say, which is remembered as long as they stay the same. `tasks` of them run at once;
    None where nobody knows. `store` is a folder, as a path or a URI, that they should read and write; raises Unopened
    if the driver cannot."""
    session = name_of(spark)
    present = executor_ids(spark)
    before = _known.get((session, store))
    if before is not None and before[0] == present and (present or time.monotonic() - before[1] < CONNECTED_FOR):
        return before[2]
    with contextlib.ExitStack() as stack:
        driver = (
            None if is_connect(spark) else stack.enter_context(_listening(*driver_addresses(spark), ports_for(spark)))
        )
        probed = stack.enter_context(_probe_file_in(store)) if store else None
        findings = Findings(tuple(_ask(spark, tasks, driver, probed)))
    _known[session, store] = (executor_ids(spark), time.monotonic(), findings)
    return findings


def why_no_python(spark: SparkSession) -> str | None:
    """Returns why executors cannot run the Python that the session names; None if they can."""
    until = time.monotonic() + FIRST_EXECUTOR_SECONDS
    is_dynamic = setting(spark, "spark.dynamicAllocation.enabled") == "true"
    while not is_dynamic and not executor_ids(spark):  # with dynamic allocation a job is what brings them
        if time.monotonic() > until:
            return f"no executor has come in {FIRST_EXECUTOR_SECONDS:.0f} seconds"
        time.sleep(0.1)
    try:
        _answers(spark, spark.sparkContext.defaultParallelism, None, None)
    except NotHere as problem:
        return str(problem)
    return None


def forget(spark: SparkSession) -> None:
    """Forgets what was said over Spark Connect: an executor may be lost, and nobody would tell."""
    if is_connect(spark):
        for key in [key for key in _known if key[0] == name_of(spark)]:
            del _known[key]


def name_of(spark: Any) -> str:
    """Names a session, so that what is known of it is known of no other."""
    return str(spark.session_id if is_connect(spark) else spark.sparkContext.applicationId)


def executor_ids(spark: SparkSession) -> frozenset[str]:
    """Returns Spark's names of the executors that there are now; none where Spark does not tell."""
    if is_connect(spark) or is_local(str(spark.sparkContext.master)):
        return frozenset()
    names: str = spark.sparkContext._jsc.sc().getExecutorIds().mkString(" ")
    return frozenset(names.split())


def driver_addresses(spark: SparkSession) -> tuple[str, str]:
    """Returns where the driver listens, and where it is dialed."""
    conf = spark.sparkContext.getConf()
    host = conf.get("spark.driver.host") or "127.0.0.1"
    return conf.get("spark.driver.bindAddress") or host, host


# --- the job ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Endpoint:
    host: str
    port: int
    word: str
    """What whoever reaches it is told."""


@dataclass(frozen=True, slots=True)
class _ProbeFile:
    folder: str
    name: str
    text: str


def _ask(
    spark: SparkSession, tasks: int | None, endpoint: _Endpoint | None, file: _ProbeFile | None
) -> Sequence[Executor]:
    seen: dict[str, Executor] = {}
    count = tasks or FIRST_TASKS
    for _ in range(MOST_ROUNDS):
        known = len(seen)
        for text in _answers(spark, count, endpoint, file):
            told = json.loads(text)
            written = told.pop("written")
            one = Executor(**told)
            if file is not None and not one.unseen_store and not folder_at(file.folder).exists(written):
                unseen = f"what it writes to {file.folder} does not come here"
                one = Executor(**{**told, "unseen_store": unseen})
            seen[one.name] = one
        if tasks is not None and executor_ids(spark) <= seen.keys():
            break
        if tasks is None and (len(seen) == known or len(seen) < count // 2):
            break
        count *= 2 if tasks is None else 1
    return sorted(seen.values(), key=lambda one: (len(one.name), one.name))


def _answers(spark: SparkSession, tasks: int, endpoint: _Endpoint | None, file: _ProbeFile | None) -> list[str]:
    question = F.udf(_question(endpoint, file), "string", useArrow=False).asNondeterministic()
    try:
        return [row[0] for row in spark.range(0, tasks, 1, tasks).select(question("id")).collect()]
    except PySparkException as error:
        if is_cancelled(error):
            raise
        found = _VERSIONS.search(str(error))
        what = f"a Python of another version than the driver's {platform.python_version()}" if found else "no Python"
        raise NotHere(f"executors have {what} that a worker could run in: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Mismatch)\b", line)]
    return (said or lines or [type(error).__name__])[-1 if said else 0][:300]


def _question(endpoint: _Endpoint | None, file: _ProbeFile | None) -> Callable[[int], str]:
    """Returns what an executor runs. It has no globals, and being defined here, not at the top of a module, it is sent
    by value."""
    where = None if endpoint is None else (endpoint.host, endpoint.port, endpoint.word)
    probed = None if file is None else (file.folder, file.name, file.text)
    hold, patience = HOLD_SECONDS, CONNECT_SECONDS

    def answer(number: int) -> str:
        import json
        import os
        import platform
        import socket
        import time
        from itertools import pairwise

        def backend() -> dict[str, str]:
            """The options of the process that runs the executor, from the command line of the one above this one."""
            process = os.getpid()
            for _ in range(4):
                try:
                    with open(f"/proc/{process}/cmdline", "rb") as file:
                        words = file.read().decode(errors="replace").split("\0")
                    if "--executor-id" in words:
                        return dict(pairwise(words))
                    with open(f"/proc/{process}/stat") as file:
                        process = int(file.read().rpartition(")")[2].split()[1])
                except (OSError, ValueError, IndexError):
                    break
            return {}

        def reach() -> str:
            if where is None:
                return ""
            try:
                with socket.create_connection(where[:2], timeout=patience) as connection:
                    heard = connection.recv(64).decode(errors="replace")
            except OSError as error:
                return f"{where[0]}:{where[1]}: {error}"
            return "" if heard == where[2] else f"{where[0]}:{where[1]}: somebody else answers there"

        def look(mine: str) -> str:
            if probed is None:
                return ""
            folder, name, text = probed
            try:
                from pyarrow import fs

                if "://" in folder:
                    files, path = fs.FileSystem.from_uri(folder)
                else:
                    files, path = fs.LocalFileSystem(), folder
                with files.open_input_stream(f"{path}/{name}") as stream:
                    if stream.read().decode() != text:
                        return f"{folder} is another folder there"
                with files.open_output_stream(f"{path}/{mine}") as out:
                    out.write(text.encode())
            except Exception as error:
                return f"{folder}: {type(error).__name__}: {error}"
            return ""

        version, missing = "", ""
        try:
            import emberlog.engines.spark.task  # noqa: F401  (all that a worker needs)
            from emberlog import __version__

            version = __version__
        except Exception as error:
            missing = f"{type(error).__name__}: {error}"
        options = backend()
        host = options.get("--hostname") or socket.gethostname()
        cores = options.get("--cores", "")
        mine = f"{probed[1]}-{number}" if probed else ""
        told = {
            "name": options.get("--executor-id") or f"{host}/{os.getppid()}",
            "host": host,
            "python": platform.python_version(),
            "emberlog": version,
            "missing": missing,
            "cores": int(cores) if cores.isdigit() else None,
            "beyond_reach": reach(),
            "unseen_store": look(mine),
            "written": mine,
        }
        time.sleep(hold)
        return json.dumps(told)

    return answer


# --- in the driver ----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _listening(bind: str, host: str, ports: Ports = ANY_PORT) -> Iterator[_Endpoint]:
    """Listens like the tracker of a run, and tells whoever comes a word that only this driver knows."""
    word = secrets.token_hex(16)
    try:
        opened = ports.listen(bind, DRIVER, BACKLOG)
    except Unreachable as problem:
        raise NotHere(str(problem)) from None
    with opened as listener:
        endpoint = _Endpoint(host, listener.getsockname()[1], word)

        def serve() -> None:
            with contextlib.suppress(OSError):  # it is closed
                while True:
                    connection, _ = listener.accept()
                    with connection, contextlib.suppress(OSError):  # whoever came may be gone again
                        connection.sendall(word.encode())

        thread = threading.Thread(target=serve, daemon=True, name="emberlog probe")
        thread.start()
        try:
            yield endpoint
        finally:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
            thread.join(timeout=CONNECT_SECONDS)


@contextlib.contextmanager
def _probe_file_in(folder: str) -> Iterator[_ProbeFile]:
    """Leaves a file in the store that the executors should find, and takes it away with theirs. Raises Unopened."""
    file = _ProbeFile(folder.rstrip("/"), f"probe-{secrets.token_hex(8)}", secrets.token_hex(16))
    store = folder_at(file.folder)
    with said_why(folder):
        store.make("")
        store.write(file.name, file.text.encode())
    try:
        yield file
    finally:
        with contextlib.suppress(OSError, pa.ArrowException):  # the store may be gone meanwhile
            left = [name.lstrip("/") for name in store.sizes("")]
            store.delete_files([name for name in left if name.startswith(file.name)])
