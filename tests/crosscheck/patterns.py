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
