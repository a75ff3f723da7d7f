"""A slip is put right where it is one, and a word that is only alike is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.observe.spelling import closest, meant

KNOWN = ["hang", "request", "memory", "contain", "collective", "oom", "slow", "start"]


@pytest.mark.parametrize(
    ("word", "right"),
    [
        ("reqeust", "request"),
        ("memmory", "memory"),
        ("memry", "memory"),
        ("memoru", "memory"),
        ("hnag", "hang"),
        ("colective", "collective"),
        ("colectiv", "collective"),
        ("collectvie", "collective"),
    ],
)
def test_a_slip_is_put_right(word: str, right: str) -> None:
    assert meant(word, KNOWN) == right


@pytest.mark.parametrize(
    "word", ["bang", "hand", "room", "zoom", "slot", "hang", "oo", "", "hängen", "oom1", "memorandum", "quest"]
)
def test_a_word_of_its_own_is_left_alone(word: str) -> None:
    assert meant(word, KNOWN) is None


def test_the_nearest_wins_and_ties_go_by_the_alphabet() -> None:
    assert meant("starr", ["stark", "start"]) == "stark"
    assert meant("requets", ["requests", "request"]) == "request"


def test_the_closest_name_is_suggested_only_when_it_is_close() -> None:
    names = ["--max-model-len", "--max-num-seqs", "--port"]
    assert closest("--max-modle-len", names) == "--max-model-len"
    assert closest("--unlike-anything", ["--port"]) is None
    assert closest("x", []) is None


@given(st.text(), st.lists(st.text(min_size=1), max_size=5))
def test_any_word_may_be_asked_about(word: str, known: list[str]) -> None:
    assert meant(word, known) in (None, *known)
    assert closest(word, known) in (None, *known)
