"""Reads a program in Soufflé's language with the files that it includes: by `.include`, and by the C preprocessor where
`#include`, `#define` or `#if` ask for it. Tokens keep the places that they have in their own files."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from emberlog.diagnostics import Diagnostics
from emberlog.source import Source, Span
from emberlog.syntax.ast import Comment
from emberlog.syntax.lexer import Token, TokenKind
from emberlog.syntax.souffle.lexer import tokenize

_FOR_PREPROCESSOR = re.compile(r"^[ \t]*#[ \t]*(?:include|define|undef|if|ifdef|ifndef)\b", re.MULTILINE)
_MARKER = re.compile(r'#(?:line)?[ \t]*(\d+)[ \t]+"((?:[^"\\]|\\.)*)"')
_COMMANDS = {
    "cpp": ("-w", "-undef", "-nostdinc"),
    "mcpp": ("-W0",),
    "pcpp": (),
}
"""Preprocessors that are tried, in this order, and their options; each reads its standard input."""

_SECONDS = 30


def read_tokens(source: Source, diagnostics: Diagnostics) -> tuple[list[Token], list[Comment]]:
    """Returns the tokens of the text and of all that it includes, the last of kind END, and its own comments."""
    return _read(source, diagnostics, (Path(source.name),))


def _read(source: Source, diagnostics: Diagnostics, above: tuple[Path, ...]) -> tuple[list[Token], list[Comment]]:
    if _FOR_PREPROCESSOR.search(source.text):
        tokens, comments = _preprocessed(source, diagnostics), list[Comment]()
    else:
        tokens, comments = tokenize(source, diagnostics)
    whole: list[Token] = []
    index = 0
    while index < len(tokens):
        here = tokens[index : index + 3]
        if len(here) == 3 and here[0].is_symbol(".") and here[1].is_word("include", "once"):
            begins_line = index == 0 or tokens[index - 1].span.finish.line < here[0].span.begin.line
            if begins_line and here[2].kind is TokenKind.STRING:
                whole += _included(str(here[2].value), here[2].span, diagnostics, above)
                index += 3
                continue
        whole.append(tokens[index])
        index += 1
    return whole, comments


def _included(name: str, span: Span, diagnostics: Diagnostics, above: tuple[Path, ...]) -> Sequence[Token]:
    """Returns the tokens of a file, which is looked for beside the file that includes it and beside those above."""
    folders = [Path(span.source.name).parent, *(path.parent for path in reversed(above))]
    places = dict.fromkeys(folder / name for folder in folders)
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        looked = f"looked for {', '.join(f'`{place}`' for place in places)}"
        diagnostics.error("DL126", f"there is no file `{name}` to include", span, looked)
        return ()
    if found.resolve() in [path.resolve() for path in above]:
        diagnostics.error("DL126", f"`{name}` includes itself", span)
        return ()
    try:
        text = found.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        diagnostics.error("DL126", f"cannot read `{found}`: {error}", span)
        return ()
    return _read(Source(str(found), text), diagnostics, (*above, found))[0][:-1]


# --- the C preprocessor ---------------------------------------------------------------------------------------------


def _preprocessed(source: Source, diagnostics: Diagnostics) -> list[Token]:
    match = _FOR_PREPROCESSOR.search(source.text)
    assert match is not None
    place = Span(source, match.start(), match.end())
    end = [Token(TokenKind.END, "", Span(source, len(source.text), len(source.text)))]
    command = next((found for name in _COMMANDS if (found := shutil.which(name)) is not None), None)
    if command is None:
        names = ", ".join(_COMMANDS)
        hint = f"put one of {names} on the path (`pip install pcpp` is one), or run it yourself: cpp -P program.dl"
        diagnostics.error("DL126", "this program needs the C preprocessor, which is not there", place, hint)
        return end
    folder = str(Path(source.name).parent)
    arguments = [command, *_COMMANDS[Path(command).name], "-I", folder, "-"]
    try:
        done = subprocess.run(
            arguments,
            input=source.text,
            capture_output=True,
            encoding="utf-8",
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        diagnostics.error("DL126", f"the C preprocessor cannot be run: {error}", place)
        return end
    if done.returncode:
        said = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip())
        diagnostics.error("DL126", f"the C preprocessor says: {said}", place)
        return end
    return _in_their_files(source, done.stdout, diagnostics)


def _in_their_files(source: Source, text: str, diagnostics: Diagnostics) -> list[Token]:
    """Returns the tokens of what the preprocessor wrote, at the places that its markers say."""
    made = Source(source.name, text)
    found = Diagnostics()
    tokens, _ = tokenize(made, found)
    sources = {"<stdin>": source, "": source}
    places: list[tuple[Source, int]] = []
    here, number = source, 1
    for line in text.splitlines():
        places.append((here, number))
        if (marker := _MARKER.match(line)) is not None:
            name = marker[2].replace("\\\\", "\\")
            if name not in sources:
                path = Path(name)
                sources[name] = Source(name, path.read_text(encoding="utf-8")) if path.is_file() else source
            here, number = sources[name], int(marker[1])
        else:
            number += 1
    places.append((here, number))

    reached: dict[tuple[str, int], int] = {}
    """How far the tokens of a line have come: a macro may have written what stands further on."""

    def in_its_file(span: Span) -> Span:
        line, column = span.begin
        own, own_number = places[min(line, len(places)) - 1]
        own_number = min(own_number, own.text.count("\n") + 1)
        start, written = own.start_of_line(own_number), own.line(own_number)
        since = reached.get((own.name, own_number), 0)
        is_there = column > since and written.startswith(span.text, column - 1)
        at = column - 1 if is_there else written.find(span.text, since)
        if at >= 0:
            reached[own.name, own_number] = at + len(span.text)
            return Span(own, start + at, start + at + len(span.text))
        macro = re.compile(r"\w+").search(written, since)
        return (
            Span(own, start + macro.start(), start + macro.end()) if macro else Span(own, start, start + len(written))
        )

    placed = [token._replace(span=in_its_file(token.span)) for token in tokens]
    reached.clear()
    for one in found.found:
        diagnostics.error(one.code, one.message, None if one.span is None else in_its_file(one.span), *one.notes)
    return placed
