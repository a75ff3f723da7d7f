"""Reads YAML so that every later complaint can name file and line, and so that hostile files stay harmless.

The only importer of PyYAML. Anchors and aliases are refused (a few hundred bytes of them can stand for gigabytes), and
so are duplicate keys, which YAML would silently resolve to the last one.
"""

from __future__ import annotations

import yaml

from engine.errors import InputError
from engine.model import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, Literal

    Path = tuple[str | int, ...]

Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
DEEPEST = 32  # levels of nesting; the knowledge base needs 9
LONGEST = 4_000_000  # bytes of one file; the largest of the knowledge base has 0.2 million


class Document(Value):
    """One parsed file: plain data, and the line of each node by its path (keys and list indexes from the root)."""

    name: str
    data: Any
    lines: Mapping[Path, int]

    def line(self, path: Path) -> int:
        """The line of the node at `path`, or of its nearest ancestor that exists."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


class Finding(Value):
    """One thing wrong in one file, worded for the person who wrote it."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


def parse(name: str, text: str) -> Document:
    """`text` as a Document. Raises InputError naming file and line when it is not plain YAML."""
    if len(text) > LONGEST:
        raise InputError(f"{name}: {len(text):,} characters; at most {LONGEST:,} are read")
    lines: dict[Path, int] = {}
    try:
        loader = Loader(text)
        try:
            node = loader.get_single_node()
            data = None if node is None else _Builder(name, loader, lines).build(node, ())
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"{name}:{_line_of(error)}: not valid YAML: {_first_words(error)}") from None
    return Document(name, data, lines)


class Node(Value):
    """One node of a YAML text with its offsets in it, for an edit that leaves all else as it is. An anchor's node
    stands wherever an alias names it. `style` is the quote of a scalar (`|`, `>` of blocks), `[` of a flow list."""

    kind: Literal["scalar", "sequence", "mapping"]
    start: int
    end: int
    value: str
    style: str
    items: tuple[Node, ...] = ()
    pairs: tuple[tuple[Node, Node], ...] = ()


def nodes(text: str) -> tuple[Node, ...]:
    """The documents of a YAML text as trees of nodes; nothing is constructed or expanded. Raises InputError when it is
    not YAML or nested too deeply."""
    skipped = len(text) - len(text.removeprefix("\ufeff"))
    builder = _Tree(text, skipped)
    try:
        for event in yaml.parse(text[skipped:], Loader=Loader):
            builder.take(event)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"line {_line_of(error)}: not valid YAML: {_first_words(error)}") from None
    return tuple(builder.documents)


class _Tree:
    """Builds nodes from events on a stack of its own, so that depth costs no recursion."""

    def __init__(self, text: str, skipped: int) -> None:
        self.text, self.skipped = text, skipped
        self.documents: list[Node] = []
        self.open: list[tuple[Any, list[Node], list[int]]] = []  # its start, its children, their ends
        self.anchors: dict[str, Node] = {}

    def take(self, event: Any) -> None:
        """The next event of the parser."""
        kind = type(event)
        if issubclass(kind, yaml.CollectionStartEvent):
            if len(self.open) >= DEEPEST:
                raise ValueError(f"nested deeper than {DEEPEST} levels")
            self.open.append((event, [], []))
        elif issubclass(kind, yaml.CollectionEndEvent):
            start, children, ends = self.open.pop()
            self._add(self._collection(start, event, children, ends), start.anchor)
        elif kind is yaml.ScalarEvent:
            self._add(self._scalar(event), event.anchor)
        elif kind is yaml.AliasEvent:
            place, end = event.start_mark.index + self.skipped, event.end_mark.index + self.skipped
            self._add(self.anchors.get(event.anchor) or Node("scalar", place, end, "", "*"), None, end)

    def _add(self, node: Node, anchor: str | None, end: int | None = None) -> None:
        if anchor:
            self.anchors[anchor] = node
        if self.open:
            self.open[-1][1].append(node)
            self.open[-1][2].append(node.end if end is None else end)
        else:
            self.documents.append(node)

    def _scalar(self, event: Any) -> Node:
        start, end = event.start_mark.index + self.skipped, event.end_mark.index + self.skipped
        style = event.style or ""
        if style in "|>" and style:
            end = max(start + 1, len(self.text[:end].rstrip()))
        return Node("scalar", self._behind_properties(start, style), end, event.value, style)

    def _behind_properties(self, start: int, style: str) -> int:
        """Where the scalar itself begins: the mark of one with an anchor or a tag stands before these."""
        while self.text[start : start + 1] in ("&", "!") and not (style and self.text[start] == style):
            rest = self.text[start:].split(None, 1)
            if len(rest) < 2:
                return start
            start = self.text.index(rest[1][:1], start + len(rest[0]))
        return start

    def _collection(self, start: Any, end: Any, children: list[Node], ends: list[int]) -> Node:
        flow = bool(start.flow_style)
        first = start.start_mark.index + self.skipped
        last = end.end_mark.index + self.skipped if flow or not children else ends[-1]
        if isinstance(start, yaml.SequenceStartEvent):
            return Node("sequence", first, last, "", "[" if flow else "", tuple(children))
        return Node(
            "mapping", first, last, "", "{" if flow else "", (), tuple(zip(children[::2], children[1::2], strict=False))
        )


def _line_of(error: Exception) -> int:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    return mark.line + 1 if mark else 1


def _first_words(error: Exception) -> str:
    return (str(getattr(error, "problem", None) or error) or type(error).__name__).splitlines()[0][:200]


class _Builder:
    """Turns a node tree into data, noting lines; a node met twice is an alias."""

    def __init__(self, name: str, loader: Any, lines: dict[Path, int]) -> None:
        self.name, self.loader, self.lines = name, loader, lines
        self.seen: set[int] = set()

    def build(self, node: Any, path: Path) -> Any:
        self._admit(node, path)
        self.lines[path] = node.start_mark.line + 1
        if isinstance(node, yaml.MappingNode):
            return {key: self.build(value, (*path, key)) for key, value in self._pairs(node)}
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node)

    def _scalar(self, node: Any) -> Any:
        """Text, number, truth value or nothing; what YAML would make a date or bytes of stays the text that it is."""
        try:
            value = self.loader.construct_object(node)
        except (yaml.YAMLError, ValueError, ArithmeticError, LookupError, AttributeError):
            raise self._error(
                node, f"{node.value[:60]!r} is no {node.tag.rpartition(':')[2]}; put it in quotes"
            ) from None
        return value if value is None or isinstance(value, str | int | float) else node.value

    def _admit(self, node: Any, path: Path) -> None:
        if id(node) in self.seen:
            raise self._error(node, "anchors and aliases are not allowed; write the value out")
        if len(path) > DEEPEST:
            raise self._error(node, f"nested deeper than {DEEPEST} levels")
        self.seen.add(id(node))

    def _pairs(self, node: Any) -> Iterator[tuple[str, Any]]:
        known: set[str] = set()
        for key_node, value in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise self._error(key_node, "a key must be a plain word")
            key = str(key_node.value)
            if key in known:
                raise self._error(key_node, f"'{key}' is given twice")
            known.add(key)
            yield key, value

    def _error(self, node: Any, message: str) -> InputError:
        return InputError(f"{self.name}:{node.start_mark.line + 1}: {message}")
