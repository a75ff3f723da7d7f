"""A person's own words are told from what they pasted, line by line."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.observe.split import split

TRACEBACK = """Traceback (most recent call last):
  File "/usr/lib/python3/site-packages/vllm/engine.py", line 12, in run
    raise ValueError("x")
ValueError: x"""
COMMAND = "vllm serve m --max-model-len 4096"


@pytest.mark.parametrize(
    "sentence",
    [
        "requests hang",
        "requests hang after an hour of load, what can I do?",
        "启动时显存不足",
        "CUDA out of memory when the context is 128k",
        "I get CUDA error: out of memory",
        "vllm 0.18 says unrecognized arguments: --swap-space",
        "help",
        "Running: 0 reqs, is that normal?",
    ],
)
def test_a_sentence_is_words(sentence: str) -> None:
    assert split(sentence) == split(f"  {sentence}\n")
    assert (split(sentence).words, split(sentence).log, split(sentence).command) == (sentence, "", "")


@pytest.mark.parametrize(
    "line",
    [
        "(EngineCore_DP0 pid=12) ERROR 12-01 10:00:00 [core.py:1] dead",
        "ERROR 12-01 10:00:00 [core.py:1] dead",
        "INFO:     Application startup complete.",
        "2025-12-01T10:00:00Z stderr F dead",
        "2025-12-01 10:00:00,123 - x - dead",
        "Dec  1 10:00:00 node kernel: Out of memory: Killed process 12",
        "vllm-1  | ERROR 12-01 10:00:00 [core.py:1] dead",
        "[rank0]: Traceback (most recent call last):",
        "vllm: error: unrecognized arguments: --swap-space 4",
        "vllm serve: error: argument --port: invalid int value: 'abc'",
        '{"object":"error","message":"The model x does not exist."}',
        "node1:12:34 [0] NCCL WARN Error while creating shared memory segment",
        "vllm:num_requests_waiting{engine=\"0\"} 12.0",
        "docker: Error response from daemon: could not select device driver",
    ],
)  # fmt: skip
def test_one_line_of_a_machine_is_a_log(line: str) -> None:
    assert (split(line).words, split(line).log) == ("", line)


@pytest.mark.parametrize(
    "command",
    [
        COMMAND,
        f"$ {COMMAND}",
        f"CUDA_VISIBLE_DEVICES=0,1 {COMMAND}",
        f"nohup {COMMAND} > log 2>&1 &",
        "python -m vllm.entrypoints.openai.api_server --model m",
        "docker run --gpus all vllm/vllm-openai:latest --model m",
        "sudo docker run --gpus all vllm/vllm-openai:latest --model m",
    ],
)
def test_one_line_of_a_start_command_is_a_command(command: str) -> None:
    assert (split(command).words, split(command).log, split(command).command) == ("", "", command)


def test_an_error_that_is_told_in_one_line_may_be_either() -> None:
    line = "ValueError: the model's max seq len is larger than I set"
    assert (split(line).words, split(line).log) == (line, line)
    assert split(f"{line}\n{line}").words == ""


@pytest.mark.parametrize(
    "sentence",
    [
        "vllm serve does not start any more since yesterday",
        "vllm serve 启动时显存不足",
        "docker run of the image ends without any message",
    ],
)
def test_a_sentence_that_begins_like_a_command_is_words(sentence: str) -> None:
    assert split(sentence).words == sentence


def test_a_sentence_a_command_and_a_log_are_taken_apart() -> None:
    parts = split(f"it does not start, I use\n{COMMAND} \\\n  --port 8000\nand get\n{TRACEBACK}\nwhat is wrong?")
    assert parts.words == "it does not start, I use\nand get\nwhat is wrong?"
    assert parts.command == f"{COMMAND} \\\n  --port 8000"
    assert parts.log.strip() == TRACEBACK


def test_a_log_keeps_the_numbers_of_its_lines() -> None:
    parts = split(f"it dies\n\n{TRACEBACK}\nwhy")
    assert parts.log.splitlines()[5] == "ValueError: x"


def test_a_chinese_sentence_after_a_log_is_words() -> None:
    assert split(f"{TRACEBACK}\n这是什么原因？").words == "这是什么原因？"


def test_lines_that_go_on_belong_to_the_log_above() -> None:
    log = "ERROR 12-01 10:00:00 [core.py:1] Traceback\n    self.run()\n  wrapped = f(x)\nat 0x7f00 in libcuda.so.1 ()"
    assert split(log).log == log
    assert split(log).words == ""


def test_a_text_of_thousands_of_lines_is_a_log() -> None:
    parts = split("plain words here\n" * 5_000)
    assert len(parts.words.splitlines()) <= 400
    assert len(parts.log) > 50_000


def test_a_bare_text_has_no_parts() -> None:
    assert (split("").words, split("").log, split("").command) == ("", "", "")
    assert (split("\n \n").words, split("\n \n").log) == ("", "")


SLOW = ["A", "aA", "A.", "(", "[W", '"', "A=A ", "a|", "E1", "=", "- ", "x:", ": ", "1:", "{", "ＡＢ", "中"]


@pytest.mark.parametrize("unit", SLOW)
@pytest.mark.parametrize("shape", ["{}:", "{}\n{}:\n", "vllm {}", "  {}"])
def test_no_text_takes_long(unit: str, shape: str) -> None:
    text = shape.format(*[unit * (200_000 // len(unit))] * shape.count("{}"))
    start = process_time()
    split(text)
    assert process_time() - start < 1.0


@given(st.text(max_size=400))
def test_any_text_is_split_and_its_words_stay_in_it(text: str) -> None:
    parts = split(text)
    kept = "".join((parts.words + parts.log + parts.command).split())
    assert len(kept) <= len("".join(text.split()))
    for line in parts.words.splitlines():
        assert line.strip() in text or line.strip() in text.replace("\0", "")
