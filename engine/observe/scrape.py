"""A scrape of /metrics as samples by their present names, and what happened to one server between scrapes of it."""

from __future__ import annotations

from engine.lazy import regex
from engine.model import Value
from engine.observe.environment.seen import rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine.observe.environment import Text

_SAMPLE = regex(
    r"(?:ray_)?(vllm[:_]\w{1,100}|http_requests_total|process_\w{1,60})"
    r'(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})? +([-+.\w]{1,40})(?: \d{1,20})?\s*$'
)
_LABEL = regex(r'(\w+)="((?:[^"\\]|\\.)*)"')
_PAUSE = regex(r"# (\d{1,6}(?:\.\d{1,6})?) s after the scrape before")
_SUCCESSORS = {
    "gpu_cache_usage_perc": "kv_cache_usage_perc",
    "gpu_prefix_cache_hits": "prefix_cache_hits",
    "gpu_prefix_cache_queries": "prefix_cache_queries",
    "time_per_output_token_seconds": "inter_token_latency_seconds",
    "time_in_queue_requests": "request_queue_time_seconds",
}
_PARTS = ("_bucket", "_count", "_sum", "_created", "_total")
_LONGEST = 4_000  # characters of a sample: the labels of cache_config_info are long

ENOUGH = 20  # requests from which a share or a percentile means something


class Sample(Value):
    labels: Mapping[str, str]
    value: float
    line: int
    text: str


class Scrape:
    """The samples of one scrape by the metric's present name without vllm: and _total."""

    def __init__(self, one: Text) -> None:
        self.place = one
        self.samples: dict[str, list[Sample]] = {}
        self.pause: float | None = None
        for line, row in rows(one.text, _LONGEST):
            match = _SAMPLE.match(row)
            if match:
                self._add(match[1], match[2] or "", match[3], line, row)
            elif row.startswith("# ") and (paused := _PAUSE.match(row)) is not None:
                self.pause = float(paused[1])

    def _add(self, name: str, labels: str, value: str, line: int, row: str) -> None:
        try:
            number = float(value)
        except ValueError:
            return
        if abs(number) < 1e18:  # neither NaN nor an infinity
            known = dict(_LABEL.findall(labels))
            self.samples.setdefault(_present(name), []).append(Sample(known, number, line, row))

    def total(self, name: str, **labels: str) -> float:
        """The sum over all samples with these labels; 0 where there is none."""
        found = (one for one in self.samples.get(name, ()) if labels.items() <= one.labels.items())
        return sum(one.value for one in found)

    def most(self, name: str) -> float | None:
        return max((one.value for one in self.samples.get(name, ())), default=None)

    def counters(self) -> dict[str, float]:
        """Everything that only grows while the engine works."""
        names = (
            "generation_tokens",
            "prompt_tokens",
            "iteration_tokens_total_count",
            "request_success",
            "num_preemptions",
        )
        return {name: self.total(name) for name in names if name in self.samples}

    def identity(self) -> object:
        """What all scrapes of one server share and two servers do not; None where nothing tells."""
        begun = self.most("process_start_time_seconds")
        created = [
            one.value for name, samples in self.samples.items() if name.endswith("_created") for one in samples[:1]
        ]
        return begun if begun is not None else min(created, default=None)


def _present(name: str) -> str:
    """The present name of a metric. The parts of a histogram keep their endings, a counter loses its _total."""
    name = name[5:] if name.startswith("vllm") else name
    ending = next((part for part in _PARTS if name.endswith(part)), "")
    stem = name[: len(name) - len(ending)]
    if ending == "_total" and stem == "iteration_tokens":
        return name
    return _SUCCESSORS.get(stem, stem) + ("" if ending == "_total" else ending)


class Window:
    """What happened to one server: since its start, or between the first and the last of its scrapes."""

    def __init__(self, scrapes: Sequence[Scrape]) -> None:
        self.now, self.before = scrapes[-1], scrapes[0] if len(scrapes) > 1 else None
        self.scrapes = scrapes
        self.seconds = sum(one.pause or 0.0 for one in scrapes[1:])

    def grown(self, name: str, **labels: str) -> float:
        """How much a counter has grown."""
        return max(0.0, self.now.total(name, **labels) - (self.before.total(name, **labels) if self.before else 0.0))

    def count(self, histogram: str) -> float:
        return self.grown(f"{histogram}_count")

    def mean(self, histogram: str) -> float | None:
        count = self.count(histogram)
        return self.grown(f"{histogram}_sum") / count if count >= ENOUGH else None

    def percentile(self, histogram: str, share: float) -> float | None:
        """The value that `share` of the observations stay below, straight between the bounds of its bucket."""
        count = self.count(histogram)
        if count < ENOUGH:
            return None
        below, lower = 0.0, 0.0
        for bound, grown in self._buckets(f"{histogram}_bucket"):
            if grown >= share * count:
                return bound if grown == below else lower + (bound - lower) * (share * count - below) / (grown - below)
            below, lower = grown, bound
        return lower or None

    def _buckets(self, name: str) -> list[tuple[float, float]]:
        bounds = {one.labels.get("le", "") for one in self.now.samples.get(name, ())}
        known = {float(bound): bound for bound in bounds if bound.replace(".", "", 1).isdigit() and len(bound) < 20}
        return [(number, self.grown(name, le=known[number])) for number in sorted(known)]

    def requests(self) -> float:
        return max(
            self.grown("request_success"),
            self.count("time_to_first_token_seconds"),
            self.count("e2e_request_latency_seconds"),
        )

    def line(self, name: str) -> Sample:
        """The sample that evidence quotes: the largest of that name."""
        found = [one for part in (name, f"{name}_count", f"{name}_sum") for one in self.now.samples.get(part, ())]
        return max(found, key=lambda one: one.value, default=Sample({}, 0.0, 1, name))


def by_server(scrapes: Sequence[Scrape]) -> list[list[Scrape]]:
    """The scrapes by server, each in the order of its counters."""
    groups: list[list[Scrape]] = []
    for scrape in scrapes:
        group = next((group for group in groups if _is_same(group[-1], scrape)), None)
        if group is None:
            groups.append([scrape])
        else:
            group.append(scrape)
    for group in groups:
        group.sort(key=lambda one: sum(one.counters().values()))
    return groups


def _is_same(one: Scrape, other: Scrape) -> bool:
    first, second = one.identity(), other.identity()
    if first is not None and second is not None:
        return first == second
    if first is not second or not one.counters():
        return False
    before, after = one.counters(), other.counters()
    return before.keys() == after.keys() and (
        all(before[n] <= after[n] for n in before) or all(before[n] >= after[n] for n in before)
    )
