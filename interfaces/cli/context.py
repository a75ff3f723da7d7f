"""The file of --context as plain data. It may hold anything: it is read with limits, and what is unknown stays text."""

from __future__ import annotations

from engine.errors import InputError
from engine.observe.context import MAPS, NAMES
from interfaces.cli.inputs import opened, read
from interfaces.cli.output import talk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Data = dict[str, Any]

KEYS = (*NAMES, *MAPS, "nvidia_smi", "other")
LARGEST = 4_000_000  # bytes
DEEPEST = 32  # levels of nesting
VERSIONS = ("vllm_version", "vllm", "torch", "driver")


def context(path: str) -> Data:
    """The mapping in a YAML or JSON file; keys that mean nothing to kb are named on standard error and stay.

    Raises InputError when the file cannot be read, is too large or nested too deeply, or holds no mapping."""
    text = _text(path)
    data, written = _parsed(path, text)
    if not isinstance(data, dict):
        raise InputError(f"'{path}' holds no mapping.", "Write one key a line, such as 'vllm_version: 0.11.0'.")
    if not isinstance(data.get("facts", {}), dict):
        raise InputError(f"'{path}': 'facts' is no mapping.", "Write a fact and its value a line below it.")
    for key in data:
        if key not in KEYS:
            talk(f"kb query: {path}: '{key}' is no context key; it is searched as text. {_meant(key)}".rstrip())
    for key in VERSIONS:
        if isinstance(data.get(key), float):  # 0.10 is a version, and as a number it would be 0.1
            data[key] = written(key)
    return data


def _meant(key: str) -> str:
    from engine.observe.spelling import closest  # noqa: PLC0415 - for a key that does not exist

    near = closest(key, KEYS)
    return f"Did you mean '{near}'?" if near else ""


def _text(path: str) -> str:
    content = b""
    with opened(path) as source:
        while len(content) <= LARGEST and (block := read(source, path, LARGEST)):
            content += block
    if len(content) > LARGEST:
        raise InputError(f"'{path}' has more than {LARGEST:,} bytes, too many for a context.", "Give logs with --log.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"'{path}' is not UTF-8 text: see its byte {error.start}.", "Save it as UTF-8.") from None


def _parsed(path: str, text: str) -> tuple[Any, Callable[[str], str]]:
    """The data, and how a value at its top was written."""
    if text.lstrip()[:1] in ("{", "["):
        import json  # noqa: PLC0415 - for a context in JSON

        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            pass  # braces are YAML as well, whose reader says what is wrong and where
        else:
            if _is_deeper(data, DEEPEST):
                raise InputError(f"'{path}' is nested deeper than {DEEPEST} levels.")
            return data, lambda key: str(json.loads(text, parse_float=str)[key])
    from engine.knowledge.source import Loader, parse  # noqa: PLC0415 - YAML, for a context only

    def written(key: str) -> str:
        root = Loader(text).get_single_node()
        return str(next(value.value for name, value in root.value if name.value == key))

    return parse(path, text).data, written


def _is_deeper(data: Any, levels: int) -> bool:
    children = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return levels < 0 or any(_is_deeper(child, levels - 1) for child in children)
