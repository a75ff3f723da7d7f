"""A question is asked when its answer is worth more than it costs and could change which cause comes first."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from engine.knowledge.compile import build
from engine.knowledge.store import Knowledge
from engine.reason.ask import GENERAL, question
from tests.engine.reason.facts import fact, ranked
from tests.support import MINI, edited, mini

if TYPE_CHECKING:
    from pathlib import Path

    from engine.model import Fact

OPEN = (fact("says.oom", kind="complaint"), fact("says.startup", kind="complaint"))


def asked(*facts: Fact, knowledge: Knowledge | None = None) -> str | None:
    base = knowledge or mini()
    return question(ranked(*facts, knowledge=base).suspects, facts, base)


def changed(tmp_path: Path, *edits: tuple[str, str, str]) -> Knowledge:
    home = shutil.copytree(MINI, tmp_path / "kb")
    for file, old, new in edits:
        edited(home, file, old, new)
    return Knowledge(build(str(home)))


def test_what_tells_two_causes_apart_is_asked() -> None:
    assert asked(*OPEN) == "which-stage"


def test_what_is_known_is_not_asked() -> None:
    assert asked(*OPEN, fact("stage", "kv-cache", "answer")) != "which-stage"


def test_what_is_only_supposed_is_still_asked() -> None:
    assert asked(*OPEN, fact("stage", "loading", "complaint", grade="near")) == "which-stage"


def test_a_confirmed_cause_needs_no_question() -> None:
    assert asked(*OPEN, fact("sign.kv-need-exceeds")) is None


def test_one_suspect_or_none_needs_no_question() -> None:
    assert asked(fact("derived.removed_flag", "--swap-space")) is None
    assert asked() is None


def test_a_question_that_cannot_change_the_first_cause_is_not_asked() -> None:
    strong = [fact("sign.cuda-out-of-memory"), fact("says.oom"), fact("stage", "serving", "complaint", grade="near")]
    assert asked(*strong) is None


def test_a_question_that_tells_too_little_is_not_asked(tmp_path: Path) -> None:
    knowledge = changed(tmp_path, ("weights.yaml", "floor_bits: 0.15", "floor_bits: 5.0"))
    assert asked(*OPEN, knowledge=knowledge) is None


def test_the_same_gain_is_asked_where_it_costs_less(tmp_path: Path) -> None:
    file = "questions/questions.yaml"
    text = (MINI / file).read_text(encoding="utf-8")
    twin = text[text.index("- id: which-stage") : text.index("- id: where-it-runs")]
    knowledge = changed(
        tmp_path,
        (file, "什么时候失败？}\n  cost: glance", "什么时候失败？}\n  cost: restart"),
        (file, "- id: where-it-runs", f"{twin.replace('which-stage', 'a-cheap-twin')}- id: where-it-runs"),
    )
    assert asked(*OPEN, knowledge=knowledge) == "a-cheap-twin"


def test_an_answer_of_not_knowing_changes_nothing(tmp_path: Path) -> None:
    knowledge = changed(
        tmp_path, ("questions/questions.yaml", "    - {value: dont-know, text: {en: I do not know, zh: 不知道}}\n", "")
    )
    assert asked(*OPEN, knowledge=knowledge) == asked(*OPEN)


def test_the_general_question_is_never_the_best_one() -> None:
    assert GENERAL in mini().ids("question")
    assert asked(*OPEN) != GENERAL


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_the_facts_makes_no_difference(seed: int) -> None:
    facts = [*OPEN, fact("says.hang", kind="complaint"), fact("gpus", "several", "complaint")]
    assert asked(*facts[seed:], *facts[:seed]) == asked(*facts)
