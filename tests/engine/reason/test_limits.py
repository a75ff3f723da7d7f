"""Each limit is pinned from both sides: the last value that passes and the first that is named."""

from __future__ import annotations

import pytest

from engine.model import Rule, RuleSet
from engine.reason.limits import is_atom, violations


def rule(rule_id: str = "r", *body: str, head: str = "cause:c") -> Rule:
    return Rule(rule_id, body or ("sign:a",), head)


def the_fault(*rule_sets: RuleSet) -> str:
    (fault,) = violations(rule_sets)
    return fault


def numbered(count: int, kind: str = "sign") -> RuleSet:
    """`count` rules, each with a condition of its own kind."""
    return RuleSet("s", tuple(rule(f"r{number}", f"{kind}:n{number}") for number in range(count)))


def test_sound_sets_have_no_violations() -> None:
    assert violations([RuleSet("s", (rule("r1"), rule("r2"))), RuleSet("t", (rule("r3"),)), RuleSet("empty", ())]) == []


def test_a_rule_id_in_two_sets_is_named_with_both() -> None:
    fault = the_fault(RuleSet("one", (rule("twice"),)), RuleSet("two", (rule("twice"),)))
    assert fault == "rule 'twice' in set 'two': the id is taken by a rule in set 'one'"


def test_a_rule_id_twice_in_one_set_is_named() -> None:
    assert "rule 'twice' in set 's'" in the_fault(RuleSet("s", (rule("twice"), rule("twice", "sign:b"))))


def test_two_sets_with_one_id_are_named() -> None:
    assert "rule set 's'" in the_fault(RuleSet("s", (rule("r1"),)), RuleSet("s", (rule("r2"),)))


@pytest.mark.parametrize("count", [1, 12])
def test_one_to_twelve_conditions_pass(count: int) -> None:
    assert violations([RuleSet("s", (rule("r", *(f"sign:n{number}" for number in range(count))),))]) == []


@pytest.mark.parametrize("count", [0, 13])
def test_other_numbers_of_conditions_are_named(count: int) -> None:
    long = Rule("long", tuple(f"sign:n{number}" for number in range(count)), "cause:c")
    assert the_fault(RuleSet("s", (long,))) == f"rule 'long' in set 's': has {count} conditions; 1 to 12 are allowed"


def test_a_repeated_condition_is_named() -> None:
    fault = the_fault(RuleSet("s", (rule("r", "sign:a", "sign:b", "sign:b"),)))
    assert fault == "rule 'r' in set 's': repeats the condition 'sign:b'; write it once"


def test_five_hundred_names_of_a_kind_fit_and_the_next_one_is_named() -> None:
    assert violations([numbered(500)]) == []
    assert "rule 'r500' in set 's': 'sign:n500' is name 501 of kind 'sign'" in the_fault(numbered(502))


def test_names_are_counted_for_each_kind_and_set() -> None:
    other = RuleSet("t", tuple(rule(f"t{number}", f"sign:m{number}") for number in range(500)))
    more = RuleSet("s", (*numbered(500).rules, rule("extra", "stage:n500")))
    assert violations([more, other]) == []


def test_five_hundred_kinds_fit_and_the_next_one_is_named() -> None:
    kinds = tuple(rule(f"r{number}", f"kind-{number}:n") for number in range(501))
    assert violations([RuleSet("s", kinds[:500])]) == []
    assert "rule 'r500' in set 's': 'kind-500:n' brings kind 501" in the_fault(RuleSet("s", kinds))


def test_two_hundred_and_fifty_rules_may_share_a_condition_and_the_next_one_is_named() -> None:
    sharing = tuple(rule(f"r{number}", "sign:a", f"sign:b{number % 9}") for number in range(252))
    assert violations([RuleSet("s", sharing[:250])]) == []
    assert "rule 'r250' in set 's': is rule 251 with the condition 'sign:a'" in the_fault(RuleSet("s", sharing))


def test_four_thousand_rules_fit_and_the_next_one_is_named() -> None:
    many = tuple(rule(f"r{number}", f"kind-{number // 250}:n") for number in range(4001))
    assert violations([RuleSet("s", many[:4000])]) == []
    assert "rule 'r4000' in set 's': is rule 4001" in the_fault(RuleSet("s", many))


@pytest.mark.parametrize("atom", ["sign:a", "a-1:0", "args:max-model-len", "version:0.9.1", "x:a_b.c", "x:" + "a" * 64])
def test_atoms(atom: str) -> None:
    assert is_atom(atom)
    assert violations([RuleSet("s", (Rule("r", (atom,), atom),))]) == []


SHAPELESS = ["", "sign", ":", "sign:", ":a", "sign:a:b", "x:" + "a" * 65]
FOREIGN = ["Sign:a", "sign:A", "sign: a", "si gn:a", "si_gn:a", "sign:a\n", "sign:a\x00", 'sign:"', "sign:a{}"]
FOREIGN_WORDS = ["sign:é", "标志:a", "sign:启动"]
BAD_STARTS = ["sign:-a", "sign:.a", "sign:_a"]


@pytest.mark.parametrize("text", SHAPELESS + FOREIGN + FOREIGN_WORDS + BAD_STARTS)
def test_what_is_no_atom_is_named_as_condition_and_as_conclusion(text: str) -> None:
    assert not is_atom(text)
    condition = the_fault(RuleSet("s", (Rule("r", (text,), "cause:c"),)))
    conclusion = the_fault(RuleSet("s", (Rule("r", ("sign:a",), text),)))
    assert condition.startswith(f"rule 'r' in set 's': the condition {text!r} is no atom")
    assert conclusion.startswith(f"rule 'r' in set 's': the conclusion {text!r} is no atom")


def test_all_faults_of_all_sets_are_listed() -> None:
    bad = Rule("bad", ("A:a", "A:a"), "b")
    assert len(violations([RuleSet("s", (bad,)), RuleSet("t", (bad,))])) == 2 * 3 + 1
