"""How a value is written where it will stand: a shell's word, YAML's scalar, Python's literal, one inside the other.

The names of the ways are those of `Given.quote` and `Place.quote`; `a>b` is way b inside the text of way a.
"""

from __future__ import annotations

from engine.lazy import IGNORECASE, regex

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_")
_PLAIN = regex(r"[A-Za-z0-9_./$-](?:[\w./@%+=$-]|:(?=\S)|,(?=\S))*")
_NO_TEXT = regex(r"[-+.]?\d[\w.+-]*|true|false|yes|no|on|off|null|~|y|n", IGNORECASE)
_NUMBER = regex(r"-?(?:0|[1-9]\d{0,17})(?:\.\d{1,17})?")


def word(value: str) -> str:
    """`value` as one word of a shell."""
    if value and all(character in _SAFE for character in value):
        return value
    return "'" + value.replace("'", "'\"'\"'") + "'"


def scalar(value: str, style: str, is_text: bool = False) -> str:
    """`value` as YAML in the quotes `style`; `is_text` keeps a number from being one."""
    if style == "'":
        return "'" + value.replace("'", "''") + "'"
    if style != '"' and _PLAIN.fullmatch(value) and not (is_text and _NO_TEXT.fullmatch(value)):
        return value
    if style != '"' and '"' in value and "\n" not in value:
        return "'" + value.replace("'", "''") + "'"
    return '"' + escaped(value) + '"'


def escaped(value: str) -> str:
    """The inside of double quotes in YAML, JSON and Python."""
    return (
        value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    )


def literal(value: str, before: str) -> str:
    """`value` as Python; text takes the quotes that `before`, the old literal, has."""
    if value in ("true", "false", "null"):
        return {"true": "True", "false": "False", "null": "None"}[value]
    if _NUMBER.fullmatch(value) and before[:1] not in ("'", '"'):
        return value
    if value[:1] in "{[":
        from json import loads  # noqa: PLC0415 - only for a dictionary

        try:
            return repr(loads(value))
        except (ValueError, RecursionError):
            return text_literal(value, before)
    return text_literal(value, before)


def text_literal(value: str, before: str) -> str:
    """`value` as a text of Python."""
    if before[:1] == "'" and "'" not in value and "\\" not in value:
        return f"'{value}'"
    return f'"{escaped(value)}"'


def within(text: str, quote: str) -> str | None:
    """`text`, right for the innermost way of `quote`, as it stands in the ways around it; None when it cannot."""
    for layer in reversed(quote.split(">")[:-1]):
        changed = _layer(text, layer)
        if changed is None:
            return None
        text = changed
    return text


def _layer(text: str, layer: str) -> str | None:
    if layer == "yaml-double":
        return escaped(text)
    if layer == "yaml-single":
        return text.replace("'", "''")
    if layer == "yaml-plain":
        text = text.replace('": ', '":')  # JSON needs no blank there, and YAML would take it for a key
        return None if ": " in text or " #" in text else text
    if layer == "shell-single":
        return text.replace("'", "'\"'\"'")
    if layer == "shell-double":
        return "".join(f"\\{one}" if one in '"\\$`' else one for one in text)
    return text  # a block scalar, or text as it stands


def key(name: str, spelling: str) -> str:
    """A flag as the key of a setting: `max-model-len`, `max_model_len`, `maxModelLen`."""
    plain = name.strip("-").replace("_", "-")
    if spelling == "dash":
        return plain
    if spelling == "camel":
        first, *rest = plain.split("-")
        return first + "".join(part.capitalize() for part in rest)
    return plain.replace("-", "_")
