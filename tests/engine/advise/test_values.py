"""Values come from the operator first, else from their version; what a fix makes of them is computed, not guessed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.advise.values import current, default, filled, known, target
from engine.model import Fact, Origin
from engine.versions import Range
from tests.support import mini

if TYPE_CHECKING:
    from engine.model import Kind, Scalar


def fact(name: str, value: Scalar, kind: Kind = "command", known: bool = True) -> Fact:
    return Fact(name, value, Origin(kind, "", f"{kind}:{name}"), known=known)


def test_each_fact_has_the_value_of_its_most_trusted_source() -> None:
    facts = [fact("args.x", "said", "complaint"), fact("args.x", "given", "command"), fact("args.x", "logged", "log")]
    assert known(facts) == {"args.x": "given"}
    assert known([*facts, fact("args.x", "answered", "answer")]) == {"args.x": "answered"}


def test_the_first_statement_of_a_source_counts() -> None:
    assert known([fact("a", "1"), fact("a", "2")]) == {"a": "1"}


def test_what_is_known_not_to_be_so_has_no_value() -> None:
    assert known([fact("a", True, known=False)]) == {}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (4096, "4096"),
        (0.5, "0.5"),
        (4096.0, "4096"),
        (True, "true"),
        (False, "false"),
        ("x", "x"),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
        (1e300, "1e+300"),
        (-2.0, "-2"),
    ],
)
def test_a_value_is_written_as_a_command_line_takes_it(value: Scalar, text: str) -> None:
    assert known([fact("a", value)]) == {"a": text}


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (None, "0.92"),
        ("0.30.0", "0.92"),
        ("0.21.0", "0.92"),
        ("0.20.0", "0.9"),
        ("0.4.3", "0.9"),
        ("0.3.0", "0.92"),
        ("nightly", "0.92"),
    ],
)
def test_a_default_is_that_of_the_version(version: str | None, expected: str) -> None:
    assert default("--gpu-memory-utilization", Range.parse(version) if version else None, mini()) == expected


def test_a_flag_without_a_default_is_unset() -> None:
    assert default("--max-model-len", None, mini()) is None
    assert default("--unheard-of", None, mini()) is None
    assert default("--enforce-eager", None, mini()) == "false"


def test_what_the_operator_set_comes_before_the_default() -> None:
    assert current("--max-num-seqs", {"args.max-num-seqs": "64"}, None, mini()) == "64"
    assert current("--max-num-seqs", {}, None, mini()) == "256"


@pytest.mark.parametrize(
    ("to", "now", "after"),
    [
        ("half", "4096", "2048"),
        ("half", "5", "2"),
        ("half", "1", "1"),
        ("half", "0.5", "0.25"),
        ("half", "32k", "16000"),
        ("half", "32K", "16384"),
        ("half", "4,096", "2048"),
        ("double", "256", "512"),
        ("+0.03", "0.9", "0.93"),
        ("+0.03", "0.97", "0.98"),
        ("-0.03", "0.92", "0.89"),
        ("-0.05", "0.06", "0.05"),
        ("half", None, "half"),
        ("half", "auto", "half"),
        ("-0.03", "$UTIL", "-0.03"),
        ("half", "9" * 400, "half"),
        (None, "4096", None),
        ("fp8", "auto", "fp8"),
        (4096, "1", "4096"),
        (0.5, None, "0.5"),
        (True, None, "true"),
    ],
)
def test_a_change_is_computed_from_what_is_set(to: Any, now: str | None, after: str | None) -> None:
    assert target({"to": to}, "--gpu-memory-utilization", now, {}) == after


def test_a_share_keeps_within_what_makes_sense_and_other_settings_do_not_go_below_zero() -> None:
    assert target({"to": "-4"}, "--swap-space", "2", {}) == "0"
    assert target({"to": "+4"}, "--swap-space", "2", {}) == "6"
    assert target({"to": "-512"}, "--max-num-batched-tokens", "32768", {}) == "32256"


@pytest.mark.parametrize(
    ("change", "values", "after"),
    [
        ({"to": "{log.x}", "otherwise": "half"}, {"log.x": "42672"}, "42672"),
        ({"to": "{log.x}", "otherwise": "half"}, {}, "2048"),
        ({"to": "{log.x}", "otherwise": 1}, {}, "1"),
        ({"to": "{log.x}"}, {}, "{log.x}"),
        ({"to": "up to {log.x}"}, {"log.x": "5"}, "up to 5"),
    ],
)
def test_a_value_of_the_log_is_taken_and_else_what_stands_in_for_it(
    change: dict[str, Any], values: dict[str, str], after: str
) -> None:
    assert target(change, "--max-model-len", "4096", values) == after


def test_placeholders_that_are_known_are_filled_and_others_stay() -> None:
    assert filled("{a.b} and {c.d} and {a.b}", {"a.b": "1"}) == "1 and {c.d} and 1"
    assert filled("none", {"a": "1"}) == "none"


@given(
    st.sampled_from(["half", "double", "+0.03", "-0.03", "{log.x}", "x", True, 5]),
    st.one_of(st.none(), st.text(), st.floats().map(str), st.integers().map(str)),
)
def test_any_setting_can_be_changed(to: Any, now: str | None) -> None:
    assert isinstance(target({"to": to}, "--gpu-memory-utilization", now, {}), str)


@pytest.mark.parametrize(
    "name", ["args.api-key", "args.hf-token", "args.ssl-keyfile-password", "env.HF_TOKEN", "env.MY_SECRET"]
)
def test_the_value_of_a_flag_or_variable_that_holds_a_credential_is_masked(name: str) -> None:
    assert known([fact(name, "correcthorsebattery")]) == {name: "****"}


@pytest.mark.parametrize("name", ["args.ssl-keyfile", "args.max-num-batched-tokens", "args.tokenizer", "env.HF_HOME"])
def test_the_value_of_another_flag_or_variable_stays(name: str) -> None:
    assert known([fact(name, "correcthorsebattery")]) == {name: "correcthorsebattery"}
