"""Measures how soon an editor knows what is wrong with a program: from a key to the diagnostics, over standard input
and output of `emberlog lsp`; beside it, what checking alone takes in one process."""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from emberlog.semantics.analysis import examine
from emberlog.source import Source
from emberlog.syntax.parser import parse_tolerantly

_MODULE = """\
// Routes of region {n}.
declare {p}_road(from: string, to: string, cost: float).
{p}_reach(X, Y) :- {p}_road(X, Y, _).
{p}_reach(X, Z) :- {p}_reach(X, Y), {p}_road(Y, Z, Cost), Cost > 0.5.
{p}_cheapest(X, Y, min<Cost>) :- {p}_road(X, Y, Cost).
{p}_cheapest(X, Z, min<Cost>) :- {p}_cheapest(X, Y, A), {p}_road(Y, Z, B), Cost = A + B * 1.5 - 0.25.
{p}_degree(X, count<Y>) :- {p}_reach(X, Y).
{p}_far(X, Y, Way) :- {p}_cheapest(X, Y, C), {p}_degree(X, N), Way = C / (N + 1) + abs(C - 3.0), !{p}_near(X, Y).
{p}_near(X, Y) :- {p}_road(X, Y, Cost), Cost < 1.0; {p}_road(Y, X, Cost), Cost < 0.5.
{p}_label(X, Label) :- {p}_far(X, Y, _), Label = cat(upper(X), Y), contains(Label, "A").
{p}_total(X, sum<Way>) :- {p}_far(X, _, Way).
{p}_even(X, Y) :- {p}_road(X, Z, _), {p}_odd(Z, Y).
{p}_odd(X, Y) :- {p}_road(X, Y, _).
{p}_odd(X, Y) :- {p}_even(X, Z), {p}_road(Z, Y, _), X != Y.
{p}_both(X, Y, A, B) :- {p}_total(X, A), {q}_total(X, B), {p}_near(X, Y), A > B.
"""
_RULES_OF_A_MODULE = 13
_LAST = "last(X) :- m0_total(X, Total), Total > 1.0.\n"


def program(rules: int) -> str:
    """Returns a program of so many rules: recursion, mutual too, aggregates, negation, arithmetic, texts, on strata
    that build on each other."""
    count = rules // _RULES_OF_A_MODULE
    modules = (_MODULE.format(n=n, p=f"m{n}", q=f"m{max(n - 1, 0)}") for n in range(count))
    fill = (
        f"more{n}(X) :- m0_total(X, Total), Total > {n}.5.\n" for n in range(rules - count * _RULES_OF_A_MODULE - 1)
    )
    return "".join((*modules, *fill, _LAST))


@dataclass(frozen=True, slots=True)
class Row:
    """Milliseconds: medians, but for the slowest key."""

    rules: int
    check: float
    key: float
    slowest: float
    hover: float
    completion: float

    @property
    def cells(self) -> tuple[str, ...]:
        times = (self.check, self.key, self.slowest, self.hover, self.completion)
        return (f"{self.rules:,}", *(f"{one:,.0f}" for one in times))


_TITLES = ("rules", "check in one process", "key to diagnostics", "slowest key", "hover after a key", "completion")


def run(sizes: Sequence[int], keys: int) -> Iterator[str]:
    """Yields the lines of a table, in milliseconds."""
    yield f"| {' | '.join(_TITLES)} |"
    yield "|" + " ---: |" * len(_TITLES)
    for rules in sizes:
        yield f"| {' | '.join(measured(rules, keys).cells)} |"


def measured(rules: int, keys: int) -> Row:
    text = program(rules)
    check = statistics.median(timed(lambda: examine(parse_tolerantly(Source("program.dl", text)))) for _ in range(5))
    return asyncio.run(_over_stdio(rules, text, keys, check))


def timed(work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - begun)


async def _over_stdio(rules: int, text: str, keys: int, check: float) -> Row:
    client = LanguageClient("benchmarks", "1")
    told: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()
    client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda params: told.put_nowait(params))
    await client.start_io(sys.executable, "-m", "emberlog", "lsp")
    try:
        await client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities()))
        client.initialized(lsp.InitializedParams())
        uri = Path("program.dl").absolute().as_uri()
        client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "datalog", 0, text)))
        await told.get()
        line = text.count("\n") - 1
        place = lsp.Position(line, _LAST.index("Total >"))
        waits: dict[str, list[float]] = {"key": [], "hover": [], "completion": []}

        async def wait_for(kind: str, answer: Awaitable[object]) -> None:
            begun = time.perf_counter()
            await answer
            waits[kind].append(1000 * (time.perf_counter() - begun))

        async def told_of(version: int) -> lsp.PublishDiagnosticsParams:
            while True:
                params = await told.get()
                if params.version == version:
                    return params

        for version in range(1, 2 * keys + 1):
            # One key makes a mistake, the next mends it.
            is_wrong = version % 2 == 1
            end = lsp.Position(line, place.character + (0 if is_wrong else 1))
            change = lsp.TextDocumentContentChangePartial(lsp.Range(place, end), "x" if is_wrong else "")
            client.text_document_did_change(
                lsp.DidChangeTextDocumentParams(lsp.VersionedTextDocumentIdentifier(uri=uri, version=version), [change])
            )
            await wait_for("key", told_of(version))
        identifier = lsp.TextDocumentIdentifier(uri)
        for version in range(2 * keys + 1, 3 * keys + 1):
            change = lsp.TextDocumentContentChangePartial(lsp.Range(place, place), " ")
            client.text_document_did_change(
                lsp.DidChangeTextDocumentParams(lsp.VersionedTextDocumentIdentifier(uri=uri, version=version), [change])
            )
            await wait_for(
                "hover", client.text_document_hover_async(lsp.HoverParams(identifier, lsp.Position(line, 2)))
            )
            await told_of(version)
            await wait_for("completion", client.text_document_completion_async(lsp.CompletionParams(identifier, place)))
        await client.shutdown_async(None)
        client.exit(None)
    finally:
        await client.stop()  # type: ignore[no-untyped-call]
    medians = {kind: statistics.median(found) for kind, found in waits.items()}
    return Row(rules, check, medians["key"], max(waits["key"]), medians["hover"], medians["completion"])
