"""Candidate causes -> their order, how sure it is, and what was ruled out.

score = prior + the sum over independent observations of the strongest item of each; an item that rests partly on what
was counted already counts for the part that is new. Confidence is the softmax of the
scores over all candidates and one explicit "none of these", then a monotone calibration that cannot change the order.
"""

from __future__ import annotations

from itertools import pairwise
from math import exp

from engine.model import Evidence, Value
from engine.reason.atoms import GRADES
from engine.redact import mask
from engine.versions import Constraint, holds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from engine.knowledge.store import Knowledge
    from engine.model import Fact, Origin, Verdict, Weight
    from engine.reason.infer import Conclusions
    from engine.versions import Range

STEPS: tuple[Weight, ...] = ("decisive", "strong", "some", "weak")
CLAIM = 0.5
CONFIRMED = 0.9
MOST = 10  # causes that an answer names at most


class Item(Value):
    """One piece of evidence for one cause: its weight after grading, its worth, and the facts that it rests on."""

    name: str
    weight: Weight
    worth: float
    facts: tuple[Fact, ...]


class Suspect(Value):
    """A candidate with its score. `decisive` when a decisive item holds and nothing speaks against it."""

    cause: str
    score: float
    items: tuple[Item, ...]
    against: tuple[Item, ...]
    decisive: bool
    confidence: float = 0.0
    verdict: Verdict = "possible"


class Ranking(Value):
    suspects: tuple[Suspect, ...]
    ruled_out: tuple[tuple[str, tuple[Evidence, ...]], ...]


def rank(conclusions: Conclusions, knowledge: Knowledge, version: Range | None, platform: str | None) -> Ranking:
    """The candidates in order, best first; ties go to the more common cause, then by id."""
    found = _items(conclusions, knowledge)
    suspects, ruled_out = [], []
    for cause in sorted(conclusions.of("cause")):
        logic = _logic(cause, knowledge)
        reason = _excluded(cause, found, logic, version, platform)
        if reason is not None:
            ruled_out.append((cause, reason))
            continue
        suspects.append(_suspect(cause, _with_refined(cause, logic, found), logic, knowledge))
    weights = knowledge.section("weights")
    ordered = sorted(
        suspects, key=lambda one: (-one.score, -weights["prior"][_logic(one.cause, knowledge)["prior"]], one.cause)
    )
    return Ranking(tuple(confident(ordered, weights)), tuple(ruled_out))


def _logic(cause: str, knowledge: Knowledge) -> Mapping[str, Any]:
    found = knowledge.item("logic", cause)
    assert found is not None, cause  # the rules and the logic come from one compilation
    return found


def _items(conclusions: Conclusions, knowledge: Knowledge) -> dict[str, list[Item]]:
    """The items that hold, by cause, strongest first."""
    weights = knowledge.section("weights")
    found: dict[str, list[Item]] = {}
    for name in conclusions.of("item"):
        cause = name.rpartition(".")[0]
        facts = conclusions.grounds[f"item:{name}"]
        weight = _graded(_logic(cause, knowledge)["weights"][name], facts)
        worth = _resemblance(facts, weights) if name.endswith(".resemblance") else weights["weight"][weight]
        found.setdefault(cause, []).append(Item(name, weight, worth, facts))
    for items in found.values():
        items.sort(key=lambda item: (-abs(item.worth), item.name))
    return found


def _graded(weight: Weight, facts: Sequence[Fact]) -> Weight:
    """The weight word, as many steps down as the least exact fact under it."""
    if weight not in STEPS:
        return weight
    steps = max((GRADES[fact.grade] for fact in facts), default=0)
    return STEPS[min(STEPS.index(weight) + steps, len(STEPS) - 1)]


def _resemblance(facts: Sequence[Fact], weights: Mapping[str, Any]) -> float:
    lexical = weights["lexical"]
    share = max(float(fact.value) for fact in facts)
    return float(min(lexical["most"], lexical["most"] * share / lexical["first"]))


def _excluded(
    cause: str,
    found: Mapping[str, Sequence[Item]],
    logic: Mapping[str, Any],
    version: Range | None,
    platform: str | None,
) -> tuple[Evidence, ...] | None:
    """The evidence that removes a candidate, empty when version or platform do; None when it stays."""
    out = tuple(_evidence(item) for item in found.get(cause, ()) if item.weight == "rules_out")
    if out:
        return out
    if logic["platform"] and platform and platform not in logic["platform"]:
        return ()
    if logic["vllm"] and version is not None and holds(Constraint.parse(logic["vllm"]), version) is False:
        return ()
    return None


def _with_refined(cause: str, logic: Mapping[str, Any], found: Mapping[str, Sequence[Item]]) -> list[Item]:
    """A cause that refines another takes its evidence, if it has some of its own."""
    items = list(found.get(cause, ()))
    if any(item.worth > 0 and not item.name.endswith(".resemblance") for item in items):
        for other in logic["refines"]:
            items += [
                item for item in found.get(other, ()) if item.worth > 0 and not item.name.endswith(".resemblance")
            ]
    return sorted(items, key=lambda item: (-abs(item.worth), item.name))


def _suspect(cause: str, items: Sequence[Item], logic: Mapping[str, Any], knowledge: Knowledge) -> Suspect:
    score = float(knowledge.section("weights")["prior"][logic["prior"]])
    used: set[str] = set()
    counted: list[Item] = []
    against: list[Item] = []
    for item in items:
        sources = {fact.origin.source for fact in item.facts}
        new = len(sources - used) / len(sources) if item.worth > 0 else 1.0
        if not new:
            continue  # the same observation seen again, as sign, symptom or word
        used |= sources
        score += item.worth * new
        (counted if item.worth > 0 else against).append(item)
    decisive = any(item.weight == "decisive" for item in counted) and not against
    return Suspect(cause, round(score, 6), tuple(counted), tuple(against), decisive)


def confident(ordered: Sequence[Suspect], weights: Mapping[str, Any]) -> list[Suspect]:
    """The suspects with confidence and verdict."""
    none = exp(weights["none_of_these" if ordered and _has_more_than_words(ordered[0]) else "none_of_these_by_words"])
    total = none + sum(exp(min(one.score, 60.0)) for one in ordered)
    out = []
    for one in ordered:
        confidence = calibrated(exp(min(one.score, 60.0)) / total, weights["calibration"])
        out.append(one.but(confidence=round(confidence, 3), verdict=_verdict(confidence, one.decisive)))
    return out


def _has_more_than_words(suspect: Suspect) -> bool:
    facts = [fact for item in suspect.items for fact in item.facts]
    return any(fact.origin.kind not in ("complaint", "context") or fact.name.startswith("sign.") for fact in facts)


def calibrated(confidence: float, table: Sequence[Sequence[float]]) -> float:
    """The stated confidence on the fitted line between the table's points."""
    for (low, at_low), (high, at_high) in pairwise(table):
        if confidence <= high:
            return at_low + (at_high - at_low) * ((confidence - low) / (high - low))
    return table[-1][1]


def _verdict(confidence: float, decisive: bool) -> Verdict:
    if confidence >= CONFIRMED and decisive:
        return "confirmed"
    return "likely" if confidence >= CLAIM else "possible"


def _evidence(item: Item) -> Evidence:
    return Evidence(_shown(item.facts[0].origin), item.weight)


def _shown(origin: Origin) -> Origin:
    """The origin without credentials: evidence is quoted in every answer."""
    text = mask(origin.text)
    return origin if text == origin.text else origin.but(text=text)


def evidence(items: Iterable[Item]) -> tuple[Evidence, ...]:
    """What an answer shows for `items`: each observation once, with the strongest weight it had."""
    shown: dict[tuple[object, ...], Evidence] = {}
    for item in items:
        for fact in item.facts:
            origin = fact.origin
            shown.setdefault(
                (origin.kind, origin.file, origin.line, origin.text), Evidence(_shown(origin), item.weight)
            )
    return tuple(shown.values())
