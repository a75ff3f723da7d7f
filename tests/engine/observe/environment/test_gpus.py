"""A GPU is known by its product name and by what people write for it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.observe.environment.gpus import capability, stated
from tests.support import answer, named, real


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("NVIDIA H100 80GB HBM3", 9.0),
        ("NVIDIA A100-SXM4-80GB", 8.0),
        ("NVIDIA A10G", 8.6),
        ("NVIDIA L4", 8.9),
        ("NVIDIA L40S", 8.9),
        ("Tesla T4", 7.5),
        ("Tesla V100-SXM2-32GB", 7.0),
        ("Tesla P40", 6.1),
        ("NVIDIA GeForce RTX 3090", 8.6),
        ("NVIDIA GeForce RTX 5090", 12.0),
        ("NVIDIA RTX 6000 Ada Generation", 8.9),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 12.0),
        ("NVIDIA B200", 10.0),
        ("NVIDIA GB10", 12.1),
        ("AMD Instinct MI300X", None),
        ("a card", None),
    ],
)
def test_a_product_has_its_compute_capability(name: str, number: float | None) -> None:
    assert capability(name) == number


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2x4090", {"gpu.capability": 8.9, "gpu.count": 2}),
        ("RTX 3090 x 2", {"gpu.capability": 8.6, "gpu.count": 2}),
        ("A100 80G", {"gpu.capability": 8.0, "gpu.memory_gib": 80}),
        ("4 x A10G (24 GB)", {"gpu.capability": 8.6, "gpu.count": 4, "gpu.memory_gib": 24}),
        ("8*H100", {"gpu.capability": 9.0, "gpu.count": 8}),
        ("some card", {}),
    ],
)
def test_what_people_write_is_understood_or_left_alone(text: str, expected: dict[str, Any]) -> None:
    found = dict(stated(text))
    found.pop("gpu.generation", None)
    assert found == expected


@given(st.text(max_size=300))
def test_no_text_is_an_error(text: str) -> None:
    list(stated(text))


def test_a_gpu_that_no_build_supports_is_suspected() -> None:
    assert "gpu-older-than-supported" in named(answer("does not start", knowledge=real(), gpu="2x Tesla P40"))[:2]
