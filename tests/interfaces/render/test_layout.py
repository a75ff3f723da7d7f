"""Lines fit the terminal in cells, Chinese breaks where Chinese readers expect it, Latin words stay whole."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import wcwidth

from interfaces.render.layout import cells, wrap

CLOSING = "，。、；：！？）」』】》〉”’"
OPENING = "（「『【《〈“‘"
# Latin with accents, punctuation, CJK, Hangul syllables, full-width forms; no symbols, whose widths still change.
BLOCKS = [(0x20, 0x370), (0x2000, 0x2C00), (0x2E80, 0x302E), (0x3030, 0x3130), (0x3190, 0xA4D0), (0xAC00, 0xD7A4),
          (0xF900, 0xFB00), (0xFE30, 0xFFA0)]  # fmt: skip
UNPRINTABLE = ("Cc", "Cf", "Cn", "So", "Zl", "Zp")
LETTERS = "abc-_/.0"
CHINESE = "启动时显存不足请求卡住"
SENTENCE = st.text(st.sampled_from(LETTERS + CHINESE + CLOSING + OPENING + "  "), max_size=120)


def lines_of(text: str, width: int, first: int = 0, rest: int = 0) -> list[str]:
    return [text[start:end] for start, end in wrap(text, width, first, rest)]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block[0]:x}-{block[1]:x}")
def test_every_character_of_latin_and_chinese_text_is_as_wide_as_terminals_make_it(block: tuple[int, int]) -> None:
    printable = [chr(code) for code in range(*block) if unicodedata.category(chr(code)) not in UNPRINTABLE]
    assert [c for c in printable if cells(c) != wcwidth(c)] == []


@pytest.mark.parametrize(
    ("text", "width"), [("KV cache 装不下", 15), ("ｆｕｌｌ", 8), ("e\u0301", 1), ("“…”", 3), ("한글", 4), ("", 0)]
)
def test_the_width_of_a_text_is_counted_in_cells(text: str, width: int) -> None:
    assert cells(text) == width


@given(SENTENCE, st.integers(20, 90), st.integers(0, 8))
def test_no_line_is_wider_than_asked_unless_it_holds_one_unbreakable_piece(text: str, width: int, indent: int) -> None:
    for line in lines_of(text, width, indent, indent):
        if indent + cells(line) > width:
            assert len(lines_of(line, 1)) == 1


@given(SENTENCE, st.integers(20, 90))
def test_wrapping_loses_nothing_but_spaces(text: str, width: int) -> None:
    assert "".join(lines_of(text, width)).replace(" ", "") == text.replace(" ", "")


@given(st.text(st.sampled_from(CHINESE + CLOSING + OPENING), min_size=1, max_size=80), st.integers(20, 60))
def test_closing_punctuation_starts_no_line_and_opening_ends_none(text: str, width: int) -> None:
    lines = lines_of(text, width)
    assert [line for line in lines[1:] if line[0] in CLOSING] == []
    assert [line for line in lines[:-1] if line[-1] in OPENING] == []


def test_flags_paths_and_identifiers_are_never_divided() -> None:
    text = "把 --gpu-memory-utilization 调到 0.93，并看 /var/log/vllm/server.log。"
    words = {word for line in lines_of(text, 20) for word in line.split(" ")}
    assert {"--gpu-memory-utilization", "/var/log/vllm/server.log。"} <= words


def test_chinese_next_to_latin_may_be_divided_between_them() -> None:
    assert lines_of("启动时检查KV显存是否足够", 13) == ["启动时检查KV", "显存是否足够"]


def test_lines_after_the_first_may_start_further_in() -> None:
    assert lines_of("one two three four", 9, first=0, rest=4) == ["one two", "three", "four"]
