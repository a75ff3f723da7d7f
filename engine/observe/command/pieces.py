"""A command inside another text's quotes: `sh -c "vllm serve …"`, a YAML scalar. Inner offsets lead to outer ones."""

from __future__ import annotations

from engine.lazy import DOTALL, regex
from engine.model import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.observe.command.parts import Given, Parsed, Place, Stated, Word

_ESCAPE = regex(r"\\(?:\r?\n[ \t]*|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|.)", DOTALL)
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}


class Piece(Value):
    """The text inside, where each of its characters stands outside (one more for its end), and the quotes around it."""

    text: str
    places: Sequence[int]
    quote: str


def plain(text: str, start: int, end: int, quote: str) -> Piece:
    """`text[start:end]` as it stands."""
    return Piece(text[start:end], range(start, end + 1), quote)


def single_quoted(text: str, start: int, end: int) -> Piece:
    """The inside of YAML's single quotes, which doubles each quote that it holds."""
    if "''" not in text[start:end]:
        return plain(text, start, end, "yaml-single")
    places, index = [], start
    while index < end:
        places.append(index)
        index += 2 if text.startswith("''", index) else 1
    return Piece("".join(text[place] for place in places), [*places, end], "yaml-single")


def double_quoted(text: str, start: int, end: int, quote: str) -> Piece:
    """The inside of double quotes, in which a backslash has a meaning: that of YAML or JSON, or that of a shell."""
    if "\\" not in text[start:end]:
        return plain(text, start, end, quote)
    out: list[str] = []
    places: list[int] = []
    index = start
    while index < end:
        match = _ESCAPE.match(text, index, end) if text[index] == "\\" else None
        shown = _unescaped(match.group(), quote) if match else text[index]
        out.append(shown)
        places += [index] * len(shown)
        index = match.end() if match else index + 1
    return Piece("".join(out), [*places, end], quote)


def _unescaped(escape: str, quote: str) -> str:
    body = escape[1:]
    if quote == "shell-double":
        return body if body[:1] in '"\\$`' else escape
    if body[:1] in "\r\n":
        return ""
    if len(body) > 1:
        return chr(int(body[1:], 16))
    return _NAMED.get(body, body)


def outer(parsed: Parsed, piece: Piece) -> Parsed:
    """`parsed`, which was read from the inside, with its places in the text around it."""
    at = piece.places

    def word(one: Word) -> Word:
        return one.but(start=at[one.start], end=at[one.end])  # type: ignore[no-any-return]

    def given(one: Given) -> Given:
        value = one.value_word and word(one.value_word)
        extent = one.extent and (at[one.extent[0]], at[one.extent[1]])
        return one.but(word=word(one.word), value_word=value, quote=_joined(piece.quote, one.quote), extent=extent)  # type: ignore[no-any-return]

    def place(one: Place | None) -> Place | None:
        return one and one.but(at=at[one.at], quote=_joined(piece.quote, one.quote))

    def stated(one: Stated) -> Stated:
        return one.but(start=at[one.start], end=at[one.end])  # type: ignore[no-any-return]

    return parsed.but(  # type: ignore[no-any-return]
        flags=tuple(map(given, parsed.flags)), variables=tuple(map(given, parsed.variables)),
        docker=tuple(map(given, parsed.docker)), stated=tuple(map(stated, parsed.stated)),
        start=at[parsed.start], end=at[parsed.end],
        flag_place=place(parsed.flag_place), variable_place=place(parsed.variable_place),
    )  # fmt: skip


def _joined(around: str, inside: str) -> str:
    return inside if around == "as-is" else f"{around}>{inside}"
