"""Python code that starts an engine: LLM(…), AsyncEngineArgs(…). Only the call is parsed, so a fragment is enough."""

from __future__ import annotations

from engine.lazy import regex
from engine.observe.command import canonical
from engine.observe.command.parts import LONGEST, Given, Parsed, Place, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from engine.knowledge.store import Knowledge

CALL = regex(r"(?<![\w.\"'])(?:vllm\.)?(?:LLM|AsyncEngineArgs|EngineArgs)\s*\(")
_TOKEN = regex(r"#[^\n]*|\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?'''|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|[()\[\]{}]")
_ENVIRON = regex(
    r"(?:os\.)?environ(?:\[\s*(?P<a>['\"])(?P<name>\w+)(?P=a)\s*\]\s*=\s*|\.setdefault\(\s*(?P<b>['\"])(?P<other>\w+)(?P=b)\s*,\s*)"
    r"(?P<value>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')(?P<tail>\s*\))?"
)
_COMMA = regex(r"#[^\n]*|,")
_IMPORTS = regex(r"^(?P<indent>[ \t]*)(?:from\s+vllm\b|import\s+vllm\b)", 8)
_IMPORTS_OS = regex(r"^[ \t]*import\s+os\b", 8)
_LONGEST_CALL = 20_000
_MOST_CALLS = 40


def parse(text: str, knowledge: Knowledge) -> Parsed:
    """The first call that makes an engine, its keywords as flags. Never raises."""
    text = text[:LONGEST]
    variables = tuple(_variables(text))
    for start, end in calls(text):
        call = _call(text[start:end])
        if call is not None:
            return _parsed(text, start, end, call, variables, knowledge)
    return Parsed((), variables, (), None, False, False, 0, len(text), form="python")


def calls(text: str) -> Iterator[tuple[int, int]]:
    """Where calls that make an engine begin and end."""
    for number, match in enumerate(CALL.finditer(text)):
        end = _closing(text, match.end() - 1) if number < _MOST_CALLS else 0
        if end:
            yield match.start(), end


def _closing(text: str, opening: int) -> int:
    """Where the bracket that opens at `opening` has closed, or 0."""
    depth = 0
    for match in _TOKEN.finditer(text, opening, opening + _LONGEST_CALL):
        mark = match.group()
        depth += 1 if mark in ("(", "[", "{") else -1 if mark in (")", "]", "}") else 0
        if depth == 0 and mark in (")", "]", "}"):
            return match.end()
    return 0


def _call(source: str) -> ast.Call | None:
    import ast  # noqa: PLC0415 - only Python code needs it
    import warnings  # noqa: PLC0415

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape in the operator's string is not ours to report
            body = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return body if isinstance(body, ast.Call) else None


class _Places:
    """Offsets in the text for ast's lines and columns of bytes."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self.starts = [start]
        self.lines = text[start:end].split("\n")
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def at(self, line: int, column: int) -> int:
        row = self.lines[line - 1]
        return self.starts[line - 1] + (
            column if row.isascii() else len(row.encode("utf-8", "replace")[:column].decode("utf-8", "ignore"))
        )


def _parsed(
    text: str, start: int, end: int, call: ast.Call, variables: tuple[Given, ...], knowledge: Knowledge
) -> Parsed:
    places = _Places(text, start, end)
    arguments: list[ast.expr | ast.keyword] = sorted(
        [*call.args, *call.keywords], key=lambda one: (one.lineno, one.col_offset)
    )
    spans = [
        (places.at(one.lineno, one.col_offset), places.at(one.end_lineno or 1, one.end_col_offset or 0))
        for one in arguments
    ]
    flags = []
    for keyword in call.keywords:
        index = arguments.index(keyword)
        if keyword.arg:
            value = Word("", places.at(keyword.value.lineno, keyword.value.col_offset), spans[index][1])
            value = value.but(text=_value(keyword.value, text[value.start : value.end]))
            name = canonical(f"--{keyword.arg}", knowledge)
            word = Word(keyword.arg, *spans[index])
            flags.append(Given(name, value.text, word, value, "python", _extent(text, spans, index, end - 1)))
    named = next((given.value for given in flags if given.name == "--model"), None)
    first = _text_of(call.args[0]) if call.args else None
    return Parsed(
        tuple(flags), variables, (), named or first, bool(flags or first), False, start, end,
        _flag_place(text, spans, start, end), _variable_place(text, start), form="python",
    )  # fmt: skip


def _text_of(node: ast.expr) -> str | None:
    value = getattr(node, "value", None)
    return value if isinstance(value, str) else None


def _value(node: ast.expr, source: str) -> str:
    """The value as text; JSON for a dictionary or a list of constants, the source for what is computed."""
    import ast  # noqa: PLC0415
    import json  # noqa: PLC0415 - only for a dictionary

    try:
        value = ast.literal_eval(node)
        return value if isinstance(value, str) else json.dumps(value) if isinstance(value, dict | list) else str(value)
    except (ValueError, TypeError, RecursionError, MemoryError, SyntaxError):
        return source


def _extent(text: str, spans: list[tuple[int, int]], index: int, closing: int) -> tuple[int, int]:
    """What goes with an argument: its comma, and its line when it stands there alone."""
    start, end = spans[index]
    comma = _comma(text, end, spans[index + 1][0] if index + 1 < len(spans) else closing)
    line = text.rfind("\n", 0, start) + 1
    if comma and not text[line:start].strip():
        after = text.find("\n", comma)
        rest = text[comma:after].strip() if after >= 0 else "x"
        if not rest or rest.startswith("#"):
            return line, after + 1
    if index + 1 < len(spans) and comma:
        return start, spans[index + 1][0]
    if index:
        return spans[index - 1][1], end  # the last one: the comma before it goes
    return start, comma or end


def _comma(text: str, end: int, limit: int) -> int:
    """Behind the comma that follows, or 0. A comment may stand between."""
    for match in _COMMA.finditer(text, end, limit):
        if match.group() == ",":
            return match.end()
    return 0


def _flag_place(text: str, spans: list[tuple[int, int]], start: int, end: int) -> Place:
    if not spans:
        return Place(end - 1, "python", "")
    last_start, last = spans[-1]
    line = text.rfind("\n", 0, last_start) + 1
    alone = line > start and not text[line:last_start].strip()
    comma = _comma(text, last, end - 1)
    lead = f"\n{text[line:last_start]}" if alone else " "
    return Place(comma, "python", lead, "," if alone else "") if comma else Place(last, "python", f",{lead}")


def _variables(text: str) -> Iterator[Given]:
    for match in _ENVIRON.finditer(text):
        value = match.group("value")
        word = Word(value[1:-1], match.start("value"), match.end("value"))
        line = text.rfind("\n", 0, match.start()) + 1
        after = text.find("\n", match.end())
        end = after + 1 if after >= 0 else len(text)
        alone = not text[line : match.start()].strip() and not text[match.end() : end].partition("#")[0].strip()
        extent = (line, end) if alone else None
        name = match.group("name") or match.group("other")
        yield Given(name, value[1:-1], Word(name, match.start(), match.end()), word, "python-text", extent)


def _variable_place(text: str, start: int) -> Place:
    """Before vLLM is imported, since it reads many variables then; else before the statement of the call."""
    match = _IMPORTS.search(text)
    at = match.start() if match else text.rfind("\n", 0, start) + 1
    row = text[at:]
    indent = row[: len(row) - len(row.lstrip(" \t"))]
    needs = "" if _IMPORTS_OS.search(text[:at]) else f"{indent}import os\n"
    return Place(at, "python-environ", needs + indent, "\n")
