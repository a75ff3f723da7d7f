"""The corrected command: the words that a change touches differ, all else stays byte for byte and still runs."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.advise.command import corrected
from engine.model import Change
from engine.observe.command import parse
from tests.support import mini

SERVE = "vllm serve m"


def flag(name: str, after: str | None) -> Change:
    return Change("flag", name, None, after)


def env(name: str, after: str | None) -> Change:
    return Change("env", name, None, after)


def after(command: str, *changes: Change) -> str | None:
    found = corrected(command, changes, mini())
    return found.after if found else None


LEN = flag("--max-model-len", "2048")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (f"{SERVE} --max-model-len 4096", f"{SERVE} --max-model-len 2048"),
        (f"{SERVE} --max-model-len  4096  --port 1", f"{SERVE} --max-model-len  2048  --port 1"),
        (f"{SERVE} --max-model-len=4096 --port 1", f"{SERVE} --max-model-len=2048 --port 1"),
        (f"{SERVE} --max_model_len 4096", f"{SERVE} --max_model_len 2048"),
        (f"{SERVE} --max-model-len '4096' --port 1", f"{SERVE} --max-model-len 2048 --port 1"),
        (f"{SERVE} '--max-model-len=4096' --port 1", f"{SERVE} --max-model-len=2048 --port 1"),
        (f"{SERVE} --max-model-len \\\n  4096 \\\n  --port 1", f"{SERVE} --max-model-len \\\n  2048 \\\n  --port 1"),
        (f"{SERVE} --max-model-len 1 --max-model-len 4096", f"{SERVE} --max-model-len 1 --max-model-len 2048"),
        (f"{SERVE} --max-model-len", f"{SERVE} --max-model-len 2048"),
        (SERVE, f"{SERVE} --max-model-len 2048"),
        (f"{SERVE} --port 1\n", f"{SERVE} --port 1 --max-model-len 2048\n"),
        (f"{SERVE} --port 1 2>&1 | tee x.log", f"{SERVE} --port 1 --max-model-len 2048 2>&1 | tee x.log"),
        (f"nohup {SERVE} > x.log 2>&1 &", f"nohup {SERVE} --max-model-len 2048 > x.log 2>&1 &"),
        (f"{SERVE} --port 1 && echo up", f"{SERVE} --port 1 --max-model-len 2048 && echo up"),
        (
            "docker run --gpus all vllm/vllm-openai:v0.8.5 --model m",
            "docker run --gpus all vllm/vllm-openai:v0.8.5 --model m --max-model-len 2048",
        ),
        (
            "python -m vllm.entrypoints.openai.api_server --model m --max-model-len 4096 &",
            "python -m vllm.entrypoints.openai.api_server --model m --max-model-len 2048 &",
        ),
    ],
)
def test_a_value_is_changed_where_it_stands_or_added_where_it_belongs(command: str, expected: str) -> None:
    assert after(command, LEN) == expected


def test_an_alias_stays_the_word_that_the_operator_uses() -> None:
    change = flag("--tensor-parallel-size", "2")
    assert after(f"{SERVE} -tp 4", change) == f"{SERVE} -tp 2"
    assert after(f"{SERVE} -tp=4", change) == f"{SERVE} -tp=2"
    assert after(SERVE, change) == f"{SERVE} --tensor-parallel-size 2"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (f"{SERVE} --swap-space 4", SERVE),
        (f"{SERVE} --swap-space=4 --port 1", f"{SERVE} --port 1"),
        (f"{SERVE} --port 1 --swap-space 4 --enforce-eager", f"{SERVE} --port 1 --enforce-eager"),
        (f"{SERVE} --swap-space 4 --port 1 --swap-space 8", f"{SERVE} --port 1"),
        (f"{SERVE} \\\n  --swap-space 4 \\\n  --port 1", f"{SERVE} \\\n  --port 1"),
        (f"{SERVE} \\\n  --port 1 \\\n  --swap-space 4", f"{SERVE} \\\n  --port 1"),
        (f"{SERVE} \\\n  --port 1 \\\n  --swap-space 4 \\\n  | tee log", f"{SERVE} \\\n  --port 1 \\\n  | tee log"),
        (f"{SERVE}\n  --swap-space 4\n  --port 1", f"{SERVE}\n  --port 1"),
        (SERVE, None),
    ],
)
def test_a_flag_is_removed_with_its_value_and_the_line_that_it_stood_on(command: str, expected: str | None) -> None:
    assert after(command, flag("--swap-space", None)) == expected


@pytest.mark.parametrize(
    ("command", "wanted", "expected"),
    [
        (SERVE, "true", f"{SERVE} --enforce-eager"),
        (f"{SERVE} --enforce-eager", "true", None),
        (f"{SERVE} --enforce-eager=true", "true", None),
        (f"{SERVE} --enforce-eager=false --port 1", "true", f"{SERVE} --enforce-eager --port 1"),
        (f"{SERVE} --no-enforce-eager --port 1", "true", f"{SERVE} --enforce-eager --port 1"),
        (f"{SERVE} --enforce-eager --port 1", "false", f"{SERVE} --no-enforce-eager --port 1"),
        (f"{SERVE} --no-enforce-eager", "false", None),
        (SERVE, "false", f"{SERVE} --no-enforce-eager"),
        (f"{SERVE} --enforce-eager --port 1", None, f"{SERVE} --port 1"),
    ],
)
def test_a_switch_is_turned_on_and_off_by_its_names(command: str, wanted: str | None, expected: str | None) -> None:
    assert after(command, flag("--enforce-eager", wanted)) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (SERVE, f"A=1 {SERVE}"),
        (f"  {SERVE}", f"  A=1 {SERVE}"),
        (f"$ {SERVE}", f"$ A=1 {SERVE}"),
        (f"B=2 {SERVE}", f"A=1 B=2 {SERVE}"),
        (f"A=0 {SERVE}", f"A=1 {SERVE}"),
        (f"A='0 0' {SERVE}", f"A=1 {SERVE}"),
        (f"cd /x && {SERVE}", f"cd /x && A=1 {SERVE}"),
        (f"nvidia-smi; {SERVE}", f"nvidia-smi; A=1 {SERVE}"),
        (f"source env.sh\n{SERVE}", f"source env.sh\nA=1 {SERVE}"),
        (f"sudo {SERVE}", f"sudo A=1 {SERVE}"),
        (f"nohup {SERVE} &", f"A=1 nohup {SERVE} &"),
        (f"B=2 \\\n{SERVE}", f"A=1 B=2 \\\n{SERVE}"),
        ("python -m vllm.entrypoints.openai.api_server", "A=1 python -m vllm.entrypoints.openai.api_server"),
        ("sudo python -m vllm.entrypoints.openai.api_server", "sudo A=1 python -m vllm.entrypoints.openai.api_server"),
        ("docker run image --model m", "docker run -e A=1 image --model m"),
        ("sudo docker run -it image", "sudo docker run -e A=1 -it image"),
        ("docker run -e A=0 image", "docker run -e A=1 image"),
        ("docker run --env=A=0 image", "docker run --env=A=1 image"),
        ("docker run -eA=0 image", "docker run -eA=1 image"),
    ],
)
def test_a_variable_is_set_for_the_server_and_for_nothing_else(command: str, expected: str) -> None:
    assert after(command, env("A", "1")) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (f"A=1 {SERVE}", SERVE),
        (f"B=2 A=1 {SERVE}", f"B=2 {SERVE}"),
        (f"A=1 \\\n  {SERVE}", SERVE),
        (f"cd /x && A=1 {SERVE}", f"cd /x && {SERVE}"),
        ("docker run -e A=1 --gpus all image", "docker run --gpus all image"),
        ("docker run --gpus all \\\n  -e A=1 \\\n  image", "docker run --gpus all \\\n  image"),
        ("docker run --env A=1 --env B=2 image", "docker run --env B=2 image"),
        ("docker run --env=A=1 image", "docker run image"),
        ("docker run -eA=1 image", "docker run image"),
        (SERVE, None),
    ],
)
def test_a_variable_is_removed_with_the_option_that_carries_it(command: str, expected: str | None) -> None:
    assert after(command, env("A", None)) == expected


@pytest.mark.parametrize(
    "value", ['{"method": "ngram"}', "a b", "it's", "$HOME", "x;y", "", "*", "中文", "a'b\"c", "-1"]
)
def test_a_value_stays_one_word(value: str) -> None:
    found = after(f"A=1 {SERVE} --port 1", env("A", value))
    if found is not None:
        assert shlex.split(found) == [f"A={value}", "vllm", "serve", "m", "--port", "1"]


def test_json_is_quoted_as_one_word() -> None:
    found = after(SERVE, flag("--speculative-config", '{"method": "ngram"}'))
    assert found == f"""{SERVE} --speculative-config '{{"method": "ngram"}}'"""


@pytest.mark.parametrize("value", ["half", "double", "+0.03", "-0.03", "{log.estimated_len}", "the dotted form", ""])
def test_a_value_that_could_not_be_computed_is_not_written_into_a_command(value: str) -> None:
    assert after(f"{SERVE} --max-model-len $LEN", flag("--max-model-len", value)) is None


@pytest.mark.parametrize(
    "change",
    [
        Change("infra", "docker --ipc", None, "host"),
        Change("client", "max_tokens", None, "100"),
        flag("{log.flag}", "1"),
        flag("the flag", "1"),
    ],
    ids=str,
)
def test_what_is_no_flag_and_no_variable_touches_nothing(change: Change) -> None:
    assert after(f"{SERVE} --port 1", change) is None


@pytest.mark.parametrize(
    "command", ["", "curl http://x", "--max-model-len 4096", "vllm bench serve --port 1", "vllm --version"]
)
def test_what_starts_no_server_is_not_corrected(command: str) -> None:
    assert after(command, LEN) is None


def test_several_changes_are_made_at_once_and_named() -> None:
    changes = [LEN, flag("--swap-space", None), flag("--max-num-seqs", "4"), env("A", "1"), flag("--port", "8001")]
    found = corrected(f"{SERVE} --swap-space 4 --max-model-len 4096 --port 8000", changes, mini())
    assert found is not None
    assert found.after == f"A=1 {SERVE} --max-model-len 2048 --port 8001 --max-num-seqs 4"
    assert found.changes == tuple(changes)
    assert found.before == f"{SERVE} --swap-space 4 --max-model-len 4096 --port 8000"


def test_two_new_flags_stand_in_the_order_of_the_fix() -> None:
    found = after(SERVE, flag("--max-num-seqs", "4"), flag("--port", "1"), flag("--max-model-len", "2"))
    assert found == f"{SERVE} --max-num-seqs 4 --port 1 --max-model-len 2"


def test_a_change_that_changes_nothing_is_no_correction() -> None:
    assert after(f"{SERVE} --max-model-len 2048", LEN) is None


pieces = st.sampled_from(
    [
        "--port 8000",
        "--enforce-eager",
        "--swap-space=4",
        "--max-num-seqs '256'",
        "\\\n ",
        "-tp 2",
        "--api-key 'a b'",
        '--x "y z"',
        "  ",
    ]
)


@given(
    st.lists(pieces, max_size=6), st.lists(pieces, max_size=6), st.sampled_from(["", "docker run --gpus all ", "A=1 "])
)
def test_only_the_touched_word_differs(before: list[str], behind: list[str], start: str) -> None:
    head = f"{start}vllm serve m {' '.join(before)} --max-model-len "
    tail = f" {' '.join(behind)}".rstrip()
    assert after(f"{head}4096{tail}", LEN) == f"{head}2048{tail}"


@given(
    st.lists(pieces, max_size=8),
    st.sampled_from([LEN, flag("--swap-space", None), env("A", "1"), flag("--enforce-eager", "false")]),
)
def test_a_corrected_command_says_what_the_change_says_and_needs_no_second_correction(
    some: list[str], change: Change
) -> None:
    command = f"{SERVE} {' '.join(some)}".rstrip(" \\\n")
    found = after(command, change)
    if found is None:
        return
    assert after(found, change) is None
    again = parse(found, mini())
    stated = {given.name: given.value for given in (*again.flags, *again.variables)}
    if change.kind == "env" or (change.after and change.after.isdigit()):
        assert stated[change.name] == change.after
    kept = {given.name: given.value for given in parse(command, mini()).flags if given.name != change.name}
    assert kept.items() <= stated.items()


@given(st.text(max_size=200), st.sampled_from([LEN, flag("--port", None), env("A", "1"), env("A", None)]))
def test_any_command_can_be_corrected_or_not(text: str, change: Change) -> None:
    for command in (text, f"vllm serve {text}", f"docker run {text}", f"A=1 vllm serve m {text}"):
        corrected(command, [change], mini())
