"""Scrapes of /metrics become facts and name the cause; what is idle, fresh or only busy is no trouble."""

from __future__ import annotations

from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.observe import metrics
from engine.observe.environment import Text
from tests.engine.observe.scrapes import later, scrape
from tests.support import answer, claimed, named, real

if TYPE_CHECKING:
    from engine.model import Answer

SCRAPED = Path(__file__).parent / "scraped"


def values(*scraped: str) -> dict[str, Any]:
    return {fact.name: fact.value for fact in metrics.facts([Text(text, str(n), n) for n, text in enumerate(scraped)])}


def diagnosed(*scraped: str) -> Answer:
    return answer("", *scraped, knowledge=real())


@pytest.mark.parametrize(
    ("verdict", "cause", "scraped"),
    [
        ("queue pressure, no seat", "max-num-seqs-too-small", [scrape(running=1, waiting=9, kv=0.02)]),
        ("queue pressure, no KV cache", "kv-cache-preemption-overload", [scrape(running=30, waiting=20, kv=0.99)]),
        ("queue pressure, no capacity", "load-exceeds-capacity", [scrape(running=200, waiting=50, kv=0.8)]),
        ("queue latency", "load-exceeds-capacity", [scrape(running=100, kv=0.7, queue=4.0, first=4.5)]),
        ("KV-cache pressure", "kv-cache-preemption-overload", [scrape(running=40, kv=0.97)]),
        ("preemption", "kv-cache-preemption-overload", [scrape(running=40, kv=0.93, preemptions=400)]),
        ("high time to first token", "long-prefill-starves-decode", [scrape(first=4.0, prefill=3.8)]),
        ("high time per output token, few requests", "hardware-too-slow-for-model", [scrape(running=2, gap=0.2)]),
        ("high time per output token, many requests", "load-exceeds-capacity", [scrape(running=120, kv=0.6, gap=0.2)]),
        ("some tokens very late", "long-prefill-starves-decode", [scrape(slow_gaps=30)]),
        (
            "low throughput",
            "hardware-too-slow-for-model",
            [scrape(running=4), later(scrape(running=4, generated=500_050))],
        ),
        ("error rate, 5xx", "engine-process-killed", [scrape(broken=120)]),
        ("error rate, clients that give up", "client-timeout-too-short", [scrape(aborted=200)]),
        ("requests that nobody waited for", "client-timeout-too-short", [scrape(vanished=400)]),
        ("prefix-cache efficiency", "prompt-prefix-differs", [scrape(hits=1_000)]),
        ("replica imbalance, one address", "replica-load-imbalance", [scrape(loads=((60, 20, 0.9), (5, 0, 0.1)))]),
        (
            "replica imbalance",
            "replica-load-imbalance",
            [scrape(begun=1, running=60, waiting=20), scrape(begun=2, running=5)],
        ),
        ("frozen engine", "engine-process-frozen", [scrape(running=3), later(scrape(running=3))]),
        (
            "sleeping engine",
            "engine-paused-or-asleep",
            [scrape(running=0, waiting=3, more=('vllm:engine_sleep_state{sleep_state="awake"} 0.0',))],
        ),
        (
            "refused drafts",
            "spec-decode-low-acceptance",
            [
                scrape(
                    more=(
                        "vllm:spec_decode_num_draft_tokens_total 50000",
                        "vllm:spec_decode_num_accepted_tokens_total 9000",
                    )
                )
            ],
        ),
        ("old names", "kv-cache-preemption-overload", [scrape(running=30, waiting=20, kv=0.99, old=True)]),
    ],
)
def test_a_verdict_is_reached_with_its_cause(verdict: str, cause: str, scraped: list[str]) -> None:
    found = diagnosed(*scraped)
    assert claimed(found) == [cause], verdict
    assert found.status == "answered"


def test_requests_that_fail_are_no_sign_of_health_even_where_the_cause_stays_open() -> None:
    found = diagnosed(scrape(failed=120))
    assert (found.status, claimed(found), named(found)) == ("answered", [], ["pd-kv-transfer-handshake-fails"])


@pytest.mark.parametrize(
    ("what", "scraped"),
    [
        ("a busy server", [scrape()]),
        ("a busy server with many requests", [scrape(running=200, kv=0.8)]),
        ("an idle server without prefix hits", [scrape(running=0, hits=0)]),
        ("a fresh server without prefix hits", [scrape(running=2, hits=0, finished=10, prompted=4_000)]),
        ("a server whose few requests came cold", [scrape(running=0, finished=5, first=7.0, prefill=6.9)]),
        ("three preemptions in a hundred thousand requests", [scrape(preemptions=3, finished=100_000)]),
        ("one request that waits for the next step", [scrape(running=8, waiting=1, kv=0.1)]),
        ("a server with one failed call", [scrape(broken=1)]),
        ("a server that moves between two scrapes", [scrape(), later(scrape(generated=504_000))]),
        ("an idle server that does not move", [scrape(running=0), later(scrape(running=0))]),
        ("two replicas that are about as busy", [scrape(begun=1, running=30), scrape(begun=2, running=25)]),
    ],
)
def test_a_server_without_trouble_is_healthy(what: str, scraped: list[str]) -> None:
    assert (diagnosed(*scraped).status, claimed(diagnosed(*scraped))) == ("healthy", []), what


@pytest.mark.parametrize(
    ("names", "causes"),
    [
        (("healthy",), []),
        (("queue",), ["max-num-seqs-too-small"]),
        (("frozen", "frozen-later"), ["engine-process-frozen"]),
        (("queue", "frozen"), ["max-num-seqs-too-small"]),
    ],
)
def test_scrapes_of_a_real_server_are_told_apart(names: tuple[str, ...], causes: list[str]) -> None:
    """vLLM 0.32 with `--max-num-seqs 1`: idle, with twelve requests, and before and after its engine got SIGSTOP."""
    assert claimed(diagnosed(*[(SCRAPED / f"{name}.txt").read_text() for name in names])) == causes


def test_old_names_say_the_same_as_new_ones() -> None:
    new, old = values(scrape(kv=0.5, gap=0.2, hits=1_000)), values(scrape(kv=0.5, gap=0.2, hits=1_000, old=True))
    assert new == old
    assert new["stats.kv_usage"] == 50.0


def test_two_scrapes_count_only_what_happened_between_them() -> None:
    before = scrape(preemptions=500, finished=1_000, generated=500_000)
    after = scrape(preemptions=500, finished=1_200, generated=510_000)
    assert "stats.preemption_share" not in values(before, later(after, 10.0))
    assert values(before, later(after, 10.0))["stats.generation"] == 1_000.0
    assert values(after)["stats.preemption_share"] > 40


def test_two_scrapes_may_come_in_either_order() -> None:
    first, second = scrape(running=3), scrape(running=3, waiting=2, generated=600_000)
    assert values(first, second)["stats.waiting"] == values(second, first)["stats.waiting"] == 2


def test_a_percentile_needs_enough_requests() -> None:
    assert "stats.first_token_p95" not in values(scrape(finished=19, first=4.0))
    assert values(scrape(finished=20, first=4.0))["stats.first_token_p95"] == pytest.approx(4.9, abs=0.2)


def test_a_fact_quotes_the_sample_and_its_line() -> None:
    text = scrape(waiting=7)
    fact = next(fact for fact in metrics.facts([Text(text, "0", 0)]) if fact.name == "stats.waiting")
    assert fact.origin.line is not None
    assert text.splitlines()[fact.origin.line - 1] == fact.origin.text
    assert fact.origin.kind == "metric"


def test_metrics_that_are_stated_one_by_one_count_as_a_scrape() -> None:
    stated = {"vllm:num_requests_running": 1, "num_requests_waiting": "9", "vllm:kv_cache_usage_perc": 0.02}
    assert claimed(answer("requests wait", knowledge=real(), metrics=stated)) == ["max-num-seqs-too-small"]


def test_metrics_are_understood_where_they_are_pasted() -> None:
    text = "requests are queueing, this is what the server shows:\n" + scrape(running=30, waiting=20, kv=0.99)
    assert claimed(answer(text, knowledge=real()))[:1] == ["kv-cache-preemption-overload"]


def test_a_log_is_believed_before_a_scrape() -> None:
    log = "INFO 03-10 09:00:00 [loggers.py:127] Engine 000: Avg prompt throughput: 0.0 tokens/s, "
    log += "Avg generation throughput: 900.0 tokens/s, Running: 30 reqs, Waiting: 12 reqs, GPU KV cache usage: 99.1%\n"
    assert claimed(answer("", log * 3, scrape(), knowledge=real()))[:1] == ["kv-cache-preemption-overload"]


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf", "1e999", "abc", "", "0x10", "9" * 400])
def test_a_value_that_is_no_number_is_passed_over(value: str) -> None:
    values(
        scrape(running=0).replace(
            "vllm:num_requests_running{engine", f"vllm:num_requests_running {value}\nvllm:num_requests_running{{engine"
        )
    )


@given(st.data())
def test_a_damaged_scrape_raises_nothing(data: st.DataObject) -> None:
    texts = []
    for text in (scrape(), later(scrape(generated=501_000))):
        damaged = text
        for _ in range(data.draw(st.integers(0, 4))):
            at = data.draw(st.integers(0, len(damaged)))
            to = min(len(damaged), at + data.draw(st.integers(0, 60)))
            damaged = damaged[:at] + data.draw(st.text(max_size=10)) + damaged[to:]
        texts.append(damaged)
    values(*texts)


@pytest.mark.parametrize(
    "unit", ['vllm:a{b="', "vllm:a{", 'vllm:a{b="\\\\', "vllm:x 1\n", 'vllm:x{a="b",', "vllm:aaaa"]
)
def test_a_hostile_scrape_takes_bounded_time(unit: str) -> None:
    begun = process_time()
    values(unit * (400_000 // len(unit)))
    assert process_time() - begun < 3.0
