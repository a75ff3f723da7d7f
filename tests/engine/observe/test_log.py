"""What a log says: its signs where they first stand, how far the server came, and what to make of each line."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.observe import log
from tests.support import mini

SERVER = "(APIServer pid=1) INFO 12-01 10:00:00 [api_server.py:1] vLLM API server version 0.15.0\n"
OOM = "(EngineCore_DP0 pid=2) ERROR 12-01 10:00:01 [core.py:9] torch.OutOfMemoryError: CUDA out of memory.\n"
INIT_FAILED = "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above.\n"
STATISTICS = "INFO 12-01 10:00:10 [loggers.py:1] Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, Running: 1 reqs, Waiting: 0 reqs\n"


def reading(*texts: str) -> log.Reading:
    return log.read([text.encode() for text in texts], mini().section("signs"))


def lines_of(found: log.Reading) -> dict[str, int]:
    return {hit.sign: hit.line for hit in found.hits}


def test_a_sign_stands_where_its_first_line_is() -> None:
    found = reading(SERVER, "nothing\n", OOM, OOM, INIT_FAILED)
    assert lines_of(found) == {"cuda-out-of-memory": 3, "engine-init-failed": 5}
    assert found.lines == 5
    assert found.is_vllm


def test_a_hit_knows_its_message_its_level_and_its_process() -> None:
    (hit,) = reading(OOM).hits
    assert hit.text == "torch.OutOfMemoryError: CUDA out of memory."
    assert (hit.level, hit.process) == ("ERROR", "EngineCore_DP0")


def test_named_groups_capture_values() -> None:
    found = reading(
        "ValueError: 16.0 GiB KV cache is needed, which is larger than 5. estimated maximum model length is 42672.\n"
    )
    assert [dict(hit.captures) for hit in found.hits] == [{"estimated_len": "42672"}, {"needed_gib": "16.0"}]


@pytest.mark.parametrize("before", ["", " ", "x", "_", "1", "中", "-", "error."])
@pytest.mark.parametrize("after", ["", " ", "x", "_", "1", "中", "-", "."])
def test_a_message_is_found_whatever_it_is_glued_to(before: str, after: str) -> None:
    assert lines_of(reading(f"{before}CUDA out of memory{after}")) == {"cuda-out-of-memory": 1}
    assert lines_of(reading(f"{before}EngineDeadError{after}")) == {"engine-dead": 1}
    assert lines_of(reading(f"{before}remaining connection slots{after}")) == {"of-database": 1}


def test_case_makes_no_difference() -> None:
    assert lines_of(reading("cuda OUT OF memory")) == {"cuda-out-of-memory": 1}


def test_letters_that_grow_when_lowered_move_no_sign() -> None:
    assert lines_of(reading("İİİİİİİİ\n" * 50 + "CUDA out of memory\n")) == {"cuda-out-of-memory": 51}


def test_noise_silences_the_line_that_it_stands_in_however_often_it_comes() -> None:
    notice = "INFO 12-01 10:00:00 [x.py:1] Notice for operators: CUDA out of memory is explained in the manual\n"
    assert lines_of(reading(notice * 500)) == {"quoted-in-a-notice": 1}
    assert lines_of(reading(notice * 500, OOM))["cuda-out-of-memory"] == 501


def test_stages_are_told_by_the_milestones_before() -> None:
    found = reading(
        "INFO non-default args: {}\n", "INFO Starting to load model m...\n", OOM, "INFO Application startup complete.\n"
    )
    assert found.milestones == ((1, "arguments"), (2, "loading"), (4, "serving"))
    assert [found.stage_at(line) for line in (1, 3, 4, 99)] == ["arguments", "loading", "serving", "serving"]
    assert reading(OOM).stage_at(1) == ""


def test_a_restart_after_hours_of_serving_is_seen() -> None:
    start = "INFO Starting to load model m...\n"
    found = reading(start, STATISTICS * 300, start, STATISTICS * 300, OOM)
    assert [stage for _line, stage in found.milestones] == ["loading", "serving", "loading", "serving"]
    assert found.stage_at(found.hits[0].line) == "serving"


def test_a_log_that_restarts_forever_fills_no_memory_and_keeps_its_end() -> None:
    found = reading("INFO Starting to load model m...\nINFO Application startup complete.\n" * 30_000)
    assert len(found.milestones) <= log.MOST_MILESTONES + 1
    assert found.milestones[-1] == (60_000, "serving")


def test_an_error_that_no_sign_knows_is_kept_apart() -> None:
    found = reading(
        "Traceback (most recent call last):\n", "(Worker pid=1) ERROR 12-01 10:00:00 [w.py:1] KeyError: 'x'\n", OOM
    )
    assert found.exceptions == ((2, "KeyError: 'x'"),)


def test_an_error_that_a_sign_explains_is_not_unexplained_however_often_it_comes() -> None:
    assert reading(OOM * 500).exceptions == ()
    assert reading("ValueError: 1.0 GiB KV cache is needed, which is larger than CUDA\n" * 500).exceptions == ()


@pytest.mark.parametrize(
    ("line", "version"),
    [
        (SERVER, "0.15.0"),
        ("INFO 12-01 10:00:00 llm_engine.py:1] Initializing an LLM engine (v0.6.4.post1) with config\n", "0.6.4.post1"),
        ("INFO Initializing a V1 LLM engine (v0.8.5) with config: vllm\n", "0.8.5"),
        ("(APIServer pid=1) INFO 12-01 10:00:00 [u.py:1]  ▄▄ ▄█ █     █  ▀▄▀ █  version 0.32.0 vllm\n", "0.32.0"),
        ("INFO vLLM API server version 0.11.1rc2.dev3+gabc\n", "0.11.1rc2.dev3+gabc"),
        ("node:1:2 [0] NCCL INFO NCCL version 2.21.5+cuda12.4 for vllm\n", None),
        ("INFO vllm runs on Python version 3.12.1\n", None),
    ],
)
def test_the_version_is_that_of_the_banner(line: str, version: str | None) -> None:
    found = reading(line).version
    assert (found and found[0]) == version


def test_the_first_banner_counts() -> None:
    assert reading(SERVER, SERVER.replace("0.15.0", "0.16.0")).version == ("0.15.0", 1)


def test_arguments_are_read_from_the_line_that_prints_them() -> None:
    line = "INFO non-default args: {'model_tag': 'm', 'max_model_len': 4096, 'gpu_memory_utilization': 0.95, 'api_key': ['a'], 'enforce_eager': True}\n"
    found = reading("first\n", line)
    assert found.arguments is not None
    stated, at = found.arguments
    assert at == 2
    assert stated["max_model_len"] == "4096"
    assert stated["gpu_memory_utilization"] == "0.95"
    assert stated["enforce_eager"] == "True"
    assert stated["model_tag"] == "m"


def test_each_http_status_is_noted_where_it_first_comes() -> None:
    ok, failed = (
        f'INFO:     10.0.0.1:5 - "POST /v1/completions HTTP/1.1" {status}\n' for status in ("200 OK", "500 Error")
    )
    assert reading(ok * 3, failed * 3, ok).statuses == ((1, "200"), (4, "500"))


def test_a_log_of_failed_requests_takes_no_time_that_grows_with_its_square() -> None:
    failed = 'INFO:     10.0.0.1:5 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error\n'
    assert reading(failed * 200_000).statuses == ((1, "500"),)


@pytest.mark.parametrize(
    "text",
    ["", "\n", "\n\n\n", "no newline", "\0\0\0", "\ufffd" * 10, "CUDA out of memory" * 3, "error:" * 10_000],
)
def test_any_text_has_a_reading(text: str) -> None:
    assert reading(text).lines == text.replace("\0", "").count("\n") + (
        not text.replace("\0", "").endswith("\n") and text != ""
    )


def test_an_empty_log_has_no_lines() -> None:
    assert log.read([], mini().section("signs")).lines == 0


ROWS = [
    SERVER,
    OOM,
    INIT_FAILED,
    STATISTICS,
    "KeyError: 'x'\n",
    "\x1b[31mred\x1b[0m\n",
    "模型加载\n",
    "x" * 5_000 + "\n",
]


@settings(max_examples=50)
@given(st.lists(st.sampled_from(ROWS), max_size=12), st.lists(st.integers(0, 12_000), max_size=6))
def test_how_a_log_is_cut_into_blocks_makes_no_difference(rows: list[str], places: list[int]) -> None:
    content = "".join(rows).encode()
    cuts = sorted({min(place, len(content)) for place in places} | {0, len(content)})
    blocks = [content[start:end] for start, end in pairwise(cuts)]
    whole, parts = (log.read(one, mini().section("signs")) for one in ([content], blocks))
    assert whole.but(statistics=None) == parts.but(statistics=None)
    assert list(whole.statistics.facts()) == list(parts.statistics.facts())


@settings(max_examples=100)
@given(st.lists(st.binary(max_size=500), max_size=4))
def test_any_bytes_have_a_reading(blocks: list[bytes]) -> None:
    found = log.read(blocks, mini().section("signs"))
    assert all(1 <= hit.line <= max(found.lines, 1) for hit in found.hits)
