"""Scrapes of /metrics -> facts. Names old and new are one; of two scrapes of a server only what lies between counts.

A number alone is no trouble: a judgement needs enough requests behind it, so that a server that is idle, fresh or still
warm from its first request shows nothing wrong.
"""

from __future__ import annotations

from engine.model import Fact, Origin
from engine.observe.scrape import ENOUGH, Scrape, Window, by_server
from engine.observe.statistics import FREE, FULL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.model import Grade, Scalar
    from engine.observe.environment import Text

VANISHED = 5  # requests that nobody waited for
MANY = 100  # requests from which low reuse of prefixes is no accident
LONG_PROMPTS = 50_000  # tokens looked up in the prefix cache, from which its hit rate means something
SLOW_FIRST, SLOW_NEXT = 2.0, 0.1  # seconds: 95th percentile of the first token, median of each further one
UNEVEN = 10.0  # times the median that the 99th percentile of the gap between tokens may be


def facts(texts: Sequence[Text]) -> list[Fact]:
    """What the scrapes say, each server by itself, then the servers beside each other."""
    scrapes = [found for one in texts if (found := Scrape(one)).samples]
    windows = [Window(series) for series in by_server(scrapes)]
    out = [fact for window in windows for fact in _of_server(window)]
    return out + list(_of_replicas(windows))


def _fact(window: Window, name: str, value: Scalar, metric: str, topic: str, grade: Grade = "exact") -> Fact:
    """Facts of one topic are one observation."""
    sample, place = window.line(metric), window.now.place
    source = f"metric:{place.where}:{topic}"
    return Fact(name, value, Origin("metric", sample.text[:300], source, file=place.file, line=sample.line), grade)


def _of_server(window: Window) -> Iterator[Fact]:
    yield from _of_queue(window)
    yield from _of_progress(window)
    yield from _of_preemptions(window)
    yield from _of_latency(window)
    yield from _of_endings(window)
    yield from _of_caches(window)
    yield from _of_limits(window)


def _of_queue(window: Window) -> Iterator[Fact]:
    """Running and waiting requests beside the KV cache: what the queue waits for."""
    names = ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc")
    if not any(name in window.now.samples for name in names[:2]):
        return
    series = [(one.total(names[0]), one.total(names[1]), 100 * (one.most(names[2]) or 0.0)) for one in window.scrapes]
    running, waiting, usage = series[-1]
    topic = "queue"
    yield _fact(window, "stats.running", running, names[0], topic)
    yield _fact(window, "stats.running_max", max(row[0] for row in series), names[0], topic)
    yield _fact(window, "stats.waiting", waiting, names[1], topic)
    if (longest := max(row[1] for row in series)) or len(series) > 1:  # that nobody waits at one moment says little
        yield _fact(window, "stats.waiting_max", longest, names[1], topic)
    if names[2] in window.now.samples:
        yield _fact(window, "stats.kv_usage", round(usage, 1), names[2], topic)
        yield _fact(window, "stats.kv_usage_max", round(max(row[2] for row in series), 1), names[2], topic)
        deferred = window.now.total("num_requests_waiting_by_reason", reason="deferred")
        if _is_frozen(window):
            return  # everything waits for the engine, whatever else is full or free
        if deferred and deferred >= waiting:
            yield _fact(window, "stats.deferred", True, "num_requests_waiting_by_reason", topic)
        elif any(row[1] > 0 and row[2] >= FULL for row in series):
            yield _fact(window, "stats.queue_with_full_kv", True, names[2], topic)
        elif running and waiting >= max(2.0, running / 10) and usage < FREE:  # one may wait for the next step
            yield _fact(window, "stats.queue_with_free_kv", True, names[1], topic)
        elif running and usage >= FULL:
            yield _fact(window, "stats.kv_nearly_full", True, names[2], topic)


def _of_progress(window: Window) -> Iterator[Fact]:
    """Tokens per second, and whether an engine with open requests does anything at all."""
    stated = window.now.most("avg_generation_throughput_toks_per_s")
    rate = window.grown("generation_tokens") / window.seconds if window.before and window.seconds else stated
    running = min(one.total("num_requests_running") for one in window.scrapes)
    topic = "progress"
    if rate is not None:
        yield _fact(window, "stats.generation", round(rate, 1), "generation_tokens", topic)
        if running and 0 < rate < 5 * running:
            yield _fact(window, "stats.throughput_low", True, "generation_tokens", topic)
    if _is_frozen(window):
        yield _fact(window, "stats.frozen", True, "num_requests_running", topic)
    awake = [
        one.value
        for one in window.now.samples.get("engine_sleep_state", ())
        if one.labels.get("sleep_state") == "awake"
    ]
    if awake and not any(awake):
        yield _fact(window, "stats.asleep", True, "engine_sleep_state", topic)


def _is_frozen(window: Window) -> bool:
    """Whether requests were open for some seconds and not one token, request or preemption was counted."""
    opened = min(one.total("num_requests_running") + one.total("num_requests_waiting") for one in window.scrapes)
    long_enough = window.seconds >= 3 or not window.seconds
    return bool(window.before and opened and long_enough and window.now.counters() == window.before.counters() != {})


def _of_preemptions(window: Window) -> Iterator[Fact]:
    """A few preemptions in the life of a busy server are no trouble."""
    count = window.grown("num_preemptions")
    if count:
        share = 100 * count / max(1.0, window.requests() + window.now.total("num_requests_running"))
        grade: Grade = "exact" if share >= 1 else "faint"
        yield _fact(window, "metrics.vllm:num_preemptions_total", count, "num_preemptions", "preemptions", grade)
        yield _fact(window, "stats.preemption_share", round(share, 1), "num_preemptions", "preemptions")


def _of_latency(window: Window) -> Iterator[Fact]:
    first, gap = "time_to_first_token_seconds", "inter_token_latency_seconds"
    queue = window.mean("request_queue_time_seconds")
    if queue is not None:
        yield _fact(window, "stats.queue_time", round(queue, 3), "request_queue_time_seconds", "queue-time")
    late, mean = window.percentile(first, 0.95), window.mean(first)
    if late is not None and mean is not None:
        yield _fact(window, "stats.first_token_p95", round(late, 3), first, "first-token")
        usual = window.percentile(first, 0.5) or 0.0
        if late >= SLOW_FIRST and usual >= SLOW_FIRST / 10:
            yield from _of_first_token(window, mean, queue)
    median, worst = window.percentile(gap, 0.5), window.percentile(gap, 0.99)
    if median is not None and worst is not None and window.requests() >= ENOUGH:
        yield _fact(window, "stats.token_gap", round(median, 4), gap, "token-gap")
        if median >= SLOW_NEXT:
            yield _fact(window, "stats.tokens_slow", True, gap, "token-gap")
        elif worst >= max(UNEVEN * median, 2 * SLOW_NEXT):
            yield _fact(window, "stats.tokens_uneven", True, gap, "token-gap")


def _of_first_token(window: Window, mean: float, queue: float | None) -> Iterator[Fact]:
    """A late first token waited for its turn or was long in the making."""
    prefill = window.mean("request_prefill_time_seconds")
    if queue is not None and queue >= mean / 2:
        yield _fact(window, "stats.first_token_waits", True, "request_queue_time_seconds", "first-token")
    elif prefill is not None and prefill >= mean / 2:
        yield _fact(window, "stats.first_token_computes", True, "request_prefill_time_seconds", "first-token")
    else:
        yield _fact(window, "stats.first_token_late", True, "time_to_first_token_seconds", "first-token")


def _of_endings(window: Window) -> Iterator[Fact]:
    """How requests ended: shares of a few would be chance."""
    finished = window.grown("request_success")
    for reason in ("abort", "error") if finished >= ENOUGH else ():
        share = 100 * window.grown("request_success", finished_reason=reason) / finished
        yield _fact(window, f"stats.{reason}_share", round(share, 1), "request_success", reason)
    yield from _of_vanished(window, finished)
    served = [
        one for one in window.now.samples.get("http_requests", ()) if one.labels.get("handler", "").startswith("/v1/")
    ]
    calls = window.grown("http_requests", method="POST")
    broken = window.grown("http_requests", method="POST", status="5xx")
    if served and calls >= ENOUGH:
        worst = max(served, key=lambda one: (one.labels.get("status") == "5xx", one.value))
        origin = Origin(
            "metric",
            worst.text[:300],
            f"metric:{window.now.place.where}:http",
            file=window.now.place.file,
            line=worst.line,
        )
        yield Fact("stats.server_error_share", round(100 * broken / calls, 1), origin)


def _of_vanished(window: Window, finished: float) -> Iterator[Fact]:
    """Requests that had a first token and neither finished nor are open: vLLM does not count all whose client left."""
    begun = window.count("time_to_first_token_seconds")
    opened = window.grown("num_requests_running") + window.grown("num_requests_waiting")
    lost = begun - finished - opened
    if lost >= VANISHED and lost >= begun / 10:
        yield _fact(
            window, "stats.vanished_share", round(100 * lost / begun, 1), "time_to_first_token_seconds", "vanished"
        )


def _of_caches(window: Window) -> Iterator[Fact]:
    """Reuse of prefixes and of drafts, where there was enough to reuse."""
    config = window.now.samples.get("cache_config_info", ())
    off = any(one.labels.get("enable_prefix_caching") == "False" for one in config)
    if off:
        yield _fact(window, "args.enable-prefix-caching", False, "cache_config_info", "cache-config")
    looked_up = window.grown("prefix_cache_queries")
    stated = window.now.most("gpu_prefix_cache_hit_rate")
    busy = window.requests() >= MANY
    if (
        busy
        and not off
        and max(looked_up, window.grown("prompt_tokens")) >= LONG_PROMPTS
        and (looked_up or stated is not None)
    ):
        rate = 100 * (window.grown("prefix_cache_hits") / looked_up if looked_up else stated or 0.0)
        metric = "prefix_cache_hits" if looked_up else "gpu_prefix_cache_hit_rate"
        yield _fact(window, "stats.prefix_hit_rate", round(max(0.0, rate), 1), metric, "prefix-cache")
        if rate < 10 and window.now.total("num_requests_running"):
            yield _fact(window, "stats.prefix_misses", True, metric, "prefix-cache")
    drafted = window.grown("spec_decode_num_draft_tokens")
    if drafted >= 1_000:
        share = 100 * window.grown("spec_decode_num_accepted_tokens") / drafted
        yield _fact(window, "stats.draft_acceptance", round(share, 1), "spec_decode_num_accepted_tokens", "drafts")


def _of_limits(window: Window) -> Iterator[Fact]:
    opened, most = window.now.most("process_open_fds"), window.now.most("process_max_fds")
    if opened and most and opened >= 0.9 * most:
        yield _fact(window, "stats.files_exhausted", True, "process_open_fds", "files")
    for name in ("corrupted_requests", "nixl_num_failed_transfers", "nixl_num_kv_expired_reqs", "admission_rejections"):
        if window.grown(name):
            yield _fact(window, f"metrics.vllm:{name}", window.grown(name), name, name)


def _of_replicas(windows: Sequence[Window]) -> Iterator[Fact]:
    """Several engines, behind one address or in scrapes of their own: one queues while another has room."""
    loads = []
    for window in windows:
        engines = [one.labels.get("engine", "") for one in window.now.samples.get("num_requests_running", ())]
        for engine in dict.fromkeys(engines):
            labels = {"engine": engine} if engine else {}
            loads.append(
                (
                    window.now.total("num_requests_waiting", **labels),
                    window.now.total("num_requests_running", **labels),
                    window,
                )
            )
    if len(loads) < 2:
        return
    queued, running, window = max(loads, key=lambda load: load[:2])
    spare = min(loads, key=lambda load: load[:2])
    if queued >= 4 and spare[0] == 0 and spare[1] <= running / 2:
        yield _fact(window, "stats.replicas_uneven", True, "num_requests_waiting", "replicas")
