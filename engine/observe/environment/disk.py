"""`df -h`: file systems that are full, and how large /dev/shm is."""

from __future__ import annotations

from engine.lazy import regex
from engine.observe.environment.seen import Seen, gib, rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_ROW = regex(
    r"(?P<device>\S{0,120})\s{1,60}(?P<size>\d[\d.,]{0,12})(?P<size_unit>[KMGT]?i?B?)\s{1,20}(?P<used>\d[\d.,]{0,12})[KMGT]?i?B?\s{1,20}"
    r"(?P<free>\d[\d.,]{0,12})(?P<free_unit>[KMGT]?i?B?)\s{1,20}(?P<share>\d{1,3})%\s{1,4}(?P<mount>/.{0,200})$"
)
_BLOCKS = regex(r".{0,120}\b(?P<unit>1K|1024|1M|1G)[-–]?(?:blocks|块)")
_READ_ONLY = ("/snap", "/boot", "/run", "/sys", "/proc", "/media", "/cdrom", "/etc/")
_FULL = 99  # per cent


def parse(text: str) -> Iterator[Seen]:
    """`disk.full` for each full file system and the size of /dev/shm."""
    unit = ""
    for line, row in rows(text):
        header = _BLOCKS.match(row)
        if header:
            unit = {"1024": "K"}.get(header["unit"], header["unit"][-1:])
        match = _ROW.match(row)
        if match is None:
            continue
        size = gib(match["size"], match["size_unit"] or unit or "K")
        free = gib(match["free"], match["free_unit"] or unit or "K")
        if match["mount"].strip() == "/dev/shm":
            if size is not None:
                yield Seen("disk.shm_gib", size, line, row)
            if free is not None and int(match["share"]) >= _FULL:
                yield Seen("disk.shm_full", True, line, row)
        elif int(match["share"]) >= _FULL and not _is_read_only(match["device"], match["mount"]):
            yield Seen("disk.full", match["mount"].strip(), line, row)


def _is_read_only(device: str, mount: str) -> bool:
    """Images are always full."""
    return device.startswith(("/dev/loop", "udev", "devtmpfs", "/dev/sr")) or mount.startswith(_READ_ONLY)
