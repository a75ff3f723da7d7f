"""Every example of every cause is a test: complaints and logs find their cause, near misses do not claim it.

`pytest tests/kb -k docker-shm-too-small` runs those of one cause; their ids read `docker-shm-too-small[zh-2]`."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from engine.knowledge.source import parse
from engine.knowledge.store import HOME
from tests.support import answer, claimed, named, real

FIRST = 3  # a complaint says less than a log: its cause must be among as many


@cache
def causes() -> list[dict[str, Any]]:
    """All cause files as they are written: a broken one fails here, with its name and line."""
    files = sorted(Path(os.environ.get("KB_TEST_HOME", HOME), "causes").glob("*/*.yaml"))
    return [parse(file.name, file.read_text(encoding="utf-8")).data for file in files]


def examples(*kinds: str) -> list[Any]:
    """Each example of these kinds with its cause."""
    return [
        pytest.param(cause["id"], text, id=f"{cause['id']}[{kind.replace('_', '-')}-{number}]")
        for cause in causes()
        for kind in kinds
        for number, text in enumerate(cause["examples"].get(kind, []), 1)
    ]


@pytest.mark.parametrize(("cause", "text"), examples("en", "zh"))
def test_a_complaint_finds_its_cause(cause: str, text: str) -> None:
    found = answer(text, knowledge=real())
    assert found.status == "answered"
    assert cause in named(found)[:FIRST]


@pytest.mark.parametrize(("cause", "text"), examples("log"))
def test_a_log_finds_its_cause_first(cause: str, text: str) -> None:
    found = answer("", text, knowledge=real())
    assert named(found)[:1] == [cause]


@pytest.mark.parametrize(("cause", "text"), examples("log"))
def test_a_log_that_is_pasted_as_text_finds_its_cause(cause: str, text: str) -> None:
    assert cause in named(answer(text, knowledge=real()))[:FIRST]


@pytest.mark.parametrize(("cause", "text"), examples("near_miss"))
def test_a_near_miss_does_not_claim_the_cause(cause: str, text: str) -> None:
    assert cause not in claimed(answer(text, knowledge=real()))


def test_every_cause_has_examples_of_each_kind() -> None:
    ids = {param.values[0] for param in examples("en", "zh", "near_miss")}
    assert ids == set(real().ids("cause"))
