"""The operator's own values: what is set, what the default is in their version, and what a fix makes of it."""

from __future__ import annotations

from engine.reason.atoms import TRUST, number
from engine.redact import MASK, mask
from engine.versions import Constraint, Range, holds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from engine.knowledge.store import Knowledge
    from engine.model import Fact

# Flags and variables whose names end so hold credentials.
SECRET = ("key", "token", "password", "passwd", "secret", "credentials")
_SHARES = {"--gpu-memory-utilization": (0.05, 0.98)}  # settings that are a share: least and most that make sense


def known(facts: Sequence[Fact]) -> dict[str, str]:
    """Each fact's value as text, from its most trusted source; the first statement of a source counts."""
    found: dict[str, tuple[int, str]] = {}
    for fact in facts:
        trust = TRUST.index(fact.origin.kind)
        if fact.known and (fact.name not in found or trust < found[fact.name][0]):
            found[fact.name] = (trust, _shown(fact))
    return {name: value for name, (_trust, value) in found.items()}


def _shown(fact: Fact) -> str:
    """The value as text, without credentials."""
    if fact.name.startswith(("args.", "env.")) and fact.name.lower().endswith(SECRET):
        return MASK
    return mask(fact.value) if isinstance(fact.value, str) else _text(fact.value)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and abs(value) < 1e15 and value == int(value):
        return str(int(value))
    return str(value)


def current(flag: str, values: Mapping[str, str], version: Range | None, knowledge: Knowledge) -> str | None:
    """What a flag is set to now: by the operator, else its default in their version; None when it is unset or
    unknown."""
    stated = values.get(f"args.{flag.lstrip('-')}")
    return stated if stated is not None else default(flag, version, knowledge)


def default(flag: str, version: Range | None, knowledge: Knowledge) -> str | None:
    """The default of a flag: the newest, unless the version is known to be older than the last change."""
    entry = knowledge.item("flag", flag)
    if entry is None:
        return None
    value: Any = entry.get("default")
    if version is not None:
        for step in reversed(entry.get("defaults", [])):
            if holds(Constraint.parse(f">={step['vllm']}"), version) is not False:
                value = step["value"]
                break
    return None if value is None else _text(value)


def target(change: Mapping[str, Any], flag: str, now: str | None, values: Mapping[str, str]) -> str | None:
    """What a change makes of a setting; None removes it. Where the present value must be known and is not, the word of
    the change itself (`half`, `+0.03`) comes back, for the renderer to put into words."""
    wanted = change.get("to")
    if wanted is None:
        return None
    text = _text(wanted)
    if text.startswith("{") and text.endswith("}") and text[1:-1] not in values:
        text = _text(change["otherwise"]) if change.get("otherwise") is not None else text
    if text in ("half", "double") or (text[:1] in "+-" and number(text[1:]) is not None):
        return _computed(text, flag, now)
    return filled(text, values)


def _computed(text: str, flag: str, now: str | None) -> str:
    value = number(now)
    if now is None or value is None or abs(value) >= 1e15:
        return text
    if text in ("half", "double"):
        result = value / 2 if text == "half" else value * 2
        return str(max(1, int(result))) if value == int(value) else f"{result:g}"
    least, most = _SHARES.get(flag, (0.0, float("inf")))
    result = min(most, max(least, value + float(text)))
    if (result - value) * float(text) <= 0:
        return text  # already beyond what such a step could better
    return str(int(result)) if result == int(result) else f"{result:.4g}"


def filled(text: str, values: Mapping[str, str]) -> str:
    """`text` with each `{fact}` that is known replaced by its value."""
    for name, value in values.items():
        if "{" in text:
            text = text.replace(f"{{{name}}}", value)
    return text
