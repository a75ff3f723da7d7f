"""Random knowledge and random facts: both engines, loaded by need or all at once, against a closure anyone can read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from engine.model import Rule, RuleSet, Step
from engine.reason.chain import Library, backend, conclude
from engine.reason.limits import violations

if TYPE_CHECKING:
    from engine.reason.chain import Backend

    Knowledge = tuple[RuleSet, ...]

EXAMPLES = int(os.environ.get("KB_EXAMPLES", "300"))
ATOMS = [f"{kind}:{name}" for kind in ("sign", "symptom", "item") for name in ("a", "b", "c", "d", "e", "f")]
STRANGERS = ["sign:unheard-of", "other:a", "not an atom", ""]

bodies = st.one_of(
    st.lists(st.sampled_from(ATOMS), min_size=1, max_size=3, unique=True),
    st.lists(st.sampled_from(ATOMS), min_size=1, max_size=12, unique=True),
)
facts = st.one_of(
    st.lists(st.sampled_from(ATOMS + STRANGERS), max_size=6),
    st.lists(st.sampled_from(ATOMS), min_size=8, max_size=len(ATOMS), unique=True),
)


@st.composite
def knowledge(draw: st.DrawFn) -> Knowledge:
    """One to five sets of rules over eighteen atoms: few enough that rules chain, share conditions and go round."""
    sets = draw(st.integers(1, 5))
    drawn = draw(st.lists(st.tuples(bodies, st.sampled_from(ATOMS), st.integers(0, sets - 1)), max_size=30))
    rules = [(home, Rule(f"r{number}", tuple(body), head)) for number, (body, head, home) in enumerate(drawn)]
    return tuple(RuleSet(f"set-{n}", tuple(rule for home, rule in rules if home == n)) for n in range(sets))


def closure(rule_sets: Knowledge, known: list[str]) -> tuple[Step, ...]:
    """The definition: levels only ever fall, until no rule lowers one."""
    level = dict.fromkeys(known, 0)
    rules = [rule for rule_set in rule_sets for rule in rule_set.rules]
    settled = False
    while not settled:
        settled = True
        for rule in rules:
            if all(atom in level for atom in rule.body):
                found = 1 + max(level[atom] for atom in rule.body)
                if found < level.get(rule.head, found + 1):
                    level[rule.head] = found
                    settled = False
    holding = [rule for rule in rules if all(atom in level for atom in rule.body)]
    steps = [Step(rule.head, rule.id, rule.body, level[rule.head]) for rule in holding]
    return tuple(sorted(steps, key=lambda step: (step.level, step.conclusion, step.rule)))


@pytest.fixture(params=["agenda", "durable"])
def engine(request: pytest.FixtureRequest) -> Backend:
    if request.param == "durable":
        pytest.importorskip("durable_rules_engine", exc_type=ImportError)
    return backend(request.param)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rule_sets=knowledge(), known=facts)
def test_the_trace_is_the_closure_by_its_definition(engine: Backend, rule_sets: Knowledge, known: list[str]) -> None:
    assert violations(rule_sets) == []
    expected = closure(rule_sets, known)
    event(f"deepest level {max((step.level for step in expected), default=0)}")
    assert conclude(Library.of(rule_sets), known, engine) == expected


@settings(max_examples=EXAMPLES, deadline=None)
@given(rule_sets=knowledge(), known=facts)
def test_both_engines_give_the_same_trace(rule_sets: Knowledge, known: list[str]) -> None:
    pytest.importorskip("durable_rules_engine", exc_type=ImportError)
    library = Library.of(rule_sets)
    assert conclude(library, known, backend("durable")) == conclude(library, known, backend("agenda"))


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rule_sets=knowledge(), known=facts)
def test_sets_loaded_by_need_answer_like_all_sets(engine: Backend, rule_sets: Knowledge, known: list[str]) -> None:
    by_need = conclude(Library.of(rule_sets), known, engine)
    assert conclude(Library.of(rule_sets), known, engine, preload=True) == by_need
    together = RuleSet("all", tuple(rule for rule_set in rule_sets for rule in rule_set.rules))
    assert conclude(Library.of([together]), known, engine) == by_need
