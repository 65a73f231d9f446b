"""Writes what the golden cases expect, from the oracle and nothing else, and the answers to questions.

    python -m tests.golden.update [--only 'recursion/*']

Prints which files changed. Read every change: the corpus is only as right as the eyes that saw it.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory

from emberlog.diagnostics import EmberlogError
from emberlog.io.facts import write_facts
from tests.golden.corpus import GoldenCase, all_cases, warnings_text
from tests.golden.questions import answered, questions_file
from tests.golden.selections import update as update_selections
from tests.golden.souffle_cases import MESSAGES, messages
from tests.oracle.evaluate import evaluate

STREAM_AREAS = ("papers", "streams")
"""In other areas a program over a stream is there to show the error of running it."""


def update(case: GoldenCase) -> list[str]:
    """Brings one case up to date; the names of the files that changed."""
    before = _contents(case.folder)
    with TemporaryDirectory() as folder:
        _write_expectations(case, Path(folder))
        for name in ("expected", "expected.err", "expected.check"):
            _remove(case.folder / name)
        shutil.copytree(folder, case.folder, dirs_exist_ok=True)
    if questions_file(case).exists():
        questions_file(case).write_text(answered(case), encoding="utf-8")
    after = _contents(case.folder)
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def _write_expectations(case: GoldenCase, folder: Path) -> None:
    try:
        prepared = case.prepare()
        warnings = warnings_text(prepared.checked)
        is_stream = prepared.is_stream and case.folder.parent.name in STREAM_AREAS
        answers = {} if is_stream else evaluate(prepared.checked, prepared.inputs, prepared.limits)
    except EmberlogError as error:
        (folder / "expected.err").write_text(case.rendered(error), encoding="utf-8")
        return
    for name, facts in answers.items():
        write_facts(folder / "expected" / f"{name}.csv", facts, prepared.checked.relations[name].columns)
    if warnings or is_stream:
        (folder / "expected.check").write_text(warnings, encoding="utf-8")


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden.update", description=__doc__)
    parser.add_argument("--only", metavar="GLOB", default="*", help="cases to update, such as 'errors/*'")
    only = parser.parse_args().only
    chosen = [case for case in all_cases() if fnmatch(case.name, only)]
    changed = 0
    for case in chosen:
        for name in update(case):
            changed += 1
            print(f"{case.name}/{name}")
    update_selections()
    MESSAGES.write_text(messages(), encoding="utf-8")
    print(f"{changed:,} files changed in {len(chosen):,} cases")
    return 0


if __name__ == "__main__":
    sys.exit(main())
