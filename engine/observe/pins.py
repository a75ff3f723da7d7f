"""Installed versions against what the reference knows that a vLLM release pins.

The reference holds some releases. Between two of them a pin may have changed, so a package is only called unfit when
neither the release below nor the one above allows it.
"""

from __future__ import annotations

from engine.errors import KnowledgeError
from engine.model import Fact, Origin
from engine.versions import Constraint, Range, holds, intersect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from engine.knowledge.store import Knowledge

    Release = tuple[Range, Mapping[str, Any]]


def facts(stated: Sequence[Fact], version: Range, knowledge: Knowledge) -> Iterator[Fact]:
    """The pin of torch for this version, and what of the installed packages does not fit it."""
    releases = _releases(knowledge)
    pins = {str(entry["torch"]) for release, entry in releases if _same_minor(str(entry["vllm"]), version)}
    if len(pins) == 1:
        yield Fact("derived.pinned_torch", next(iter(pins)), Origin("derived", f"torch {min(pins)}", "reference:torch"))
    installed = [fact for fact in stated if fact.name in ("torch.version", "transformers.version")]
    near = _near(releases, version) if installed else []
    for fact in installed if near else ():
        if fact.name == "torch.version":
            yield from _of_torch(fact, pins, {str(entry["torch"]) for entry in near})
        else:
            yield from _of_transformers(
                fact, [str(entry["transformers"]) for entry in near if entry.get("transformers")]
            )


def _releases(knowledge: Knowledge) -> list[Release]:
    kept = _kept.get(knowledge.hash)
    if kept is not None:
        return kept
    found = []
    for number in knowledge.ids("version"):
        entry, release = knowledge.item("version", number), Range.parse(number)
        if entry is not None and release is not None:
            found.append((release, {"vllm": number, **entry}))
    _kept.clear()  # one knowledge base is in use at a time
    _kept[knowledge.hash] = sorted(found, key=lambda one: one[0].low)
    return _kept[knowledge.hash]


_kept: dict[str, list[Release]] = {}


def _same_minor(number: str, version: Range) -> bool:
    return holds(Constraint.parse(f"=={'.'.join(number.split('.')[:2])}.*"), version) is True


def _near(releases: Sequence[Release], version: Range) -> list[Mapping[str, Any]]:
    """The release itself, or those that the version may be and lies between; none for one beyond them all."""
    inside = [entry for release, entry in releases if intersect(release, version)]
    exact = [
        entry
        for release, entry in releases
        if release == version or (release.low <= version.low and version.high <= release.high)
    ]
    if exact:
        return exact
    below = [entry for release, entry in releases if release.high < version.low]
    above = [entry for release, entry in releases if release.low > version.high]
    return [*below[-1:], *inside, *above[:1]] if (below or inside) and (above or inside) else []


def _of_torch(fact: Fact, pins: set[str], allowed: set[str]) -> Iterator[Fact]:
    number = str(fact.value).split("+")[0]
    fitting = {pin for pin in allowed if f"{pin}.".startswith(f"{number}.")}
    origin = fact.origin.but(kind="derived")
    if not fitting:
        yield Fact("derived.torch_not_pinned", True, origin)
    elif fitting == pins:
        yield Fact("derived.torch_not_pinned", True, origin, known=False)


def _of_transformers(fact: Fact, demands: Sequence[str]) -> Iterator[Fact]:
    installed = Range.parse(str(fact.value))
    try:
        verdicts = [holds(Constraint.parse(demand.replace(" ", "")), installed) for demand in demands]
        least = [holds(Constraint.parse(demand.replace(" ", "").split(",")[0]), installed) for demand in demands]
    except KnowledgeError:  # a demand that is written in a way that constraints do not know says nothing
        return
    if installed is None or not verdicts or any(verdict is not False for verdict in verdicts):
        return
    too_old = all(verdict is False for verdict in least)
    name = "derived.transformers_too_old" if too_old else "derived.transformers_too_new"
    yield Fact(name, True, fact.origin.but(kind="derived"))
