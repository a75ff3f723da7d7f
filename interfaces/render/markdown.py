"""An answer as Markdown, for tickets and chats: the blocks of the terminal, with headings, lists and fences.

All words are escaped, because values out of logs stand among them; what was seen stands in code spans. Neither can
become a link, an image, HTML or a heading of its own.
"""

from __future__ import annotations

from interfaces.render.escape import visible
from interfaces.render.outline import outline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.knowledge.store import Knowledge
    from interfaces.render.outline import Object, Part

_SYNTAX = str.maketrans({character: f"\\{character}" for character in "\\`*_[]<>&|~#!$"})
_STARTS = ("-", "+", "=")  # at the start of a text: a list, a rule, a heading


def markdown(document: Object, knowledge: Knowledge) -> str:
    """The answer in CommonMark, with one trailing newline."""
    pieces: list[str] = []
    before = ""
    for block in outline(document, knowledge):
        # Items of one list stand on lines of their own; everything else is a paragraph apart.
        pieces.append("\n" if before in ("item", "code") and block[0] in ("item", "code") else "\n\n" if before else "")
        pieces.append(_block(*block))
        before = block[0]
    return "".join(pieces) + "\n"


def _block(kind: str, depth: int, marker: str, parts: Sequence[Part]) -> str:
    if kind == "code":
        return _fence(depth, parts[0][1])
    words = _inline(parts)
    if kind == "item":
        return f"{'   ' * depth}{marker} {words}"
    return {"title": "## ", "heading": "### "}.get(kind, "") + words


def _inline(parts: Sequence[Part]) -> str:
    out: list[str] = []
    for style, words in parts:
        shown = visible(words)
        if style in ("quote", "value"):
            out.append(code_span(shown))
        elif style == "strong":
            out.append(f"**{escaped(shown, inside=True)}**")
        else:
            out.append(escaped(shown, inside=bool(out)))
    return "".join(out)


def escaped(words: str, inside: bool = False) -> str:
    """`words` without meaning for Markdown. `inside`: other words stand before them on the line."""
    out = words.translate(_SYNTAX).replace("://", ":\\/\\/")
    if inside:
        return out
    mark = out.lstrip().lstrip("0123456789")
    numbered = len(mark) < len(out.lstrip())
    if mark[:1] in ((".", ")") if numbered else _STARTS):
        return f"{out.removesuffix(mark)}\\{mark}"
    return out


def code_span(words: str) -> str:
    """`words` as a code span whose fence is longer than any run of back-ticks in them."""
    fence = "`" * (_longest_run(words) + 1)
    pad = " " if words[:1] in ("`", " ") or words[-1:] in ("`", " ") else ""
    return f"{fence}{pad}{words}{pad}{fence}" if words else ""


def _fence(depth: int, command: str) -> str:
    indent = "   " * depth
    fence = "`" * max(3, _longest_run(command) + 1)
    lines = [f"{fence}sh", *map(visible, command.split("\n")), fence]
    return "\n".join(indent + line for line in lines)


def _longest_run(words: str) -> int:
    longest = run = 0
    for character in words:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest
