"""Links hold a program, and nothing else gets in by one."""

from __future__ import annotations

import base64
import zlib

import pytest

from emberlog.diagnostics import EmberlogError
from emberlog.studio.links import KEY, MOST_CHARACTERS, fragment_of, program_in


@pytest.mark.parametrize("text", ["", "arc(1, 2).\n", 'name("Ünï <img onerror=x> 🔥").', "a" * 10_000])
def test_a_program_comes_back(text: str) -> None:
    assert program_in(fragment_of(text)) == text
    assert program_in(f"#{fragment_of(text)}") == text
    assert set(fragment_of(text)) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=")


def test_another_fragment_is_no_program() -> None:
    assert program_in("#answers") is None
    assert program_in("") is None


@pytest.mark.parametrize("packed", ["!!!", "AAAA", fragment_of("arc(1, 2).")[len(KEY) : -4], ""])
def test_a_broken_link_is_told(packed: str) -> None:
    with pytest.raises(EmberlogError, match="DL531"):
        program_in(KEY + packed)


def test_a_bomb_is_not_unpacked() -> None:
    packed = base64.urlsafe_b64encode(zlib.compress(b"x" * (MOST_CHARACTERS * 20), 9)).decode().rstrip("=")
    with pytest.raises(EmberlogError, match="DL531"):
        program_in(KEY + packed)
