"""An answer on a terminal: calm, wrapped by cells, commands whole.

Off a terminal nothing is wrapped, so that `grep` and copying see whole sentences; colour is only ever added on one.
"""

from __future__ import annotations

from interfaces.render.escape import visible
from interfaces.render.layout import cells, wrap
from interfaces.render.outline import outline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engine.knowledge.store import Knowledge
    from interfaces.render.outline import Block, Object, Part

NARROWEST, WIDEST = 20, 100  # cells; longer lines are hard to read
_COLOURS = {"title": "1", "heading": "1;36", "strong": "1", "faint": "2", "value": "36", "code": "32"}


def text(document: Object, knowledge: Knowledge, width: int | None = None, colour: bool = False) -> str:
    """The answer as lines of at most `width` cells; None leaves every paragraph on one line. A line is longer only
    where a command or a word is."""
    return layout(outline(document, knowledge), width, colour)


def layout(blocks: Iterable[Block], width: int | None = None, colour: bool = False) -> str:
    """Any blocks in the same look."""
    page = _Page(None if width is None else min(max(width, NARROWEST), WIDEST), colour)
    for block in blocks:
        page.add(*block)
    return "\n".join(page.lines) + "\n"


class _Page:
    def __init__(self, width: int | None, colour: bool) -> None:
        self.width = width
        self.colour = colour
        self.lines: list[str] = []

    def add(self, kind: str, depth: int, marker: str, parts: Sequence[Part]) -> None:
        if kind == "code":
            return self.code(depth, parts[0][1])
        if kind == "heading" and self.lines:
            self.lines.append("")
        start = "  " * depth + (f"{marker} " if marker else "")
        return self.flow(kind, start, [(style, visible(words)) for style, words in parts])

    def code(self, depth: int, command: str) -> None:
        """A command keeps its own lines and none are added."""
        indent = "  " * (depth + 1)
        self.lines += [indent + self.paint("code", visible(line)) for line in command.split("\n")]

    def flow(self, kind: str, start: str, parts: Sequence[Part]) -> None:
        plain = "".join(words for _style, words in parts)
        if self.width is None:
            lines = [(0, len(plain))]
        else:
            # The spaces inside a name or setting are no place to break.
            shape = "".join(words.replace(" ", "\u00a0") if style == "value" else words for style, words in parts)
            lines = wrap(shape, self.width, cells(start), cells(start))
        for number, (left, right) in enumerate(lines):
            self.lines.append((" " * len(start) if number else start) + self.painted(kind, parts, left, right))

    def painted(self, kind: str, parts: Sequence[Part], left: int, right: int) -> str:
        """The characters from `left` to `right`, each in the colour of its part."""
        out, end = [], 0
        for style, words in parts:
            begin, end = end, end + len(words)
            piece = words[max(left - begin, 0) : max(right - begin, 0)]
            if piece:
                out.append(self.paint(style or kind, piece))
        return "".join(out)

    def paint(self, style: str, words: str) -> str:
        code = _COLOURS.get(style) if self.colour else None
        return f"\x1b[{code}m{words}\x1b[0m" if code else words
