"""Comparisons have three answers, numbers are read as vLLM reads them, and the best source of a fact speaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.reason.atoms import compare, number, of_facts
from engine.reason.limits import is_atom
from tests.engine.reason.facts import fact
from tests.support import mini

if TYPE_CHECKING:
    from engine.model import Scalar


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (4096, 4096.0),
        ("4096", 4096.0),
        ("4,096", 4096.0),
        (" 12 ", 12.0),
        ("32k", 32_000.0),
        ("32K", 32_768.0),
        ("1m", 1_000_000.0),
        ("2G", 2_147_483_648.0),
        ("0.95", 0.95),
        (".95", 0.95),
        ("-3", -3.0),
        ("12 GiB", 12.0),
        ("99%", 99.0),
        ("1.5x", None),
        ("4096abc", None),
        ("1.2.3", None),
        ("auto", None),
        ("", None),
        ("²", None),
        ("-", None),
        (True, None),
    ],
)
def test_a_value_is_the_number_that_it_begins_with(value: object, expected: float | None) -> None:
    assert number(value) == expected


@given(st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.none()))
def test_any_value_is_a_number_or_none(value: object) -> None:
    assert number(value) is None or isinstance(number(value), float)


@pytest.mark.parametrize(
    ("value", "operator", "operand", "holds"),
    [
        ("4096", ">", "2048", True),
        ("4096", "<", "2048", False),
        ("32k", "==", "32000", True),
        ("32K", "==", "32000", False),
        (4096, "==", "4096", True),
        ("0.90", "==", "0.9", True),
        ("FP8", "==", "fp8", True),
        ("4096", "!=", "2048", True),
        ("4096", "!=", "4096.0", False),
        ("4096", ">=", "4096", True),
        ("4096", ">", "4096", False),
        ("4096", "<=", "4096", True),
        ("4096", "<", "4096", False),
        ("fp8_e4m3", "==", "fp8", False),
        ("fp8", "!=", "auto", True),
        (" auto ", "!=", "auto", False),
        (True, "==", "true", True),
        ("auto", ">", "4", None),
        ("auto", "<=", "4", None),
        (float("nan"), ">", "4", False),
    ],
)
def test_a_comparison_holds_fails_or_cannot_be_told(
    value: Scalar, operator: str, operand: str, holds: bool | None
) -> None:
    assert compare(fact("args.x", value), operator, operand) is holds


@pytest.mark.parametrize(
    ("version", "operator", "operand", "holds"),
    [
        ("0.18.0", ">=", "0.18", True),
        ("0.9", "<", "0.18", True),
        ("0.18.0rc1", "<", "0.18", False),
        ("0.18", ">", "0.18.1", None),
        ("nightly", ">", "0.18", None),
        ("unclear", ">", "0.18", None),
        ("0.10.0", "<", "0.9.0", False),
        ("0.18", "==", "not a version", None),
    ],
)
def test_versions_compare_as_versions(version: str, operator: str, operand: str, holds: bool | None) -> None:
    assert compare(fact("vllm.version", version), operator, operand) is holds


@pytest.mark.parametrize(
    ("value", "holds"),
    [(True, True), ("yes", True), (1, True), (False, False), ("false", False), ("0", False), (0, False), ("", False)],
)
def test_a_bare_fact_holds_when_it_is_there_and_true(value: Scalar, holds: bool) -> None:
    assert compare(fact("args.enforce-eager", value), "", "") is holds


def test_a_fact_that_is_known_not_to_be_so_fails_a_bare_test_and_tells_nothing_else() -> None:
    denied = fact("x", 5, known=False)
    assert compare(denied, "", "") is False
    assert compare(denied, ">", "4") is None


def atoms(*facts: object) -> dict[str, tuple[object, ...]]:
    return dict(of_facts(facts, mini()))  # type: ignore[arg-type]


def test_signs_concepts_and_symptoms_are_atoms_by_themselves() -> None:
    found = atoms(
        fact("sign.cuda-out-of-memory"), fact("says.hang"), fact("lexical.shm-too-small", 0.4), fact("symptom.x")
    )
    assert set(found) == {"sign:cuda-out-of-memory", "says:hang", "lexical:shm-too-small", "symptom:x"}


def test_a_comparison_that_fails_is_known_to_fail() -> None:
    assert set(atoms(fact("gpus", "several"))) == {"not-test:gpus.is.one"}
    assert set(atoms(fact("gpus", "one"))) == {"test:gpus.is.one"}


def test_what_was_not_looked_at_is_neither() -> None:
    assert atoms(fact("args.max-model-len", 4096)) == {}
    assert atoms() == {}


def test_two_facts_are_compared_when_both_are_there() -> None:
    found = atoms(fact("args.max-model-len", "8192", "command"), fact("log.estimated_len", 4096))
    (atom,) = [atom for atom in found if "max-model-len" in atom]
    assert not atom.startswith("not-")
    found = atoms(fact("args.max-model-len", "2048", "command"), fact("log.estimated_len", 4096))
    (atom,) = [atom for atom in found if "max-model-len" in atom]
    assert atom.startswith("not-")


def test_only_the_best_trusted_source_of_a_fact_is_compared() -> None:
    found = atoms(fact("where", "bare-metal", "complaint"), fact("where", "docker", "command"))
    assert "test:where.is.docker" in found
    assert "test:where.is.bare-metal" not in found


def test_what_is_said_outright_beats_what_is_denied() -> None:
    found = atoms(fact("says.hang", source="a"), fact("says.hang", source="b", known=False))
    assert set(found) == {"says:hang"}
    assert set(atoms(fact("says.hang", known=False))) == {"not-says:hang"}


def test_the_most_exact_and_best_trusted_fact_of_an_atom_comes_first() -> None:
    facts = [
        fact("says.hang", kind="complaint", source="a", grade="near"),
        fact("says.hang", kind="context", source="b"),
        fact("says.hang", kind="answer", source="c"),
    ]
    assert [one.origin.source for one in of_facts(facts, mini())["says:hang"]] == ["c", "b", "a"]


@given(
    st.lists(
        st.tuples(st.sampled_from(["where", "gpus", "stage", "args.max-model-len", "vllm.version"]), st.text()),
        max_size=6,
    )
)
def test_whatever_was_said_becomes_atoms_that_the_engine_takes(stated: list[tuple[str, str]]) -> None:
    found = of_facts([fact(name, value) for name, value in stated], mini())
    assert all(is_atom(atom) for atom in found)
