"""What words and signs of a program look like, for tools that colour text: the Pygments lexer, the TextMate grammar,
the editor of the studio and the cells of JupyterLab.

All are made of these rules, whose words come from the tables of the language. The patterns mean the same to Python and
to Oniguruma, which editors use; a browser gets them in its own spelling. The first rule that agrees at a place counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files

from emberlog.datatypes import TYPE_NAMES
from emberlog.language.registry import AGGREGATES, PROCEDURES, SCALAR_FUNCTIONS
from emberlog.syntax.vocabulary import AGGREGATE_NAMES, ANNOTATIONS, LITERALS

NAME = r"[^\W\d]\w*"
_DIGITS = r"\d+(?:_\d+)*"


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern, and for each of its groups (or for all of it) a scope of TextMate and a token of Pygments."""

    pattern: str
    scopes: tuple[str, ...]
    tokens: tuple[str, ...]

    @property
    def has_groups(self) -> bool:
        return len(self.scopes) > 1


def _one(pattern: str, scope: str, token: str) -> Rule:
    return Rule(pattern, (scope,), (token,))


def _any(words: Iterable[str]) -> str:
    """Returns the pattern of one of the words, longer ones first."""
    return "|".join(sorted(words, key=lambda word: (-len(word), word)))


def _in_both_cases(words: Iterable[str]) -> str:
    return _any(form for word in words for form in (word, word.upper()))


_LONE_AGGREGATES = [name for name in AGGREGATE_NAMES if name not in SCALAR_FUNCTIONS]
_OPERATOR_WORDS = ("not", "and", "or", "in", "between", "like", "div", "mod")
_COLUMN_ENDS = r"(?:\s*[,)]|\s+(?i:aggregate)\b)"

ESCAPE = r"\\(?:u[0-9a-fA-F]{4}|.)"

BLOCK_COMMENT = (r"/\*", r"\*/")
COMMENT_SCOPE, BLOCK_SCOPE = "comment.line", "comment.block"

LINE_COMMENTS = (
    Rule(r"^([^\S\n]*)([%#][^\n]*)", ("", "comment.line.percentage"), ("Text", "Comment.Single")),
    _one(r"//[^\n]*", "comment.line.double-slash", "Comment.Single"),
)

STRINGS = (
    _one(r'"(?:[^"\\\n]|\\.)*"', "string.quoted.double", "String.Double"),
    _one(r"'(?:[^'\\\n]|\\.)*'", "string.quoted.single", "String.Single"),
)

RULES = (
    _one(r"`[^`\n]*`", "entity.name.function.quoted", "Name.Function"),
    _one(rf"{_DIGITS}(?:\.{_DIGITS})?m\b", "constant.numeric.decimal", "Number.Float"),
    _one(rf"{_DIGITS}\.{_DIGITS}(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+", "constant.numeric.float", "Number.Float"),
    _one(r"0[xX][0-9a-fA-F]+(?:_[0-9a-fA-F]+)*|0[bB][01]+(?:_[01]+)*", "constant.numeric.integer.based", "Number.Hex"),
    _one(_DIGITS, "constant.numeric.integer", "Number.Integer"),
    _one(rf"\${NAME}", "variable.parameter", "Name.Variable.Global"),
    Rule(
        rf"(@)({_any(ANNOTATIONS)})\b",
        ("punctuation.definition.annotation", "storage.modifier.annotation"),
        ("Punctuation", "Name.Decorator"),
    ),
    _one(rf"(?i:{_any(LITERALS)})\b", "constant.language", "Keyword.Constant"),
    Rule(
        rf"(:)(\s*)((?i:{_any([*TYPE_NAMES, 'decimal'])}))\b(?!\s*\"|\()",
        ("punctuation.separator", "", "support.type"),
        ("Punctuation", "Text", "Keyword.Type"),
    ),
    _one(r"(?i:decimal)\b(?=\(\d+\s*(?:,\s*\d+\s*)?\)(?:\s*[,)]|\s+[^\W\d]))", "support.type", "Keyword.Type"),
    _one(
        rf"(?i:{_any(TYPE_NAMES)})\b(?=\s+(?!(?i:{_any((*_OPERATOR_WORDS, 'aggregate'))})\b){NAME}{_COLUMN_ENDS})",
        "support.type",
        "Keyword.Type",
    ),
    _one(r'(?i:date|timestamp)\b(?=\s*")', "support.type", "Keyword.Type"),
    _one(rf"(?i:declare|stream|relation|query)\b(?=\s+(?:{NAME}|`))", "keyword.other", "Keyword.Declaration"),
    _one(rf"(?i:type)\b(?=\s+{NAME}\s*(?:=|<:))", "keyword.other", "Keyword.Declaration"),
    _one(r"(?i:window)\b(?=\s*\()", "keyword.other", "Keyword"),
    Rule(
        rf"((?i:aggregate))(\s+)({NAME})",
        ("keyword.other", "", "support.function.aggregate"),
        ("Keyword", "Text", "Name.Builtin"),
    ),
    _one(rf"(?:{_in_both_cases(_OPERATOR_WORDS)})\b(?!\s*:(?!-))", "keyword.operator.word", "Operator.Word"),
    _one(rf"(?i:{_any(AGGREGATE_NAMES)})(?=<(?![-=>]))", "support.function.aggregate", "Name.Builtin"),
    _one(rf"(?i:{_any(_LONE_AGGREGATES)})\b(?=\()", "support.function.aggregate", "Name.Builtin"),
    _one(rf"(?:{_any([*SCALAR_FUNCTIONS, *PROCEDURES])})\b(?=\s*\()", "support.function", "Name.Builtin"),
    _one(rf"{NAME}(?=\s*\()", "entity.name.function", "Name.Function"),
    _one(rf"{NAME}(?=\s*:(?!-))", "variable.other.member", "Name.Attribute"),
    _one(r"_\b", "variable.language.anonymous", "Name.Variable.Magic"),
    _one(NAME, "variable.other", "Name.Variable"),
    _one(r":-|<-|←|⇐", "keyword.operator.rule", "Operator"),
    _one(r"<=|>=|!=|<>|==|[⟨⟩〈〉‹›≤≥≠¬~<>=!+\-*/%|]", "keyword.operator", "Operator"),
    _one(r"[.,;:?()@{}\[\]#]", "punctuation", "Punctuation"),
)
"""All that is neither a comment nor a text."""

assert set(AGGREGATES) <= set(AGGREGATE_NAMES)


def textmate_grammar() -> dict[str, object]:
    """Returns the grammar for editors. Its text is written by docs/generate.py."""
    comments = [_pattern(rule) for rule in LINE_COMMENTS]
    begin, end = BLOCK_COMMENT
    block = {"name": f"{BLOCK_SCOPE}.datalog", "begin": begin, "end": end}
    escapes = {"0": {"patterns": [{"match": ESCAPE, "name": "constant.character.escape.datalog"}]}}
    strings = [{**_pattern(rule), "captures": escapes} for rule in STRINGS]
    return {
        "name": "Datalog",
        "scopeName": "source.datalog",
        "fileTypes": ["dl"],
        "patterns": [*comments, block, *strings, *(_pattern(rule) for rule in RULES)],
    }


def _pattern(rule: Rule) -> dict[str, object]:
    if not rule.has_groups:
        return {"name": f"{rule.scopes[0]}.datalog", "match": rule.pattern}
    captures = {str(index): {"name": f"{one}.datalog"} for index, one in enumerate(rule.scopes, start=1) if one}
    return {"match": rule.pattern, "captures": captures}


_CODEMIRROR = {
    "constant.numeric": "number",
    "variable.parameter": "atom",
    "storage.modifier": "keyword",
    "constant.language": "keyword",
    "support.type": "keyword",
    "keyword.other": "keyword",
    "keyword.operator.word": "keyword",
    "keyword.operator.rule": "keyword",
    "entity.name.function": "variableName",
    "support.function": "variableName",
    "variable.other": "variableName",
}
"""What CodeMirror calls the words of a scope. Names have no colour of their own, but are words to complete."""


def codemirror_rules() -> list[tuple[str, str | None]]:
    """Returns the rules for what is neither a comment nor a text as patterns of JavaScript, each with the name that
    CodeMirror has for what it finds."""
    found = []
    for rule in RULES:
        scope = rule.scopes[-1]
        kind = next((one for prefix, one in _CODEMIRROR.items() if scope.startswith(prefix)), None)
        found.append((f"^(?:{_in_javascript(rule.pattern)})", kind))
    return found


def codemirror_script() -> str:
    """Returns a script of JavaScript in which `datalog` reads programs for CodeMirror, word by word."""
    reader = files("emberlog.editor").joinpath("codemirror.js").read_text(encoding="utf-8")
    return f"const RULES = {json.dumps(codemirror_rules(), ensure_ascii=False)};\n{reader}"


def _in_javascript(pattern: str) -> str:
    """Spells a pattern for JavaScript, with its flag `u`: words in any case, and letters of all languages."""
    in_any_case = re.sub(r"\(\?i:([^()]*)\)", lambda found: f"(?:{_of_any_case(found[1])})", pattern)
    letters = in_any_case.replace(r"[^\W\d]", r"[\p{L}_]").replace(r"\w", r"[\p{L}\p{N}_]")
    return letters.replace(r"\"", '"')


def _of_any_case(words: str) -> str:
    return "".join(f"[{one.lower()}{one.upper()}]" if one.isalpha() else one for one in words)
