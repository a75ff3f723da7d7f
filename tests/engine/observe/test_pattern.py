"""One pattern on one line, with or without RE2, with the same result."""

from __future__ import annotations

import builtins
from time import process_time
from typing import Any

import pytest

from engine.observe import pattern


@pytest.fixture(params=["re2", "re"], autouse=True)
def matcher(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both matchers, each with nothing compiled yet."""
    monkeypatch.setattr(pattern, "_engine", None)
    monkeypatch.setattr(pattern, "_compiled", {})
    if request.param == "re":
        real = builtins.__import__

        def without_re2(name: str, *arguments: Any, **named: Any) -> Any:
            if name == "re2":
                raise ImportError(name)
            return real(name, *arguments, **named)

        monkeypatch.setattr(builtins, "__import__", without_re2)
    else:
        pytest.importorskip("re2")
    return str(request.param)


def test_named_groups_come_back_with_what_they_matched() -> None:
    assert pattern.search(r"needs (?P<needed>[\d.]+) GiB", "it NEEDS 16.0 gib") == {"needed": "16.0"}


def test_a_group_that_took_no_part_is_absent() -> None:
    assert pattern.search(r"(?P<a>x)|(?P<b>y)", "y") == {"b": "y"}


def test_a_match_without_groups_is_empty_and_no_match_is_none() -> None:
    assert pattern.search("dead", "the engine is Dead") == {}
    assert pattern.search("dead", "alive") is None


@pytest.mark.parametrize("line", ["", "显存 dead 不足", "\ufffd dead", "dead\0", "x" * 4_000 + "dead"])
def test_any_line_can_be_searched(line: str) -> None:
    assert pattern.search("dead", line) == ({} if "dead" in line else None)


def test_a_hard_line_takes_no_time_in_the_linear_matcher(matcher: str) -> None:
    if matcher == "re":
        return  # lint admits no repeat of a repeat, and lines are cut; SECURITY.md says what remains
    start = process_time()
    pattern.search("(a|aa)+(b|bb)+ends here", "a" * 4_000)
    assert process_time() - start < 1.0
