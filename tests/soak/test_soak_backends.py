"""Thousands of evaluations in one process on eight threads: every answer right, and the memory stays where it was.

KB_SOAK sets the number of evaluations: 1,000 unless given, 20,000 before a release."""

from __future__ import annotations

import os
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.model import Rule, RuleSet
from engine.reason.chain import Library, backend, conclude

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.model import Step
    from engine.reason.chain import Backend

pytestmark = pytest.mark.soak

EVALUATIONS = int(os.environ.get("KB_SOAK", "1000"))
THREADS = 8
ALLOWED_GROWTH = 10 * 2**20
SETS = 8
SIGNS = [f"sign:s{area}-{number}" for area in range(SETS) for number in range(40)]


def rule_set(area: int, chance: random.Random) -> RuleSet:
    """Eighty rules on three levels, some of whose conclusions are conditions of the next area."""
    symptoms = [f"symptom:s{area}-{number}" for number in range(15)]
    items = [f"item:s{area}-{number}" for number in range(20)]
    causes = [f"cause:s{(area + 1) % SETS}-{number}" for number in range(20)]
    levels = [(SIGNS[area * 40 : area * 40 + 40], symptoms), (symptoms, items), (items, causes)]
    rules = []
    for number in range(80):
        sources, heads = levels[min(chance.randrange(4), 2)]
        body = chance.sample(sources, chance.choice([1, 1, 2, 2, 3]))
        if chance.random() < 0.1:
            body.append(f"cause:s{area}-{chance.randrange(20)}")
        rules.append(Rule(f"s{area}-r{number}", tuple(body), chance.choice(heads)))
    return RuleSet(f"area-{area}", tuple(rules))


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(params=["agenda", "durable"])
def engine(request: pytest.FixtureRequest) -> Backend:
    if request.param == "durable":
        pytest.importorskip("durable_rules_engine", exc_type=ImportError)
    return backend(request.param)


@pytest.fixture(scope="module")
def cases() -> list[tuple[list[str], tuple[Step, ...]]]:
    """Facts of small and large cases, with the answers of a plain engine that has done nothing else."""
    chance = random.Random(20)
    drawn = [chance.sample(SIGNS, chance.choice([3, 10, 20, 60])) for _ in range(50)]
    return [(facts, conclude(library(), facts, backend("agenda"))) for facts in drawn]


def library() -> Library:
    chance = random.Random(9)
    return Library.of([rule_set(area, chance) for area in range(SETS)])


def on_threads(wrong: Callable[[int], int], count: int) -> int:
    """How many of `count` evaluations went wrong, each thread taking every eighth."""
    with ThreadPoolExecutor(THREADS) as pool:
        return sum(pool.map(lambda first: sum(map(wrong, range(first, count, THREADS))), range(THREADS)))


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="resident memory is read from /proc")
def test_many_evaluations_on_many_threads_are_right_and_leave_no_memory_behind(
    engine: Backend, cases: list[tuple[list[str], tuple[Step, ...]]]
) -> None:
    sets = library()

    def wrong(number: int) -> int:
        facts, expected = cases[number % len(cases)]
        return conclude(sets, facts, engine) != expected

    mistakes = on_threads(wrong, EVALUATIONS // 4)
    warm = resident_bytes()
    mistakes += on_threads(wrong, EVALUATIONS - EVALUATIONS // 4)
    assert mistakes == 0
    assert resident_bytes() - warm < ALLOWED_GROWTH


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="resident memory is read from /proc")
def test_a_knowledge_base_that_is_edited_again_and_again_leaves_no_memory_behind(engine: Backend) -> None:
    chance = random.Random(3)

    def edit_and_ask(times: int) -> None:
        for _ in range(times):
            conclude(Library.of([rule_set(0, chance)]), SIGNS[:20], engine)

    edit_and_ask(EVALUATIONS // 20)
    warm = resident_bytes()
    edit_and_ask(EVALUATIONS // 10)
    assert resident_bytes() - warm < ALLOWED_GROWTH
