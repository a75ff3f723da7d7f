"""Regular expressions that are compiled when they are first used.

Compiling all of kb's expressions at import would take as long as answering; a complaint in plain words uses few.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern
    from typing import AnyStr


class Lazy:
    """Stands for a compiled pattern. After the first use the pattern's own methods are reached without a detour."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._pattern = (pattern, flags)

    def __getattr__(self, name: str) -> object:
        import re  # noqa: PLC0415 - a query without log or version may not need it at all

        pattern, flags = self._pattern
        method = getattr(re.compile(pattern, flags), name)
        self.__dict__[name] = method
        return method


IGNORECASE, DOTALL, MULTILINE = 2, 16, 8  # the values of re's flags


def regex(pattern: AnyStr, flags: int = 0) -> Pattern[AnyStr]:
    """`re.compile(pattern, flags)`, put off until it is used."""
    return Lazy(pattern, flags)  # type: ignore[return-value]
