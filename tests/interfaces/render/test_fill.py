"""Values of the operator in the texts of the knowledge base: filled where known, named where not, never dangerous."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interfaces.render.fill import fill, is_plain_word

LABELS = {"log.path": "the path", "args.max-model-len": "--max-model-len"}


def filled(text: str, in_command: bool = False, **values: str) -> str:
    return fill(text, {name.replace("_", "."): value for name, value in values.items()}, LABELS.get, in_command)


def test_a_known_value_takes_the_place_of_its_fact() -> None:
    assert filled("look at {log.path} now", log_path="/data") == "look at /data now"


def test_an_unknown_value_becomes_the_name_of_the_fact() -> None:
    assert (
        filled("--max-model-len {args.max-model-len} in {log.path}")
        == "--max-model-len <--max-model-len> in <the path>"
    )


@pytest.mark.parametrize(
    "text", ["awk '{print $1}'", "docker ps --format '{{.Names}}'", "emptyDir {medium: Memory}", "{", "a{b", "}{"]
)
def test_braces_that_name_no_fact_stay(text: str) -> None:
    assert filled(text) == text


def test_a_value_is_not_searched_for_placeholders_again() -> None:
    assert filled("{log.path}", log_path="{args.max-model-len}") == "{args.max-model-len}"


@pytest.mark.parametrize(
    "hostile", ["$(reboot)", "x; rm -rf ~", "`id`", "a b", "--privileged", "-rf", "", "a\nb", "'", "*"]
)
def test_a_value_that_a_shell_would_read_otherwise_stays_out_of_commands(hostile: str) -> None:
    assert filled("ls {log.path}", in_command=True, log_path=hostile) == "ls <the path>"
    assert filled("see {log.path}", log_path=hostile) == f"see {hostile}"


@pytest.mark.parametrize("plain", ["/data/models", "4096", "-1", "meta-llama/Llama-3.1-8B", "0.90", "/数据/模型"])
def test_a_plain_word_goes_into_commands(plain: str) -> None:
    assert filled("ls {log.path}", in_command=True, log_path=plain) == f"ls {plain}"


@given(st.text())
def test_what_counts_as_a_plain_word_is_one_word_to_a_shell(value: str) -> None:
    if is_plain_word(value):
        assert shlex.split(value) == [value]
