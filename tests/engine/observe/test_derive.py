"""What the reference knows of the flags, variables and versions that were named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from engine.observe.case import observe
from engine.observe.derive import versions
from engine.versions import Range
from tests.support import case, mini, real, values

if TYPE_CHECKING:
    from engine.observe.case import Observation


def seen(text: str = "", log: str = "", command: str = "", **context: Any) -> Observation:
    return observe(case(text, *([log] if log else []), command=command, **context), mini())


@pytest.mark.parametrize(
    ("version", "grades"),
    [("0.18.0", ["exact"]), ("0.20.1", ["exact"]), ("0.17.1", []), ("0.9", []), ("", ["near"]), ("nightly", ["near"])],
)
def test_a_removed_flag_is_known_as_far_as_the_version_is(version: str, grades: list[str]) -> None:
    found = seen(command="vllm serve m --swap-space 4", vllm_version=version)
    facts = [fact for fact in found.facts if fact.name == "derived.removed_flag"]
    assert [fact.grade for fact in facts] == grades
    assert {fact.value for fact in facts} <= {"--swap-space"}
    assert values(found.facts, "derived.flag_replacement") == ["--kv-offloading-size"] * len(grades)


@pytest.mark.parametrize(("version", "too_new"), [("0.10.2", True), ("0.11.0", False), ("0.20", False), ("", False)])
def test_a_flag_newer_than_the_version_is_known(version: str, too_new: bool) -> None:
    found = seen(command="vllm serve m --kv-offloading-size 4", vllm_version=version)
    assert values(found.facts, "derived.flag_too_new") == (["--kv-offloading-size"] if too_new else [])


def test_a_flag_that_never_was_is_unknown_with_what_was_probably_meant() -> None:
    found = seen(command="vllm serve m --max-modle-len 4096")
    assert values(found.facts, "derived.unknown_flag") == ["--max-modle-len"]
    assert values(found.facts, "derived.flag_replacement") == ["--max-model-len"]


@pytest.mark.parametrize("flag", ["--no-enable-prefix-caching", "--max_model_len", "-tp", "-x", "-O3", "-O.level=3"])
def test_a_known_flag_is_not_unknown(flag: str) -> None:
    assert values(seen(command=f"vllm serve m {flag} 1").facts, "derived.unknown_flag") == []


def test_a_flag_that_a_sentence_names_is_looked_up_as_well() -> None:
    assert values(seen("vllm 0.19.0 refuses --swap-space").facts, "derived.removed_flag") == ["--swap-space"]


def test_a_flag_that_the_log_names_is_looked_up_as_well() -> None:
    found = seen(log="vllm: error: unrecognized arguments: --swap-space 4\n", vllm_version="0.18.0")
    assert values(found.facts, "derived.removed_flag") == ["--swap-space"]


@pytest.mark.parametrize("odd", ["=x", "", " ", "--", "-", "=", "中"])
def test_an_odd_flag_of_a_log_is_no_flag(odd: str) -> None:
    assert values(seen(facts={"log.flag": odd}).facts, "derived.removed_flag") == []


@pytest.mark.parametrize(("version", "removed"), [("0.15.0", True), ("0.10.2", False), ("", False)])
def test_a_variable_that_is_no_longer_read_is_known(version: str, removed: bool) -> None:
    found = seen(command="VLLM_USE_V1=0 vllm serve m", vllm_version=version)
    assert values(found.facts, "derived.removed_variable") == (["VLLM_USE_V1"] if removed else [])


@pytest.mark.parametrize(
    ("version", "torch", "pin", "differs"),
    [
        ("0.15.0", "2.9.1", "2.9.1", False),
        ("0.15.1", "2.9.1+cu128", "2.9.1", False),
        ("0.15.0", "2.9", "2.9.1", False),
        ("0.15.0", "2.8.0", "2.9.1", True),
        ("0.20.0", "2.1", "2.10.0", True),
        ("0.20.0", "2.10", "2.10.0", False),
    ],
)
def test_torch_is_held_against_the_pin(version: str, torch: str, pin: str, differs: bool) -> None:
    found = seen(vllm_version=version, torch=torch)
    assert values(found.facts, "derived.pinned_torch") == [pin]
    assert values(found.facts, "derived.torch_not_pinned") == ([True] if differs else [])
    assert [fact.known for fact in found.facts if fact.name == "derived.torch_not_pinned"] == [differs]


def test_a_version_that_was_not_looked_at_has_no_pin() -> None:
    assert values(seen(vllm_version="0.12.0").facts, "derived.pinned_torch") == []
    assert values(seen(vllm_version=">=0.10").facts, "derived.pinned_torch") == []


@pytest.mark.parametrize(
    ("version", "variable", "engine"),
    [
        ("0.15.0", None, ["v1"]),
        ("0.15.0", "0", ["v1"]),
        ("0.6.4", None, ["v0"]),
        ("0.7.3", "1", ["v1"]),
        ("0.9.0", None, []),
        ("0.9.0", "0", ["v0"]),
        ("0.9.0", "1", ["v1"]),
        ("", "0", []),
    ],
)
def test_the_engine_follows_from_version_and_variable(version: str, variable: str | None, engine: list[str]) -> None:
    env = {} if variable is None else {"VLLM_USE_V1": variable}
    assert values(seen(vllm_version=version, env=env).facts, "engine") == engine


BANNER = "INFO vLLM API server version 0.15.0\n"


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ({"log": BANNER, "vllm_version": "0.9.0"}, "0.15.0"),
        ({"log": BANNER, "facts": {"vllm.version": "0.8.0"}}, "0.8.0"),
        ({"vllm_version": "0.9.0", "text": "vllm 0.10.0 hangs"}, "0.9.0"),
        ({"text": "vllm 0.10.0 hangs", "command": "docker run vllm/vllm-openai:v0.11.0"}, "0.11.0"),
    ],
)
def test_the_most_trusted_source_of_a_version_decides(stated: dict[str, Any], expected: str) -> None:
    assert versions(seen(**stated).facts) == Range.parse(expected)


def test_without_a_version_there_is_none() -> None:
    assert versions(seen("it hangs").facts) is None
    assert versions(seen(vllm_version="whatever").facts) is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("INFO GPU KV cache size: 42,672 tokens", {"log.kv_tokens": "42672"}),
        (
            "INFO CPU KV cache size: 4,096 tokens, Maximum concurrency for 2,048 tokens per request: 2.00x",
            {"log.kv_tokens": "4096", "log.max_model_len": "2048", "log.max_concurrency": "2.00"},
        ),
        ("INFO [gpu_worker.py:298] Available KV cache memory: 31.37 GiB", {"log.available_gib": "31.37"}),
        ("INFO # GPU blocks: 2667, # CPU blocks: 2048", {"log.blocks": "2667"}),
        ("INFO [model.py:2152] Using max model len 2048", {"log.max_model_len": "2048"}),
    ],
)
def test_a_line_that_is_read_for_its_figures_gives_them_and_is_no_sign(line: str, expected: dict[str, str]) -> None:
    found = observe(case("", f"vllm\n{line}\n"), real()).facts
    assert {fact.name: fact.value for fact in found if fact.name in expected} == expected
    assert not any(fact.name.startswith(("sign.kv-cache", "sign.max-model-len")) for fact in found)
