"""YAML of any quality is read as plain data with line numbers, or refused with file and line; nothing else happens."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InputError
from engine.knowledge.source import DEEPEST, LONGEST, nodes, parse

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def refusal(text: str) -> str:
    with pytest.raises(InputError) as caught:
        parse("kb/x.yaml", text)
    return caught.value.message


def test_every_node_keeps_the_line_where_it_stands() -> None:
    document = parse("kb/x.yaml", "id: a\nchecks:\n  - id: b\n    text: c\n  - {id: d, text: e}\n")
    assert document.data == {"id": "a", "checks": [{"id": "b", "text": "c"}, {"id": "d", "text": "e"}]}
    assert [document.line(("checks", 0, "text")), document.line(("checks", 1, "text"))] == [4, 5]


def test_a_place_that_does_not_exist_has_the_line_of_what_it_would_be_in() -> None:
    document = parse("kb/x.yaml", "id: a\nchecks:\n  - id: b\n")
    assert document.line(("checks", 0, "command")) == 3
    assert document.line(("fixes", 4)) == 1


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "'a' is given twice"),
        ("a:\n  - {x: 1,\n     x: 2}\n", 3, "'x' is given twice"),
        ("a: &x [1]\nb: *x\n", 1, "anchors and aliases are not allowed"),
        (BOMB, 1, "anchors and aliases are not allowed"),
        ("a: b: c\n", 1, "mapping values are not allowed"),
        ("a: 1\nb: [1, 2\n", 3, "did not find expected"),
        ("a: 1\n\tb: 2\n", 2, "found a tab character"),
        ("? [a, b]\n: c\n", 1, "a key must be a plain word"),
        ("a: 1\n---\nb: 2\n", 2, "another document"),
        ("a:\n- 2024-99-99\n", 2, "'2024-99-99' is no timestamp; put it in quotes"),
        ("a: !!bool maybe\n", 1, "'maybe' is no bool; put it in quotes"),
        ("a: !!int ''\n", 1, "'' is no int; put it in quotes"),
        ("a: !!python/name:os.system x\n", 1, "put it in quotes"),
        (f"a: {'9' * 5_000}\n", 1, "is no int; put it in quotes"),
        ("a: \0\n", 1, "control characters are not allowed"),
        ("a: \ud800\n", 1, "surrogates not allowed"),
    ],
)
def test_what_is_not_plain_yaml_is_refused_by_file_line_and_reason(text: str, line: int, reason: str) -> None:
    message = refusal(text)
    assert message.startswith(f"kb/x.yaml:{line}: ")
    assert reason in message


def test_an_alias_is_refused_before_it_is_multiplied() -> None:
    tracemalloc.start()
    refusal(BOMB)
    _now, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2_000_000


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 50_000, "- " * 100_000, "[" * 5_000 + "]" * 5_000])
def test_endless_nesting_is_refused_and_ends_no_process(text: str) -> None:
    assert "nest" in refusal(text)


def test_nesting_is_limited_below_what_python_can_recurse() -> None:
    parse("x", "[" * DEEPEST + "]" * DEEPEST)
    assert f"nested deeper than {DEEPEST} levels" in refusal("[" * (DEEPEST + 2) + "]" * (DEEPEST + 2))


def test_a_file_of_megabytes_is_refused_unread() -> None:
    assert f"at most {LONGEST:,} are read" in refusal("a" * (LONGEST + 1))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2024-01-01", "2024-01-01"),
        ("!!binary aGVsbG8=", "aGVsbG8="),
        ("0.5", 0.5),
        ("12", 12),
        ("true", True),
        ("~", None),
        ("中文：值", "中文：值"),
    ],
)
def test_a_value_is_text_a_number_a_truth_value_or_nothing(text: str, value: object) -> None:
    data = parse("x", f"a: {text}").data
    assert data == {"a": value}
    assert type(data["a"]) is type(value)


def test_an_empty_file_holds_nothing() -> None:
    assert parse("x", "").data is None
    assert parse("x", "# only a comment\n").data is None


@given(st.one_of(st.text(), st.text(alphabet="ab:-[]{}&*!|>'\"#%@,?\n \t0123.~")))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    refused = ""
    try:
        parse("x", text)
    except InputError as error:
        refused = error.message
    assert refused == "" or (refused.startswith("x:") and "\n" not in refused)


def test_a_node_knows_the_characters_that_it_stands_on() -> None:
    text = "\ufeff# 中\na: &x\n  - --b=1 # c\n  - &q 'd''e'\nf: *x\ng: |\n  h\n\n# i\nj: {k: [1, \"2\"]}\n"
    (document,) = nodes(text)
    found = {key.value: value for key, value in document.pairs}
    assert [text[item.start : item.end] for item in found["a"].items] == ["--b=1", "'d''e'"]
    assert [item.value for item in found["f"].items] == ["--b=1", "d'e"]
    assert text[found["g"].start : found["g"].end] == "|\n  h"
    assert text[found["j"].start : found["j"].end] == '{k: [1, "2"]}'
    assert [node.style for node in found["j"].pairs[0][1].items] == ["", '"']
    assert text[document.start : document.end].endswith('"2"]}')


@pytest.mark.parametrize("text", ["a: [", "a: *b: c", "a: \x07", "- " * 40_000, "[" * 40_000, "a: \ud800", "\t- a"])
def test_what_is_no_yaml_has_no_nodes(text: str) -> None:
    with pytest.raises(InputError):
        nodes(text)


def test_aliases_cost_no_more_nodes_than_are_written() -> None:
    (document,) = nodes(BOMB)
    last = document.pairs[-1][1]
    assert last.items[0] is last.items[1]


@given(st.text(max_size=200))
def test_the_nodes_of_any_text_stand_in_it(text: str) -> None:
    try:
        found = list(nodes(text))
    except InputError:
        return
    while found:
        node = found.pop()
        assert 0 <= node.start <= node.end <= len(text)
        found += [*node.items, *(one for pair in node.pairs for one in pair)]
