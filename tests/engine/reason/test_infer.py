"""What follows from facts, and on which facts each conclusion rests."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from engine.knowledge.compile import build
from engine.knowledge.store import Knowledge
from engine.model import Rule, RuleSet
from engine.reason.agenda import AGENDA
from engine.reason.chain import Library, conclude
from engine.reason.infer import Conclusions, infer
from tests.engine.reason.facts import fact
from tests.support import MINI, edited, mini

if TYPE_CHECKING:
    from pathlib import Path

    from engine.model import Fact
    from engine.reason.chain import Backend


def concluded(*facts: Fact) -> Conclusions:
    return infer(facts, mini(), AGENDA)


def test_conclusions_are_listed_by_kind_in_the_order_of_their_levels() -> None:
    found = concluded(fact("says.oom"), fact("says.startup"))
    assert found.of("symptom") == ["out-of-memory", "out-of-memory-at-start"]
    assert set(found.of("cause")) == {"window-too-large", "budget-too-large"}
    assert found.of("nothing") == []


def test_nothing_follows_from_nothing() -> None:
    assert concluded().steps == ()
    assert concluded(fact("unheard.of")).steps == ()


def test_a_conclusion_rests_on_the_facts_of_its_shortest_rule() -> None:
    oom, start = fact("says.oom"), fact("says.startup")
    found = concluded(oom, start)
    assert found.grounds["symptom:out-of-memory-at-start"] == (oom, start)
    assert found.grounds["symptom:out-of-memory"] == (oom,)
    assert found.grounds["item:window-too-large.3"] == (oom, start)


def test_an_exact_ground_is_preferred_to_a_near_one() -> None:
    near, exact = fact("says.oom", grade="near"), fact("sign.cuda-out-of-memory")
    assert concluded(near, exact).grounds["symptom:out-of-memory"] == (exact,)


def test_a_set_that_is_not_needed_is_not_loaded(tmp_path: Path) -> None:
    home = shutil.copytree(MINI, tmp_path / "kb")
    edited(home, "phrases/en.yaml", "none: Nothing", "none: Something else")  # no library of this one is at hand yet
    knowledge = Knowledge(build(str(home)))
    infer([fact("derived.removed_flag", "--swap-space")], knowledge, AGENDA)
    read = {key for key in knowledge._kept if key.startswith("rules ")}
    assert 0 < len(read) < len(knowledge.ids("rules"))


def test_both_engines_conclude_the_same(engine: Backend) -> None:
    facts = [
        fact("says.oom"),
        fact("says.startup"),
        fact("where", "docker"),
        fact("says.hang"),
        fact("stats.stalled_lines", 5),
    ]
    assert infer(facts, mini(), engine) == infer(facts, mini(), AGENDA)


def test_sets_loaded_by_need_conclude_what_all_sets_together_conclude() -> None:
    sets = [
        RuleSet(name, tuple(Rule(*row) for row in mini().item("rules", name) or ())) for name in mini().ids("rules")
    ]
    facts = [fact("says.oom"), fact("says.startup"), fact("where", "docker"), fact("says.hang")]
    found = concluded(*facts)
    assert conclude(Library.of(sets), found.atoms, AGENDA, preload=True) == found.steps
