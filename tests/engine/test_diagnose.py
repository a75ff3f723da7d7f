"""The door: a case in, one answer out, of the right kind and the same every time."""

from __future__ import annotations

from typing import Any

import pytest

from engine.diagnose import diagnose
from engine.model import Attachment, Case
from engine.reason.ask import GENERAL
from tests.support import answer, attached, case, claimed, mini, named

SERVER = "(APIServer pid=1) INFO 12-01 10:00:00 [api_server.py:1] vLLM API server version 0.15.0\n"
LOADING = "(EngineCore_DP0 pid=2) INFO 12-01 10:00:01 [gpu_model_runner.py:1] Starting to load model m...\n"
SERVING = "(APIServer pid=1) INFO:     Application startup complete.\n"
NEED = "(EngineCore pid=2) ERROR 12-01 10:00:05 [core.py:9] 16.0 GiB KV cache is needed, which is larger than 5\n"
INIT_FAILED = "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above.\n"
OOM = "(EngineCore_DP0 pid=2) ERROR 12-01 10:00:05 [core.py:9] torch.OutOfMemoryError: CUDA out of memory.\n"
UNKNOWN = "(EngineCore_DP0 pid=2) ERROR 12-01 10:00:05 [core.py:9] KeyError: 'model.layers.0'\n"
STALLED = "INFO 12-01 10:00:10 [l.py:1] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 0.0 tokens/s, Running: 2 reqs, Waiting: 0 reqs\n"


# -- the status -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("requests hang in docker", "answered"),
        ("显存不足", "answered"),
        ("out of memory at startup", "answered"),
        ("error", "needs_more"),
        ("报错", "needs_more"),
        ("something is broken", "needs_more"),
        ("how do I cook rice", "unknown"),
        ("postgres is stuck", "unknown"),
        ("今天天气怎么样", "unknown"),
        ("umbrella drowned in lasagna", "unknown"),
        ("!!!", "unknown"),
    ],
)
def test_the_status_says_what_kind_of_answer_it_is(text: str, status: str) -> None:
    found = answer(text)
    assert found.status == status
    assert bool(found.causes) == (status == "answered")


def test_a_wish_for_help_gets_the_general_question() -> None:
    found = answer("error")
    assert (found.question, found.causes, found.ruled_out) == (GENERAL, (), ())
    assert found.missing == ("log", "command", "version")


def test_what_was_understood_of_an_unanswered_text_is_said() -> None:
    assert ("some-error", "") in answer("error").understood


def test_an_unknown_text_has_no_question_and_no_cause() -> None:
    found = answer("how do I cook rice")
    assert (found.causes, found.question, found.command, found.missing) == ((), None, None, ())


def test_a_text_about_another_product_is_not_ours() -> None:
    assert answer("postgres is out of memory").status == "unknown"
    assert answer("数据库卡住").status == "unknown"


def test_another_product_beside_vllm_is_ours() -> None:
    assert answer("vllm hangs in docker since redis was added").status == "answered"


def test_a_log_of_another_product_claims_nothing() -> None:
    assert (
        claimed(answer("", "[mysqld] ready\nFATAL: remaining connection slots are reserved\nCUDA out of memory\n"))
        == []
    )


def test_a_log_without_a_failure_is_healthy() -> None:
    found = answer("", SERVER + LOADING + SERVING)
    assert (found.status, found.causes, found.question) == ("healthy", (), None)


def test_asking_whether_all_is_well_beside_a_healthy_log_is_healthy() -> None:
    assert answer("is this fine?", SERVER + LOADING + SERVING).status == "healthy"


def test_a_complaint_beside_a_healthy_log_is_answered() -> None:
    assert answer("requests hang in docker", SERVER + LOADING + SERVING).status == "answered"


def test_a_log_that_ends_in_the_start_up_is_not_healthy() -> None:
    assert answer("", SERVER + LOADING).status != "healthy"


def test_an_error_that_nothing_knows_is_shown_and_not_called_healthy() -> None:
    found = answer("", SERVER + LOADING + UNKNOWN)
    assert found.status == "needs_more"
    assert ("log.unexplained_error", "KeyError: 'model.layers.0'") in found.understood
    assert found.question is not None


def test_a_bare_stop_in_the_log_is_the_symptom_of_a_hang() -> None:
    assert [symptom.id for symptom in answer("", SERVER + SERVING + STALLED * 4).symptoms] == ["something-hangs"]


@pytest.mark.parametrize("log", [b"", b"\n", b"\0" * 100, b"\xff\xfe", "中文\n"])
def test_a_log_that_says_nothing_is_no_error(log: str | bytes) -> None:
    assert answer("", log).status in ("unknown", "needs_more", "healthy")


def test_an_empty_case_is_unknown() -> None:
    assert diagnose(Case(), mini()).status == "unknown"


# -- the causes -------------------------------------------------------------------------------------------------------


def test_the_failure_beats_what_came_after_it() -> None:
    found = answer("", SERVER + LOADING + NEED + INIT_FAILED)
    assert (found.causes[0].id, found.causes[0].verdict) == ("window-too-large", "confirmed")
    assert all("initialization failed" not in evidence.origin.text for evidence in found.causes[0].evidence)


def test_aftermath_alone_names_no_cause() -> None:
    found = answer("", SERVER + LOADING + INIT_FAILED)
    assert claimed(found) == []
    assert found.status == "needs_more"


def test_evidence_names_the_line_and_quotes_it() -> None:
    (evidence,) = answer("", SERVER + LOADING + NEED).causes[0].evidence
    assert (evidence.origin.kind, evidence.origin.file, evidence.origin.line) == ("log", 0, 3)
    assert evidence.origin.text.startswith("16.0 GiB KV cache is needed")
    assert evidence.weight == "decisive"


def test_a_log_beside_a_complaint_decides() -> None:
    assert named(answer("it hangs in docker"))[0] == "shm-too-small"
    assert named(answer("it hangs in docker", SERVER + LOADING + NEED))[0] == "window-too-large"


def test_what_is_ruled_out_is_shown_with_its_reason() -> None:
    found = answer("it hangs on bare metal, out of memory")
    assert [(one.id, one.evidence[0].origin.text) for one in found.ruled_out] == [("shm-too-small", "bare metal")]


@pytest.mark.parametrize("text", ["out of memory while serving on a TPU", "服务中显存不足，昇腾 NPU"])
def test_advice_for_other_platforms_is_withheld(text: str) -> None:
    found = answer(text)
    assert "budget-too-large" not in named(found)
    assert "budget-too-large" in [one.id for one in found.ruled_out]


@pytest.mark.parametrize(
    "text", ["out of memory while serving, the output is cut", "long input: out of memory while serving"]
)
def test_a_word_that_holds_the_name_of_a_platform_withholds_nothing(text: str) -> None:
    assert named(answer(text))[0] == "budget-too-large"


def test_suspects_far_behind_the_first_are_left_out() -> None:
    found = answer("", SERVER + LOADING + NEED)
    assert named(found) == ["window-too-large"]
    assert all(one.confidence >= found.causes[0].confidence / 10 for one in found.causes)


def test_an_open_case_is_answered_and_asked_about() -> None:
    found = answer("out of memory at startup")
    assert found.status == "answered"
    assert found.question == "which-stage"
    assert answer("", SERVER + LOADING + NEED).question is None


def test_an_answer_to_a_question_counts() -> None:
    before, after = answer("out of memory at startup"), answer("out of memory at startup", facts={"stage": "serving"})
    assert before.causes[0].id != after.causes[0].id == "budget-too-large"


def test_beside_a_failure_in_the_log_the_words_count_one_step_less() -> None:
    (alone,) = [one for one in answer("it hangs").symptoms if one.id == "something-hangs"]
    (beside,) = [one for one in answer("it hangs", SERVER + NEED).symptoms if one.id == "something-hangs"]
    (calm,) = [one for one in answer("it hangs", SERVER + SERVING).symptoms if one.id == "something-hangs"]
    assert (alone.score, beside.score, calm.score) == (1.0, 0.7, 1.0)


def test_what_is_missing_is_what_was_not_given() -> None:
    assert answer("", NEED).missing == ("command", "version")
    assert answer("", SERVER + LOADING + SERVING).missing == ()
    assert answer("requests hang").missing == ("log", "command", "version")
    assert answer("requests hang", SERVER, command="vllm serve m").missing == ()


# -- one case, one answer ---------------------------------------------------------------------------------------------

CASES: dict[str, dict[str, Any]] = {
    "words": {"text": "out of memory since I raised the context length"},
    "chinese": {"text": "docker 里双卡卡住"},
    "log": {"text": "", "log": SERVER + LOADING + NEED + INIT_FAILED},
    "both": {"text": "hangs", "log": SERVER + SERVING + STALLED * 5, "command": "vllm serve m -tp 2"},
    "command": {"text": "unrecognized arguments", "command": "vllm serve m --swap-space 4", "vllm_version": "0.18.0"},
}


def made(name: str) -> Case:
    stated = dict(CASES[name])
    log = stated.pop("log", None)
    return case(stated.pop("text"), *([log] if log else []), **stated)


@pytest.mark.parametrize("name", CASES)
def test_both_engines_give_the_same_answer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("durable_rules_engine", exc_type=ImportError)
    answers = []
    for engine in ("agenda", "durable"):
        monkeypatch.setenv("KB_ENGINE", engine)
        answers.append(diagnose(made(name).but(explain=True), mini()))
    assert answers[0] == answers[1]
    assert answers[0].trace


@pytest.mark.parametrize("name", CASES)
def test_explaining_changes_nothing_but_the_trace(name: str) -> None:
    plain, explained = diagnose(made(name), mini()), diagnose(made(name).but(explain=True), mini())
    assert plain.trace is None
    assert explained.but(trace=None) == plain


def test_the_trace_leads_from_facts_to_fixes() -> None:
    found = answer("", NEED)
    trace = diagnose(case("", NEED).but(explain=True), mini()).trace
    assert trace is not None
    levels = {step.conclusion: step.level for step in trace}
    assert (
        levels["item:window-too-large.0"]
        < levels["cause:window-too-large"]
        < levels["fix:window-too-large.shorter-window"]
    )
    assert found.causes


def test_a_log_in_the_text_a_file_and_standard_input_give_the_same_causes() -> None:
    log = SERVER + LOADING + NEED + INIT_FAILED
    ways = [Case(log), Case(attachments=(attached(log),)), Case(attachments=(Attachment("-", [log.encode()]),))]
    found = [diagnose(way, mini()) for way in ways]
    assert [[(one.id, one.confidence, one.verdict) for one in each.causes] for each in found] == [
        [(one.id, one.confidence, one.verdict) for one in found[0].causes]
    ] * 3


def test_the_name_of_a_file_means_nothing() -> None:
    log = (SERVER + LOADING + NEED).encode()
    first, second = (
        diagnose(Case(attachments=(Attachment(name, [log]),)), mini())
        for name in ("healthy.txt", "/tmp/swap-space-removed.log")
    )
    assert first == second


def test_credentials_stay_out_of_an_answer() -> None:
    token = "hf_" + "a" * 34
    found = answer(
        f"out of memory while serving with {token}",
        command=f"HF_TOKEN={token} vllm serve m --api-key sk-12345678901234567890",
    )
    assert token not in repr(found)
    assert "sk-12345678901234567890" not in repr(found)
