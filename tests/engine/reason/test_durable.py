"""What only the durable_rules backend has to prove: its limits hold, and threads, forks and hashes do it no harm."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from engine.errors import KbError, KnowledgeError
from engine.model import Rule, RuleSet
from engine.reason.agenda import AGENDA

durable = pytest.importorskip("engine.reason.durable", exc_type=ImportError)

PAIR = RuleSet("pair", (Rule("both", ("a:a", "b:b"), "c:c"), Rule("then", ("c:c",), "d:d")))


def fired(rule_set: RuleSet, *atoms: str) -> list[str]:
    return sorted(rule.id for rule in durable.DURABLE.run(rule_set, atoms))


def test_a_set_beyond_the_limits_is_refused_before_the_engine_sees_it() -> None:
    crowd = RuleSet("crowd", tuple(Rule(f"r{number}", ("a:a",), "b:b") for number in range(256)))
    with pytest.raises(KnowledgeError, match=r"rule 'r250' in set 'crowd'.*'a:a'.*250"):
        durable.DURABLE.run(crowd, ["a:a"])


def test_a_set_at_the_limits_answers_like_the_plain_backend() -> None:
    shared = [Rule(f"shared-{number}", ("sign:n0",), f"head:h{number}") for number in range(250)]
    names = [Rule(f"name-{number}", (f"sign:n{number}", "stage:s"), f"head:n{number}") for number in range(1, 250)]
    more = [Rule(f"more-{number}", (f"sign:n{number}",), f"head:m{number}") for number in range(250, 500)]
    full = RuleSet("full", (*shared, *names, *more))
    atoms = [f"sign:n{number}" for number in range(0, 500, 7)] + ["stage:s"]
    expected = sorted(rule.id for rule in AGENDA.run(full, atoms))
    assert len(expected) > 300
    assert fired(full, *atoms) == expected


def test_two_facts_whose_hashes_collide_in_the_engine_both_count() -> None:
    """n38260 and n70373 have one 32-bit hash in session e7; the ids of sessions go round, so each of them is met."""
    colliding = RuleSet("colliding", (Rule("both", ("sign:n38260", "sign:n70373"), "c:c"),))
    for _ in range(1000):
        assert fired(colliding, "sign:n38260", "sign:n70373") == ["both"]


def test_an_engine_that_does_not_take_a_fact_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = durable.engine

    class HardOfHearing:
        def __getattr__(self, name: str) -> object:
            return getattr(real, name)

        def assert_fact(self, handle: int, fact: str) -> tuple[int, int]:
            result: tuple[int, int] = real.assert_fact(handle, fact)
            return (1, 0) if '"kind":"b"' in fact else result

    with monkeypatch.context() as patch:
        patch.setattr(durable, "engine", HardOfHearing())
        with pytest.raises(KbError, match=r"durable_rules answered 1 to the fact 'b:b'.*KB_ENGINE=agenda"):
            fired(PAIR, "a:a", "b:b")
    assert fired(PAIR, "a:a", "b:b") == ["both", "then"]


def test_eight_threads_get_their_own_answers() -> None:
    sets = [RuleSet(f"thread-{n}", (Rule("r", (f"a:{n}", "b:b"), "c:c"), Rule("s", ("c:c",), "d:d"))) for n in range(8)]
    wrong: list[int] = []

    def work(number: int) -> None:
        for turn in range(100):
            ours, theirs = sets[number], sets[(number + turn) % 8]
            if fired(ours, f"a:{number}", "b:b") != ["r", "s"] or fired(theirs, "b:b") != []:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_during_evaluations_of_other_threads_leaves_both_processes_sound() -> None:
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            fired(PAIR, "a:a", "b:b")

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        statuses = [_status_of_a_fork() for _ in range(20)]
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert statuses == [0] * 20
    assert fired(PAIR, "a:a", "b:b") == ["both", "then"]


def _status_of_a_fork() -> int:
    child = os.fork()
    if child == 0:
        sound = fired(PAIR, "a:a") == [] and fired(PAIR, "a:a", "b:b") == ["both", "then"]
        os._exit(0 if sound else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_the_engine_comes_without_the_python_layer_of_durable_rules_its_threads_and_its_imports() -> None:
    script = (
        "import sys, threading; before = set(sys.modules)\n"
        "from engine.model import Rule, RuleSet\n"
        "from engine.reason import durable\n"
        "assert durable.DURABLE.run(RuleSet('s', (Rule('r', ('a:a',), 'b:b'),)), ['a:a'])\n"
        "print(sorted(set(sys.modules) - before), threading.active_count())"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    ours = ["engine", "engine.errors", "engine.model", "engine.reason", "engine.reason.durable", "engine.reason.limits"]
    assert run.stdout.strip() == f"{sorted(['__future__', 'durable_rules_engine', *ours])} 1"
