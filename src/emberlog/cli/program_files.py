"""Reads program texts from files and from standard input, and writes texts back to files."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from emberlog.diagnostics import fail
from emberlog.source import Source

if TYPE_CHECKING:
    from emberlog.syntax import ast

STANDARD_INPUT = "-"

PROGRAM_OF_FOLDER = "program.dl"
"""The program of a folder that holds one together with its facts, as those in examples/."""


def read_source(name: str) -> Source:
    """Returns the text of a file, or of standard input for `-`; raises EmberlogError when it cannot be read."""
    if name == STANDARD_INPUT:
        return Source("<stdin>", _decoded("<stdin>", sys.stdin.buffer.read()))
    name = program_path(name)
    try:
        with open(name, "rb") as file:
            content = file.read()
    except (OSError, ValueError) as error:  # a name with a null character is a ValueError
        raise fail("DL405", f"cannot read `{name}`: {_reason(error)}") from None
    return Source(name, _decoded(name, content))


def read_program(name: str, arguments: argparse.Namespace) -> ast.Program:
    """Returns the program of a file, or of standard input, in the language that the options say, with its syntax
    errors, which the analysis raises."""
    from emberlog.dialects import parse_tolerantly

    return parse_tolerantly(read_source(name), arguments.dialect, arguments.include)


def program_path(name: str) -> str:
    """Returns the file that is meant: the program of a folder, if it has one."""
    inside = os.path.join(name, PROGRAM_OF_FOLDER)
    return inside if "\0" not in name and os.path.isfile(inside) else name


def _decoded(name: str, content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise fail(
            "DL406",
            f"`{name}` is not text in UTF-8",
            None,
            f"line {line:,} has the byte 0x{content[error.start]:02x}, which cannot stand there",
            "save the file as UTF-8",
        ) from None
    return text.replace("\r\n", "\n")


def write_text(name: str, text: str) -> None:
    """Replaces the file in one step: whoever looks sees the old text or the new one, never a part of it."""
    target = os.path.realpath(name)  # a link stays a link
    unfinished = f"{target}.{os.getpid()}.unfinished"
    try:
        if os.path.exists(name) and not os.path.isfile(name):  # a pipe or a device cannot be replaced
            with open(name, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            return
        mode = os.stat(target).st_mode & 0o7777 if os.path.exists(target) else None
        try:
            with open(unfinished, "x", encoding="utf-8", newline="\n") as file:
                file.write(text)
            if mode is not None:
                os.chmod(unfinished, mode)
            os.replace(unfinished, target)
        finally:
            if os.path.exists(unfinished):
                os.unlink(unfinished)
    except OSError as error:
        raise fail("DL408", f"cannot write `{name}`: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    """`no such file or directory`, without the number and the path around it."""
    text = getattr(error, "strerror", None) or str(error)
    return text[:1].lower() + text[1:]
