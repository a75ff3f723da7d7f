"""What an answer is worth against its trial, and the sums over many.

A cause claimed with confidence 0.5 or more must be right; below that it is a suggestion. A trial that nobody could
decide without asking passes as well when kb asks, with the right cause among the first five. A negative passes when its
status is right and nothing is claimed but causes that need no fix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import sqrt
from typing import Any, NamedTuple

from engine.knowledge.store import Knowledge
from engine.reason.rank import CLAIM
from evals.trial import QUESTION, Trial

SUGGESTED = 5  # causes among which a question must have the right one
LEAST = 40  # answers below which a band of confidence says nothing


class Judgement(NamedTuple):
    """One trial judged. For a negative only `passed` counts; `right` is about the first cause and no question."""

    trial: Trial
    status: str
    causes: tuple[str, ...]
    confidence: float
    passed: bool
    among_three: bool
    right: bool
    claimed: bool
    error: str = ""

    @property
    def wrong_claim(self) -> bool:
        return self.claimed and not self.right


def harmless(knowledge: Knowledge) -> frozenset[str]:
    """The causes that need no fix: naming one of them is no false alarm."""
    return frozenset(
        cause
        for cause in knowledge.ids("cause")
        if any(fix["kind"] == "none-needed" for fix in (knowledge.item("cause", cause) or {})["fixes"])
    )


def judge(trial: Trial, answer: Mapping[str, Any], no_fix: frozenset[str]) -> Judgement:
    """`answer` is what `kb query --json` prints, or {"error": …}; `no_fix` holds the causes that need none."""
    causes = answer.get("causes") or []
    ids = tuple(cause["id"] for cause in causes)
    confidence = float(causes[0]["confidence"]) if causes else 0.0
    status, error = str(answer.get("status", "error")), str(answer.get("error", ""))
    if trial.accept:
        right, among_three = ids[:1] != () and ids[0] in trial.accept, bool({*ids[:3]} & {*trial.accept})
        asked = trial.group == QUESTION and _asks(answer) and bool({*ids[:SUGGESTED]} & {*trial.accept})
        claimed = bool(ids) and confidence >= CLAIM
        return Judgement(trial, status, ids, confidence, right or asked, among_three or asked, right, claimed, error)
    claims = {cause["id"] for cause in causes if cause["confidence"] >= CLAIM} - no_fix
    fine = status in trial.statuses or (trial.group in ("healthy", "negative:healthy") and bool({*ids[:1]} & no_fix))
    passed = fine and not claims
    return Judgement(trial, status, ids, confidence, passed, passed, passed, bool(claims), error)


def _asks(answer: Mapping[str, Any]) -> bool:
    question = answer.get("question") or {}
    return bool(question.get("options") or question.get("command"))


# -- sums -------------------------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """The trials of one group, counted."""

    name: str
    trials: int
    passed: int
    among_three: int
    claimed_right: int
    wrong_claims: int


def tally(judgements: Iterable[Judgement], key: Callable[[Judgement], Iterable[str]]) -> list[Row]:
    """One row for each name that `key` gives, in alphabetical order."""
    rows: dict[str, Row] = {}
    for one in judgements:
        for name in key(one):
            row = rows.get(name, Row(name, 0, 0, 0, 0, 0))
            rows[name] = Row(
                name,
                row.trials + 1,
                row.passed + one.passed,
                row.among_three + one.among_three,
                row.claimed_right + (one.right and one.claimed),
                row.wrong_claims + one.wrong_claim,
            )
    return [rows[name] for name in sorted(rows)]


def interval(hits: int, trials: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson)."""
    z, share = 1.96, hits / trials
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / (1 + z * z / trials)
    return max(0.0, middle - half), min(1.0, middle + half)


class Band(NamedTuple):
    """First causes with a confidence from `low` to below `high`: what was stated on average, how many were right."""

    low: float
    high: float
    answers: int
    stated: float
    right: int


def bands(judgements: Iterable[Judgement], least: int = LEAST) -> list[Band]:
    """First causes by tenths of confidence, lowest first; neighbours are joined until each band has `least` answers."""
    tenths: list[list[Judgement]] = [[] for _ in range(10)]
    for one in judgements:
        if one.trial.accept and one.causes:
            tenths[min(int(one.confidence * 10), 9)].append(one)
    groups: list[tuple[int, int, list[Judgement]]] = []
    low, held = 0, []
    for number, tenth in enumerate(tenths):
        held += tenth
        if len(held) >= least:
            groups.append((low, number + 1, held))
            low, held = number + 1, []
    if held and groups:
        first, _end, members = groups.pop()
        groups.append((first, 10, members + held))
    elif held:
        groups.append((0, 10, held))
    return [_band(*group) for group in groups]


def _band(low: int, high: int, members: Sequence[Judgement]) -> Band:
    stated = sum(one.confidence for one in members) / len(members)
    return Band(low / 10, high / 10, len(members), stated, sum(one.right for one in members))


def mixed_up(judgements: Iterable[Judgement]) -> list[tuple[int, str, str]]:
    """How often a wrong cause stood first, by the cause that was wanted and the one that came; most frequent first."""
    counts: dict[tuple[str, str], int] = {}
    for one in judgements:
        if one.trial.accept and one.causes and not one.right:
            pair = (one.trial.accept[0], one.causes[0])
            counts[pair] = counts.get(pair, 0) + 1
    return sorted(((count, *pair) for pair, count in counts.items()), key=lambda row: (-row[0], row[1:]))
