"""Shows a proof, or why a fact is missing, as one page: a tree that opens and closes, beside the program."""

from __future__ import annotations

from emberlog.render.look.components import paragraph
from emberlog.render.look.html import element
from emberlog.render.look.listings import program_listing
from emberlog.render.look.page import page, section
from emberlog.render.look.proofs import proof_summary, proof_tree
from emberlog.render.outline import Outline


def outline_page(drawn: Outline) -> str:
    return page(
        drawn.title,
        drawn.title,
        section(
            "tree",
            None,
            *(paragraph(line) for line in drawn.remarks),
            element(
                "p",
                element("button", "open all", type="button", data_open="all"),
                element("button", "close all", type="button", data_open="none"),
                class_="em-buttons",
            ),
            element("div", proof_tree(drawn), class_="em-card"),
        ),
        section("program", "Program", program_listing(drawn.checked)),
        subtitle=f"{drawn.checked.program.source.name} · {proof_summary(drawn)}",
        links=[("tree", "Tree"), ("program", "Program")],
    )
