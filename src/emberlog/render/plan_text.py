"""Explains plans and programs as text, which is a contract: stable, readable, compared character by character."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence

from emberlog.logical.connection_graph import ConnectionGraph
from emberlog.logical.nodes import Definition, Field, Fixpoint, LogicalPlan, Plan, PlannedStratum
from emberlog.logical.rule_text import query_text
from emberlog.logical.summary import counted, program_summary, stratum_kind, stream_notes
from emberlog.optimize.pipeline import Optimized, PassChange
from emberlog.render.graph_text import connection_graph_lines
from emberlog.render.plan_tree import PlanBranch, fixpoint_tree, plan_tree, stratum_tree
from emberlog.render.shared_branches import without_repeats
from emberlog.render.text_tree import TextBranch, tree_lines
from emberlog.semantics.model import CheckedProgram, Stratum

LARGEST_MATCHING = 250_000
"""Lines before times lines after, up to which lines are matched in order; that takes time with their product."""

CHANGED_LINES_SHOWN = 12
"""The most lines shown of one pass, where its changes are not asked for in full."""


def plan_text(plan: LogicalPlan | Plan | Fixpoint) -> str:
    """Returns the plan as an indented tree, without a final line break."""
    match plan:
        case LogicalPlan():
            return "\n".join(_plan_lines(plan))
        case Fixpoint():
            return "\n".join(_tree_lines(fixpoint_tree(plan)))
        case _:
            return "\n".join(_tree_lines(plan_tree(plan)))


def explain_text(
    checked: CheckedProgram,
    graph: ConnectionGraph,
    plan: LogicalPlan,
    optimized: Optimized,
    *,
    passes_in_full: bool = False,
) -> str:
    """Returns everything there is to say about a program before it runs, without a final line break. A program over
    streams is not run by its plan, so no pass is shown."""
    notes = list(stream_notes(checked))
    improved = [] if notes else _plan_lines(optimized.plan)
    sections = [
        ("program", [checked.program.source.name, program_summary(checked)]),
        ("connection graph (b: bound before, f: found)", connection_graph_lines(graph)),
        ("strata", [line for stratum in checked.strata for line in stratum_lines(stratum)]),
        ("streams", notes),
        ("logical plan", _plan_lines(plan)),
        ("passes", [] if notes else list(pass_lines(optimized, in_full=passes_in_full))),
        ("optimized plan", ["the same as the logical plan"] if improved and optimized.plan == plan else improved),
    ]
    blocks = ["\n".join([heading, *(f"  {line}".rstrip() for line in lines)]) for heading, lines in sections if lines]
    return "\n\n".join(blocks)


def stratum_lines(stratum: Stratum) -> list[str]:
    rules = ", ".join(rule.name for rule in stratum.rules)
    first = f"{stratum.index}  {', '.join(stratum.relations)}   {stratum_kind(stratum.recursion)}"
    lines = [f"{first}   rules {rules}" if rules else first]
    if stratum.recursion is not None and stratum.recursion.reason:
        lines.append(f"   why: {stratum.recursion.reason}")
    return lines


def pass_lines(optimized: Optimized, *, in_full: bool) -> Iterator[str]:
    """Tells what each pass did: the lines that went and came, or, in full, in the midst of those that stayed."""
    width = max((len(change.name) for change in optimized.changes), default=0)
    for change in optimized.changes:
        yield f"{change.name:<{width}}  {pass_effect(change)}"
        if in_full:
            yield f"    {change.reason}"
        lines = changed_lines(change, in_full=in_full)
        shown = len(lines) if in_full else CHANGED_LINES_SHOWN
        yield from (f"    {line}" for line in lines[:shown])
        if len(lines) > shown:
            yield f"    … {counted(len(lines) - shown, 'more line')}"


def pass_effect(change: PassChange) -> str:
    if change.is_off:
        return f"switched off: {change.note}" if change.note else "switched off"
    effect = "nothing" if change.before == change.after else "changed"
    return f"{effect}: {change.note}" if change.note else effect


def changed_lines(change: PassChange, *, in_full: bool = False) -> list[str]:
    """Returns the lines that went (−) and came (+): those of the rules, or of the plan, stratum by stratum."""
    if change.rules is not None:
        return _difference(*change.rules, in_full=in_full)
    before, after = change.before, change.after
    if before == after:
        return []
    lines = _difference(_head_lines(before), _head_lines(after))
    strata = {stratum.relations: stratum for stratum in after.strata}
    for stratum in before.strata:
        kept = strata.pop(stratum.relations, None)
        if kept is None:
            lines += _whole_stratum("−", stratum, in_full)
        elif kept != stratum:
            lines.append(f"  {_stratum_heading(kept)}")
            lines += _difference(_stratum_lines(stratum), _stratum_lines(kept), in_full=in_full)
    return lines + [line for stratum in strata.values() for line in _whole_stratum("+", stratum, in_full)]


def _whole_stratum(mark: str, stratum: PlannedStratum, in_full: bool) -> list[str]:
    below = [f"{mark}   {line}" for line in _stratum_lines(stratum)] if in_full else []
    return [f"{mark} {_stratum_heading(stratum)}", *below]


def _difference(before: Sequence[str], after: Sequence[str], *, in_full: bool = False) -> list[str]:
    """Returns the lines that differ, without the indentation that they share; in full, those that stayed, too."""
    shown: list[tuple[str, str]] = []
    if len(before) * len(after) > LARGEST_MATCHING:
        gone, come = set(before) - set(after), set(after) - set(before)
        shown = [("−", line) for line in before if line in gone] + [("+", line) for line in after if line in come]
    else:
        for kind, i, j, k, m in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
            if kind != "equal":
                shown += [("−", line) for line in before[i:j]] + [("+", line) for line in after[k:m]]
            elif in_full:
                shown += [(" ", line) for line in before[i:j]]
    indentation = min((len(line) - len(line.lstrip(" ")) for _, line in shown), default=0)
    return [f"{mark} {line[indentation:]}" for mark, line in shown]


def _plan_lines(plan: LogicalPlan) -> list[str]:
    lines = _head_lines(plan)
    for stratum in plan.strata:
        if lines:
            lines.append("")
        lines.append(_stratum_heading(stratum))
        lines += ["  " + line for line in _stratum_lines(stratum)]
    return lines


def _head_lines(plan: LogicalPlan) -> list[str]:
    return [line for heading, entries in plan_head(plan) for line in _listed(heading, entries)]


def plan_head(plan: LogicalPlan) -> Iterator[tuple[str, list[str]]]:
    """Yields what a plan reads and gives: a heading, and its entries."""
    if plan.inputs:
        yield "inputs", [_typed_relation(name, columns) for name, columns in plan.inputs.items()]
    if plan.outputs:
        yield "outputs", [", ".join(plan.outputs)]
    if plan.queries:
        yield "queries", [query_text(query) for query in plan.queries]


def _stratum_heading(stratum: PlannedStratum) -> str:
    return f"stratum {stratum.index}  {', '.join(stratum.relations)}   {planned_kind(stratum)}"


def _stratum_lines(stratum: PlannedStratum) -> list[str]:
    return _tree_lines(stratum_tree(stratum))


def _tree_lines(root: PlanBranch) -> list[str]:
    return tree_lines(_text_branch(without_repeats(root)))


def stratum_lines_with_notes(stratum: PlannedStratum, note: Callable[[Plan], str]) -> list[str]:
    """Returns the heading and the plan of a stratum, with something to say about each node behind it."""

    def with_note(branch: PlanBranch) -> TextBranch:
        own = _text_branch(branch)
        told = "" if branch.node is None else note(branch.node)
        return TextBranch(f"{own.text}\t{told}", own.role, tuple(with_note(child) for child in branch.children))

    pairs = [line.split("\t") for line in tree_lines(with_note(without_repeats(stratum_tree(stratum), note)))]
    width = max(len(text) for text, _ in pairs)
    return [_stratum_heading(stratum), *(f"  {text:<{width}}   {told}".rstrip() for text, told in pairs)]


def _listed(heading: str, entries: Sequence[str]) -> list[str]:
    """Returns the heading once and the entries below each other."""
    return [f"{heading if i == 0 else '':<9}{entry}" for i, entry in enumerate(entries)]


def _typed_relation(name: str, columns: Sequence[Field]) -> str:
    """Returns `arc(a: int, b)`; a type that only the data will tell is left out."""
    shown = [f"{field.name}: {field.type}" if field.type.is_known else field.name for field in columns]
    return f"{name}({', '.join(shown)})"


def planned_kind(stratum: PlannedStratum) -> str:
    match stratum.root:
        case Definition():
            return stratum_kind(None)
        case Fixpoint(_, recursion):
            return stratum_kind(recursion)


def sharing_text(branch: PlanBranch) -> tuple[str, ...]:
    """Returns the name of a branch that stands elsewhere, too, or says under which name it is shown."""
    return tuple(filter(None, (branch.name, branch.same_as and f"as {branch.same_as}")))


def _text_branch(branch: PlanBranch) -> TextBranch:
    words = f"{branch.operator} {branch.detail}" if branch.detail else branch.operator
    text = "  ".join((words, *([f"[{branch.tag}]"] if branch.tag else []), *sharing_text(branch)))
    return TextBranch(text, branch.role, tuple(_text_branch(child) for child in branch.children))
