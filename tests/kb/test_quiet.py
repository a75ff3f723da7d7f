"""A corpus of texts and logs that are in order, or not ours, or say too little: nothing in it may be claimed.

A cause that is harmless by nature (its only fix is that none is needed) may be named beside a healthy log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support import answer, claimed, real

QUIET = Path(__file__).parent / "quiet"


def files(folder: str) -> list[Any]:
    return [pytest.param(path.read_bytes(), id=path.stem) for path in sorted((QUIET / folder).glob("*.log"))]


def lines(*kinds: str) -> list[str]:
    paths = [path for kind in kinds for path in sorted((QUIET / "words").glob(f"{kind}-*.txt"))]
    return [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


def harmful(ids: list[str]) -> list[str]:
    logic = {cause: real().item("logic", cause) or {} for cause in ids}
    return [cause for cause, rest in logic.items() if not rest["harmless"]]


@pytest.mark.parametrize("log", files("healthy"))
def test_a_healthy_log_is_called_healthy_and_blames_nothing(log: bytes) -> None:
    found = answer("", log, knowledge=real())
    assert harmful(claimed(found)) == []
    assert found.status == "healthy"


@pytest.mark.parametrize("words", ["is this fine?", "这样正常吗？", "anything wrong here?", "日志有问题吗"])
@pytest.mark.parametrize("log", files("healthy"))
def test_asking_about_a_healthy_log_blames_nothing(log: bytes, words: str) -> None:
    assert harmful(claimed(answer(words, log, knowledge=real()))) == []


@pytest.mark.parametrize("log", files("other-logs"))
def test_a_log_of_other_software_blames_nothing(log: bytes) -> None:
    assert claimed(answer("", log, knowledge=real())) == []


@pytest.mark.parametrize("text", lines("how-to"))
def test_a_question_of_how_to_is_no_trouble(text: str) -> None:
    assert claimed(answer(text, knowledge=real())) == []


@pytest.mark.parametrize("text", lines("off-topic"))
def test_what_is_about_something_else_names_no_cause(text: str) -> None:
    found = answer(text, knowledge=real())
    assert found.causes == ()
    assert found.status in ("unknown", "needs_more")


@pytest.mark.parametrize("text", lines("nearly"))
def test_words_that_could_almost_be_ours_claim_nothing(text: str) -> None:
    assert claimed(answer(text, knowledge=real())) == []


@pytest.mark.parametrize("text", lines("vague"))
def test_a_bare_wish_for_help_claims_nothing_and_asks_back(text: str) -> None:
    found = answer(text, knowledge=real())
    assert found.causes == ()
    assert found.status in ("needs_more", "unknown")
    assert (found.question is not None) == (found.status == "needs_more")
