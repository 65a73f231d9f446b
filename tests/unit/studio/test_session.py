"""What a person works on: the text and its mistakes, data, runs, stops, answers and questions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

from emberlog.diagnostics import EmberlogError, Severity
from emberlog.studio.answers import View
from emberlog.studio.data import relation_of
from emberlog.studio.runs import State, answered
from emberlog.studio.session import EXAMPLE, Session, value_of

ENDLESS = "n(0). n(Y) :- n(X), Y = X + 1."
REACH = "reach(X, Y) :- arc(X, Y).\nreach(X, Z) :- reach(X, Y), arc(Y, Z).\n"


@pytest.fixture
def session() -> Iterator[Session]:
    made = Session(REACH)
    yield made
    made.close()


def put_file(session: Session, name: str, text: str) -> None:
    relation, path = session.data.place_for(name)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    session.data.register(relation, path)


def ran(session: Session) -> Session:
    run = session.start()
    assert run.wait(60)
    assert run.state is State.DONE, run.problems
    return session


def test_the_first_program_is_right_and_runs() -> None:
    session = Session()
    assert session.check(EXAMPLE).is_right
    assert ran(session).answer("reach").total == 12
    session.close()


def test_mistakes_have_their_place(session: Session) -> None:
    checked = session.check("a(1).\nb(X, Y) :- a(X), Z > 0.\n")
    assert not checked.is_right
    first = checked.mistakes[0]
    assert (first.severity, first.line) == (Severity.ERROR, 2)
    assert first.start is not None
    assert checked.text[first.start : first.end]
    assert first.hints


def test_relations_have_types_kinds_and_counts(session: Session) -> None:
    found = {one.name: one for one in session.check().relations}
    assert found["arc"].kind == "input without data"
    put_file(session, "arc.csv", "1,2\n2,3\n")
    found = {one.name: one for one in session.check().relations}
    assert (found["arc"].columns, found["arc"].kind, found["arc"].facts) == ("c1: int, c2: int", "input", 2)
    assert found["reach"].facts is None
    ran(session)
    found = {one.name: one for one in session.check().relations}
    assert (found["reach"].columns, found["reach"].kind, found["reach"].facts) == ("X: int, Y: int", "derived", 3)


def test_data_that_nothing_reads_is_listed_even_beside_a_mistake(session: Session) -> None:
    put_file(session, "other.tsv", "1\ta\n")
    assert [one.name for one in session.check("broken(").relations] == ["other"]
    known = {one.name: one.columns for one in session.check("a(1).\nb(X) :- a(X).\nc(X, Y) :- a(X).\n").relations}
    assert known == {"other": "c1: int, c2: string", "a": "c1: int", "b": "X: int", "c": "c1, c2"}
    session.data.forget("other")
    assert session.check("broken(").relations == ()


def test_a_first_line_of_names_is_no_fact_and_the_list_says_so(session: Session) -> None:
    put_file(session, "arc.csv", "from,to\n1,2\n2,3\n")
    (found,) = (one for one in session.check().relations if one.name == "arc")
    assert (found.columns, found.facts) == ("from: int, to: int", 2)
    assert "names of its columns" in found.kind
    assert ran(session).answer("reach").total == 3


@pytest.mark.parametrize("name", ["arc.exe", "..", "", "a\0.csv", "a\n.csv"])
def test_what_is_no_file_of_facts_is_told(session: Session, name: str) -> None:
    with pytest.raises(EmberlogError, match="DL407"):
        session.data.place_for(name)


@pytest.mark.parametrize("name", ["../../arc.csv", "..\\arc.csv", "/etc/arc.csv"])
def test_a_file_stays_in_its_folder(session: Session, name: str) -> None:
    relation, path = session.data.place_for(name)
    assert relation == "arc"
    assert path.name == "arc.csv"
    assert ".." not in path.parts


def test_broken_data_leaves_what_was_there(session: Session) -> None:
    put_file(session, "arc.csv", "1,2\n")
    relation, path = session.data.place_for("arc.parquet")
    path.parent.mkdir(parents=True)
    path.write_text("no parquet")
    with pytest.raises(EmberlogError):
        session.data.register(relation, path)
    assert ran(session).answer("reach").total == 1


def test_a_run_that_fails_says_why(session: Session) -> None:
    run = session.start()
    assert run.wait(60)
    assert run.state is State.FAILED
    assert run.problems[0].code == "DL401"
    assert session.outputs == ()


def test_iterations_are_heard_while_it_runs(session: Session) -> None:
    session.text = "n(0). n(Y) :- n(X), Y = X + 1, X < 30. q(X) :- n(X)."
    ran(session)
    assert session.run is not None
    recursive = session.run.profile.strata[0]
    assert len(recursive.iterations) >= 30
    assert session.run.profile.spent


def test_a_run_is_stopped_at_once_and_the_next_one_works(session: Session) -> None:
    session.text = ENDLESS
    run = session.start()
    time.sleep(0.5)
    assert session.is_running
    since = time.monotonic()
    session.stop()
    assert run.wait(0)
    assert run.state is State.STOPPED
    assert run.leave(20)
    assert time.monotonic() - since < 20
    session.text = "a(1). b(X) :- a(X)."
    assert ran(session).answer("b").total == 1


def test_starting_again_stops_what_runs(session: Session) -> None:
    session.text = ENDLESS
    first = session.start()
    session.text = "a(1)."
    ran(session)
    assert first.state is State.STOPPED


def test_two_pages_that_start_at_once_leave_one_run(session: Session) -> None:
    session.text = ENDLESS
    with ThreadPoolExecutor(2) as pool:
        runs = [one.result() for one in [pool.submit(session.start) for _ in range(2)]]
    assert [one.state for one in runs].count(State.RUNNING) == 1
    assert session.run is not None
    assert session.run.state is State.RUNNING


def test_a_mistake_of_ours_is_told_as_a_diagnostic() -> None:
    def broken() -> None:
        raise ZeroDivisionError("by zero")

    with pytest.raises(EmberlogError, match=r"DL901.*ZeroDivisionError: by zero"):
        answered(broken)


def test_parameters_are_read_as_they_are_typed(session: Session) -> None:
    session.text = "a(1). a(2). b(X) :- a(X), X = $which."
    assert session.check().parameters == ("which",)
    session.parameters["which"] = "2"
    assert ran(session).answer("b").page(View(), 0, 5).rows == ((2,),)
    assert [value_of(one) for one in ("1", "1.5", "true", "a b", '"7"')] == [1, 1.5, True, "a b", "7"]


def test_a_fact_is_proved_by_a_run_that_only_asking_pays_for(session: Session) -> None:
    put_file(session, "arc.csv", "1,2\n2,3\n3,4\n")
    ran(session)
    assert "arc(2, 3)" in str(session.why("reach", (1, 4)))
    assert "reach(4, 1)" in str(session.why_not("reach", (4, 1)))
    first = session._recorded()
    assert session._recorded() is first
    put_file(session, "arc.csv", "1,2\n")
    with pytest.raises(EmberlogError, match="changed since"):
        session.why("reach", (1, 2))


def test_nothing_can_be_asked_before_a_run(session: Session) -> None:
    with pytest.raises(EmberlogError, match="DL533"):
        session.why("reach", (1, 2))


def test_answers_are_written_as_files(session: Session) -> None:
    put_file(session, "arc.csv", "1,2\n2,3\n")
    ran(session)
    assert sorted(session.export("reach", "csv").read_text().split()) == ["1,2", "1,3", "2,3", "X,Y"]
    assert parquet.read_table(session.export("reach", "parquet")).num_rows == 3


def test_a_program_is_saved_where_it_came_from(tmp_path: Path) -> None:
    path = tmp_path / "a.dl"
    session = Session("a(1).", path)
    session.text = "a(2)."
    session.save()
    assert path.read_text() == "a(2)."
    session.close()
    other = Session("a(1).")
    with pytest.raises(EmberlogError, match="DL533"):
        other.save()
    other.close()


def test_plans_have_rows_expected_and_counted(session: Session) -> None:
    from emberlog.studio.plans import plan_html

    put_file(session, "arc.csv", "1,2\n2,3\n")
    assert "about" in plan_html(session, counts=False)
    assert "counted" in plan_html(session, counts=True)


def test_names_and_texts_never_become_html(session: Session) -> None:
    from emberlog.studio.plans import plan_html

    session.text = 'a("<img src=x onerror=alert(1)>"). `<b>`(X) :- a(X).\n'
    checked = session.check()
    if checked.is_right:
        ran(session)
    session.text = 'a("<img src=x onerror=alert(1)>"). b(X) :- a(X), X != "<script>".\n'
    ran(session)
    assert "<img" not in plan_html(session, counts=True)
    assert "<script" not in session.why("b", ("<img src=x onerror=alert(1)>",)).to_html().split("</header>")[1].replace(
        "<script>\n", ""
    )


def test_a_file_names_its_relation() -> None:
    assert [relation_of(one) for one in ("arc.csv", "arc.csv.gz", "arc.parquet")] == ["arc"] * 3
