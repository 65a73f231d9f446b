"""The machines themselves: what they share, and what not."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.cluster.machines import Machine, Network
from tests.cluster.standalone import Standalone, wait_until

pytestmark = pytest.mark.usefixtures("isolated")

LISTEN = "import socket, sys; s = socket.create_server((sys.argv[1], 5000)); open(sys.argv[2], 'w'); s.accept()"


@pytest.fixture
def network(whole_cluster: Standalone) -> Network:
    return whole_cluster.network


@pytest.fixture
def machine(network: Network) -> Iterator[Machine]:
    machine = network.add()
    yield machine
    if machine in network.machines:
        machine.end()


def test_a_disk_of_its_own_and_a_shared_one(machine: Machine, network: Network) -> None:
    (network.shared / "from here").touch()
    machine.run("touch", str(machine.disk / "own"), str(network.shared / "from there"))
    assert not (machine.disk / "own").exists()
    assert (network.shared / "from there").exists()
    assert "from here" in machine.run("ls", str(network.shared))


def test_a_machine_without_the_shared_folder(network: Network) -> None:
    (network.shared / "from here").touch()
    alone = network.add(shares=False)
    assert alone.run("ls", str(network.shared)) == ""
    alone.end()


def test_an_address_of_its_own(machine: Machine, network: Network) -> None:
    ready = network.shared / "ready"
    ready.unlink(missing_ok=True)
    machine.start("listener", [sys.executable, "-c", LISTEN, machine.address, str(ready)], {})
    wait_until(ready.exists, "the listener")
    with socket.create_connection((machine.address, 5000), timeout=10) as connection:
        assert connection.getpeername()[0] == machine.address


@pytest.mark.skipif(shutil.which("iptables") is None, reason="there is no iptables")
def test_a_firewall(machine: Machine) -> None:
    machine.firewall("-p tcp --syn -j REJECT --reject-with tcp-reset")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((machine.address, 5000), timeout=10)


def test_nothing_of_it_is_left(machine: Machine) -> None:
    sleeper = machine.start("sleeper", ["sleep", "600"], {})
    assert "port" in subprocess.check_output(["ip", "link"], text=True)
    machine.end()
    assert sleeper.returncode != 0
    assert f"{machine.name.replace('node', 'port')}@" not in subprocess.check_output(["ip", "link"], text=True)
