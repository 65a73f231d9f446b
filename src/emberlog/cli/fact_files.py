"""Finds the facts of a program: a file for each relation, in a folder or named one by one."""

from __future__ import annotations

from pathlib import Path

from emberlog.diagnostics import EmberlogError, fail
from emberlog.io.paths import COMPRESSIONS, KINDS, kind_of, local_files

FACTS_FOLDER = "facts"
"""Used without being asked for, when it lies beside a program."""


def facts_beside(program: str | Path) -> Path | None:
    folder = Path(program).parent / FACTS_FOLDER
    return folder if folder.is_dir() else None


def files_in_folder(folder: Path) -> dict[str, Path]:
    """Returns the file, or the folder of files, of each relation. What is of another kind is left alone."""
    try:
        names = sorted(folder.iterdir())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise fail("DL405", f"cannot read the folder `{folder}`: {reason}") from None
    files: dict[str, Path] = {}
    for path in names:
        if path.name.startswith((".", "_")) or not is_fact_file(path):
            continue
        relation = relation_of_file(path)
        if relation in files:
            message = f"`{folder}` has two files for the relation `{relation}`: {files[relation].name} and {path.name}"
            raise fail("DL407", message, None, "take one of them away, or name the right one with --input")
        files[relation] = path
    return files


def relation_of_file(path: Path) -> str:
    """`arc` for `arc.csv.gz`."""
    plain = path.with_suffix("") if path.suffix in COMPRESSIONS else path
    return plain.stem


def is_fact_file(path: Path) -> bool:
    """Tells whether a path holds facts: by its name, or that of the files in a folder, as a run writes them."""
    if kind_of(str(path)) in KINDS:
        return True
    if not path.is_dir():
        return False
    try:
        return any(kind_of(str(one)) in KINDS for one in local_files(str(path)))
    except EmberlogError:
        return False
