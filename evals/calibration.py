"""Fits the table that turns the ranking's confidence into one that can be trusted.

Isotonic regression of "the first cause is right" on the uncalibrated confidence, in five folds split by cause, so that
two trials of one trouble never stand on both sides. Each fold gives a table; their mean is printed, together with how
the tables do on the trials that they did not see. Somebody reads it and puts it into kb/weights.yaml.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple
from zlib import crc32

from engine.knowledge.store import Knowledge
from engine.reason.rank import CLAIM, calibrated
from evals import ask
from evals.score import harmless, judge
from evals.trial import NOT_VISIBLE, Trial

FOLDS = 5
KNOTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 1.0)
IDENTITY = [[0.0, 0.0], [1.0, 1.0]]
STEP = 0.005  # by how much the table rises at least from knot to knot, so that it never makes two confidences equal

Table = list[list[float]]


class Point(NamedTuple):
    """One answer: what the ranking said of its first cause, and whether that was right."""

    stated: float
    right: bool
    fold: int


def report(trials: Sequence[Trial], knowledge: Knowledge) -> str:
    """The fitted table as a line for kb/weights.yaml, and what it is worth on unseen causes."""
    before = knowledge.section("weights")["calibration"]
    points = collect(trials, knowledge)
    tables = [fit([point for point in points if point.fold != fold]) for fold in range(FOLDS)]
    lines = [
        f"{len(points)} answers with a first cause, {FOLDS} folds split by cause",
        _worth("uncalibrated", points, [IDENTITY] * FOLDS),
        _worth("in kb/weights.yaml", points, [before] * FOLDS),
        _worth("fitted, on unseen causes", points, tables),
        f"calibration: {mean(tables)}",
    ]
    return "\n".join(lines) + "\n"


def collect(trials: Sequence[Trial], knowledge: Knowledge) -> list[Point]:
    """The uncalibrated confidence of every first cause. A cause named where there is nothing to find is a wrong one."""
    weights, no_fix = knowledge.section("weights"), harmless(knowledge)
    fitted, weights["calibration"] = weights["calibration"], IDENTITY
    try:
        judgements = [judge(one, ask.in_process(one, knowledge), no_fix) for one in trials if one.group != NOT_VISIBLE]
    finally:
        weights["calibration"] = fitted
    return [
        Point(one.confidence, bool(one.trial.accept) and one.right, fold(one.trial))
        for one in judgements
        if one.causes and (one.trial.accept or one.causes[0] not in no_fix)
    ]


def fold(trial: Trial) -> int:
    """The fold of a trial: that of its cause, or of its own name where it has none."""
    return crc32((trial.accept[0] if trial.accept else trial.name).encode()) % FOLDS


def fit(points: Sequence[Point]) -> Table:
    """The isotonic curve through `points`, read at the knots and made to rise strictly from 0 to at most 1."""
    blocks = _pooled(points)
    values = [0.0] + [_read(blocks, knot) for knot in KNOTS[1:]]
    for number in range(1, len(values)):
        values[number] = max(values[number], values[number - 1] + STEP)
    highest = 1.0 - STEP
    for number in range(len(values) - 1, 0, -1):
        values[number] = min(values[number], highest - STEP * (len(values) - 1 - number))
    return [[knot, round(value, 3)] for knot, value in zip(KNOTS, values, strict=True)]


def _pooled(points: Sequence[Point]) -> list[tuple[float, float, int]]:
    """Blocks that rise (mean of what was stated, share right, answers), by pooling adjacent violators. Two made-up
    answers, one right and one wrong, keep a small block from certainty."""
    blocks: list[tuple[float, float, int]] = []
    for stated, of_one in groupby(sorted(points), lambda point: point.stated):
        right = [point.right for point in of_one]
        blocks.append((stated * len(right), float(sum(right)), len(right)))
        while len(blocks) > 1 and blocks[-2][1] / blocks[-2][2] >= blocks[-1][1] / blocks[-1][2]:
            later = blocks.pop()
            blocks[-1] = (blocks[-1][0] + later[0], blocks[-1][1] + later[1], blocks[-1][2] + later[2])
    return [(stated / n, (right + 1) / (n + 2), n) for stated, right, n in blocks]


def _read(blocks: Sequence[tuple[float, float, int]], at: float) -> float:
    """The curve at one confidence, between the centres of its blocks."""
    before = [(x, y) for x, y, _n in blocks if x <= at] or [(0.0, 0.0)]
    after = [(x, y) for x, y, _n in blocks if x > at] or [(1.0, before[-1][1])]
    (low, at_low), (high, at_high) = before[-1], after[0]
    return at_low if high <= low else at_low + (at_high - at_low) * (at - low) / (high - low)


def mean(tables: Sequence[Table]) -> Table:
    """The mean of tables with the same knots."""
    return [[rows[0][0], round(sum(row[1] for row in rows) / len(rows), 3)] for rows in zip(*tables, strict=True)]


def _worth(name: str, points: Sequence[Point], tables: Sequence[Table]) -> str:
    """One line: squared error, how many first causes are claimed, and how many of those are wrong."""
    stated = [(calibrated(point.stated, tables[point.fold]), point.right) for point in points]
    error = sum((confidence - right) ** 2 for confidence, right in stated) / max(len(stated), 1)
    claims = [right for confidence, right in stated if confidence >= CLAIM]
    wrong = len(claims) - sum(claims)
    return f"{name}: squared error {error:.4f}, {len(claims)} claims of which {wrong} wrong"
