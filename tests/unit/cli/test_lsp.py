"""`emberlog lsp`, as far as no editor is needed; tests/unit/editor has the rest."""

from __future__ import annotations

import importlib.util

import pytest

from tests.unit.cli.conftest import Emberlog


def test_without_its_package_it_says_what_to_install(emberlog: Emberlog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    outcome = emberlog("lsp")
    assert outcome.code == 1
    assert "error[DL530]" in outcome.err and "pip install 'emberlog[lsp]'" in outcome.err
    assert outcome.out == ""


def test_its_help_tells_where_editors_are_told(emberlog: Emberlog) -> None:
    outcome = emberlog("lsp", "--help")
    assert outcome.code == 0 and "docs/editors.md" in outcome.out and "--stdio" in outcome.out
