"""The passes in their order, and the driver that runs them and checks the plan after each.

Rule passes go from rules to rules, before there is a plan; all other passes go from plan to plan. What no output needs
is left out in the end, whatever passes ran: emptied plans have stopped reading by then.
"""

from __future__ import annotations

from collections.abc import Container, Set
from dataclasses import dataclass, field, replace

from emberlog.deadline import check_time
from emberlog.diagnostics import Diagnostics, nearest
from emberlog.logical.build import build
from emberlog.logical.invariants import check_invariants
from emberlog.logical.needed_strata import only_what_is_needed
from emberlog.logical.nodes import LogicalPlan
from emberlog.logical.program_invariants import ProgramInvariants
from emberlog.logical.rule_text import program_lines
from emberlog.logical.statistics import NO_STATISTICS, Statistics
from emberlog.logical.traverse import PLANNING
from emberlog.optimize.aggregate_eagerly import aggregate_eagerly
from emberlog.optimize.ask_for_existence import ask_for_existence
from emberlog.optimize.context import PassContext, PassFunction
from emberlog.optimize.demand_for_proofs import Demands, demand_for_proofs
from emberlog.optimize.derive_delta_rules import derive_delta_rules
from emberlog.optimize.fold_constants import fold_constants
from emberlog.optimize.join_by_computed_keys import join_by_computed_keys
from emberlog.optimize.linearise import linearise
from emberlog.optimize.prune_columns import prune_columns
from emberlog.optimize.push_aggregate_into_recursion import push_aggregate_into_recursion
from emberlog.optimize.push_down_filter import push_down_filter
from emberlog.optimize.reduce_by_semijoin import reduce_by_semijoin
from emberlog.optimize.reorder_joins import reorder_joins
from emberlog.optimize.rewrite_demand import rewrite_demand
from emberlog.optimize.rewritten import RulePassFunction
from emberlog.optimize.share_common_bodies import share_common_bodies
from emberlog.optimize.simplify import simplify
from emberlog.optimize.split_between_joins import split_between_joins
from emberlog.optimize.unfold_renamings import unfold_renamings
from emberlog.optimize.unfold_single_use import unfold_single_use
from emberlog.semantics.model import CheckedProgram
from emberlog.shown import Shown


@dataclass(frozen=True, slots=True)
class Pass:
    run: PassFunction
    reason: str
    """Why it is worth running, and why at this place, in one sentence."""
    keeps_rounds: bool = False
    """Whether it leaves every relation there, with the facts and the iterations that the written rules give it. With
    provenance no other pass runs."""

    @property
    def name(self) -> str:
        return self.run.__name__


@dataclass(frozen=True, slots=True)
class RulePass:
    run: RulePassFunction
    reason: str

    @property
    def name(self) -> str:
        return self.run.__name__


RULE_PASSES = (
    RulePass(
        join_by_computed_keys,
        "A value that can be computed should be looked up, not found among all; before demand, which goes by what is "
        "bound.",
    ),
    RulePass(
        unfold_renamings,
        "Columns in another order should not be written down; before what goes by the rules that read a relation.",
    ),
    RulePass(
        unfold_single_use,
        "What one rule alone reads should not be written down in between; first, so that others see through it.",
    ),
    RulePass(
        push_aggregate_into_recursion,
        "What only the best fact of a group is wanted of should not derive the others, of which there may be no end.",
    ),
    RulePass(
        linearise,
        "A chain should be found once, and from the end that is asked for; before demand, which follows what rules "
        "hand through.",
    ),
    RulePass(rewrite_demand, "Constants in a query should restrict what is derived, not only what is shown of it."),
    RulePass(
        share_common_bodies,
        "What is computed anyway should be read where it is needed again; after demand, which tells what is computed.",
    ),
    RulePass(
        split_between_joins,
        "What is the same after a join should be joined on once; last, as only rules that stay are worth it.",
    ),
)

PASSES = (
    Pass(
        fold_constants,
        "What is known before the data is there should not be computed for every row.",
        keeps_rounds=True,
    ),
    Pass(push_down_filter, "A row that is dropped early is not joined, sent or sorted.", keeps_rounds=True),
    Pass(
        prune_columns,
        "Columns that nobody reads cost memory and network; filters have found their places by now.",
        keeps_rounds=True,
    ),
    Pass(
        simplify,
        "The passes before leave nodes behind that do nothing, and emptied plans empty others.",
        keeps_rounds=True,
    ),
    Pass(reduce_by_semijoin, "A row that only has to have a partner should not be joined with all of them."),
    Pass(aggregate_eagerly, "What is only counted should be counted before a join repeats it."),
    Pass(
        ask_for_existence,
        "What only has to be there should be met once; behind what statistics promise more for, before deltas, which "
        "take it over.",
        keeps_rounds=True,
    ),
    Pass(
        derive_delta_rules,
        "An iteration should only look at what the last one added; so late that deltas are final.",
        keeps_rounds=True,
    ),
    Pass(
        reorder_joins,
        "A join that gives few rows should come early; last, as a delta wants an order of its own.",
        keeps_rounds=True,
    ),
)

PASS_NAMES = (*(one.name for one in RULE_PASSES), *(one.name for one in PASSES))

FOR_PROVENANCE = "proofs need the relations and the rounds of the rules as they are written"
"""Why a pass does not run."""


@dataclass(frozen=True, slots=True)
class PassChange:
    """What one pass did."""

    name: str
    reason: str
    before: LogicalPlan
    after: LogicalPlan
    is_off: bool = False
    note: str = ""
    """What it did, or why it did nothing, in a few words."""
    rules: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    """The program before and after, line by line, if the pass went from rules to rules."""

    @property
    def changed(self) -> bool:
        return self.after is not self.before


@dataclass(frozen=True, slots=True, repr=False)
class Optimized(Shown):
    plan: LogicalPlan
    changes: tuple[PassChange, ...]
    """One per pass, in their order, those without effect included."""
    demands: Demands = field(default_factory=dict)
    """What is computed of relations that a run with provenance does not compute in full."""

    def __repr__(self) -> str:
        changed = [change.name for change in self.changes if change.before != change.after]
        return f"Optimized({self.plan!r}; changed by {', '.join(changed) or 'no pass'})"


def plan_program(
    checked: CheckedProgram,
    *,
    off: Set[str] = frozenset(),
    statistics: Statistics = NO_STATISTICS,
    provenance: bool = False,
) -> Optimized:
    """Returns the optimised plan of a program; passes named in `off` are left out. `statistics` are those of its
    inputs. With `provenance`, every relation that has a part in the answer is computed as it is written, and stays; of
    what queries restrict, the facts that they demand."""
    _check_names(off)
    if provenance:
        return _plan_for_proofs(checked, off, statistics)
    plan = build(checked)
    invariants = ProgramInvariants(checked)
    changes = []
    for one in RULE_PASSES:
        check_time(PLANNING)
        before, written = plan, checked
        is_off, note = one.name in off, ""
        if not is_off:
            rewritten = one.run(written, statistics)
            checked, note = rewritten.checked, rewritten.reason
            if checked is not written:
                invariants.check(checked, one.name)
            # A relation that a pass makes up is no output, also where there is no query to say what is one.
            plan = before if checked is written else replace(build(checked), outputs=before.outputs)
        rules = None if plan is before else (program_lines(written), program_lines(checked))
        changes.append(PassChange(one.name, one.reason, before, plan, is_off, note, rules))
    known = replace(plan, statistics=statistics) if statistics else plan
    optimized = optimize(known, off=off)
    return Optimized(optimized.plan, (*changes, *optimized.changes))


def _plan_for_proofs(checked: CheckedProgram, off: Set[str], statistics: Statistics) -> Optimized:
    """Returns the plan of the rules as they are written, for what is demanded."""
    plan = _with_all_relations(build(checked), checked.relations)
    changes, demands = [], dict[str, tuple[tuple[str, str], ...]]()
    for one in RULE_PASSES:
        before, is_off, note, rules = plan, True, FOR_PROVENANCE, None
        if one.run is join_by_computed_keys:  # which leaves relations and rounds as they are
            is_off, note = one.name in off, ""
            if not is_off:
                rewritten = one.run(checked, statistics)
                if rewritten.checked is not checked:
                    rules = (program_lines(checked), program_lines(rewritten.checked))
                    checked, note = rewritten.checked, rewritten.reason
                    plan = _with_all_relations(build(checked), checked.relations)
        if one.run is rewrite_demand:
            is_off, note = one.name in off, ""
            if not is_off:
                restricted, found, note = demand_for_proofs(checked)
                demands.update(found)
                if restricted is not checked:
                    kept = {*checked.relations, *(name for own in demands.values() for _, name in own)}
                    plan = _with_all_relations(build(restricted), kept)
                    rules = (program_lines(checked), program_lines(restricted))
        changes.append(PassChange(one.name, one.reason, before, plan, is_off, note, rules))
    known = replace(plan, statistics=statistics) if statistics else plan
    optimized = optimize(known, off=off, provenance=True)
    return Optimized(optimized.plan, (*changes, *optimized.changes), demands)


def _with_all_relations(plan: LogicalPlan, known: Container[str]) -> LogicalPlan:
    """Returns the plan with every one of these relations that has a part in an output as an output."""
    needed = only_what_is_needed(plan)
    derived = (name for stratum in needed.strata for name in stratum.relations if name in known)
    return replace(needed, outputs=tuple(dict.fromkeys((*plan.outputs, *derived))))


def optimize(plan: LogicalPlan, *, off: Set[str] = frozenset(), provenance: bool = False) -> Optimized:
    """Runs every pass but those switched off by name, or for provenance."""
    _check_names(off)
    context = PassContext(frozenset(off))
    check_invariants(plan, "build")
    changes = []
    for one in PASSES:
        check_time(PLANNING)
        before = plan
        is_in_the_way = provenance and not one.keeps_rounds
        is_off = is_in_the_way or one.name in off
        if not is_off:
            plan = one.run(before, context)
            if plan is not before:
                check_invariants(plan, one.name)
        note = FOR_PROVENANCE if is_in_the_way else ""
        changes.append(PassChange(one.name, one.reason, before, plan, is_off, note))
    if not provenance:  # what has a part as it is written was taken before, and a refutation reads all of it
        plan = only_what_is_needed(plan)
    if reorder_joins.__name__ in off and plan.statistics:
        plan = replace(plan, statistics=NO_STATISTICS)  # executors go by them, too
    return Optimized(plan, tuple(changes))


def _check_names(off: Set[str]) -> None:
    diagnostics = Diagnostics()
    for name in sorted(off - set(PASS_NAMES)):
        guess = nearest(name, PASS_NAMES)
        notes = [f"did you mean `{guess}`?"] if guess else []
        diagnostics.error(
            "DL301", f"there is no pass `{name}` to switch off", None, *notes, f"the passes: {', '.join(PASS_NAMES)}"
        )
    diagnostics.raise_errors()
