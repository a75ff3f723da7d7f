"""Conditions of YAML become alternatives of atoms, which mean the same as the condition says."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import KnowledgeError
from engine.knowledge.conditions import Test as Comparison
from engine.knowledge.conditions import bodies, negated, parse_test
from engine.reason.limits import is_atom

if TYPE_CHECKING:
    from collections.abc import Mapping

LEAVES = [{"says": "oom"}, {"says": "hang"}, {"sign": "engine-dead"}, {"symptom": "slow"}]
positive = st.recursive(
    st.sampled_from(LEAVES),
    lambda parts: st.builds(
        lambda kind, some: {kind: some}, st.sampled_from(["all", "any"]), st.lists(parts, min_size=1, max_size=3)
    ),
    max_leaves=6,
)


def holds(condition: Mapping[str, Any], known: set[str]) -> bool:
    """What a condition means, read aloud."""
    if "all" in condition:
        return all(holds(part, known) for part in condition["all"])
    if "any" in condition:
        return any(holds(part, known) for part in condition["any"])
    ((kind, name),) = condition.items()
    return f"{kind}:{name}" in known


@given(positive, st.sets(st.sampled_from(["says:oom", "says:hang", "sign:engine-dead", "symptom:slow"])))
def test_an_alternative_holds_exactly_when_the_condition_does(condition: dict[str, Any], known: set[str]) -> None:
    assert any(known.issuperset(body) for body in bodies(condition, {})) == holds(condition, known)


def test_any_inside_all_multiplies() -> None:
    condition = {"all": [{"any": LEAVES[:2]}, {"any": LEAVES[2:]}]}
    expected = list(product(("says:oom", "says:hang"), ("sign:engine-dead", "symptom:slow")))
    assert bodies(condition, {}) == expected


def test_an_atom_that_is_asked_for_twice_stands_once() -> None:
    assert bodies({"all": [LEAVES[0], {"all": [LEAVES[0], LEAVES[1]]}]}, {}) == [("says:oom", "says:hang")]


def test_several_concepts_are_all_said() -> None:
    assert bodies({"says": ["oom", "hang"]}, {}) == [("says:oom", "says:hang")]


def test_none_asks_for_what_is_known_not_to_be() -> None:
    tests: dict[str, Comparison] = {}
    condition = {"none": [{"sign": "engine-dead"}, {"fact": "gpus == one"}]}
    assert bodies(condition, tests) == [("not-sign:engine-dead", "not-test:gpus.is.one")]
    assert tests["test:gpus.is.one"] == Comparison("test:gpus.is.one", "gpus", "==", "one")


@pytest.mark.parametrize("part", [{"symptom": "slow"}, {"cause": "x"}, {"any": LEAVES[:2]}])
def test_none_refuses_what_cannot_be_known_not_to_be(part: dict[str, Any]) -> None:
    with pytest.raises(KnowledgeError, match="'none' takes log signs, concepts and facts"):
        bodies({"none": [part]}, {})


@pytest.mark.parametrize(
    ("expression", "fact", "operator", "operand", "is_fact"),
    [
        ("args.enforce-eager", "args.enforce-eager", "", "", False),
        ("stage == serving", "stage", "==", "serving", False),
        ("gpu.name == 'A100 80GB'", "gpu.name", "==", "A100 80GB", False),
        ("args.max-num-seqs < 64", "args.max-num-seqs", "<", "64", False),
        ("vllm.version >= 0.11.0", "vllm.version", ">=", "0.11.0", False),
        ("args.max-model-len > log.estimated_len", "args.max-model-len", ">", "log.estimated_len", True),
        ("args.gpu-memory-utilization > 0.95", "args.gpu-memory-utilization", ">", "0.95", False),
    ],
)
def test_a_comparison_is_read(expression: str, fact: str, operator: str, operand: str, is_fact: bool) -> None:
    test = parse_test(expression)
    assert (test.fact, test.operator, test.operand, test.operand_is_fact) == (fact, operator, operand, is_fact)


@pytest.mark.parametrize("expression", ["", "  ", "a b", "a is b", "a = b", "a ==b", " == b", "a == ", "a b == c"])
def test_what_is_no_comparison_is_refused_with_its_text(expression: str) -> None:
    with pytest.raises(KnowledgeError) as caught:
        parse_test(expression)
    assert repr(expression) in caught.value.message


@given(st.text(min_size=1).filter(str.strip), st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), st.text(min_size=1))
def test_every_comparison_has_an_atom_that_the_engine_takes(name: str, operator: str, operand: str) -> None:
    try:
        atom = parse_test(f"{name} {operator} {operand}").atom
    except KnowledgeError:
        return
    assert is_atom(atom)
    assert is_atom(negated(atom))


def test_comparisons_that_differ_have_atoms_that_differ() -> None:
    expressions = [
        "a == 1",
        "a == 2",
        "a != 1",
        "a < 1",
        "a <= 1",
        "a",
        "a == ü",
        "a == ö",
        "a == b",
        f"a == {'x' * 80}",
        f"a == {'x' * 81}",
    ]
    assert len({parse_test(expression).atom for expression in expressions}) == len(expressions)
