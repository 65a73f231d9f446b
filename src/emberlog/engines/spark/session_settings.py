"""Reads the settings of a session, classic or Connect, that workers go by."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from emberlog.diagnostics import fail
from emberlog.workers.wire.listener import ANY_PORT, Ports

ENCRYPTION = (
    "spark.network.crypto.enabled",
    "spark.authenticate.enableSaslEncryption",
    "spark.ssl.enabled",
    "spark.ssl.rpc.enabled",
)
"""Settings by which people ask for encrypted connections."""

PORTS = "spark.emberlog.ports"
"""The setting that says on which ports workers, and the driver, listen for workers."""


_OWN = "spark.emberlog."
"""How settings begin that people may change while a session goes on. Those of Spark that are read here say how it was
started, and Spark lets nobody change them."""

_known: WeakKeyDictionary[SparkSession, dict[str, str | None]] = WeakKeyDictionary()
"""By session, what was asked already: each question is a word to the JVM, or to a server."""


def setting(spark: SparkSession, name: str) -> str | None:
    """Returns a setting as text; None if nobody has set it."""
    known = _known.setdefault(spark, {})
    if name not in known or name.startswith(_OWN):
        try:
            known[name] = spark.conf.get(name, None)
        except PySparkException:
            return None
    return known[name]


def number_in(spark: SparkSession, name: str) -> int | None:
    """Returns a setting as a number; None if it is none."""
    value = setting(spark, name)
    return int(value) if value is not None and value.isdigit() else None


def ports_for(spark: SparkSession) -> Ports:
    """Returns the ports that workers and driver may listen on, for each other."""
    text = setting(spark, PORTS)
    if text is None:
        return ANY_PORT
    try:
        return Ports.of(text)
    except ValueError:
        hint = "it is one port or a range, as in 40000-40100"
        raise fail("DL508", f"{PORTS} is no range of ports: `{text}`", None, hint) from None


def encryption_of(spark: SparkSession) -> str | None:
    """Returns the setting by which connections are asked to be encrypted, if there is one."""
    return next((name for name in ENCRYPTION if setting(spark, name) == "true"), None)
