"""Each parser reads the output of its command, in every form in which it is pasted, and nothing into other texts."""

from __future__ import annotations

from importlib import import_module
from time import process_time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.observe.environment import HINTS, Text, facts
from tests.engine.observe.environment import samples

if TYPE_CHECKING:
    from engine.model import Fact


def shown(text: str) -> list[Fact]:
    return facts([Text(text, "0", 0)])


def values(text: str) -> dict[str, Any]:
    return {fact.name: fact.value for fact in shown(text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            samples.NVIDIA_SMI,
            {"driver.version": "570.86.10", "driver.cuda": "12.8", "gpu.count": 2, "gpu.name": "NVIDIA A100-SXM4-80GB"},
        ),
        (
            samples.NVIDIA_SMI,
            {"gpu.memory_gib": 80.0, "gpu.used_gib": 69.8, "gpu.capability": 8.0, "gpu.generation": "ampere"},
        ),
        (
            samples.NVIDIA_SMI,
            {"gpu.other_process": "yes", "gpu.vllm_process": True, "gpus": "several", "gpu.temperature": 91},
        ),
        (
            samples.NVIDIA_SMI_L,
            {"gpu.count": 2, "gpu.name": "NVIDIA GeForce RTX 4090", "gpu.uneven": True, "gpu.capability": 8.9},
        ),
        (samples.NVIDIA_SMI_MIG, {"gpu.mig": True, "gpu.count": 1}),
        (
            samples.NVIDIA_SMI_Q,
            {"driver.version": "550.54.15", "driver.cuda": "12.4", "gpu.name": "Tesla T4", "gpu.memory_gib": 15.0},
        ),
        (samples.NVIDIA_SMI_Q, {"gpu.ecc_errors": 3, "gpu.generation": "pre-ampere"}),
        (samples.NVIDIA_SMI_LOST, {"gpu.reads_error": True}),
        ("nvidia-smi\nNo devices were found\n", {"gpu.visible": "nowhere"}),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", {"driver.answers": False}),
        (samples.TOPOLOGY_NVLINK, {"gpu.link": "nvlink", "gpu.count": 2}),
        (samples.TOPOLOGY_PCIE, {"gpu.link": "pcie", "gpu.count": 2}),
        (
            samples.COLLECT_ENV,
            {"torch.version": "2.9.0", "torch.cuda": "12.8", "torch.build": "cuda", "torch.sees_gpu": True},
        ),
        (
            samples.COLLECT_ENV,
            {"python.version": "3.12.11", "driver.version": "550.54.15", "vllm.version": "0.11.0", "gpu.count": 2},
        ),
        (
            samples.COLLECT_ENV,
            {"transformers.version": "4.57.1", "env.NCCL_DEBUG": "INFO", "env.CUDA_VISIBLE_DEVICES": "0,1"},
        ),
        (samples.COLLECT_ENV_OLD, {"torch.build": "rocm", "platform": "rocm", "torch.sees_gpu": False}),
        (
            samples.PIP_LIST,
            {"vllm.version": "0.10.0", "torch.version": "2.9.0+cu128", "torch.cuda": "12.8", "ray.version": "2.49.1"},
        ),
        (
            samples.PIP_LIST,
            {"packages.nccl_twice": True, "packages.cuda_majors": "cu12 and cu13", "packages.pynvml": True},
        ),
        (samples.PIP_FREEZE, {"vllm.version": "0.11.0", "torch.version": "2.8.0", "transformers.version": "4.57.1"}),
        (samples.UV_PIP_LIST, {"vllm.version": "0.11.1rc2", "torch.version": "2.8.0"}),
        (samples.PIP_SHOW, {"vllm.version": "0.9.2", "torch.version": "2.7.0"}),
        (
            samples.TORCH_LINE,
            {"torch.version": "2.9.0+cu130", "torch.cuda": "13.0", "torch.sees_gpu": False, "torch.build": "cuda"},
        ),
        (samples.TORCH_CPU, {"torch.build": "cpu", "torch.sees_gpu": False}),
        (samples.TORCH_LINES, {"torch.version": "2.8.0+cu128", "torch.sees_gpu": True, "gpu.capability": 8.6}),
        (samples.LDCONFIG, {"libraries.compat_libcuda": True, "libraries.libcuda_unlinked": True}),
        (samples.LDCONFIG_EMPTY, {"libraries.libcuda_absent": True}),
        (samples.DF, {"disk.full": "/", "disk.shm_gib": 0.062}),
        (samples.DF_BLOCKS, {"disk.shm_gib": 16.0, "disk.shm_full": True}),
        (samples.FREE, {"memory.total_gib": 31.0, "memory.available_gib": 0.625, "memory.short": True}),
        (samples.FREE_KIB, {"memory.total_gib": 125.812, "memory.available_gib": 108.452}),
        (samples.FREE_GIB, {"memory.total_gib": 125.0, "memory.available_gib": 108.0}),
        (samples.MEMINFO, {"memory.total_gib": 62.792, "memory.available_gib": 48.0}),
        (samples.DMESG, {"gpu.xid": 31, "memory.kind": "host", "pod.reason": "oomkilled"}),
        (samples.DMESG_HOST, {"memory.kind": "host"}),
        (
            samples.DESCRIBE_POD,
            {"pod.reason": "oomkilled", "pod.exit_code": 137, "pod.restarts": 6, "pod.memory_limit_gib": 16.0},
        ),
        (samples.DESCRIBE_POD, {"where": "kubernetes", "vllm.version": "0.11.0", "env.VLLM_LOGGING_LEVEL": "DEBUG"}),
        (samples.DESCRIBE_PROBE, {"pod.reason": "liveness", "pod.exit_code": 143}),
        (samples.EVENTS, {"pod.insufficient": "nvidia.com/gpu"}),
        (samples.IBSTAT, {"rdma.devices": 2, "rdma.link": "infiniband"}),
        (samples.IBSTAT_DOWN, {"rdma.devices": 1, "rdma.link": "ethernet", "rdma.down": True}),
        (samples.IBV_NONE, {"rdma.devices": 0}),
        (samples.ENV, {"env.VLLM_ATTENTION_BACKEND": "FLASH_ATTN", "env.NCCL_P2P_DISABLE": "1", "env.HF_TOKEN": "set"}),
        (samples.EXPORTED, {"env.CUDA_VISIBLE_DEVICES": "0,1"}),
        (samples.ULIMIT, {"limits.open_files": 1024, "limits.pinned_kib": 64}),
        (samples.PROC_LIMITS, {"limits.open_files": 1048576}),
    ],
)
def test_an_output_becomes_facts(text: str, expected: dict[str, Any]) -> None:
    found = values(text)
    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        (samples.NVIDIA_SMI_Q, "gpu.uneven"),
        (samples.DF, "disk.shm_full"),
        (samples.FREE_KIB, "memory.short"),
        (samples.DMESG_OTHER, "memory.kind"),
        (samples.DMESG_HOST, "pod.reason"),
        (samples.IBSTAT, "rdma.down"),
        (samples.ENV, "env.PATH"),
        (samples.PROC_LIMITS, "limits.pinned_kib"),
        (samples.DESCRIBE_POD, "env.HF_TOKEN"),
        (samples.COLLECT_ENV, "platform"),
    ],
)
def test_what_an_output_does_not_say_is_not_read_into_it(text: str, absent: str) -> None:
    assert absent not in values(text)


def test_a_fact_names_the_line_that_shows_it() -> None:
    fact = next(fact for fact in shown("first line\n" + samples.DMESG) if fact.name == "gpu.xid")
    assert (fact.origin.line, fact.origin.file, fact.origin.kind) == (2, 0, "environment")
    assert "MMU Fault" in fact.origin.text


def test_a_credential_is_noted_without_its_value() -> None:
    assert not any(
        "hf_abc" in fact.origin.text or fact.value == "hf_abcdefghijklmnopqrstuvwxyz" for fact in shown(samples.ENV)
    )


@pytest.mark.parametrize(
    "text",
    [
        "requests hang",
        "CUDA out of memory on 2x4090, torch 2.9.0, what now?",
        "I set VLLM_USE_V1=0 and NCCL_DEBUG=INFO",
        "INFO 03-10 09:12:44 [core.py:61] Initializing a V1 LLM engine (v0.11.0) with config: model='m'",
        "==========\n== vLLM ==\n==========\n",
        "The package torch is at 2.9.0 and vllm at 0.11.0",
    ],
)
def test_a_sentence_or_a_log_is_no_output(text: str) -> None:
    assert shown(text) == []


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_of_windows_change_nothing(end: str) -> None:
    for name, text in samples.ALL.items():
        assert values(text.replace("\n", end)) == values(text), name


def every_parser() -> list[Any]:
    return [import_module(f"engine.observe.environment.{name}") for name in HINTS]


@given(st.data())
def test_a_damaged_output_raises_nothing(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(sorted(samples.ALL.values())))
    for _ in range(data.draw(st.integers(0, 6))):
        at = data.draw(st.integers(0, len(text)))
        to = min(len(text), at + data.draw(st.integers(0, 40)))
        text = text[:at] + data.draw(st.text(max_size=12)) + text[to:]
    for parser in every_parser():
        list(parser.parse(text))
    facts([Text(text, "0", 0)])


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=400))
def test_any_text_raises_nothing(text: str) -> None:
    for parser in every_parser():
        list(parser.parse(text))


@pytest.mark.parametrize(
    "unit",
    ["a", " ", "\t", "1", "0.", "|", "GPU ", "(", "== ", "=", "A_", "/", "%", ":", ": 1", "é", "x=1\n", "Mem: 1 "],
)
def test_a_long_line_takes_bounded_time(unit: str) -> None:
    text = unit * (300_000 // len(unit))
    for parser in every_parser():
        begun = process_time()
        list(parser.parse(text))
        assert process_time() - begun < 2.0, parser.__name__


@pytest.mark.parametrize("name", sorted(samples.ALL))
def test_a_sample_whose_gaps_are_stretched_takes_bounded_time(name: str) -> None:
    text = samples.ALL[name].replace(" ", " " * 200)
    begun = process_time()
    facts([Text(text, "0", 0)])
    assert process_time() - begun < 2.0
