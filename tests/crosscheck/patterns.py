"""Regular expressions with their meaning: each as RE2 reads it, beside one that says the same in Python's terms.

Where the two syntaxes agree they are still written twice, so that no engine's reading is taken for granted.
"""

from __future__ import annotations

import re

_SAME = ("a*", "(a|ab)(c|bcd)?", "[ab]+", "a{2}", "(?:a|b)*", "[0-9]+", "[^a]*", "a?b?", "(12|1)2?", "[a-z]{1,3}", "")

MEANINGS: dict[str, str | None] = {
    **{pattern: pattern for pattern in _SAME},
    ".*": "[^\n]*",
    ".": "[^\n]",
    "..": "[^\n][^\n]",
    "(?s).*": "(?:.|\n)*",
    "a.b": "a[^\n]b",
    "[[:digit:]]+": "[0-9]+",
    "[[:alpha:]]+": "[A-Za-z]+",
    "[^[:alpha:]]*": "[^A-Za-z]*",
    r"\d+": "[0-9]+",
    r"\w*": "[0-9A-Za-z_]*",
    r"\s*\d+\s*": "[\t\n\f\r ]*[0-9]+[\t\n\f\r ]*",
    r"\W+": "[^0-9A-Za-z_]+",
    "fo{x}b.*": r"fo\{x\}b[^\n]*",
    "^a$": "a",
    "a$": "a",
    r"a\.b": "a[.]b",
    r"\Qa+b\E": r"a\+b",
    "(?i)AB": "[aA][bB]",
    "(?i)k": "[kK\u212a]",
    "(a+)+b": "a+b",
    "(x+x+)+y": "xx+y",
    "é": "\u00e9",
    "😀+": "(?:😀)+",
    "[😀-😎]": "[😀-😎]",
    "(": None,
    "a)": None,
    "[a": None,
    "*a": None,
    "a**": None,
    "[z-a]": None,
    r"(a)\1": None,
    "(?=a)b": None,
    "a{2,1}": None,
    "a{1001}": None,
    "\\": None,
}
"""None where RE2 refuses the pattern."""

_COMPILED = {pattern: None if said is None else re.compile(said) for pattern, said in MEANINGS.items()}

VALID = tuple(pattern for pattern, said in MEANINGS.items() if said is not None)


class NoPattern(Exception):
    """The text is not a regular expression."""


def fits(text: str, pattern: str) -> bool:
    """Tells whether the whole text fits one of the patterns above."""
    compiled = _COMPILED[pattern]
    if compiled is None:
        raise NoPattern
    return compiled.fullmatch(text) is not None


# --- what is found inside a text ------------------------------------------------------------------------------------

FOUND: dict[str, tuple[str, int]] = {
    "[0-9]+": ("[0-9]+", 0),
    r"\d": ("[0-9]", 0),
    r"(\d+)\.(\d+)": ("([0-9]+)[.]([0-9]+)", 2),
    "a(b)?": ("a(b)?", 1),
    "(a|ab)(c|bcd)?": ("(a|ab)(c|bcd)?", 2),
    ".": ("[^\n]", 0),
    "(.)(.)": ("([^\n])([^\n])", 2),
    "[[:alpha:]]+": ("[A-Za-z]+", 0),
    "(?i)(k|s)": ("([kK\u212asS\u017f])", 1),
    r"\s+": ("[\t\n\f\r ]+", 0),
    "x{2,5}": ("x{2,5}", 0),
    "[^a-z]": ("[^a-z]", 0),
    "(😀)": ("(😀)", 1),
    "$1": ("(?!)", 0),
}
"""Patterns that find no empty text, each with its meaning in Python's terms and the number of its groups."""

NEW = ("", "x", r"<\0>", r"\1\1", r"\2-\1", "\\\\", "$1", "😀")
"""What found text is replaced by."""


def groups_of(new: str) -> int:
    """The largest group that a replacement speaks of."""
    return max((int(digit) for digit in re.findall(r"\\([0-9])", new)), default=0)


def first_found(text: str, pattern: str, group: int = 0) -> str:
    found = re.search(FOUND[pattern][0], text)
    return (found[group] or "") if found else ""


def replaced(text: str, pattern: str, new: str) -> str:
    def written(found: re.Match[str]) -> str:
        return re.sub(r"\\(.)", lambda escape: "\\" if escape[1] == "\\" else found[int(escape[1])] or "", new)

    return re.sub(FOUND[pattern][0], written, text)


LIKES = (
    "%",
    "_",
    "",
    "a%",
    "%b",
    "%a%",
    "a_b",
    "_%_",
    "%%a",
    r"\%",
    r"%\_%",
    "\\\\d",
    "1%2",
    "__",
    "%x_x%",
    "😀%",
    "A%",
    "a\\",
)


def is_like(text: str, pattern: str) -> bool:
    """Tells whether a text fits as SQL means it, tried letter by letter."""
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(is_like(text[place:], pattern[1:]) for place in range(len(text) + 1))
    letter, rest = (pattern[1], pattern[2:]) if pattern[0] == "\\" and pattern[1:] else (pattern[0], pattern[1:])
    is_any = pattern[0] == "_"
    return bool(text) and (is_any or text[0] == letter) and is_like(text[1:], rest)
