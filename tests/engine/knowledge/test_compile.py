"""What is compiled is what the YAML says, in whatever order its files and entries were written."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import yaml

from engine.diagnose import diagnose
from engine.knowledge.compile import build
from engine.knowledge.store import Knowledge
from engine.model import Rule, RuleSet
from engine.reason.agenda import AGENDA
from engine.reason.chain import conclude
from engine.reason.infer import library
from engine.reason.limits import violations
from tests.support import MINI, answer, case, mini

if TYPE_CHECKING:
    from pathlib import Path

CASES = [
    case("out of memory since I raised the context length", command="vllm serve m --max-model-len 4096"),
    case("docker hangs with two gpus"),
    case("启动时显存不足，上下文 128k"),
    case("", "ValueError: 16.0 GiB KV cache is needed, which is larger. estimated maximum model length is 42672."),
    case("help, an error"),
]  # fmt: skip


def answers(knowledge: Knowledge) -> list[object]:
    return [diagnose(one, knowledge) for one in CASES]


def test_an_entry_is_found_as_its_file_says_it() -> None:
    cause = mini().item("cause", "window-too-large")
    assert cause is not None
    assert cause["title"]["en"] == "The KV cache cannot hold one full request"
    assert mini().item("cause", "unheard-of") is None
    assert mini().ids("cause") == ("budget-too-large", "flag-removed", "shm-too-small", "window-too-large")


def test_a_sign_of_a_cause_is_found_like_one_of_its_own_file() -> None:
    own, shared = mini().item("sign", "kv-need-exceeds"), mini().item("sign", "cuda-out-of-memory")
    assert own is not None
    assert shared is not None
    assert own["cause"] == "window-too-large"
    assert shared["cause"] is None
    assert mini().section("roles")["kv-need-exceeds"] == "root"


def test_flags_are_known_by_every_spelling_of_theirs() -> None:
    names = mini().section("flag-names")
    assert names["-tp"] == "--tensor-parallel-size"
    assert names["--device-memory-utilization"] == names["--gpu-memory-utilization"]


def test_the_rules_keep_within_the_limits_of_the_engine() -> None:
    for kind in ("rules", "advice"):
        sets = [RuleSet(name, tuple(Rule(*row) for row in mini().item(kind, name) or ())) for name in mini().ids(kind)]
        assert sets
        assert violations(sets) == []


def test_each_rule_is_loaded_once_its_conditions_are_known() -> None:
    for kind, watch in (("rules", "watch"), ("advice", "advice-watch")):
        sets = library(mini(), kind, watch)
        for name in mini().ids(kind):
            rows: Any = mini().item(kind, name)
            for rule, body, _head in rows:
                if not any(
                    atom.startswith(("item:", "fix:")) for atom in body
                ):  # those follow from rules of the same set
                    assert rule in {step.rule for step in conclude(sets, body, AGENDA)}


def test_files_written_in_another_order_compile_to_the_same(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    files = sorted(home.rglob("*.yaml"), reverse=True)
    for file in files:
        target = other / file.relative_to(home)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
    assert build(str(other)) == build(str(home))


def test_entries_in_another_order_give_the_same_answers(home: Path) -> None:
    expected = answers(mini())
    for seed in range(3):
        for file in [*home.glob("s*/*.yaml"), *home.glob("lexicon/*.yaml"), *home.glob("reference/*.yaml")]:
            data = yaml.safe_load(file.read_text(encoding="utf-8"))
            entries = list(data.items()) if isinstance(data, dict) else data
            random.Random(seed).shuffle(entries)
            shuffled = dict(entries) if isinstance(data, dict) else entries
            file.write_text(yaml.safe_dump(shuffled, allow_unicode=True, sort_keys=False), encoding="utf-8")
        assert answers(Knowledge(build(str(home)))) == expected


def test_two_processes_compile_the_same_bytes() -> None:
    program = f"import zlib; from engine.knowledge.compile import build; print(zlib.crc32(build({str(MINI)!r})))"
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_the_hash_changes_with_the_knowledge_and_with_nothing_else(home: Path) -> None:
    before = Knowledge(build(str(home))).hash
    assert Knowledge(build(str(home))).hash == before == mini().hash
    (home / "notes.txt").write_text("not knowledge", encoding="utf-8")
    assert Knowledge(build(str(home))).hash == before
    weights = home / "weights.yaml"
    weights.write_text(weights.read_text(encoding="utf-8") + "# a comment\n", encoding="utf-8")
    assert Knowledge(build(str(home))).hash != before


def test_a_misspelt_flag_is_told_from_the_reference() -> None:
    assert mini().nearest_flag("--max-modle-len") == "--max-model-len"
    assert mini().nearest_flag("--completely-different") is None
    assert answer("x", command="vllm serve m --max-modle-len 5") is not None
