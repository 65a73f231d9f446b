"""Puts components where they are shown: into the output of a notebook, or on a page of its own. Both have the one
style sheet with them and ask for nothing from anywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from emberlog.render.look.html import Html, element, escape, joined
from emberlog.render.look.tokens import declarations

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'"


@cache
def _file(name: str) -> str:
    return files("emberlog.render.look").joinpath(name).read_text(encoding="utf-8")


@cache
def style_sheet() -> str:
    """Returns the style sheet of every card and component, for a page that brings its own frame: what they are put into
    has the class `ember`."""
    return _without_remarks(f".ember {{{declarations()}}}\n{_file('look.css')}")


def _without_remarks(text: str) -> str:
    """Returns style rules without comments and indentation: a notebook keeps them with every output."""
    return re.sub(r"\s*\n\s*", "\n", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)).strip()


def card_output(*inside: str) -> Html:
    """Returns the output of a notebook's cell. It needs no script, and reads well even where styles are taken away."""
    return joined((Html(f"<style>{style_sheet()}</style>"), within(*inside)))


def within(*inside: str, theme: str | None = None) -> Html:
    """Returns components within the element that the style sheet is for; `theme` is `light` or `dark`, or as around."""
    return element("div", *inside, class_="ember", data_theme=theme)


def page(
    title: str,
    heading: str,
    *inside: str,
    subtitle: str = "",
    links: Sequence[tuple[str, str]] = (),
    style: str = "",
    has_script: bool = True,
) -> str:
    """Returns a whole page. `links` are anchors and their titles; `style` is what its pictures need besides. Without
    its script a page loses little: the button for light and dark, and marks of what belongs to a rule."""
    anchors = [element("a", text, href=f"#{anchor}") for anchor, text in links]
    turn = [element("button", "light or dark", type="button", data_turn=True)] if has_script else []
    script = f"<script>\n{_file('page.js').strip()}\n</script>\n" if has_script else ""
    header = element(
        "header",
        element("h1", heading),
        element("p", subtitle, class_="em-faint") if subtitle else Html(),
        element("nav", *anchors, *turn, aria_label="parts of this page"),
    )
    sheet = "\n".join(part for part in (style_sheet(), _without_remarks(_file("page.css")), style.strip()) if part)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{escape(title)}</title>
<style>
{sheet}
</style>
</head>
<body class="ember">
{header}
<main>
{joined(inside)}
</main>
{script}</body>
</html>
"""


def section(anchor: str, title: str | None, *inside: str) -> Html:
    """Returns a part of a page, to which `#anchor` leads."""
    heading = element("h2", title) if title else Html()
    return element("section", heading, *inside, id=anchor)
