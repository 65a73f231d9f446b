"""Fetches the peers that pip can give, into the cache, never into the project's own environment."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Iterable
from pathlib import Path

from benchmarks import locations

FLINK = "apache-flink-libraries==1.20.5"
"""Flink 2 has no DataSet API any more, and with it no delta iteration."""

PATHWAY = "pathway==0.33.0"

_FLINK_JARS = ("flink-dist-", "log4j-api-", "log4j-core-", "log4j-slf4j-impl-")
IN_PEERS_ENVIRONMENT = ("clingo", "duckdb", "igraph", "nemo", "networkit", "scipy")
INSTALLABLE = (*IN_PEERS_ENVIRONMENT, "flink", "pathway")


class InstallationFailed(Exception):
    """Says which step did not work; pip has said why."""


def install(engines: Iterable[str]) -> list[str]:
    """Installs what is missing; gives a line for each thing done."""
    wanted = set(engines)
    done = []
    if wanted & set(IN_PEERS_ENVIRONMENT):
        done.append(_install_packages())
    if "flink" in wanted:
        done.append(_install_flink())
    if "pathway" in wanted:
        done.append(_install_pathway())
    return done


def _install_packages() -> str:
    if not locations.peers_python().exists():
        venv.create(locations.peers_environment(), with_pip=True)
    _pip(locations.peers_python(), "install", "--requirement", str(locations.PACKAGE / "requirements.txt"))
    return f"DuckDB, Nemo, clingo, scipy, NetworKit and igraph are in {locations.peers_environment()}"


def _install_pathway() -> str:
    python = locations.pathway_python()
    if not python.exists():
        venv.create(python.parents[1], with_pip=True)
    _pip(python, "install", PATHWAY)
    return f"Pathway is in {python.parents[1]}"


def _install_flink() -> str:
    """The package is an archive of jars with a few lines of Python around them; only the jars are wanted."""
    folder = locations.flink_jars()
    if any(folder.glob("flink-dist-*.jar")):
        return f"the jars of Flink are already in {folder}"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        _pip(Path(sys.executable), "download", "--no-deps", "--dest", scratch, FLINK)
        (archive,) = Path(scratch).glob("*.tar.gz")
        unpack_jars(archive, folder)
    return f"the jars of Flink are in {folder}"


def unpack_jars(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as content:
        for member in content:
            name = Path(member.name).name
            if "/deps/lib/" in member.name and name.startswith(_FLINK_JARS):
                source = content.extractfile(member)
                assert source is not None, name
                (folder / name).write_bytes(source.read())


def _pip(python: Path, *arguments: str) -> None:
    command = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    if subprocess.call(command) != 0:
        raise InstallationFailed(f"pip could not do this: {' '.join(arguments)}")
