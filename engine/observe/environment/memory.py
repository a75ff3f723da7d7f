"""`free` in any unit and /proc/meminfo: how much of the machine's memory is left."""

from __future__ import annotations

from engine.lazy import regex
from engine.observe.environment.seen import Seen, decimal, gib, rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_ROW = regex(r"\s{0,4}(?:Mem|内存)[:：]\s{1,20}(\d.{0,200})$")
_WORD = regex(r"(\d[\d.,]{0,15})([KMGTB]?i?B?)(?:\s|$)")
_FIELD = regex(r"(MemTotal|MemAvailable):\s{1,20}(\d{1,15}) kB")
_SHORT_SHARE, _SHORT_GIB = 0.05, 2.0  # below either, loading weights starves the machine
_MOST_GIB = 32_768  # more than any machine holds: then the numbers were bytes or MiB


def parse(text: str) -> Iterator[Seen]:
    """Total and available memory in GiB, and whether what is left is too little to load anything."""
    total = available = None
    seen = (1, "")
    for line, row in rows(text):
        match = _ROW.match(row)
        field = _FIELD.match(row)
        if match:
            numbers = [_gib(amount, unit, match[1]) for amount, unit in _WORD.findall(match[1])]
            if len(numbers) >= 6 and numbers[0] is not None:
                total, available, seen = numbers[0], numbers[5], (line, row)
        elif field:
            amount = gib(field[2], "k")
            total, available = (amount, available) if field[1] == "MemTotal" else (total, amount)
            seen = (line, row)
    if total:
        yield Seen("memory.total_gib", total, *seen)
    if available is not None:
        yield Seen("memory.available_gib", available, *seen)
        if total and (available < _SHORT_GIB or available < _SHORT_SHARE * total):
            yield Seen("memory.short", True, *seen)


def _gib(amount: str, unit: str, row: str) -> float | None:
    """`free` prints KiB, `free -m` MiB, `free -g` GiB, each without a unit: the size of the first number tells."""
    if unit:
        return gib(amount, unit)
    first = decimal(row.split()[0]) or 0.0
    scale = "b" if first > _MOST_GIB * 1024**2 else "k" if first > _MOST_GIB * 64 else "m" if first > 3_000 else "g"
    return gib(amount, scale)
