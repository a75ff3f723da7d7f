"""Bytes of any size and quality -> text in pieces of whole lines, in bounded memory; and what stands before a message.

Nothing is refused: invalid UTF-8 becomes replacement characters, UTF-16 from a Windows redirection is recognised, a
line without end is handed on in pieces that overlap, so that a pattern cannot fall into the cut.
"""

from __future__ import annotations

from bisect import bisect_right

from engine.lazy import regex
from engine.model import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import AnyStr

PIECE = 1 << 20  # bytes of whole lines handed on at once
TELLING = 256  # bytes that show how a text is encoded
TELLING_JSON = 65_536  # bytes of a piece that show whether its lines are records in JSON
OVERLAP = 2_000  # characters of an endless line that are repeated in its next piece
WINDOW = 2_000  # characters to either side of a find that a pattern may look at

_ANSI = regex(rb"\x1b(?:\[[0-?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,400}(?:\x07|\x1b\\)|[@-Z\\-_])")
_PREFIXES = regex(
    r"^(?:"
    r"(?P<service>[\w.-]{1,60})\s{0,20}\|\s"  # docker compose
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.,]{0,12}(?:Z|[+-]\d\d:?\d\d)?\s{1,3}(?:std(?:out|err) [FP] )?"  # kubernetes
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?P<host>\S{1,60}) (?P<unit>[\w./-]{1,60})"  # journald
    r"\[(?P<unitpid>\d{1,8})\]:\s"
    r"|\((?P<name>[\w.:\-]{1,40})(?: (?P<detail>(?:pid|ip|rank|node)=[^)]{1,60}))?\)\s?"  # (EngineCore_DP0 pid=12)
    r"|\((?:[\w.:\- ]{1,40}(?:(?:pid|ip|rank|node)=[^)]{1,60})?)\)\s?"
    r"|\[(?:pod/(?P<pod>[\w.-]{1,80})|pod|(?P<torchrun>rank\d{1,4}))[^\]]{0,80}\]:?\s?"  # kubectl --prefix, torchrun
    r"|(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL)\s{1,3}\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?\s"
    r"(?:\[?[\w./<>-]{1,80}:\d{1,6}\]\s?)?"
    r"|(?P<plain>DEBUG|INFO|WARNING|ERROR|CRITICAL):\s{1,6}"
    r")"
)
_SAID = ("log", "message", "msg", "MESSAGE")
_LEVELS = ("level", "levelname", "severity")
_TIMES = ("time", "timestamp", "ts", "@timestamp", "asctime")
_RECORD = (*_LEVELS, *_TIMES, "stream", "PRIORITY", "_PID", "logger")  # one of them makes a JSON object a log record


class Piece(Value):
    """Whole lines; `first` is the number of the first, counted from 1."""

    text: str
    first: int


class Message(Value):
    """A line without what loggers put before it. `node` is the container, pod, host or address that it came from."""

    text: str
    level: str
    process: str
    pid: str = ""
    node: str = ""


def pieces(blocks: Iterable[bytes]) -> Iterator[Piece]:
    """The text of `blocks` in pieces of about a mebibyte."""
    number = 1
    for data in chunks(blocks):
        yield Piece(data.decode("utf-8", "replace"), number)
        number += data.count(b"\n")


def chunks(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The same as UTF-8, which the fast ways through a large log work on: whole lines, without colours and holes."""
    for data in _gathered(blocks):
        clean = data.replace(b"\0", b"") if b"\0" in data else data  # holes of a truncated file
        clean = _ANSI.sub(b"", clean) if b"\x1b" in clean else clean
        wrapped = clean[:2] == b'{"' or clean.find(b'\n{"', 0, TELLING_JSON) >= 0
        yield unwrapped(clean) if wrapped else clean


def _gathered(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Blocks cut behind the last line end in about PIECE bytes; an endless line goes on with an overlap."""
    parts: list[bytes] = []
    size = 0
    for block in _in_utf8(blocks):
        for start in range(0, len(block), PIECE):
            part = block if len(block) <= PIECE else block[start : start + PIECE]
            parts.append(part)
            size += len(part)
            if size < PIECE:
                continue
            cut = part.rfind(b"\n") + 1
            if cut:
                yield b"".join((*parts[:-1], memoryview(part)[:cut]))
                parts = [part[cut:]]
            else:
                whole = b"".join(parts)
                cut = whole.rfind(b"\n") + 1
                yield whole[: cut or len(whole)]
                parts = [whole[cut:] if cut else whole[-OVERLAP:]]
            size = len(parts[0])
    if size:
        yield b"".join(parts)


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
    """What the program said, and the level, the process and the node that its loggers put before it."""
    level = process = pid = node = ""
    rest = line.lstrip()
    for _ in range(6):
        match = _PREFIXES.match(rest)
        if not match or not match.end():
            break
        level = match["level"] or match["plain"] or level
        node = match["service"] or match["host"] or match["pod"] or node
        if match["name"]:
            process = match["name"]
            pid, node = _number(match["detail"], "pid") or pid, _number(match["detail"], "ip") or node
        elif match["unit"] or match["torchrun"]:
            process, pid = match["unit"] or match["torchrun"], match["unitpid"] or pid
        rest = rest[match.end() :]
    return Message(rest.strip(), level, process, pid, node)


def _number(detail: str | None, name: str) -> str:
    """The value of `name=` among what stands behind a process name: pid=12, ip=10.0.0.2."""
    found = (detail or "").partition(f"{name}=")[2]
    return found.replace(",", " ").split(" ", 1)[0]


def unwrapped(data: bytes) -> bytes:
    """The messages of records in JSON, each on the line of its record: {"log": …}, {"message": …, "levelname": …}."""
    from json import loads  # noqa: PLC0415 - few logs are wrapped

    rows = data.split(b"\n")
    for number, row in enumerate(rows):
        if row[:2] == b'{"' and row.rstrip()[-1:] == b"}":
            try:
                record = loads(row)
            except (ValueError, RecursionError):
                continue
            rows[number] = _said(record) or row
    return b"\n".join(rows)


def _said(record: Mapping[str, object]) -> bytes:
    """The message of a log record with its time, process and level before it; nothing where it is no log record."""
    said = next((record[name] for name in _SAID if isinstance(record.get(name), str)), None)
    if not isinstance(said, str) or not any(name in record for name in _RECORD):
        return b""
    level = next((str(record[name]).upper() for name in _LEVELS if name in record), "")
    time = next((str(record[name]) for name in _TIMES if name in record), "")
    process = f"({record['processName']}) " if isinstance(record.get("processName"), str) else ""
    before = f"{time} " if _PREFIXES.match(f"{time} ") else ""
    named = f"{level}: " if _PREFIXES.match(f"{level}: ") and not message(said).level else ""
    return f"{before}{process}{named}{' '.join(said.splitlines())}".encode("utf-8", "replace")


def around(text: AnyStr, at: int) -> tuple[int, int]:
    """Start and end of the line at `at`, cut to a window that a pattern may look at."""
    newline = b"\n" if isinstance(text, bytes) else "\n"
    start = text.rfind(newline, max(0, at - WINDOW), at) + 1 or max(0, at - WINDOW)
    end = text.find(newline, at, at + WINDOW)
    return start, end if end >= 0 else min(len(text), at + WINDOW)


def line_from(data: bytes, start: int) -> bytes:
    """The line that starts there, cut to what a pattern may look at."""
    end = data.find(b"\n", start, start + 2 * WINDOW)
    return data[start : end if end >= 0 else start + 2 * WINDOW]


class Numbers:
    """The numbers of the lines of one piece: newlines are counted once, in whatever order places are asked for."""

    def __init__(self, data: bytes, first: int) -> None:
        self._data = data
        self._places, self._numbers = [0], [first]

    def at(self, place: int) -> int:
        """The number of the line that holds `place`."""
        index = bisect_right(self._places, place) - 1
        known, number = self._places[index], self._numbers[index]
        if place == known:
            return number
        number += self._data.count(b"\n", known, place)
        self._places.insert(index + 1, place)
        self._numbers.insert(index + 1, number)
        return number
