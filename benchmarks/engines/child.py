"""The inside of an engine's process: reads one JSON request per line, answers each with one JSON line.

Answers go through a file descriptor of their own, because engines and their libraries like to print.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.engines.protocol import Engine, Settings, Unavailable
from benchmarks.workloads.catalogue import WORKLOADS
from benchmarks.workloads.workload import Workload


def serve(engine: Engine, requests: Any, answers: Any) -> None:
    """Until the other side closes the pipe."""
    for line in requests:
        request = json.loads(line)
        started = time.perf_counter()
        try:
            answer = handle(engine, request)
        except Unavailable as problem:
            answer = {"error": str(problem), "kind": "unavailable"}
        except MemoryError:
            answer = {"error": "out of memory", "kind": "failed"}
        except Exception as problem:
            traceback.print_exc()
            answer = {"error": f"{type(problem).__name__}: {problem}", "kind": "failed"}
        answer.setdefault("seconds", time.perf_counter() - started)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def handle(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    match request["do"]:
        case "describe":
            return {
                "version": engine.version(),
                "title": engine.title,
                "timing": engine.timing,
                "installed_by": engine.installed_by,
            }
        case "start":
            engine.start(Settings(**request["settings"]))
            return {}
        case "prepare":
            engine.prepare(_workload(request), {name: Path(path) for name, path in request["inputs"].items()})
            return {}
        case "reset":
            engine.reset()
            return {}
        case "run":
            started = time.perf_counter()
            outcome = engine.run()
            seconds = time.perf_counter() - started if outcome.seconds is None else outcome.seconds
            return {"rows": outcome.rows, "metrics": dict(outcome.metrics), "seconds": seconds}
        case "check":
            return {"answer": asdict(engine.check())}
        case "close":
            engine.close()
            return {}
        case other:
            raise ValueError(f"unknown request {other}")


def _workload(request: dict[str, Any]) -> Workload:
    return WORKLOADS[request["workload"]]


def main(arguments: list[str]) -> int:
    from benchmarks.engines.catalogue import Entry

    answers_fd, name, module, class_name = int(arguments[0]), *arguments[1:4]
    engine = Entry(name, module, class_name, is_peer=False).create()
    with os.fdopen(answers_fd, "w", encoding="utf-8") as answers:
        serve(engine, sys.stdin, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
