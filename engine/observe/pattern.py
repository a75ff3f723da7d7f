"""Matches one pattern on one line in linear time. The only importer of re2.

Where google-re2 has no wheel, the standard library serves: lines are cut to a bounded length before they come here and
the knowledge base admits no pattern with nested repeats, so that the worst case stays bounded too.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_compiled: dict[str, Any] = {}
_engine: Any = None


def search(pattern: str, line: str) -> dict[str, str] | None:
    """The named groups of the first match of `pattern` in `line`, ignoring case; None when it does not match."""
    compiled = _compiled.get(pattern)
    if compiled is None:
        compiled = _compiled[pattern] = _compile(pattern)
    match = compiled.search(line)
    return None if match is None else {name: value for name, value in match.groupdict().items() if value is not None}


def _compile(pattern: str) -> Any:
    global _engine  # noqa: PLW0603 - which engine there is does not change while a process runs
    if _engine is None:
        _engine = _load()
    return _engine(pattern)


def _load() -> Any:
    try:
        import re2  # noqa: PLC0415 - four milliseconds that a complaint without log need not pay
    except ImportError:
        import re  # noqa: PLC0415

        return lambda pattern: re.compile(pattern, re.IGNORECASE)
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    return lambda pattern: re2.compile(pattern, options)
