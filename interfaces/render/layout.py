"""How wide text is on a terminal and where a line of it may end, for English and Chinese in one sentence.

A Chinese character fills two cells and allows a break on either side, except that closing punctuation never starts a
line and opening punctuation never ends one. Latin text breaks at spaces only: flags, paths and identifiers stay whole.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_NEVER_FIRST = frozenset("，。、；：！？）」』】》〉〕］｝”’…—·％℃,.;:!?)]}%\u3000")
_NEVER_LAST = frozenset("（「『【《〈〔［｛“‘([{$￥")


def cells(text: str) -> int:
    """The cells that `text` takes on a terminal: 2 for a wide character, 0 for one that combines with its neighbour."""
    if text.isascii():
        return len(text)
    return sum(map(_cells_of, text))


class _Cells(dict[str, int]):
    """Learns a character when it first appears; unicodedata is only loaded for one beyond Latin."""

    def __missing__(self, character: str) -> int:
        self[character] = 1 if character < "\u0300" else _measured(character)
        return self[character]


_CELLS = _Cells()
_cells_of = _CELLS.__getitem__


def _measured(character: str) -> int:
    from unicodedata import category, east_asian_width  # noqa: PLC0415 - an English answer does without it

    if category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def wrap(text: str, width: int, first: int = 0, rest: int = 0) -> list[tuple[int, int]]:
    """Where each line of `text` starts and ends so that it fits `width` cells, of which `first` are taken on the first
    line and `rest` on the others. A word that is longer than a line stays whole. Spaces at a break are in no line."""
    lines: list[tuple[int, int]] = []
    start = end = 0
    used = first
    for left, right in _units(text):
        gap = left - end  # the spaces before this unit
        needed = cells(text[left:right])
        if end > start and used + gap + needed > width:
            lines.append((start, end))
            start, used, gap = left, rest, 0
        elif end == start:
            start, gap = left, 0
        used += gap + needed
        end = right
    return [*lines, (start, end)]


def _units(text: str) -> Iterator[tuple[int, int]]:
    """The pieces that no line break may divide, as offsets; spaces are left out."""
    start = 0
    for position, character in enumerate(text):
        if character == " ":
            if start < position:
                yield start, position
            start = position + 1
        elif start < position and _may_break(text[position - 1], character):
            yield start, position
            start = position
    if start < len(text):
        yield start, len(text)


def _may_break(before: str, after: str) -> bool:
    if before < "\u1100" and after < "\u1100":  # nothing below is wide
        return False
    if before in _NEVER_LAST or after in _NEVER_FIRST:
        return False
    widths = _cells_of(before), _cells_of(after)
    return widths[1] > 0 and 2 in widths
