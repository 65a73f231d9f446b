"""Drawings as Graphviz text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emberlog.render.pictures.drawing import Drawing, Look

_STYLE = {
    Look.GOAL: 'shape=box, style="rounded,filled", fillcolor="#eef4fb", color="#5b8fc7"',
    Look.RULE: 'shape=box, style=filled, fillcolor="#ffffff", color="#8a94a3"',
    Look.RECURSIVE_RULE: 'shape=box, style=filled, fillcolor="#fff4ea", color="#d9762b", penwidth=2',
    Look.FACTS: 'shape=box, style="rounded,filled", fillcolor="#edf7f0", color="#5d9f74"',
    Look.REFERENCE: 'shape=box, style="rounded,dashed,filled", fillcolor="#fff9f3", color="#d9762b"',
    Look.OPERATOR: 'shape=box, style=filled, fillcolor="#ffffff", color="#8a94a3"',
    Look.DELTA: 'shape=box, style="rounded,filled", fillcolor="#fff4ea", color="#d9762b"',
    Look.FIXPOINT: 'shape=box, style=filled, fillcolor="#f4effb", color="#8d6cc0", penwidth=2',
    Look.DEFINITION: 'shape=box, style=filled, fillcolor="#eef4fb", color="#5b8fc7"',
}


def drawings_dot(drawings: Sequence[Drawing], title: str) -> str:
    lines = [
        f"digraph {quoted(title)} {{",
        '  graph [rankdir=TB, fontname="Helvetica", labeljust=l, nodesep=0.3, ranksep=0.4];',
        '  node [fontname="Menlo, Consolas, monospace", fontsize=11, margin="0.15,0.08"];',
        '  edge [fontname="Helvetica", fontsize=10, color="#9aa4b1", fontcolor="#5a6572"];',
    ]
    for drawing in drawings:
        lines.append(f"  subgraph cluster_{drawing.name} {{")
        label = quoted(f"{drawing.title}\n{drawing.subtitle}")
        lines.append(f'    label={label}; color="#d5dae0"; style=rounded;')
        lines += [f"    {line}" for line in _statements(drawing)]
        lines.append("  }")
    return "\n".join([*lines, "}\n"])


def _statements(drawing: Drawing) -> Iterator[str]:
    for name, node, above in drawing.named_nodes():
        yield f"{name} [label={quoted(node.label)}, {_STYLE[node.look]}];"
        if above is not None:
            yield f"{above} -> {name}" + (f" [label={quoted(node.role)}];" if node.role else ";")


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
