"""The ten-second statistics line of vLLM as one series: last values, extremes, and how long nothing came out."""

from __future__ import annotations

from engine.lazy import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

_LINE = regex(
    r"Avg generation throughput: (?P<generation>\d{1,9}(?:\.\d{1,9})?) tokens/s, Running: (?P<running>\d{1,9}) reqs?,"
    r"(?: Swapped: \d{1,9} reqs?,)? (?:Pending|Waiting): (?P<waiting>\d{1,9}) reqs?"
    r"(?:[^%\n]{0,80}KV cache usage: (?P<kv>\d{1,9}(?:\.\d{1,9})?)%)?"
)
LONGEST = 600  # characters of one line that are looked at
FULL, FREE = 95.0, 60.0  # per cent of the KV cache: above, a request cannot start; below, blocks are not what it waits for


class Statistics:
    """The series of one log: throughput in tokens/s, usage in per cent (None until a line named it)."""

    def __init__(self) -> None:
        self.lines = 0
        self.first_line = self.last_line = 0
        self.text = ""
        self.running = self.waiting = 0
        self.running_max = self.waiting_max = 0
        self.kv_usage: float | None = None
        self.kv_usage_max: float | None = None
        self.generation = self.generation_max = 0.0
        self.stalled = self.stalled_most = 0  # lines in a row with requests running and no token
        self.stalled_line = 0
        self.queue_with_free_kv = 0
        self.queue_with_full_kv = 0

    def feed(self, text: str, folded: str, first: int) -> None:
        """Adds the statistics lines of `text`, whose first line has the number `first`."""
        at, number, counted = folded.find("avg generation throughput"), first, 0
        while at >= 0:
            number += text.count("\n", counted, at)
            counted = at
            end = text.find("\n", at, at + LONGEST)
            end = min(len(text), at + LONGEST) if end < 0 else end
            match = _LINE.match(text, at, end)
            if match:
                self._add(match, number, text[max(text.rfind("\n", max(0, at - 200), at) + 1, at - 200, 0) : end])
            at = folded.find("avg generation throughput", max(end, at + 1))

    def _add(self, match: re.Match[str], number: int, line: str) -> None:
        self.lines += 1
        self.first_line = self.first_line or number
        self.running, self.waiting = int(match["running"]), int(match["waiting"])
        self.generation = float(match["generation"])
        self.kv_usage = float(match["kv"]) if match["kv"] else None
        busier = self.waiting >= self.waiting_max and self.waiting > 0
        if busier or not self.text or (not self.waiting_max and self.running >= self.running_max):
            self.last_line, self.text = number, line[-300:]
        self.running_max, self.waiting_max = max(self.running_max, self.running), max(self.waiting_max, self.waiting)
        if self.kv_usage is not None:
            self.kv_usage_max = max(self.kv_usage_max or 0.0, self.kv_usage)
        self.generation_max = max(self.generation_max, self.generation)
        self.stalled = self.stalled + 1 if self.running > 0 and self.generation == 0.0 else 0
        if self.stalled > self.stalled_most:
            self.stalled_most, self.stalled_line = self.stalled, number
        if self.waiting and self.kv_usage is not None:
            self.queue_with_full_kv = self.queue_with_full_kv or (number if self.kv_usage >= FULL else 0)
            self.queue_with_free_kv = self.queue_with_free_kv or (number if self.kv_usage < FREE else 0)

    def facts(self) -> Iterator[tuple[str, float | int | bool, int]]:
        """Name, value and line of each fact of the series."""
        if not self.lines:
            return
        where = self.last_line
        yield "stats.lines", self.lines, where
        for name in ("running", "running_max", "waiting", "waiting_max", "kv_usage", "kv_usage_max", "generation"):
            if getattr(self, name) is not None:
                yield f"stats.{name}", getattr(self, name), where
        yield "stats.stalled_lines", self.stalled_most, self.stalled_line or where
        if self.queue_with_full_kv:
            yield "stats.queue_with_full_kv", True, self.queue_with_full_kv
        elif self.queue_with_free_kv:
            yield "stats.queue_with_free_kv", True, self.queue_with_free_kv
        if not self.running_max and not self.waiting_max:
            yield "stats.idle", True, where
