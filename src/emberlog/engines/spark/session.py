"""Starts a Spark of our own, for people who do not bring a session: local, quiet, and closed to the network."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from threading import Thread
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from emberlog.diagnostics import EmberlogError, fail
from emberlog.engines.spark.java import find_java, home_to_launch
from emberlog.places import kept_folder
from emberlog.timing import Part, timed

_log = logging.getLogger("emberlog")

_PYTHON = "spark.pyspark.python"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_HERE = "local[*]"
_REMOTE = ("SPARK_REMOTE", "SPARK_API_MODE", "SPARK_CONNECT_MODE_ENABLED")
_REMOTE_SETTINGS = {"spark.remote", "spark.api.mode"}
"""Variables and settings by which a session may be one of Spark Connect, which has no Java of its own."""

_LOGGING = """\
status = ERROR
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n
# A fault in a rule comes back as an error with a code; Spark would print it twice more, with its stack.
logger.executor.name = org.apache.spark.executor.Executor
logger.executor.level = off
logger.tasks.name = org.apache.spark.scheduler.TaskSetManager
logger.tasks.level = off
logger.scheduler.name = org.apache.spark.scheduler.TaskSchedulerImpl
logger.scheduler.level = off
logger.python.name = org.apache.spark.api.python.PythonRunner
logger.python.level = off
# So does an error in a micro-batch, and the query tells it to whoever waits for it.
logger.streaming.name = org.apache.spark.sql.execution.streaming
logger.streaming.level = off
# Spark announces the level of the Python shell if it is not that of everything else.
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
logger.native.name = org.apache.hadoop.util.NativeCodeLoader
logger.native.level = off
"""


_LOCAL_SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "16",
    "spark.python.daemon.module": "emberlog.daemon",
    _PYTHON: sys.executable,
    "spark.pyspark.driver.python": sys.executable,
}
"""On a cluster, other machines have to reach the driver, and have a Python of their own."""


def active_session() -> SparkSession | None:
    """Returns the session that this process works with already, if any."""
    active = SparkSession.getActiveSession()
    known = SparkSession._instantiatedSession
    if active is None and known is not None and known._sc._jsc is not None:
        # Java knows the active session of a thread. After an interrupt Python is served by another one.
        jvm: Any = known._jvm
        jvm.SparkSession.setActiveSession(known._jsparkSession)
        return known
    return active


_launch: Future[None] | None = None
"""What starts Java, from `launch_java` on until somebody wants the session."""


def launch_java(master: str | None = None, *, memory: str | None = None, conf: Mapping[str, str] | None = None) -> None:
    """Begins to start the Java process for the session that `start_session` will give with the same arguments. It takes
    seconds, in which Python can load what the session is for. Nothing happens where there is a session or a Java
    already. What goes wrong is told by `start_session`."""
    global _launch
    is_remote = any(name in os.environ for name in _REMOTE) or not _REMOTE_SETTINGS.isdisjoint(conf or ())
    if _launch is not None or is_remote or SparkContext._gateway is not None or active_session() is not None:
        return

    def launch(done: Future[None]) -> None:
        try:
            settings = _settings(master, memory, conf)
            with _environment(_is_local(master)):
                SparkContext._ensure_initialized(conf=SparkConf().setAll(list(settings.items())))
            done.set_result(None)
        except Exception as error:
            done.set_exception(error)

    _launch = Future()
    Thread(target=launch, args=(_launch,), name="emberlog-launch-java", daemon=True).start()


def _wait_for_java() -> None:
    """Waits for the Java process that `launch_java` has begun to start; raises what went wrong there."""
    global _launch
    launch, _launch = _launch, None
    if launch is not None:
        launch.result()


def start_session(
    master: str | None = None, *, memory: str | None = None, conf: Mapping[str, str] | None = None
) -> SparkSession:
    """Returns a session: on this machine and closed to the network, unless `master` names a cluster."""
    with timed(Part.SPARK):
        return _started(master or _HERE, memory, conf)


def _started(master: str, memory: str | None, conf: Mapping[str, str] | None) -> SparkSession:
    is_local = _is_local(master)
    try:
        _wait_for_java()
    except EmberlogError:
        raise
    except Exception as error:
        raise _did_not_start(error) from error
    settings = _settings(master, memory, conf)
    with _environment(is_local):
        builder = SparkSession.builder.master(master).appName("emberlog")
        for name, value in settings.items():
            builder = builder.config(name, value)
        try:
            if not _has_name():
                _log_in(settings)
            session = builder.getOrCreate()
        except Exception as error:
            raise _did_not_start(error) from error
    if not is_local:
        _choose_python(session, master, settings)
    return session


def _choose_python(session: SparkSession, master: str, settings: Mapping[str, str]) -> None:
    """Says which Python executors run: the one that is named, otherwise this one if they have it in the same place, as
    machines with the same environment do, otherwise whatever they call `python3`, as Spark would say."""
    from emberlog.engines.spark.probe import why_no_python  # which loads all that workers need

    context: Any = session.sparkContext
    named = settings.get(_PYTHON)
    if named is not None:
        context.pythonExec = named
    elif "PYSPARK_PYTHON" not in os.environ and master.startswith("spark://"):
        before, context.pythonExec = context.pythonExec, sys.executable
        if (reason := why_no_python(session)) is not None:
            context.pythonExec = before
            _log.warning(
                "executors run `%s`, because they cannot run `%s`: %s; PYSPARK_PYTHON names another Python",
                before,
                sys.executable,
                reason,
            )


def _is_local(master: str | None) -> bool:
    return (master or _HERE).startswith("local")


def _settings(master: str | None, memory: str | None, conf: Mapping[str, str] | None) -> dict[str, str]:
    settings = {**_defaults(memory), **(_LOCAL_SETTINGS if _is_local(master) else {}), **(conf or {})}
    settings[_JAVA_OPTIONS] = " ".join((*_java_options(), settings.get(_JAVA_OPTIONS, ""))).strip()
    return {"spark.master": master or _HERE, **settings}


def _defaults(memory: str | None) -> dict[str, str]:
    return {
        "spark.driver.memory": memory or _sensible_memory(),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        # Looking up the line of code behind every column takes longer than making the column.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
    }


def _sensible_memory() -> str:
    """Returns half of the machine's memory, but not less than Spark needs nor more than a heap is good for."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return "2g"
    return f"{max(1024, min(total // 2**20 // 2, 30 * 1024))}m"


def _java_options() -> Iterator[str]:
    yield _logging_option()
    if not _has_name():  # as in a container that gives its users numbers; Java calls the home of such a one `?`
        yield f"-Duser.home={kept_folder()}"
    if os.environ.get("TMPDIR"):  # which Java does not look at
        yield f"-Djava.io.tmpdir={tempfile.gettempdir()}"


def _has_name() -> bool:
    """Tells whether the system knows the user of this process."""
    try:
        import pwd

        pwd.getpwuid(os.getuid())
    except (ImportError, KeyError):
        return sys.platform == "win32"
    return True


def _log_in(settings: Mapping[str, str]) -> None:
    """Gives the user a name in Java, where Hadoop's file systems want one and the system has none."""
    SparkContext._ensure_initialized(conf=SparkConf().setAll(list(settings.items())))
    users = SparkContext._jvm.org.apache.hadoop.security.UserGroupInformation  # type: ignore[union-attr]
    users.setLoginUser(users.createRemoteUser(os.environ.get("SPARK_USER") or f"user-{os.getuid()}"))


def _logging_option() -> str:
    """Returns the option that silences Spark, which reads its logging from a file and wants it before anything else."""
    folder = kept_folder()
    file = folder / "log4j2.properties"
    if not file.exists() or file.read_text(encoding="utf-8") != _LOGGING:
        unfinished = folder / f"log4j2.{os.getpid()}.properties"
        unfinished.write_text(_LOGGING, encoding="utf-8")
        unfinished.replace(file)
    return f"-Dlog4j2.configurationFile={file.as_uri()}"


@contextlib.contextmanager
def _environment(is_local: bool) -> Iterator[None]:
    """Sets what Spark's launcher reads from the environment, and restores it when the session is there."""
    wanted = {"JAVA_HOME": str(home_to_launch(find_java()))}
    if is_local:
        wanted["SPARK_LOCAL_IP"] = "127.0.0.1"
        wanted["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON", sys.executable)
        wanted["PYSPARK_DRIVER_PYTHON"] = os.environ.get("PYSPARK_DRIVER_PYTHON", sys.executable)
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _did_not_start(error: Exception) -> EmberlogError:
    return fail("DL421", "Spark did not start", None, _reason(error), "`emberlog doctor` tells what is missing")


def _reason(error: Exception) -> str:
    """Returns the line that says the most: the last cause, or what came back from Java, or else the first one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    causes = [line for line in lines if line.startswith(("Caused by: ", ": "))]
    return causes[-1].removeprefix("Caused by: ").removeprefix(": ") if causes else lines[0]
