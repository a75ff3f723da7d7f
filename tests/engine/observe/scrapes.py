"""Scrapes of /metrics as vLLM prints them, made of the few figures that a test is about."""

from __future__ import annotations

BOUNDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0)
LABELS = 'engine="0",model_name="m"'


def scrape(
    *,
    running: float = 8,
    waiting: float = 0,
    kv: float = 0.3,
    preemptions: int = 0,
    finished: int = 1_000,
    aborted: int = 0,
    failed: int = 0,
    generated: int = 500_000,
    prompted: int = 400_000,
    hits: int = 200_000,
    queue: float = 0.01,
    first: float = 0.2,
    prefill: float = 0.15,
    gap: float = 0.02,
    slow_gaps: int = 0,
    broken: int = 0,
    begun: float = 1_000.5,
    loads: tuple[tuple[float, float, float], ...] = (),
    caching: bool = True,
    vanished: int = 0,
    more: tuple[str, ...] = (),
    old: bool = False,
) -> str:
    """One scrape; `loads` gives running, waiting and KV usage of several engines, `old` the names of vLLM 0.8."""
    names = (
        ("gpu_cache_usage_perc", "gpu_prefix_cache", "time_per_output_token_seconds")
        if old
        else ("kv_cache_usage_perc", "prefix_cache", "inter_token_latency_seconds")
    )
    requests = finished + aborted + failed
    out = [
        "# HELP vllm:num_requests_running Number of requests in model execution batches.",
        f"process_start_time_seconds {begun}",
    ]
    for engine, (run, wait, usage) in enumerate(loads or ((running, waiting, kv),)):
        labels = f'engine="{engine}",model_name="m"'
        out += [
            f"vllm:num_requests_running{{{labels}}} {run}",
            f"vllm:num_requests_waiting{{{labels}}} {wait}",
            f"vllm:{names[0]}{{{labels}}} {usage}",
        ]
    counters = {
        "num_preemptions": preemptions,
        f"{names[1]}_queries": prompted,
        f"{names[1]}_hits": hits,
        "prompt_tokens": prompted,
        "generation_tokens": generated,
    }
    out += [f"vllm:{name}_total{{{LABELS}}} {value}" for name, value in counters.items()]
    endings = {"stop": finished, "abort": aborted, "error": failed}
    out += [
        f'vllm:request_success_total{{{LABELS},finished_reason="{reason}"}} {count}'
        for reason, count in endings.items()
    ]
    out += _histogram("time_to_first_token_seconds", requests + vanished, first) + _histogram(
        names[2], requests, gap, slow_gaps, 0.9
    )
    out += _histogram("request_queue_time_seconds", requests, queue) + _histogram(
        "request_prefill_time_seconds", requests, prefill
    )
    calls = {"2xx": requests, "5xx": broken}
    out += [
        f'http_requests_total{{handler="/v1/chat/completions",method="POST",status="{status}"}} {count}'
        for status, count in calls.items()
    ]
    out += [f'vllm:cache_config_info{{block_size="16",enable_prefix_caching="{caching}",engine="0"}} 1.0', *more]
    return "\n".join(out) + "\n"


def later(text: str, seconds: float = 5.0) -> str:
    """The same as the second of two scrapes of one address."""
    return f"# {seconds:.1f} s after the scrape before\n{text}"


def _histogram(name: str, count: int, usual: float, slow: int = 0, slowness: float = 1.0) -> list[str]:
    """`slow` of the observations took `slowness`, all others `usual`."""
    quick = count - slow
    rows = [(bound, (quick if usual <= bound else 0) + (slow if slowness <= bound else 0)) for bound in BOUNDS]
    out = [f'vllm:{name}_bucket{{{LABELS},le="{bound}"}} {below}' for bound, below in rows]
    out += [f'vllm:{name}_bucket{{{LABELS},le="+Inf"}} {count}', f"vllm:{name}_count{{{LABELS}}} {count}"]
    return [*out, f"vllm:{name}_sum{{{LABELS}}} {quick * usual + slow * slowness}"]
