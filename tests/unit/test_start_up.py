"""Commands that only look at programs, and runs of what is tiny, start at once, because they load nothing heavy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SOURCES)}

HEAVY = {"pyspark", "py4j", "numba", "numpy", "pandas", "pyarrow"}

NOT_FOR_CHECKING = {
    "emberlog.catalogue",
    "emberlog.executors",
    "emberlog.optimize",
    "emberlog.logical.build",
    "emberlog.logical.pictures",
    "asyncio",
    "importlib.metadata",
    "logging",
    "tempfile",
    "unittest",
    "urllib.request",
}
"""What `check` can do without."""


def loaded_by(*arguments: str) -> set[str]:
    """Every module that the command has loaded when it ends."""
    code = (
        "import sys\n"
        "from emberlog.__main__ import main\n"
        f"assert main({list(arguments)!r}) == 0\n"
        "sys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    assert done.stdout
    return set(done.stderr.split("\n")[-1].split())


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "tc.dl"
    path.write_text("tc(X, Y) :- arc(X, Y).\ntc(X, Y) :- tc(X, Z), arc(Z, Y).\n")
    return str(path)


@pytest.mark.parametrize(
    "arguments",
    [
        ("check",),
        ("check", "--json"),
        ("explain",),
        ("explain", "--format", "html"),
        ("explain", "--format", "svg"),
        ("explain", "--format", "dot"),
        ("explain", "--format", "mermaid"),
    ],
    ids=" ".join,
)
def test_nothing_heavy_is_loaded(program: str, arguments: tuple[str, ...]) -> None:
    assert loaded_by(*arguments, program) & HEAVY == set()


def test_fmt_loads_nothing_heavy(program: str) -> None:
    loaded = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "emberlog", "fmt", program],
        capture_output=True,
        text=True,
        check=True,
        env=ENVIRONMENT,
    ).stderr
    assert "emberlog.syntax.printer" in loaded
    assert not any(f"| {name}\n" in loaded.replace("|   ", "| ") for name in HEAVY)


def test_explaining_a_code_loads_no_front_end() -> None:
    loaded = loaded_by("explain", "DL231")
    assert loaded & HEAVY == set()
    assert "emberlog.semantics.analysis" not in loaded


def test_check_loads_only_what_it_needs(program: str) -> None:
    assert loaded_by("check", program) & NOT_FOR_CHECKING == set()


def test_a_tiny_run_in_this_process_loads_no_compiler_and_no_spark(program: str, tmp_path: Path) -> None:
    facts = tmp_path / "arc.csv"
    facts.write_text("1,2\n2,3\n")
    loaded = loaded_by("run", program, "--engine", "local", "--input", f"arc={facts}", "--show", "1")
    assert "emberlog.engines.interpreter.interpreter" in loaded
    assert loaded & HEAVY == {"numpy", "pyarrow"}
    assert "pyarrow.dataset" not in loaded
