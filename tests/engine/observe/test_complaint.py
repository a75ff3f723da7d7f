"""What an operator types, in either language or both, with slips and negations, becomes the facts that it states."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.observe.complaint import LONGEST, Hearing, hear
from tests.support import mini, values


def heard(text: str) -> Hearing:
    return hear(text, mini())


def said(text: str) -> set[str]:
    return {fact.name[5:] for fact in heard(text).facts if fact.name.startswith("says.") and fact.known}


def denied(text: str) -> set[str]:
    return {fact.name[5:] for fact in heard(text).facts if fact.name.startswith("says.") and not fact.known}


@pytest.mark.parametrize(
    ("text", "concepts"),
    [
        ("requests hang", {"request", "hang"}),
        ("The REQUESTS are HANGING!", {"request", "hang"}),
        ("ran out of the memory at start", {"oom", "startup"}),
        ("请求卡住", {"request", "hang"}),
        ("启动时显存不足", {"startup", "oom"}),
        ("启动时 oom 了", {"startup", "oom"}),
        ("docker 里双卡卡住 0 tokens/s", {"container", "several-gpus", "hang"}),
        ("ＯＯＭ　在启动", {"oom", "startup"}),
        ("there is no room for boom", {"not"}),
        ("how do I cook rice", {"how-to"}),
        ("", set()),
    ],
)
def test_concepts_are_heard_in_both_languages_and_mixed(text: str, concepts: set[str]) -> None:
    assert said(text) == concepts


@pytest.mark.parametrize(
    ("text", "concept"),
    [
        ("reqeusts hang", "request"),
        ("requests hnag", "hang"),
        ("the requests frezze", "hang"),
        ("out of memroy", "oom"),
        ("out of memmory", "oom"),
        ("runs in a contaner", "container"),
        ("conatiner is slow", "container"),
        ("a misspelt wod in startpu", "startup"),
    ],
)
def test_a_slip_is_understood_and_counts_as_near(text: str, concept: str) -> None:
    (fact,) = [fact for fact in heard(text).facts if fact.name == f"says.{concept}"]
    assert fact.grade == "near"


@pytest.mark.parametrize("text", ["reboot", "boot", "zoom", "handle", "the memory of my childhood", "a hanger"])
def test_a_word_that_only_looks_alike_says_nothing_of_it(text: str) -> None:
    assert not said(text) & {"oom", "hang", "container", "context-length"}


def test_a_fact_stands_on_the_words_that_say_it() -> None:
    (fact,) = [fact for fact in heard("yesterday it ran out of memory").facts if fact.name == "says.oom"]
    assert (fact.origin.text, fact.origin.words, fact.origin.kind) == ("out of memory", (4, 6), "complaint")
    (chinese,) = [fact for fact in heard("昨天显存不足").facts if fact.name == "says.oom"]
    assert (chinese.origin.text, chinese.origin.words) == ("显存不足", (3, 6))


def test_what_a_concept_states_becomes_a_fact() -> None:
    facts = heard("in docker with two gpus").facts
    assert values(facts, "where") == ["docker"]
    assert values(facts, "gpus") == ["several"]


@pytest.mark.parametrize(
    ("text", "concept"),
    [
        ("it does not hang", "hang"),
        ("no more oom", "oom"),
        ("it isn't stuck", "hang"),
        ("never slow", "slow"),
        ("没有卡住", "hang"),
        ("不卡死", "hang"),
        ("没有显存不足", "oom"),
    ],
)
def test_what_is_denied_is_known_not_to_be_so(text: str, concept: str) -> None:
    assert concept in denied(text)
    assert concept not in said(text)


@pytest.mark.parametrize(
    ("text", "concept"),
    [
        ("it does not work, requests hang", "hang"),
        ("no idea why it is out of memory", "oom"),
        ("not in docker but requests hang", "hang"),
        ("不知道为什么卡住", "hang"),
        ("没有办法，显存不足", "oom"),
        ("hang, not slow", "hang"),
    ],
)
def test_a_negation_reaches_no_further_than_its_clause(text: str, concept: str) -> None:
    assert concept in said(text)


def test_what_was_done_already_denies_nothing() -> None:
    assert "hang" in said("I have already restarted and requests hang")


def test_the_longer_of_two_forms_wins() -> None:
    assert said("max-model-len is set") == {"context-length"}
    assert "unknown-argument" in said("unrecognized arguments: --foo")


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("vllm 0.18.0 hangs", ["0.18.0"]),
        ("vllm==0.8.5.post1", ["0.8.5.post1"]),
        ("vLLM version: v0.6", ["0.6"]),
        ("vllm 版本 0.9.1", ["0.9.1"]),
        ("on v0.10.2 it works", ["0.10.2"]),
        ("since 0.11.0 it hangs", ["0.11.0"]),
        ("from vllm 0.8.5 to 0.9.1", ["0.8.5", "0.9.1"]),
        ("vllm 0.8.5 with flashinfer 0.2.5", ["0.8.5"]),
        ("torchvision 0.20.1, xformers==0.0.28", []),
        ("tokenizers 版本 0.21.1", []),
        ("set gpu utilization to 0.95", []),
        ("host 10.0.11.2", []),
        ("no version", []),
    ],
)
def test_the_version_is_that_of_vllm(text: str, versions: list[str]) -> None:
    assert values(heard(text).facts, "vllm.version") == versions


def test_the_version_of_torch_is_a_fact_of_its_own() -> None:
    assert values(heard("torch 2.9.1+cu128 and pytorch==2.7").facts, "torch.version") == ["2.9.1+cu128", "2.7"]


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("on an H100", ["H100"]),
        ("RTX 4090 and A100", ["RTX 4090", "A100"]),
        ("MI300X", ["MI300X"]),
        ("V1 engine, V0 engine", []),
    ],
)
def test_a_gpu_is_named(text: str, gpus: list[str]) -> None:
    assert values(heard(text).facts, "gpu.name") == gpus


@pytest.mark.parametrize(
    ("text", "platform"),
    [
        ("on a TPU pod", "tpu"),
        ("two NPUs", "npu"),
        ("昇腾npu上卡住", "npu"),
        ("Gaudi 3", "hpu"),
        ("an hpu", "hpu"),
        ("rocm6.2 on mi300", "rocm"),
        ("intel arc", "xpu"),
    ],
)
def test_a_platform_is_named(text: str, platform: str) -> None:
    assert set(values(heard(text).facts, "platform")) == {platform}


@pytest.mark.parametrize(
    "text", ["the output is garbage", "low throughput", "long input", "sorted ascending", "outputs", "cpu usage"]
)
def test_a_word_that_holds_the_name_of_a_platform_names_none(text: str) -> None:
    assert values(heard(text).facts, "platform") == []


def test_flags_that_a_sentence_names_are_facts_with_their_values() -> None:
    facts = heard(
        "I set --max_model_len 4096 and --gpu-memory-utilization=0.95 and --enforce-eager, --max-num-seqs too"
    ).facts
    assert values(facts, "mentions.flag") == [
        "--max-model-len", "--gpu-memory-utilization", "--enforce-eager", "--max-num-seqs"
    ]  # fmt: skip
    assert values(facts, "args.max-model-len") == ["4096"]
    assert values(facts, "args.gpu-memory-utilization") == ["0.95"]
    assert values(facts, "args.max-num-seqs") == []


def test_words_that_resemble_a_description_propose_it_faintly() -> None:
    facts = [fact for fact in heard("the buffers that NCCL exchanges in shm").facts if fact.name.startswith("lexical.")]
    assert facts[0].name == "lexical.shm-too-small"
    assert {fact.grade for fact in facts} == {"faint"}


def test_content_words_that_nothing_here_uses_are_counted() -> None:
    assert heard("my umbrella drowned in lasagna").unknown == 3
    assert heard("requests hang in docker").unknown == 0


def test_only_so_much_of_a_complaint_is_read() -> None:
    assert said("x" * LONGEST + " requests hang") == set()


LONG = [
    "hang ",
    "卡住",
    "不卡住",
    "没有显存不足，",
    "qwertyuiop ",
    "vllm ",
    "0.1.2 ",
    "--a ",
    "out of ",
    "tpu",
    "İ",
    "torch  ",
]


@pytest.mark.parametrize("unit", LONG)
def test_a_complaint_of_any_length_is_answered_in_a_moment(unit: str) -> None:
    text = unit * 100_000
    start = process_time()
    heard(text)
    assert process_time() - start < 2.0


@given(st.text(max_size=300))
def test_any_text_is_heard_and_its_facts_stand_in_it(text: str) -> None:
    for fact in heard(text).facts:
        assert fact.origin.kind == "complaint"
        assert fact.origin.text in text or fact.origin.text in text.lower() or not text.isascii()


@given(
    st.lists(
        st.sampled_from(["requests hang", "显存不足", "not", "没有", "docker", ",", "，", "but", "0.18.0", "oom"]),
        max_size=8,
    )
)
def test_hearing_twice_hears_the_same(parts: list[str]) -> None:
    assert heard(" ".join(parts)) == heard(" ".join(parts))
