"""Makes untrusted text harmless to look at: logs and complaints may hold terminal escapes and reversed words.

A control or bidirectional character never reaches a screen as itself. JSON gets a `\\u` escape, which its readers undo;
everything else shows a visible one. Lone surrogates, which UTF-8 cannot carry, become U+FFFD.
"""

from __future__ import annotations

# Bidirectional controls, and the two separators that some programs take for the end of a line.
_DIRECTION = frozenset({0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)})
_SHORT = {0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r"}


def is_unsafe(code: int) -> bool:
    """Whether the character may move the cursor, reorder its neighbours, or is no character at all."""
    return code < 0x20 or 0x7F <= code < 0xA0 or code in _DIRECTION or 0xD800 <= code < 0xE000


class _Table(dict[int, "str | int"]):
    """For str.translate: learns a character when it first appears, since nearly all texts need none."""

    def __init__(self, short: dict[int, str], narrow: str) -> None:
        super().__init__(short)
        self.narrow = narrow

    def __missing__(self, code: int) -> str | int:
        self[code] = self._shown(code) if is_unsafe(code) else code
        return self[code]

    def _shown(self, code: int) -> str:
        if 0xD800 <= code < 0xE000:
            return "\ufffd"
        return self.narrow.format(code) if code < 0x100 else f"\\u{code:04x}"


_VISIBLE = _Table(_SHORT, "\\x{:02x}")
_JSON = _Table({}, "\\u{:04x}")


def visible(text: str) -> str:
    """`text` on one line, every unsafe character as an escape that can be read: `\\x1b`, `\\u202e`, `\\n`."""
    return text if text.isprintable() else text.translate(_VISIBLE)


def json_safe(encoded: str) -> str:
    """JSON in which every unsafe character stands as `\\uXXXX`. `encoded` is JSON on one line."""
    return encoded if encoded.isprintable() else encoded.translate(_JSON)
