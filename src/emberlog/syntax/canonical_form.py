"""The canonical form of a program: what `emberlog fmt` writes, and what editors write when they format."""

from __future__ import annotations

from emberlog.diagnostics import InternalError
from emberlog.source import Source
from emberlog.syntax.parser import parse
from emberlog.syntax.printer import print_program


def canonical_text(source: Source) -> str:
    """Returns the program as the printer writes it; raises EmberlogError when it has syntax errors."""
    program = parse(source)
    text = print_program(program)
    # A file is about to be replaced: better no formatting than a program that means something else.
    if parse(Source(source.name, text)) != program:
        raise InternalError(f"the canonical form of {source.name} would read differently")
    return text
