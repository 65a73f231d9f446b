"""A standalone cluster of Spark on those machines: a master, a Worker on each machine, and ways to break them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyspark

from emberlog.engines.spark.java import find_java, home_to_launch
from tests.cluster.machines import ROOT, Machine, Network, base

MASTER_PORT = 7077
WORKER_PORT = 7078
MOST_WORKERS = int(os.environ.get("EMBERLOG_CLUSTER_MACHINES", "4"))
_PATIENCE = 240.0

_SMALL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class Standalone:
    """Holds the master and its Workers. Each Worker offers one core and room for one executor."""

    def __init__(self, network: Network, settings: Mapping[str, str] | None = None, port: int = MASTER_PORT) -> None:
        """`settings` are those of its daemons."""
        self.network = network
        self.port = port
        self._options = " ".join((_SMALL, *(f"-D{name}={value}" for name, value in (settings or {}).items())))
        self.nodes: list[Machine] = []
        log = base() / "logs" / "master.log"
        log.parent.mkdir(exist_ok=True)
        options = {"SPARK_MASTER_OPTS": f"{self._options} -Dspark.worker.timeout=20"}
        master = (*_spark_class("master.Master"), "--host", network.driver, "--port", str(port))
        with log.open("wb") as output:
            self._master = subprocess.Popen(
                [*master, "--webui-port", str(self._page)],
                env={**environment_of(network.driver), **options},
                stdout=output,
                stderr=output,
            )

    @property
    def master(self) -> str:
        return f"spark://{self.network.driver}:{self.port}"

    @property
    def _page(self) -> int:
        return self.port + 1_003

    def add(
        self, *, shares: bool = True, cores: int = 1, prepare: Callable[[Machine], None] | None = None, **more: str
    ) -> Machine:
        """Adds a machine with a Worker; what else its processes find in their environment can be said."""
        machine = self.network.add(shares=shares)
        if prepare is not None:
            prepare(machine)
        self.nodes.append(machine)
        self.start_worker(machine, cores=cores, **more)
        return machine

    def start_worker(self, machine: Machine, *, cores: int = 1, **more: str) -> None:
        places = ("--host", machine.address, "--port", str(WORKER_PORT), "--webui-port", "0")
        size = ("--cores", str(cores), "--memory", f"{cores}g", "--work-dir", str(machine.disk / "work"))
        own = {"SPARK_LOCAL_DIRS": str(machine.disk), "SPARK_WORKER_OPTS": self._options, **more}
        command = (*_spark_class("worker.Worker"), *places, *size, self.master)
        machine.start("worker", command, {**environment_of(machine.address), **own})

    def wait_for(self, workers: int) -> None:
        """Waits until so many Workers are registered and alive."""
        wait_until(lambda: len(self.alive()) == workers, f"{workers} Workers", self.logs)

    def wait_until_idle(self) -> None:
        """Waits until no application holds a core any more."""
        wait_until(lambda: not any(one["coresused"] for one in self.alive()), "free cores", self.logs)

    def alive(self) -> list[Mapping[str, Any]]:
        try:
            page = f"http://{self.network.driver}:{self._page}/json/"
            with urllib.request.urlopen(page, timeout=10) as answer:
                workers = json.load(answer)["workers"]
        except (OSError, ValueError):  # it is not there yet, or only in part
            return []
        return [one for one in workers if one["state"] == "ALIVE"]

    def logs(self) -> str:
        """Returns the ends of all logs, for people who wonder why a test failed."""
        files = sorted((base() / "logs").glob("*.log"))
        ends = [f"--- {file.name}\n{file.read_text(errors='replace')[-3000:]}" for file in files]
        for node in self.nodes:
            last = f"tail -n 40 {node.disk}/work/*/*/stderr 2>&1; ps -o pid,etimes,args | grep '[p]yth' | cut -c1-150"
            with suppress(RuntimeError):  # the machine is gone
                ends.append(f"--- executors of {node.name}\n{node.run('sh', '-c', f'{last}; true')}")
        return "\n".join(ends)

    def mend(self, workers: int) -> None:
        """Brings the cluster to so many machines, in the place of those whose Worker has gone."""
        for machine in [one for one in self.nodes if not one.processes("deploy.worker.Worker")]:
            self.remove(machine)
        while len(self.nodes) > workers:
            self.remove(self.nodes[-1])
        while len(self.nodes) < workers:
            self.add()
        self.wait_for(workers)

    def remove(self, machine: Machine) -> None:
        """Takes a machine away, with all that runs on it."""
        machine.end()
        self.nodes.remove(machine)

    def marks(self) -> str:
        """Returns an empty folder that all machines see, for the marks of strikes."""
        folder = self.network.shared / "marks"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return str(folder)

    def close(self) -> None:
        for machine in list(self.nodes):
            self.remove(machine)
        self._master.kill()
        self._master.wait()


def wait_until(is_so: Callable[[], bool], what: str, explain: Callable[[], str] = str) -> None:
    until = time.monotonic() + _PATIENCE
    while not is_so():
        if time.monotonic() > until:
            raise TimeoutError(f"{what} did not come in {_PATIENCE:.0f} s\n{explain()}")
        time.sleep(0.2)


def spark_home() -> Path:
    return Path(pyspark.__file__).parent


def environment_of(address: str) -> dict[str, str]:
    """Returns what every process of Spark finds in its environment on the machine with this address."""
    plain = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    return {
        **plain,
        "JAVA_HOME": str(home_to_launch(find_java())),
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": address,
        "SPARK_PUBLIC_DNS": address,
        "SPARK_LOCAL_HOSTNAME": address,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_NO_DAEMONIZE": "1",
        "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))),
    }


def _spark_class(name: str) -> tuple[str, ...]:
    return (str(spark_home() / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}")
