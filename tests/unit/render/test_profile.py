"""A profile as text and as a page."""

from __future__ import annotations

import pickle

from emberlog.events import (
    Event,
    ExecutorChosen,
    IterationFinished,
    RuleRound,
    RulesProfiled,
    RunFinished,
    RunStarted,
    StratumFinished,
    StratumStarted,
    WorkerEffort,
)
from emberlog.profile import RunProfile
from emberlog.render.pages.profile import profile_page
from emberlog.render.profile_text import MOST_ITERATIONS, profile_text
from emberlog.workers.fixpoint.profile import Profile
from tests.unit.render.tags import tags_of


def collected(iterations: int = 3) -> RunProfile:
    tc = ("tc",)
    events: list[Event] = [
        RunStarted(2),
        StratumStarted(1, tc, True),
        ExecutorChosen(1, tc, "interpreter", "the plan interpreter", "it is small"),
        IterationFinished(1, tc, 1, 999, 999, 9.0),
        ExecutorChosen(1, tc, "cyclic", "2 workers, bsp", "no <pivot>"),
        *(IterationFinished(1, tc, i, 1000 * i, 5000, 0.25) for i in range(1, iterations + 1)),
        RulesProfiled(
            1,
            tc,
            (
                RuleRound("r1", "tc", 0, 40, 30, 0.5),
                RuleRound("r2", "tc", 1, 1200, 900, 1.5),
                RuleRound("r2", "tc", 2, 100, 5, 0.25),
            ),
        ),
        StratumFinished(
            1, tc, iterations, 5000, 2.5, workers=(WorkerEffort(1, 2.0, 0.25, 7), WorkerEffort(2, 0.5, 1.75, 4))
        ),
        StratumStarted(2, ("n",), False),
        StratumFinished(2, ("n",), 0, 1, 0.5),
        RunFinished(3.0),
    ]
    profile = RunProfile()
    for event in events:
        profile(event)
    return profile


def test_as_text() -> None:
    assert profile_text(collected()) == "\n".join(
        [
            "profile: 3.00 s",
            "",
            "tc   2.50 s   5,000 facts",
            "  2 workers, bsp: no <pivot>",
            "",
            "  worker   busy  waiting  exchanges",
            "       1  2.000    0.250          7",
            "       2  0.500    1.750          4",
            "  the busiest worker computed 1.6 times as long as the mean",
            "",
            "  rule  relation  derived  new  seconds",
            "  r2    tc          1,300  905    1.750",
            "  r1    tc             40   30    0.500",
            "",
            "  iteration  delta  facts  seconds",
            "          1  1,000  5,000    0.250",
            "          2  2,000  5,000    0.250",
            "          3  3,000  5,000    0.250",
            "",
            "n   0.50 s   1 fact",
        ]
    )


def test_long_recursions_are_cut_in_the_middle() -> None:
    table = profile_text(collected(100)).partition("iteration  ")[2].partition("\n\n")[0]
    shown = [line.split()[0] for line in table.splitlines()[1:]]
    assert shown == ["1", "2", "3", "4", "5", "6", "…", "95", "96", "97", "98", "99", "100"]
    assert len(shown) == MOST_ITERATIONS + 1


def test_the_page_stands_alone_and_escapes_what_it_shows() -> None:
    page = profile_page("a<b>.dl", collected(1_000))
    assert "https:" not in page and "http:" not in page
    assert "a&lt;b&gt;.dl" in page and "no &lt;pivot&gt;" in page
    text = tags_of(page).text
    for heading in ("Seconds by rule", "Rows by rule", "New facts by iteration", "Seconds by worker"):
        assert heading in text
    assert page.count('title="iteration') == 2 * 200  # five iterations share a column
    assert "http" not in page.replace("http-equiv", "")


def test_profiles_of_workers_add_up_and_travel() -> None:
    one, other = Profile(), Profile()
    one.at("r2", "tc", 1).derived = 5
    for profile in (one, other):
        counts = profile.at("r1", "tc", 0)
        counts.derived, counts.kept, counts.seconds = 3, 2, 0.5
    one.add(pickle.loads(pickle.dumps(other)))
    assert one.rounds() == (RuleRound("r1", "tc", 0, 6, 4, 1.0), RuleRound("r2", "tc", 1, 5, 0, 0.0))
