"""Shows proofs and refutations as trees that fold."""

from __future__ import annotations

from zlib import crc32

from emberlog.logical.summary import counted
from emberlog.render.look.components import card, fold, paragraph, preformatted
from emberlog.render.look.html import Html, element, joined
from emberlog.render.look.trees import Branch, tree
from emberlog.render.outline import Kind, Node, Outline, Row, rows
from emberlog.render.outline_text import HOLDS, REPEATED
from emberlog.render.wording import bindings_text

OPEN_LEVELS = 6
"""Of a large proof."""
LARGE = 200
"""Rows of a proof that does not begin with everything open."""

_COLOURS = {
    Kind.INPUT: "green",
    Kind.WRITTEN: "green",
    Kind.CONTRIBUTION: "violet",
    Kind.ABSENCE: "faint",
    Kind.CONDITION: "faint",
    Kind.MORE: "faint",
    Kind.MISSING: "red",
    Kind.FAILED: "red",
    Kind.RULE: "ember",
}


def proof_card(drawn: Outline) -> Html:
    """Shows a proof or refutation with its tree, and its rules behind a fold."""
    used = list(dict.fromkeys(node.rule.split(".")[0] for node in drawn.nodes if node.rule))
    texts = {rule.name.split(".")[0]: rule.statement.span.text for rule in drawn.checked.rules if rule.statement}
    rules = "\n".join(f"{name}: {' '.join(texts[name].split())}" for name in used if name in texts)
    return card(
        drawn.title,
        proof_tree(drawn),
        *(paragraph(remark) for remark in drawn.remarks),
        *([fold(counted(len(used), "rule"), preformatted(rules))] if rules else []),
        note=proof_summary(drawn),
    )


def proof_summary(drawn: Outline) -> str:
    facts = sum(node.kind in (Kind.DERIVED, Kind.INPUT, Kind.WRITTEN, Kind.MISSING) for node in drawn.nodes)
    rules = len({node.rule for node in drawn.nodes if node.rule})
    return f"{counted(facts, 'fact')} · {counted(rules, 'rule')}"


def proof_tree(drawn: Outline) -> Html:
    """Shows the tree alone. What is used twice is shown once, and referred to."""
    texts = "\n".join((drawn.title, *(node.text for node in drawn.nodes)))
    name = f"proof{crc32(texts.encode(errors='replace')):08x}"
    lines = list(rows(drawn))
    levels = OPEN_LEVELS if len(lines) > LARGE else len(lines)
    above: list[Branch] = []
    for row in lines:
        node = drawn.nodes[row.place]
        one = Branch(
            _line(node, row, name),
            anchor=None if row.is_repeated or not node.children else f"{name}-n{row.place}",
            rule=node.rule,
            is_open=row.level < levels,
            title=node.text,
        )
        del above[row.level :]
        if above:
            above[-1].children.append(one)
        above.append(one)
    return tree(above[0], name=name)


def _line(node: Node, row: Row, name: str) -> Html:
    colour = _COLOURS.get(node.kind)
    parts = [element("code", node.text, class_=f"em-{colour}" if colour else None)]
    how = node.how or (HOLDS if node.kind in (Kind.CONDITION, Kind.ABSENCE) else "")
    if how:
        parts.append(element("span", how, class_="em-note"))
    if row.is_repeated:
        parts.append(element("a", REPEATED, href=f"#{name}-n{row.place}", class_="em-note"))
    elif node.hidden:
        parts.append(element("span", bindings_text(node.hidden), class_="em-note"))
    return joined(parts, " ")
