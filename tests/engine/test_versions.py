"""What people write about versions is read as they mean it, and never breaks the reader."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.errors import KnowledgeError
from engine.versions import ANY, Constraint, Range, holds, intersect


def read(text: str) -> Range:
    found = Range.parse(text)
    assert found is not None, f"{text!r} names a version"
    return found


def answer(constraint: str, running: str) -> bool | None:
    return holds(Constraint.parse(constraint), read(running))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("0.8.5", "0.8.5"),
        ("v0.8.5.post1", "0.8.5.post1"),
        ("0.11.0rc2", "0.11.0rc2"),
        ("0.8.5.dev178", "0.8.5.dev178"),
        ("0.28.1rc1.dev452", "0.28.1rc1.dev452"),
        ("0.6.7.dev220+g84f5d47b", "0.6.7.dev220"),
        ("2.9.1+cu128", "2.9.1"),
        ("0.7.x", "0.7.x"),
        ("0.7.*", "0.7.x"),
        ("vllm 0.18", "0.18.x"),
        ("~0.6.4", "0.6.x"),
        (">=0.9", ">=0.9"),
        ("≥ 0.9.1", ">=0.9.1"),
        ("~<0.8.4", "<0.8.4"),
        ("0.9+", ">=0.9"),
        ("0.9 or newer", ">=0.9"),
        ("older than 0.8", "<0.8"),
        ("0.9 及以上", ">=0.9"),
        ("0.18之前", "<0.18"),
        (">=0.14,<0.18", ">=0.14,<0.18"),
    ],
)
def test_one_version_is_read_as_it_is_meant(text: str, meant: str) -> None:
    assert str(read(text)) == meant


@pytest.mark.parametrize(
    "text", ["0.24.0, 0.28.0", "0.28.0 / 0.24.0", "0.24.0–0.28.0", "0.24.0..0.28.0", "0.24.0 到 0.28.0"]
)
def test_several_versions_are_their_span(text: str) -> None:
    assert read(text) == Range(read("0.24.0").low, read("0.28.0").high)


@pytest.mark.parametrize(
    "text",
    [
        "vllm/vllm-openai:v0.10.1",
        "vllm/vllm-openai:v0.10.1-cu128",
        "vllm==0.10.1",
        "vllm-0.10.1+cu118-cp38-abi3-manylinux1_x86_64.whl",
        "vllm_0.10.1",
        "VLLM0.10.1",
        "vLLM engine version: 0.10.1",
        "vLLM 版本0.10.1，",
        "running 0.10.1.",
    ],
)
def test_the_version_is_found_in_image_tags_wheels_and_sentences(text: str) -> None:
    assert read(text) == read("0.10.1")


def test_versions_of_other_products_do_not_stand_for_that_of_vllm() -> None:
    assert read("torch 2.9.1, CUDA 12.9 and vLLM 0.14.1") == read("0.14.1")
    assert read("0.14.1 (torch 2.9.1)") == read("0.14.1")
    assert read("0.14.1 with torch 2.9.1") == read("0.14.1")
    assert read("vllm 0.24.0, 0.28.0 on python 3.12") == read("0.24.0, 0.28.0")


def test_a_version_that_only_another_product_has_is_still_read() -> None:
    assert read("torch 2.9.1+cu128") == read("2.9.1")


def test_an_aside_in_parentheses_does_not_widen_the_version() -> None:
    assert read("0.6.4.post1 (0.6.3.post1 works)") == read("0.6.4.post1")
    assert read("0.8.2 (V1)") == read("0.8.2")
    assert read("nightly (0.8.5.dev178)") == read("0.8.5.dev178"), "but it counts where nothing else is said"


def test_a_version_stated_outright_beats_a_bound() -> None:
    assert read("0.9.1, needs >=0.8") == read("0.9.1")


def test_bounds_that_contradict_each_other_are_alternatives() -> None:
    assert read("<0.8, >0.9") == ANY


@pytest.mark.parametrize(
    "text", ["nightly", "vllm/vllm-openai:latest", "main", "最新版", "nvcr.io/nvidia/vllm:25.05-py3"]
)
def test_a_build_without_a_number_may_be_any_version(text: str) -> None:
    assert read(text) == ANY


@pytest.mark.parametrize(
    "text", ["", "requests hang", "10.0.0.1", "7.5GiB left", "Qwen2.5-7B", "8", "sm_90", "...", "1.", "v"]
)
def test_text_without_a_version_gives_none(text: str) -> None:
    assert Range.parse(text) is None


def test_versions_compare_in_the_order_of_their_release() -> None:
    written = [
        "0.8.5",
        "0.9.0.dev1",
        "0.9.0a1",
        "0.9.0b2",
        "0.9.0rc1.dev3",
        "0.9.0rc1",
        "0.9.0rc2",
        "0.9.0",
        "0.9.0.post1",
        "0.10.0",
    ]
    assert sorted(written, key=lambda text: read(text).low) == written
    assert sorted(written, key=lambda text: read(text).high) == written


@pytest.mark.parametrize(
    ("constraint", "running", "expected"),
    [
        (">=0.8", "0.8.5", True),
        (">=0.8", "0.8.0rc1", True),
        (">=0.8", "0.7.x", False),
        (">=0.14,<0.18", "0.16", True),
        (">=0.14,<0.18", "0.18.0rc1", False),
        (">=0.14,<0.18", "0.13.0, 0.14.1", None),
        ("<=0.10", "0.10.1", True),
        (">0.10", "0.10.1", False),
        ("==0.7.*", "0.7.3", True),
        ("==0.7.*", "0.8.0", False),
        ("==0.7.*", "nightly", None),
        ("!=0.9.*", "0.9.2", False),
        ("!=0.9.*", "0.8.5, 0.10.0", None),
        ("<=0.8.5", "0.8.5.post1", True),
        (">=0.8.5.post1", "0.8.5", False),
        (">=5", "4.56.0", False),
        (">= 4.56.0, != 5.0.*, < 6", "5.1.2", True),
        (">0.8", ">=0.9", True),
        ("<0.9", ">=0.8", None),
    ],
)
def test_a_constraint_holds_for_all_for_none_or_stays_open(
    constraint: str, running: str, expected: bool | None
) -> None:
    assert answer(constraint, running) is expected


def test_whether_a_constraint_holds_stays_open_while_the_version_is_unknown() -> None:
    assert holds(Constraint.parse(">=0.8"), None) is None
    assert holds(Constraint.parse(">=0.8"), Range.parse("requests hang")) is None


@pytest.mark.parametrize(
    "text", ["", "0.8", ">=0.8,", "~=0.8", ">=eight", ">=0.8 <0.9", "=>0.8", ">=1.2.3.4", ">=" + "9" * 5000]
)
def test_a_malformed_constraint_is_refused_with_the_clause_that_is_wrong(text: str) -> None:
    with pytest.raises(KnowledgeError, match="is not a comparison") as refusal:
        Constraint.parse(text)
    assert ">=0.14,<0.18" in refusal.value.hint


def test_a_constraint_that_no_version_meets_is_refused() -> None:
    with pytest.raises(KnowledgeError, match=r"'>=0.9,<0.8' holds for no version"):
        Constraint.parse(">=0.9,<0.8")


def test_ranges_that_share_nothing_have_no_intersection() -> None:
    assert intersect(read("<0.8"), read(">=0.8")) is None
    assert intersect(read("0.8.x"), read(">=0.8.3")) == read("0.8.x").but(low=read(">=0.8.3").low)


def test_importing_it_loads_nothing_that_a_query_must_not_pay_for() -> None:
    code = "import sys, engine.versions; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"typing", "packaging", "dataclasses", "pydantic", "yaml"} & set(loaded)


# -- any text ---------------------------------------------------------------------------------------------------------

NUMBER = st.integers(0, 40).map(str)
RELEASE = st.lists(NUMBER, min_size=2, max_size=3).map(".".join)
SUFFIX = st.sampled_from(["", "rc1", "a2", ".post1", ".dev7", "rc2.dev0", ".x", "+cu128"])
WRITTEN = st.builds("".join, st.tuples(st.sampled_from(["", "v", "~", ">=", "<", "<=", ">"]), RELEASE, SUFFIX))
WORDS = st.sampled_from(
    ["vllm", "torch", "nightly", ",", "(", ")", "..", " - ", "+", "或", "以上", "before", "nvcr.io/", "\x00"]
)


@given(st.one_of(st.text(), st.lists(WRITTEN | WORDS | st.text(max_size=3), max_size=12).map(" ".join)))
@example("9" * 10_000)
@example("1." * 5_000)
@example("(" * 5_000)
@example("０.８.５ ²·⁵ İ")
def test_any_text_is_read_without_an_error(text: str) -> None:
    found = Range.parse(text)
    assert found is None or found.low <= found.high


@given(WRITTEN, WRITTEN)
def test_a_range_that_is_written_out_reads_back_with_all_its_versions(first: str, second: str) -> None:
    for found in (read(first), read(f"{first}, {second}")):
        again = read(str(found))
        assert again.low <= found.low
        assert found.high <= again.high


@given(st.sampled_from([">=", "<=", ">", "<", "==", "!="]), RELEASE, WRITTEN)
def test_a_constraint_and_its_opposite_never_agree(operator: str, release: str, running: str) -> None:
    opposite = {">=": "<", "<=": ">", ">": "<=", "<": ">=", "==": "!=", "!=": "=="}[operator]
    outcome, contrary = answer(f"{operator}{release}", running), answer(f"{opposite}{release}", running)
    assert contrary is (None if outcome is None else not outcome)


@given(WRITTEN, WRITTEN, WRITTEN)
def test_what_holds_for_a_range_holds_for_every_part_of_it(first: str, second: str, third: str) -> None:
    whole = read(f"{first}, {second}")
    part = intersect(whole, read(third))
    for constraint in (">=0.9", ">=0.8,<0.18", "!=0.9.*"):
        if part and (outcome := holds(Constraint.parse(constraint), whole)) is not None:
            assert holds(Constraint.parse(constraint), part) is outcome


@given(st.text(alphabet="0123456789.,<>=!~*vrcpost- ", max_size=40))
def test_any_constraint_is_read_or_refused_as_a_fault_of_the_knowledge_base(text: str) -> None:
    try:
        ranges = Constraint.parse(text).ranges
    except KnowledgeError as refusal:
        refused = refusal.message
    else:
        refused = ""
    assert repr(text) in refused if refused else ranges
