"""The order of the suspects, how sure it is, and what was ruled out: design.md §4, figure by figure."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.knowledge.compile import build
from engine.knowledge.store import Knowledge
from engine.reason import rank
from engine.reason.rank import CLAIM, CONFIRMED, Item, Suspect, calibrated, confident
from engine.versions import Range
from tests.engine.reason.facts import fact, order, ranked, score, suspect
from tests.support import MINI, edited, mini

if TYPE_CHECKING:
    from pathlib import Path

DECISIVE, STRONG, SOME, WEAK, AGAINST = 6.0, 3.2, 1.6, 0.7, -2.4
COMMON, USUAL, RARE = 0.6, 0.0, -0.7
NEED, LENGTH = "sign.kv-need-exceeds", "sign.estimated-length"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return shutil.copytree(MINI, tmp_path / "kb")


def knowledge(home: Path) -> Knowledge:
    return Knowledge(build(str(home)))


# -- scores -----------------------------------------------------------------------------------------------------------


def test_a_score_is_the_prior_and_the_items() -> None:
    assert score(ranked(fact(NEED)), "window-too-large") == COMMON + DECISIVE
    assert score(ranked(fact("sign.cuda-out-of-memory")), "budget-too-large") == pytest.approx(USUAL + STRONG)
    assert score(ranked(fact("says.hang")), "shm-too-small") == pytest.approx(RARE + WEAK)


def test_independent_observations_add_up() -> None:
    assert score(ranked(fact(NEED), fact(LENGTH)), "window-too-large") == pytest.approx(COMMON + DECISIVE + STRONG)


def test_one_observation_counts_once_with_its_strongest_item() -> None:
    seen_twice = ranked(fact(NEED, source="log:0:7"), fact(LENGTH, source="log:0:7"))
    assert score(seen_twice, "window-too-large") == COMMON + DECISIVE


def test_a_sign_its_symptom_and_the_words_for_it_are_one_observation_where_they_are_one_place() -> None:
    here = "complaint:3"
    words = fact("says.oom", kind="complaint", source=here)
    sign = fact("sign.cuda-out-of-memory", kind="complaint", source=here)
    assert score(ranked(sign), "budget-too-large") == score(ranked(words, sign), "budget-too-large")


def test_what_speaks_against_a_cause_lowers_it() -> None:
    found = ranked(fact(NEED), fact("stage", "serving"))
    assert score(found, "window-too-large") == pytest.approx(COMMON + DECISIVE + AGAINST)
    assert [item.weight for item in suspect(found, "window-too-large").against] == ["against"]


def test_none_holds_only_for_what_was_denied() -> None:
    unknown = ranked(fact("says.oom"))
    denied = ranked(fact("says.oom"), fact("says.under-load", known=False))
    assert score(denied, "budget-too-large") == pytest.approx(score(unknown, "budget-too-large") + AGAINST)


@pytest.mark.parametrize(("grade", "worth"), [("exact", DECISIVE), ("near", STRONG), ("faint", SOME)])
def test_a_grade_lowers_the_weight_word_step_by_step(grade: Any, worth: float) -> None:
    assert score(ranked(fact(NEED, grade=grade)), "window-too-large") == pytest.approx(COMMON + worth)


def test_no_grade_lowers_a_weight_below_weak() -> None:
    found = ranked(fact("says.hang", grade="faint"))
    assert [item.weight for item in suspect(found, "shm-too-small").items] == ["weak"]


def test_the_least_exact_fact_of_an_item_decides_its_grade() -> None:
    found = ranked(fact("says.hang"), fact("where", "docker", grade="near"))
    assert "some" in [item.weight for item in suspect(found, "shm-too-small").items]


# -- exclusion --------------------------------------------------------------------------------------------------------


def test_what_rules_a_cause_out_removes_it_and_is_kept_as_the_reason() -> None:
    bare = fact("where", "bare-metal", "answer")
    found = ranked(fact("sign.shm-segment-fails"), bare)
    assert order(found) == []
    ((cause, evidence),) = found.ruled_out
    assert cause == "shm-too-small"
    assert [(one.origin, one.weight) for one in evidence] == [(bare.origin, "rules_out")]


def test_a_cause_that_nothing_suggests_is_not_ruled_out_either() -> None:
    assert ranked(fact("where", "bare-metal", "answer")).ruled_out == ()


@pytest.mark.parametrize(("platform", "stays"), [("cuda", True), ("rocm", True), ("npu", False), (None, True)])
def test_a_cause_of_other_platforms_is_ruled_out(platform: str | None, stays: bool) -> None:
    found = ranked(fact("sign.cuda-out-of-memory"), platform=platform)
    assert ("budget-too-large" in order(found)) is stays
    assert [cause for cause, _evidence in found.ruled_out] == ([] if stays else ["budget-too-large"])


@pytest.mark.parametrize(
    ("version", "stays"), [("0.4.3", False), ("0.5.0", True), ("0.30", True), ("<0.8", True), ("nightly", True)]
)
def test_a_cause_of_other_versions_is_ruled_out_only_when_none_can_be_running(version: str, stays: bool) -> None:
    assert ("window-too-large" in order(ranked(fact(NEED), version=Range.parse(version)))) is stays


# -- order ------------------------------------------------------------------------------------------------------------


def test_the_higher_score_comes_first() -> None:
    found = ranked(fact("says.oom"), fact("stage", "serving"), fact("says.context-length"))
    assert order(found)[0] == "budget-too-large"
    assert [one.score for one in found.suspects] == sorted((one.score for one in found.suspects), reverse=True)


def test_ties_go_to_the_more_common_cause_and_then_by_id(home: Path) -> None:
    shm = (home / "causes/deployment/shm-too-small.yaml").read_text(encoding="utf-8")
    before, after = shm[: shm.index("evidence:")], shm[shm.index("checks:") :]
    for name, prior, weight, other in (
        ("b", "rare", "some", "hang"),
        ("c", "common", "weak", "oom"),
        ("a", "rare", "some", "slow"),
    ):
        items = f"evidence:\n  - {{says: request, weight: {weight}}}\n  - {{says: {other}, weight: some}}\n"
        text = f"{before}{items}{after}".replace("id: shm-too-small", f"id: tie-{name}")
        text = text.replace("prior: rare", f"prior: {prior}")
        (home / f"causes/deployment/tie-{name}.yaml").write_text(text, encoding="utf-8")
    edited(home, "weights.yaml", "common: 0.6, usual: 0.0, rare: -0.7", "common: 0.9, usual: 0.0, rare: 0.0")
    found = ranked(fact("says.request"), knowledge=knowledge(home))
    assert {one.score for one in found.suspects} == {1.6}
    assert order(found) == ["tie-c", "tie-a", "tie-b"]


def test_a_cause_that_refines_another_takes_its_evidence_when_it_has_some_of_its_own(home: Path) -> None:
    edited(
        home,
        "causes/memory/window-too-large.yaml",
        "evidence:\n",
        "more_specific_than: [budget-too-large]\nevidence:\n",
    )
    refined = knowledge(home)
    facts = [fact("sign.cuda-out-of-memory"), fact(LENGTH)]
    assert order(ranked(*facts)) == ["window-too-large", "budget-too-large"]
    found = ranked(*facts, knowledge=refined)
    assert score(found, "window-too-large") == pytest.approx(COMMON + STRONG + STRONG)
    assert order(ranked(fact("sign.cuda-out-of-memory"), knowledge=refined)) == ["budget-too-large"]


def test_what_speaks_against_the_other_cause_is_not_taken(home: Path) -> None:
    edited(
        home,
        "causes/memory/window-too-large.yaml",
        "evidence:\n",
        "more_specific_than: [budget-too-large]\nevidence:\n",
    )
    facts = [fact(LENGTH), fact("says.oom"), fact("says.under-load", known=False)]
    assert suspect(ranked(*facts, knowledge=knowledge(home)), "window-too-large").against == ()


# -- confidence -------------------------------------------------------------------------------------------------------


def made(score: float, decisive: bool = False, kind: Any = "log") -> Suspect:
    item = Item("x.0", "strong", score, (fact("x", kind=kind),))
    return Suspect(f"cause-{score}", score, (item,), (), decisive)


WEIGHTS = mini().section("weights")
scores = st.lists(st.floats(-10, 80), min_size=1, max_size=10).map(lambda some: sorted(some, reverse=True))


@given(scores, st.sampled_from(["log", "complaint"]))
def test_confidences_keep_the_order_and_leave_room_for_none_of_these(some: list[float], kind: str) -> None:
    found = [one.confidence for one in confident([made(score, kind=kind) for score in some], WEIGHTS)]
    assert found == sorted(found, reverse=True)
    assert all(0 <= confidence <= 1 for confidence in found)
    assert sum(found) <= 1 + 0.0005 * len(found)


def test_words_alone_need_more_than_a_log_does() -> None:
    (by_log,), (by_words,) = (confident([made(3.2, kind=kind)], WEIGHTS) for kind in ("log", "complaint"))
    assert by_log.confidence > CLAIM > by_words.confidence


def test_a_confirmed_cause_has_a_decisive_item_and_nothing_against_it() -> None:
    assert suspect(ranked(fact(NEED)), "window-too-large").verdict == "confirmed"
    contradicted = suspect(ranked(fact(NEED), fact(LENGTH), fact("stage", "serving")), "window-too-large")
    assert contradicted.confidence >= CONFIRMED
    assert contradicted.verdict == "likely"


@pytest.mark.parametrize(
    ("score", "decisive", "verdict"),
    [
        (9.0, True, "confirmed"),
        (9.0, False, "likely"),
        (4.4, True, "likely"),
        (2.5, False, "likely"),
        (2.3, False, "possible"),
    ],
)
def test_the_verdict_follows_from_confidence_and_decisiveness(score: float, decisive: bool, verdict: str) -> None:
    (found,) = confident([made(score, decisive)], WEIGHTS)
    assert found.verdict == verdict


def test_a_graded_decisive_item_decides_nothing() -> None:
    assert suspect(ranked(fact(NEED, grade="near"), fact(LENGTH)), "window-too-large").verdict == "likely"


def test_a_cause_that_only_resembles_the_words_is_never_claimed() -> None:
    found = ranked(fact("lexical.shm-too-small", 1.0, "complaint", grade="faint"))
    assert 0 < suspect(found, "shm-too-small").confidence < CLAIM


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=6),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_a_rising_calibration_never_changes_an_order(
    points: list[tuple[float, float]], one: float, other: float
) -> None:
    rising = sorted(low for low, _high in points), sorted(high for _low, high in points)
    assume(len(set(rising[0])) == len(points))
    table = [[0.0, 0.0], *([low, high] for low, high in zip(*rising, strict=True) if 0 < low < 1), [1.0, 1.0]]
    low, high = sorted((one, other))
    assert calibrated(low, table) <= calibrated(high, table) + 1e-12


def test_calibration_runs_straight_between_its_points() -> None:
    table = [[0.0, 0.0], [0.5, 0.8], [1.0, 0.9]]
    assert [calibrated(share, table) for share in (0.0, 0.25, 0.5, 0.75, 1.0)] == pytest.approx(
        [0, 0.4, 0.8, 0.85, 0.9]
    )


def test_nothing_suspected_is_an_empty_ranking() -> None:
    assert ranked() == rank.Ranking((), ())


# -- what is shown ----------------------------------------------------------------------------------------------------


def test_evidence_shows_each_observation_once_with_its_strongest_weight() -> None:
    one = fact("sign.x", source="log:0:1")
    items = [
        Item("c.0", "strong", STRONG, (one,)),
        Item("c.1", "weak", WEAK, (one,)),
        Item("c.2", "some", SOME, (fact("y"),)),
    ]
    shown = rank.evidence(items)
    assert [(evidence.origin.text, evidence.weight) for evidence in shown] == [
        ("sign.x True", "strong"),
        ("y True", "some"),
    ]
