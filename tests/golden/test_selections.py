"""The names of golden programs that some tests are for are those that they should be."""

from __future__ import annotations

import json

from tests.golden.selections import FILE, computed


def test_the_file_is_up_to_date() -> None:
    assert json.loads(FILE.read_text(encoding="utf-8")) == computed(), "python3 dev.py golden-update writes it anew"
