"""Reads a program in Soufflé's language with the files that it includes: by `.include`, and by the C preprocessor where
`#include`, `#define` or `#if` ask for it. Tokens keep the places that they have in their own files."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from itertools import takewhile
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

MOST_FILES = 1_000
"""Inclusions of one program: files that include each other twice would have no end."""


def read_tokens(source: Source, include: Sequence[str], diagnostics: Diagnostics) -> tuple[list[Token], list[Comment]]:
    """Returns the tokens of the text and of all that it includes, the last of kind END, and its own comments. Files
    that are beside none of those above are looked for in the folders `include`."""
    return _Reader(include, diagnostics).read(source, (Path(source.name),))


class _Reader:
    def __init__(self, include: Sequence[str], diagnostics: Diagnostics) -> None:
        self.include = [Path(folder) for folder in include]
        self.diagnostics = diagnostics
        self.once: set[str] = set()
        """The files that say `.once` and were read: the next time, they end there."""
        self.included = 0

    def read(self, source: Source, above: tuple[Path, ...]) -> tuple[list[Token], list[Comment]]:
        if _FOR_PREPROCESSOR.search(source.text):
            tokens, comments = _preprocessed(source, self.include, self.diagnostics), list[Comment]()
        else:
            tokens, comments = tokenize(source, self.diagnostics)
        whole: list[Token] = []
        index = 0
        while index < len(tokens):
            token, word = tokens[index], tokens[min(index + 1, len(tokens) - 1)]
            begins_line = index == 0 or tokens[index - 1].span.finish.line < token.span.begin.line
            if begins_line and token.is_symbol(".") and word.is_word("include", "once"):
                index += 2
                if word.text == "once":
                    index += self._read_before(tokens[index:-1], word.span.source)
                    continue
                if tokens[index].kind is TokenKind.STRING:
                    whole += self._included(str(tokens[index].value), tokens[index].span, above)
                    index += 1
                    continue
                hint = 'write `.include "file.dl"`'
                self.diagnostics.error("DL126", "the name of a file stands behind `.include`", word.span, hint)
                continue
            whole.append(token)
            index += 1
        return whole, comments

    def _read_before(self, behind: Sequence[Token], source: Source) -> int:
        """Returns how many of the tokens behind `.once` are passed over, because the file was read before."""
        if str(Path(source.name).resolve()) not in self.once:
            self.once.add(str(Path(source.name).resolve()))
            return 0
        return sum(1 for _ in takewhile(lambda token: token.span.source.name == source.name, behind))

    def _included(self, name: str, span: Span, above: tuple[Path, ...]) -> Sequence[Token]:
        """Returns the tokens of a file, which is looked for beside the file that includes it, beside those above, and
        then in the folders that are named."""
        folders = [Path(span.source.name).parent, *(path.parent for path in reversed(above)), *self.include]
        places = dict.fromkeys(folder / name for folder in folders)
        found = next((place for place in places if place.is_file()), None)
        self.included += 1
        if found is None:
            looked = f"looked for {', '.join(f'`{place}`' for place in places)}"
            self.diagnostics.error("DL126", f"there is no file `{name}` to include", span, looked)
            return ()
        is_above = found.resolve() in [path.resolve() for path in above]
        if is_above and str(found.resolve()) in self.once:
            return ()
        if is_above:
            self.diagnostics.error("DL126", f"`{name}` includes itself", span, "say `.once` in it, or leave this out")
            return ()
        if self.included > MOST_FILES:
            if self.included == MOST_FILES + 1:
                hint = "a file that others include several times says `.once`"
                self.diagnostics.error("DL126", f"more than {MOST_FILES:,} files are included", span, hint)
            return ()
        try:
            text = found.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            self.diagnostics.error("DL126", f"cannot read `{found}`: {error}", span)
            return ()
        return self.read(Source(str(found), text, is_souffle=True), (*above, found))[0][:-1]


# --- the C preprocessor ---------------------------------------------------------------------------------------------


def _preprocessed(source: Source, include: Sequence[Path], diagnostics: Diagnostics) -> list[Token]:
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
    folders = [option for folder in (Path(source.name).parent, *include) for option in ("-I", str(folder))]
    arguments = [command, *_COMMANDS[Path(command).name], *folders, "-"]
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
                path, sources[name] = Path(name), source
                if path.is_file():
                    sources[name] = Source(name, path.read_text(encoding="utf-8"), is_souffle=True)
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
