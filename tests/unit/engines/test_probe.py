"""What an executor is asked: sent by value, and answered also where nothing is right."""

from __future__ import annotations

import errno
import json
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle

from emberlog import __version__
from emberlog.engines.spark import probe
from emberlog.engines.spark.failures import NotHere
from emberlog.engines.spark.probe import Executor, Findings, is_local
from emberlog.workers.store.folders import LocalFolder, Unopened, folder_at

HERE = Executor("1", "node-1", "3.11.7", __version__, "", 4, "", "")
BARE = Executor("2", "node-2", "3.11.7", "", "ModuleNotFoundError: No module named 'emberlog'", 2, "", "")
OLD = Executor("3", "node-3", "3.11.7", "0.1.0", "", 2, "node-0:99: timed out", "on a disk of its own")


def told(endpoint: Any = None, file: Any = None) -> dict[str, Any]:
    question: Any = probe._question(endpoint, file)
    answer: dict[str, Any] = json.loads(question(3))
    return answer


def test_it_answers_where_the_package_is_missing() -> None:
    pickled: bytes = cloudpickle.dumps(probe._question(None, None))  # type: ignore[no-untyped-call]
    script = (
        "import sys; sys.modules['emberlog'] = None\n"
        "from pyspark import cloudpickle\n"
        f"print(cloudpickle.loads({pickled!r})(0))"
    )
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    answer = json.loads(finished.stdout)
    assert answer["emberlog"] == ""
    assert answer["missing"].startswith("ModuleNotFoundError: ")


def test_it_tells_the_version() -> None:
    assert (told()["emberlog"], told()["missing"]) == (__version__, "")


def test_it_reaches_the_driver() -> None:
    with probe._listening("127.0.0.1", "127.0.0.1") as endpoint:
        assert told(endpoint)["beyond_reach"] == ""
        assert told(probe._Endpoint(endpoint.host, endpoint.port, "another"))["beyond_reach"].endswith(
            "somebody else answers there"
        )


def test_who_hangs_up_keeps_nobody_from_the_driver() -> None:
    with probe._listening("127.0.0.1", "127.0.0.1") as endpoint:
        for _ in range(50):
            with socket.create_connection((endpoint.host, endpoint.port)) as stranger:
                stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert told(endpoint)["beyond_reach"] == ""


def test_it_tells_why_it_does_not_reach_the_driver() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert told(probe._Endpoint("127.0.0.1", port, "x"))["beyond_reach"].startswith(f"127.0.0.1:{port}: ")


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_it_sees_a_store(tmp_path: Path, scheme: str) -> None:
    with probe._probe_file_in(f"{scheme}{tmp_path}/new/store/") as file:
        answer = told(file=file)
        assert answer["unseen_store"] == ""
        assert folder_at(file.folder).exists(answer["written"])
        assert told(file=probe._ProbeFile(file.folder, file.name, "other"))["unseen_store"].endswith(
            "another folder there"
        )
        assert "FileNotFoundError" in told(file=probe._ProbeFile(f"{tmp_path}/no", file.name, ""))["unseen_store"]
    assert not list((tmp_path / "new/store").iterdir())


def test_a_store_that_the_driver_cannot_write_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(LocalFolder, "write", refuse)
    with pytest.raises(Unopened, match="Permission denied"), probe._probe_file_in(str(tmp_path)):
        pytest.fail("there is no file")


def test_what_is_wrong_is_named() -> None:
    Findings((HERE,)).check()
    with pytest.raises(NotHere, match=r"executor 2 on node-2 cannot import Emberlog: ModuleNotFoundError: No module"):
        Findings((HERE, BARE)).check()
    with pytest.raises(NotHere, match=rf"executor 3 on node-3 has Emberlog 0.1.0, and the driver {__version__}"):
        Findings((HERE, OLD)).check()
    with pytest.raises(NotHere, match=r"node-2.*and so on 1 more"):
        Findings((HERE, BARE, OLD)).check()


def test_executors_of_different_sizes_are_added_up() -> None:
    findings = Findings((HERE, BARE, OLD))
    assert (findings.slots(1), findings.slots(2), findings.slots(4)) == (8, 4, 1)
    assert findings.beyond_reach == "from node-3: node-0:99: timed out"
    assert findings.unseen_store == "on node-3: on a disk of its own"
    assert Findings(()).slots(1) is None
    assert Findings((HERE,)).beyond_reach is None


def test_local_masters() -> None:
    assert all(is_local(master) for master in ("local", "local[2]", "local[*]", "local[2,4]", "local[*, 3]"))
    assert not any(is_local(master) for master in ("local-cluster[2,1,1024]", "spark://a:7077", "yarn", "k8s://x"))
