"""An outline as a graph, for Graphviz and for Mermaid: a fact that is used twice is one node with two arrows."""

from __future__ import annotations

import json
from collections.abc import Iterator

from emberlog.render.outline import Kind, Node, Outline
from emberlog.render.pictures.graphviz import quoted as graphviz_quoted
from emberlog.render.pictures.mermaid import quoted as mermaid_quoted

_GRAPHVIZ = {
    Kind.DERIVED: 'style="rounded,filled", fillcolor="#eef4fb", color="#5b8fc7"',
    Kind.INPUT: 'style="rounded,filled", fillcolor="#edf7f0", color="#5d9f74"',
    Kind.WRITTEN: 'style="rounded,filled", fillcolor="#edf7f0", color="#5d9f74"',
    Kind.CONTRIBUTION: 'style=filled, fillcolor="#f4effb", color="#8d6cc0"',
    Kind.ABSENCE: 'style="dashed,filled", fillcolor="#ffffff", color="#8a94a3"',
    Kind.CONDITION: 'style=filled, fillcolor="#ffffff", color="#8a94a3"',
    Kind.OPEN: 'style="rounded,dashed,filled", fillcolor="#eef4fb", color="#5b8fc7"',
    Kind.MORE: 'style="dashed,filled", fillcolor="#f4effb", color="#8d6cc0"',
    Kind.MISSING: 'style="rounded,filled", fillcolor="#fdeeee", color="#c2555b"',
    Kind.RULE: 'style=filled, fillcolor="#fff4ea", color="#d9762b"',
    Kind.FAILED: 'style=filled, fillcolor="#fdeeee", color="#c2555b"',
}

_MERMAID = {
    Kind.DERIVED: "fill:#eef4fb,stroke:#5b8fc7,color:#1d242c",
    Kind.INPUT: "fill:#edf7f0,stroke:#5d9f74,color:#1d242c",
    Kind.WRITTEN: "fill:#edf7f0,stroke:#5d9f74,color:#1d242c",
    Kind.CONTRIBUTION: "fill:#f4effb,stroke:#8d6cc0,color:#1d242c",
    Kind.ABSENCE: "fill:#ffffff,stroke:#8a94a3,stroke-dasharray:5 4,color:#1d242c",
    Kind.CONDITION: "fill:#ffffff,stroke:#8a94a3,color:#1d242c",
    Kind.OPEN: "fill:#eef4fb,stroke:#5b8fc7,stroke-dasharray:5 4,color:#1d242c",
    Kind.MORE: "fill:#f4effb,stroke:#8d6cc0,stroke-dasharray:5 4,color:#1d242c",
    Kind.MISSING: "fill:#fdeeee,stroke:#c2555b,color:#1d242c",
    Kind.RULE: "fill:#fff4ea,stroke:#d9762b,color:#1d242c",
    Kind.FAILED: "fill:#fdeeee,stroke:#c2555b,color:#1d242c",
}


def outline_graphviz(drawn: Outline) -> str:
    remark = "\n".join(drawn.remarks)
    lines = [
        f"digraph {graphviz_quoted(drawn.title)} {{",
        "  graph [rankdir=TB, nodesep=0.3, ranksep=0.4];",
        '  node [shape=box, fontname="Menlo, Consolas, monospace", fontsize=11, margin="0.15,0.08"];',
        '  edge [color="#9aa4b1"];',
        *([f"  label={graphviz_quoted(remark)}; labelloc=b;"] if remark else []),
        *(
            f"  n{place} [label={graphviz_quoted(_label(node))}, {_GRAPHVIZ[node.kind]}];"
            for place, node in enumerate(drawn.nodes)
        ),
        *(f"  n{above} -> n{below};" for above, below in _arrows(drawn)),
        "}",
    ]
    return "\n".join(lines) + "\n"


def outline_mermaid(drawn: Outline) -> str:
    used = {node.kind for node in drawn.nodes}
    remark = "\n".join(drawn.remarks)
    lines = [
        "---",
        f"title: {json.dumps(drawn.title, ensure_ascii=False)}",
        "---",
        "flowchart TB",
        *(f"  n{place}[{mermaid_quoted(_label(node))}]:::{node.kind.value}" for place, node in enumerate(drawn.nodes)),
        *(f"  n{above} --> n{below}" for above, below in _arrows(drawn)),
        *([f"  remark[{mermaid_quoted(remark)}]", "  remark -.- n0"] if remark else []),
        *(f"  classDef {kind.value} {style}" for kind, style in _MERMAID.items() if kind in used),
    ]
    return "\n".join(lines) + "\n"


def _label(node: Node) -> str:
    return f"{node.text}\n{node.how}" if node.how else node.text


def _arrows(drawn: Outline) -> Iterator[tuple[int, int]]:
    return ((place, child) for place, node in enumerate(drawn.nodes) for child in node.children)
