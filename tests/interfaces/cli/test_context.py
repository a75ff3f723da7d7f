"""--context and --fact: what is stated is understood as it was written, and a mistake is named with what was meant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from engine.errors import InputError, KbError, UsageError
from engine.knowledge.store import Knowledge, load
from interfaces.cli.context import context
from interfaces.cli.facts import facts

if TYPE_CHECKING:
    from tests.interfaces.cli.conftest import Kb

BOMB = "a: &a [x, x]\n" + "\n".join(
    f"{new}: &{new} [*{old}, *{old}, *{old}]" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return load()


def read(tmp_path: Path, content: str | bytes, name: str = "case.yaml") -> dict[str, Any]:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return context(str(path))


# -- the file ---------------------------------------------------------------------------------------------------------


def test_yaml_and_json_say_the_same(tmp_path: Path) -> None:
    stated = {
        "vllm_version": "0.11.0",
        "args": {"max-num-seqs": 64},
        "env": {"NCCL_P2P_DISABLE": "1"},
        "other": "显存 😀",
    }
    yaml = 'vllm_version: 0.11.0\nargs: {max-num-seqs: 64}\nenv:\n  NCCL_P2P_DISABLE: "1"\nother: 显存 😀\n'
    assert read(tmp_path, yaml) == stated
    assert read(tmp_path, json.dumps(stated, indent="\t")) == stated
    assert read(tmp_path, "\ufeff" + json.dumps(stated, ensure_ascii=False)) == stated


@pytest.mark.parametrize(
    "content",
    ["vllm_version: 0.10 # mine\n", '{"vllm_version": 0.10}', "{vllm_version: 0.10}", "vllm_version: '0.10'\n"],
)
def test_a_version_is_no_number(tmp_path: Path, content: str) -> None:
    assert read(tmp_path, content) == {"vllm_version": "0.10"}


def test_an_unknown_key_is_kept_and_named_on_standard_error(kb: Kb, tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_text("notes: torch.OutOfMemoryError CUDA out of memory\nargz: {}\n")
    ran = kb("query", "it fails", "--context", "case.yaml", "--json")
    assert ran.returncode == 0
    assert b"'notes' is no context key" in ran.stderr
    assert b"'argz' is no context key; it is searched as text. Did you mean 'args'?" in ran.stderr
    assert "out-of-memory" in {symptom["id"] for symptom in json.loads(ran.stdout)["symptoms"]}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (BOMB, "anchors and aliases are not allowed"),
        ("- a\n- b\n", "holds no mapping"),
        ("", "holds no mapping"),
        ("just words", "holds no mapping"),
        ("a: b: c", "not valid YAML"),
        ("a: 1\na: 2\n", "'a' is given twice"),
        ("{" + '"a": {' * 40 + "}" * 41, "deeper than 32"),
        ("[" * 100_000, "nest"),
        ("a: " + "[" * 5_000, "nest"),
        (b"a: \xff\xfe", "not UTF-8 text: see its byte 3"),
        ("a: \x00", "not valid YAML"),
        ("a: " + "x" * 4_000_001, "more than 4,000,000 bytes"),
        ("facts: many", "'facts' is no mapping"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path, content: str | bytes, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        read(tmp_path, content)
    assert "case.yaml" in caught.value.message
    assert len(str(caught.value)) < 400 + len(str(tmp_path))


def test_a_tag_that_names_code_runs_nothing(kb: Kb, tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_text("other: !!python/object/apply:os.system ['touch ran']\n")
    kb("query", "hang", "--context", "case.yaml")
    assert not (tmp_path / "ran").exists()


def test_a_bomb_costs_no_time_and_no_memory(kb: Kb, tmp_path: Path) -> None:
    (tmp_path / "bomb.yaml").write_text(BOMB)
    ran = kb("query", "hang", "--context", "bomb.yaml")
    assert (ran.returncode, ran.stdout, ran.stderr.count(b"\n")) == (2, b"", 1)


# -- the pairs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pair", "name", "value"),
    [
        ("stage=serving", "stage", "serving"),
        ("stage = serving", "stage", "serving"),
        ("vllm_version=0.10", "vllm_version", "0.10"),
        ("vllm.version=0.10", "vllm.version", "0.10"),
        ("gpu_count=4", "gpu_count", 4),
        ("gpu.memory_gib=79.2", "gpu.memory_gib", 79.2),
        ("log.startup_complete=no", "log.startup_complete", False),
        ("args.max-num-seqs=64", "args.max-num-seqs", 64),
        ("args.--max_num_seqs=64", "args.max-num-seqs", 64),
        ("args.gpu-memory-utilization=0.9", "args.gpu-memory-utilization", 0.9),
        ("args.enforce-eager=true", "args.enforce-eager", True),
        ("args.kv-cache-dtype=fp8", "args.kv-cache-dtype", "fp8"),
        ("env.NCCL_P2P_DISABLE=1", "env.NCCL_P2P_DISABLE", "1"),
        ("metrics.num_requests_waiting=12", "metrics.vllm:num_requests_waiting", 12),
        ("says.hang=yes", "says.hang", True),
        ("model=a=b", "model", "a=b"),
    ],
)
def test_a_pair_becomes_a_typed_value_under_its_name(knowledge: Knowledge, pair: str, name: str, value: object) -> None:
    found = facts([pair], knowledge)
    assert found == {name: value}
    assert type(found[name]) is type(value)


@pytest.mark.parametrize(
    ("pair", "says"),
    [
        ("stage", "has no value"),
        ("=1", "has no value"),
        ("vllm_verison=1", "Did you mean 'vllm_version'?"),
        ("max-num-seqs=1", "Did you mean 'args.max-num-seqs'?"),
        ("max_num_seqs=1", "Did you mean 'args.max-num-seqs'?"),
        ("NCCL_P2P_DISABLE=1", "Did you mean 'env.NCCL_P2P_DISABLE'?"),
        ("args.max-num-sqs=1", "Did you mean 'args.max-num-seqs'?"),
        ("metrics.num_requests_wating=1", "Did you mean 'metrics.vllm:num_requests_waiting'?"),
        ("says.hangg=yes", "Did you mean 'says.hang'?"),
        ("env.A B=1", "no environment variable"),
        ("args=1", "names no fact 'args'"),
        ("stage=servin", "never 'servin'. It is one of"),
        ("gpu_count=many", "is a number, not 'many'"),
        ("log.startup_complete=maybe", "is true or false, not 'maybe'"),
    ],
)
def test_a_pair_that_means_nothing_is_refused_with_what_was_probably_meant(
    knowledge: Knowledge, pair: str, says: str
) -> None:
    with pytest.raises(UsageError) as caught:
        facts([pair], knowledge)
    assert says in str(caught.value)


def test_all_wrong_pairs_are_reported(knowledge: Knowledge) -> None:
    with pytest.raises(KbError) as caught:
        facts(["a=1", "stage=serving", "b=2"], knowledge)
    assert "'a'" in str(caught.value)
    assert "'b'" in str(caught.value)


def test_a_pair_outweighs_the_file(kb: Kb, tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_text("facts: {where: docker}\n")
    ask = ["query", "NCCL error at startup with 2 GPUs", "--context", "case.yaml", "--json"]
    contained = json.loads(kb(*ask).stdout)
    bare = json.loads(kb(*ask, "--fact", "where=bare-metal").stdout)
    assert "docker-shm-too-small" in {cause["id"] for cause in contained["causes"]}
    assert "docker-shm-too-small" in {cause["id"] for cause in bare["ruled_out"]}
