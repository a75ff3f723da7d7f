"""Which one question is worth asking: the one whose answer is expected to say most about the causes still open."""

from __future__ import annotations

from math import exp, log2

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from engine.knowledge.store import Knowledge
    from engine.model import Fact
    from engine.reason.rank import Suspect

CONSIDERED = 10  # best causes among which a question must tell apart
GENERAL = "what-goes-wrong"  # the question for a bare cry for help


def question(suspects: Sequence[Suspect], facts: Sequence[Fact], knowledge: Knowledge) -> str | None:
    """The id of the best question, or None when none would say enough or change the first cause."""
    open_causes = suspects[:CONSIDERED]
    if len(open_causes) < 2 or open_causes[0].verdict == "confirmed":
        return None
    weights = knowledge.section("weights")
    known = {fact.name for fact in facts if fact.grade == "exact"}
    scores = [exp(min(one.score, 60.0)) for one in open_causes]
    prior = [score / sum(scores) for score in scores]
    shares = [(knowledge.item("logic", one.cause) or {}).get("shares", {}) for one in open_causes]
    scored = []
    for name, entry in knowledge.section("questions").items():
        stated = [of_cause.get(name) for of_cause in shares]
        if name == GENERAL or not any(stated) or _answered(entry, known):
            continue
        gain = _gain(prior, stated)
        if gain is not None and gain >= weights["option_share"]["floor_bits"]:
            scored.append((-gain / weights["cost"][entry["cost"]], name))
    return min(scored)[1] if scored else None


def _answered(entry: Mapping[str, Any], known: set[str]) -> bool:
    """Whether every fact that its options would settle is known already."""
    settled = {name for option in entry["options"] for name in option.get("facts", {})}
    return settled <= known


def _gain(prior: Sequence[float], stated: Sequence[tuple[float, ...] | None]) -> float | None:
    """Expected loss of entropy in bits; None when the first cause stays first whatever the answer."""
    options = next(len(share) for share in stated if share is not None)
    shares = [share or (1.0 / options,) * options for share in stated]
    expected, moves = 0.0, False
    for number in range(options):
        joint = [p * share[number] for p, share in zip(prior, shares, strict=True)]
        mass = sum(joint)
        posterior = [part / mass for part in joint]
        expected += mass * _entropy(posterior)
        moves = moves or max(posterior) > posterior[0]
    return _entropy(prior) - expected if moves else None


def _entropy(shares: Sequence[float]) -> float:
    return -sum(share * log2(share) for share in shares if share > 0)
