"""Every interleaving of small teams: the detector never stops early, and always stops.

A message has fuel: whoever takes it may send that many on, each with less, to anyone. Work, messages under way and
tokens make a state; all states that can be reached are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest

from emberlog.workers.fixpoint.termination import Detector, Token

Fuel = int
Channel = tuple[Fuel | Token, ...]


@dataclass(frozen=True, slots=True)
class World:
    detectors: tuple[Detector, ...]
    work: tuple[tuple[Fuel, ...], ...]
    """By worker: what it still has to do."""
    channels: tuple[tuple[Channel, ...], ...]
    """By sender and receiver: what is under way, the oldest first."""
    is_over: bool = False

    @property
    def is_quiet(self) -> bool:
        """Nobody has work and none is under way."""
        letters = (letter for row in self.channels for channel in row for letter in channel)
        return not any(self.work) and all(isinstance(letter, Token) for letter in letters)


def begun(work: tuple[tuple[Fuel, ...], ...]) -> World:
    workers = len(work)
    detectors = tuple(Detector.of(number, workers) for number in range(workers))
    return World(detectors, work, tuple(tuple(() for _ in range(workers)) for _ in range(workers)))


def successors(world: World, *, in_order: bool) -> Iterator[World]:
    """What may happen next: a worker does a piece of work, takes a letter, or lets the token go."""
    if world.is_over:
        return
    workers = len(world.work)
    for number in range(workers):
        detector = world.detectors[number]
        for place, fuel in enumerate(world.work[number]):
            rest = world.work[number][:place] + world.work[number][place + 1 :]
            yield _with(world, number, detector, rest)
            for other in range(workers):
                if other != number and fuel > 0:
                    # It may send more of the same piece later: what is left of its fuel stays as work.
                    left = tuple(sorted((*rest, fuel - 1)))
                    yield _posted(_with(world, number, detector.sent(), left), number, other, fuel - 1)
        if not world.work[number] and detector.token is not None:
            if detector.is_over:
                yield replace(world, is_over=True)
            else:
                after, token = detector.passed_on()
                yield _posted(_with(world, number, after, ()), number, detector.following, token)
        for sender in range(workers):
            channel = world.channels[sender][number]
            for place in range(len(channel) if not in_order else min(1, len(channel))):
                letter = channel[place]
                taken = _with_channel(world, sender, number, channel[:place] + channel[place + 1 :])
                if isinstance(letter, Token):
                    yield _with(taken, number, detector.given(letter), world.work[number])
                else:
                    more = tuple(sorted((*world.work[number], letter)))
                    yield _with(taken, number, detector.received(), more)


def _with(world: World, number: int, detector: Detector, work: tuple[Fuel, ...]) -> World:
    detectors = (*world.detectors[:number], detector, *world.detectors[number + 1 :])
    return replace(world, detectors=detectors, work=(*world.work[:number], work, *world.work[number + 1 :]))


def _posted(world: World, sender: int, receiver: int, letter: Fuel | Token) -> World:
    return _with_channel(world, sender, receiver, (*world.channels[sender][receiver], letter))


def _with_channel(world: World, sender: int, receiver: int, channel: Channel) -> World:
    row = world.channels[sender]
    changed = (*row[:receiver], channel, *row[receiver + 1 :])
    return replace(world, channels=(*world.channels[:sender], changed, *world.channels[sender + 1 :]))


def explored(first: World, *, in_order: bool, change: Callable[[World], World] = lambda world: world) -> set[World]:
    """All states that can be reached; checks each as it is met."""
    before: dict[World, list[World]] = {first: []}
    waiting, ends = [first], []
    while waiting:
        world = waiting.pop()
        following = [change(one) for one in successors(world, in_order=in_order)]
        if world.is_over:
            assert world.is_quiet, f"stopped early: {world}"
            ends.append(world)
        else:
            assert following, f"nothing can happen any more, and nobody stops: {world}"
        for one in following:
            if one not in before:
                before[one] = []
                waiting.append(one)
            before[one].append(world)
    # Where an end can be reached from everywhere, a run that does not put off a letter for ever comes to it.
    can_end = set(ends)
    while ends:
        for world in before[ends.pop()]:
            if world not in can_end:
                can_end.add(world)
                ends.append(world)
    assert can_end == set(before), "there is a state from which nobody ever stops"
    return can_end


CASES = [
    ((0,),),
    ((2,), ()),
    ((2,), (1,)),
    ((2,), (2,)),
    ((1, 1), (2,)),
    ((1,), (), ()),
    ((2,), (), ()),
    ((1,), (1,), ()),
]


@pytest.mark.parametrize("in_order", [True, False], ids=["in order", "out of order"])
@pytest.mark.parametrize("work", CASES, ids=str)
def test_no_interleaving_stops_early_or_never(work: tuple[tuple[Fuel, ...], ...], in_order: bool) -> None:
    assert len(explored(begun(work), in_order=in_order)) > 2


@pytest.mark.parametrize("work", CASES, ids=str)
def test_when_all_is_quiet_the_token_goes_round_three_times_at_most(work: tuple[tuple[Fuel, ...], ...]) -> None:
    workers = len(work)
    for quiet in [world for world in explored(begun(work), in_order=True) if world.is_quiet]:
        steps, world = 0, quiet
        while not world.is_over:
            (world,) = successors(world, in_order=True)
            steps += 1
        # To worker 0, round once to be clean, and once more to be believed; each hop is a letter sent and taken.
        assert steps <= 3 * 2 * workers + 1


def test_three_workers_with_a_chain_of_messages_are_many_states() -> None:
    assert len(explored(begun(((2,), (1,), ())), in_order=True)) > 5_000


def _without_stains(world: World) -> World:
    detectors = tuple(replace(one, is_stained=False) for one in world.detectors)
    return replace(world, detectors=detectors)


def _without_counts(world: World) -> World:
    return replace(world, detectors=tuple(replace(one, balance=0) for one in world.detectors))


@pytest.mark.parametrize("broken", [_without_stains, _without_counts])
def test_a_detector_without_stains_or_counts_is_found_out(broken: Callable[[World], World]) -> None:
    """So the search above sees what it should see."""
    with pytest.raises(AssertionError, match="stopped early"):
        explored(begun(((2,), (1,), ())), in_order=True, change=broken)
