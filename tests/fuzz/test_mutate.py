"""A short run of the mutation fuzz; `python -m tests.fuzz.mutate` is the long one."""

from __future__ import annotations

import os

from tests.fuzz.mutate import corpus, made, run
from tests.support import real

FIRST = int(os.environ.get("KB_FUZZ", "0"))


def test_three_hundred_spoilt_inputs_are_all_answered() -> None:
    tried, findings = run(120, FIRST, 300)
    assert findings == []
    assert tried > 50


def test_an_input_can_be_made_again() -> None:
    assert [made(seed) for seed in range(5)] == [made(seed) for seed in range(5)]
    assert len({made(seed).text for seed in range(50)}) > 20


def test_the_corpus_holds_the_examples_of_the_knowledge_base() -> None:
    assert len(corpus()) > 4 * len(real().ids("cause"))
