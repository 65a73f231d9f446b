"""Tells when workers that go on by themselves may stop: Safra's token, as pure data.

A token goes round the ring of workers, and each holds it until it is at rest. It adds up messages sent less messages
received; a worker that received something since the token left it stains it. When a token comes back to worker 0 clean,
worker 0 is clean, and the sum is 0, nobody works and nothing is under way. docs/async.md has the argument.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Token:
    balance: int
    """Messages sent less messages received, by the workers that it has passed."""
    is_stained: bool
    """One of them received something after the token had passed it the time before."""


@dataclass(frozen=True, slots=True)
class Detector:
    """Holds what one worker knows. Tokens themselves are not counted."""

    number: int
    workers: int
    balance: int = 0
    is_stained: bool = False
    token: Token | None = None

    @staticmethod
    def of(number: int, workers: int) -> Detector:
        """Returns the state in which a worker begins. Worker 0 has a token that says nothing yet."""
        return Detector(number, workers, token=Token(0, True) if number == 0 else None)

    def sent(self) -> Detector:
        return replace(self, balance=self.balance + 1)

    def received(self) -> Detector:
        return replace(self, balance=self.balance - 1, is_stained=True)

    def given(self, token: Token) -> Detector:
        return replace(self, token=token)

    @property
    def following(self) -> int:
        """Returns the next worker of the ring."""
        return (self.number + 1) % self.workers

    @property
    def is_over(self) -> bool:
        """Tells whether all workers may stop. To be asked at rest only, and true for worker 0 alone."""
        if self.number != 0 or self.token is None:
            return False
        return not self.token.is_stained and not self.is_stained and self.token.balance + self.balance == 0

    def passed_on(self) -> tuple[Detector, Token]:
        """Lets the token go, at rest. Worker 0 begins a new one: the old one told it to go on."""
        assert self.token is not None
        token = Token(0, False)
        if self.number != 0:
            token = Token(self.token.balance + self.balance, self.token.is_stained or self.is_stained)
        return replace(self, token=None, is_stained=False), token
