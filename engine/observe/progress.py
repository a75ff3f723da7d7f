"""How far a server came: the milestones of its log, of which only a change of stage counts.

The ten-second line of a serving server is a milestone too. A piece whose milestones all belong to the stage that the
server is in anyway is not looked at further.
"""

from __future__ import annotations

from engine.observe import pattern
from engine.observe.lines import around, line_from
from engine.observe.scan import as_folded, folded
from engine.observe.trace import time_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from engine.observe.lines import Numbers
    from engine.observe.scan import Found, Literals

MOST = 10_000  # changes of stage that are kept, so that no log fills the memory; the last one always is


class Progress:
    """The changes of stage of one log, in order of lines."""

    def __init__(self, literals: Literals) -> None:
        self.changes: list[tuple[int, str]] = []
        self.times: dict[str, str] = {}  # when each stage was first announced
        self._rows: Any = literals.source["signs"]
        self._known: Mapping[str, tuple[int, ...]] = literals.source["literals"]
        self._signs = {n: (self._rows[n][1], str(self._rows[n][3])) for n in sorted(literals.milestones)}
        self._noise = {n: row[1] for n, row in enumerate(self._rows) if row[2] == "noise"}

    def feed(self, data: bytes, found: Found, numbers: Numbers) -> None:
        """Adds the milestones of a piece in which the scanner found what `found` says."""
        literals: dict[int, list[str]] = {}
        for literal in found.present:
            for n in self._known.get(literal, ()):
                if n in self._signs:
                    literals.setdefault(n, []).append(as_folded(literal))
        now = self.changes[-1][1] if self.changes else ""
        if any(self._signs[n][1] != now for n in literals):
            self._walk(data, literals, found, numbers)

    def _walk(self, data: bytes, literals: Mapping[int, list[str]], found: Found, numbers: Numbers) -> None:
        text = folded(data)
        at = 0
        places: dict[int, int] = {}  # the next line of each sign, where it is known
        while True:
            now = self.changes[-1][1] if self.changes else ""
            nearest: tuple[int, int] | None = None
            for n, known in literals.items():
                if self._signs[n][1] == now:
                    continue
                if places.get(n, -1) < at:
                    places[n] = self._next(data, text, n, known, at)
                if nearest is None or (places[n], n) < nearest:
                    nearest = places[n], n
            if nearest is None or nearest[0] >= len(text):
                return
            start, n = nearest
            line = line_from(data, start)
            if not self._is_noise(line, found.lines.get(start, ())):
                stage = self._signs[n][1]
                self.changes[MOST:] = [(numbers.at(start), stage)]
                if stage not in self.times and (time := time_of(data, start, line)):
                    self.times[stage] = time
            at = start + len(line) + 1

    def _next(self, data: bytes, text: str, n: int, known: list[str], at: int) -> int:
        """The start of the next line from `at` on that the sign matches; the length of the text where there is none."""
        expression = self._signs[n][0]
        places = {literal: text.find(literal, at) for literal in known}
        while places := {literal: place for literal, place in places.items() if place >= 0}:
            place = min(places.values())
            start, end = around(text, place)
            if pattern.search(expression, line_from(data, start)) is not None:
                return max(start, at)
            after = max(end, place + 1)
            places = {literal: text.find(literal, after) if one < after else one for literal, one in places.items()}
        return len(text)

    def _is_noise(self, line: bytes, possible: Iterable[int]) -> bool:
        """Whether the line is one of those that mean nothing whatever they quote."""
        return any(n in self._noise and pattern.search(self._noise[n], line) is not None for n in possible)
