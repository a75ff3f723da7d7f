"""A log -> what it says: the signs of the knowledge base in it, how far the server came, its version and statistics.

One pass over pieces of whole lines. A pattern is tried only on lines that hold one of its literals; `scan` and `hyper`
find those, and the rest of a large log is never looked at line by line.
"""

from __future__ import annotations

from engine.lazy import regex
from engine.model import Value
from engine.observe import lines, pattern, progress, scan, trace
from engine.observe.statistics import Statistics

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

MOST_UNEXPLAINED = 40  # different exceptions without a sign that are kept
MOST_WINDOWS = 100  # places of one line at which signs are looked for: a line need have no end
MOST_MATCHES = 10_000  # matches that are kept; later ones only count
MOST_COUNTED = 100_000  # matches of one sign from which a flood of it is no longer counted line by line
MOST_MILESTONES = progress.MOST
FAILING = ("root", "failure", "aftermath")  # roles of which it matters when and where they first came
LONGEST_READ = 1_000  # bytes of a line in which its message is told from what loggers put before it
LONGEST_SHOWN = 300  # characters of a line that evidence quotes

_EXCEPTION = regex(
    r"(?:[\w.]{1,80}\.)?[A-Z]\w{0,60}(?:Error|Exception)(?::|$)|(?:fatal|FATAL)\b|Segmentation fault|Fatal Python error"
)
_RAISED = regex(r"[\w.]{0,120}[A-Z]\w{0,80}(?::|$)")
_VERSION = regex(rb"(?:LLM engine \(v|vLLM API server version |\xe2\x96\x88\s{1,4}version )(\d+\.\d+[\w.+-]*)")
_ARGUMENTS = regex(r"'(\w+)': ('(?:[^'\\]|\\.)*'|\[[^\]]*\]|\{[^}]*\}|[^,}\s]+)")
_LOGGER = regex(
    rb"\b(?:INFO|WARNING|ERROR) \d\d-\d\d \d\d:\d\d:\d\d \[?\w{1,60}\.py:\d+\]|\((?:EngineCore|APIServer|VllmWorker)"
)
_STATUS = regex(rb'HTTP/[\d.]{1,9}" (\d{3})')
_DIGITS = regex(r"\d+")


class Hit(Value):
    """One sign in one line: the first of its matches. `said` is who wrote the line."""

    sign: str
    line: int
    text: str
    level: str
    process: str
    captures: Mapping[str, str]
    role: str
    pid: str = ""
    node: str = ""
    time: str = ""  # as the logger wrote it, so that logs of several nodes can be compared
    began: int = 0  # first line of the traceback that the line ends
    frame: str = ""  # the last frame of that traceback


class Unexplained(Value):
    """An exception that no sign knows, where it first came."""

    line: int
    text: str
    process: str
    count: int
    level: str = ""
    pid: str = ""
    node: str = ""
    time: str = ""
    began: int = 0
    frame: str = ""


class Reading(Value):
    """All that one log said. `hits` has the first match of each sign, in order of lines."""

    hits: tuple[Hit, ...]
    milestones: tuple[tuple[int, str], ...]
    statistics: Statistics
    version: tuple[str, int] | None
    arguments: tuple[Mapping[str, str], int] | None
    exceptions: tuple[tuple[int, str], ...]  # lines that end a traceback and that no sign knows
    statuses: tuple[tuple[int, str], ...]  # first line of each HTTP status
    is_vllm: bool
    lines: int
    counts: Mapping[str, int] = {}  # lines that each sign matched; of a flood at least so many
    matches: tuple[tuple[int, str, str], ...] = ()  # line, sign and process of every match, the first MOST_MATCHES
    unexplained: tuple[Unexplained, ...] = ()  # the same as `exceptions`, with who raised them and how often
    times: Mapping[str, str] = {}  # when each stage was first announced
    latest: Mapping[str, int] = {}  # last line of each sign and of each unexplained exception
    blank: bool = False  # nothing but white space

    def stage_at(self, line: int) -> str:
        """The stage that the last milestone up to `line` announced; "" before the first."""
        return next((stage for number, stage in reversed(self.milestones) if number <= line), "")


def read(blocks: Iterable[bytes], signs: Mapping[str, Any]) -> Reading:
    """The reading of a log of any size. `signs` is the section of that name of the compiled knowledge."""
    reader = _Reader(signs)
    for data in lines.chunks(blocks):
        reader.feed(data)
    return reader.finish()


class _Line:
    """One line of a piece; what is seldom wanted of it is looked up when it is."""

    def __init__(self, data: bytes, start: int, numbers: lines.Numbers) -> None:
        self._data, self._start, self._numbers = data, start, numbers
        self.content = lines.line_from(data, start)
        self.number = numbers.at(start)

    def said(self) -> lines.Message:
        return lines.message(self.content[:LONGEST_READ].decode("utf-8", "replace"))

    def time(self) -> str:
        return trace.time_of(self._data, self._start, self.content)

    def traceback(self) -> tuple[int, str]:
        if not _RAISED.match(self.said().text):
            return 0, ""
        return trace.traceback(self._data, self._start, self.said().process, self._numbers)


class _Reader:
    def __init__(self, signs: Mapping[str, Any], scanner: scan.Scanner | None = None) -> None:
        self.literals = scan.Literals(signs)
        self.signs = signs["signs"]
        self.scan = scanner or scan.by_words(self.literals)
        self.may_change = scanner is None
        self.next_line = 1
        self.ended = True  # whether the last piece ended with the end of a line
        self.says_something = False  # a log of blank lines is an empty one
        self.hits: dict[str, Hit] = {}
        self.counts: dict[int, int] = {}
        self.latest: dict[int, int] = {}  # the line of the last match of each sign
        self.matches: list[tuple[int, str, str]] = []
        self.progress = progress.Progress(self.literals)
        self.statistics = Statistics()
        self.version: tuple[str, int] | None = None
        self.arguments: tuple[Mapping[str, str], int] | None = None
        self.unexplained: dict[str, Unexplained] = {}
        self.repeated: dict[str, int] = {}
        self.tried = 0, 0  # the line last looked at, and at how many places
        self.statuses: dict[str, int] = {}
        self.is_vllm = False

    def feed(self, data: bytes) -> None:
        if self.may_change and len(data) > scan.SHORT:
            self._change_scanner()
        numbers = lines.Numbers(data, self.next_line)
        found = self.scan(data)
        self._judge(data, found, numbers)
        self._extras(data, found.present, numbers)
        self.progress.feed(data, found, numbers)
        self.next_line = numbers.at(len(data))
        self.ended = data.endswith(b"\n")
        self.says_something = self.says_something or bool(data.strip())

    def _change_scanner(self) -> None:
        from engine.observe import hyper  # noqa: PLC0415 - for large logs

        self.scan = hyper.scanner(self.literals, self.scan) or self.scan
        self.may_change = False

    # -- signs

    def _judge(self, data: bytes, found: scan.Found, numbers: lines.Numbers) -> None:
        for start in sorted(found.lines.keys() | found.names):
            line = _Line(data, start, numbers)
            self.tried = line.number, self.tried[1] + 1 if line.number == self.tried[0] else 1
            if self.tried[1] > MOST_WINDOWS:
                continue
            if not self._match(line, sorted(found.lines.get(start, ()))) and start in found.names:
                self._note_exception(line)

    def _match(self, line: _Line, possible: Sequence[int]) -> bool:
        """Notes the signs of one line; whether there is any. Noise silences the rest."""
        matched = []
        for n in possible:
            captures = pattern.search(self.signs[n][1], line.content) if self._is_open(n, line.number) else None
            if captures is not None:
                matched.append((n, captures))
        if not matched:
            return any(self.latest.get(n) == line.number or self._floods(n) for n in possible)
        noisy = [pair for pair in matched if self.signs[pair[0]][2] == "noise"]
        for n, captures in noisy or matched:
            self._note(n, captures, line)
        return True

    def _is_open(self, n: int, number: int) -> bool:
        """Whether the sign can still say something new: not twice in one line, and not in a flood of it."""
        return self.latest.get(n) != number and (not self._floods(n) or self.signs[n][2] == "noise")

    def _floods(self, n: int) -> bool:
        return self.counts.get(n, 0) >= MOST_COUNTED

    def _note(self, n: int, captures: Mapping[str, str], line: _Line) -> None:
        sign, _pattern, role, _stage = self.signs[n]
        self.latest[n] = line.number
        self.counts[n] = self.counts.get(n, 0) + 1
        if len(self.matches) < MOST_MATCHES:
            self.matches.append((line.number, sign, line.said().process))
        if sign not in self.hits:
            said = line.said()
            began, frame = line.traceback() if role in FAILING else (0, "")
            self.hits[sign] = Hit(
                sign, line.number, said.text[:LONGEST_SHOWN], said.level, said.process, captures, role,
                said.pid, said.node, line.time() if role in FAILING else "", began, frame,
            )  # fmt: skip

    def _note_exception(self, line: _Line) -> None:
        said = line.said()
        if not _EXCEPTION.match(said.text):
            return
        text = said.text[:LONGEST_SHOWN]
        key = _DIGITS.sub("0", text)
        known = self.unexplained.get(key)
        if known is not None:
            self.unexplained[key] = known.but(count=known.count + 1)
            self.repeated[known.text] = line.number
        elif len(self.unexplained) < MOST_UNEXPLAINED:
            began, frame = line.traceback()
            self.unexplained[key] = Unexplained(
                line.number, text, said.process, 1, said.level, said.pid, said.node, line.time(), began, frame
            )

    # -- the rest

    def _extras(self, data: bytes, present: set[str], numbers: lines.Numbers) -> None:
        self.is_vllm = self.is_vllm or "vllm" in present or _LOGGER.search(data) is not None
        if "avg generation throughput: " in present:
            self.statistics.feed(data, numbers)
        if self.version is None and not present.isdisjoint(_BANNERS):
            match = _VERSION.search(data)
            if match and ("vllm" in present or "llm engine (v" in present):
                self.version = (match[1].decode(), numbers.at(match.start()))
        if self.arguments is None and "non-default args: {" in present:
            self._read_arguments(data, numbers)
        if scan.OTHERWISE in present or (scan.ANSWERED in present and "200" not in self.statuses):
            for status in set(_STATUS.findall(data)):
                if status.decode() not in self.statuses:
                    first = next(match.start() for match in _STATUS.finditer(data) if match[1] == status)
                    self.statuses[status.decode()] = numbers.at(first)

    def _read_arguments(self, data: bytes, numbers: lines.Numbers) -> None:
        at = data.find(b"non-default args: {")
        if at >= 0:
            end = data.find(b"\n", at)
            stated = data[at : end if 0 <= end < at + 20_000 else at + 20_000].decode("utf-8", "replace")
            self.arguments = ({k: v.strip("'\"") for k, v in _ARGUMENTS.findall(stated)}, numbers.at(at))

    def finish(self) -> Reading:
        hits = sorted(self.hits.values(), key=lambda hit: (hit.line, hit.sign))
        unexplained = tuple(sorted(self.unexplained.values(), key=lambda one: one.line))
        return Reading(
            tuple(hits), tuple(self.progress.changes), self.statistics, self.version, self.arguments,
            tuple((one.line, one.text) for one in unexplained),
            tuple(sorted((line, status) for status, line in self.statuses.items())), self.is_vllm,
            self.next_line - self.ended, {self.signs[n][0]: count for n, count in self.counts.items()},
            tuple(self.matches), unexplained, self.progress.times,
            {**{self.signs[n][0]: line for n, line in self.latest.items()}, **self.repeated},
            not self.says_something,
        )  # fmt: skip


_BANNERS = frozenset({"llm engine (v", "vllm api server version ", "█"})
