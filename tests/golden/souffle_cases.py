"""Programs in Soufflé's language with the answers that its documentation gives them, many in one file.

    == the_name_of_a_case
    its program
    -> a_file.facts
    its lines
    -- a_relation
    the facts that are expected of it, a line each, with tabs between

`-- error DL201` in the place of answers says that the program is refused, with these codes. Expected answers are
derived by hand, and are no output of ours. What is told of the refused ones is in messages.err, which golden-update
writes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from emberlog.diagnostics import EmberlogError, render
from emberlog.dialects import SOUFFLE, parse_tolerantly
from emberlog.semantics.analysis import analyze
from emberlog.source import Source

FOLDER = Path(__file__).parent / "souffle_programs"
MESSAGES = FOLDER / "messages.err"


@dataclass(slots=True)
class SouffleCase:
    feature: str
    name: str
    program: str = ""
    files: dict[str, str] = field(default_factory=dict)
    answers: dict[str, set[str]] = field(default_factory=dict)
    errors: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.feature}-{self.name}"

    def written_to(self, folder: Path) -> Path:
        """Writes the program and its files, and returns the program's place."""
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")
        path = folder / "program.dl"
        path.write_text(self.program, encoding="utf-8")
        return path


@cache
def souffle_cases() -> tuple[SouffleCase, ...]:
    return tuple(case for path in sorted(FOLDER.glob("*.txt")) for case in _cases(path))


def _cases(path: Path) -> list[SouffleCase]:
    cases: list[SouffleCase] = []
    part, name = "program", ""
    for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
        case = cases[-1] if cases else SouffleCase("", "")
        if line.startswith("== "):
            cases.append(SouffleCase(path.stem, line[3:]))
            part = "program"
        elif line.startswith("-- error "):
            case.errors = tuple(line.removeprefix("-- error ").split())
        elif line.startswith("-- "):
            part, name = "answer", line[3:]
            case.answers[name] = set()
        elif line.startswith("-> "):
            part, name = "file", line[3:]
            case.files[name] = ""
        elif part == "program":
            case.program += f"{line}\n"
        elif part == "file":
            case.files[name] += f"{line}\n"
        else:
            assert line not in case.answers[name], f"{case.title} expects a fact twice"
            case.answers[name].add(line)
    return cases


def messages() -> str:
    """Returns what is said of every program that is refused, one after the other."""
    told = []
    for case in souffle_cases():
        if case.errors:
            try:
                analyze(parse_tolerantly(Source("program.dl", case.program), SOUFFLE))
            except EmberlogError as error:
                told.append(f"== {case.title}\n{render(error.diagnostics)}\n")
    return "\n".join(told)


def shown(rows: Iterable[Iterable[object]]) -> set[str]:
    """Returns facts as a case writes them."""
    return {"\t".join(map(_cell, row)) for row in rows}


def _cell(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
