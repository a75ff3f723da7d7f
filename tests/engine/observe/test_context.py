"""What an operator states in a file or with --fact becomes facts, in whatever form a person writes it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.observe.case import observe
from engine.observe.context import facts, texts
from tests.support import case, mini, values


def stated(**context: Any) -> list[Any]:
    return facts(context, mini())


@pytest.mark.parametrize(
    ("context", "name", "value"),
    [
        ({"vllm_version": "0.15.0"}, "vllm.version", "0.15.0"),
        ({"vllm": "0.15.0"}, "vllm.version", "0.15.0"),
        ({"torch": "2.9.1"}, "torch.version", "2.9.1"),
        ({"driver": "550.54"}, "driver.version", "550.54"),
        ({"gpu": "A100"}, "gpu.name", "A100"),
        ({"gpu_count": 2}, "gpu.count", 2),
        ({"model": "m"}, "model.name", "m"),
        ({"args": {"max_model_len": 4096}}, "args.max-model-len", 4096),
        ({"args": {"--max-model-len": 4096}}, "args.max-model-len", 4096),
        ({"args": {"-tp": 2}}, "args.tensor-parallel-size", 2),
        ({"args": {"enforce-eager": True}}, "args.enforce-eager", True),
        ({"env": {"NCCL_SHM_DISABLE": 1}}, "env.NCCL_SHM_DISABLE", 1),
        ({"metrics": {"vllm:num_requests_waiting": 3}}, "metrics.vllm:num_requests_waiting", 3),
        ({"facts": {"stage": "serving"}}, "stage", "serving"),
        ({"facts": {"args.max_model_len": "9"}}, "args.max-model-len", "9"),
        ({"facts": {"vllm_version": "0.9"}}, "vllm.version", "0.9"),
    ],
)
def test_a_key_states_a_fact(context: dict[str, Any], name: str, value: object) -> None:
    assert values(stated(**context), name) == [value]


@pytest.mark.parametrize(
    ("count", "gpus"),
    [(1, ["one"]), (2, ["several"]), ("8", ["several"]), ("two", []), ("²", []), (None, []), ("9" * 5_000, [])],
)
def test_the_number_of_gpus_is_one_or_several(count: object, gpus: list[str]) -> None:
    assert values(stated(gpu_count=count), "gpus") == gpus


def test_a_concept_can_be_denied_as_a_fact() -> None:
    (fact,) = stated(facts={"says.hang": "no"})
    assert (fact.name, fact.known) == ("says.hang", False)


def test_what_was_stated_with_fact_is_trusted_as_an_answer() -> None:
    kinds = {fact.origin.kind for fact in stated(facts={"stage": "serving"})}
    assert kinds == {"answer"}


@pytest.mark.parametrize("value", [None, "", [], {}])
def test_an_empty_value_states_nothing(value: object) -> None:
    assert stated(vllm_version=value) == [] or value in ([], {})
    assert list(texts({"other": value})) == []


def test_everything_without_a_name_is_a_text_with_its_place() -> None:
    found = list(
        texts({"other": "it hangs", "notes": {"a": ["b", {"c": 1}]}, "vllm_version": "0.9", "args": {"x": "y"}})
    )
    assert found == [("other", "it hangs"), ("notes.a", "b"), ("notes.a.c", "1")]


def test_args_that_are_text_are_searched_as_text() -> None:
    assert list(texts({"args": "--max-model-len 4096"})) == [("args", "--max-model-len 4096")]
    observation = observe(case(args="--max-model-len 4096"), mini())
    assert values(observation.facts, "args.max-model-len") == ["4096"]


def test_a_text_is_searched_for_signs_and_concepts_but_proposes_nothing() -> None:
    observation = observe(case(other="the log says CUDA out of memory in docker"), mini())
    assert values(observation.facts, "sign.cuda-out-of-memory") == [True]
    assert {fact.grade for fact in observation.facts if fact.name == "says.container"} == {"near"}
    assert not [fact for fact in observation.facts if fact.name.startswith("lexical.")]
    assert {fact.origin.kind for fact in observation.facts} == {"context"}


plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=8,
)
keys = st.one_of(
    st.sampled_from(["vllm_version", "torch", "gpu", "gpu_count", "model", "args", "env", "metrics", "facts", "other"]),
    st.text(max_size=8),
)


@given(st.dictionaries(keys, plain, max_size=5))
def test_any_context_is_read(context: dict[str, Any]) -> None:
    observe(case(text="it hangs").but(context=context), mini())
