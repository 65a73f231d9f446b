#!/usr/bin/env python3
"""Every task of this project, for a machine that has nothing but Python.

`python3 dev.py` lists the tasks. Each one first makes `.venv` and installs what it needs, unless that is already done.
The file uses no syntax newer than Python 3.7 before the version check, so that an old Python gets a kind answer.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

OLDEST_PYTHON = (3, 11)
ROOT = Path(__file__).resolve().parent
VENV = ROOT / os.environ.get("EMBERLOG_VENV", ".venv")
STAMP = VENV / "installed"
VENV_PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
MAIN_JOB = "run"
EXAMPLE = "examples/fares.dl"

PATIENTLY = ("--timeout=3600", "-o", "faulthandler_timeout=0")
"""For tests that take many minutes: to dump the stack of a test under way can end the whole run."""

PROCESS_PER_CORE = ("-n", str(os.cpu_count() or 1), "--dist", "loadfile")
"""Tests of one file stay together: many of them share a Spark session or a compiled program."""


class Stop(Exception):
    """Ends the task with a message for the person, instead of a traceback."""


def run(arguments: list[str]) -> int:
    """the main job, on the first example or on any program: run PROGRAM.dl [options]"""
    return module("emberlog", MAIN_JOB, *(arguments or [EXAMPLE]))


def test(arguments: list[str]) -> int:
    """lint, types and the default tests; further arguments go to pytest"""
    started = time.monotonic()
    failed = [] if lint([]) == 0 else ["lint"]
    # Type checking waits for files often enough to fit in between the tests.
    checker = subprocess.Popen(command("mypy"), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        if module("pytest", *PROCESS_PER_CORE, *arguments) != 0:
            failed.append("tests")
        report = checker.communicate()[0]
    finally:
        checker.kill()
    print(f"mypy: {report.rstrip()}")
    if checker.returncode != 0:
        failed.append("types")
    verdict = f"failed: {', '.join(failed)}" if failed else "all well"
    print(f"{verdict} ({time.monotonic() - started:.1f} s)")
    return 1 if failed else 0


def lint(arguments: list[str]) -> int:
    """check the code with ruff, its layout included"""
    return module("ruff", "check", *arguments) or module("ruff", "format", "--check", *arguments)


def types(arguments: list[str]) -> int:
    """check the types with mypy"""
    return module("mypy", *arguments)


def format_code(arguments: list[str]) -> int:
    """lay out the code and mend what ruff can mend"""
    return module("ruff", "check", "--fix", *arguments) or module("ruff", "format", *arguments)


def golden_update(arguments: list[str]) -> int:
    """write the expected files of golden cases and passes anew; read the difference"""
    fixtures = ("pytest", "--quiet", "tests/unit/optimize/test_passes.py")
    return module("tests.golden.update", *arguments) or module(*fixtures, EMBERLOG_UPDATE="1")


def proofs_full(arguments: list[str]) -> int:
    """checks proofs of all facts: of the golden cases, of 500 random programs, and of 166 random streams"""
    tests = (
        "tests/golden/test_provenance.py",
        "tests/property/test_provenance.py",
        "tests/property/test_stream_proofs.py",
    )
    return module("pytest", *tests, *PATIENTLY, *arguments, EMBERLOG_PROOFS="all", EMBERLOG_EXAMPLES="500")


def property_full(arguments: list[str]) -> int:
    """the property tests with many more examples"""
    return module("pytest", "tests/property", *PATIENTLY, *arguments, EMBERLOG_EXAMPLES="2000")


def metamorphic(arguments: list[str]) -> int:
    """1,000 random programs for each way to write them differently, on every kind of plan: about ten minutes"""
    tests = ("tests/property/test_metamorphic.py", "tests/property/test_rewritten_programs.py")
    return module("pytest", *tests, *PATIENTLY, *arguments, EMBERLOG_EXAMPLES="1000")


def crosscheck_full(arguments: list[str]) -> int:
    """5,000 programs of the second generator in this process and 300 on Spark, against the second oracle"""
    sizes = {"EMBERLOG_CROSSCHECK": "5000", "EMBERLOG_SPARK_CROSSCHECK": "300"}
    return module("pytest", "tests/crosscheck", "tests/spark/test_crosscheck.py", *PATIENTLY, *arguments, **sizes)


def async_full(arguments: list[str]) -> int:
    """1,000 random recursions without rounds, with messages that arrive by chance"""
    name = "tests/property/test_async_programs.py"
    return module("pytest", name, *PATIENTLY, *arguments, EMBERLOG_EXAMPLES="1000")


def streams_full(arguments: list[str]) -> int:
    """2,000 random streams on each evaluator, slide by slide, 1,000 with deletions and 1,000 with several windows"""
    tests = [f"tests/property/test_{name}.py" for name in ("stream_programs", "stream_changes", "several_windows")]
    return module("pytest", *tests, *PATIENTLY, *arguments, EMBERLOG_EXAMPLES="3000")


def live_full(arguments: list[str]) -> int:
    """2,000 random programs of each generator as live views, 50 transactions each: about an hour"""
    sizes = {"EMBERLOG_LIVE": "2000", "EMBERLOG_LIVE_TRANSACTIONS": "50"}
    return module("pytest", "tests/live", *PATIENTLY, *arguments, **sizes)


def stream_kills(arguments: list[str]) -> int:
    """100 stream queries, killed at points around their commits and started again: about ten minutes"""
    own = ("tests/unit/streams/test_exactly_once.py", "tests/unit/streams/test_changes.py")
    tests = (*own, "tests/spark/test_stream_kills.py")
    return module("pytest", *tests, *PATIENTLY, *arguments, EMBERLOG_KILLS="100")


def door_full(arguments: list[str]) -> int:
    """500 random tables of all types through every source, on both engines, cell by cell: about half an hour"""
    tests = ("tests/unit/io/test_door.py", "tests/spark/test_door.py")
    return module("pytest", *tests, *PATIENTLY, *arguments, EMBERLOG_DOOR="500")


def spark_full(arguments: list[str]) -> int:
    """all tests on Spark, the slow ones too, with 300 random programs: about half an hour"""
    return module("pytest", "tests/spark", "-m", "spark", *arguments, EMBERLOG_SPARK_EXAMPLES="300")


def faults_full(arguments: list[str]) -> int:
    """workers broken in every phase and mode with 50 seeds each: about half an hour"""
    return module("pytest", "tests/spark/test_fault_suite.py", *arguments, EMBERLOG_FAULT_SEEDS="50")


def cluster(arguments: list[str]) -> int:
    """a standalone cluster in namespaces of its own, with everything on it broken in turn: about half an hour"""
    everything = ("tests/cluster", "-m", "spark", *PATIENTLY)
    table = str(ROOT / "docs/benchmarks/cluster.md")
    return module("tests.cluster", *everything, *arguments, EMBERLOG_CLUSTER_TABLE=table)


def browser(arguments: list[str]) -> int:
    """pages, notebooks and the studio in a real browser: chromium, or the one that EMBERLOG_BROWSER names"""
    named = os.environ.get("EMBERLOG_BROWSER")
    if not any(map(shutil.which, [named] if named else ["chromium", "chromium-browser", "google-chrome"])):
        raise Stop(
            f"there is no {named or 'chromium'} on this machine, which the tests look through.\n"
            "On Debian or Ubuntu: sudo apt install chromium. Elsewhere say where one is: EMBERLOG_BROWSER=/path/to/it"
        )
    return module("pytest", "tests/browser", "-m", "browser", *PROCESS_PER_CORE, *arguments)


def fuzz(arguments: list[str]) -> int:
    """20,000 mutated and random texts against the front end"""
    return module("pytest", "tests/property/test_fuzz.py", *PATIENTLY, *arguments, EMBERLOG_EXAMPLES="20000")


def pythons(arguments: list[str]) -> int:
    """the tests without Spark, or what further arguments say, on each Python from 3.11 to 3.14 that is here"""
    outcomes = {}
    for name in (f"3.{minor}" for minor in range(11, 15)):
        found = shutil.which(f"python{name}")
        if found is None or subprocess.call([found, "--version"], stderr=subprocess.DEVNULL) != 0:
            outcomes[name] = "not on this machine"
            continue
        tests = arguments or ["tests/unit", "tests/golden", "-m", "not spark and not slow"]
        outcomes[name] = elsewhere([found, "dev.py", "test", *tests], EMBERLOG_VENV=f".venv-{name}")
    return told("Python", outcomes)


def versions(arguments: list[str]) -> int:
    """the golden programs and a few recursions, or what further arguments say, on each Spark from 4.0 to 4.3"""
    names = ("golden_programs", "recursion", "in_driver")
    tests = arguments or [*(f"tests/spark/test_{name}.py" for name in names), "-m", "spark or slow"]
    # Older ones leave sockets to the garbage collector, which says so.
    quiet = ["-W", "ignore::ResourceWarning", "-W", "ignore::pytest.PytestUnraisableExceptionWarning"]
    # Until 4.1, Spark itself answers Ctrl-C on a connection to Java that is in use.
    quiet += ["--deselect", "tests/spark/test_recursion.py::test_ctrl_c_stops_the_running_job_and_leaves_nothing"]
    outcomes = {}
    for name in ("4.0", "4.1", "4.2", "4.3"):
        places = {"EMBERLOG_VENV": f".venv-spark-{name}", "EMBERLOG_SPARK": name}
        outcomes[name] = elsewhere([sys.executable, "dev.py", "only", *quiet, *tests], **places)
    return told("Spark", outcomes)


def only(arguments: list[str]) -> int:
    """pytest alone, with these arguments"""
    return module("pytest", *arguments)


def elsewhere(arguments: list[str], **environment: str) -> str:
    """Runs a task of this file in another environment; says how that ended."""
    ended = subprocess.call(arguments, cwd=ROOT, env={**os.environ, **environment})
    return "all well" if ended == 0 else "failed"


def told(what: str, outcomes: dict[str, str]) -> int:
    print("\n".join(f"{what} {name}: {outcome}" for name, outcome in outcomes.items()))
    return 1 if "failed" in outcomes.values() else 0


def bench(arguments: list[str]) -> int:
    """measure Emberlog beside its peers: the smoke set, or what further arguments say; see benchmarks/README.md"""
    return module("benchmarks", *(arguments or ["run", "--set", "smoke"]))


def docs(arguments: list[str]) -> int:
    """write the generated parts of docs/ anew and check every code block"""
    return module("docs.generate") or module("pytest", "tests/test_documentation.py", *arguments)


def extension(arguments: list[str]) -> int:
    """build the extension for VS Code, a .vsix file, and compare its grammar with the language"""
    npm = shutil.which("npm")
    if npm is None:
        raise Stop("the extension is built with npm, which comes with Node.js 20 or newer")
    folder = ROOT / "editors" / "vscode"
    # Scripts of packages are not run: none of these needs them to build.
    for step in (("install", "--no-audit", "--no-fund", "--ignore-scripts"), ("run", "build"), ("run", "package")):
        if subprocess.call([npm, *step], cwd=folder) != 0:
            raise Stop(f"npm {' '.join(step)} failed; what it said is above.")
    print(f"code --install-extension {(folder / 'emberlog.vsix').relative_to(ROOT)}")
    return module("pytest", "tests/unit/editor/test_colours.py", *arguments, EMBERLOG_EXTENSION="1")


def setup(arguments: list[str]) -> int:
    """only make .venv"""
    print(f"{VENV.name} is ready: {VENV_PYTHON.relative_to(ROOT)}")
    return 0


def clean(arguments: list[str]) -> int:
    """remove .venv and everything that tools left behind"""
    for folder in ROOT.glob(".venv-*"):
        shutil.rmtree(folder, ignore_errors=True)
    for name in (".venv", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", "build", "dist"):
        shutil.rmtree(ROOT / name, ignore_errors=True)
    for folder in [path for top in ("src", "tests", "docs", "examples") for path in (ROOT / top).rglob("__pycache__")]:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


TASKS = {
    "run": run,
    "test": test,
    "lint": lint,
    "types": types,
    "format": format_code,
    "golden-update": golden_update,
    "property-full": property_full,
    "metamorphic": metamorphic,
    "proofs-full": proofs_full,
    "crosscheck-full": crosscheck_full,
    "async-full": async_full,
    "streams-full": streams_full,
    "live-full": live_full,
    "stream-kills": stream_kills,
    "door-full": door_full,
    "spark-full": spark_full,
    "faults-full": faults_full,
    "cluster": cluster,
    "browser": browser,
    "fuzz": fuzz,
    "pythons": pythons,
    "versions": versions,
    "only": only,
    "bench": bench,
    "docs": docs,
    "extension": extension,
    "setup": setup,
    "clean": clean,
}


def command(name: str, *arguments: str) -> list[str]:
    return [str(VENV_PYTHON), "-m", name, *arguments]


def module(name: str, *arguments: str, **environment: str) -> int:
    """Runs a Python module of the environment to its end."""
    return subprocess.call(command(name, *arguments), cwd=ROOT, env={**os.environ, **environment})


def prepare() -> None:
    """Makes `.venv` as pyproject.toml and constraints.txt ask for, unless it already is so."""
    wanted = fingerprint()
    if STAMP.is_file() and STAMP.read_text() == wanted and VENV_PYTHON.exists():
        return
    started = time.monotonic()
    print(f"setting up {VENV.name} (once; about a minute, most of it the download of Spark)", flush=True)
    try:
        import ensurepip  # noqa: F401  (Debian and Ubuntu ship a Python without it)
        import venv
    except ImportError:
        raise Stop(
            "this Python has no venv module, which makes the environment.\n"
            "On Debian or Ubuntu: sudo apt install python3-venv. Then run this command again."
        ) from None
    venv.create(VENV, clear=True, with_pip=True)
    # Twice quiet: errors are shown, notices about pip itself are not.
    pip = command("pip", "install", "--quiet", "--quiet", "--disable-pip-version-check", "--editable", ".[dev]")
    # By environment rather than by option, because these also reach the environment that builds the package.
    pins = {"PIP_CONSTRAINT": "constraints.txt", "PIP_BUILD_CONSTRAINT": "constraints.txt"}
    if subprocess.call(pip, cwd=ROOT, env={**os.environ, **pins}) != 0:
        raise Stop("pip could not install the packages; what it said is above.")
    spark = os.environ.get("EMBERLOG_SPARK")
    if spark and subprocess.call([*pip[:-2], f"pyspark[connect]=={spark}.*"], cwd=ROOT) != 0:
        raise Stop(f"pip could not install Spark {spark}; what it said is above.")
    STAMP.write_text(wanted)
    print(f"ready in {time.monotonic() - started:.0f} s", flush=True)


def fingerprint() -> str:
    """Changes whenever the environment has to be made again: other packages, another Python, another folder."""
    digest = hashlib.sha256(f"{sys.version_info[:2]} {ROOT} {os.environ.get('EMBERLOG_SPARK', '')}".encode())
    for name in ("pyproject.toml", "constraints.txt"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def check_python() -> None:
    if sys.version_info >= OLDEST_PYTHON:
        return
    newer = [f"python3.{minor}" for minor in range(20, 10, -1) if shutil.which(f"python3.{minor}")]
    advice = f"Run it with {newer[0]} instead of python3." if newer else "Install a newer one and run this again."
    raise Stop(f"Emberlog needs Python 3.11 or newer, and this is {sys.version.split()[0]}. {advice}")


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in TASKS:
        width = max(map(len, TASKS))
        print("python3 dev.py TASK\n")
        print("\n".join(f"  {name:{width}}  {task.__doc__}" for name, task in TASKS.items()))
        return 0 if not arguments or arguments[0] in ("-h", "--help", "help") else 2
    check_python()
    if arguments[0] not in ("clean", "pythons", "versions"):
        prepare()
    return TASKS[arguments[0]](arguments[1:])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Stop as stop:
        sys.exit(str(stop))
    except KeyboardInterrupt:
        sys.exit(130)
