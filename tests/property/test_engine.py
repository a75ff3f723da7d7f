"""The whole engine on whatever is thrown at it: it answers, the same every time, and within what contract.md promises.

KB_EXAMPLES sets how many examples each property is tried on."""

from __future__ import annotations

import os
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engine.diagnose import diagnose
from engine.model import Attachment, Case
from engine.reason.agenda import AGENDA
from engine.reason.chain import conclude
from engine.reason.infer import library
from engine.reason.rank import CLAIM
from tests.support import mini, named, real

if TYPE_CHECKING:
    from engine.model import Answer

EXAMPLES = settings(
    max_examples=int(os.environ.get("KB_EXAMPLES", "100")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
LARGEST = 100_000  # characters of the text of one answer: it is bounded, whatever comes in

WORDS = [
    *("requests hang", "out of memory", "显存不足", "启动时卡住", "NCCL error", "docker", "two gpus", "not", "没有"),
    *("vllm 0.18.0", "--max-model-len 4096", "CUDA out of memory", "is this normal?", "怎么", "help", "报错"),
    *(
        "404",
        "504",
        "loading the model",
        "under load",
        "slow",
        "on a TPU",
        "postgres",
        "reqeusts hnag",
        "，",
        ".",
        "\n",
    ),
    *("\x1b[31m", "\u202e", "\0", "%s{}"),
]
BANNER = "(APIServer pid=1) INFO 12-01 10:00:00 [api_server.py:1] vLLM API server version 0.15.0"
OOM = "(EngineCore_DP0 pid=2) ERROR 12-01 10:00:05 [core.py:9] torch.OutOfMemoryError: CUDA out of memory."
NEED = "ValueError: (16.0 GiB KV cache is needed, which is larger than the available KV cache memory (5.2 GiB)."
STALLED = (
    "INFO 12-01 10:00:10 [l.py:1] Engine 000: Avg prompt throughput: 0.0 tokens/s, "
    "Avg generation throughput: 0.0 tokens/s, Running: 2 reqs, Waiting: 0 reqs, "
    "GPU KV cache usage: 1.0%, Prefix cache hit rate: 0.0%"
)
ROWS = [
    *(BANNER, OOM, NEED, STALLED),
    "(EngineCore_DP0 pid=2) INFO 12-01 10:00:01 [gpu_model_runner.py:1] Starting to load model m...",
    "(APIServer pid=1) INFO:     Application startup complete.",
    "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
    "node1:1:2 [0] NCCL WARN Error while creating shared memory segment /dev/shm/nccl-x",
    "vllm: error: unrecognized arguments: --swap-space 4",
    "KeyError: 'model.layers.0'",
    'INFO:     10.0.0.1:5 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error',
    "[shutdown] API server: shutdown triggered",
    *("", "中文日志", "x" * 3_000, "\x1b[31mred\x1b[0m", "\0\0\0"),
]
COMMANDS = [
    *("", "vllm serve m", "vllm serve m --swap-space 4 -tp 2", "vllm serve 'unclosed"),
    "vllm serve m --max-model-len 4096 --gpu-memory-utilization 0.95",
    "docker run --gpus all vllm/vllm-openai:v0.8.5 --model m",
    "NCCL_P2P_DISABLE=1 vllm serve m | tee x",
]
UNRELATED = [
    *("thank you very much", "we are in a hurry", "my colleague is on holiday", "this is the third time"),
    *("I read the manual twice", "the team has five people", "best regards", "谢谢", "请尽快回复", "在线等"),
]

words = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
texts = st.one_of(words, st.text(max_size=200))
logs = st.one_of(
    st.lists(st.sampled_from(ROWS), max_size=12).map(lambda rows: "\n".join(rows).encode()),
    st.binary(max_size=500),
    st.lists(st.sampled_from(ROWS), max_size=4).map(lambda rows: "\n".join(rows).encode("utf-16")),
)
context = st.fixed_dictionaries(
    {},
    optional={
        "vllm_version": st.sampled_from(["0.18.0", "0.6.4", ">=0.9", "nightly", "", "x"]),
        "args": st.dictionaries(
            st.sampled_from(["max_model_len", "--swap-space", "x"]), st.text(max_size=5), max_size=2
        ),
        "other": texts,
        "facts": st.dictionaries(st.sampled_from(["stage", "where", "says.hang"]), st.text(max_size=8), max_size=2),
    },
)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    attachments = draw(st.lists(st.tuples(st.sampled_from(["a.log", "-", "b.txt"]), logs), max_size=2))
    return Case(
        draw(texts),
        tuple(Attachment(name, [log]) for name, log in attachments),
        draw(st.one_of(st.sampled_from(COMMANDS), st.text(max_size=80))),
        draw(context),
        draw(st.sampled_from(["auto", "en", "zh"])),
        draw(st.booleans()),
    )


def again(case: Case, *, cuts: list[int] | None = None) -> Case:
    """The same case with streams that were not read yet, cut into other blocks."""
    cut: Case = case.but(
        attachments=tuple(Attachment(one.name, _cut(b"".join(one.blocks), cuts or [])) for one in case.attachments)
    )
    return cut


def _cut(content: bytes, places: list[int]) -> list[bytes]:
    marks = sorted({0, len(content), *(place % (len(content) + 1) for place in places)})
    return [content[start:end] for start, end in pairwise(marks)]


def kept(answer: Answer) -> list[tuple[str, float, str]]:
    return [(cause.id, cause.confidence, cause.verdict) for cause in answer.causes]


# -- every case is answered -------------------------------------------------------------------------------------------


@EXAMPLES
@given(cases())
def test_every_case_has_an_answer_that_keeps_the_contract(case: Case) -> None:
    answer = diagnose(case, real())
    harmless = [real().item("logic", cause)["harmless"] for cause in named(answer)]  # type: ignore[index]
    if answer.status in ("unknown", "needs_more"):
        assert answer.causes == ()
    if answer.status == "healthy":
        assert all(harmless)
    if answer.status == "answered":
        assert answer.causes
    if answer.status == "needs_more":
        assert answer.question is not None
    confidences = [cause.confidence for cause in answer.causes]
    assert confidences == sorted(confidences, reverse=True)
    assert all(0 <= confidence <= 1 for confidence in confidences)
    assert all((cause.verdict == "possible") == (cause.confidence < CLAIM) for cause in answer.causes)
    assert len(repr(answer.but(trace=None))) < LARGEST
    assert (answer.trace is None) == (not case.explain)


@EXAMPLES
@given(st.lists(st.binary(max_size=2_000), max_size=4))
def test_any_bytes_are_answered(blocks: list[bytes]) -> None:
    for name in ("-", "a.log"):
        diagnose(Case(attachments=(Attachment(name, blocks),)), real())


@EXAMPLES
@given(st.text(max_size=2_000))
def test_any_text_is_answered_as_words_command_and_context(text: str) -> None:
    diagnose(
        Case(text, (), text, {"other": text, "vllm_version": text, "args": {text: text}, "env": {text: text}}), real()
    )


# -- one case, one answer ---------------------------------------------------------------------------------------------


@EXAMPLES
@given(cases())
def test_the_same_case_has_an_equal_answer(case: Case) -> None:
    assert diagnose(again(case), real()) == diagnose(again(case), real())


@EXAMPLES
@given(cases(), st.lists(st.integers(0, 10_000), max_size=8))
def test_how_streams_are_cut_into_blocks_makes_no_difference(case: Case, cuts: list[int]) -> None:
    assert diagnose(again(case, cuts=cuts), real()) == diagnose(again(case), real())


@EXAMPLES
@given(st.data())
def test_sets_loaded_by_need_answer_like_all_sets(data: st.DataObject) -> None:
    sets = library(real(), "rules", "watch")
    known = data.draw(st.lists(st.sampled_from(atoms()), max_size=25, unique=True))
    assert conclude(sets, known, AGENDA) == conclude(sets, known, AGENDA, preload=True)


@cache
def atoms() -> list[str]:
    """Every atom that a rule of the knowledge base asks for and no rule of its own set gives."""
    rows: list[Any] = [row for name in real().ids("rules") for row in real().item("rules", name) or ()]
    return sorted({atom for _rule, body, _head in rows for atom in body if not atom.startswith("item:")})


@EXAMPLES
@given(cases())
def test_both_engines_give_equal_answers(case: Case) -> None:
    pytest.importorskip("durable_rules_engine", exc_type=ImportError)
    answers = []
    before = os.environ.get("KB_ENGINE")
    try:
        for engine in ("agenda", "durable"):
            os.environ["KB_ENGINE"] = engine
            answers.append(diagnose(again(case), real()))
    finally:
        os.environ.pop("KB_ENGINE", None)
        if before is not None:
            os.environ["KB_ENGINE"] = before
    assert answers[0] == answers[1]


# -- what must not matter ---------------------------------------------------------------------------------------------


@EXAMPLES
@given(
    st.lists(st.sampled_from(ROWS), min_size=1, max_size=10),
    st.lists(st.sampled_from(UNRELATED), min_size=1, max_size=3),
)
def test_an_unrelated_sentence_never_removes_what_a_log_shows(rows: list[str], sentences: list[str]) -> None:
    log = "\n".join(rows).encode()
    alone = diagnose(Case(attachments=(Attachment("x.log", [log]),)), real())
    beside = diagnose(Case(". ".join(sentences), (Attachment("x.log", [log]),)), real())
    assume(alone.status == "answered")
    shown = [cause.id for cause in alone.causes if any(one.origin.kind == "log" for one in cause.evidence)]
    assert set(shown) <= set(named(beside))
    assert beside.causes[0].id == alone.causes[0].id


@EXAMPLES
@given(cases(), st.sampled_from(["en", "zh"]))
def test_the_language_decides_the_words_and_nothing_else(case: Case, lang: Any) -> None:
    one, other = diagnose(again(case), real()), diagnose(again(case).but(lang=lang), real())
    assert other.lang == lang
    assert one.but(lang=lang) == other


@EXAMPLES
@given(cases())
def test_the_small_knowledge_base_keeps_the_same_promises(case: Case) -> None:
    answer = diagnose(again(case), mini())
    assert (answer.status == "answered") == bool(answer.causes)
    assert diagnose(again(case), mini()) == answer
