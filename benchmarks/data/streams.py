"""Streams for the queries of the Streamlog paper: organisations, rides, relations between users, citations.

The paper's own files cannot be shipped. These have the same columns and the same kind of content; timestamps are whole
numbers that grow, in the units of the paper's windows, and a small part arrives late.
"""

from __future__ import annotations

import numpy as np

from benchmarks.data.randomness import Ints, Sequence
from benchmarks.data.relations import Relations


def organisations(tuples: int, seed: int = 1) -> Relations:
    """As in LUBM: universities have departments, departments have research groups, and some of these have smaller ones.
    They appear university by university; each is in one of a few countries."""
    random = Sequence(seed, f"organisations {tuples}")
    child = np.arange(tuples, dtype=np.int64)
    place = child % _UNIVERSITY
    university = child - place
    department = university + 1 + random.below(_DEPARTMENTS, tuples)
    before = university + 1 + random.below(np.maximum(place - 1, 1), tuples)
    is_smaller = random.chances(0.2, tuples) & (place > _DEPARTMENTS + 1)
    parent = np.where(place <= _DEPARTMENTS, university, np.where(is_smaller, before, department))
    country = -1 - random.below(_COUNTRIES, tuples)
    parent = np.where(place == 0, country, parent)
    return {"subOrg": {"Ts": _times(random, tuples, 5), "OrgId": parent, "SubOrgId": child}}


_UNIVERSITY = 240
"""Organisations in one of them."""
_DEPARTMENTS = 15
_COUNTRIES = 50


def rides(tuples: int, places: int = 77, seed: int = 1) -> Relations:
    """As in Chicago's taxi trips: 77 areas, a few of them popular, fares by distance."""
    random = Sequence(seed, f"rides {tuples}")
    pickup = (random.units(tuples) ** 2 * places).astype(np.int64)
    drop = (random.units(tuples) ** 2 * places).astype(np.int64)
    fare = np.abs(pickup - drop) * 0.5 + 3.25 + random.below(8, tuples) * 0.25
    names = np.array([f"a{number}" for number in range(places)], dtype=object)
    return {"ride": {"Ts": _times(random, tuples, 1), "Pickup": names[pickup], "Drop": names[drop], "Fare": fare}}


def related_users(tuples: int, seed: int = 1) -> Relations:
    """As in a social network: users relate mostly to well-known users."""
    random = Sequence(seed, f"related users {tuples}")
    users = max(2, tuples // 10)
    follower = random.below(users, tuples)
    followed = (random.units(tuples) ** 3 * users).astype(np.int64)
    return {"relateTo": {"Ts": _times(random, tuples, 50), "X": followed, "Y": follower}}


def citations(tuples: int, seed: int = 1) -> Relations:
    """As in the high-energy physics archive: a paper cites a dozen earlier ones, recent ones more often."""
    random = Sequence(seed, f"citations {tuples}")
    paper = np.arange(tuples, dtype=np.int64) // 12 + 1
    age = (random.units(tuples) ** 3 * paper).astype(np.int64) + 1
    cited = np.maximum(0, paper - age)
    names = np.array([f"h{number}" for number in range(int(paper.max()) + 1)], dtype=object)
    return {"pub": {"Ts": _times(random, tuples, 1), "PaperId": names[paper], "PaperRef": names[cited]}}


def _times(random: Sequence, tuples: int, gap: int) -> Ints:
    """Growing times with gaps of 0 to 2 × `gap`; one tuple in a hundred is up to ten gaps late."""
    times = np.cumsum(random.below(2 * gap + 1, tuples)) + 10 * gap
    late = random.chances(0.01, tuples)
    return np.where(late, times - random.below(10 * gap, tuples), times)
