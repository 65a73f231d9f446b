"""Every engine of this process gives what the second oracle says, on random programs of the second generator.

`EMBERLOG_CROSSCHECK` sets their number; `python3 dev.py crosscheck-full` runs 5,000.
"""

from __future__ import annotations

import os

import pytest

from tests.crosscheck.check import assert_no_findings

PROGRAMS = int(os.environ.get("EMBERLOG_CROSSCHECK", "200"))
AT_A_TIME = 25


@pytest.mark.parametrize("first", range(0, PROGRAMS, AT_A_TIME))
def test_random_programs(first: int) -> None:
    assert_no_findings(range(first, min(first + AT_A_TIME, PROGRAMS)))
