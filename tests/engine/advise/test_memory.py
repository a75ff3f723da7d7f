"""The arithmetic against figures worked out by hand and against what real servers printed at start-up."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.advise import capacity, memory, shapes
from engine.advise.fit import fit
from engine.advise.memory import GIB, Budget, Setup, Shape
from engine.model import Fact, Origin
from interfaces.render.document import document
from tests.support import answer, real

if TYPE_CHECKING:
    from engine.model import Kind, Scalar

LOGS = Path(__file__).resolve().parents[3] / "evals" / "cases" / "logs"
LLAMA_8B, QWEN_7B = "meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen2.5-7B-Instruct"
QWEN_72B, LLAMA_70B = "Qwen/Qwen2.5-72B-Instruct", "meta-llama/Llama-3.1-70B-Instruct"
LITE, GEMMA = "deepseek-ai/DeepSeek-V2-Lite", "google/gemma-3-27b-it"


def shape(name: str) -> Shape:
    found = shapes.of_name(name, real())
    assert found is not None, name
    return found[1]


@pytest.mark.parametrize(
    ("name", "per_token", "kib_of_block", "of_8k", "of_32k", "length", "whole", "weights", "per_gib"),
    [
        (LLAMA_8B, 131_072, 2_048, 1.0, 4.0, 131_072, 16.0, 14.96, 8_192),
        (QWEN_7B, 57_344, 896, 0.44, 1.75, 32_768, 1.75, 14.19, 18_724),
        (QWEN_7B, 57_344, 896, 0.44, 1.75, 131_072, 7.0, 14.19, 18_724),
        (QWEN_72B, 327_680, 5_120, 2.5, 10.0, 32_768, 10.0, 135.4, 3_276),
        (LLAMA_70B, 327_680, 5_120, 2.5, 10.0, 131_072, 40.0, 131.4, 3_276),
        (LITE, 31_104, 486, 0.24, 0.95, 163_840, 4.75, 29.2, 34_521),
    ],
)
def test_weights_tokens_and_requests_take_what_was_worked_out(
    name: str, per_token: int, kib_of_block: int, of_8k: float, of_32k: float, length: int, whole: float,
    weights: float, per_gib: int,
) -> None:  # fmt: skip
    model, setup = shape(name), Setup()
    assert memory.bytes_per_token(model, setup) == per_token
    assert memory.need(model, setup, 1) == kib_of_block * 1024
    assert memory.need(model, setup, 8_192) / GIB == pytest.approx(of_8k, abs=0.005)
    assert memory.need(model, setup, 32_768) / GIB == pytest.approx(of_32k, abs=0.005)
    assert memory.need(model, setup, length) / GIB == pytest.approx(whole, abs=0.005)
    assert memory.weights(model, setup) == pytest.approx(weights, rel=0.003)
    assert memory.tokens(model, setup, 1.0) == pytest.approx(per_gib, abs=16)


def test_more_gpus_divide_weights_and_cache_until_the_heads_run_out() -> None:
    model = shape(QWEN_72B)
    assert memory.bytes_per_token(model, Setup(tensor_parallel=4)) == 80 * 1024
    assert memory.weights(model, Setup(tensor_parallel=4)) == pytest.approx(33.9, abs=0.1)
    eight, sixteen = (memory.bytes_per_token(model, Setup(tensor_parallel=size)) for size in (8, 16))
    assert eight == sixteen == 40 * 1024
    assert memory.bytes_per_token(model, Setup(pipeline_parallel=4)) == 80 * 1024
    assert memory.bytes_per_token(shape(GEMMA), Setup(pipeline_parallel=4)) == (3 + 13) * 2 * 16 * 128 * 2


def test_fp8_halves_the_cache_and_the_weights_have_no_part_in_it() -> None:
    assert memory.bytes_per_token(shape(LLAMA_8B), Setup(kv_bytes=1.0)) == 65_536
    quantized = shape("hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4")
    assert memory.bytes_per_token(quantized, Setup()) == 131_072
    assert 0.5 < memory.weights(quantized, Setup()) / memory.weights(shape(LLAMA_8B), Setup()) * 2 < 0.6


def test_mla_keeps_the_whole_cache_on_every_gpu() -> None:
    assert memory.bytes_per_token(shape(LITE), Setup(tensor_parallel=4)) == 31_104


def test_a_window_costs_a_request_a_fixed_part() -> None:
    model, setup = shape(GEMMA), Setup(batched_tokens=8_192)
    assert memory.bytes_per_token(model, setup) == 496 * 1024
    assert memory.need(model, setup, 131_072) / GIB == pytest.approx(13.7, abs=0.05)
    windows = memory.need(model, setup, 131_072) - memory.need(
        model.but(layers=10, windowed=0, window=0), setup, 131_072
    )
    assert windows / GIB == pytest.approx(3.7, abs=0.05)


@pytest.mark.parametrize(
    ("name", "weights", "total", "utilization", "setup", "overhead", "available", "tokens"),
    [
        (LLAMA_8B, 14.96, 23.99, 0.92, Setup(), (1.4, 0.5), 5.2, 42_672),
        (LLAMA_8B, 14.96, 23.99, 0.95, Setup(), (1.4, 0.5), 5.9, 48_576),
        (LLAMA_8B, 14.96, 23.99, 0.80, Setup(), (1.4, 0.5), 2.3, 19_088),
        (LLAMA_8B, 14.96, 23.99, 0.70, Setup(), (1.4, 0.5), -0.07, 0),
        (LLAMA_8B, 14.96, 79.3, 0.92, Setup(), (2.0, 1.0), 55.0, 450_512),
        (QWEN_7B, 14.19, 23.99, 0.92, Setup(), (1.4, 0.5), 6.0, 111_984),
        (LLAMA_70B, 131.4, 79.3, 0.92, Setup(tensor_parallel=2), (3.0, 1.5), 2.8, 18_048),
        (LLAMA_70B, 131.4, 79.3, 0.92, Setup(tensor_parallel=4), (3.0, 1.5), 35.6, 466_688),
    ],
)
def test_a_budget_leaves_what_was_worked_out(
    name: str, weights: float, total: float, utilization: float, setup: Setup, overhead: tuple[float, float],
    available: float, tokens: int,
) -> None:  # fmt: skip
    model = shape(name).but(weights_gib=weights)
    assert memory.assumed(total, weights, setup) == overhead
    budget = memory.budget(model, setup, total, utilization)
    assert budget.kv == pytest.approx(available, abs=0.05)
    assert memory.tokens(model, setup, budget.kv) == tokens


@pytest.mark.parametrize(
    ("utilization", "length", "fits", "times"),
    [(0.92, 131_072, False, None), (0.92, 32_768, True, 1.30), (0.80, 32_768, False, None), (0.80, 16_384, True, 1.16)],
)
def test_a_length_fits_or_not(utilization: float, length: int, fits: bool, times: float | None) -> None:
    model = shape(LLAMA_8B).but(weights_gib=14.96)
    budget = memory.budget(model, Setup(), 23.99, utilization)
    found = fit(model, Setup(), budget.kv, budget, length)
    assert found.fits is fits
    if times is not None:
        assert next(row.at_once for row in found.rows if row.tokens == length) == pytest.approx(times, abs=0.01)


def test_an_estimate_is_rounded_down_and_a_measured_figure_is_not() -> None:
    model = shape(LLAMA_8B)
    assert fit(model, Setup(), 5.21, None).longest == 42_672
    budget = Budget(23.99, 0.92, 14.96, 1.4, 0.5)
    assert fit(model, Setup(), budget.kv, budget).longest == 41_984


# -- what real servers printed


TINY = shapes.of_config(
    {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 32,
     "num_key_value_heads": 2, "max_position_embeddings": 2048, "vocab_size": 1024, "model_type": "llama"}
)  # fmt: skip
SIZE = re.compile(r"KV cache size: ([\d,]+) tokens")
CONCURRENCY = re.compile(r"Maximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x")
BYTES = re.compile(r"'kv_cache_memory_bytes': (\d+)")
BLOCK = re.compile(r"'block_size': (\d+)")
LOGGED = sorted(path.parent.name for path in LOGS.glob("*/log.txt") if SIZE.search(path.read_text(encoding="utf-8")))


def test_there_are_start_up_logs_to_hold_the_arithmetic_against() -> None:
    assert len(LOGGED) >= 20


@pytest.mark.parametrize("name", LOGGED)
def test_the_size_lines_of_a_real_start_are_reproduced(name: str) -> None:
    text = (LOGS / name / "log.txt").read_text(encoding="utf-8")
    stated, block = BYTES.search(text), BLOCK.search(text)
    setup = Setup(block=int(block[1]) if block else 128)
    gib = int(stated[1]) / GIB if stated else 1.0
    size, concurrency = SIZE.search(text), CONCURRENCY.search(text)
    assert size is not None
    assert concurrency is not None
    length = int(concurrency[1].replace(",", ""))
    at_once = memory.concurrency(TINY, setup, gib, length)
    assert f"{at_once:.2f}" == concurrency[2]
    assert int(at_once * length) == int(size[1].replace(",", ""))


def test_the_refusal_of_a_real_start_is_reproduced() -> None:
    text = (LOGS / "08-cpu-kvcache-space-too-small" / "log.txt").read_text(encoding="utf-8")
    found = re.search(
        r"max seq len \((\d+)\), \(([\d.]+) GiB .*?\(([\d.]+) GiB\).*?maximum model length is (\d+)", text
    )
    assert found is not None
    setup = Setup(block=128)
    assert round(memory.need(TINY, setup, int(found[1])) / GIB, 2) == float(found[2])
    assert memory.longest(TINY, setup, float(found[3]), spare=1) == int(found[4])


# -- the shape of a config


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"sliding_window": 4096, "model_type": "mistral", "max_position_embeddings": 32768}, (32, 4096, 0)),
        ({"sliding_window": None, "model_type": "mistral"}, (0, 0, 0)),
        ({"sliding_window": 131072, "use_sliding_window": False, "model_type": "qwen2"}, (0, 0, 0)),
        ({"sliding_window": 9, "use_sliding_window": True, "max_window_layers": 28, "model_type": "qwen2"}, (4, 9, 0)),
        ({"sliding_window": 4096, "model_type": "gemma2"}, (16, 4096, 0)),
        ({"sliding_window": 1024, "sliding_window_pattern": 6, "model_type": "gemma3_text"}, (27, 1024, 0)),
        ({"layer_types": ["sliding_attention", "full_attention"] * 16, "sliding_window": 128}, (16, 128, 0)),
        ({"layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 8}, (0, 0, 24)),
        ({"full_attention_interval": 4}, (0, 0, 24)),
        ({"hybrid_override_pattern": "M-M*" * 8}, (0, 0, 24)),
        ({"layers_block_type": ["mamba", "attention"] * 16}, (0, 0, 16)),
    ],
)  # fmt: skip
def test_a_config_tells_which_layers_keep_what(config: dict[str, Any], expected: tuple[int, int, int]) -> None:
    found = shapes.of_config({"num_hidden_layers": 32, "num_attention_heads": 32, "hidden_size": 4096, **config})
    assert (found.windowed, found.window, found.stateless) == expected


@pytest.mark.parametrize("name", [LLAMA_8B, QWEN_7B, LLAMA_70B, LITE])
def test_the_parameters_of_a_config_are_about_those_of_the_model(name: str) -> None:
    heads = ("num_attention_heads", "num_key_value_heads")
    dense = ("hidden_size", "intermediate_size", "num_hidden_layers", *heads, "vocab_size")
    configs: dict[str, dict[str, Any]] = {
        LLAMA_8B: dict(zip(dense, (4096, 14336, 32, 32, 8, 128256), strict=True)),
        QWEN_7B: dict(zip(dense, (3584, 18944, 28, 28, 4, 152064), strict=True)),
        LLAMA_70B: dict(zip(dense, (8192, 28672, 80, 64, 8, 128256), strict=True)),
        LITE: {
            "hidden_size": 2048, "intermediate_size": 10944, "moe_intermediate_size": 1408, "num_hidden_layers": 27,
            "num_attention_heads": 16, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128,
            "v_head_dim": 128, "n_routed_experts": 64, "n_shared_experts": 2, "first_k_dense_replace": 1,
            "vocab_size": 102400,
        },
    }  # fmt: skip
    known, found = shape(name), shapes.of_config(configs[name])
    assert found.weights_gib == pytest.approx(known.weights_gib, rel=0.01)
    assert memory.bytes_per_token(found, Setup()) == memory.bytes_per_token(known, Setup())


@pytest.mark.parametrize(
    ("config", "bits"),
    [
        ({"quantization_config": {"quant_method": "awq", "bits": 4}}, 4),
        ({"quantization_config": {"quant_method": "fp8"}}, 8),
        ({"quantization_config": {"quant_method": "c-t", "config_groups": {"a": {"weights": {"num_bits": 8}}}}}, 8),
        ({"torch_dtype": "bfloat16"}, 16),
        ({"dtype": "float32"}, 32),
        ({}, 16),
    ],
)  # fmt: skip
def test_a_config_tells_how_many_bits_a_weight_has(config: dict[str, Any], bits: int) -> None:
    found = shapes.of_config({"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 128, **config})
    assert found.bits == bits


def test_a_config_that_lacks_what_everything_rests_on_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="num_hidden_layers"):
        shapes.of_config({"hidden_size": 4096})


@given(
    st.dictionaries(
        st.sampled_from(
            ["num_hidden_layers", "num_attention_heads", "hidden_size", "num_key_value_heads", "head_dim",
             "kv_lora_rank", "sliding_window", "layer_types", "text_config", "quantization_config", "num_experts",
             "vocab_size", "model_type"]
        ),
        st.one_of(st.none(), st.integers(-5, 10**12), st.text(max_size=5), st.booleans(), st.lists(st.text(max_size=3)),
                  st.dictionaries(st.text(max_size=9), st.integers())),
    )
)  # fmt: skip
def test_no_config_breaks_the_reader(config: dict[str, Any]) -> None:
    try:
        found = shapes.of_config(config)
    except (ValueError, TypeError, ArithmeticError):
        return
    assert found.layers > 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NVIDIA GeForce RTX 4090", 23.6), ("2x4090", 23.6), ("8 x H100", 79.2), ("A100 80G", 79.2),
        ("A100-PCIE-40GB", 39.4), ("Tesla T4", 14.6), ("L4", 22.1), ("L40S", 44.4), ("24GiB", 24.0), ("81559MiB", 79.6),
        ("24 GB", 23.6), ("4090 48G", 47.3), ("MI300X", 191.7),
    ],
)  # fmt: skip
def test_a_gpu_is_understood_as_people_write_it(text: str, expected: float) -> None:
    found = shapes.gpu_memory(text, real())
    assert found is not None
    assert found[1] == pytest.approx(expected, abs=0.06)


@pytest.mark.parametrize("text", ["", "GPU", "a card", "L5", "model 42"])
def test_what_names_no_gpu_is_none(text: str) -> None:
    assert shapes.gpu_memory(text, real()) is None


# -- what it makes of a case


def fact(name: str, value: Scalar, kind: Kind = "log") -> Fact:
    return Fact(name, value, Origin(kind, "", f"{kind}:{name}"))


def derived(*facts: Fact) -> dict[str, tuple[Scalar, str]]:
    return {one.name.removeprefix("derived."): (one.value, one.grade) for one in capacity.facts(facts, real())}


def test_the_size_in_the_log_is_taken_as_it_is() -> None:
    found = derived(fact("log.kv_tokens", "42672"), fact("args.max-model-len", "131072", "command"))
    assert found["kv_tokens"] == (42_672, "exact")
    assert found["max_model_len_that_fits"] == (42_672, "exact")
    assert "max_model_len_is_estimated" not in found
    assert found["max_concurrency"] == (0.33, "exact")


def test_without_an_estimate_two_rounded_figures_give_about_one() -> None:
    found = derived(
        fact("log.needed_gib", "16.0"), fact("log.available_gib", "5.2"), fact("args.max-model-len", 131_072)
    )
    assert found["max_model_len_that_fits"] == (41_984, "near")
    assert found["max_model_len_is_estimated"] == (True, "exact")


def test_model_card_and_share_give_about_what_fits() -> None:
    found = derived(
        fact("model.name", LLAMA_8B, "command"), fact("gpu.name", "RTX 4090", "context"),
        fact("args.max-model-len", "131072", "command"), fact("args.gpu-memory-utilization", "0.92", "command"),
    )  # fmt: skip
    assert found["kv_bytes_per_token"] == (131_072, "exact")
    value, grade = found["max_model_len_that_fits"]
    assert grade == "near"
    assert 32_768 <= int(value) <= 42_672


def test_nothing_is_advised_where_the_arithmetic_contradicts_what_was_seen() -> None:
    found = derived(
        fact("model.name", QWEN_7B, "command"), fact("gpu.name", "H100", "context"),
        fact("args.max-model-len", "8192", "command"),
    )  # fmt: skip
    assert "max_model_len_that_fits" not in found
    assert derived(fact("platform", "cpu"), fact("model.name", QWEN_7B), fact("gpu.name", "H100")).keys() == {
        "kv_bytes_per_token"
    }


@pytest.mark.parametrize("value", ["", "x", "-1", "0", "1e400", "nan", "9" * 400, "auto"])
@pytest.mark.parametrize(
    "name",
    ["log.kv_tokens", "log.available_gib", "log.needed_gib", "args.max-model-len", "args.tensor-parallel-size",
     "args.block-size", "args.gpu-memory-utilization", "gpu.memory_gib", "gpu.name", "args.max-num-batched-tokens"],
)  # fmt: skip
def test_strange_values_are_passed_over(name: str, value: str) -> None:
    capacity.facts(
        [fact("model.name", LLAMA_8B), fact("gpu.name", "L4"), fact("log.max_model_len", "32768"), fact(name, value)],
        real(),
    )


REFUSAL = (
    "ValueError: To serve at least one request with the models's max seq len (32768), (4.00 GiB KV cache is needed, "
    "which is larger than the available KV cache memory (1.94 GiB). Based on the available memory,   Try increasing"
)


def test_the_fix_names_a_length_where_the_message_has_no_estimate() -> None:
    found = answer("", REFUSAL, command="vllm serve m --max-model-len 32768", knowledge=real())
    assert found.causes[0].id == "kv-cache-smaller-than-max-model-len"
    change = found.causes[0].fixes[0].changes[0]
    assert (change.name, change.before, change.after) == ("--max-model-len", "32768", "15360")
    shown = document(found, real(), "0")["causes"][0]["fixes"][0]["text"]
    assert shown == "Set --max-model-len to what fits: about 15360"
    assert found.command is not None
    assert found.command.after == "vllm serve m --max-model-len 15360"


def test_the_estimate_of_the_message_is_preferred() -> None:
    found = answer("", REFUSAL + " the estimated maximum model length is 15888.", knowledge=real())
    assert found.causes[0].fixes[0].changes[0].after == "15888"
    shown = document(found, real(), "0")["causes"][0]["fixes"][0]["text"]
    assert shown == "Set --max-model-len to what fits"
