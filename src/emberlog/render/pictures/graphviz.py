"""Writes drawings and outlines as Graphviz text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emberlog.render.outline import Outline
from emberlog.render.pictures.drawing import Drawing
from emberlog.render.pictures.styles import KINDS, LOOKS, Style


def drawings_dot(drawings: Sequence[Drawing], title: str) -> str:
    """Returns one graph with a frame for each drawing."""
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
        yield f"{name} [label={quoted(node.label)}, shape=box, {_style(LOOKS[node.look])}];"
        if above is not None:
            yield f"{above} -> {name}" + (f" [label={quoted(node.role)}];" if node.role else ";")


def outline_graphviz(drawn: Outline) -> str:
    """Returns one graph, in which a fact that is used twice is one node with two arrows."""
    remark = "\n".join(drawn.remarks)
    lines = [
        f"digraph {quoted(drawn.title)} {{",
        "  graph [rankdir=TB, nodesep=0.3, ranksep=0.4];",
        '  node [shape=box, fontname="Menlo, Consolas, monospace", fontsize=11, margin="0.15,0.08"];',
        '  edge [color="#9aa4b1"];',
        *([f"  label={quoted(remark)}; labelloc=b;"] if remark else []),
        *(
            f"  n{place} [label={quoted(node.label)}, {_style(KINDS[node.kind])}];"
            for place, node in enumerate(drawn.nodes)
        ),
        *(f"  n{above} -> n{below};" for above, below in drawn.arrows),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _style(style: Style) -> str:
    borders = [*(["rounded"] if style.is_round else []), *(["dashed"] if style.is_dashed else []), "filled"]
    kinds = f'"{",".join(borders)}"' if len(borders) > 1 else "filled"
    colours = f'fillcolor="{style.paint.light.fill}", color="{style.paint.light.border}"'
    return f"style={kinds}, {colours}{', penwidth=2' if style.is_bold else ''}"


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
