"""Fixture files of passes: blocks of a title, a program, and its plan (or its rules) before and after one pass.

    # a condition moves below the join
    p(X, Y) :- q(X, Z), r(Z, Y), X > 1.
    --- before
    …
    --- after
    …

Only the strata and other parts that the pass changed are shown. `EMBERLOG_UPDATE=1` writes the plans anew; look at
the difference before you commit it. Passes before the one under test do not run, unless the title ends with
their names: `# title [push_down_filter, prune_columns first]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FIXTURES = Path(__file__).parent / "fixtures"


@dataclass(frozen=True, slots=True)
class Case:
    """One block. `number` counts the blocks of the file from 0."""

    number: int
    title: str
    program: str
    before: str
    after: str

    @property
    def passes_first(self) -> tuple[str, ...]:
        found = re.search(r"\[(.+) first\]$", self.title)
        return tuple(re.split(r",\s*", found[1])) if found else ()

    @property
    def text(self) -> str:
        return f"# {self.title}\n{self.program}\n--- before\n{self.before}\n--- after\n{self.after}\n"


def read_cases(name: str) -> list[Case]:
    return list(_cases((FIXTURES / f"{name}.txt").read_text(encoding="utf-8")))


def write_cases(name: str, cases: list[Case]) -> None:
    (FIXTURES / f"{name}.txt").write_text("\n".join(case.text for case in cases), encoding="utf-8")


def _cases(text: str) -> Iterator[Case]:
    for number, block in enumerate(re.split(r"^# ", text, flags=re.MULTILINE)[1:]):
        title, _, rest = block.partition("\n")
        program, _, plans = rest.partition("\n--- before\n")
        before, _, after = plans.partition("\n--- after\n")
        yield Case(number, title, program.strip(), before.strip("\n"), after.strip("\n"))
