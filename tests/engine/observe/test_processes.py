"""Who wrote a line, when, at the end of which traceback; and which failure of several processes and nodes is the root."""

from __future__ import annotations

import json

import pytest

from engine.observe import log
from engine.observe.lines import message
from engine.observe.roots import roots, skews
from tests.support import mini

OOM = "torch.OutOfMemoryError: CUDA out of memory."


def reading(*rows: str) -> log.Reading:
    return log.read(["".join(f"{row}\n" for row in rows).encode()], mini().section("signs"))


@pytest.mark.parametrize(
    ("before", "process", "pid", "node"),
    [
        ("(EngineCore_DP0 pid=12) ERROR 12-01 10:00:00 [core.py:1] ", "EngineCore_DP0", "12", ""),
        ("(EngineCore_DP0 pid=12) (Worker_TP1 pid=13) ERROR 12-01 10:00:00 [core.py:1] ", "Worker_TP1", "13", ""),
        ("(VllmWorker rank=1 pid=9) ERROR 12-01 10:00:00 [core.py:1] ", "VllmWorker", "9", ""),
        ("(RayWorkerWrapper pid=77, ip=10.0.0.2) ", "RayWorkerWrapper", "77", "10.0.0.2"),
        ("vllm-1  | (APIServer pid=1) ", "APIServer", "1", "vllm-1"),
        ("[pod/vllm-0/server] (APIServer pid=1) ", "APIServer", "1", "vllm-0"),
        ("Dec  1 10:00:00 node7 vllm[123]: ", "vllm", "123", "node7"),
        ("[rank1]: ", "rank1", "", ""),
    ],
)
def test_processes_and_nodes_are_told_apart(before: str, process: str, pid: str, node: str) -> None:
    (hit,) = reading(before + OOM).hits
    assert (hit.process, hit.pid, hit.node, hit.text) == (process, pid, node, OOM)


WRAPPED = [
    {"log": f"(EngineCore pid=2) ERROR 12-01 10:00:00 [core.py:1] {OOM}\n", "stream": "stderr", "time": "2026-12-01T10:00:00.5Z"},
    {"message": OOM, "levelname": "ERROR", "processName": "EngineCore"},
    {"msg": OOM, "level": "error", "ts": "2026-12-01T10:00:00Z"},
    {"MESSAGE": OOM, "_PID": "2", "PRIORITY": "3"},
]  # fmt: skip


@pytest.mark.parametrize("record", WRAPPED, ids=[next(iter(record)) for record in WRAPPED])
def test_a_message_is_taken_out_of_its_record(record: dict[str, str]) -> None:
    found = reading("first", json.dumps(record), "last")
    (hit,) = found.hits
    assert (hit.line, hit.text, found.lines) == (2, OOM, 3)


def test_the_level_of_a_record_is_that_of_its_message() -> None:
    (hit,) = reading(json.dumps(WRAPPED[1])).hits
    assert (hit.level, hit.process) == ("ERROR", "EngineCore")


def test_the_body_of_a_response_is_no_log_record() -> None:
    body = '{"object": "error", "message": "CUDA out of memory", "type": "InternalServerError", "code": 500}'
    assert message(body).text == body
    (hit,) = reading(body).hits
    assert hit.text == body


def trace(process: str, name: str, error: str) -> list[str]:
    before = f"({process} pid=1) ERROR 12-01 10:00:00 [core.py:1] "
    rows = [
        "Traceback (most recent call last):",
        f'  File "/x/vllm/{name}.py", line 7, in {name}',
        f"    {name}()",
        "    ^^^^",
        error,
    ]
    return [before + row for row in rows]


def test_a_failure_knows_its_traceback() -> None:
    (hit,) = reading("INFO", *trace("Worker_TP0", "load_model", OOM)).hits
    assert (hit.line, hit.began, hit.frame) == (6, 2, "load_model.py:7 in load_model")


def test_lines_of_another_process_do_not_tear_a_traceback() -> None:
    ours, theirs = trace("Worker_TP0", "load_model", OOM), trace("Worker_TP1", "profile_run", "KeyError: 'x'")
    mixed = [row for pair in zip(ours, theirs, strict=True) for row in pair]
    (hit,) = reading(*mixed).hits
    assert hit.frame == "load_model.py:7 in load_model"


def test_the_innermost_of_chained_exceptions_is_the_root() -> None:
    found = reading(
        *trace("EngineCore", "execute_model", "KeyError: 'x'"),
        "", "The above exception was the direct cause of the following exception:", "",
        *trace("EngineCore", "run_engine", OOM),
    )  # fmt: skip
    first, second = roots([found])
    assert (first.text, first.frame) == ("KeyError: 'x'", "execute_model.py:7 in execute_model")
    assert second.text == OOM


def test_repeats_are_one_failure_with_a_count() -> None:
    found = reading(*[f"KeyError: 'request-{n}'" for n in range(30)], *[OOM] * 20)
    assert [(root.line, root.count) for root in roots([found])] == [(1, 30), (31, 20)]


def test_the_first_failure_in_time_is_the_root_though_its_lines_come_later() -> None:
    found = reading(
        f"(RayWorkerWrapper pid=1, ip=10.0.0.1) ERROR 12-01 10:00:09 [w.py:1] {OOM}",
        "(RayWorkerWrapper pid=1, ip=10.0.0.2) ERROR 12-01 10:00:03 [w.py:1] KeyError: 'x'",
    )
    assert [root.node for root in roots([found])] == ["10.0.0.2", "10.0.0.1"]


def test_one_process_writes_in_order_whatever_its_clock_does() -> None:
    found = reading(f"ERROR 12-01 10:00:09 [w.py:1] {OOM}", "ERROR 12-01 10:00:03 [w.py:1] KeyError: 'x'")
    assert [root.line for root in roots([found])] == [1, 2]


def node(clock: int, failure: str, after: int) -> log.Reading:
    rows = ["Starting to load model m...", "Model loading took 3 GiB"]
    stamped = [f"INFO 12-01 10:{clock:02}:{10 * n:02} [w.py:1] {row}" for n, row in enumerate(rows)]
    return reading(*stamped, f"ERROR 12-01 10:{clock:02}:{after:02} [w.py:1] {failure}")


def test_clocks_of_nodes_are_set_right_by_the_stages_they_entered_together() -> None:
    ahead = node(7, OOM, 40)
    behind = node(2, "KeyError: 'x'", 50)
    assert skews([ahead, behind]) == [0.0, -300.0]
    assert [root.text for root in roots([ahead, behind])] == [OOM, "KeyError: 'x'"]
    assert [root.file for root in roots([behind, ahead])] == [1, 0]


def test_what_comes_after_a_shutdown_is_no_failure() -> None:
    assert roots([reading("INFO Shutting down FastAPI HTTP server.", "KeyError: 'x'")]) == []
