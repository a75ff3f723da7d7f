"""Words are cut the same way for the lexicon and for a complaint, and positions stay those of the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.observe.words import LONGEST, cut, fold, is_chinese, stem, stems


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hangs hanging hanged hang", ["hang"] * 4),
        ("requests are stuck", ["request", "are", "stuck"]),
        ("it doesn't answer", ["it", "doe", "not", "answer"]),
        ("it can't, it won't, it cannot", ["it", "can", "not", "it", "will", "not", "it", "can", "not"]),
        ("the engine’s dead", ["the", "engin", "dead"]),
        ("stopped stopping", ["stop", "stop"]),
        ("pass passes", ["pass", "pass"]),
        ("set max-model-len to 4096", ["set", "max-model-len", "to", "4096"]),
        ("vllm/vllm-openai:v0.8.5 at /dev/shm", ["vllm/vllm-openai:v0.8.5", "at", "/dev/shm"]),
        ("显存不足 oom", ["显", "存", "不", "足", "oom"]),
        ("ＯＯＭ　ＮＣＣＬ", ["oom", "nccl"]),
        ("!!!!! garbage", ["!!!!!", "garbag"]),
        ("", []),
    ],
)
def test_text_is_cut_into_stems(text: str, expected: list[str]) -> None:
    assert stems(text) == expected


@given(st.text())
def test_folding_moves_nothing(text: str) -> None:
    assert len(fold(text)) == len(text)


@pytest.mark.parametrize("odd", ["İ", "ŉ", "ß", "Ⱥ", "ﬁ"])
def test_one_letter_that_grows_leaves_the_rest_folded(odd: str) -> None:
    assert fold(f"{odd} REQUESTS HANG")[-13:] == "requests hang"


@given(st.text())
def test_every_word_stands_where_it_is_said_to(text: str) -> None:
    folded = fold(text)
    for word, start, end in cut(folded):
        assert 0 <= start < end <= len(text)
        assert len(word) <= LONGEST


@given(st.text(alphabet=st.characters(categories=["Ll"]), min_size=1))
def test_a_stem_is_never_empty_and_begins_the_word(word: str) -> None:
    assert stem(word)
    assert word.startswith(stem(word))


def test_chinese_is_told_by_one_character() -> None:
    assert is_chinese("vllm 报 oom")
    assert not is_chinese("vllm, ｏｏｍ！")
