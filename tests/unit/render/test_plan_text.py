"""The explain text is a contract, so it is compared character by character."""

from __future__ import annotations

from textwrap import dedent

from emberlog.datatypes import INT, STRING
from emberlog.logical.build import build
from emberlog.logical.connection_graph import build_connection_graph
from emberlog.logical.nodes import (
    Aggregate,
    AggregateColumn,
    AntiJoin,
    Field,
    Join,
    LogicalPlan,
    Scan,
    Union,
    Values,
    Version,
)
from emberlog.logical.summary import aggregate_notes, counted, program_summary, stream_notes
from emberlog.optimize.pipeline import PASS_NAMES, Optimized, PassChange, optimize, plan_program
from emberlog.render.plan_text import CHANGED_LINES_SHOWN, changed_lines, explain_text, pass_lines, plan_text
from emberlog.semantics.analysis import analyze
from emberlog.semantics.model import CheckedProgram
from emberlog.source import Source
from emberlog.syntax.parser import parse

TC = """
    r1: tc(X, Y) :- arc(X, Y).
    r2: tc(X, Y) :- tc(X, Z), tc(Z, Y).
    tc(1, Y)?
"""


def checked(text: str) -> CheckedProgram:
    return analyze(parse(Source("test.dl", dedent(text))), params={})


def optimized(text: str, *off: str) -> Optimized:
    return optimize(build(checked(text)), off=frozenset(off))


def explained(text: str, *, passes_in_full: bool = False, off: tuple[str, ...] = ()) -> str:
    program = checked(text)
    plan = build(program)
    graph = build_connection_graph(program)
    return explain_text(program, graph, plan, optimize(plan, off=frozenset(off)), passes_in_full=passes_in_full)


def section(text: str, name: str) -> str:
    """The lines below one heading, without their indentation."""
    blocks = text.split(f"\n{name}\n")[1]
    lines = []
    for line in blocks.split("\n"):
        if line and not line.startswith(" "):
            break
        lines.append(line)
    return dedent("\n".join(lines)).strip("\n")


def test_a_recursive_plan() -> None:
    assert plan_text(optimized(TC).plan) == dedent("""\
        inputs   arc(c1, c2)
        outputs  tc
        queries  tc(1, Y)?

        stratum 1  tc   recursive, non-linear, set semantics
          Fixpoint tc(X, Y)
          ├ seed        Project X, Y  [r1]
          │             └ Scan arc(X, Y)
          ├ iterate r2  Project X, Y
          │             └ Join on Z
          │               ├ Scan Δtc(X, Z)
          │               └ Scan tc(Z, Y)
          └ iterate r2  Project X, Y
                        └ Join on Z
                          ├ Scan tc(X, Z) without Δ
                          └ Scan Δtc(Z, Y)""")


def test_mutual_recursion_shows_every_relation() -> None:
    text = """
        even(0).
        even(X) :- odd(Y), succ(Y, X).
        odd(X) :- even(Y), succ(Y, X).
    """
    assert "stratum 1  even, odd   recursive, linear, mutual, set semantics" in plan_text(optimized(text).plan)
    assert "  Fixpoint of 2 relations\n  ├ Relation even(" in plan_text(optimized(text).plan)


def test_a_part_of_a_plan() -> None:
    x, y = Field("X", INT), Field("Y", INT)
    scan, before = Scan("arc", (x, y)), Scan("tc", (x,), Version.BEFORE)
    counting = Aggregate(AntiJoin(scan, before, ("X",)), ("X",), (AggregateColumn(Field("N", INT), "count", ()),))
    assert plan_text(counting) == dedent("""\
        Aggregate by X: N = count<_>
        └ AntiJoin on X
          ├ Scan arc(X, Y)
          └ Scan tc(X) without Δ""")
    assert plan_text(Join(before, Scan("b", (y,)), ())).startswith("Join every pair\n")
    assert plan_text(Union((scan,))) == "Union\n└ Scan arc(X, Y)"


def test_values_show_a_few_rows_and_count_the_rest() -> None:
    columns = (Field("N", INT), Field("S", STRING))
    assert plan_text(Values(columns, ())) == "Values N, S: no rows"
    assert plan_text(Values((), ((),))) == "Values one empty row"
    assert plan_text(Values(columns, ((1, 'a"b'), (None, "c")))) == 'Values N, S: (1, "a\\"b"), (null, "c")'
    many = plan_text(Values(columns, tuple((i, "x") for i in range(2_000))))
    assert many == 'Values N, S: (0, "x"), (1, "x"), (2, "x"), … 2,000 rows'


def test_aggregates_in_a_fixpoint_and_a_bound() -> None:
    text = """
        @iterations(20)
        rank(Y, sum<V>) :- node(Y), V = 0.15.
        rank(Y, sum<V>) :- rank(X, R), arc(X, Y), V = 0.85 * R.
    """
    shown = plan_text(optimized(text).plan)
    assert "recursive, linear, bounded iteration, at most 20 rounds" in shown
    assert "Fixpoint rank(Y, V = sum<V>)" in shown


def test_every_section_of_an_explanation() -> None:
    text = explained("p(X) :- e(X, Y), Y > 1.\n")
    headings = [line for line in text.split("\n") if line and not line.startswith(" ")]
    assert headings == [
        "program",
        "connection graph (b: bound before, f: found)",
        "strata",
        "logical plan",
        "passes",
        "optimized plan",
    ]
    assert text.startswith("program\n  test.dl\n  2 relations (1 input, 1 derived), 1 rule, 1 stratum\n")


def test_strata_say_why_a_recursion_is_right() -> None:
    lines = section(explained(TC), "strata").split("\n")
    assert lines[0] == "1  tc   recursive, non-linear, set semantics   rules r1, r2"
    assert lines[1].strip().startswith("why: ")


def test_passes_show_what_they_changed() -> None:
    shown = section(explained(TC), "passes")
    assert "fold_constants      nothing" in shown
    (delta,) = (line for line in shown.split("\n") if line.startswith("derive_delta_rules"))
    assert delta.endswith("changed")
    assert "      stratum 1  tc   recursive, non-linear, set semantics" in shown


def test_passes_in_full_and_switched_off() -> None:
    shown = section(explained(TC, passes_in_full=True, off=("prune_columns",)), "passes")
    assert "prune_columns       switched off" in shown
    assert "An iteration should only look at what the last one added" in shown
    assert "\n      ├ seed        Project X, Y  [r1]\n" in shown, "lines that stayed are there too"


def test_a_pass_over_rules_shows_the_rules_that_went_and_came() -> None:
    optimized = plan_program(checked(TC.replace("tc(X, Z), tc(Z, Y)", "tc(X, Z), arc(Z, Y)")))
    (change,) = (one for one in optimized.changes if one.rules is not None)
    assert changed_lines(change) == [
        "− r1: tc(X, Y) :- arc(X, Y).",
        "− r2: tc(X, Y) :- tc(X, Z), arc(Z, Y).",
        "+ r1: tc(1, Y) :- arc(1, Y).",
        "+ r2: tc(1, Y) :- tc(1, Z), arc(Z, Y).",
    ]
    assert changed_lines(change, in_full=True)[-1] == "  tc(1, Y)?"


def test_long_changes_are_cut_off() -> None:
    before = build(checked("".join(f"p{i}(X) :- e(X, Y), Y > {i}.\n" for i in range(20))))
    after = LogicalPlan(before.inputs, before.strata[:3], before.outputs, before.queries)
    change = PassChange("shorten", "For the test.", before, after)
    assert changed_lines(change) == [f"− stratum {i}  p{i - 1}   not recursive" for i in range(4, 21)]
    assert "−   Define p4(X)" in changed_lines(change, in_full=True)
    lines = list(pass_lines(Optimized(after, (change,)), in_full=False))
    assert lines[0] == "shorten  changed"
    assert lines[-1] == f"    … {17 - CHANGED_LINES_SHOWN} more lines"
    assert len(lines) == CHANGED_LINES_SHOWN + 2


def test_changes_without_the_indentation_that_they_share() -> None:
    before, after = (build(checked(f"p(X) :- e(X, Y), Y > {number}.\n")) for number in (1, 2))
    assert changed_lines(PassChange("change", "For the test.", before, after)) == [
        "  stratum 1  p   not recursive",
        "− └ Filter Y > 1",
        "+ └ Filter Y > 2",
    ]


def test_an_unchanged_plan_is_not_shown_twice() -> None:
    shown = explained("p(X) :- e(X).\n", off=PASS_NAMES)
    assert section(shown, "optimized plan") == "the same as the logical plan"


def test_streams_and_windows() -> None:
    text = """
        STREAM ride(Ts: timestamp, From: string, To: string).
        RELATION hub(City: string).
        trip(T, A, B) :- ride(T, A, B), hub(A).
        late(T, A) :- ride(T, A, _), trip(T1, A, _), T > T1.
        query trip(_, A, B), WINDOW(60 minutes, 5 minutes).
        query late(_, A), WINDOW(1 hours).
    """
    notes = stream_notes(checked(text))
    assert "trip: asked for in WINDOW(60 minutes, 5 minutes)" in notes
    assert "late: asked for in WINDOW(1 hours), with a slide of one time unit" in notes
    assert any(note.startswith("late: derived from a stream; T is when a fact became true") for note in notes)
    assert any("so it is a column like any other" in note for note in notes)
    assert section(explained(text), "streams").split("\n") == list(notes)


def test_the_summary_of_a_program() -> None:
    text = "hub(1). hub(2).\nsssp(X, min<D>) :- hub(X), D = 0.\nsssp(Y, min<D>) :- sssp(X, C), arc(X, Y), D = C + 1.\n"
    program = checked(text)
    assert program_summary(program).startswith("3 relations (1 input, 2 derived), 2 facts, 2 rules, ")
    (note,) = aggregate_notes(program)
    assert note.startswith("sssp: meet aggregate; ")
    assert [counted(1, "query"), counted(2, "stratum"), counted(1_204, "fact")] == [
        "1 query",
        "2 strata",
        "1,204 facts",
    ]
