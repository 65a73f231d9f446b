"""Says which colours and borders the nodes of every picture have, whatever form it takes."""

from __future__ import annotations

from dataclasses import dataclass

from emberlog.render.outline import Kind
from emberlog.render.pictures.drawing import Look

INK = "#1d242c"


@dataclass(frozen=True, slots=True)
class Scheme:
    """Holds the colours of a node, on light or on dark paper."""

    fill: str
    border: str
    accent: str


@dataclass(frozen=True, slots=True)
class Paint:
    light: Scheme
    dark: Scheme


BLUE = Paint(Scheme("#eef4fb", "#5b8fc7", "#1f5a96"), Scheme("#16273a", "#4f86bd", "#9cc7f2"))
GREY = Paint(Scheme("#ffffff", "#8a94a3", "#4d5866"), Scheme("#1d2229", "#6c7684", "#b3bdc9"))
EMBER = Paint(Scheme("#fff4ea", "#d9762b", "#a34f0d"), Scheme("#33210f", "#d07a36", "#f5b27a"))
PALE = Paint(Scheme("#fff9f3", "#d9762b", "#a34f0d"), Scheme("#241a11", "#b56b31", "#f0ae78"))
GREEN = Paint(Scheme("#edf7f0", "#5d9f74", "#256a3f"), Scheme("#14291c", "#4f9468", "#93d3aa"))
VIOLET = Paint(Scheme("#f4effb", "#8d6cc0", "#5d3d92"), Scheme("#261c38", "#8a6cbf", "#c9b2ef"))
RED = Paint(Scheme("#fdeeee", "#c2555b", "#c2555b"), Scheme("#fdeeee", "#c2555b", "#c2555b"))


@dataclass(frozen=True, slots=True)
class Style:
    paint: Paint
    is_round: bool = False
    is_dashed: bool = False
    is_bold: bool = False


LOOKS = {
    Look.GOAL: Style(BLUE, is_round=True),
    Look.RULE: Style(GREY),
    Look.RECURSIVE_RULE: Style(EMBER, is_bold=True),
    Look.FACTS: Style(GREEN, is_round=True),
    Look.REFERENCE: Style(PALE, is_round=True, is_dashed=True),
    Look.OPERATOR: Style(GREY),
    Look.DELTA: Style(EMBER, is_round=True),
    Look.FIXPOINT: Style(VIOLET, is_bold=True),
    Look.DEFINITION: Style(BLUE),
}

KINDS = {
    Kind.DERIVED: Style(BLUE, is_round=True),
    Kind.INPUT: Style(GREEN, is_round=True),
    Kind.WRITTEN: Style(GREEN, is_round=True),
    Kind.CONTRIBUTION: Style(VIOLET),
    Kind.ABSENCE: Style(GREY, is_dashed=True),
    Kind.CONDITION: Style(GREY),
    Kind.OPEN: Style(BLUE, is_round=True, is_dashed=True),
    Kind.MORE: Style(VIOLET, is_dashed=True),
    Kind.MISSING: Style(RED, is_round=True),
    Kind.RULE: Style(EMBER),
    Kind.FAILED: Style(RED),
}
