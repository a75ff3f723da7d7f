"""`ldconfig -p`: which libcuda the loader takes, if any."""

from __future__ import annotations

from engine.lazy import regex
from engine.observe.environment.seen import Seen, rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LIBRARY = regex(r"\s{0,8}(lib[\w+.-]{1,80}) \([^)]{1,80}\) => (/\S{1,300})")
_WHOLE = regex(r"\d{1,7} libs found in cache")


def parse(text: str) -> Iterator[Seen]:
    """Whether libcuda is there, lies where the linker looks, and comes from the driver and not from a compat folder."""
    whole = next(((line, row) for line, row in rows(text) if _WHOLE.match(row)), None)
    found: dict[str, list[tuple[int, str, str]]] = {}
    for line, row in rows(text):
        match = _LIBRARY.match(row)
        if match and match[1].startswith("libcuda.so"):
            found.setdefault(match[1], []).append((line, row, match[2]))
    loaded = found.get("libcuda.so.1")
    if loaded:
        line, row, path = loaded[0]
        if "compat" in path:
            yield Seen("libraries.compat_libcuda", True, line, row)
        if whole and "libcuda.so" not in found:
            yield Seen("libraries.libcuda_unlinked", True, line, row)
    elif whole:
        yield Seen("libraries.libcuda_absent", True, *whole)
