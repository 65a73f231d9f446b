"""Writes drawings and outlines as Mermaid text, for pages and repositories that draw it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from emberlog.render.outline import Outline
from emberlog.render.pictures.drawing import Drawing
from emberlog.render.pictures.styles import INK, KINDS, LOOKS, Style


def drawings_mermaid(drawings: Sequence[Drawing], title: str) -> str:
    """Returns one chart with a frame for each drawing."""
    lines = _head(title)
    for drawing in drawings:
        label = quoted(f"{drawing.title} ({drawing.subtitle})")
        lines.append(f"  subgraph {drawing.name} [{label}]")
        lines += [f"    {line}" for line in _statements(drawing)]
        lines.append("  end")
    lines += [f"  classDef {look.value} {_style(style)}" for look, style in LOOKS.items()]
    return "\n".join(lines) + "\n"


def _statements(drawing: Drawing) -> Iterator[str]:
    for name, node, above in drawing.named_nodes():
        opening, closing = ("([", "])") if LOOKS[node.look].is_round else ("[", "]")
        yield f"{name}{opening}{quoted(node.label)}{closing}:::{node.look.value}"
        if above is not None:
            yield f"{above} -->|{quoted(node.role)}| {name}" if node.role else f"{above} --> {name}"


def outline_mermaid(drawn: Outline) -> str:
    """Returns one chart, in which a fact that is used twice is one node with two arrows."""
    used = {node.kind for node in drawn.nodes}
    remark = "\n".join(drawn.remarks)
    lines = [
        *_head(drawn.title),
        *(f"  n{place}[{quoted(node.label)}]:::{node.kind.value}" for place, node in enumerate(drawn.nodes)),
        *(f"  n{above} --> n{below}" for above, below in drawn.arrows),
        *([f"  remark[{quoted(remark)}]", "  remark -.- n0"] if remark else []),
        *(f"  classDef {kind.value} {_style(style)}" for kind, style in KINDS.items() if kind in used),
    ]
    return "\n".join(lines) + "\n"


def _head(title: str) -> list[str]:
    return ["---", f"title: {json.dumps(title, ensure_ascii=False)}", "---", "flowchart TB"]


def _style(style: Style) -> str:
    border = f"stroke:{style.paint.light.border}"
    border += ",stroke-width:2px" if style.is_bold else ""
    border += ",stroke-dasharray:5 4" if style.is_dashed else ""
    return f"fill:{style.paint.light.fill},{border},color:{INK}"


def quoted(text: str) -> str:
    """Returns the text with numbered entities: Mermaid has no escapes in strings, and reads HTML and Markdown there."""
    entities = {'"': "#quot;", "#": "#35;", "&": "#38;", "<": "#lt;", ">": "#gt;", "`": "#96;", "\n": "<br/>"}
    return '"' + "".join(entities.get(character, character) for character in text) + '"'
