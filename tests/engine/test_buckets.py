"""A mapping in pieces gives what was put into it, whichever key is asked for first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.buckets import PIECES, Buckets, pack

mappings = st.dictionaries(
    st.text(st.characters(codec="utf-8")), st.one_of(st.integers(), st.text(st.characters(codec="utf-8"))), max_size=50
)


@given(mappings, st.text())
def test_every_key_gives_its_value_and_no_other_does(mapping: dict[str, object], stranger: str) -> None:
    opened = Buckets(pack(mapping))
    assert {key: opened.get(key) for key in mapping} == mapping
    assert opened.get(stranger, "default") == mapping.get(stranger, "default")
    assert sorted(opened) == sorted(mapping)


def test_only_the_pieces_that_are_asked_for_are_read() -> None:
    packed = list(pack({"a": 1, "b": 2}))
    opened = Buckets(tuple(packed))
    assert opened.get("a") == 1
    assert len(packed) == PIECES
    assert "a" in opened
    assert "c" not in opened


def test_a_key_that_no_text_file_can_hold_is_only_absent() -> None:
    assert Buckets(pack({"a": 1})).get("\ud800") is None
