"""A start command is read as a shell and vLLM's own command line would read it, whatever stands around it."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.observe.command import canonical, facts, from_mapping, mentioned, parse
from engine.observe.command.parts import Parsed
from tests.support import mini, values


def parsed(text: str) -> Parsed:
    return parse(text, mini())


def flags(text: str) -> dict[str, str | None]:
    return {given.name: given.value for given in parsed(text).flags}


def variables(text: str) -> dict[str, str | None]:
    return {given.name: given.value for given in parsed(text).variables}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vllm serve m --max-model-len 4096", {"--max-model-len": "4096"}),
        ("vllm serve m --max-model-len=4096", {"--max-model-len": "4096"}),
        ("vllm serve m --max_model_len 4096", {"--max-model-len": "4096"}),
        ("vllm serve m --Max-Model-Len 4096", {"--max-model-len": "4096"}),
        ("vllm serve m -tp 2", {"--tensor-parallel-size": "2"}),
        ("vllm serve m -tp=2", {"--tensor-parallel-size": "2"}),
        ("vllm serve m --device-memory-utilization .9", {"--gpu-memory-utilization": ".9"}),
        ("vllm serve m --enforce-eager --port 8000", {"--enforce-eager": None, "--port": "8000"}),
        ("vllm serve m --enforce-eager true", {"--enforce-eager": None}),
        ("vllm serve m --swap-space -1", {"--swap-space": "-1"}),
        ("vllm serve m --port", {"--port": None}),
        ("vllm serve m --no-enable-prefix-caching", {"--no-enable-prefix-caching": None}),
        ("vllm serve m --unheard-of x", {"--unheard-of": "x"}),
        ("vllm serve m --speculative-config '{\"a\": 1}'", {"--speculative-config": '{"a": 1}'}),
        ('vllm serve m --speculative-config "{\\"a\\": 1}"', {"--speculative-config": '{"a": 1}'}),
        ("vllm serve m --speculative-config={}", {"--speculative-config": "{}"}),
        ("vllm serve m \\\n  --port 1 \\\n  --max-num-seqs 4", {"--port": "1", "--max-num-seqs": "4"}),
        ("vllm serve m\n  --port 1\n  --max-num-seqs 4", {"--port": "1", "--max-num-seqs": "4"}),
        ("vllm serve m --port 1 2>&1 | tee --append log", {"--port": "1"}),
        ("vllm serve m --port 1 > log 2>&1 &", {"--port": "1"}),
        ("vllm serve m --port 1 && curl --silent x", {"--port": "1"}),
        ("nvidia-smi --loop 1; vllm serve m --port 1; ls --all", {"--port": "1"}),
        ("vllm serve <model> --port <PORT>", {"--port": "<PORT>"}),
        ("python -m vllm.entrypoints.openai.api_server --model m --port 1", {"--model": "m", "--port": "1"}),
        ("python /opt/vllm/entrypoints/openai/api_server.py --port 1", {"--port": "1"}),
        ("/opt/venv/bin/vllm serve m --port 1", {"--port": "1"}),
        (
            "docker run --gpus all -p 8000:8000 vllm/vllm-openai:v0.8.5 --model m --port 1",
            {"--model": "m", "--port": "1"},
        ),
        ("--port 1 --max-num-seqs 4", {"--port": "1", "--max-num-seqs": "4"}),
        ("", {}),
        ("vllm serve", {}),
        ("'unclosed --port 1", {"--port": "1"}),
    ],
)
def test_flags_are_read_under_their_own_names(text: str, expected: dict[str, str | None]) -> None:
    assert flags(text) == expected


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("vllm serve org/name --port 1", "org/name"),
        ("vllm serve --port 1 org/name", "org/name"),
        ("vllm serve --model org/name", "org/name"),
        ("vllm serve '/a folder/model'", "/a folder/model"),
        ("python -m vllm.entrypoints.openai.api_server --model=org/name", "org/name"),
        ("docker run vllm/vllm-openai:latest --model org/name", "org/name"),
        ("docker run --ipc=host -e A=b -v /x:/y vllm/vllm-openai:latest org/name", "org/name"),
        ("vllm serve --port 1", None),
    ],
)
def test_the_model_is_found(text: str, model: str | None) -> None:
    assert parsed(text).model == model


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("VLLM_USE_V1=0 vllm serve m", {"VLLM_USE_V1": "0"}),
        ("A=1 B='x y' vllm serve m", {"A": "1", "B": "x y"}),
        ("export A=1\nvllm serve m", {"A": "1"}),
        ("env A=1 vllm serve m --port B=2", {"A": "1"}),
        (
            "docker run -e A=1 --env B=2 --env=C=3 -eD=4 -v E=5:/x image --model m",
            {"A": "1", "B": "2", "C": "3", "D": "4"},
        ),
        ("vllm serve m", {}),
        ("A= vllm serve m", {"A": ""}),
    ],
)
def test_variables_are_read_before_the_program_only(text: str, expected: dict[str, str]) -> None:
    assert variables(text) == expected


def test_options_of_docker_are_kept_apart() -> None:
    found = parsed("docker run --gpus all --ipc=host --rm -e A=1 --shm-size 8g image --model m")
    assert {given.name: given.value for given in found.docker} == {
        "--gpus": "all", "--ipc": "host", "--rm": None, "--shm-size": "8g"
    }  # fmt: skip
    assert found.is_docker


@pytest.mark.parametrize(
    ("text", "server"),
    [
        ("vllm serve m", True),
        ("python -m vllm.entrypoints.api_server", True),
        ("docker run image", True),
        ("podman run image", True),
        ("vllm bench serve --port 1", False),
        ("--port 1", False),
        ("curl http://x/serve", False),
        ("", False),
    ],
)
def test_a_command_that_starts_a_server_is_told_from_others(text: str, server: bool) -> None:
    assert parsed(text).is_server is server


def test_a_word_knows_where_it_stands() -> None:
    text = "A=1 vllm serve 'my model' --port  8000"
    found = parsed(text)
    (given,) = found.flags
    assert text[given.word.start : given.word.end] == "--port"
    assert given.value_word is not None
    assert text[given.value_word.start : given.value_word.end] == "8000"
    assert found.end == len(text)


def test_what_the_command_states_become_facts() -> None:
    found = facts(
        "NCCL_SHM_DISABLE=1 docker run --ipc=host vllm/vllm-openai:v0.8.5 --model m -tp 2 --enforce-eager", mini()
    )
    assert values(found, "args.tensor-parallel-size") == ["2"]
    assert values(found, "args.enforce-eager") == [True]
    assert values(found, "env.NCCL_SHM_DISABLE") == ["1"]
    assert values(found, "model.name") == ["m"]
    assert values(found, "where") == ["docker"]
    assert values(found, "vllm.version") == ["0.8.5"]
    assert values(found, "gpus") == ["several"]
    assert values(found, "args.docker-ipc") == ["host"]


@pytest.mark.parametrize(
    ("size", "gpus"), [("1", ["one"]), ("8", ["several"]), ("²", []), ("x", []), ("9" * 5_000, ["several"])]
)
def test_the_number_of_gpus_comes_of_tensor_parallelism(size: str, gpus: list[str]) -> None:
    assert values(facts(f"vllm serve m -tp {size}", mini()), "gpus") == gpus


def test_of_a_flag_that_is_given_twice_the_last_counts() -> None:
    found = facts("vllm serve m --max-model-len 4096 --port 1 --max-model-len=8192", mini())
    assert values(found, "args.max-model-len") == ["8192"]


def test_latest_is_no_version() -> None:
    assert values(facts("docker run vllm/vllm-openai:latest", mini()), "vllm.version") == []


def test_the_evidence_of_a_flag_is_its_own_words() -> None:
    (fact,) = [fact for fact in facts("vllm serve m --port  8000", mini()) if fact.name == "args.port"]
    assert (fact.origin.text, fact.origin.kind, fact.origin.source) == ("--port  8000", "command", "command:args.port")


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("--max-model-len", "--max-model-len"),
        ("--max_model_len", "--max-model-len"),
        ("max_model_len", "--max-model-len"),
        ("max-model-len", "--max-model-len"),
        ("MAX_MODEL_LEN", "--max-model-len"),
        ("-tp", "--tensor-parallel-size"),
        ("--unheard_of", "--unheard-of"),
        ("unheard_of", "--unheard-of"),
        ("-x", "-x"),
        ("", "--"),
    ],
)
def test_every_spelling_of_a_flag_has_one_name(written: str, name: str) -> None:
    assert canonical(written, mini()) == name


def test_flags_of_a_mapping_keep_their_types() -> None:
    found = from_mapping(
        {"max_model_len": 4096, "--enforce-eager": True, "tp": [1], "-tp": 2}, mini(), "context", "context"
    )
    assert values(found, "args.max-model-len") == [4096]
    assert values(found, "args.enforce-eager") == [True]
    assert values(found, "args.tensor-parallel-size") == [2]
    assert values(found, "args.tp") == ["[1]"]


def test_a_flag_in_a_sentence_takes_a_value_only_where_one_follows() -> None:
    found = mentioned(
        "--max-model-len 32k, --kv-cache-dtype fp8 and --port is taken; --swap-space: 4", mini(), "complaint"
    )
    assert values(found, "args.max-model-len") == ["32k"]
    assert values(found, "args.kv-cache-dtype") == ["fp8"]
    assert values(found, "args.port") == []
    assert values(found, "mentions.flag") == ["--max-model-len", "--kv-cache-dtype", "--port", "--swap-space"]


words = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\0\n\r"), min_size=1, max_size=12), max_size=6
)


@given(words)
def test_a_quoted_word_is_read_as_the_shell_reads_it(some: list[str]) -> None:
    text = "vllm serve m --unheard-of " + " ".join(shlex.quote(f"x{word}") for word in some)
    found = flags(text)
    assert found["--unheard-of"] == (f"x{some[0]}" if some else None)


@given(st.text(max_size=300))
def test_any_text_can_be_taken_apart(text: str) -> None:
    for command in (text, f"vllm serve {text}", f"docker run {text}", f"{text} vllm serve m"):
        found = parsed(command)
        assert 0 <= found.start <= len(command)
        assert 0 <= found.end <= len(command)
        assert facts(command, mini()) == facts(command, mini())
