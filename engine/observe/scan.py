"""Which lines of a log may hold a sign: the lines that hold one of its literals. Two ways with the same result.

A short text is searched for the literals that its own words allow, which needs nothing loaded. A large one is left to
Hyperscan. Both work on bytes and ignore the case of ASCII letters only, so that places stay valid and the ways agree.
"""

from __future__ import annotations

from engine.observe.lines import around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    Scanner = Callable[[bytes], "Found"]

SHORT = 65_536  # bytes up to which loading Hyperscan takes longer than searching without it
# What the reader wants to know of besides signs. All in lower case.
MARKS = (
    "vllm", "llm engine (v", "vllm api server version ", "█", "non-default args: {", ' http/',
    "avg generation throughput: ",
)  # fmt: skip
# Requests that were answered with 200, and any others: only where there are others need the lines be read.
ANSWERED, OTHERWISE = "status 200", "other status"
NAMES = ("error", "exception")  # end the name of an exception when a letter stands before and one of AFTER behind
BEFORE, AFTER = " \t\n:.([\"'", ": \t\r\n"
FAILURES = ("fatal", "segmentation fault")


class Found:
    """What one piece of a log may hold: `lines` maps the start of a line to the numbers of its possible signs; `names`
    are starts of lines that may end a traceback; `present` are the marks and the literals of milestones that occur."""

    __slots__ = ("lines", "names", "present")

    def __init__(self) -> None:
        self.lines: dict[int, set[int]] = {}
        self.names: set[int] = set()
        self.present: set[str] = set()


class Literals:
    """The compiled section "signs", arranged for scanning: milestones apart from signs that count line by line."""

    def __init__(self, signs: Mapping[str, Any]) -> None:
        self.source = signs
        self.words: Mapping[str, tuple[str, ...]] = signs["words"]
        self.wordless: tuple[str, ...] = signs["wordless"]
        self.edges: Mapping[str, str] = signs["edges"]
        self.milestones = {n for n, row in enumerate(signs["signs"]) if row[2] == "milestone"}
        self._literals: Mapping[str, tuple[int, ...]] = signs["literals"]

    def numbers(self, literal: str) -> tuple[int, ...]:
        """The signs that a line with this literal may hold, without milestones."""
        return tuple(n for n in self._literals[literal] if n not in self.milestones)

    def tells_stage(self, literal: str) -> bool:
        return not self.milestones.isdisjoint(self._literals[literal])

    def all(self) -> Iterator[str]:
        return iter(self._literals)


def folded(data: bytes) -> str:
    """One character for each byte, ASCII letters in lower case: fast to search, and places are those of the bytes."""
    return data.lower().decode("latin-1")


def as_folded(literal: str) -> str:
    """A literal as it stands in a folded text."""
    return literal if literal.isascii() else literal.encode().decode("latin-1")


def by_words(literals: Literals) -> Scanner:
    """The scanner for short texts."""
    from re import compile as pattern  # noqa: PLC0415 - only for logs

    word = pattern("[a-z0-9_]+")

    def scan(data: bytes) -> Found:
        text = folded(data)
        found = Found()
        found.present.update(mark for mark in MARKS if as_folded(mark) in text)
        found.present.update((ANSWERED, OTHERWISE) if " http/" in found.present else ())
        words = set(word.findall(text))
        vocabulary, edges = " ".join(words), literals.edges
        for literal in literals.wordless:
            if edges.get(literal, "") in vocabulary:
                _search(text, literal, literals, found)
        for known in literals.words.keys() & words:
            for literal in literals.words[known]:
                if edges.get(literal, "") in vocabulary:
                    _search(text, literal, literals, found)
        for failure in FAILURES:
            _names(text, failure, found.names)
        for ending in NAMES:
            _names_ending(text, ending, found.names)
        return found

    return scan


def _search(text: str, literal: str, literals: Literals, found: Found) -> None:
    needle = as_folded(literal)
    at = text.find(needle)
    if at < 0:
        return
    if literals.tells_stage(literal):
        found.present.add(literal)
    numbers = literals.numbers(literal)
    while at >= 0 and numbers:
        start, end = around(text, at)
        found.lines.setdefault(start, set()).update(numbers)
        at = text.find(needle, max(end, at + 1))


def _names(text: str, failure: str, names: set[int]) -> None:
    at = text.find(failure)
    while at >= 0:
        start, end = around(text, at)
        names.add(start)
        at = text.find(failure, max(end, at + 1))


def _names_ending(text: str, ending: str, names: set[int]) -> None:
    """The lines that hold the name of an exception; "500 Internal Server Error" is none."""
    at = text.find(ending)
    while at >= 0:
        end = at + len(ending)
        if at and text[at - 1] not in BEFORE and text[end : end + 1] in AFTER:
            start, stop = around(text, at)
            names.add(start)
            end = max(stop, end)
        at = text.find(ending, end)
