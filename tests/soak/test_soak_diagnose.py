"""Twenty thousand cases in one process on eight threads: each answer is the one that a single thread gave, nothing
fails, and the memory stays where it was.

KB_SOAK sets the number of cases: 1,000 unless given, 20,000 before a release."""

from __future__ import annotations

import gc
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.diagnose import diagnose
from tests.fuzz.mutate import COMMANDS, COMPLAINTS, LOG, made
from tests.support import case, real

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.model import Answer, Case

pytestmark = pytest.mark.soak

CASES = int(os.environ.get("KB_SOAK", "1000"))
THREADS = 8
DIFFERENT = 200
ALLOWED_GROWTH = 10 * 2**20


def case_of(number: int) -> Case:
    """One of two hundred cases: complaints, logs, commands, and spoilt ones from the fuzz, each made afresh."""
    kind, which = number % 4, number // 4
    if kind == 0:
        return case(COMPLAINTS[which % len(COMPLAINTS)])
    if kind == 1:
        lines = LOG.splitlines(keepends=True)
        return case("it does not start", "".join(lines[: which % len(lines) + 1]))
    if kind == 2:
        explained: Case = case(COMPLAINTS[which % len(COMPLAINTS)], command=COMMANDS[which % len(COMMANDS)])
        return explained.but(explain=True)  # type: ignore[no-any-return]
    return made(which)


def resident_bytes() -> int:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def on_threads(wrong: Callable[[int], int], count: int) -> int:
    """How many of `count` cases went wrong, each thread taking every eighth; an exception in one is raised here."""
    with ThreadPoolExecutor(THREADS) as pool:
        return sum(pool.map(lambda first: sum(map(wrong, range(first, count, THREADS))), range(THREADS)))


@pytest.fixture(scope="module")
def expected() -> list[Answer]:
    return [diagnose(case_of(number), real()) for number in range(DIFFERENT)]


@pytest.mark.parametrize("engine", ["agenda", "durable"])
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="resident memory is read from /proc")
def test_thousands_of_cases_on_eight_threads_are_right_and_leave_no_memory_behind(
    engine: str, expected: list[Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "durable":
        pytest.importorskip("durable_rules_engine", exc_type=ImportError)
    monkeypatch.setenv("KB_ENGINE", engine)

    def wrong(number: int) -> int:
        which = number * 7 % DIFFERENT  # a thread's own cases would all be of one kind otherwise
        return diagnose(case_of(which), real()) != expected[which]

    mistakes = on_threads(wrong, max(CASES // 4, 2 * DIFFERENT))
    warm = resident_bytes()
    mistakes += on_threads(wrong, CASES)
    assert mistakes == 0
    assert resident_bytes() - warm < ALLOWED_GROWTH
