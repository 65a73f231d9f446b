"""Shows trees that fold without a script: proofs, plans, the connection graph.

A browser reads elements only some hundred levels deep, and a person fewer. So what is deep goes on in a tree of its
own, to which a link leads.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

from emberlog.render.look.html import Html, element, joined

DEEPEST = 24
"""The levels of one tree."""


@dataclass(slots=True)
class Branch:
    """Holds a line of a tree and what is below it. It can be far deeper than Python recurses."""

    line: Html
    children: list[Branch] = field(default_factory=list)
    anchor: str | None = None
    """A name that links can lead to."""
    rule: str | None = None
    """The rule that it comes from: what belongs to it is marked together."""
    is_open: bool = True
    title: str = ""
    """What the line is about, in a few words: the name of a tree that goes on with it."""


def tree(root: Branch, *, name: str) -> Html:
    """Shows a tree; what is too deep for it stands below in trees of its own. `name` is unique on the page."""
    drawn = [element("ul", _item(root, 1, cut := _Cut(name)), class_="em-tree")]
    while cut.waiting:
        branch, anchor = cut.waiting.popleft()
        heading = element("p", element("strong", f"{branch.title}, continued"), class_="em-faint")
        rest = replace(branch, anchor=None, is_open=True)
        drawn.append(element("div", heading, element("ul", _item(rest, 1, cut), class_="em-tree"), id=anchor))
    return joined(drawn)


@dataclass(slots=True)
class _Cut:
    """Collects what goes on in trees of its own."""

    name: str
    count: int = 0
    waiting: deque[tuple[Branch, str]] = field(default_factory=deque)

    def off(self, branch: Branch) -> str:
        """Returns the anchor of the tree that goes on with the branch."""
        self.count += 1
        anchor = f"{self.name}-{self.count}"
        self.waiting.append((branch, anchor))
        return anchor


def _item(branch: Branch, level: int, cut: _Cut) -> Html:
    if not branch.children:
        return element("li", branch.line, id=branch.anchor, data_rule=branch.rule)
    if level == DEEPEST:
        onward = element("a", "continued below", href=f"#{cut.off(branch)}")
        return element("li", branch.line, " ", onward, id=branch.anchor, data_rule=branch.rule)
    summary = element("summary", branch.line, data_rule=branch.rule)
    below = element("ul", *(_item(child, level + 1, cut) for child in branch.children))
    return element("li", element("details", summary, below, open=branch.is_open), id=branch.anchor)
