"""Builds HTML that cannot be broken by what it shows: a text becomes HTML only by being escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WITHOUT_END = {"meta", "br", "input"}


class Html(str):
    """Is HTML already. Whatever else is put into an element is a text, and escaped."""

    __slots__ = ()


def escape(text: str) -> str:
    """Returns the text fit for text and attributes of XML and HTML."""
    return html.escape(_NOT_XML.sub("\ufffd", text))


def joined(parts: Iterable[str], between: str = "") -> Html:
    """Puts texts and pieces of HTML after one another."""
    return Html(escape(between).join(part if isinstance(part, Html) else escape(part) for part in parts))


def element(name: str, *inside: str, **attributes: str | bool | None) -> Html:
    """Makes an element: `element("td", text, class_="number")`. An attribute that is None or False is left out, and one
    that is True has no value; `data_rule` becomes `data-rule`."""
    opening = name
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        opening += f" {key.rstrip('_').replace('_', '-')}"
        if value is not True:
            opening += f'="{escape(value)}"'
    return Html(f"<{opening}>" if name in _WITHOUT_END else f"<{opening}>{joined(inside)}</{name}>")
