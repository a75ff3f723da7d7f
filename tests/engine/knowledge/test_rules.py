"""The rules that come of a knowledge base: several levels deep, named after their origin, in sets of bearable size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engine.knowledge.base import read
from engine.knowledge.rules import MOST_RULES, caution_atom, compile_rules, fix_atom
from engine.reason.agenda import AGENDA
from engine.reason.chain import Library, conclude
from engine.reason.limits import is_atom
from tests.support import MINI, edited

if TYPE_CHECKING:
    from pathlib import Path

    from engine.knowledge.rules import Compiled


def compiled(home: Path = MINI) -> Compiled:
    return compile_rules(read(str(home)))


def levels(known: list[str]) -> dict[str, int]:
    return {step.conclusion: step.level for step in conclude(Library.of(compiled().sets), known, AGENDA)}


def test_a_cause_stands_four_levels_above_the_words_that_suggest_it() -> None:
    found = levels(["says:oom", "says:startup"])
    assert found["symptom:out-of-memory-at-start"] == 1
    assert found["symptom:out-of-memory"] == 1
    assert found["item:window-too-large.3"] == 2
    assert found["cause:window-too-large"] == 3
    assert levels(["sign:cuda-out-of-memory", "test:stage.is.loading"])["symptom:out-of-memory-at-start"] == 1


def test_what_speaks_against_a_cause_makes_no_candidate_of_it() -> None:
    assert levels(["test:gpus.is.one", "test:where.is.bare-metal"]) == {
        "item:shm-too-small.4": 1,
        "item:shm-too-small.5": 1,
    }


def test_a_resemblance_makes_a_candidate() -> None:
    found = levels(["lexical:shm-too-small"])
    assert found == {"item:shm-too-small.resemblance": 1, "cause:shm-too-small": 2}


def test_alternatives_of_one_item_conclude_the_same_item() -> None:
    rules = [rule for one in compiled().sets for rule in one.rules if rule.head == "item:shm-too-small.1"]
    assert {rule.body for rule in rules} == {("says:hang", "test:where.is.docker"), ("says:hang", "says:container")}
    assert len({rule.id for rule in rules}) == 2


def test_a_fix_is_offered_for_its_suspect_and_a_caution_only_beside_another() -> None:
    library = Library.of(compiled().advice)
    alone = {step.conclusion for step in conclude(library, ["suspect:budget-too-large"], AGENDA)}
    both = {
        step.conclusion for step in conclude(library, ["suspect:budget-too-large", "suspect:window-too-large"], AGENDA)
    }
    caution = caution_atom("budget-too-large", "smaller-budget", "window-too-large")
    assert fix_atom("budget-too-large", "smaller-budget") in alone
    assert caution not in alone
    assert caution in both


def test_a_fix_with_a_condition_waits_for_the_word_that_it_may() -> None:
    library = Library.of(compiled().advice)
    atom = fix_atom("shm-too-small", "ipc-host")
    assert atom not in {step.conclusion for step in conclude(library, ["suspect:shm-too-small"], AGENDA)}
    may = "may-test:where.is-not.kubernetes"
    assert atom in {step.conclusion for step in conclude(library, ["suspect:shm-too-small", may], AGENDA)}


@pytest.mark.parametrize(
    ("to", "direction"),
    [("half", "down"), ('"-0.03"', "down"), ("double", "up"), ('"+0.03"', "up"), ("null", '"off"'), ("0.5", '"on"')],
)
def test_the_direction_of_a_change_decides_whom_it_harms(home: Path, to: str, direction: str) -> None:
    edited(home, "causes/memory/budget-too-large.yaml", 'to: "-0.03"', f"to: {to}")
    edited(home, "reference/effects.yaml", "direction: down", f"direction: {direction}")
    heads = {rule.head for one in compiled(home).advice for rule in one.rules}
    assert caution_atom("budget-too-large", "smaller-budget", "window-too-large") in heads


def test_a_change_in_the_other_direction_harms_nobody(home: Path) -> None:
    edited(home, "reference/effects.yaml", "direction: down", "direction: up")
    heads = {rule.head for one in compiled(home).advice for rule in one.rules}
    assert caution_atom("budget-too-large", "smaller-budget", "window-too-large") not in heads


def test_names_too_long_for_the_engine_are_shortened_and_stay_apart() -> None:
    first, second = (caution_atom("a" * 60, "b" * 60, f"{last}" * 60) for last in "cd")
    assert is_atom(first)
    assert is_atom(second)
    assert first != second


def test_sets_are_of_bearable_size_and_the_rules_of_one_item_stay_together(home: Path) -> None:
    shown = "[{says: oom}, {says: hang}, {says: slow}]"
    text = "".join(f"- id: s{n}\n  title: {{en: a, zh: b}}\n  shown_by: {shown}\n" for n in range(100))
    (home / "symptoms/more.yaml").write_text(text, encoding="utf-8")
    sets = compiled(home).sets
    assert len(sets) > 3
    assert all(len(one.rules) <= MOST_RULES for one in sets)
    assert len({one.id for one in sets for rule in one.rules if rule.head == "item:shm-too-small.1"}) == 1


def test_ranking_knows_weights_priors_and_what_is_harmless(home: Path) -> None:
    edited(
        home, "causes/memory/budget-too-large.yaml", "confused_with: [window", "confused_with: [shm-too-small, window"
    )
    logic = compiled(home).logic
    assert logic["window-too-large"]["weights"]["window-too-large.0"] == "decisive"
    assert logic["window-too-large"]["prior"] == "common"
    assert logic["window-too-large"]["vllm"] == ">=0.5"
    assert logic["budget-too-large"]["platform"] == ("cuda", "rocm")
    assert not any(one["harmless"] for one in logic.values())
    assert logic["shm-too-small"]["answers"]["gpus"] == (("==", "one", False, "against"),)
