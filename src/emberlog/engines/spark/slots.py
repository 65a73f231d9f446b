"""What a session offers to a barrier stage: how many tasks run at once, and whether it can run one at all."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from emberlog.diagnostics import fail
from emberlog.engines.spark.frames.resources import is_connect
from emberlog.workers.wire.listener import ANY_PORT, Ports

WAIT_SECONDS = 30.0
"""For the first executor."""

ENCRYPTION = (
    "spark.network.crypto.enabled",
    "spark.authenticate.enableSaslEncryption",
    "spark.ssl.enabled",
    "spark.ssl.rpc.enabled",
)
"""Settings by which people ask for encrypted connections."""

PORTS = "spark.emberlog.ports"
"""The setting that says on which ports workers, and the driver, listen for workers."""

MEMORY_SETTINGS = (
    "spark.master",
    "spark.task.cpus",
    "spark.executor.cores",
    "spark.executor.memory",
    "spark.executor.memoryOverhead",
    "spark.executor.memoryOverheadFactor",
    "spark.executor.minMemoryOverhead",
    "spark.executor.pyspark.memory",
)

_LOCAL = re.compile(r"local(\[([0-9]+|\*)(,[0-9]+)?\])?")


@dataclass(frozen=True, slots=True)
class Slots:
    count: int
    is_classic: bool
    is_one_machine: bool
    """Whether workers and driver share a disk for sure."""
    encrypts_files: bool
    """Whether what Spark writes to local disks is encrypted: facts are not written there as they are then."""
    obstacle: str | None
    """Why no barrier stage can run."""
    settings: Mapping[str, str]
    """What the session says of the memory of executors."""

    @staticmethod
    def of(spark: SparkSession) -> Slots:
        if is_connect(spark):
            return _connected(spark)
        master = str(spark.sparkContext.master)
        return Slots(
            _tasks_at_once(spark.sparkContext._jsc.sc()),
            True,
            master.startswith("local"),
            _setting(spark, "spark.io.encryption.enabled") == "true",
            _obstacle(spark),
            _settings(spark),
        )


def ports_for(spark: SparkSession) -> Ports:
    """Returns the ports that workers and driver may listen on, for each other."""
    text = _setting(spark, PORTS)
    if text is None:
        return ANY_PORT
    try:
        return Ports.of(text)
    except ValueError:
        hint = "it is one port or a range, as in 40000-40100"
        raise fail("DL508", f"{PORTS} is no range of ports: `{text}`", None, hint) from None


def wait_for_slots(spark: SparkSession, wanted: int) -> bool:
    """Tells whether Spark can run so many tasks at once, perhaps after a while: executors that are gone are
    replaced."""
    return is_connect(spark) or _tasks_at_once(spark.sparkContext._jsc.sc(), wanted) >= wanted


def _tasks_at_once(context: Any, wanted: int = 1) -> int:
    """Returns how many tasks Spark runs at once. Executors of a cluster may still be on their way when a session is
    young."""
    profile = context.resourceProfileManager().defaultResourceProfile()
    until = time.monotonic() + WAIT_SECONDS
    while (count := int(context.maxNumConcurrentTasks(profile))) < wanted and time.monotonic() < until:
        time.sleep(0.1)
    return count


def _connected(spark: SparkSession) -> Slots:
    found = _LOCAL.fullmatch(_setting(spark, "spark.master") or "")
    cores = found[2] if found else None
    # A cluster behind a server does not tell its size: one worker always fits, and more can be asked for.
    count = int(cores) if cores and cores.isdigit() else 1
    return Slots(count, False, False, False, _obstacle(spark), _settings(spark))


def _obstacle(spark: SparkSession) -> str | None:
    if _setting(spark, "spark.dynamicAllocation.enabled") == "true":
        return (
            "Spark runs no barrier stages with spark.dynamicAllocation.enabled; "
            "a session with that set to false and a fixed number of executors has the cyclic executor"
        )
    return None


def encryption_of(spark: SparkSession) -> str | None:
    """Returns the setting by which connections are asked to be encrypted, if there is one."""
    return next((name for name in ENCRYPTION if _setting(spark, name) == "true"), None)


def _settings(spark: SparkSession) -> dict[str, str]:
    found = {name: _setting(spark, name) for name in MEMORY_SETTINGS}
    return {name: value for name, value in found.items() if value is not None}


def _setting(spark: SparkSession, name: str) -> str | None:
    try:
        return spark.conf.get(name, None)
    except PySparkException:
        return None
