"""Every source with every type: the table of docs/api.md, and random tables, in this process."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import polars
import pytest
from docs.generate import API, renewed_sources

import emberlog
from tests.door import SOURCES, check_random_table, sample, types_seen

TABLES = int(os.environ.get("EMBERLOG_DOOR", "25"))


def test_the_table_of_the_documentation_is_up_to_date() -> None:
    text = API.read_text(encoding="utf-8")
    assert renewed_sources(text) == text, "run `python3 dev.py docs`"


def test_packages_that_speak_arrow_are_as_the_table_says(tmp_path: Path) -> None:
    stream = types_seen(emberlog.Database(engine="local"), "DuckDB, polars", tmp_path)
    for made in (polars.from_arrow(sample()), duckdb.from_arrow(sample())):
        assert types_seen(emberlog.Database(engine="local"), "DuckDB, polars", tmp_path, made) == stream


@pytest.mark.parametrize("source", SOURCES)
def test_random_tables(source: str, tmp_path: Path) -> None:
    for seed in range(TABLES):
        folder = tmp_path / str(seed)
        folder.mkdir()
        check_random_table(emberlog.Database(engine="local"), seed, source, folder)
