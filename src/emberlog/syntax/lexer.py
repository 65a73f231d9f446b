"""From text to tokens. Comments are kept apart, for the printer; what cannot be a token is reported and skipped."""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from emberlog.datatypes import INT_MAX
from emberlog.deadline import check_time
from emberlog.diagnostics import Diagnostics
from emberlog.language.spellings import LARGEST_SCALE
from emberlog.source import Source, Span
from emberlog.syntax.ast import Comment


class TokenKind(Enum):
    NAME = "a name"
    INT = "a number"
    FLOAT = "a number with a fraction"
    DECIMAL = "a decimal"
    STRING = "a string"
    PARAMETER = "a parameter"
    SYMBOL = "a symbol"
    END = "the end of the text"


class Token(NamedTuple):
    kind: TokenKind
    text: str
    """For a symbol its canonical spelling, for a parameter its name."""
    span: Span
    value: int | float | str | None = None
    is_quoted: bool = False
    """Whether it is a name in backquotes, which has no meaning of its own."""

    def is_symbol(self, *texts: str) -> bool:
        return self.kind is TokenKind.SYMBOL and self.text in texts

    def is_word(self, *words: str) -> bool:
        """Returns a word with a meaning of its own at this place, in any case."""
        return self.kind is TokenKind.NAME and not self.is_quoted and self.text.lower() in words

    def describe(self) -> str:
        if self.kind is TokenKind.END:
            return "the end of the text"
        text = self.span.text if len(self.span.text) <= 40 else self.span.text[:37] + "…"
        return f"`{text}`"


_SPELLINGS = {
    "<-": "<-",
    "←": ":-",
    "⇐": ":-",
    "⟨": "<",
    "⟩": ">",
    "〈": "<",
    "〉": ">",
    "‹": "<",
    "›": ">",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "<>": "!=",
    "~=": "!=",
    "==": "=",
    "¬": "!",
    "~": "!",
}

_TOKEN = re.compile(
    r"""[ ]*(?:
      (?P<space>\s+)
    | (?P<line_comment>//[^\n]*)
    | (?P<block_comment>/\*)
    | (?P<decimal>\d+(?:_\d+)*(?:\.\d+(?:_\d+)*)?m\b)
    | (?P<float>\d+(?:_\d+)*\.\d+(?:_\d+)*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)
    | (?P<based>0[xX][0-9a-fA-F]+(?:_[0-9a-fA-F]+)*|0[bB][01]+(?:_[01]+)*)
    | (?P<int>\d+(?:_\d+)*)
    | (?P<name>[^\W\d]\w*)
    | (?P<parameter>\$[^\W\d]\w*)
    | (?P<quoted_name>`)
    | (?P<string>["'])
    | (?P<symbol>:-|<-|<=|>=|!=|<>|~=|==|[←⇐⟨⟩〈〉‹›≤≥≠¬~.,;:?()<>=!+\-*/%\#@{}\[\]])
    )""",
    re.VERBOSE,
)
_SPACE, _NAME, _SYMBOL = (_TOKEN.groupindex[kind] for kind in ("space", "name", "symbol"))
_KINDS = {index: kind for kind, index in _TOKEN.groupindex.items()}
_ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.)|$)", re.DOTALL
)
"""Of a backslash: two halves of a character, a character by its number, or a letter."""
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'", "0": "\0"}

_TWO_HALVES = "both halves together are one: \\ud83d\\ude00"

READING = "reading the program"
"""For the error of a timeout."""

CHARACTERS_BETWEEN_LOOKS = 1 << 16
"""At the clock."""

_LONGEST_NUMBER = 400
"""Digits; longer literals are out of range whatever they say."""


def is_half(character: str) -> bool:
    """Tells whether a character is a surrogate: only two of them together stand for a character."""
    return "\ud800" <= character <= "\udfff"


def tokenize(source: Source, diagnostics: Diagnostics) -> tuple[list[Token], list[Comment]]:
    """Returns the tokens of the text, the last of kind END, and its comments."""
    return _Lexer(source, diagnostics).run()


class _Lexer:
    def __init__(self, source: Source, diagnostics: Diagnostics) -> None:
        self.source = source
        self.text = source.text
        self.diagnostics = diagnostics
        self.offset = 0
        self.line_has_tokens = False
        self.tokens: list[Token] = []
        self.comments: list[Comment] = []

    def run(self) -> tuple[list[Token], list[Comment]]:
        text, source, next_look = self.text, self.source, 0
        # Names and symbols are nearly all there is: they are read here, without a call for each.
        match_at, add, new = _TOKEN.match, self.tokens.append, tuple.__new__
        while self.offset < len(text):
            if self.offset >= next_look:
                check_time(READING)
                next_look = self.offset + CHARACTERS_BETWEEN_LOOKS
            match = match_at(text, self.offset)
            if match is None:
                self._unexpected(self.offset)
                continue
            kind = match.lastindex
            assert kind is not None
            word, end = match[kind], match.end()
            start = end - len(word)
            self.offset = end
            if kind == _SYMBOL:
                if word in "%#" and not self.line_has_tokens:
                    self._comment(start, self._line_end(start))
                    continue
                self.line_has_tokens = True
                span = new(Span, (source, start, end))
                add(new(Token, (TokenKind.SYMBOL, _SPELLINGS.get(word, word), span, None, False)))
            elif kind == _NAME:
                self.line_has_tokens = True
                add(new(Token, (TokenKind.NAME, word, new(Span, (source, start, end)), None, False)))
            elif kind == _SPACE:
                if "\n" in word:
                    self.line_has_tokens = False
            else:
                self._read(_KINDS[kind], start, word)
        end_of_text = Span(source, len(text), len(text))
        self.tokens.append(Token(TokenKind.END, "", end_of_text))
        return self.tokens, self.comments

    def _read(self, kind: str, start: int, text: str) -> None:
        match kind:
            case "line_comment":
                self._comment(start, self.offset)
            case "block_comment":
                self._block_comment(start)
            case "decimal":
                self._decimal(start, text.replace("_", ""))
            case "float" | "int":
                self._number(start, text.replace("_", ""), is_float=kind == "float")
            case "based":
                self._number(start, str(int(text, 0)) if len(text) <= _LONGEST_NUMBER else "9" * 30, is_float=False)
            case "parameter":
                self._add(TokenKind.PARAMETER, start, text[1:])
            case "quoted_name":
                self._quoted_name(start)
            case _:
                self._string(start, text)

    def _span(self, start: int, end: int) -> Span:
        return Span(self.source, start, end)

    def _line_end(self, start: int) -> int:
        end = self.text.find("\n", start)
        return len(self.text) if end < 0 else end

    def _add(self, kind: TokenKind, start: int, text: str, value: int | float | str | None = None) -> None:
        self.line_has_tokens = True
        self.tokens.append(Token(kind, text, self._span(start, self.offset), value))

    def _comment(self, start: int, end: int) -> None:
        self.offset = end
        text = self.text[start:end].rstrip()
        self.comments.append(Comment(text, self.line_has_tokens, self._span(start, end)))

    def _block_comment(self, start: int) -> None:
        end = self.text.find("*/", start + 2)
        if end < 0:
            self.diagnostics.error(
                "DL103", "this comment has no end", self._span(start, start + 2), "close it with `*/`"
            )
            self.offset = len(self.text)
        else:
            self._comment(start, end + 2)

    def _number(self, start: int, text: str, *, is_float: bool) -> None:
        following = self.text[self.offset : self.offset + 1]
        if following.isidentifier():
            tail = re.compile(r"\w+").match(self.text, self.offset)
            self.offset = tail.end() if tail else self.offset
            self.diagnostics.error(
                "DL104",
                "a name cannot begin with a digit",
                self._span(start, self.offset),
                "put a letter first, or quote it if it is text",
            )
            self._add(TokenKind.NAME, start, "_" + self.text[start : self.offset])
            return
        if is_float:
            value: int | float = float(text) if len(text) <= _LONGEST_NUMBER else float("inf")
            fits = value != float("inf")
        else:
            digits = text.lstrip("0") or "0"
            # One more than INT_MAX is allowed here: a minus in front makes it the smallest int.
            value = int(digits) if len(digits) <= _LONGEST_NUMBER else INT_MAX + 2
            fits = value <= INT_MAX + 1
        if not fits:
            what = "float" if is_float else "64-bit int"
            hints = () if is_float else ("write it as a float, `1e20`, or as text if nothing is computed with it",)
            place = self._span(start, self.offset)
            self.diagnostics.error("DL105", f"this number does not fit into a {what}", place, *hints)
            value = 0
        self._add(TokenKind.FLOAT if is_float else TokenKind.INT, start, text, value)

    def _quoted_name(self, start: int) -> None:
        """Reads a name of any characters, in backquotes on one line."""
        line_end = self._line_end(start)
        end = self.text.find("`", start + 1, line_end)
        name = self.text[start + 1 : line_end if end < 0 else end]
        self.offset = line_end if end < 0 else end + 1
        # An answer is written into a folder of its name, which must not lie anywhere else; and the analysis makes up
        # names of its own, such as `arc (data)`.
        is_taken = name.startswith((".", "(")) or name.endswith(" (data)")
        if end < 0 or is_taken or not name.strip() or not name.isprintable() or re.search(r"[/\\]", name):
            self.diagnostics.error(
                "DL107",
                "this name has no end on its line" if end < 0 else "this is no name",
                self._span(start, self.offset),
                "a name in backquotes ends on its line: `my-table`(X)",
                "it may have any printable characters but `/` and `\\`, and begins with neither `.` nor `(`",
            )
        self.line_has_tokens = True
        self.tokens.append(Token(TokenKind.NAME, name, self._span(start, self.offset), is_quoted=True))

    def _decimal(self, start: int, text: str) -> None:
        """Reads `0.10m`: its value is 10, and its scale what stands behind the point."""
        whole, _, fraction = text[:-1].partition(".")
        value = int(whole + fraction) if len(text) <= _LONGEST_NUMBER else INT_MAX + 2
        if value > INT_MAX + 1 or len(fraction) > LARGEST_SCALE:  # one more has a minus before it, or is refused
            limit = f"64 bits, with {LARGEST_SCALE} digits behind the point at most"
            self.diagnostics.error("DL105", f"this decimal does not fit into {limit}", self._span(start, self.offset))
            value, fraction = 0, ""
        self._add(TokenKind.DECIMAL, start, str(len(fraction)), value)

    def _string(self, start: int, quote: str) -> None:
        line_end = self._line_end(start)
        end = start + 1
        while end < line_end and self.text[end] != quote:
            end += 2 if self.text[end] == "\\" else 1
        if end >= line_end:
            self.diagnostics.error(
                "DL102",
                "this string has no end on its line",
                self._span(start, line_end),
                f"close it with {quote}; write \\n for a line break inside",
            )
            self.offset = self._end_on_next_line(line_end, quote)
            self._add(TokenKind.STRING, start, "", self.text[start + 1 : line_end])
            return
        self.offset = end + 1
        self._add(TokenKind.STRING, start, "", self._unescape(start + 1, end))

    def _end_on_next_line(self, line_end: int, quote: str) -> int:
        """Returns where to go on behind a string without an end: if the next line closes it, behind that."""
        following = self.text[line_end + 1 : self._line_end(line_end + 1)]
        return line_end + 2 + following.index(quote) if following.count(quote) % 2 else line_end

    def _unescape(self, start: int, end: int) -> str:
        raw = self.text[start:end]
        if not raw.isascii():
            self._check_halves(raw, start)
        if "\\" not in raw:
            return raw

        def replace(match: re.Match[str]) -> str:
            high, low, code, letter = match.groups()
            if high is not None:
                return bytes.fromhex(high + low).decode("utf-16-be")
            place = self._span(start + match.start(), start + match.end())
            if code is not None:
                character = chr(int(code, 16))
                if is_half(character):
                    self.diagnostics.error("DL106", f"`{match.group()}` is half of a character", place, _TWO_HALVES)
                return character
            if letter in _ESCAPES:
                return _ESCAPES[letter]
            self.diagnostics.error(
                "DL106",
                f"`{match.group()}` is not an escape",
                place,
                "known are \\n \\t \\r \\0 \\\\ \\\" \\' and \\uXXXX; write \\\\ for a backslash",
            )
            return match.group()

        return _ESCAPE.sub(replace, raw)

    def _check_halves(self, raw: str, start: int) -> None:
        """Reports halves of characters that stand in a text as they are: they have no bytes in UTF-8."""
        for place, character in enumerate(raw, start):
            if is_half(character):
                what = f"\\u{ord(character):04x}"
                span = self._span(place, place + 1)
                self.diagnostics.error("DL106", f"`{what}` is half of a character", span, _TWO_HALVES)

    def _is_in_type(self) -> bool:
        """Tells whether the statement that is being read declares a type, whose branches stand between `|`."""
        for index in range(len(self.tokens) - 1, 1, -1):
            if self.tokens[index].is_symbol("."):
                return False
            if self.tokens[index].is_symbol("="):
                return self.tokens[index - 2].is_word("type") and self.tokens[index - 1].kind is TokenKind.NAME
        return False

    def _unexpected(self, start: int) -> None:
        character = self.text[start]
        if character == "|" and self._is_in_type():
            self.offset = start + 1
            self._add(TokenKind.SYMBOL, start, character)
            return
        self.offset = start + 1
        while self.text[self.offset : self.offset + 1] == character:  # `&&` is one mistake
            self.offset += 1
        run = self.text[start : self.offset]
        shown = f"`{run[:10]}`" if character.isprintable() else repr(character)
        hints = {"$": "a parameter is written $name", "&": "parts of a body are separated by commas"}
        hints |= {"|": "alternatives are separated by `;`", "\\": "a negated atom is written `!p(X)`"}
        hints |= dict.fromkeys("\u2013\u2014\u2212", "a minus, and that of an arrow, is a plain `-`")
        hints |= dict.fromkeys("\u201c\u201d\u201e\u2018\u2019", "text stands in plain quotation marks, \" or '")
        hints["^"] = "X to the power Y is pow(X, Y)"
        notes = [hints[character]] if character in hints else []
        what = "the character " if len(run) == 1 else ""
        self.diagnostics.error("DL101", f"{what}{shown} has no meaning here", self._span(start, self.offset), *notes)
