"""Every example has its page, and every command on the pages can be carried out."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from emberlog.__main__ import main

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
FOLDERS = sorted(path.parent for path in EXAMPLES.glob("*/program.dl"))
COMMANDS = sorted(
    {
        command.split("|")[0].strip().strip("`")
        for page in EXAMPLES.rglob("README.md")
        for command in re.findall(r"emberlog run examples/[^`\n]*", page.read_text(encoding="utf-8"))
    }
)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_an_example_tells_its_story_and_how_to_run_it(folder: Path) -> None:
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert f"\n$ emberlog run examples/{folder.name}" in page
    assert all(f"**The {part}.**" in page for part in ("question", "facts", "rules"))
    assert f"[{folder.name}]({folder.name})" in (EXAMPLES / "README.md").read_text(encoding="utf-8")


def test_every_program_of_a_paper_has_its_command() -> None:
    names = [path.parent.name for path in EXAMPLES.glob("papers/*/program.dl")]
    assert [name for name in names if f"emberlog run examples/papers/{name}" not in "\n".join(COMMANDS)] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_right_as_far_as_one_can_tell_without_spark(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("emberlog.cli.running.carry_out", lambda *_, **__: None)
    assert main(shlex.split(command)[1:]) == 0
