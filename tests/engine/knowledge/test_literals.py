"""The literals of a pattern: every line that the pattern matches holds one of them, whatever the pattern."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.errors import KnowledgeError
from engine.knowledge.literals import MOST_ALTERNATIVES, required

pieces = st.sampled_from(
    [
        "engine dead",
        "CUDA",
        r"\d+",
        r"(?:oom|hang)",
        r"(?:x\d|yy)",
        r"(?:one (?:of|or) two)",
        r"(?P<n>[\d.]+)",
        ".{0,20}",
        "(?:x|longer alternative)?",
        r"\.",
        "[ab]",
        "a{2,3}",
    ]
)


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        ("CUDA out of memory", ("cuda out of memory",)),
        (r"needs (?P<n>\d+) GiB of KV cache", (" gib of kv cache",)),
        ("Engine (?:is dead|has died)", ("engine has died", "engine is dead")),
        ("RayChannelTimeoutError|Timed out waiting", ("raychanneltimeouterror", "timed out waiting")),
        (r"a?longer than the rest\d*", ("longer than the rest",)),
        ("(?:repeated part)+", ("repeated part",)),
        ("(?:optional part)?needed part", ("needed part",)),
    ],
)
def test_the_longest_text_that_must_be_there_is_found(pattern: str, literals: tuple[str, ...]) -> None:
    assert required(pattern) == literals


@given(st.lists(pieces, min_size=1, max_size=5), st.data())
def test_every_match_holds_a_literal(parts: list[str], data: st.DataObject) -> None:
    pattern = " ".join(parts)
    try:
        literals = required(pattern)
    except (KnowledgeError, re.error):
        assume(False)
    line = data.draw(st.from_regex(re.compile(pattern, re.ASCII | re.IGNORECASE)))
    assert any(literal in line.lower() for literal in literals)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(unclosed", "does not parse"),
        ("a{99999999999}", "does not parse"),
        (r"(?P<a>x+)(?P=a)", "groupref"),
        ("before(?=after)", "assert"),
        ("(?<!not )found", "assert_not"),
        ("(?>atomic)", "atomic_group"),
        (r"\d+|\w+", "no fixed part"),
        ("(?:a fixed part|.*)", "no fixed part"),
        ("", "no fixed part"),
    ],
)
def test_a_pattern_that_cannot_be_matched_fast_is_refused(pattern: str, reason: str) -> None:
    with pytest.raises(KnowledgeError, match=reason):
        required(pattern)


def test_the_number_of_alternatives_is_limited() -> None:
    letters = "(?:a|b|c|d|e)"
    assert len(required(f"prefix {letters * 4}")) <= MOST_ALTERNATIVES
