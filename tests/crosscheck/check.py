"""Runs programs on engines, compares what comes out with the oracle, and makes a program that differs small.

`python -m tests.crosscheck.check 100 2000` looks at the programs of seeds 100 to 2099 and lists what differs.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from emberlog.diagnostics import EmberlogError
from tests.crosscheck.compare import Difference, difference
from tests.crosscheck.engines import IN_PROCESS, Engine, NotApplicable, read
from tests.crosscheck.generate import Sample, sample
from tests.crosscheck.meaning import Unclear
from tests.crosscheck.oracle import judged
from tests.crosscheck.programs import Program
from tests.crosscheck.shrink import shrunk


@dataclass(frozen=True, slots=True)
class Finding:
    """A program that some engines run differently, all in the same way."""

    seed: int
    engines: tuple[str, ...]
    difference: Difference
    program: Program

    def __str__(self) -> str:
        registered = "".join(f"\n{name} = {list(rows)}" for name, rows in self.program.registered.items())
        return (
            f"seed {self.seed}, {', '.join(self.engines)}: {self.difference.details}{registered}\n{self.program.text}"
        )


def findings(taken: Sample, engines: Mapping[str, Engine] = IN_PROCESS) -> list[Finding]:
    found: dict[Difference, list[str]] = {}
    for name, engine in engines.items():
        try:
            differs = difference(taken.verdict, engine(taken.program))
        except NotApplicable:
            continue
        if differs is not None:
            found.setdefault(differs, []).append(name)
    return [Finding(taken.seed, tuple(names), differs, taken.program) for differs, names in found.items()]


def smallest(finding: Finding, engines: Mapping[str, Engine] = IN_PROCESS) -> Finding:
    """The smallest program that the first of the engines still runs differently, in the same way."""
    if finding.difference.kind.startswith("refused"):
        return finding  # what is cut out of a program may be refused with good reason
    engine = engines[finding.engines[0]]

    def still(program: Program) -> Difference | None:
        try:
            read(program)
            differs = difference(judged(program), engine(program))
        except (EmberlogError, Unclear, NotApplicable):
            return None
        return differs if differs is not None and differs.kind == finding.difference.kind else None

    program = shrunk(finding.program, lambda one: still(one) is not None)
    return replace(finding, difference=still(program) or finding.difference, program=program)


def assert_no_findings(seeds: Iterable[int], engines: Mapping[str, Engine] = IN_PROCESS) -> None:
    """Fails with the smallest programs that differ, one for each kind of difference."""
    by_kind: dict[str, Finding] = {}
    for seed in seeds:
        for one in findings(sample(seed), engines):
            by_kind.setdefault(one.difference.kind, one)
    assert not by_kind, "\n\n".join(str(smallest(one, engines)) for one in by_kind.values())


def main(first: int, number: int, shown: int = 3) -> None:
    """Shows a few smallest programs for each kind of difference and each set of engines."""
    began = time.monotonic()
    seen: Counter[tuple[str, tuple[str, ...]]] = Counter()
    failing = 0
    for seed in range(first, first + number):
        found = findings(sample(seed))
        failing += bool(found)
        for one in found:
            what = (one.difference.kind, one.engines)
            seen[what] += 1
            if seen[what] <= shown:
                print(smallest(one), flush=True)
    print(f"{number} programs in {time.monotonic() - began:.0f} s, {failing} with differences")
    for (kind, engines), times in seen.most_common():
        print(f"{times:5} × {kind}: {', '.join(engines)}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
