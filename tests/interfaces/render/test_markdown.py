"""Markdown of an answer keeps its shape whatever the log says: no link, image, HTML or heading comes from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from engine.knowledge.store import Knowledge
from interfaces.render.document import document
from interfaces.render.markdown import code_span, escaped, markdown

if TYPE_CHECKING:
    from engine.model import Language
    from tests.interfaces.render.conftest import Answers

READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
SYNTAX = st.text(st.sampled_from("`*_[]()<>!#|~\\-+=.1& \nahttps:/w$"), max_size=60)


def tokens(source: str) -> list[Token]:
    return [each for block in READER.parse(source) for each in (block, *(block.children or ()))]


def kinds(source: str) -> set[str]:
    return {token.type for token in tokens(source)}


def shape(source: str) -> list[str]:
    return [token.type for token in READER.parse(source)]


@given(SYNTAX)
def test_escaped_words_are_read_as_the_words_that_they_are(words: str) -> None:
    words = " ".join(words.split())
    inline = [token for token in READER.parse(escaped(words)) if token.type == "inline"]
    assert "".join(child.content for each in inline for child in each.children or ()) == words
    assert kinds(escaped(words)) <= {"paragraph_open", "paragraph_close", "inline", "text"}


@given(SYNTAX.filter(str.strip))
def test_a_code_span_holds_exactly_what_was_put_into_it(words: str) -> None:
    words = words.replace("\n", " ")
    (inline,) = (token for token in READER.parse(f"a {code_span(words)} b") if token.type == "inline")
    spans = [child.content for child in inline.children or () if child.type == "code_inline"]
    assert spans == [words]


@given(SYNTAX)
def test_hostile_evidence_changes_nothing_in_the_shape_of_the_answer(
    answers: Answers, knowledge: Knowledge, hostile: str
) -> None:
    hostile = f"x{hostile}x"  # an empty text would rightly leave its code span out
    calm = markdown(document(answers.with_evidence("xx"), knowledge, "1"), knowledge)
    out = markdown(document(answers.with_evidence(hostile), knowledge, "1"), knowledge)
    assert shape(out) == shape(calm)
    assert not kinds(out) & {"html_inline", "html_block", "image", "link_open", "hr", "table_open"}


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("kind", ["claimed", "suspected", "needs_more", "unknown", "healthy"])
def test_every_command_is_a_fenced_block_of_its_own(
    answers: Answers, knowledge: Knowledge, kind: str, lang: Language
) -> None:
    plain = document(getattr(answers, kind)(lang), knowledge, "1")
    fenced = [token.content.rstrip("\n") for token in READER.parse(markdown(plain, knowledge)) if token.type == "fence"]
    assert [each["command"] for each in plain["missing"] if each["command"]] == fenced[
        len(fenced) - len(plain["missing"]) :
    ] or not fenced
    if plain["command"]:
        assert plain["command"]["after"] in fenced


def test_steps_are_a_numbered_list_with_their_details_inside(answers: Answers, knowledge: Knowledge) -> None:
    out = markdown(document(answers.claimed("en"), knowledge, "1"), knowledge)
    lists = [token for token in READER.parse(out) if token.type == "ordered_list_open"]
    assert len(lists) == 2  # checks and fixes
    nested = [token for token in READER.parse(out) if token.type == "bullet_list_open" and token.level > 0]
    assert nested
