"""Suspected causes + the operator's values -> the fixes that apply, and cautions where one would worsen another
suspect."""

from __future__ import annotations

from engine.advise import values
from engine.knowledge.conditions import negated, parse_test
from engine.knowledge.rules import caution_atom, fix_atom
from engine.model import Change, Fix, Step, Value
from engine.reason.chain import conclude
from engine.reason.infer import library
from engine.versions import Constraint, Range, holds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from engine.knowledge.store import Knowledge
    from engine.reason.chain import Backend

KINDS = ("flag", "env", "client", "infra", "install", "files", "upgrade")


class Advice(Value):
    """The fixes of each cause in the order of the knowledge base, and the steps that led to them."""

    fixes: Mapping[str, tuple[Fix, ...]]
    steps: tuple[Step, ...]


def advise(
    causes: Sequence[str],
    known_atoms: Mapping[str, Any],
    stated: Mapping[str, str],
    version: Range | None,
    knowledge: Knowledge,
    backend: Backend,
) -> Advice:
    """What to do about `causes`, ordered as they are suspected. `known_atoms` are those of the facts."""
    entries = {cause: knowledge.item("cause", cause) or {} for cause in causes}
    atoms = [f"suspect:{cause}" for cause in causes]
    for entry in entries.values():
        for fix in entry["fixes"]:
            if fix.get("when"):
                test = parse_test(fix["when"]).atom
                atoms += [f"may-{test}"] if negated(test) not in known_atoms else []
    steps = conclude(library(knowledge, "advice", "advice-watch"), dict.fromkeys(atoms), backend)
    held = {step.conclusion for step in steps}
    fixes = {
        cause: tuple(
            _fix(cause, fix, causes, held, stated, version, knowledge)
            for fix in _newest_first(entry["fixes"], version)
            if fix_atom(cause, fix["id"]) in held and _in_range(fix, version)
        )
        for cause, entry in entries.items()
    }
    return Advice(fixes, steps)


def _in_range(fix: Mapping[str, Any], version: Range | None) -> bool:
    """Whether a fix exists in at least part of the range of versions that may be running."""
    return not fix.get("applies") or version is None or holds(Constraint.parse(fix["applies"]), version) is not False


def _newest_first(fixes: Sequence[Mapping[str, Any]], version: Range | None) -> list[Mapping[str, Any]]:
    """With the version unknown, a fix that only exists in old releases comes after those that hold today."""
    if version is not None:
        return list(fixes)
    return sorted(fixes, key=lambda fix: "<" in (fix.get("applies") or ""))


def _fix(
    cause: str,
    fix: Mapping[str, Any],
    causes: Sequence[str],
    held: set[str],
    stated: Mapping[str, str],
    version: Range | None,
    knowledge: Knowledge,
) -> Fix:
    changes = tuple(_change(change, stated, version, knowledge) for change in fix.get("changes", []))
    cautions = tuple(other for other in causes if other != cause and caution_atom(cause, fix["id"], other) in held)
    return Fix(fix["id"], changes, _used(fix, stated), cautions)


def _change(
    change: Mapping[str, Any], stated: Mapping[str, str], version: Range | None, knowledge: Knowledge
) -> Change:
    kind = next(kind for kind in KINDS if change.get(kind) is not None)
    name = values.filled(str(change[kind]), stated)
    before = None
    if kind == "flag":
        before = values.current(name, stated, version, knowledge)
    elif kind == "env":
        before = stated.get(f"env.{name}")
    return Change(kind, name, before, values.target(change, name, before, stated))


def _used(fix: Mapping[str, Any], stated: Mapping[str, str]) -> dict[str, str]:
    """Only the values that the words of the fix name."""
    texts = [text for text in (*fix["text"].values(), *fix.get("commands", ()), *fix["verify"].values()) if "{" in text]
    return (
        {name: value for name, value in stated.items() if any(f"{{{name}}}" in text for text in texts)} if texts else {}
    )
