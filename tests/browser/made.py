"""Makes the pages and cards that tests look at, from a program whose texts try to be HTML."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import emberlog
from emberlog.config import Execution
from emberlog.faces import card_of
from emberlog.logical.connection_graph import build_connection_graph
from emberlog.profile import RunProfile
from emberlog.render.look.page import card_output, page
from emberlog.render.pages.explanation import explanation_page
from emberlog.render.pages.profile import profile_page

HOSTILE = "<script>window.broken = true</script><img src=x onerror='window.broken = true'>"

PROGRAM = f"""\
// The cheapest way from one city to another. {HOSTILE}
cheapest(From, To, min<Fare>) :- flight(From, To, Fare).
cheapest(From, To, min<Fare>) :- cheapest(From, Via, F1), flight(Via, To, F2), Fare = F1 + F2, Via != "{HOSTILE}".
reachable_without_regard_to_the_price_of_any_of_the_flights(X, Y) :- cheapest(X, Y, _), !banned(X, Y).
twice(X, Z) :- cheapest(X, Y, _), cheapest(Y, Z, _), X != Z.
"""

MISTAKE = f'p(X, Total) :- flight(X, "{HOSTILE}", F), Totl = F.\n'


@cache
def result() -> tuple[emberlog.Result[emberlog.LocalRelation], RunProfile]:
    db = emberlog.Database(engine="local", workers=2, progress=False)
    cities = ["Berlin", "Oslo", "Madrid", "Reykjavik", "Boston", "Tromsø", HOSTILE]
    db["flight"] = [(one, cities[n + 1], 90 + 10 * n) for n, one in enumerate(cities[:-1])]
    db["banned"] = [("Berlin", "Boston")]
    profile = RunProfile()
    execution = Execution(executor="cyclic", workers=2, profile=True)
    return db.datalog(PROGRAM, provenance=False, listener=profile, execution=execution), profile


@cache
def proved() -> emberlog.Result[emberlog.LocalRelation]:
    db = emberlog.Database(engine="local", progress=False)
    db["arc"] = [(f"{n}", f"{n + 1}") for n in range(70)] + [(HOSTILE, "0")]
    text = "tc(X, Y) :- arc(X, Y). tc(X, Z) :- tc(X, Y), arc(Y, Z). odd(X, Y) :- tc(X, Y), arc(X, Y), X != Y."
    return db.datalog(text, provenance=True)


def explanation() -> str:
    explained = result()[0].explained
    graph = build_connection_graph(explained.checked)
    return explanation_page(explained.checked, graph, explained.logical, explained.optimized, explained.choices)


def profile() -> str:
    return profile_page("fares.dl", result()[1])


def proof() -> str:
    return proved().why("tc", (HOSTILE, "40")).to_html()


def refutation() -> str:
    return proved().why_not("tc", ("nowhere", "1"), depth=2).to_html()


def mistake() -> emberlog.EmberlogError:
    try:
        emberlog.Database(engine="local").datalog(MISTAKE)
    except emberlog.EmberlogError as error:
        return error
    raise AssertionError("there is no mistake")


def cards() -> str:
    """Returns a page with a card of everything that notebooks show."""
    run, profile = result()
    db = emberlog.Database(engine="local")
    db["flight"] = [("Berlin", HOSTILE, 90)]
    shown = (db, run, run["cheapest"], run.plan, run.program, run.explained, profile, mistake())
    asked = (proved().why("tc", ("1", "5")), proved().trace("odd", (HOSTILE, None)))
    return page("cards", "cards", *map(card_of, (*shown, *asked)))


def in_a_notebook() -> str:
    """Returns what a notebook makes of the outputs: elements among others, in a page that is not ours."""
    outputs = (card_output(card_of(one)) for one in (result()[0], mistake(), proved().why("tc", ("1", "5"))))
    theirs = {"td": "text-align: right", "tbody tr:nth-child(odd)": "background: #eee"}
    theirs[":not(pre) > code"] = "background: #eee; padding: 1px 5px"
    style = "\n".join(f".jp-RenderedHTMLCommon {place} {{ {rule}; }}" for place, rule in theirs.items())
    areas = "\n".join(f'<div class="jp-RenderedHTMLCommon">{one}</div>' for one in outputs)
    return f'<!DOCTYPE html><html lang="en"><title>notebook</title><style>{style}</style><body>{areas}</body></html>'


PAGES = {
    "explanation": explanation,
    "profile": profile,
    "proof": proof,
    "refutation": refutation,
    "cards": cards,
    "notebook": in_a_notebook,
}


def written(name: str, folder: Path) -> str:
    """Writes a page into a folder and returns its address."""
    file = folder / f"{name}.html"
    file.write_text(PAGES[name](), encoding="utf-8")
    return file.as_uri()
