"""The fixes that are offered: in the order of the file, for the version that runs, with the operator's own values."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from engine.knowledge.compile import build
from engine.knowledge.store import Knowledge
from engine.model import Change
from tests.support import MINI, answer, edited

if TYPE_CHECKING:
    from pathlib import Path

    from engine.model import Answer, Fix

NEED = "ERROR 12-01 10:00:00 [c.py:1] ValueError: 16.0 GiB KV cache is needed, which is larger than 5.\n"
ESTIMATE = "ERROR 12-01 10:00:00 [c.py:1] The estimated maximum model length is 42672.\n"
SERVING_OOM = "INFO:     Application startup complete.\nERROR 12-01 10:00:00 [c.py:1] CUDA out of memory\n"


def fixes(found: Answer, cause: str = "window-too-large") -> list[Fix]:
    (one,) = [one for one in found.causes if one.id == cause]
    return list(one.fixes)


def fix(found: Answer, name: str, cause: str = "window-too-large") -> Fix:
    (one,) = [one for one in fixes(found, cause) if one.id == name]
    return one


def test_the_value_that_the_operator_set_is_halved() -> None:
    found = answer("out of memory", NEED, command="vllm serve m --max-model-len 4096")
    assert fix(found, "shorter-window").changes == (Change("flag", "--max-model-len", "4096", "2048"),)


def test_the_value_of_the_log_is_taken_where_the_log_names_one() -> None:
    found = answer("", NEED + ESTIMATE, command="vllm serve m --max-model-len 131072")
    assert fix(found, "shorter-window").changes == (Change("flag", "--max-model-len", "131072", "42672"),)


@pytest.mark.parametrize(
    ("stated", "before"),
    [
        ({"command": "vllm serve m --max-model-len=8192"}, "8192"),
        ({"command": "vllm serve m --max_model_len '8192'"}, "8192"),
        ({"args": {"max_model_len": 8192}}, "8192"),
        ({"facts": {"args.max-model-len": "8192"}}, "8192"),
        ({"text": "I set --max-model-len 8192"}, "8192"),
    ],
)
def test_the_present_value_is_found_wherever_it_was_stated(stated: dict[str, Any], before: str) -> None:
    text = stated.pop("text", "")
    assert fix(answer(text, NEED, **stated), "shorter-window").changes[0].before == before


def test_without_a_value_the_word_of_the_change_stays() -> None:
    assert fix(answer("", NEED), "shorter-window").changes == (Change("flag", "--max-model-len", None, "half"),)


@pytest.mark.parametrize(
    ("version", "before", "after"), [("", "0.92", "0.95"), ("0.30.0", "0.92", "0.95"), ("0.20.0", "0.9", "0.93")]
)
def test_an_unset_flag_starts_from_the_default_of_the_version(version: str, before: str, after: str) -> None:
    found = answer("", NEED, vllm_version=version)
    assert fix(found, "more-memory").changes == (Change("flag", "--gpu-memory-utilization", before, after),)


@pytest.mark.parametrize(
    ("version", "offered"),
    [("0.9.0", True), ("0.11.0", False), ("0.18.0", False), ("", True), (">=0.9", True), ("nightly", True)],
)
def test_a_fix_is_offered_only_where_it_may_exist(version: str, offered: bool) -> None:
    found = [one.id for one in fixes(answer("", NEED, vllm_version=version))]
    assert ("swap-to-the-cpu" in found) is offered


def test_the_order_is_that_of_the_file_with_old_ways_last_while_the_version_is_unknown() -> None:
    order = ["shorter-window", "cache-in-fp8", "swap-to-the-cpu", "more-memory"]
    assert [one.id for one in fixes(answer("", NEED, vllm_version="0.9.0"))] == order
    unknown = ["shorter-window", "cache-in-fp8", "more-memory", "swap-to-the-cpu"]
    assert [one.id for one in fixes(answer("", NEED))] == unknown


@pytest.mark.parametrize(
    ("command", "offered"),
    [
        ("vllm serve m", True),
        ("vllm serve m --kv-cache-dtype fp8", False),
        ("vllm serve m --kv-cache-dtype auto", True),
    ],
)
def test_a_fix_that_is_in_place_already_is_not_offered(command: str, offered: bool) -> None:
    found = [one.id for one in fixes(answer("", NEED, command=command))]
    assert ("cache-in-fp8" in found) is offered


def test_a_fix_that_harms_another_suspect_says_so() -> None:
    found = answer(
        "out of memory since I raised the context length", "ERROR 12-01 10:00:00 [c.py:1] CUDA out of memory\n"
    )
    assert {one.id for one in found.causes} >= {"budget-too-large", "window-too-large"}
    assert fix(found, "smaller-budget", "budget-too-large").cautions == ("window-too-large",)
    assert fix(found, "fewer-sequences", "budget-too-large").cautions == ()


def test_a_fix_harms_nobody_who_is_not_suspected() -> None:
    found = answer("", SERVING_OOM)
    assert [one.id for one in found.causes] == ["budget-too-large"]
    assert fix(found, "smaller-budget", "budget-too-large").cautions == ()


def test_a_fix_carries_the_values_that_its_words_name_and_no_others() -> None:
    found = answer("", NEED + ESTIMATE, command="vllm serve m --gpu-memory-utilization 0.9 --port 1")
    assert dict(fix(found, "more-memory").values) == {"args.gpu-memory-utilization": "0.9"}
    assert dict(fix(found, "cache-in-fp8").values) == {}


def test_a_flag_that_is_gone_is_left_out_by_name() -> None:
    found = answer("unrecognized arguments", command="vllm serve m --swap-space 4", vllm_version="0.18.0")
    assert fix(found, "leave-it-out", "flag-removed").changes == (Change("flag", "--swap-space", "4", None),)
    assert found.command is not None
    assert found.command.after == "vllm serve m"


def test_infrastructure_and_variables_are_changes_too() -> None:
    found = answer(
        "it hangs in docker with two gpus", command="NCCL_SHM_DISABLE=0 docker run vllm/vllm-openai:v0.15.0 -tp 2"
    )
    changes = [change for one in fixes(found, "shm-too-small") for change in one.changes]
    assert Change("infra", "docker --ipc", None, "host") in changes
    assert Change("env", "NCCL_SHM_DISABLE", "0", "1") in changes


def test_the_first_fix_that_touches_the_command_corrects_it() -> None:
    found = answer("it hangs in docker with two gpus", command="docker run vllm/vllm-openai:v0.15.0 --model m -tp 2")
    assert found.command is not None
    assert found.command.after == "docker run -e NCCL_SHM_DISABLE=1 vllm/vllm-openai:v0.15.0 --model m -tp 2"
    assert answer("it hangs in docker with two gpus").command is None


def test_a_long_cause_with_a_long_fix_is_still_offered(tmp_path: Path) -> None:
    home = shutil.copytree(MINI, tmp_path / "kb")
    edited(home, "causes/memory/window-too-large.yaml", "id: shorter-window", f"id: {'a-' * 29}a")
    found = answer("", NEED, knowledge=Knowledge(build(str(home))))
    assert fixes(found)[0].id == "a-" * 29 + "a"
