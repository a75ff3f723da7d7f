"""What belongs to a failing line of a log: its time, and the traceback that ends in it.

Looked up for the first match of a sign only, in the text just before the line; a large log is not read twice for it.
"""

from __future__ import annotations

from engine.lazy import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from engine.observe.lines import Numbers

FARTHEST = 65_536  # bytes before a line in which its traceback is looked for
NEAREST_TIME = 1_500  # bytes before a line in which a time still counts for it
_BEGIN = b"Traceback (most recent call last)"
_TIME = regex(rb"(?:\d{4}-)?(\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)")
_PREFIX = 120  # characters of a line in which its process is named
_PROCESS = regex(r"\([A-Za-z][\w.\-]{1,40} (?:pid|ip|rank|node)=")
_FRAME = regex(r'\bFile "(?:[^"]*/)?([^"/]+)", line (\d+), in (\S+)')
_FRAMES = 3  # lines behind the last frame at which the exception stands: its source, a row of marks, a blank


def time_of(data: bytes, start: int, line: bytes) -> str:
    """The time of a line, `MM-DD HH:MM:SS`, taken from a line before it where it has none; "" where none is near."""
    match = _TIME.search(line)
    if match is None:
        earlier = list(_TIME.finditer(data, max(0, start - NEAREST_TIME), start))
        match = earlier[-1] if earlier else None
    return f"{match[1].decode()} {match[2].decode().replace(',', '.')}" if match else ""


def seconds(time: str) -> float:
    """A time of this module in seconds of an imagined year with months of 31 days: good for differences."""
    day, _, clock = time.partition(" ")
    month, _, date = day.partition("-")
    hours, minutes, rest = clock.split(":")
    return ((int(month) * 31 + int(date)) * 24 + int(hours)) * 3600.0 + int(minutes) * 60 + float(rest)


def traceback(data: bytes, start: int, process: str, numbers: Numbers) -> tuple[int, str]:
    """First line and last frame of the traceback that the line at `start` ends: `file.py:12 in name`. 0 and "" where
    it ends none. Lines of other processes in between are left out."""
    began = data.rfind(_BEGIN, max(0, start - FARTHEST), start)
    if began < 0:
        return 0, ""
    frame, behind = "", 0
    for row in data[began:start].decode("utf-8", "replace").split("\n")[1:-1]:
        named = row.find("(", 0, _PREFIX)
        if process and named >= 0 and row.find(f"({process}", 0, _PREFIX) < 0 and _PROCESS.match(row, named):
            continue
        match = _FRAME.search(row) if 'File "' in row else None
        behind = 0 if match else behind + 1
        frame = f"{match[1]}:{match[2]} in {match[3]}" if match else frame
    return (numbers.at(began), frame) if frame and behind <= _FRAMES else (0, "")
