"""Writes the report of a run beside its results."""

from __future__ import annotations

from pathlib import Path

from benchmarks.report import markdown, page
from benchmarks.report.sections import document
from benchmarks.results import Run


def write_report(run: Run, folder: Path) -> tuple[Path, ...]:
    folder.mkdir(parents=True, exist_ok=True)
    report = document(run)
    texts = {"report.md": markdown.render(report), "report.html": page.render(report)}
    paths = []
    for name, text in texts.items():
        path = folder / name
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return tuple(paths)
