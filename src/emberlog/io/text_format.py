"""Says how text files spell their rows: header, delimiter, encoding, null and quotes.

What a person says of them is in `TextOptions`, and is the same for every reader; what is left open is usual for the
kind of the file. `.csv` and `.tsv` are quoted as in RFC 4180; `.facts` is raw: every character between two tabs counts.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass, fields

from emberlog.diagnostics import fail
from emberlog.io.paths import DELIMITERS

NULL = r"\N"
RAW_KINDS = (".facts",)


@dataclass(frozen=True, slots=True)
class TextOptions:
    """Holds what a person says of text files; None is what is usual for their kind."""

    header: bool | None = None
    delimiter: str | None = None
    encoding: str | None = None
    null: str | None = None
    quote: str | None = None
    """The character that cells may stand between; none if it is empty."""

    def __post_init__(self) -> None:
        if self.delimiter == r"\t":  # as a shell hands it over
            object.__setattr__(self, "delimiter", "\t")
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '\r\n\0"'):
            raise fail("DL425", f"the delimiter {self.delimiter!r} is not one character that can separate cells")
        if self.quote is not None and (len(self.quote) > 1 or self.quote in ("\r", "\n", "\0", self.delimiter)):
            hint = 'it is usually `"`; an empty text says that there are no quotes'
            raise fail(
                "DL425", f"the quote {self.quote!r} is not one character that cells can stand between", None, hint
            )
        if self.null is not None and any(character in self.null for character in "\r\n"):
            raise fail("DL425", f"the null text {self.null!r} goes over several lines")
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                hint = "usual ones are utf-8, latin-1, cp1252 and utf-16"
                raise fail("DL425", f"there is no encoding `{self.encoding}`", None, hint) from None

    @property
    def given(self) -> list[str]:
        """Lists the options that somebody has set."""
        return [one.name for one in fields(self) if getattr(self, one.name) is not None]

    def of_kind(self, kind: str) -> TextFormat:
        """Returns how files of a kind such as `.csv` are spelled."""
        encoding = codecs.lookup(self.encoding or "utf-8").name
        return TextFormat(
            header=bool(self.header),
            may_have_header=self.header is None,
            delimiter=self.delimiter or DELIMITERS[kind],
            encoding="utf-8-sig" if encoding == "utf-8" else encoding,
            null=NULL if self.null is None else self.null,
            quote=self.quote if self.quote is not None else "" if kind in RAW_KINDS else '"',
        )


@dataclass(frozen=True, slots=True)
class TextFormat:
    """Says how the rows of a text file are spelled."""

    header: bool
    may_have_header: bool
    """Whether nobody has said if the first line has the names of the columns."""
    delimiter: str
    encoding: str
    """As Python calls it; `utf-8-sig` also reads UTF-8 without a mark."""
    null: str
    quote: str

    @property
    def encoding_shown(self) -> str:
        return "UTF-8" if self.encoding == "utf-8-sig" else self.encoding


USUAL = TextOptions()
