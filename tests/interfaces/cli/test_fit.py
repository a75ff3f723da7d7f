"""`kb fit` prints what a model takes on a GPU, says what it assumed, and refuses what it does not know by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.cli.conftest import Kb

LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    "max_position_embeddings": 131072, "torch_dtype": "bfloat16",
}  # fmt: skip


def figures(kb: Kb, *arguments: str | Path) -> dict[str, Any]:
    ran = kb("fit", *arguments, "--json")
    assert (ran.returncode, ran.stderr) == (0, b"")
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def test_a_name_and_a_card_give_the_longest_context_and_say_about(kb: Kb) -> None:
    ran = kb("fit", "--model", "meta-llama/Llama-3.1-8B-Instruct", "--gpu", "24GiB", "--max-model-len", "131072")
    assert ran.returncode == 0
    lines = ran.stdout.decode().splitlines()
    assert lines[0] == "meta-llama/Llama-3.1-8B-Instruct on 1 x 24 GiB"
    assert "131,072 does not fit" in lines[1]
    assert "16.00 GiB" in lines[1]
    assert "The most that fits: about 41,984" in lines[1]
    assert "- 32,768 tokens: 4.00 GiB each, about 1.3 at once" in lines


def test_the_answer_comes_in_chinese(kb: Kb) -> None:
    out = kb("fit", "--model", "Qwen/Qwen3-8B", "--gpu", "L4", "--lang", "zh").stdout.decode()
    assert "留给 KV cache：约" in out


def test_a_config_file_or_its_folder_is_read(kb: Kb, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    from_file = figures(kb, "--model", tmp_path / "config.json", "--gpu", "H100")
    assert from_file["kv_bytes_per_token"] == 131_072
    assert from_file["model"]["weights_gib"] == pytest.approx(14.96, abs=0.01)
    from_folder = figures(kb, "--model", tmp_path, "--gpu", "H100")
    assert {**from_folder, "model": 0} == {**from_file, "model": 0}


def test_the_index_beside_a_config_gives_the_true_size_of_the_weights(kb: Kb, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": 8 << 30}}))
    found = figures(kb, "--model", tmp_path, "--gpu", "24GiB", "--tp", "2")
    assert found["per_gpu"]["weights_gib"] == 4.0
    assert "weights_gib" not in found["assumed"]


def test_what_the_log_measured_takes_the_place_of_what_is_assumed(kb: Kb) -> None:
    found = figures(kb, "--model", "Llama-3.1-8B", "--available", "5.2", "--max-model-len", "32768")
    assert found["kv_tokens"] == 42_592
    assert (found["fits"], found["assumed"], found["per_gpu"]) == (True, [], None)
    out = kb("fit", "--model", "Llama-3.1-8B", "--available", "5.2GiB").stdout.decode()
    assert "about" not in out


def test_a_command_gives_model_and_settings_and_options_go_over_it(kb: Kb) -> None:
    command = "vllm serve Qwen/Qwen2.5-72B-Instruct -tp 4 --kv-cache-dtype fp8 --max-model-len 32k --enforce-eager"
    found = figures(kb, "--command", command, "--gpu", "A100 80G")
    assert found["kv_bytes_per_token"] == 40 * 1024
    assert found["max_model_len"] == 32_000
    assert found["setup"]["tensor_parallel_size"] == 4
    assert found["per_gpu"]["graphs_gib"] == 0.0
    assert found["per_gpu"]["utilization"] == 0.92
    over = figures(kb, "--command", command, "--gpu", "A100 80G", "--tp", "2", "--utilization", "0.8")
    assert (over["setup"]["tensor_parallel_size"], over["per_gpu"]["utilization"]) == (2, 0.8)


def test_what_a_table_cannot_say_is_said_in_notes(kb: Kb) -> None:
    def out(*arguments: str) -> str:
        return kb("fit", *arguments).stdout.decode()

    assert "cannot be divided by --tensor-parallel-size 3" in out("--model", "Qwen2.5-7B", "--gpu", "H100", "--tp", "3")
    assert "KV heads are replicated" in out("--model", "Qwen2.5-72B", "--gpu", "H100", "--tp", "16")
    assert "MLA keeps the whole KV cache" in out("--model", "DeepSeek-V3", "--gpu", "H200", "--tp", "8")
    assert "window of 1,024 tokens" in out("--model", "gemma-3-27b-it", "--gpu", "H100")
    assert "made for 40,960 tokens" in out("--model", "Qwen3-8B", "--gpu", "H100", "--max-model-len", "131072")


def test_a_model_that_does_not_fit_at_all_is_said_to_lack_memory(kb: Kb) -> None:
    lines = kb("fit", "--model", "Llama-3.1-70B", "--gpu", "4090").stdout.decode().splitlines()
    assert lines[1].startswith("It does not fit: each GPU lacks about 111")
    assert not any("at once" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--model", "Qwen/Qwen3-9B", "--gpu", "L4"), "Did you mean 'Qwen/Qwen3-"),
        (("--model", "Qwen/Qwen3-8B", "--gpu", "L5"), "kb knows no GPU 'L5'. Say how much memory it has: --gpu 24GiB."),
        (("--model", "Qwen/Qwen3-8B"), "no GPU is given."),
        (("--gpu", "L4"), "no model is given."),
        (("--model", "absent/config.json", "--gpu", "L4"), "there is no file 'absent/config.json'."),
        (("--model", "Qwen/Qwen3-8B", "--gpu", "L4", "--tp", "0"), "--tp '0' is not a whole number"),
        (("--model", "Qwen/Qwen3-8B", "--gpu", "L4", "--tp", "1.5"), "--tp '1.5' is not a whole number"),
        (("--model", "Qwen/Qwen3-8B", "--gpu", "L4", "--utilization", "92"), "--utilization '92' is not a share"),
        (("--model", "Qwen/Qwen3-8B", "--available", "much"), "--available 'much' is no amount of memory."),
        (
            ("--model", "Qwen/Qwen3-8B", "--gpu", "L4", "--max-model-len", "x"),
            "--max-model-len 'x' is not a whole number",
        ),
        (("--model", "Qwen/Qwen3-8B", "--gpus", "L4"), "unrecognized arguments: --gpus L4"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(kb: Kb, arguments: tuple[str, ...], expected: str) -> None:
    ran = kb("fit", *arguments)
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert expected in ran.stderr.decode()
    assert ran.stderr.count(b"\n") == 1


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"num_hidden_layers": 2}', b"\xff", b"[" * 100_000])
def test_a_file_that_is_no_config_is_refused(kb: Kb, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "config.json").write_bytes(content)
    ran = kb("fit", "--model", "config.json", "--gpu", "L4")
    assert (ran.returncode, ran.stdout, ran.stderr.count(b"\n")) == (2, b"", 1)
    assert b"'config.json'" in ran.stderr


def test_an_untrusted_name_does_not_steer_the_terminal(kb: Kb, tmp_path: Path) -> None:
    name = "\x1b[2Jx"
    (tmp_path / name).mkdir()
    (tmp_path / name / "config.json").write_text(json.dumps(LLAMA))
    assert b"\x1b" not in kb("fit", "--model", name, "--gpu", "L4").stdout
