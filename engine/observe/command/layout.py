"""Where YAML's nodes can be taken out of a text and where new ones can stand, in the layout that is there."""

from __future__ import annotations

from engine.observe.command.parts import Place
from engine.observe.command.pieces import Piece, double_quoted, plain, single_quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.knowledge.source import Node


def item_extent(text: str, sequence: Node, first: int, last: int) -> tuple[int, int] | None:
    """What goes with the items from `first` to `last`: their lines, or their commas."""
    items = sequence.items
    if sequence.style == "[":
        return _flow_extent([(one.start, one.end) for one in items], first, last)
    line = line_start(text, items[first].start)
    if text[line : items[first].start].strip() != "-":
        return None  # `- - x`, or `key: &a` before it: no line of its own
    return line, after_line(text, items[last].end)


def entry_extent(text: str, mapping: Node, key: Node) -> tuple[int, int] | None:
    """What goes with the entry of that key."""
    index = next((i for i, (one, _value) in enumerate(mapping.pairs) if one.start == key.start), None)
    if index is None:
        return None  # it came in by an alias
    value = mapping.pairs[index][1]
    if mapping.style == "{":
        return _flow_extent([(one.start, max(one.end, other.end)) for one, other in mapping.pairs], index, index)
    line = line_start(text, key.start)
    if text[line : key.start].strip():
        return None  # the first key behind a dash
    return line, after_line(text, max(key.end, value.end))


def _flow_extent(spans: Sequence[tuple[int, int]], first: int, last: int) -> tuple[int, int]:
    if last + 1 < len(spans):
        return spans[first][0], spans[last + 1][0]
    return (spans[first - 1][1] if first else spans[first][0]), spans[last][1]


def item_place(text: str, sequence: Node, quote: str, joined: bool = True) -> Place | None:
    """Where one more item can stand."""
    if not sequence.items:
        return Place(sequence.start + 1, quote, "", "", joined) if sequence.style == "[" else None
    last = sequence.items[-1]
    if sequence.style == "[":
        return _flow_place(text, last, sequence.end, quote, joined)
    line = line_start(text, last.start)
    if text[line : last.start].strip() != "-":
        return None
    return Place(line_end(text, last.end), quote, f"\n{text[line : last.start]}", "", joined)


def entry_place(text: str, mapping: Node, quote: str, spelling: str = "") -> Place | None:
    """Where one more entry can stand."""
    if not mapping.pairs:
        return Place(mapping.start + 1, quote, "", "", False, spelling) if mapping.style == "{" else None
    key, value = mapping.pairs[-1]
    last = value if value.end >= key.end else key
    if mapping.style == "{":
        return _flow_place(text, last, mapping.end, quote, False).but(spelling=spelling)  # type: ignore[no-any-return]
    line = line_start(text, key.start)
    indent = text[line : key.start]
    return Place(line_end(text, max(last.end, mapping.end)), quote, "\n" + " " * len(indent), "", False, spelling)


def _flow_place(text: str, last: Node, end: int, quote: str, joined: bool) -> Place:
    line = line_start(text, last.start)
    lead = f"\n{text[line : last.start]}" if not text[line : last.start].strip() else " "
    rest = text[last.end : end]
    if rest.lstrip().startswith(","):
        return Place(last.end + rest.index(",") + 1, quote, lead, "," if "\n" in lead else "", joined)
    return Place(last.end, quote, f",{lead}", "", joined)


def below(text: str, key: Node, value: Node, head: str, lead: str, quote: str) -> Place:
    """A new key after a one-line entry of the same mapping: `head` and, on the next line, `lead`."""
    indent = " " * (key.start - line_start(text, key.start))
    return Place(line_end(text, value.end), quote, f"\n{indent}{head}\n{indent}  {lead}", "", True)


def piece(text: str, node: Node) -> Piece:
    """The inside of a scalar."""
    if node.style == "'":
        return single_quoted(text, node.start + 1, node.end - 1)
    if node.style == '"':
        return double_quoted(text, node.start + 1, node.end - 1, "yaml-double")
    if node.style in ("|", ">"):
        line = text.find("\n", node.start, node.end)
        return plain(text, line + 1 if line >= 0 else node.end, node.end, "yaml-block")
    return plain(text, node.start, node.end, "yaml-plain")


def line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    end = end if end >= 0 else len(text)
    return end - 1 if end > at and text[end - 1] == "\r" else end


def after_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return end + 1 if end >= 0 else len(text)
