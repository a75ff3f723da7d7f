"""The ten-second statistics line of vLLM as one series: last values, extremes, and how long nothing came out.

A busy server writes as many of them as it writes lines about requests, so that they are read in columns: what all lines
of a piece share is looked at once, and only their numbers one by one.
"""

from __future__ import annotations

from engine.lazy import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.observe.lines import Numbers

    # generation, running, waiting, usage of the KV cache
    Columns = tuple[list[float], list[int], list[int], list[float | None]]

MARK = b"Avg generation throughput: "
_REST = regex(
    rb"(\d{1,9}(?:\.\d{1,9})?) tokens/s, Running: (\d{1,9}) reqs?,"
    rb"(?: Swapped: \d{1,9} reqs?,)? (?:Pending|Waiting): (\d{1,9}) reqs?"
    rb"(?:[^%\n]{0,80}KV cache usage: (\d{1,9}(?:\.\d{1,9})?)%)?"
)
# the rest of a line up to its first %, without digits and points
_SHAPE = b" tokens/s, Running:  reqs, Waiting:  reqs, GPU KV cache usage: "
_DIGITS = b"0123456789."
_BLANKS = bytes(c if c in _DIGITS else 32 for c in range(256))  # for bytes.translate: all but numbers becomes blank
LONGEST = 600  # characters of one line that are looked at
FULL, FREE = (
    95.0,
    60.0,
)  # per cent of the KV cache: above, a request cannot start; below, blocks are not what it waits for


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

    def feed(self, data: bytes, numbers: Numbers) -> None:
        """Adds the statistics lines of a piece."""
        rests = data.split(MARK)
        columns = _columns(rests)
        if columns is None:
            rows, found = _rows(rests)
        else:
            rows, found = columns, None
        if rows[0]:
            self._add(rows, _Places(data, rests, found, numbers))

    def _add(self, columns: Columns, places: _Places) -> None:
        generation, running, waiting, usage = columns
        self.first_line = self.first_line or places.number(0)
        self._note_busiest(running, waiting, places)
        self._note_stalls(generation, running, places)
        self._note_queues(waiting, usage, places)
        self.lines += len(generation)
        self.running, self.waiting, self.generation, self.kv_usage = running[-1], waiting[-1], generation[-1], usage[-1]
        self.running_max, self.waiting_max = max(self.running_max, *running), max(self.waiting_max, *waiting)
        self.generation_max = max(self.generation_max, *generation)
        known = [one for one in usage if one is not None] if None in usage else usage
        if known:
            self.kv_usage_max = max(self.kv_usage_max or 0.0, *known)

    def _note_busiest(self, running: Sequence[int], waiting: Sequence[int], places: _Places) -> None:
        """The evidence is the last line with the longest queue; where there never is one, that with most running."""
        longest = max(waiting)
        if longest > 0:
            index = _last(waiting, longest) if longest >= self.waiting_max else None
        else:
            most = max(running)
            index = (
                _last(running, most) if not self.waiting_max and (most >= self.running_max or not self.text) else None
            )
        if index is not None:
            self.last_line, self.text = places.number(index), places.text(index)

    def _note_stalls(self, generation: Sequence[float], running: Sequence[int], places: _Places) -> None:
        if 0.0 not in generation:
            self.stalled = 0
            return
        latest = 0
        for index, (tokens, requests) in enumerate(zip(generation, running, strict=True)):
            self.stalled = self.stalled + 1 if requests > 0 and tokens == 0.0 else 0
            if self.stalled > self.stalled_most:
                self.stalled_most, self.stalled_line = self.stalled, 0
                latest = index
        if not self.stalled_line and self.stalled_most:
            self.stalled_line = places.number(latest)

    def _note_queues(self, waiting: Sequence[int], usage: Sequence[float | None], places: _Places) -> None:
        if self.queue_with_full_kv and self.queue_with_free_kv:
            return
        for index, (requests, share) in enumerate(zip(waiting, usage, strict=True)):
            if requests and share is not None:
                if share >= FULL and not self.queue_with_full_kv:
                    self.queue_with_full_kv = places.number(index)
                elif share < FREE and not self.queue_with_free_kv:
                    self.queue_with_free_kv = places.number(index)

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


class _Places:
    """Where the lines of a piece stand. `found` are the parts between marks that are statistics, None when all are."""

    def __init__(self, data: bytes, rests: Sequence[bytes], found: Sequence[int] | None, numbers: Numbers) -> None:
        self._data, self._rests, self._found, self._numbers = data, rests, found, numbers

    def _place(self, index: int) -> int:
        part = index + 1 if self._found is None else self._found[index]
        return sum(map(len, self._rests[:part])) + len(MARK) * part

    def number(self, index: int) -> int:
        return self._numbers.at(self._place(index))

    def text(self, index: int) -> str:
        """The line, as far as evidence quotes it."""
        at = self._place(index)
        start = max(self._data.rfind(b"\n", max(0, at - 230), at) + 1, at - 230, 0)
        end = self._data.find(b"\n", at, at + LONGEST)
        return self._data[start : end if end >= 0 else at + LONGEST].decode("utf-8", "replace")[-300:]


def _columns(rests: Sequence[bytes]) -> Columns | None:
    """The columns where all lines have today's form; None where a line has another."""
    joined = b"\n".join([rest.partition(b"%")[0] for rest in rests[1:]])
    if not joined or set(joined.translate(None, _DIGITS).split(b"\n")) != {_SHAPE}:
        return None
    words = joined.translate(_BLANKS).split()
    if len(words) != 4 * (len(rests) - 1) or max(map(len, words)) > 9:
        return None
    try:
        return (
            list(map(float, words[::4])),
            list(map(int, words[1::4])),
            list(map(int, words[2::4])),
            list(map(float, words[3::4])),
        )
    except ValueError:
        return None


def _rows(rests: Sequence[bytes]) -> tuple[Columns, list[int]]:
    """The columns of lines of any form, and which parts they come from."""
    generation, running, waiting, usage = columns = _none()
    found = []
    for part, rest in enumerate(rests):
        match = _REST.match(rest, 0, LONGEST) if part else None
        if match:
            tokens, runs, waits, share = match.groups()
            generation.append(float(tokens))
            running.append(int(runs))
            waiting.append(int(waits))
            usage.append(None if share is None else float(share))
            found.append(part)
    return columns, found


def _none() -> Columns:
    return [], [], [], []


def _last(values: Sequence[int], wanted: int) -> int:
    return len(values) - 1 - list(reversed(values)).index(wanted)
