"""An answer on a terminal: fits it, never breaks a command, never lets anything through that moves the cursor."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.knowledge.store import Knowledge
from interfaces.render.document import document
from interfaces.render.layout import cells, wrap
from interfaces.render.text import text

if TYPE_CHECKING:
    from engine.model import Language
    from tests.interfaces.render.conftest import Answers

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = st.text(st.characters() | st.sampled_from("\x00\x1b\x9b\x7f\u202e\u2066\ud800\n\t 显存"), max_size=80)
KINDS = ["claimed", "suspected", "needs_more", "unknown", "healthy"]


def shown(
    answers: Answers, knowledge: Knowledge, kind: str, lang: Language, width: int | None, colour: bool = False
) -> str:
    return text(document(getattr(answers, kind)(lang), knowledge, "1"), knowledge, width, colour)


def commands(plain: dict[str, Any]) -> set[str]:
    found = {line for each in (*plain["causes"], *plain["missing"]) for line in _commands(each)}
    return found | ({plain["command"]["after"]} if plain["command"] else set())


def _commands(each: dict[str, Any]) -> list[str]:
    parts = [*each.get("checks", ()), *each.get("fixes", ()), each]
    return [line for part in parts for line in [part.get("command"), *part.get("commands", ())] if line]


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [20, 40, 57, 80, 300])
def test_no_line_is_wider_than_the_terminal_but_for_commands_and_single_words(
    answers: Answers, knowledge: Knowledge, kind: str, lang: Language, width: int
) -> None:
    whole = commands(document(getattr(answers, kind)(lang), knowledge, "1"))
    for line in shown(answers, knowledge, kind, lang, width).splitlines():
        if cells(line) > min(width, 100) and line.strip() not in whole:
            words = line.strip().removeprefix("- ").replace("--fact ", "--fact=")  # an argument stays whole
            assert len(wrap(words, 1)) == 1, line


@pytest.mark.parametrize("width", [20, 40, 80, None])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_command_stands_whole_on_a_line_of_its_own(
    answers: Answers, knowledge: Knowledge, lang: Language, width: int | None
) -> None:
    plain = document(answers.claimed(lang), knowledge, "1")
    lines = {line.strip() for line in text(plain, knowledge, width).splitlines()}
    first = plain["causes"][0]
    expected = {check["command"] for check in first["checks"] if check["command"]}
    assert expected | {plain["command"]["after"], "pip show vllm"} <= lines


def test_a_command_of_several_lines_keeps_them(answers: Answers, knowledge: Knowledge) -> None:
    command = "docker run --ipc=host \\\n  vllm/vllm-openai \\\n  --model m"
    plain = document(answers.with_evidence(command), knowledge, "1")
    lines = [line.removeprefix("  ") for line in text(plain, knowledge, 40).splitlines()]
    start = lines.index("docker run --ipc=host \\")
    assert lines[start : start + 3] == command.split("\n")


def test_off_a_terminal_every_paragraph_is_one_line(answers: Answers, knowledge: Knowledge) -> None:
    plain = document(answers.claimed("en"), knowledge, "1")
    assert plain["causes"][0]["why"] in text(plain, knowledge).splitlines()


@given(HOSTILE)
def test_nothing_that_steers_a_terminal_comes_through(answers: Answers, knowledge: Knowledge, hostile: str) -> None:
    for width in (None, 40):
        out = text(document(answers.with_evidence(hostile), knowledge, "1"), knowledge, width)
        left = [c for c in out if c != "\n" and unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]
        assert left == []
        assert unicodedata.bidirectional("\u202e") not in {unicodedata.bidirectional(c) for c in out}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("width", [None, 40])
def test_colour_adds_nothing_but_colour(
    answers: Answers, knowledge: Knowledge, kind: str, lang: Language, width: int | None
) -> None:
    coloured = shown(answers, knowledge, kind, lang, width, colour=True)
    assert COLOUR.sub("", coloured) == shown(answers, knowledge, kind, lang, width)
    assert COLOUR.search(coloured)


def test_long_evidence_is_shortened_for_the_eye(answers: Answers, knowledge: Knowledge) -> None:
    out = text(document(answers.with_evidence("x" * 5_000), knowledge, "1"), knowledge)
    assert max(len(line) for line in out.splitlines() if line.startswith("- line 1")) < 500


@pytest.mark.parametrize("kind", KINDS)
def test_a_chinese_answer_has_no_english_sentence(answers: Answers, knowledge: Knowledge, kind: str) -> None:
    """The product's own words: what the operator or the log said stays as it is, and so do names and commands."""
    plain = document(getattr(answers, kind)("zh"), knowledge, "1")
    quoted = {piece["text"] for cause in (*plain["causes"], *plain["ruled_out"]) for piece in cause["evidence"]}
    quoted |= {each["text"] for each in plain["understood"]} | commands(plain)
    for line in text(plain, knowledge).splitlines():
        if not any(each in line for each in quoted):
            run = re.search(r"(?:\b[a-z]{2,} ){3}", line)
            assert run is None or "“" in line, line


def test_the_first_line_says_how_sure_the_answer_is(answers: Answers, knowledge: Knowledge) -> None:
    first = {kind: shown(answers, knowledge, kind, "en", None).splitlines()[0] for kind in KINDS}
    assert first["claimed"].startswith("Confirmed (91 %): KV cache")
    assert first["suspected"].startswith("Possible (31 %): Container /dev/shm")
    assert first["unknown"] == "This is not in the knowledge base."
    assert first["healthy"].startswith("Healthy")


def test_each_answer_to_the_question_comes_with_the_argument_that_gives_it(
    answers: Answers, knowledge: Knowledge
) -> None:
    plain = document(answers.needs_more("en"), knowledge, "1")
    lines = text(plain, knowledge).splitlines()
    shown = [line for line in lines if "--fact" in line]
    assert [option["text"] in line for option, line in zip(plain["question"]["options"], shown, strict=True)] == [
        True
    ] * len(shown)
    assert shown


def test_an_unknown_answer_says_what_to_hand_in(answers: Answers, knowledge: Knowledge) -> None:
    out = shown(answers, knowledge, "unknown", "en", None)
    assert "server log" in out
    assert "vllm serve command" in out
