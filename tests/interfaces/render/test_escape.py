"""No text from outside may move the cursor, reorder a line or break a JSON reader."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interfaces.render.escape import json_safe, visible

BIDIRECTIONAL = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
ANY_TEXT = st.text(st.characters() | st.sampled_from(BIDIRECTIONAL + "\x00\x1b\x7f\x9b\ud800\udcff\u2028"))


def unsafe(text: str) -> list[str]:
    return [c for c in text if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in BIDIRECTIONAL]


@given(ANY_TEXT)
def test_no_control_bidirectional_or_half_character_is_left_in_what_is_shown(text: str) -> None:
    assert unsafe(visible(text)) == []


@given(ANY_TEXT)
def test_json_is_read_back_as_the_text_that_went_in(text: str) -> None:
    encoded = json_safe(json.dumps(text, ensure_ascii=False))
    assert unsafe(encoded) == []
    whole = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    assert json.loads(encoded) == whole


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\tb\r\nc", "a\\tb\\r\\nc"),
        ("left\u202eright", "left\\u202eright"),
        ("half \udc80", "half \ufffd"),
        ("\x9b2J", "\\x9b2J"),
    ],
)
def test_an_unsafe_character_is_shown_as_an_escape_that_can_be_read(raw: str, shown: str) -> None:
    assert visible(raw) == shown


@pytest.mark.parametrize("text", ["请求卡住了，显存 100%", "naïve – “quoted” …", "emoji 👩‍💻 and 한글", "plain"])
def test_ordinary_text_of_any_language_is_left_as_it_is(text: str) -> None:
    assert visible(text) == text
    assert json.loads(json_safe(json.dumps(text, ensure_ascii=False))) == text
    assert "\\" not in json_safe(text)
