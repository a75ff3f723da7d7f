"""The evaluation itself: how trials are made of cases, how answers are judged, and what must never slip.

The rows of the introductory article are test items of their own, one for each wording.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

from engine.knowledge.store import Knowledge, load
from evals import article, ask, calibration, generated, score, table, trial
from evals.__main__ import README, areas
from evals.score import Judgement, judge
from evals.trial import Trial

# One worker asks every case once; on two it would be done twice.
pytestmark = pytest.mark.xdist_group("evals")


@functools.cache
def knowledge() -> Knowledge:
    return load()


@functools.cache
def judgements() -> tuple[Judgement, ...]:
    no_fix = score.harmless(knowledge())
    return tuple(judge(one, ask.in_process(one, knowledge()), no_fix) for one in trial.load())


def held() -> list[Judgement]:
    known = set(knowledge().ids("cause"))
    return [one for one in judgements() if not one.trial.accept or one.trial.accept[0] in known]


# -- the article ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", article.questions(), ids=lambda question: question.id)
def test_a_row_of_the_article_is_answered_rightly(question: article.Question) -> None:
    assert article.faults(question, ask.in_process(question.trial, knowledge())) == []


def test_a_row_that_expects_what_nothing_checks_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "article.yaml"
    path.write_text("- {row: S1, en: [oom], zh: [显存溢出], expect: {frist: [x]}}", encoding="utf-8")
    with pytest.raises(ValueError, match="expects 'frist'"):
        article.questions(path)


def test_an_answer_that_lacks_what_a_row_expects_is_reported_in_words() -> None:
    expect = {"first": ["disk-full"], "never_advises": ["--swap-space"], "advises": ["rm -r"], "status": ["healthy"]}
    answer = answered(("weights-do-not-fit", 0.7), fix="Set --swap-space 4")
    found = article.faults(article.Question("row", Trial("row", "row", "en", "oom"), expect), answer)
    assert len(found) == 4
    assert "the first cause is none of disk-full: weights-do-not-fit 0.7" in found


# -- trials -----------------------------------------------------------------------------------------------------------


def test_a_real_log_is_tried_alone_with_a_complaint_in_each_language_and_with_its_command() -> None:
    of_one = [one for one in trial.load() if one.name.startswith("rl-003[")]
    assert [one.name for one in of_one] == ["rl-003[en]", "rl-003[zh]", "rl-003[log only]", "rl-003[command]"]
    assert [bool(one.complaint) for one in of_one] == [True, True, False, True]
    assert [bool(one.command) for one in of_one] == [False, False, False, True]


def test_a_complaint_with_a_log_is_tried_again_before_the_log_is_pasted() -> None:
    with_log = [one for one in trial.load() if one.group == "with log"]
    withheld = [one for one in trial.load() if one.group == trial.NO_LOG]
    assert [one.complaint for one in with_log] == [one.complaint for one in withheld]
    assert not any(one.logs for one in withheld)


def test_what_kb_is_given_never_holds_the_name_of_the_case() -> None:
    for one in trial.load():
        folder = one.name.partition("[")[0]
        assert folder not in f"{one.complaint} {one.command} {one.context} {one.logs}"


def test_a_case_whose_cause_the_knowledge_base_lacks_is_not_counted() -> None:
    known = Trial("a", "with log", "en", "", accept=("disk-full", "port-in-use"))
    unknown = Trial("b", "with log", "en", "", accept=("port-in-use", "disk-full"))
    negative = Trial("c", "negative:vague", "en", "help", statuses=("needs_more",))
    assert trial.held([known, unknown, negative], ["disk-full"]) == [known, negative]


def test_an_off_topic_text_must_be_unknown_and_a_near_miss_may_ask() -> None:
    statuses = {one.group: one.statuses for one in trial.load() if not one.accept}
    assert statuses["negative:off-topic"] == ("unknown",)
    assert statuses["negative:near-miss"] == ("needs_more", "unknown")


@pytest.mark.parametrize("name", ["spark-page-cache-free-memory", "rl-002[command]", "neg-108"])
def test_a_trial_gets_the_same_answer_in_process_and_through_the_command_line(name: str, tmp_path: Path) -> None:
    one = next(one for one in trial.load() if one.name == name)
    assert ask.through_cli(one, tmp_path) == ask.in_process(one, knowledge())


# -- judging ----------------------------------------------------------------------------------------------------------


def answered(*causes: tuple[str, float], fix: str = "", **more: Any) -> dict[str, Any]:
    fixes = [{"text": fix, "commands": [], "changes": []}] if fix else []
    ranked = [{"id": name, "confidence": confidence, "fixes": fixes, "checks": []} for name, confidence in causes]
    return {"status": "answered", "lang": "en", "causes": ranked, "question": None, "understood": [], **more}


DISK = Trial("disk", "complaint only", "en", "it fails", accept=("disk-full", "cache-dir-not-writable"))


def test_an_accepted_cause_that_stands_first_passes_and_counts_as_claimed_from_one_half() -> None:
    one = judge(DISK, answered(("cache-dir-not-writable", 0.5), ("port-in-use", 0.2)), frozenset())
    assert (one.passed, one.right, one.claimed, one.wrong_claim) == (True, True, True, False)


def test_a_wrong_cause_with_confidence_is_a_wrong_claim() -> None:
    one = judge(DISK, answered(("port-in-use", 0.7), ("disk-full", 0.2)), frozenset())
    assert (one.passed, one.among_three, one.wrong_claim) == (False, True, True)


def test_a_case_that_needs_a_question_passes_when_one_is_asked_and_the_cause_is_among_five() -> None:
    undecided = DISK._replace(group=trial.QUESTION)
    causes = [("a", 0.3), ("b", 0.2), ("c", 0.1), ("d", 0.1), ("disk-full", 0.1)]
    asks = {"id": "which", "options": [{"value": "yes", "text": "yes"}], "command": None}
    assert judge(undecided, answered(*causes, question=asks), frozenset()).passed
    assert not judge(undecided, answered(*causes), frozenset()).passed


def test_naming_a_harmless_cause_is_no_false_alarm() -> None:
    quiet = Trial("quiet", "negative:healthy", "en", "all well?", statuses=("healthy",))
    assert judge(quiet, answered(("idle-log-silence-normal", 0.9)), frozenset({"idle-log-silence-normal"})).passed
    assert not judge(quiet, answered(("disk-full", 0.9)), frozenset({"idle-log-silence-normal"})).passed


def test_bands_of_confidence_are_joined_until_each_says_something() -> None:
    low = judge(DISK, answered(("disk-full", 0.15)), frozenset())
    high = judge(DISK, answered(("port-in-use", 0.95)), frozenset())
    found = score.bands([low] * 30 + [high] * 50 + [low] * 5, least=40)
    assert [(band.low, band.high, band.answers, band.right) for band in found] == [(0.0, 1.0, 85, 35)]
    assert [band.answers for band in score.bands([low] * 40 + [high] * 40, least=40)] == [40, 40]


def test_confusions_are_counted_by_what_was_wanted_and_what_came() -> None:
    wrong = judge(DISK, answered(("port-in-use", 0.7)), frozenset())
    assert score.mixed_up([wrong, wrong]) == [(2, "disk-full", "port-in-use")]


# -- calibration ------------------------------------------------------------------------------------------------------


def test_a_fitted_table_rises_strictly_and_stays_below_certainty() -> None:
    points = [calibration.Point(n / 200, n % 3 > 0, n % 5) for n in range(200)]
    values = [value for _knot, value in calibration.fit(points)]
    assert values == sorted(set(values))
    assert values[0] == 0.0
    assert values[-1] < 1.0


def test_a_fitted_table_lowers_a_confidence_that_promised_too_much() -> None:
    boasts = [calibration.Point(0.9, n % 2 == 0, n % 5) for n in range(200)]
    at_nine_tenths = next(value for knot, value in calibration.fit(boasts) if knot == 0.9)
    assert at_nine_tenths == pytest.approx(0.5, abs=0.05)


def test_trials_of_one_cause_are_in_one_fold() -> None:
    other = DISK._replace(name="another", complaint="no room left")
    assert calibration.fold(DISK) == calibration.fold(other)


# -- what must hold ---------------------------------------------------------------------------------------------------


def test_thirty_real_logs_are_diagnosed_from_the_log_alone_and_with_a_complaint() -> None:
    right = {(one.trial.name.partition("[")[0], one.trial.group) for one in held() if one.trial.accept and one.right}
    alone = {name for name, group in right if group == "reallog, log only"}
    with_complaint = {name for name, group in right if group == "reallog"}
    assert len(alone & with_complaint) >= 30


@pytest.mark.parametrize("group", ["healthy", "negative:off-topic", "negative:vague"])
def test_nothing_is_found_where_there_is_nothing(group: str) -> None:
    assert [one.trial.name for one in judgements() if one.trial.group == group and not one.passed] == []


def test_the_published_table_is_what_the_runner_prints() -> None:
    figures = table.table(judgements(), areas(knowledge()))
    published = README.read_text(encoding="utf-8")
    assert generated.placed(published, "evals", figures, README.name) == published, "run: make evals"
