"""Limits."""

from __future__ import annotations

import pytest

from emberlog.config import DEFAULT_LIMITS, Limits
from emberlog.diagnostics import EmberlogError


def test_none_is_no_limit() -> None:
    assert Limits(max_iterations=None, max_rows=None, timeout=None).max_rows is None


def test_the_defaults_bound_what_could_go_on_for_ever() -> None:
    assert DEFAULT_LIMITS.max_iterations is not None
    assert DEFAULT_LIMITS.max_rows is not None


def test_all_wrong_limits_are_reported_together() -> None:
    with pytest.raises(EmberlogError) as caught:
        Limits(max_iterations=0, max_rows=-1_000, timeout=0.0)
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["DL509"] * 3
    assert "the limit max_rows must be larger than 0, not -1,000" in str(caught.value)
