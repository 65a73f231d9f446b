"""The files around the code agree with each other: pyproject.toml, constraints.txt, README.md, dev.py."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import emberlog

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RUNTIME: list[str] = PROJECT["project"]["dependencies"]
DEVELOPMENT: list[str] = PROJECT["project"]["optional-dependencies"]["dev"]
BUILD: list[str] = PROJECT["build-system"]["requires"]


def name_of(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement)[0].lower()


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    found = [re.fullmatch(r"([\w.-]+)==([\w.]+)", line) for line in lines if line and not line.startswith("#")]
    assert None not in found, "constraints.txt has plain `name==version` lines only"
    return {match[1].lower(): match[2] for match in found if match}


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def fits(version: str, requirement: str) -> bool:
    bounds = re.findall(r"(>=|<)([\d.]+)", requirement)
    assert bounds, f"{requirement} has no bounds"
    return all((numbers(version) >= numbers(bound)) == (sign == ">=") for sign, bound in bounds)


@pytest.mark.parametrize("requirement", [*RUNTIME, *DEVELOPMENT, *BUILD])
def test_every_requirement_is_pinned_inside_its_bounds(requirement: str) -> None:
    assert fits(pins()[name_of(requirement)], requirement)


def test_the_readme_gives_the_reason_for_every_dependency() -> None:
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Dependencies\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([\w-]+)` \|", section, re.MULTILINE) == [name_of(requirement) for requirement in RUNTIME]


def test_the_extensions_have_the_version_of_the_project() -> None:
    lab, package = (
        json.loads((ROOT / "editors" / one / "package.json").read_text(encoding="utf-8"))
        for one in ("jupyterlab", "vscode")
    )
    assert lab["version"] == package["version"] == emberlog.__version__, "run python3 dev.py docs"
    assert "package-lock=false" in (ROOT / "editors" / "vscode" / ".npmrc").read_text(encoding="utf-8")
    # Without a lock file, each package has one version.
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in package["devDependencies"].values())


def test_the_changelog_knows_the_version() -> None:
    """The first release is under way until it has a section; after it, the newest section is that of the version."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    titles = re.findall(r"^## \[(.+?)\]", changelog, re.MULTILINE)
    released = [title for title in titles if title != "Unreleased"]
    assert titles == (["Unreleased", *released] if "Unreleased" in titles else released)
    assert (released or ["0.1.0"])[0] == emberlog.__version__
    assert titles


@pytest.fixture
def dev() -> ModuleType:
    specification = importlib.util.spec_from_file_location("dev", ROOT / "dev.py")
    assert specification and specification.loader
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_an_old_python_can_read_dev_and_is_told_what_to_do(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    ast.parse((ROOT / "dev.py").read_text(encoding="utf-8"), feature_version=(3, 7))
    monkeypatch.setattr(sys, "version_info", (3, 9, 18))
    with pytest.raises(dev.Stop, match=r"needs Python 3\.11 or newer"):
        dev.check_python()


def test_make_offers_every_task(dev: ModuleType) -> None:
    tasks = re.search(r"^TASKS = (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert tasks and set(tasks.group(1).split()) == set(dev.TASKS)


def test_continuous_integration_runs_the_command_of_the_readme() -> None:
    assert "$ python3 dev.py test" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").endswith("exec python3 dev.py test\n")


def test_no_file_is_large() -> None:
    """Data is generated. What is large and lands by mistake stays in the history of every clone."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    assert [path.name for path in files if path.is_file() and path.stat().st_size > 1_000_000] == []
