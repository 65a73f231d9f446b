"""Writes an outline as plain values, for programs. docs/provenance.md describes the form."""

from __future__ import annotations

from collections.abc import Mapping

from emberlog.language.spellings import Meant, spelled
from emberlog.render.outline import Node, Outline, SlideNote
from emberlog.semantics.model import CellValue
from emberlog.source import NOWHERE
from emberlog.syntax.printer import print_statement

VERSION = 1


def outline_object(drawn: Outline) -> dict[str, object]:
    return {
        "version": VERSION,
        "title": drawn.title,
        "program": drawn.checked.program.source.name,
        "rules": rule_objects(drawn),
        **({"slide": _slide_object(drawn.note)} if drawn.note else {}),
        "root": 0,
        "nodes": [_node_object(number, node) for number, node in enumerate(drawn.nodes)],
    }


def _slide_object(note: SlideNote) -> dict[str, object]:
    one: dict[str, object] = {"at": note.slide, "since": note.since, "text": "\n".join(note.lines)}
    if note.certainty is not None:
        one |= {"certainty": note.certainty, "until": note.until, "because": list(note.because)}
    return one


def rule_objects(drawn: Outline) -> dict[str, Mapping[str, object]]:
    """Returns the rules that the nodes name, and where they stand."""
    used = {node.rule for node in drawn.nodes}
    rules: dict[str, Mapping[str, object]] = {}
    for rule in drawn.checked.rules:
        if rule.name in used and rule.statement is not None:
            line = None if rule.span is NOWHERE else rule.span.begin.line
            rules[rule.name] = {"text": print_statement(rule.statement), "line": line}
    return rules


def _node_object(number: int, node: Node) -> dict[str, object]:
    one: dict[str, object] = {"id": number, "kind": node.kind.value, "text": node.text}
    if node.how:
        one["how"] = node.how
    if node.relation is not None and node.fact is not None:
        one["relation"] = node.relation
        one["fact"] = [plain(value) for value in node.fact]
    if node.iteration is not None:
        one["iteration"] = node.iteration
    if node.rule is not None:
        one["rule"] = node.rule
        one["bindings"] = {name: plain(value) for name, value in node.bindings}
    if node.time is not None:
        one |= {"time": node.time, "until": node.until}
    if node.children:
        one["children"] = list(node.children)
    return one


def plain(value: CellValue) -> object:
    if isinstance(value, Meant):
        return spelled(value, value.type)
    return [plain(part) for part in value] if isinstance(value, tuple) else value
