"""Surface forms are found in a text, and where they overlap the right one is kept."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.observe import words
from engine.observe.lexicon import Span, Word, compile_lexicon, opened, spans

CONCEPTS: list[dict[str, Any]] = [
    {"id": "oom", "kind": "trouble"},
    {"id": "gpu-oom", "kind": "trouble"},
    {"id": "memory", "kind": "thing"},
    {"id": "not", "kind": "negation"},
    {"id": "where", "kind": "circumstance", "facts": {"where": "docker"}},
]
ENGLISH = {
    "oom": ["oom", "out of _ memory"],
    "gpu-oom": ["gpu out of memory"],
    "memory": ["memory"],
    "not": ["not", "no"],
    "where": ["docker"],
}
CHINESE = {
    "oom": ["显存不足", "oom"],
    "gpu-oom": ["卡显存不足"],
    "memory": ["显存"],
    "not": ["不", "没有"],
    "where": ["docker 里"],
}
LEXICON = opened(compile_lexicon(CONCEPTS, ENGLISH, CHINESE))


def found(text: str) -> list[Span]:
    folded = words.fold(text)
    return spans(folded, [Word(words.stem(word), start, end) for word, start, end in words.cut(folded)], LEXICON)


def concepts(text: str) -> list[str]:
    return [span.concept for span in found(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("oom", ["oom"]),
        ("OOM OOM", ["oom", "oom"]),
        ("out of memory", ["oom", "memory"]),
        ("out of gpu memory", ["oom", "memory"]),
        ("out of some gpu memory", ["memory"]),
        ("gpu out of memory", ["gpu-oom", "memory"]),
        ("显存不足", ["oom", "memory"]),
        ("显 存 不 足", ["oom", "memory"]),
        ("卡显存不足", ["gpu-oom", "memory"]),
        ("显存", ["memory"]),
        ("docker里", ["where"]),
        ("room", []),
        ("room 在", []),
        ("oom了", ["oom"]),
        ("xoom了", []),
        ("oomy", []),
        ("no", ["not"]),
        ("", []),
    ],
)
def test_forms_are_found_whole_and_the_longer_of_one_kind_wins(text: str, expected: list[str]) -> None:
    assert sorted(concepts(text)) == sorted(expected)


def test_a_gap_is_one_word_or_none() -> None:
    assert concepts("out of memory")[0] == "oom"
    (span,) = [span for span in found("it ran out of gpu memory") if span.concept == "oom"]
    assert (span.start, span.end, span.first, span.last) == (7, 24, 2, 5)


@pytest.mark.parametrize(
    ("text", "negated"),
    [
        ("not oom", True),
        ("not any oom", True),
        ("not any more oom", False),
        ("not at all ever oom", False),
        ("not here, oom", False),
        ("not here but oom", False),
        ("oom, not", False),
        ("不显存不足", True),
        ("没有显存不足", True),
        ("不是说显存不足", False),
        ("没有。显存不足", False),
    ],
)
def test_a_negation_reaches_what_stands_close_behind_it(text: str, negated: bool) -> None:
    assert [span.negated for span in found(text) if span.concept == "oom"] == [negated]


def test_things_are_not_denied_with_the_trouble() -> None:
    assert [(span.concept, span.negated) for span in found("not out of memory")] == [
        ("not", False), ("oom", True), ("memory", False)
    ]  # fmt: skip


def test_what_is_compiled_is_plain_data() -> None:
    compiled = compile_lexicon(CONCEPTS, ENGLISH, CHINESE)
    assert compiled["facts"] == {"where": {"where": "docker"}}
    assert "out" in compiled["vocabulary"]
    assert "_" not in compiled["vocabulary"]


@given(
    st.lists(
        st.sampled_from(
            ["oom", "out of memory", "gpu out of memory", "显存不足", "卡", "不", "not", ",", "docker", "x"]
        ),
        max_size=10,
    )
)
def test_spans_are_in_order_and_none_is_needless(parts: list[str]) -> None:
    text = " ".join(parts)
    some = found(text)
    assert some == sorted(some, key=lambda span: (span.start, -span.end, span.concept))
    for span in some:
        assert 0 <= span.start < span.end <= len(text)
        assert span.first <= span.last
    troubles = [span for span in some if span.concept in ("oom", "gpu-oom")]
    for one in troubles:
        others = [span for span in troubles if span is not one]
        assert not any(span.start <= one.start and one.end <= span.end for span in others)


@given(st.text(max_size=200))
def test_any_text_has_spans(text: str) -> None:
    assert isinstance(found(text), list)
