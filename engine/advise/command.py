"""Changes -> the operator's own command, corrected: the touched words differ, all else stays byte for byte.

A result counts only when it reads again as the change says; a text in which that fails is left to the words of the fix.
"""

from __future__ import annotations

from engine.advise.edits import edits
from engine.model import CorrectedCommand
from engine.observe import command
from engine.redact import MASK, mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.knowledge.store import Knowledge
    from engine.model import Change, Fix
    from engine.observe.command.parts import Parsed


def corrected(text: str, changes: Sequence[Change], knowledge: Knowledge) -> CorrectedCommand | None:
    """`text` with the flag and variable changes applied; None when it is no start command or nothing would change."""
    parsed = command.parse(text, knowledge)
    if not parsed.is_server:
        return None
    switches = knowledge.section("switches")
    found = [(edit, change) for change in changes for edit in edits(text, parsed, change, change.name in switches)]
    after = _spliced(text, [edit for edit, _change in found])
    if after is None or after == text:
        return None
    applied = tuple(dict.fromkeys(change for _edit, change in found))
    again = command.parse(after, knowledge)
    if not again.is_server or not all(_holds(again, change) for change in applied):
        return None
    return CorrectedCommand(text, after, applied)


def combined(text: str, fixes: Sequence[tuple[str, Fix]], knowledge: Knowledge) -> CorrectedCommand | None:
    """`text` with the first fix of each cause that touches it. `fixes` stand in the order of their causes, best first;
    one that would undo an earlier one, or worsen what it cures, is left out."""
    done: CorrectedCommand | None = None
    cured: list[str] = []
    for cause, fix in fixes:
        touched = {change.name for change in (done.changes if done else ())}
        excluded = (
            cause in cured
            or any(other in cured for other in fix.cautions)
            or any(one.name in touched for one in fix.changes)
        )
        found = None if excluded else corrected(done.after if done else text, fix.changes, knowledge)
        if found is not None:
            cured.append(cause)
            done = CorrectedCommand(text, found.after, (*(done.changes if done else ()), *found.changes))
    return done


def shown(done: CorrectedCommand, knowledge: Knowledge) -> CorrectedCommand:
    """The correction without credentials, for every output."""
    return done.but(before=masked(done.before, knowledge), after=masked(done.after, knowledge))  # type: ignore[no-any-return]


def masked(text: str, knowledge: Knowledge) -> str:
    """`text` with each credential replaced, those included that only the name of their variable or flag gives away."""
    from engine.observe.command.stated import is_secret  # noqa: PLC0415 - only where there is a command

    parsed = command.parse(text, knowledge)
    places = []
    for one in (*parsed.flags, *parsed.variables):
        if is_secret(one.name) and one.value_word is not None and one.value and one.value[0] not in "$<{":
            place = one.value_word
            raw = text[place.start : place.end]
            head = len(raw.partition("=")[0]) + 1 if place.start == one.word.start and "=" in raw else 0
            quote = (
                raw[-1:] if raw[-1:] in ("'", '"') else '"' if one.quote.startswith("entry") else ""
            )  # a bare * is YAML's
            opening = quote if raw[head : head + 1] == quote or one.quote.startswith("entry") else ""
            places.append((place.start + head, place.end, f"{opening}{MASK}{quote}"))
    return mask(_spliced(text, places) or text)


def _spliced(text: str, found: list[tuple[int, int, str]]) -> str | None:
    """The text with every edit made; None when two of them overlap."""
    after, limit = text, len(text)
    ordered = sorted(
        enumerate(found), key=lambda one: (-one[1][0], -one[1][1], -one[0])
    )  # the last of two in one place first
    for _number, (start, end, new) in ordered:
        if end > limit or start > end:
            return None
        after = after[:start] + new + after[end:]
        limit = start
    return after


def _holds(parsed: Parsed, change: Change) -> bool:
    """Whether the corrected text, read again, says what the change says."""
    if change.kind == "env":
        values = [one.value for one in parsed.variables if one.name == change.name]
    else:
        values = [one.value for one in parsed.flags if one.name == change.name]
        if change.after == "false" and any(one.name == f"--no-{change.name[2:]}" for one in parsed.flags):
            return True
    if change.after is None:
        return not values
    return bool(values) and _plain(values[-1]) == _plain(change.after)


def _plain(value: str | None) -> str:
    """Equal for two spellings of one value."""
    text = "true" if value is None else value
    if text[:1] in "{[":
        return (
            "".join(text.split())
            .replace("'", '"')
            .replace("True", "true")
            .replace("False", "false")
            .replace("None", "null")
        )
    return text.lower()
