"""Pygments and the grammar of editors see the same words and signs as the language, in all programs that there are."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest
from docs import generate
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Token, _TokenType

from emberlog.diagnostics import Diagnostics
from emberlog.editor.pygments_lexer import DatalogLexer, highlight_cells
from emberlog.editor.token_rules import RULES, codemirror_rules, textmate_grammar
from emberlog.source import Source
from emberlog.syntax.lexer import TokenKind, tokenize
from tests.test_documentation import DOCUMENTS, FENCE
from tests.unit.editor.textmate import Grammar

ROOT = Path(__file__).parents[3]
EXTENSION = ROOT / "editors" / "vscode"

PROGRAMS = sorted(
    path for folder in ("tests/golden", "examples", "benchmarks/workloads") for path in (ROOT / folder).rglob("*.dl")
)
"""With those that have errors, and those of other systems that are beside ours in benchmarks."""


def blocks() -> list[str]:
    """The programs in the documentation."""
    texts = [document.read_text(encoding="utf-8") for document in DOCUMENTS]
    return [body for text in texts for _, title, body in FENCE.findall(text) if title.split()[:1] == ["datalog"]]


def corpus() -> list[str]:
    """All programs whose words the language can read."""
    texts = [path.read_bytes().decode("utf-8", "replace") for path in PROGRAMS if path.name != "souffle.dl"]
    return [text for text in (*texts, *blocks()) if is_readable(text)]


def is_readable(text: str) -> bool:
    diagnostics = Diagnostics()
    tokenize(Source("program", text), diagnostics)
    return not diagnostics.found


CORPUS = corpus()

Kinds = list[tuple[int, int, str]]
"""Stretches of a text, and what they are: a comment, a text, a number, a name, a parameter or a sign."""

_KINDS = {
    TokenKind.NAME: "name",
    TokenKind.INT: "number",
    TokenKind.FLOAT: "number",
    TokenKind.DECIMAL: "number",
    TokenKind.STRING: "text",
    TokenKind.PARAMETER: "parameter",
    TokenKind.SYMBOL: "sign",
}


def of_language(text: str) -> Kinds:
    tokens, comments = tokenize(Source("program", text), Diagnostics())
    found = [(one.span.start, one.span.end, _KINDS[one.kind]) for one in tokens if one.kind is not TokenKind.END]
    return sorted([*found, *((one.span.start, one.span.end, "comment") for one in comments)])


def of_pygments(text: str) -> Kinds:
    found = []
    for start, type_, covered in DatalogLexer().get_tokens_unprocessed(text):
        kind = _kind_of_token(type_)
        if kind is not None and covered:
            found.append((start, start + len(covered), kind))
    return joined(found)


def _kind_of_token(type_: _TokenType) -> str | None:
    assert type_ is not Token.Error
    kinds: tuple[tuple[_TokenType, str], ...] = (
        (Comment, "comment"),
        (String, "text"),
        (Number, "number"),
        (Operator.Word, "name"),
        (Operator, "sign"),
        (Punctuation, "sign"),
        (Name.Variable.Global, "parameter"),
        (Name, "name"),
        (Keyword, "name"),
    )
    return next((kind for token, kind in kinds if type_ in token), None)


def of_scopes(scoped: Iterable[tuple[int, int, str]]) -> Kinds:
    found = [(start, end, kind) for start, end, scope in scoped if end > start and (kind := _kind_of_scope(scope))]
    return joined(found)


def _kind_of_scope(scope: str) -> str | None:
    if scope.startswith("keyword.operator"):
        return "name" if ".word" in scope else "sign"
    kinds = {"comment": "comment", "string": "text", "constant.character": "text", "constant.numeric": "number"}
    kinds |= {"variable.parameter": "parameter", "punctuation": "sign", "source": ""}
    return next((kind for begin, kind in kinds.items() if scope.startswith(begin)), "name") or None


def joined(found: Kinds) -> Kinds:
    """Puts together the pieces of one text, one comment, and the sign and the name of a parameter."""
    result: Kinds = []
    for start, end, kind in found:
        if result and kind in ("text", "comment") and result[-1][1:] == (start, kind):
            result[-1] = (result[-1][0], end, kind)
        else:
            result.append((start, end, kind))
    return result


def signs_apart(text: str, found: Kinds) -> set[tuple[int, int, str]]:
    """Returns the stretches without the ends of lines, which an engine does not see, and of two texts or comments side
    by side one: no tool keeps them apart by a colour."""
    stripped = [(start, start + len(text[start:end].rstrip()), kind) for start, end, kind in found]
    by_line = [
        (start + piece.start(), start + piece.end(), kind)
        for start, end, kind in joined(stripped)
        for piece in re.finditer(r"[^\n]*[^\n\s]", text[start:end])
        if piece.group().strip()
    ]
    return set(by_line)


def test_the_corpus_is_there() -> None:
    assert len(CORPUS) > 500 and len(blocks()) > 100


def differing(read: Iterable[tuple[str, Kinds]]) -> list[str]:
    found = []
    for text, kinds in read:
        difference = sorted(signs_apart(text, kinds) ^ signs_apart(text, of_language(text)))
        if difference:
            start, end, kind = difference[0]
            found.append(f"{kind} {text[start:end]!r} in {text[max(0, start - 30) : end + 30]!r}")
    return found


def test_pygments_sees_what_the_language_sees() -> None:
    assert differing((text, of_pygments(text)) for text in CORPUS) == []


def test_the_grammar_sees_what_the_language_sees() -> None:
    grammar = Grammar(textmate_grammar())
    assert differing((text, of_scopes(grammar.read(text))) for text in CORPUS) == []


def test_the_grammar_is_that_of_the_language() -> None:
    assert generate.GRAMMAR.read_text(encoding="utf-8") == generate.grammar(), "run python3 dev.py docs"


def test_cells_of_jupyterlab_are_read_as_the_language_is() -> None:
    assert generate.READER.read_text(encoding="utf-8") == generate.reader(), "run python3 dev.py docs"


@pytest.mark.skipif("EMBERLOG_EXTENSION" not in os.environ, reason="python3 dev.py extension runs it")
def test_the_engine_of_editors_sees_what_the_language_sees(tmp_path: Path) -> None:
    programs = tmp_path / "programs.json"
    programs.write_text(json.dumps(CORPUS), encoding="utf-8")
    done = subprocess.run(["node", "tokens.mjs", str(programs)], cwd=EXTENSION, capture_output=True, check=True)
    read: list[list[tuple[int, int, str]]] = json.loads(done.stdout)
    assert len(read) == len(CORPUS)
    assert differing((text, of_scopes(scoped)) for text, scoped in zip(CORPUS, read, strict=True)) == []


# --- Pygments -------------------------------------------------------------------------------------------------------


INSTALLED = {one.name for one in entry_points(group="pygments.lexers")}


def test_the_package_brings_the_lexer() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (place,) = project["entry-points"]["pygments.lexers"].values()
    assert EntryPoint("datalog", place, "pygments.lexers").load() is DatalogLexer


@pytest.mark.skipif("datalog" not in INSTALLED, reason="the environment is older than the entry point")
def test_pygments_finds_the_lexer() -> None:
    for lexer in (get_lexer_by_name("datalog"), get_lexer_by_name("emberlog"), get_lexer_for_filename("fares.dl")):
        assert type(lexer) is DatalogLexer


def tokens_of(text: str) -> dict[str, _TokenType]:
    return {covered: type_ for _, type_, covered in DatalogLexer().get_tokens_unprocessed(text) if covered.strip()}


def test_words_are_coloured_by_what_they_stand_for() -> None:
    rule = '@iterations(3) far(From, min<Fare>) :- not near(X), len(From) > $n, Int = date "2026-01-05".'
    found = tokens_of(rule)
    assert found["iterations"] is Name.Decorator
    assert found["far"] is Name.Function and found["min"] is Name.Builtin and found["len"] is Name.Builtin
    assert found["From"] is Name.Variable and found["Int"] is Name.Variable
    assert found["not"] is Operator.Word and found["$n"] is Name.Variable.Global and found["date"] is Keyword.Type
    found = tokens_of("declare price(item: string, float cost aggregate min, left: decimal(2)).")
    assert found["declare"] is Keyword.Declaration and found["item"] is Name.Attribute
    assert {found[word] for word in ("string", "float", "decimal")} == {Keyword.Type}
    assert found["aggregate"] is Keyword and found["min"] is Name.Builtin


def test_a_fence_and_a_cell_are_coloured() -> None:
    page = highlight('%%datalog fares --engine local\np(X) :- q(X, "a\\n").\n', DatalogLexer(), HtmlFormatter())
    assert '<span class="cp">%%datalog</span>' in page and '<span class="se">\\n</span>' in page


def test_the_terminal_of_ipython_colours_cells() -> None:
    class Lexer:
        magic_lexers: dict[str, object] = {}  # noqa: RUF012

    class App:
        lexer = Lexer()

    class Shell:
        pt_app = App()

    highlight_cells(Shell())
    assert set(App.lexer.magic_lexers) == {"datalog"}
    highlight_cells(object())  # a notebook has no terminal


def test_broken_texts_are_read_to_their_end() -> None:
    for text in ('p("a', "/* x", "`q", "p(1e", "'", "\\", "p(X) :- \x00"):
        assert "".join(covered for _, _, covered in DatalogLexer().get_tokens_unprocessed(text)) == text


IN_NODE = """
const [rules, texts] = JSON.parse(require("fs").readFileSync(0, "utf-8"));
const patterns = rules.map(pattern => new RegExp(pattern, "u"));
const read = text => {
  const place = patterns.findIndex(one => one.test(text));
  return place < 0 ? [place, 0] : [place, [...patterns[place].exec(text)[0]].length];
};
console.log(JSON.stringify(texts.map(read)));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node.js, which reads patterns of JavaScript")
def test_a_browser_reads_the_patterns_as_python_does() -> None:
    """Word by word, as the editor of the studio does: each with the rest of its line."""
    kinds = ("name", "number", "parameter", "sign")
    texts = {
        text[start:].partition("\n")[0] for text in CORPUS for start, _, kind in of_language(text) if kind in kinds
    }
    texts |= {"0xFFm", "1_000.50m", "NULL)", "Größe(X)", "ß_1 :- x", "type T = $a()", "`a b`(X)", "Type: x", "§"}
    by_python = []
    for text in (ordered := sorted(texts)):
        matches = ((place, re.match(rule.pattern, text)) for place, rule in enumerate(RULES))
        found = next(((place, match.end()) for place, match in matches if match), (-1, 0))
        by_python.append(list(found))
    given = json.dumps([[pattern for pattern, _ in codemirror_rules()], ordered])
    done = subprocess.run(["node", "-e", IN_NODE], input=given, capture_output=True, text=True, check=True)
    assert len(ordered) > 2_000
    assert json.loads(done.stdout) == by_python
