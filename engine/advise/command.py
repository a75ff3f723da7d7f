"""Changes -> the operator's own command, corrected: the touched words differ, all else stays byte for byte."""

from __future__ import annotations

from engine.lazy import regex
from engine.model import Change, CorrectedCommand
from engine.observe import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.knowledge.store import Knowledge
    from engine.observe.command import Given, Parsed

    Edit = tuple[int, int, str]  # from, to, and what stands there afterwards

_UNKNOWN = regex(r"half|double|[+-]\d.*|.*\{[a-z]+\.[a-z0-9_.-]+\}.*|(?![\[{]).*\s.*|")  # not computed, or prose
_ENV_OPTION = regex(r"(?:--env(?:=|\s+)|-e\s*)$")
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_")


def corrected(text: str, changes: Sequence[Change], knowledge: Knowledge) -> CorrectedCommand | None:
    """`text` with the flag and variable changes applied; None when it is no start command or nothing would change."""
    parsed = command.parse(text, knowledge)
    if not parsed.is_server:
        return None
    switches = knowledge.section("switches")
    edits = [(edit, change) for change in changes for edit in _edits(text, parsed, change, change.name in switches)]
    after = text
    for (start, end, new), _change in sorted(reversed(edits), key=lambda one: (-one[0][0], -one[0][1])):
        after = after[:start] + new + after[end:]
    applied = tuple(dict.fromkeys(change for _edit, change in edits))
    return CorrectedCommand(text, after, applied) if after != text else None


def _edits(text: str, parsed: Parsed, change: Change, switch: bool) -> list[Edit]:
    """What one change does to the text; nothing when it does not apply to this command."""
    if change.after is not None and _UNKNOWN.fullmatch(change.after):
        return []  # the text of the fix says what to do
    if change.kind == "env":
        return _variable_edits(text, parsed, change, [one for one in parsed.variables if one.name == change.name])
    if change.kind != "flag" or not change.name.startswith("-"):
        return []
    given = [one for one in parsed.flags if one.name == change.name]
    if change.after is None:
        return [_removed(text, one.word.start, (one.value_word or one.word).end) for one in given]
    opposite = [one for one in parsed.flags if one.name == f"--no-{change.name[2:]}"] if switch else []
    if switch and change.after in ("true", "false"):
        return _switch_edits(parsed, change, opposite, given)
    return [_value_edit(text, parsed, change, change.after, given[-1] if given else None)]


def _switch_edits(parsed: Parsed, change: Change, opposite: list[Given], given: list[Given]) -> list[Edit]:
    """A switch is turned on by its name and off by the name with `no-`."""
    wanted = change.name if change.after == "true" else f"--no-{change.name[2:]}"
    wrong = opposite if change.after == "true" else given
    off = [one for one in given if str(one.value).lower() in ("false", "0")] if change.after == "true" else []
    if wrong or off:
        return [(one.word.start, (one.value_word or one.word).end, wanted) for one in (*wrong, *off)]
    if given if change.after == "true" else opposite:
        return []  # it is so already
    return [(parsed.end, parsed.end, f" {wanted}")]


def _value_edit(text: str, parsed: Parsed, change: Change, after: str, given: Given | None) -> Edit:
    value = _quoted(after)
    if given is None:
        return parsed.end, parsed.end, f" {change.name} {value}"
    if given.value_word is None:
        return given.word.end, given.word.end, f" {value}"
    if given.value_word == given.word:
        head = text[given.word.start : given.word.end].partition("=")[0].strip("'\"")
        return given.word.start, given.word.end, f"{head}={value}"
    return given.value_word.start, given.value_word.end, value


def _variable_edits(text: str, parsed: Parsed, change: Change, given: list[Given]) -> list[Edit]:
    if change.after is None:
        return [_without_variable(text, one) for one in given]
    stated = f"{change.name}={_quoted(change.after)}"
    if given:
        return [(given[-1].word.start, given[-1].word.end, stated)]
    return [(parsed.start, parsed.start, f" -e {stated}" if parsed.is_docker else f"{stated} ")]


def _without_variable(text: str, given: Given) -> Edit:
    option = _ENV_OPTION.search(text[: given.word.start])
    start, end = option.start() if option else given.word.start, given.word.end
    if text[:start].strip():
        return _removed(text, start, end)
    rest = text[end:].lstrip(" ").removeprefix("\\\n")  # the first word of all: the blank after it goes
    return start, len(text) - len(rest.lstrip(" ")), ""


def _removed(text: str, start: int, end: int) -> Edit:
    """The words from `start` to `end` and the blank before them go, a line that only continues to them included."""
    before = text[:start].rstrip()
    while before.endswith("\\") and "\n" in text[len(before) : start]:
        before = before[:-1].rstrip()
    return len(before), end, ""


def _quoted(value: str) -> str:
    """`value` as one shell word."""
    if value and all(character in _SAFE for character in value):
        return value
    return "'" + value.replace("'", "'\"'\"'") + "'"
