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
    from typing import Any

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
            raise self._error(node, f"{node.value[:60]!r} is no {node.tag.rpartition(':')[2]}; put it in quotes") from None
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
