"""The ten-second lines are one series: last values, extremes, standstill, and what a queue waits for."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.observe import log
from tests.support import mini


def line(generation: str = "10.0", running: int = 1, waiting: int = 0, kv: str | None = "5.0") -> str:
    usage = "" if kv is None else f", GPU KV cache usage: {kv}%, Prefix cache hit rate: 0.0%"
    return (
        "(APIServer pid=1) INFO 12-01 10:00:10 [loggers.py:1] Engine 000: Avg prompt throughput: 3.0 tokens/s, "
        f"Avg generation throughput: {generation} tokens/s, Running: {running} reqs, Waiting: {waiting} reqs{usage}\n"
    )


def series(*rows: str) -> dict[str, Any]:
    found = log.read(["".join(rows).encode()], mini().section("signs")).statistics.facts()
    return {name.removeprefix("stats."): value for name, value, _line in found}


def test_a_log_without_statistics_says_nothing_of_them() -> None:
    assert series("INFO something else\n") == {}


def test_the_last_values_and_the_extremes_are_kept() -> None:
    found = series(line("50.0", 8, 3, "40.0"), line("80.0", 12, 7, "70.0"), line("20.0", 2, 0, "10.0"))
    assert (found["lines"], found["running"], found["running_max"]) == (3, 2, 12)
    assert (found["waiting"], found["waiting_max"]) == (0, 7)
    assert (found["kv_usage"], found["kv_usage_max"], found["generation"]) == (10.0, 70.0, 20.0)


def test_the_line_of_v0_is_read_as_well() -> None:
    v0 = (
        "INFO 04-21 10:00:00 metrics.py:295] Avg prompt throughput: 0.0 tokens/s, "
        "Avg generation throughput: 8.9 tokens/s, Running: 4 reqs, Swapped: 1 reqs, Pending: 6 reqs, "
        "GPU KV cache usage: 99.1%, CPU KV cache usage: 0.0%.\n"
    )
    found = series(v0)
    assert (found["running"], found["waiting"], found["kv_usage"]) == (4, 6, 99.1)
    assert found["queue_with_full_kv"] is True


def test_requests_that_run_without_tokens_are_counted_in_a_row() -> None:
    stalled, busy = line("0.0", 2), line("5.0", 2)
    assert series(stalled, stalled, busy, stalled, stalled, stalled, busy)["stalled_lines"] == 3
    assert series(line("0.0", 0), line("0.0", 0))["stalled_lines"] == 0


@pytest.mark.parametrize(
    ("kv", "name"), [("99.0", "queue_with_full_kv"), ("20.0", "queue_with_free_kv"), ("80.0", None), (None, None)]
)
def test_a_queue_waits_for_a_full_cache_or_for_something_else(kv: str | None, name: str | None) -> None:
    found = series(line("5.0", 4, 3, kv))
    assert [queue for queue in ("queue_with_full_kv", "queue_with_free_kv") if queue in found] == (
        [name] if name else []
    )


def test_without_a_queue_nothing_is_said_about_what_it_waits_for() -> None:
    assert not {name for name in series(line("5.0", 4, 0, "99.0")) if name.startswith("queue")}


def test_usage_that_is_not_printed_is_unknown_and_not_zero() -> None:
    assert "kv_usage" not in series(line(kv=None))
    assert "kv_usage_max" not in series(line(kv=None))


def test_nothing_running_and_nothing_waiting_is_idle() -> None:
    assert series(line("0.0", 0, 0))["idle"] is True
    assert "idle" not in series(line("0.0", 0, 0), line("0.0", 1, 0), line("0.0", 0, 0))


def test_the_evidence_is_the_line_with_the_longest_queue() -> None:
    found = log.read(
        [b"first\n", line(waiting=1).encode(), line(waiting=9).encode(), line(waiting=2).encode()],
        mini().section("signs"),
    ).statistics
    assert {name: where for name, _value, where in found.facts()}["stats.waiting_max"] == 3
    assert "Waiting: 9 reqs" in found.text


def test_an_endless_line_of_statistics_takes_no_time_that_grows_with_its_square() -> None:
    start = process_time()
    assert series(line().replace("\n", " ") * 20_000)["lines"] > 0
    assert process_time() - start < 3.0


numbers = st.one_of(
    st.text("0123456789.", min_size=1, max_size=12), st.integers(-5, 10**30).map(str), st.just("9" * 5_000)
)


@given(numbers, numbers, numbers, numbers)
def test_no_number_is_too_odd(generation: str, running: str, waiting: str, kv: str) -> None:
    row = (
        f"Avg generation throughput: {generation} tokens/s, Running: {running} reqs, Waiting: {waiting} reqs, "
        f"GPU KV cache usage: {kv}%\n"
    )
    assert all(isinstance(value, int | float) for value in series(row).values())
