from emberlog.diagnostics import Diagnostics
from emberlog.source import Source
from emberlog.syntax.lexer import TokenKind, tokenize


def texts(text: str) -> list[str]:
    diagnostics = Diagnostics()
    tokens, _ = tokenize(Source("t", text), diagnostics)
    assert not diagnostics.found
    return [token.text for token in tokens if token.kind is not TokenKind.END]


def errors(text: str) -> list[str]:
    diagnostics = Diagnostics()
    tokenize(Source("t", text), diagnostics)
    return [diagnostic.code for diagnostic in diagnostics.found]


def test_a_full_stop_behind_a_number_ends_the_statement() -> None:
    assert texts("X = 1. Y = 1.5.") == ["X", "=", "1", ".", "Y", "=", "1.5", "."]


def test_every_arrow_and_comparison_has_one_spelling() -> None:
    assert texts("← ≤ ≥ ≠ <> ~= == ¬ ~ ⟨ ⟩") == [":-", "<=", ">=", "!=", "!=", "!=", "=", "!", "!", "<", ">"]


def test_percent_and_hash_begin_a_comment_only_at_the_start_of_a_line() -> None:
    diagnostics = Diagnostics()
    tokens, comments = tokenize(Source("t", "  % one\n# two\nX % 2, p(#x) // three\n/* four\n */"), diagnostics)
    assert [comment.text for comment in comments] == ["% one", "# two", "// three", "/* four\n */"]
    assert [comment.trailing for comment in comments] == [False, False, True, False]
    assert [token.text for token in tokens[:-1]] == ["X", "%", "2", ",", "p", "(", "#", "x", ")"]


def test_strings_have_escapes() -> None:
    tokens, _ = tokenize(Source("t", r'"a\n\"b\u00e9" ' + r"'it\'s'"), Diagnostics())
    assert [token.value for token in tokens[:-1]] == ['a\n"bé', "it's"]


def test_what_cannot_be_read_is_reported_and_skipped() -> None:
    assert errors("p(1) ^ q(2)") == ["DL101"]
    assert errors('p("a') == ["DL102"]
    assert errors("/* p") == ["DL103"]
    assert errors("p(12ab)") == ["DL104"]
    assert errors("p(9223372036854775809)") == ["DL105"]
    assert errors("p(" + "9" * 10_000 + ")") == ["DL105"]
    assert errors("p(1e999)") == ["DL105"]
    assert errors(r'p("\q")') == ["DL106"]


def test_names_may_use_any_letters() -> None:
    assert texts("größe(Δx, _, x_1)") == ["größe", "(", "Δx", ",", "_", ",", "x_1", ")"]
