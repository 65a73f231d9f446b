"""Shows trees as indented text, with lines that lead from each node to those below it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextBranch:
    """`role` is what the branch is to the one above; it stands in a column before the texts."""

    text: str
    role: str = ""
    children: tuple[TextBranch, ...] = ()


def tree_lines(branch: TextBranch) -> list[str]:
    lines = [branch.text]
    width = max((len(child.role) for child in branch.children), default=0)
    for number, child in enumerate(branch.children, start=1):
        is_last = number == len(branch.children)
        role = f"{child.role:<{width}}  " if width else ""
        first, *rest = tree_lines(child)
        lines.append(f"{'└' if is_last else '├'} {role}{first}")
        lines += [f"{' ' if is_last else '│'} {' ' * len(role)}{line}" for line in rest]
    return lines
