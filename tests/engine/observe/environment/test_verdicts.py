"""What an operator pastes decides: from the output alone, beside a complaint, or as a text of the context."""

from __future__ import annotations

import pytest

from tests.engine.observe.environment import samples
from tests.support import answer, claimed, named, real

BLACKWELL = "GPU 0: NVIDIA GeForce RTX 5090 (UUID: GPU-1)\n2.6.0+cu124 12.4 True\n"
PASCAL = "GPU 0: Tesla P40 (UUID: GPU-1)\n"


@pytest.mark.parametrize(
    ("words", "output", "cause"),
    [
        ("", samples.COLLECT_ENV, "vllm-torch-abi-mismatch"),
        ("import vllm fails", samples.PIP_LIST, "vllm-torch-abi-mismatch"),
        ("", samples.TORCH_CPU, "cpu-only-torch"),
        ("torch does not see the gpu", samples.NVIDIA_SMI + samples.TORCH_LINE, "driver-older-than-cuda"),
        ("no kernel image", BLACKWELL, "gpu-newer-than-build"),
        ("", PASCAL, "gpu-older-than-supported"),
        ("", samples.NVIDIA_SMI_LOST, "gpu-hardware-degraded"),
        ("", samples.LDCONFIG_EMPTY, "libcuda-not-on-loader-path"),
        ("", samples.DF, "disk-full"),
        ("", samples.DF_BLOCKS, "docker-shm-too-small"),
        ("NCCL error with 2 gpus in docker", samples.DF, "docker-shm-too-small"),
        ("vllm is killed while loading", samples.FREE, "host-ram-oom-during-load"),
        ("", samples.DMESG_HOST, "host-ram-oom-during-load"),
        ("pod restarts all the time", samples.DESCRIBE_POD, "container-memory-limit-too-low"),
        ("pod restarts all the time", samples.DESCRIBE_PROBE, "liveness-probe-kills-during-load"),
        ("multi-node is very slow over RDMA", samples.IBV_NONE, "rdma-device-not-in-container"),
    ],
)
def test_an_output_decides_in_each_place_where_it_is_given(words: str, output: str, cause: str) -> None:
    assert claimed(answer(words, output, knowledge=real()))[:1] == [cause]
    assert claimed(answer(f"{words}\n{output}", knowledge=real()))[:1] == [cause]
    assert claimed(answer(words, knowledge=real(), other=output))[:1] == [cause]


def test_another_process_on_the_gpu_is_among_the_first_causes_of_a_shortage() -> None:
    found = answer("CUDA out of memory at startup", knowledge=real(), nvidia_smi=samples.NVIDIA_SMI)
    assert "gpu-memory-shared-with-other-process" in named(found)[:3]


@pytest.mark.parametrize(
    "output",
    [
        samples.NVIDIA_SMI_L.splitlines()[0] + "\n",
        samples.TOPOLOGY_NVLINK,
        samples.PIP_FREEZE,
        samples.UV_PIP_LIST,
        samples.FREE_KIB,
        samples.FREE_GIB,
        samples.MEMINFO,
        samples.IBSTAT,
        samples.PROC_LIMITS,
        samples.EXPORTED,
        samples.TORCH_LINES,
    ],
)
def test_an_output_that_shows_nothing_wrong_accuses_nothing(output: str) -> None:
    found = answer("", output, knowledge=real())
    assert claimed(found) == []
    assert found.status != "healthy"  # it is no log: that it shows no failure says nothing of the server


def test_an_output_about_something_else_does_not_make_a_foreign_question_ours() -> None:
    assert answer("my postgres is slow", samples.FREE_KIB, knowledge=real()).status == "unknown"


def test_a_release_between_two_known_ones_is_only_accused_of_what_neither_pins() -> None:
    frozen = "torch=={}\nvllm==0.10.2\nnumpy==2.2.6\n"
    assert claimed(answer("", frozen.format("2.8.0"), knowledge=real())) == []
    assert claimed(answer("", frozen.format("2.7.1"), knowledge=real())) == []
    assert claimed(answer("", frozen.format("2.6.0"), knowledge=real())) == ["vllm-torch-abi-mismatch"]


def test_transformers_outside_the_range_of_a_release_is_named() -> None:
    frozen = "torch==2.9.0\nvllm==0.13.0\ntransformers=={}\n"
    assert claimed(answer("", frozen.format("5.1.0"), knowledge=real())) == ["transformers-too-new"]
    assert claimed(answer("", frozen.format("4.40.0"), knowledge=real())) == ["transformers-too-old"]
    assert claimed(answer("", frozen.format("4.57.1"), knowledge=real())) == []
