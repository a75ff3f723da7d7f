"""A log -> what it says: the signs of the knowledge base in it, how far the server came, its version and statistics.

One pass over pieces of whole lines. A pattern is tried only on lines that hold one of its literals.
"""

from __future__ import annotations


from engine.lazy import regex
from engine.model import Value
from engine.observe import lines, pattern
from engine.observe.statistics import Statistics

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

MOST_OF_ONE_SIGN = 40  # matches of one sign in one piece that are looked at; later ones only count as seen
MOST_MILESTONES = 10_000  # changes of stage that are kept, so that no log fills the memory; the last one always is
LONGEST_SHOWN = 300  # characters of a line that evidence quotes

_EXCEPTION = regex(r"(?:[\w.]{1,80}\.)?[A-Z]\w{0,60}(?:Error|Exception)(?::|$)|(?:fatal|FATAL)\b|Segmentation fault|Fatal Python error")
_VERSION = regex(r"(?:LLM engine \(v|vLLM API server version |█\s{1,4}version )(\d+\.\d+[\w.+-]*)")
_ARGUMENTS = regex(r"'(\w+)': ('(?:[^'\\]|\\.)*'|\[[^\]]*\]|\{[^}]*\}|[^,}\s]+)")
_LOGGER = regex(r"\b(?:INFO|WARNING|ERROR) \d\d-\d\d \d\d:\d\d:\d\d \[?\w{1,60}\.py:\d+\]|\((?:EngineCore|APIServer|VllmWorker)")
_WORD = regex(r"[a-z0-9_]+")
_STATUS = regex(r'HTTP/[\d.]+" (\d{3})')


class Hit(Value):
    """One sign in one line."""

    sign: str
    line: int
    text: str
    level: str
    process: str
    captures: Mapping[str, str]
    role: str


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

    def stage_at(self, line: int) -> str:
        """The stage that the last milestone up to `line` announced; "" before the first."""
        return next((stage for number, stage in reversed(self.milestones) if number <= line), "")


def read(blocks: Iterable[bytes], signs: Mapping[str, Any]) -> Reading:
    """The reading of a log of any size. `signs` is the section of that name of the compiled knowledge."""
    reader = _Reader(signs)
    count = 0
    for piece in lines.pieces(blocks):
        reader.feed(piece)
        count = piece.first + piece.text.count("\n") - piece.text.endswith("\n")
    return reader.finish(count)


class _Reader:
    def __init__(self, signs: Mapping[str, Any]) -> None:
        self.signs, self.literals = signs["signs"], signs["literals"]
        self.words, self.wordless = signs["words"], signs["wordless"]
        self.hits: dict[str, Hit] = {}
        self.milestones: list[tuple[int, str]] = []
        self.statistics = Statistics()
        self.version: tuple[str, int] | None = None
        self.arguments: tuple[Mapping[str, str], int] | None = None
        self.exceptions: dict[str, int] = {}
        self.statuses: dict[str, int] = {}
        self.is_vllm = False

    def feed(self, piece: lines.Piece) -> None:
        text = piece.text
        folded = text.lower()
        if len(folded) != len(text):  # a few letters change length; plain ASCII folding keeps positions valid
            folded = "".join(c.lower() if c.isascii() else c for c in text)
        self.is_vllm = self.is_vllm or "vllm" in folded or _LOGGER.search(text) is not None
        candidates: dict[int, set[int]] = {}
        for literal in self._possible(folded):
            at = folded.find(literal)
            if at >= 0:
                _collect(folded, literal, at, self.literals[literal], candidates)
        if len(self.exceptions) < MOST_OF_ONE_SIGN:
            for special in ("fatal", "segmentation fault"):
                _collect(folded, special, folded.find(special), (), candidates)
            for ending in ("error", "exception"):
                _collect_names(folded, ending, candidates)
        self._judge(text, piece.first, candidates)
        self._extras(text, folded, piece.first)

    def _possible(self, folded: str) -> Iterator[str]:
        """The literals that the words of the text allow: a fraction of all."""
        yield from self.wordless
        for word in self.words.keys() & set(_WORD.findall(folded)):
            yield from self.words[word]

    def _judge(self, text: str, first: int, candidates: Mapping[int, set[int]]) -> None:
        matched = [0] * len(self.signs)
        number, counted = first, 0
        for start in sorted(candidates):
            number += text.count("\n", counted, start)
            counted = start
            numbers = self._telling(sorted(candidates[start]), matched)
            if not numbers and candidates[start]:
                continue
            end = text.find("\n", start, start + 2 * lines.WINDOW)
            line = text[start : end if end >= 0 else start + 2 * lines.WINDOW]
            for n in self._match(line, number, numbers, len(numbers) == len(candidates[start])):
                matched[n] += 1

    def _telling(self, numbers: Sequence[int], matched: Sequence[int]) -> list[int]:
        """The signs whose match in one more line can say something new, with the noise that would silence them."""
        found = [n for n in numbers if self._tells_more(n, matched[n])]
        return [n for n in numbers if n in found or self.signs[n][2] == "noise"] if found else []

    def _tells_more(self, n: int, matches: int) -> bool:
        _sign, _pattern, role, stage = self.signs[n]
        if role == "milestone":
            return not self.milestones or self.milestones[-1][1] != stage
        return matches < MOST_OF_ONE_SIGN

    def _match(self, line: str, number: int, numbers: list[int], all_tried: bool) -> list[int]:
        """Notes the signs of one line, and its exception when no sign explains it. Noise silences the rest."""
        found = [(n, captures) for n in numbers if (captures := pattern.search(self.signs[n][1], line)) is not None]
        noisy = [pair for pair in found if self.signs[pair[0]][2] == "noise"]
        said = lines.message(line)
        for n, captures in noisy or found:
            self._note(n, captures, number, said)
        if not found and all_tried and len(self.exceptions) < MOST_OF_ONE_SIGN and _EXCEPTION.match(said.text):
            self.exceptions.setdefault(said.text[:LONGEST_SHOWN], number)
        return [n for n, _captures in noisy or found]

    def _note(self, n: int, captures: Mapping[str, str], number: int, said: lines.Message) -> None:
        sign, _pattern, role, stage = self.signs[n]
        if role == "milestone":
            if not self.milestones or self.milestones[-1][1] != stage:
                self.milestones[MOST_MILESTONES:] = [(number, stage)]
            return
        if sign not in self.hits:
            self.hits[sign] = Hit(sign, number, said.text[:LONGEST_SHOWN], said.level, said.process, captures, role)

    def _extras(self, text: str, folded: str, first: int) -> None:
        self.statistics.feed(text, folded, first)
        if self.version is None:
            match = _VERSION.search(text)
            if match and ("vllm" in folded or "llm engine" in folded):
                self.version = (match.group(1), first + text.count("\n", 0, match.start()))
        if self.arguments is None:
            at = text.find("non-default args: {")
            if at >= 0:
                end = text.find("\n", at)
                stated = text[at : end if 0 <= end < at + 20_000 else at + 20_000]
                self.arguments = ({k: v.strip("'\"") for k, v in _ARGUMENTS.findall(stated)}, first + text.count("\n", 0, at))
        if " HTTP/" in text:
            self._count_statuses(text, first)

    def _count_statuses(self, text: str, first: int) -> None:
        for match in _STATUS.finditer(text):
            if match.group(1) not in self.statuses:
                line = first + text.count("\n", 0, match.start()) if len(self.statuses) < 20 else first
                self.statuses[match.group(1)] = line

    def finish(self, count: int) -> Reading:
        hits = sorted(self.hits.values(), key=lambda hit: (hit.line, hit.sign))
        return Reading(
            tuple(hits), tuple(self.milestones), self.statistics, self.version, self.arguments,
            tuple(sorted((line, text) for text, line in self.exceptions.items())),
            tuple(sorted((line, status) for status, line in self.statuses.items())), self.is_vllm, count,
        )  # fmt: skip


def _collect(folded: str, literal: str, at: int, numbers: Iterable[int], candidates: dict[int, set[int]]) -> None:
    """Marks the lines that hold `literal`, from its first place `at` on."""
    while at >= 0:
        start, end = lines.around(folded, at)
        candidates.setdefault(start, set()).update(numbers)
        at = folded.find(literal, max(end, at + 1))


def _collect_names(folded: str, ending: str, candidates: dict[int, set[int]]) -> None:
    """Marks the lines that hold the name of an exception; "500 Internal Server Error" is none."""
    at = folded.find(ending)
    while at >= 0:
        end = at + len(ending)
        if folded[at - 1 : at].strip(" \t\n:.([\"'") and folded[end : end + 1] in ": \t\r\n":
            start, end = lines.around(folded, at)
            candidates.setdefault(start, set())
        at = folded.find(ending, end)
