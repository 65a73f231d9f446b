"""Machines made of namespaces: an address, a disk and processes of their own, on this one.

Everything lives in namespaces that the kernel removes with the last process in them, so nothing can be left behind,
whatever ends the run: no interface, no mount, no process. Nothing outside can be reached from inside or the other
way round. Where namespaces are not allowed, machines are other addresses of the loopback interface.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
INSIDE = "EMBERLOG_CLUSTER"
"""Set in the environment of what runs inside: `namespaces` or `loopback`."""

NAMESPACES = ("--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc")

_DISK = "disk"
_SHARED = "shared"

_INIT = "while :; do sleep 5; done"
"""The first process of a machine: it waits for whatever is left without a parent."""


def commands_to_enter() -> list[list[str]]:
    """Returns the ways to get namespaces, the best first."""
    return [["unshare", *NAMESPACES], ["unshare", "--user", "--map-root-user", *NAMESPACES]]


def way_in() -> list[str] | None:
    """Returns the command that runs another one in new namespaces, or None where that is not allowed."""
    trial = "ip link add trial type bridge && ip link add one type veth peer name two && mount -t tmpfs none /tmp"
    for command in commands_to_enter() if shutil.which("unshare") and shutil.which("ip") else []:
        if subprocess.call([*command, "sh", "-c", trial], stderr=subprocess.DEVNULL) == 0:
            return command
    return None


def is_isolated() -> bool:
    """Tells whether machines are namespaces, so that they have networks and disks of their own."""
    return os.environ.get(INSIDE) == "namespaces"


def base() -> Path:
    """Returns the folder that everything of the cluster lies in: gone with the namespaces."""
    return Path(os.environ["EMBERLOG_CLUSTER_FOLDER"])


class Network:
    """Connects the machines: the driver's has the number 1."""

    def __init__(self) -> None:
        self.machines: list[Machine] = []
        self._numbers = 1
        if is_isolated():
            _run("ip", "link", "set", "lo", "up")
            _run("ip", "link", "add", "switch", "type", "bridge")
            _run("ip", "address", "add", f"{self.address(1)}/24", "dev", "switch")
            _run("ip", "link", "set", "switch", "up")
        (base() / _DISK).mkdir(parents=True, exist_ok=True)
        self.shared.mkdir(parents=True, exist_ok=True)

    def address(self, number: int) -> str:
        return f"10.91.0.{number}" if is_isolated() else f"127.0.0.{number}"

    @property
    def driver(self) -> str:
        """Returns the address of the machine that the tests run on."""
        return self.address(1)

    @property
    def shared(self) -> Path:
        """Returns the folder that all machines see, unless they were made without it."""
        return base() / _SHARED

    def add(self, *, shares: bool = True) -> Machine:
        self._numbers += 1
        machine = Machine(self, self._numbers, shares=shares)
        self.machines.append(machine)
        return machine

    def close(self) -> None:
        for machine in list(self.machines):
            machine.end()
        if is_isolated():
            _run("ip", "link", "delete", "switch")


class Machine:
    """One machine: processes started on it see its address and its disk, and no other's."""

    def __init__(self, network: Network, number: int, *, shares: bool) -> None:
        self.network = network
        self.name = f"node{number}"
        self.address = network.address(number)
        self._link = f"port{number}"
        self._processes: list[subprocess.Popen[bytes]] = []
        self.logs = base() / "logs"
        self.logs.mkdir(exist_ok=True)
        self._enter: list[str] = []
        if is_isolated():
            self._start(shares)
        self.disk = base() / _DISK if is_isolated() else base() / self.name
        self.disk.mkdir(exist_ok=True)

    def _start(self, shares: bool) -> None:
        self._holder = subprocess.Popen(["unshare", *NAMESPACES, "sh", "-c", _INIT])
        self.init = _only_child_of(self._holder.pid)
        self._enter = ["nsenter", "--target", str(self.init), "--net", "--mount", "--uts", "--ipc", "--pid"]
        _run("ip", "link", "add", self._link, "type", "veth", "peer", "name", "eth0", "netns", str(self.init))
        _run("ip", "link", "set", self._link, "master", "switch", "up")
        own = [
            f"hostname {self.name}",
            "ip link set lo up",
            f"ip address add {self.address}/24 dev eth0",
            "ip link set eth0 up",
            f"mount -t tmpfs {self.name} {base() / _DISK}",
        ]
        if not shares:
            own.append(f"mount -t tmpfs {self.name} {self.network.shared}")
        self.run("sh", "-c", " && ".join(own))

    def run(self, *command: str) -> str:
        """Runs a command to its end and returns what it printed."""
        done = subprocess.run([*self._enter, *command], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{self.name}: {' '.join(command)}: {done.stderr or done.stdout}")
        return done.stdout

    def start(self, title: str, command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Starts a process that stays; what it prints goes to a log."""
        with (self.logs / f"{self.name}-{title}.log").open("ab") as log:
            process = subprocess.Popen(
                [*self._enter, *command],
                env={**environment, "TMPDIR": str(self.disk)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=not is_isolated(),
            )
        self._processes.append(process)
        return process

    def processes(self, *words: str) -> list[int]:
        """Returns the processes of this machine whose command has all these words, the oldest first."""
        return sorted(pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if self._is_own(pid, words))

    def _is_own(self, pid: int, words: Sequence[str]) -> bool:
        try:
            command = Path(f"/proc/{pid}/cmdline").read_text()
            if not all(word in command for word in words):
                return False
            if is_isolated():
                return os.readlink(f"/proc/{pid}/ns/net") == os.readlink(f"/proc/{self.init}/ns/net")
            return self.address in command or str(self.disk) in Path(f"/proc/{pid}/environ").read_text()
        except OSError:  # it has ended
            return False

    def hide(self, folder: Path) -> None:
        """Puts an empty folder in the place of another, on this machine alone."""
        self.run("mount", "-t", "tmpfs", self.name, str(folder))

    def replace(self, folder: Path, other: Path) -> None:
        """Puts one folder in the place of another, on this machine alone."""
        self.run("mount", "--bind", str(other), str(folder))

    def firewall(self, *rules: str) -> None:
        """Has the machine follow these rules of iptables, and no others."""
        self.run("sh", "-c", " && ".join(("iptables -F INPUT", *(f"iptables -A INPUT {rule}" for rule in rules))))

    def end(self) -> None:
        """Ends everything on this machine at once."""
        self.network.machines.remove(self)
        if is_isolated():
            os.kill(self.init, signal.SIGKILL)
            self._holder.wait()
        for process in self._processes:
            if not is_isolated() and process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if is_isolated():
            subprocess.call(["ip", "link", "delete", self._link], stderr=subprocess.DEVNULL)


def _only_child_of(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    until = time.monotonic() + 60
    while time.monotonic() < until:
        found = children.read_text().split()
        # Its name is that of the shell only when it is in all of its namespaces.
        if found and Path(f"/proc/{found[0]}/comm").read_text().strip() == "sh":
            return int(found[0])
        time.sleep(0.01)
    raise RuntimeError("no namespaces came")


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


def empty_folder() -> Path:
    """Returns a folder of the system in which nothing is missed while something else is mounted there."""
    used = {*ROOT.parents, *Path(sys.executable).parents, *Path(sys.prefix).parents}
    for folder in map(Path, ("/mnt", "/media", "/srv", "/opt")):
        if folder.is_dir() and folder not in used and not any(folder.iterdir()):
            return folder
    raise RuntimeError("none of /mnt, /media, /srv and /opt is an empty folder")
