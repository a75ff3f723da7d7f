"""Facts in, canonical trace out: across rule sets, for either engine, loaded by need or all at once."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from engine.errors import KbError, UsageError
from engine.model import Rule, RuleSet, Step
from engine.reason.chain import Library, backend, conclude

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.reason.chain import Backend

SYMPTOMS = RuleSet(
    "symptoms",
    (
        Rule("slow-1", ("word:slow", "stage:serving"), "symptom:slow"),
        Rule("slow-2", ("metric:ttft-high",), "symptom:slow"),
        Rule("preempted", ("sign:preempted",), "symptom:preemption"),
    ),
)
CAUSES = RuleSet(
    "causes",
    (
        Rule("kv-short", ("symptom:slow", "symptom:preemption"), "cause:kv-cache-short"),
        Rule("too-many", ("cause:kv-cache-short",), "caution:max-num-seqs-up"),
    ),
)
NETWORK = RuleSet("network", (Rule("nccl", ("sign:nccl-timeout",), "cause:nccl"),))
LIBRARY = Library.of([SYMPTOMS, CAUSES, NETWORK])


def steps(engine: Backend, rule_sets: Iterable[RuleSet], *atoms: str) -> list[tuple[int, str, str]]:
    """The trace as (level, conclusion, rule), with the promise checked that loading everything changes nothing."""
    library = Library.of(rule_sets)
    trace = conclude(library, atoms, engine)
    assert conclude(library, atoms, engine, preload=True) == trace
    return [(step.level, step.conclusion, step.rule) for step in trace]


def test_conclusions_of_one_set_set_off_another(engine: Backend) -> None:
    assert conclude(LIBRARY, ["sign:preempted", "metric:ttft-high"], engine) == (
        Step("symptom:preemption", "preempted", ("sign:preempted",), 1),
        Step("symptom:slow", "slow-2", ("metric:ttft-high",), 1),
        Step("cause:kv-cache-short", "kv-short", ("symptom:slow", "symptom:preemption"), 2),
        Step("caution:max-num-seqs-up", "too-many", ("cause:kv-cache-short",), 3),
    )


def test_every_supporting_rule_of_a_conclusion_is_in_the_trace(engine: Backend) -> None:
    trace = conclude(LIBRARY, ["word:slow", "stage:serving", "metric:ttft-high"], engine)
    assert [(step.conclusion, step.rule) for step in trace] == [("symptom:slow", "slow-1"), ("symptom:slow", "slow-2")]


def test_the_order_of_the_facts_makes_no_difference(engine: Backend) -> None:
    facts = ["word:slow", "stage:serving", "metric:ttft-high", "sign:preempted"]
    assert conclude(LIBRARY, facts, engine) == conclude(LIBRARY, reversed(facts), engine)


def test_nothing_follows_from_nothing(engine: Backend) -> None:
    assert conclude(LIBRARY, [], engine) == conclude(LIBRARY, [], engine, preload=True) == ()


def test_only_the_sets_that_an_atom_triggers_are_loaded(engine: Backend) -> None:
    by_id = {rule_set.id: rule_set for rule_set in (SYMPTOMS, CAUSES, NETWORK)}
    watch = {"sign:preempted": ("symptoms",), "symptom:preemption": ("causes",), "sign:nccl-timeout": ("network",)}
    loaded: list[str] = []

    def load(set_id: str) -> RuleSet:
        loaded.append(set_id)
        return by_id[set_id]

    library = Library(watch, by_id, load)
    conclude(library, ["sign:preempted"], engine)
    assert loaded == ["symptoms", "causes"]
    conclude(library, ["sign:preempted"], engine, preload=True)
    assert loaded == ["symptoms", "causes", "network"]


def test_a_conclusion_stands_at_the_level_of_its_shortest_derivation(engine: Backend) -> None:
    detour = RuleSet("detour", (Rule("1", ("a:a",), "a:b"), Rule("2", ("a:b",), "a:c"), Rule("3", ("a:c",), "goal:g")))
    direct = RuleSet("direct", (Rule("4", ("z:z",), "goal:g"), Rule("5", ("goal:g",), "end:e")))
    assert steps(engine, [detour, direct], "a:a", "z:z") == [
        (1, "a:b", "1"),
        (1, "goal:g", "3"),
        (1, "goal:g", "4"),
        (2, "a:c", "2"),
        (2, "end:e", "5"),
    ]


def test_a_conclusion_that_was_a_fact_keeps_level_0_and_its_supporting_rules(engine: Backend) -> None:
    rule_set = RuleSet("s", (Rule("r", ("a:a",), "b:b"), Rule("t", ("b:b",), "c:c")))
    assert steps(engine, [rule_set], "a:a", "b:b") == [(0, "b:b", "r"), (1, "c:c", "t")]


def test_a_cycle_through_two_sets_ends(engine: Backend) -> None:
    there = RuleSet("there", (Rule("ab", ("a:a",), "b:b"), Rule("cd", ("c:c",), "d:d")))
    back = RuleSet("back", (Rule("ba", ("b:b",), "a:a"), Rule("bc", ("b:b",), "c:c"), Rule("db", ("d:d",), "b:b")))
    expected = [(0, "b:b", "ab"), (0, "b:b", "db"), (1, "a:a", "ba"), (1, "c:c", "bc"), (2, "d:d", "cd")]
    assert steps(engine, [there, back], "b:b") == expected


def test_a_set_runs_again_when_another_set_concludes_what_it_waits_for(engine: Backend) -> None:
    """The middle set has half of a condition from the start and gets the other half two sets later."""
    first = RuleSet("first", (Rule("1", ("a:a",), "b:b"),))
    middle = RuleSet("middle", (Rule("2", ("a:a",), "m:m"), Rule("4", ("m:m", "c:c"), "d:d")))
    last = RuleSet("last", (Rule("3", ("b:b",), "c:c"),))
    assert steps(engine, [middle, first, last], "a:a") == [
        (1, "b:b", "1"),
        (1, "m:m", "2"),
        (2, "c:c", "3"),
        (3, "d:d", "4"),
    ]


def test_a_long_ladder_is_climbed_to_its_top(engine: Backend) -> None:
    rungs = [Rule(f"r{n:03}", (f"n:{n}",), f"n:{n + 1}") for n in range(200)]
    odd, even = RuleSet("odd", tuple(rungs[1::2])), RuleSet("even", tuple(rungs[0::2]))
    assert steps(engine, [odd, even], "n:0") == [(n + 1, f"n:{n + 1}", f"r{n:03}") for n in range(200)]


def test_an_engine_that_fires_a_rule_without_its_conditions_is_caught() -> None:
    class Careless:
        name = "careless"

        def run(self, rule_set: RuleSet, atoms: Iterable[str]) -> list[Rule]:
            return list(rule_set.rules)

    with pytest.raises(KbError, match=r"'slow-1' fired although its conditions word:slow, stage:serving"):
        conclude(LIBRARY, ["sign:preempted"], Careless())


@pytest.mark.parametrize("name", ["agenda", "durable"])
def test_kb_engine_names_the_backend(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "durable":
        pytest.importorskip("durable_rules_engine", exc_type=ImportError)
    monkeypatch.setenv("KB_ENGINE", name)
    assert backend().name == name


def test_an_argument_wins_over_kb_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KB_ENGINE", "clips")
    assert backend("agenda").name == "agenda"


@pytest.mark.parametrize("setting", ["", None])
def test_durable_runs_by_default_where_it_loads(setting: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("durable_rules_engine", exc_type=ImportError)
    monkeypatch.delenv("KB_ENGINE", raising=False)
    if setting is not None:
        monkeypatch.setenv("KB_ENGINE", setting)
    assert backend().name == "durable"


def test_any_other_value_of_kb_engine_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KB_ENGINE", "Durable")
    with pytest.raises(UsageError, match=r"KB_ENGINE is 'Durable'; there are 'durable' and 'agenda'") as refusal:
        backend()
    assert refusal.value.exit_code == 2


def run_python(script: str, **settings: str) -> str:
    """What a fresh interpreter prints that has KB_ENGINE only from `settings`."""
    variables = {name: value for name, value in os.environ.items() if name != "KB_ENGINE"} | settings
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=variables)
    return run.stdout.strip()


WITHOUT_DURABLE = """\
import sys
sys.modules["durable_rules_engine"] = None
from engine.errors import MissingExtra
from engine.reason.chain import backend
for attempt in range(2):
    try:
        print(backend().name)
    except MissingExtra as refusal:
        print(refusal)
"""


def test_agenda_runs_by_default_where_durable_does_not_load() -> None:
    assert run_python(WITHOUT_DURABLE).splitlines() == ["agenda", "agenda"]


def test_durable_asked_for_where_it_does_not_load_says_what_to_do() -> None:
    first, second = run_python(WITHOUT_DURABLE, KB_ENGINE="durable").splitlines()
    assert first == second
    assert first.startswith("The engine 'durable' does not load here: import of durable_rules_engine halted;")
    assert "vllm-kb[durable]" in first
    assert "KB_ENGINE=agenda" in first


def test_the_chain_loads_durable_only_when_it_is_chosen() -> None:
    script = "import sys; from engine.reason.chain import backend; backend('agenda')"
    assert run_python(f"{script}; print([name for name in sys.modules if 'durable' in name])") == "[]"
