"""Machines that do not have the package, or another version of it, and how it is shipped."""

from __future__ import annotations

import re
import shutil
import sys
import venv
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import emberlog
from emberlog.config import Execution
from tests.cluster.conftest import GetSession, Sessions
from tests.cluster.machines import Machine, base
from tests.cluster.standalone import MOST_WORKERS, Standalone
from tests.cluster.test_pages import tried
from tests.cluster.trials import Ledger, Trial, chain_closure

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("isolated")]

ROUNDS = 40
NEEDED = ("emberlog", "numpy", "pyarrow", "pandas", "numba", "llvmlite", "dateutil", "pytz", "tzdata", "six")
"""What workers import, directly or not."""


def hide_package(machine: Machine) -> None:
    for folder in sorted({Path(place).resolve() / "emberlog" for place in sys.path if place}):
        if (folder / "__init__.py").exists():
            machine.hide(folder)


def put_another_version(machine: Machine) -> None:
    source = Path(emberlog.__file__).parent
    other = base() / "other-version"
    if not other.exists():
        shutil.copytree(source, other, ignore=shutil.ignore_patterns("__pycache__"))
        text = (other / "__init__.py").read_text()
        (other / "__init__.py").write_text(re.sub(r'__version__ = "[^"]*"', '__version__ = "0.0.7"', text))
    machine.replace(source, other)


Prepare = Callable[[Machine], None]


@pytest.mark.parametrize(
    ("prepare", "told"),
    [(hide_package, "cannot import Emberlog"), (put_another_version, "has Emberlog 0.0.7, and the driver")],
    ids=["missing", "other version"],
)
def test_one_machine_is_not_like_the_others(
    prepare: Prepare, told: str, cluster: Standalone, session: GetSession, ledger: Ledger
) -> None:
    cluster.remove(cluster.nodes[-1])
    odd = cluster.add(prepare=prepare)
    try:
        cluster.wait_for(MOST_WORKERS)
        spark = session()
        trial = chain_closure(spark, ROUNDS, Execution())
        insisted = chain_closure(spark, ROUNDS, Execution(executor="cyclic"))
    finally:
        cluster.remove(odd)
    what = "package missing" if prepare is hide_package else "other version of the package"
    ledger.add(f"{what} on one machine", trial)
    ledger.add(f'{what} on one machine, Execution(executor="cyclic")', insisted)
    assert trial.right, trial.error
    assert trial.chosen[-1].executor == "dataframe"
    assert told in trial.chosen[-1].why and odd.address in trial.chosen[-1].why
    assert "DL333" in insisted.error and told in insisted.error


@pytest.fixture
def bare_cluster(whole_cluster: Standalone, sessions: Sessions) -> Iterator[Callable[[Prepare], Standalone]]:
    """The cluster with two machines that are all prepared in a way."""
    sessions.close()

    def with_machines(prepare: Prepare) -> Standalone:
        whole_cluster.mend(0)
        for _ in range(2):
            whole_cluster.add(prepare=prepare)
        whole_cluster.wait_for(2)
        return whole_cluster

    yield with_machines
    whole_cluster.mend(0)


def note(ledger: Ledger, what: str, output: str) -> None:
    """Adds a run of the command to the table, with the seconds that it tells itself."""
    seconds = re.search(r"done in ([0-9.]+) s", output)
    assert seconds is not None, output
    assert "tc(X, Y): 12 facts" in output, output
    ledger.add(what, Trial(float(seconds[1]), right=True))


def test_an_archive(bare_cluster: Callable[[Prepare], Standalone], tmp_path: Path, ledger: Ledger) -> None:
    """The environment is packed here as it is, with the packages that workers need; nothing is installed for it."""
    venv_pack = pytest.importorskip("venv_pack")
    job = tmp_path / "job"
    venv.create(job, symlinks=True)
    (installed,) = job.glob("lib/python*/site-packages")
    for name in NEEDED:
        found = find_spec(name)
        if found is None or found.origin is None:  # not every version of a package needs all of them
            continue
        source = Path(found.origin)
        if source.name == "__init__.py":
            shutil.copytree(source.parent, installed / name, ignore=shutil.ignore_patterns("__pycache__", "tests"))
            libraries = source.parent.with_name(f"{name}.libs")
            if libraries.exists():
                shutil.copytree(libraries, installed / libraries.name)
        else:
            shutil.copy(source, installed)
    venv_pack.pack(prefix=str(job), output=str(tmp_path / "job.tar.gz"), compress_level=1)
    output = tried("archive", bare_cluster(hide_package), tmp_path)
    note(ledger, "package missing everywhere, shipped as an archive of an environment", output)


def test_py_files(bare_cluster: Callable[[Prepare], Standalone], tmp_path: Path, ledger: Ledger) -> None:
    output = tried("py-files", bare_cluster(hide_package), tmp_path)
    note(ledger, "package missing everywhere, shipped by --py-files", output)
