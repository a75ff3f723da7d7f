"""Bytes of any size and quality -> text in pieces of whole lines, in bounded memory; and what stands before a message.

Nothing is refused: invalid UTF-8 becomes replacement characters, UTF-16 from a Windows redirection is recognised, a line
without end is handed on in pieces that overlap, so that a pattern cannot fall into the cut.
"""

from __future__ import annotations


from engine.lazy import regex
from engine.model import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PIECE = 1 << 20  # bytes of whole lines handed on at once
TELLING = 256  # bytes that show how a text is encoded
OVERLAP = 2_000  # characters of an endless line that are repeated in its next piece
WINDOW = 2_000  # characters to either side of a find that a pattern may look at

_ANSI = regex(r"\x1b(?:\[[0-?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,400}(?:\x07|\x1b\\)|[@-Z\\-_])")
_PREFIXES = regex(
    r"^(?:"
    r"[\w.-]{1,60}\s{0,20}\|\s"  # docker compose
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.,]{0,12}(?:Z|[+-]\d\d:?\d\d)?\s{1,3}(?:std(?:out|err) [FP] )?"  # kubernetes
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S{1,60} [\w./-]{1,60}\[\d{1,8}\]:\s"  # journald
    r"|\([\w.:\- ]{1,40}(?:(?:pid|ip|rank|node)=[^)]{1,60})?\)\s?"  # (EngineCore_DP0 pid=12)
    r"|\[(?:pod|rank\d)[^\]]{0,80}\]:?\s?"  # kubectl --prefix, torchrun
    r"|(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL)\s{1,3}\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?\s(?:\[?[\w./<>-]{1,80}:\d{1,6}\]\s?)?"
    r"|(?P<plain>DEBUG|INFO|WARNING|ERROR|CRITICAL):\s{1,6}"
    r")"
)
_PROCESS = regex(r"\(([A-Za-z][\w.\-]{1,40})(?: (?:pid|ip|rank|node)=[^)]{0,60})?\)")


class Piece(Value):
    """Whole lines; `first` is the number of the first, counted from 1."""

    text: str
    first: int


class Message(Value):
    """A line without what loggers put before it."""

    text: str
    level: str
    process: str


def pieces(blocks: Iterable[bytes]) -> Iterator[Piece]:
    """The text of `blocks` in pieces of about a mebibyte."""
    number = 1
    for text in _decoded(blocks):
        clean = text.replace("\0", "") if "\0" in text else text  # holes of a truncated file
        yield Piece(_ANSI.sub("", clean) if "\x1b" in clean else clean, number)
        number += text.count("\n")


def _decoded(blocks: Iterable[bytes]) -> Iterator[str]:
    pending = b""
    for block in _in_utf8(blocks):
        for start in range(0, len(block), PIECE):
            pending += block[start : start + PIECE]
            if len(pending) < PIECE:
                continue
            cut = pending.rfind(b"\n") + 1
            yield pending[: cut or len(pending)].decode("utf-8", "replace")
            pending = pending[cut:] if cut else pending[-OVERLAP:]
    if pending:
        yield pending.decode("utf-8", "replace")


def _in_utf8(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes, those of UTF-16 recoded; the first pieces are held back until there is enough to tell."""
    rest = iter(blocks)
    head = b""
    while len(head) < TELLING and (block := next(rest, None)) is not None:
        head += block
    encoding = _encoding(head[:TELLING])
    if encoding == "utf-8":
        yield head.removeprefix(b"\xef\xbb\xbf")
        yield from rest
        return
    from codecs import getincrementaldecoder  # noqa: PLC0415 - few logs come from a Windows redirection

    decoder = getincrementaldecoder(encoding)("replace")
    yield decoder.decode(head).encode("utf-8", "replace")
    for block in rest:
        yield decoder.decode(block).encode("utf-8", "replace")
    yield decoder.decode(b"", True).encode("utf-8", "replace")


def _encoding(start: bytes) -> str:
    """UTF-16 shows by its mark, or by a zero in every second byte of plain text; a run of zeros is only a hole."""
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    even, odd = start[::2].count(0), start[1::2].count(0)
    if max(even, odd) * 4 <= len(start) or min(even, odd) * 20 > len(start):
        return "utf-8"
    return "utf-16-le" if odd > even else "utf-16-be"


def message(line: str) -> Message:
    """What the program said, and the level and process that its loggers put before it."""
    level = process = ""
    rest = line.lstrip()
    for _ in range(6):
        match = _PREFIXES.match(rest)
        if not match or not match.end():
            break
        level = match.group("level") or match.group("plain") or level
        named = _PROCESS.match(rest)
        process = named.group(1) if named else process
        rest = rest[match.end() :]
    return Message(rest.strip(), level, process)


def around(text: str, at: int) -> tuple[int, int]:
    """Start and end of the line at `at`, cut to a window that a pattern may look at."""
    start = text.rfind("\n", max(0, at - WINDOW), at) + 1 or max(0, at - WINDOW)
    end = text.find("\n", at, at + WINDOW)
    return start, end if end >= 0 else min(len(text), at + WINDOW)
