"""The language server, feature by feature, over standard input and output."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from emberlog.source import Source
from emberlog.syntax.canonical_form import canonical_text
from tests.unit.editor.language_client import Editor, units

FARES = """\
// The fares of one airline,
// in euros.
declare flight(origin: string, target: string, fare: float).

// The cheapest way, however many changes it takes.
cheapest(From, To, min<Fare>) :- flight(From, To, Fare).
cheapest(From, To, min<Fare>) :- cheapest(From, Via, F1), flight(Via, To, F2), Fare = F1 + F2.
far(From, To) :- cheapest(From, To, Fare), Fare > $limit, !near(From, To), len(From) > 2.
near("Berlin", "Potsdam").
cheapest("Berlin", To, Fare)?
"""


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    editor = Editor(tmp_path_factory.mktemp("programs"))
    yield editor
    assert editor.close() == 0


def at(uri: str, position: lsp.Position) -> tuple[lsp.TextDocumentIdentifier, lsp.Position]:
    return lsp.TextDocumentIdentifier(uri), position


def hover(editor: Editor, uri: str, needle: str, ahead: int = 0) -> str:
    found = editor.ask(
        editor.client.text_document_hover_async(lsp.HoverParams(*at(uri, editor.place(uri, needle, ahead))))
    )
    if found is None:
        return ""
    assert isinstance(found.contents, lsp.MarkupContent)
    return found.contents.value


def names(editor: Editor, uri: str, position: lsp.Position) -> dict[str, lsp.CompletionItem]:
    found = editor.ask(editor.client.text_document_completion_async(lsp.CompletionParams(*at(uri, position))))
    assert isinstance(found, lsp.CompletionList)
    return {one.label: one for one in found.items}


# --- diagnostics ----------------------------------------------------------------------------------------------------


def test_errors_are_told_with_their_places_hints_and_explanations(editor: Editor) -> None:
    uri = editor.open("p(X, Totl) :- q(X, Total).\nq(1, 2, 3).\n")
    unbound, arity = editor.diagnostics(uri)
    assert (unbound.code, editor.covered(uri, unbound.range)) == ("DL203", "Totl")
    assert unbound.severity is lsp.DiagnosticSeverity.Error and unbound.source == "emberlog"
    assert "did you mean `Total`?" in unbound.message
    assert arity.code == "DL205"
    (related,) = arity.related_information or ()
    assert (related.location.uri, editor.covered(uri, related.location.range)) == (uri, "q(1, 2, 3)")
    assert unbound.code_description is not None
    address, _, place = unbound.code_description.href.partition("#")
    page = Path(address.removeprefix("file://")).read_text()
    assert place.startswith("dl203-") and "### DL203: " in page


def test_what_is_typed_is_checked_and_told_with_its_version(editor: Editor) -> None:
    uri = editor.open("p(X) :- q(X).\nq(1).\n", "typed.dl")
    assert editor.diagnostics(uri) == []
    editor.type(uri, "p(X)", "p(Y)")
    assert [one.code for one in editor.diagnostics(uri)] == ["DL203"]
    editor.type(uri, "p(Y)", "p(X)")
    assert editor.diagnostics(uri) == []


def test_only_the_last_of_many_keys_is_told(editor: Editor) -> None:
    uri = editor.open("p(1).\n", "keys.dl")
    editor.diagnostics(uri)
    for letter in "q(X) :- p(X), X > 0.":
        text = editor.texts[uri]
        editor.texts[uri] = text + letter
        editor.versions[uri] += 1
        change = lsp.TextDocumentContentChangePartial(lsp.Range(end := lsp.Position(1, len(text) - 6), end), letter)
        identifier = lsp.VersionedTextDocumentIdentifier(uri=uri, version=editor.versions[uri])
        editor.client.text_document_did_change(lsp.DidChangeTextDocumentParams(identifier, [change]))
    assert editor.diagnostics(uri) == []
    told = [one.version for one in editor.published if one.uri == uri]
    assert told == sorted(told, key=lambda version: version or 0) and len(told) < 10


def test_a_closed_program_has_no_errors_any_more(editor: Editor) -> None:
    uri = editor.open("p(X).\n", "closed.dl")
    assert editor.diagnostics(uri)
    editor.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
    editor.versions[uri] = None  # type: ignore[assignment]
    assert editor.diagnostics(uri) == []


# --- places ---------------------------------------------------------------------------------------------------------

STRANGE = (
    'fish("🐟🐠", "e\u0301\u0302").  odd(X) :- fish("🐟🐠", "e\u0301"), fish(X, Y), Z > 1.\r\n'
    "// 🐡\r\nlast(X) :- fish(X, _), U > 2.\n"
)


@pytest.mark.parametrize("encoding", [None, "utf-8", "utf-32"])
def test_places_are_right_behind_characters_of_several_units(tmp_path: Path, encoding: str | None) -> None:
    editor = Editor(tmp_path, [encoding] if encoding else None)
    uri = editor.open(STRANGE)
    told = {one.range.start.line: one.range for one in editor.diagnostics(uri) if one.code == "DL203"}
    line = STRANGE.split("\r\n")[0]
    before = line[: line.index("Z > 1")]
    width = {None: units(before), "utf-8": len(before.encode()), "utf-32": len(before)}[encoding]
    assert told[0] == lsp.Range(lsp.Position(0, width), lsp.Position(0, width + 1))
    assert told[2].start == lsp.Position(2, STRANGE.split("\r\n")[2].index("U > 2"))
    found = editor.ask(editor.client.text_document_hover_async(lsp.HoverParams(*at(uri, lsp.Position(0, width)))))
    assert found is not None and found.range == told[0]
    # What is typed behind them lands where it should.
    change = lsp.TextDocumentContentChangePartial(told[0], "X")
    editor.versions[uri] = 2
    identifier = lsp.VersionedTextDocumentIdentifier(uri=uri, version=2)
    editor.client.text_document_did_change(lsp.DidChangeTextDocumentParams(identifier, [change]))
    codes = [(one.code, one.range.start.line) for one in editor.diagnostics(uri)]
    assert ("DL223", 0) in codes and ("DL203", 0) not in codes
    assert editor.close() == 0


# --- what words stand for -------------------------------------------------------------------------------------------


def test_hovering_over_a_relation(editor: Editor, tmp_path: Path) -> None:
    uri = editor.open(FARES)
    text = hover(editor, uri, "cheapest(From, Via", 3)
    assert "cheapest(From: string, To: string, Fare: float aggregate min)" in text
    assert "The cheapest way, however many changes it takes." in text
    assert "Defined by 2 rules, in lines 6, 7." in text
    assert "Recursive, linear, meet aggregate: " in text
    text = hover(editor, uri, "flight(Via")
    assert "The fares of one airline,\nin euros." in text and "Declared in line 3." in text


def test_hovering_tells_the_rows_of_data_beside_the_program(editor: Editor) -> None:
    facts = editor.folder / "facts"
    facts.mkdir()
    (facts / "flight.csv").write_text("BER,OSL,90.0\nOSL,KEF,80.0\n")
    uri = editor.open(FARES)
    assert "2 lines in `facts/flight.csv`." in hover(editor, uri, "flight(Via")
    import pyarrow as pa
    import pyarrow.parquet as pq

    (facts / "flight.csv").unlink()
    pq.write_table(pa.table({"a": range(1204)}), facts / "flight.parquet")
    assert "1,204 rows in `facts/flight.parquet`." in hover(editor, uri, "flight(Via")


def test_hovering_over_variables_functions_aggregates_and_parameters(editor: Editor) -> None:
    uri = editor.open(FARES)
    assert "Fare: float" in hover(editor, uri, "Fare > $limit")
    assert "len(S)" in hover(editor, uri, "len(From)") and "A function" in hover(editor, uri, "len(From)")
    assert "min<X>" in hover(editor, uri, "min<Fare>") and "smallest" in hover(editor, uri, "min<Fare>")
    assert "--param limit=…" in hover(editor, uri, "$limit", 2)
    assert hover(editor, uri, "// in euros", 4) == ""


def test_an_error_in_one_rule_hides_nothing_of_the_others(editor: Editor) -> None:
    uri = editor.open(FARES.replace("near(", "near(((", 1) + "broken(X :- flight(X, .\n")
    assert editor.diagnostics(uri)
    assert "flight(origin: string" in hover(editor, uri, "flight(Via")
    found = editor.ask(
        editor.client.text_document_definition_async(lsp.DefinitionParams(*at(uri, editor.place(uri, "flight(Via"))))
    )
    assert isinstance(found, list)
    assert [editor.covered(uri, one.range) for one in found if isinstance(one, lsp.Location)] == ["flight"]
    # In the rule that is broken, too.
    assert "flight(origin: string" in hover(editor, uri, "flight(X, .")


def test_going_to_definitions(editor: Editor) -> None:
    uri = editor.open(FARES)

    def lines(needle: str, ahead: int = 0) -> list[int]:
        place = editor.place(uri, needle, ahead)
        found = editor.ask(editor.client.text_document_definition_async(lsp.DefinitionParams(*at(uri, place))))
        assert isinstance(found, list)
        return [one.range.start.line for one in found if isinstance(one, lsp.Location)]

    assert lines("flight(Via") == [2]
    assert lines("cheapest(From, Via") == [5, 6]
    assert lines("near(From") == [8]
    assert lines("To, Fare)?") == [9]
    assert lines("$limit") == [7]


def test_finding_references_and_highlights(editor: Editor) -> None:
    uri = editor.open(FARES)
    place = editor.place(uri, "flight(Via")
    for include, expected in ((True, [2, 5, 6]), (False, [5, 6])):
        params = lsp.ReferenceParams(lsp.ReferenceContext(include), *at(uri, place))
        found = editor.ask(editor.client.text_document_references_async(params))
        assert [one.range.start.line for one in found or ()] == expected
    place = editor.place(uri, "Via, F1")
    marks = editor.ask(
        editor.client.text_document_document_highlight_async(lsp.DocumentHighlightParams(*at(uri, place)))
    )
    assert [editor.covered(uri, one.range) for one in marks or ()] == ["Via", "Via"]
    assert {one.range.start.line for one in marks or ()} == {6}


# --- changes --------------------------------------------------------------------------------------------------------


def rename(editor: Editor, uri: str, needle: str, name: str) -> str:
    params = lsp.RenameParams(*at(uri, editor.place(uri, needle)), new_name=name)
    return editor.changed(uri, editor.ask(editor.client.text_document_rename_async(params)))


def test_renaming(editor: Editor) -> None:
    uri = editor.open(FARES)
    place = editor.place(uri, "cheapest(From, Via", 2)
    prepared = editor.ask(editor.client.text_document_prepare_rename_async(lsp.PrepareRenameParams(*at(uri, place))))
    assert isinstance(prepared, lsp.PrepareRenamePlaceholder) and prepared.placeholder == "cheapest"
    assert rename(editor, uri, "cheapest(From, Via", "best") == FARES.replace("cheapest(", "best(")
    assert rename(editor, uri, "flight(Via", "`my flights`") == FARES.replace("flight(", "`my flights`(")
    lines = FARES.splitlines(keepends=True)
    lines[6] = lines[6].replace("Via", "Stop")
    assert rename(editor, uri, "Via, F1", "Stop") == "".join(lines)
    assert rename(editor, uri, "$limit", "most") == FARES.replace("$limit", "$most")


@pytest.mark.parametrize(
    ("needle", "name"),
    [
        ("Via, F1", "F1"),
        ("Via, F1", "null"),
        ("Via, F1", "_"),
        ("Via, F1", "a b"),
        ("Via, F1", "3"),
        ("Via, F1", ""),
        ("Via, F1", "X), boom(Y"),
        ("flight(Via", "near"),
        ("flight(Via", "true"),
        ("flight(Via", "not"),
        ("near(From", "larger"),
        ("flight(Via", "`a/b`"),
        ("len(From", "size"),
    ],
)
def test_names_that_are_not_legal_are_refused(editor: Editor, needle: str, name: str) -> None:
    uri = editor.open(FARES)
    with pytest.raises(JsonRpcException) as refused:
        rename(editor, uri, needle, name)
    assert "name" in str(refused.value)


def test_formatting_is_that_of_fmt(editor: Editor) -> None:
    untidy = "% kept\np( X ,Y )<-q(X,Y) .   // exit\r\n\n\n\nq(1,2).\n"
    uri = editor.open(untidy)
    options = lsp.FormattingOptions(4, True)
    params = lsp.DocumentFormattingParams(lsp.TextDocumentIdentifier(uri), options)
    edits = editor.ask(editor.client.text_document_formatting_async(params))
    assert editor.edited(uri, list(edits or ())) == canonical_text(Source("x", untidy))
    params.text_document.uri = editor.open("p(X :- q(X).\n")
    assert not editor.ask(editor.client.text_document_formatting_async(params))


@pytest.mark.parametrize(
    ("text", "title", "expected"),
    [
        ("p(Totl) :- q(Total), Total > 1.\n", "Change to `Total`", "p(Total) :- q(Total), Total > 1.\n"),
        ('p(X) :- q(S), X = uper(S).\nq("a").\n', "Change to `upper`", 'p(X) :- q(S), X = upper(S).\nq("a").\n'),
        ("@iteration(3)\np(1).\n", "Change to `@iterations`", "@iterations(3)\np(1).\n"),
        ("p(1)\nq(2).\n", "Put `.` behind it", "p(1).\nq(2).\n"),
        ("p(X) :- q(X, Y).\nq(1, 2).\n", "Write `_`", "p(X) :- q(X, _).\nq(1, 2).\n"),
        ("p(X) :- q(X) && q(X).\nq(1).\n", "Write `,`", "p(X) :- q(X) , q(X).\nq(1).\n"),
        ("reach(1).\np(X) :- reech(X).\n", "Change to `reach`", "reach(1).\np(X) :- reach(X).\n"),
        ("p(X) :- q(X).\nq(1).\nquery pp(X).\n", None, ""),
    ],
)
def test_hints_become_actions(editor: Editor, text: str, title: str | None, expected: str) -> None:
    uri = editor.open(text)
    whole = editor.range(uri, 0, len(text))
    params = lsp.CodeActionParams(lsp.TextDocumentIdentifier(uri), whole, lsp.CodeActionContext([]))
    found = editor.ask(editor.client.text_document_code_action_async(params)) or ()
    actions = {one.title: one for one in found if isinstance(one, lsp.CodeAction)}
    if title is not None:
        assert actions[title].diagnostics and actions[title].kind == lsp.CodeActionKind.QuickFix
        assert editor.changed(uri, actions[title].edit) == expected


# --- what can be written --------------------------------------------------------------------------------------------


def test_completing_in_a_body(editor: Editor) -> None:
    uri = editor.open(FARES + "p(From) :- flight(From, City, F), ch\n")
    end = editor.place(uri, "F), ch", 6)
    found = names(editor, uri, end)
    assert found["From"].detail == "string" and found["From"].kind == lsp.CompletionItemKind.Variable
    assert found["cheapest"].insert_text == "cheapest(${1:From}, ${2:To}, ${3:Fare})"
    assert found["cheapest"].detail == "cheapest(From: string, To: string, Fare: float aggregate min)"
    assert found["upper"].insert_text == "upper($1)" and "Via" not in found
    assert found["From"].sort_text < found["cheapest"].sort_text < found["upper"].sort_text  # type: ignore[operator]


def test_completing_elsewhere(editor: Editor) -> None:
    uri = editor.open(FARES + "p(From, m\n")
    found = names(editor, uri, editor.place(uri, "From, m\n", 7))
    assert found["min"].insert_text == "min<$1>" and "From" in found and "cheapest" not in found
    uri = editor.open(FARES + "@\n")
    assert set(names(editor, uri, editor.place(uri, "@\n", 1))) == {"iterations", "premappable"}
    uri = editor.open(FARES + "p(X) :- near(X, $\n")
    found = names(editor, uri, editor.place(uri, "X, $\n", 4))
    assert set(found) == {"$limit"} and isinstance(edit := found["$limit"].text_edit, lsp.TextEdit)
    assert "near(X, $limit\n" in editor.edited(uri, [edit])
    uri = editor.open(FARES + "declare p(x: \n")
    assert "timestamp" in names(editor, uri, editor.place(uri, "p(x: \n", 5))
    uri = editor.open(FARES + "\n")
    assert {"declare", "cheapest", "flight"} <= set(names(editor, uri, lsp.Position(10, 0)))
    assert names(editor, uri, editor.place(uri, "in euros", 4)) == {}


def test_the_outline(editor: Editor) -> None:
    uri = editor.open(FARES)
    params = lsp.DocumentSymbolParams(lsp.TextDocumentIdentifier(uri))
    found = editor.ask(editor.client.text_document_document_symbol_async(params))
    assert [one.name for one in found or ()] == [
        "flight(origin: string, target: string, fare: float)",
        "cheapest(From, To, min<Fare>)",
        "cheapest(From, To, min<Fare>)",
        "far(From, To)",
        'near("Berlin", "Potsdam")',
        'cheapest("Berlin", To, Fare)?',
    ]


def test_semantic_tokens(editor: Editor) -> None:
    uri = editor.open("declare a(x: int).\np(X) :- a(X), X > abs($n).\n")
    params = lsp.SemanticTokensParams(lsp.TextDocumentIdentifier(uri))
    found = editor.ask(editor.client.text_document_semantic_tokens_full_async(params))
    provider = editor.answer.capabilities.semantic_tokens_provider
    assert found is not None and provider is not None
    line = start = 0
    read = []
    for place in range(0, len(found.data), 5):
        down, right, length, kind, _ = found.data[place : place + 5]
        line, start = line + down, right if down else start + right
        covered = editor.texts[uri].split("\n")[line][start : start + length]
        read.append((covered, provider.legend.token_types[kind]))
    assert read == [
        ("declare", "keyword"),
        ("a", "class"),
        ("x", "property"),
        ("int", "type"),
        ("p", "class"),
        ("X", "variable"),
        ("a", "class"),
        ("X", "variable"),
        ("X", "variable"),
        ("abs", "function"),
        ("$n", "parameter"),
    ]


SOUFFLE = """\
// Arcs of a graph.
.decl arc(x: number, y: number)
.input arc
.decl reach(x: number, y: number)
reach(x, y) :- arc(x, y).
reach(x, z) :- reach(x, y), arc(y, z).
.output reach
"""


def test_a_program_in_souffles_language(editor: Editor) -> None:
    uri = editor.open(SOUFFLE, "souffle.dl")
    assert [one for one in editor.diagnostics(uri) if one.severity is lsp.DiagnosticSeverity.Error] == []
    assert "reach(x: int, y: int)" in hover(editor, uri, "reach(x, y), arc")
    assert "Arcs of a graph." in hover(editor, uri, "arc(y, z)")
    place = editor.place(uri, "arc(y, z)")
    found = editor.ask(editor.client.text_document_definition_async(lsp.DefinitionParams(*at(uri, place))))
    assert isinstance(found, list)
    assert [one.range.start.line for one in found if isinstance(one, lsp.Location)] == [1]
    editor.type(uri, "arc(y, z)", "arc(y, w)")
    assert [one.code for one in editor.diagnostics(uri) if one.severity is lsp.DiagnosticSeverity.Error] == ["DL203"]


# --- what goes wrong ------------------------------------------------------------------------------------------------


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


@pytest.mark.parametrize(
    "noise",
    [
        b"x",
        b"\xff\xfe\x00",
        b"hello\r\n",
        b"Content-Length: many\r\n\r\n",
        framed(b"{"),
        framed(b"[1, 2, 3]"),
        framed(b"\xff\xff"),
        framed(b'{"jsonrpc": "2.0"}'),
        framed(b'{"jsonrpc": "2.0", "id": 77, "method": "textDocument/nothing", "params": {}}'),
        framed(b'{"jsonrpc": "2.0", "id": 78, "method": "textDocument/hover", "params": {"position": 3}}'),
        framed(b'{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {}}'),
        b'Content-Length: 3\r\n\r\n{"jsonrpc": "2.0"}',
    ],
)
def test_noise_does_not_end_the_server(editor: Editor, noise: bytes) -> None:
    assert editor.process.stdin is not None
    editor.process.stdin.write(noise)
    uri = editor.open(FARES)
    assert "cheapest(From: string" in hover(editor, uri, "cheapest(From, Via")


def test_what_is_not_open_is_an_error_of_the_request(editor: Editor) -> None:
    with pytest.raises(JsonRpcException, match="is not open"):
        editor.ask(
            editor.client.text_document_hover_async(
                lsp.HoverParams(lsp.TextDocumentIdentifier("file:///nowhere.dl"), lsp.Position(0, 0))
            )
        )


def test_places_that_are_not_in_the_text_are_no_error(editor: Editor) -> None:
    uri = editor.open("p(1).\n")
    for place in (lsp.Position(99, 0), lsp.Position(0, 999), lsp.Position(1, 5)):
        assert editor.ask(editor.client.text_document_hover_async(lsp.HoverParams(*at(uri, place)))) is None
