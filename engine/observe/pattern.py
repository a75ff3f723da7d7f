"""Matches one pattern on one line in linear time. The only importer of re2.

Where google-re2 has no wheel, the standard library serves: lines are cut to a bounded length before they come here and
the knowledge base admits no pattern with nested repeats, so that the worst case stays bounded too.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Search = Callable[[bytes], Any]

_compiled: dict[str, Search] = {}
_engine: Any = None


def search(pattern: str, line: str | bytes) -> dict[str, str] | None:
    """The named groups of the first match of `pattern` in `line`, ignoring case; None when it does not match. Bytes are
    read as UTF-8; what is none becomes a replacement character."""
    found = _compiled.get(pattern)
    if found is None:
        found = _compiled[pattern] = _compile(pattern)
    match = found(line.encode("utf-8", "replace") if isinstance(line, str) else line)
    if match is None:
        return None
    return (
        {name: _text(value) for name, value in match.groupdict().items() if value is not None}
        if match.re.groups
        else {}
    )


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "replace")


def _compile(pattern: str) -> Any:
    global _engine  # noqa: PLW0603 - which engine there is does not change while a process runs
    if _engine is None:
        _engine = _load()
    return _engine(pattern)


def _load() -> Callable[[str], Search]:
    try:
        import re2  # noqa: PLC0415 - four milliseconds that a complaint without log need not pay
    except ImportError:
        return _with_standard_library()
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False

    def made(pattern: str) -> Search:
        find = re2.compile(pattern, options).search
        return lambda line: find(line if line.isascii() else line.decode("utf-8", "replace").encode())

    return made


def _with_standard_library() -> Callable[[str], Search]:
    import re  # noqa: PLC0415

    def made(pattern: str) -> Search:
        find = re.compile(pattern, re.IGNORECASE | re.ASCII).search  # as RE2 reads \w and \d
        return lambda line: find(line.decode("utf-8", "replace"))

    return made
