"""`ulimit -a` and /proc/PID/limits: how many files a process may open and how much memory it may pin."""

from __future__ import annotations

from engine.lazy import regex
from engine.observe.environment.seen import Seen, rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_FILES = regex(r"\s{0,4}(?:open files|Max open files|-n: file descriptors|nofile)\D{0,60}(\d{1,12})\b")
_PINNED = regex(
    r"\s{0,4}(?:max locked memory|-l: locked-in-memory size)\s{1,40}\(?(?:kbytes)?[^\d\n]{0,20}(\d{1,15})\s{0,8}$"
)


def parse(text: str) -> Iterator[Seen]:
    """`limits.open_files`, and `limits.pinned_kib` where it is limited at all."""
    for line, row in rows(text):
        if (files := _FILES.match(row)) is not None:
            yield Seen("limits.open_files", int(files[1]), line, row)
        if (pinned := _PINNED.match(row)) is not None:
            yield Seen("limits.pinned_kib", int(pinned[1]), line, row)
