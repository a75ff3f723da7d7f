"""What every backend promises for one rule set; the plain one fulfils it by reading, durable_rules by test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engine.model import Rule, RuleSet

if TYPE_CHECKING:
    from engine.reason.chain import Backend

OUT_OF_MEMORY = RuleSet(
    "memory",
    (
        Rule("kv-cache", ("sign:kv-need", "stage:start-up"), "symptom:kv-cache-too-small"),
        Rule("smaller-window", ("symptom:kv-cache-too-small",), "fix:max-model-len-down"),
        Rule("weights", ("sign:oom", "stage:loading"), "symptom:weights-too-large"),
    ),
)


def fired(engine: Backend, rule_set: RuleSet, *atoms: str) -> list[str]:
    return sorted(rule.id for rule in engine.run(rule_set, atoms))


def test_a_rule_fires_only_when_all_its_conditions_hold(engine: Backend) -> None:
    assert fired(engine, OUT_OF_MEMORY, "sign:oom") == []
    assert fired(engine, OUT_OF_MEMORY, "sign:oom", "stage:loading") == ["weights"]


def test_conclusions_are_drawn_from_conclusions_within_the_set(engine: Backend) -> None:
    assert fired(engine, OUT_OF_MEMORY, "stage:start-up", "sign:kv-need") == ["kv-cache", "smaller-window"]


def test_a_conclusion_may_be_told_as_a_fact(engine: Backend) -> None:
    assert fired(engine, OUT_OF_MEMORY, "symptom:kv-cache-too-small") == ["smaller-window"]


def test_nothing_is_remembered_from_one_evaluation_to_the_next(engine: Backend) -> None:
    fired(engine, OUT_OF_MEMORY, "sign:oom")
    assert fired(engine, OUT_OF_MEMORY, "stage:loading") == []


def test_no_atoms_fire_nothing(engine: Backend) -> None:
    assert fired(engine, OUT_OF_MEMORY) == []


def test_atoms_that_no_rule_mentions_mean_nothing(engine: Backend) -> None:
    strangers = ["sign:unheard-of", "no atom at all", "", ":", 'quote:"', "brace:{}", "中文:词", "sign:oom\n"]
    assert fired(engine, OUT_OF_MEMORY, *strangers, "sign:oom", "stage:loading") == ["weights"]


def test_an_atom_told_twice_counts_once(engine: Backend) -> None:
    assert fired(engine, OUT_OF_MEMORY, "sign:oom", "sign:oom") == []
    assert fired(engine, OUT_OF_MEMORY, "sign:oom", "sign:oom", "stage:loading") == ["weights"]


def test_rules_in_a_cycle_each_fire_once(engine: Backend) -> None:
    circle = RuleSet("circle", (Rule("ab", ("a:a",), "b:b"), Rule("ba", ("b:b",), "a:a"), Rule("aa", ("a:a",), "a:a")))
    assert fired(engine, circle, "b:b") == ["aa", "ab", "ba"]


def test_two_rules_with_one_conclusion_both_fire(engine: Backend) -> None:
    twins = RuleSet("twins", (Rule("first", ("a:a",), "c:c"), Rule("second", ("b:b",), "c:c")))
    assert fired(engine, twins, "a:a", "b:b") == ["first", "second"]


def test_twelve_conditions_are_all_needed(engine: Backend) -> None:
    body = tuple(f"sign:s{number}" for number in range(12))
    long = RuleSet("long", (Rule("all-twelve", body, "cause:c"),))
    assert fired(engine, long, *body) == ["all-twelve"]
    assert fired(engine, long, *body[1:]) == []


@pytest.mark.parametrize("name", ["e", "0", "m_0", "boot", "kind", "sid", "id", "a" * 64, "0.9.1", "a-b_c.d"])
def test_no_name_is_special(engine: Backend, name: str) -> None:
    plain = RuleSet("plain", (Rule("r", (f"id:{name}", f"sid:{name}", f"boot:{name}"), f"kind:{name}"),))
    assert fired(engine, plain, f"id:{name}", f"sid:{name}") == []
    assert fired(engine, plain, f"id:{name}", f"sid:{name}", f"boot:{name}") == ["r"]


def test_rule_and_set_ids_may_hold_any_text(engine: Backend) -> None:
    odd = '"}]} \\ \n 启动 %s'
    assert fired(engine, RuleSet(odd, (Rule(odd, ("a:a",), "b:b"),)), "a:a") == [odd]


def test_a_set_that_comes_back_with_other_rules_is_not_answered_from_the_old_ones(engine: Backend) -> None:
    before = RuleSet("edited", (Rule("r", ("a:a",), "b:b"),))
    after = RuleSet("edited", (Rule("r", ("a:a", "c:c"), "b:b"),))
    assert fired(engine, before, "a:a") == ["r"]
    assert fired(engine, after, "a:a") == []
    assert fired(engine, before, "a:a") == ["r"]


class FaultyName(str):
    """A conclusion that cannot be looked up once it is armed: a failure inside the action of a firing rule."""

    armed = False

    def __hash__(self) -> int:
        if self.armed:
            raise ZeroDivisionError("inside the action")
        return super().__hash__()


def test_an_exception_inside_a_rule_action_surfaces_and_leaves_nothing_behind(engine: Backend) -> None:
    faulty = FaultyName("b:b")
    rule_set = RuleSet("faulty", (Rule("r", ("a:a",), faulty), Rule("s", ("b:b", "c:c"), "d:d")))
    assert fired(engine, rule_set, "a:a", "c:c") == ["r", "s"]
    faulty.armed = True
    with pytest.raises(ZeroDivisionError, match="inside the action"):
        engine.run(rule_set, ["a:a"])
    faulty.armed = False
    assert fired(engine, rule_set, "c:c") == []
    assert fired(engine, rule_set, "a:a", "c:c") == ["r", "s"]


def test_an_exception_while_atoms_are_told_surfaces_and_leaves_nothing_behind(engine: Backend) -> None:
    with pytest.raises(TypeError):
        engine.run(OUT_OF_MEMORY, ["sign:oom", ["not hashable"]])  # type: ignore[list-item]
    assert fired(engine, OUT_OF_MEMORY, "stage:loading") == []
