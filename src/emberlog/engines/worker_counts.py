"""Hears what the workers of a run count: rows by rule and by step, and the facts of each stratum."""

from __future__ import annotations

from emberlog.events import Event, RuleRound, RulesProfiled, RuleStep, StratumFinished


class WorkerCounts:
    """Listens to a run and counts."""

    def __init__(self) -> None:
        self.rounds: list[RuleRound] = []
        self.steps: list[RuleStep] = []
        self.facts: dict[str, int] = {}
        """By the relations of a stratum, together."""

    def __call__(self, event: Event, /) -> None:
        if isinstance(event, RulesProfiled):
            self.rounds += event.rounds
            self.steps += event.steps
        if isinstance(event, StratumFinished) and event.rows is not None:
            self.facts[", ".join(event.relations)] = event.rows
