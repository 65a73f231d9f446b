"""Colours programs for Pygments: in documentation, in Markdown fences, in terminals, and in cells of IPython.

Pygments finds it by the entry point in pyproject.toml, under the names `datalog` and `emberlog`, and by files `*.dl`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pygments.lexer import RegexLexer, bygroups
from pygments.token import Token, string_to_tokentype

from emberlog.editor.token_rules import BLOCK_COMMENT, ESCAPE, LINE_COMMENTS, RULES, STRINGS, Rule

MAGIC = "datalog"
"""The name of the cell magic whose cells are programs."""


def _in_pygments(rule: Rule) -> tuple[str, Any]:
    tokens = [string_to_tokentype(token) for token in rule.tokens]
    return rule.pattern, bygroups(*tokens) if rule.has_groups else tokens[0]


def _text(rule: Rule) -> tuple[str, Any, str]:
    """Returns the rule for the first mark of a text that ends on its line; a state of its own reads the rest."""
    mark = rule.pattern[0]
    return f"(?={rule.pattern}){mark}", string_to_tokentype(rule.tokens[0]), f"text {mark}"


def _inside(rule: Rule) -> list[Any]:
    mark, token = rule.pattern[0], string_to_tokentype(rule.tokens[0])
    return [(ESCAPE, Token.String.Escape), (rf"[^\\{mark}\n]+", token), (mark, token, "#pop")]


class DatalogLexer(RegexLexer):  # type: ignore[misc]  # Pygments has no types
    """Reads programs, and cells of notebooks that begin with `%%datalog`."""

    name = "Datalog"
    aliases: ClassVar[list[str]] = ["datalog", "emberlog"]
    filenames: ClassVar[list[str]] = ["*.dl"]
    mimetypes: ClassVar[list[str]] = ["text/x-datalog"]
    url = ""
    version_added = ""

    tokens: ClassVar[dict[str, list[Any]]] = {
        "root": [
            (rf"\A(\s*)(%%{MAGIC}\b)([^\n]*)", bygroups(Token.Text, Token.Comment.Preproc, Token.Comment.Single)),
            *map(_in_pygments, LINE_COMMENTS),
            (rf"{BLOCK_COMMENT[0]}(?:.|\n)*?(?:{BLOCK_COMMENT[1]}|\Z)", Token.Comment.Multiline),
            *map(_text, STRINGS),
            *map(_in_pygments, RULES),
            (r"\n|[^\S\n]+", Token.Text.Whitespace),
        ],
        **{f"text {rule.pattern[0]}": _inside(rule) for rule in STRINGS},
    }


def highlight_cells(shell: Any) -> None:
    """Colours `%%datalog` cells in the terminal of IPython; elsewhere it does nothing."""
    lexer = getattr(getattr(shell, "pt_app", None), "lexer", None)
    magics = getattr(lexer, "magic_lexers", None)
    if magics is not None:
        from prompt_toolkit.lexers import PygmentsLexer

        magics[MAGIC] = PygmentsLexer(DatalogLexer)
