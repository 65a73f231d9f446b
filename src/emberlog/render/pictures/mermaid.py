"""Drawings as Mermaid text, for pages and repositories that draw it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from emberlog.render.pictures.drawing import Drawing, Look

_CLASSES = {
    Look.GOAL: "fill:#eef4fb,stroke:#5b8fc7,color:#1d242c",
    Look.RULE: "fill:#ffffff,stroke:#8a94a3,color:#1d242c",
    Look.RECURSIVE_RULE: "fill:#fff4ea,stroke:#d9762b,stroke-width:2px,color:#1d242c",
    Look.FACTS: "fill:#edf7f0,stroke:#5d9f74,color:#1d242c",
    Look.REFERENCE: "fill:#fff9f3,stroke:#d9762b,stroke-dasharray:5 4,color:#1d242c",
    Look.OPERATOR: "fill:#ffffff,stroke:#8a94a3,color:#1d242c",
    Look.DELTA: "fill:#fff4ea,stroke:#d9762b,color:#1d242c",
    Look.FIXPOINT: "fill:#f4effb,stroke:#8d6cc0,stroke-width:2px,color:#1d242c",
    Look.DEFINITION: "fill:#eef4fb,stroke:#5b8fc7,color:#1d242c",
}

_ROUND = (Look.GOAL, Look.FACTS, Look.REFERENCE, Look.DELTA)


def drawings_mermaid(drawings: Sequence[Drawing], title: str) -> str:
    lines = ["---", f"title: {json.dumps(title, ensure_ascii=False)}", "---", "flowchart TB"]
    for drawing in drawings:
        label = quoted(f"{drawing.title} ({drawing.subtitle})")
        lines.append(f"  subgraph {drawing.name} [{label}]")
        lines += [f"    {line}" for line in _statements(drawing)]
        lines.append("  end")
    lines += [f"  classDef {look.value} {style}" for look, style in _CLASSES.items()]
    return "\n".join(lines) + "\n"


def _statements(drawing: Drawing) -> Iterator[str]:
    for name, node, above in drawing.named_nodes():
        opening, closing = ("([", "])") if node.look in _ROUND else ("[", "]")
        yield f"{name}{opening}{quoted(node.label)}{closing}:::{node.look.value}"
        if above is not None:
            yield f"{above} -->|{quoted(node.role)}| {name}" if node.role else f"{above} --> {name}"


def quoted(text: str) -> str:
    """Mermaid has no escapes in strings, only numbered entities, and reads HTML and Markdown in them."""
    entities = {'"': "#quot;", "#": "#35;", "&": "#38;", "<": "#lt;", ">": "#gt;", "`": "#96;", "\n": "<br/>"}
    return '"' + "".join(entities.get(character, character) for character in text) + '"'
