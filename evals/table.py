"""The figures as Markdown: the same for the terminal and for evals/README.md, so no timing and no hash is in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from evals.score import Band, Judgement, Row, bands, interval, mixed_up, tally
from evals.trial import NOT_VISIBLE, QUESTION

SHOWN = 15  # pairs of mixed-up causes
LANGUAGES = {"en": "English", "zh": "Chinese"}


def table(judgements: Sequence[Judgement], areas: Mapping[str, str], everything: bool = False) -> str:
    """All figures. `areas` maps a cause to its area; trials of other causes are counted only with `everything`."""
    return "\n\n".join("\n".join(part) for part in _parts(judgements, areas, everything)) + "\n"


def _parts(judgements: Sequence[Judgement], areas: Mapping[str, str], everything: bool) -> Iterator[Iterable[str]]:
    lacking = [one for one in judgements if _lacks(one, areas)]
    counted = [one for one in judgements if everything or not _lacks(one, areas)]
    positive = [one for one in counted if one.trial.accept]
    decidable = [one for one in positive if one.trial.group not in (QUESTION, NOT_VISIBLE)]
    yield [
        f"The knowledge base holds {len(areas)} causes. Of {len(judgements)} trials {len(lacking)} have a cause that "
        f"it lacks; {len(counted)} are counted below."
    ]
    yield _rows("group", tally(positive, lambda one: (one.trial.group,)))
    yield _rows("language", tally(decidable, _language))
    yield _rows("area", tally(decidable, lambda one: (areas.get(one.trial.accept[0], "not held"),)))
    yield _nothing(tally([one for one in counted if not one.trial.accept], _kinds), lacking)
    yield _bands(bands(counted))
    yield _mixed(mixed_up(counted)[:SHOWN])


def _lacks(one: Judgement, areas: Mapping[str, str]) -> bool:
    return bool(one.trial.accept) and one.trial.accept[0] not in areas


def _language(one: Judgement) -> tuple[str, ...]:
    """Where there is a log, the language matters less; so the two are told apart."""
    name = LANGUAGES.get(one.trial.lang)
    return (f"{name}, {'with' if one.trial.logs else 'without'} a log",) if name else ()


def _kinds(one: Judgement) -> tuple[str, ...]:
    group = one.trial.group
    return (group,) if group == "healthy" else (group, "negative, all")


def _rows(by: str, rows: Iterable[Row]) -> Iterator[str]:
    yield f"| {by} | trials | right first | among the first three | claimed when right | claimed and wrong |"
    yield "|---|---:|---|---|---:|---:|"
    for row in rows:
        claimed = f"{100 * row.claimed_right / max(row.passed, 1):.0f} %"
        wrong = f"{100 * row.wrong_claims / row.trials:.1f} %"
        first, three = share(row.passed, row.trials), share(row.among_three, row.trials)
        yield f"| {row.name} | {row.trials} | {first} | {three} | {claimed} | {wrong} |"


def _nothing(rows: Iterable[Row], lacking: Sequence[Judgement]) -> Iterator[str]:
    """Negatives, and causes that are not held: of those the best that can be done is to claim nothing."""
    yield "| nothing to find | trials | right | claimed something |"
    yield "|---|---:|---|---:|"
    for row in rows:
        yield f"| {row.name} | {row.trials} | {share(row.passed, row.trials)} | {row.wrong_claims} |"
    if lacking:
        wrong = sum(one.wrong_claim for one in lacking)
        yield f"| cause not held | {len(lacking)} | {share(len(lacking) - wrong, len(lacking))} | {wrong} |"


def _bands(rows: Iterable[Band]) -> Iterator[str]:
    yield "| stated confidence | answers | stated on average | first cause right |"
    yield "|---|---:|---:|---|"
    for band in rows:
        stated = f"{100 * band.stated:.0f} %"
        yield f"| {band.low:.1f} to {band.high:.1f} | {band.answers} | {stated} | {share(band.right, band.answers)} |"


def _mixed(pairs: Iterable[tuple[int, str, str]]) -> Iterator[str]:
    yield "| most mixed up: wanted | came first | times |"
    yield "|---|---|---:|"
    for count, wanted, came in pairs:
        yield f"| {wanted} | {came} | {count} |"


def share(hits: int, trials: int) -> str:
    """A share with its 95 % interval."""
    if not trials:
        return "-"
    low, high = interval(hits, trials)
    return f"{100 * hits / trials:.1f} % ({100 * low:.0f}-{100 * high:.0f})"
