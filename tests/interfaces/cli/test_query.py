"""`kb query`: what belongs to one case, which formats it has, which exit code says what."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.interfaces.cli.conftest import Kb, Ran

KV_CACHE_LOG = b"""\
INFO 11-02 10:12:01 [gpu_worker.py:298] Available KV cache memory: 1.94 GiB
(EngineCore_DP0 pid=241) ERROR 11-02 10:12:02 [core.py:845] ValueError: To serve at least one request with \
the model's max seq len (32768), (4.00 GiB KV cache is needed, which is larger than the available KV cache memory \
(1.94 GiB). Based on the available memory, the estimated maximum model length is 15888.
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""
KV_CACHE = "kv-cache-smaller-than-max-model-len"


def answer(ran: Ran) -> dict[str, Any]:
    assert ran.returncode in (0, 1), ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "server.log"
    path.write_bytes(KV_CACHE_LOG)
    return path


# -- what goes in -----------------------------------------------------------------------------------------------------


def test_words_need_no_quotes(kb: Kb) -> None:
    assert kb("query", "requests", "hang", "--json").stdout == kb("query", "requests hang", "--json").stdout


def test_options_may_stand_before_between_and_after_the_words(kb: Kb) -> None:
    plain = kb("query", "--json", "requests hang").stdout
    assert kb("query", "requests", "--json", "hang").stdout == plain
    assert kb("query", "--format=json", "--", "requests", "hang").stdout == plain


def test_a_flag_of_vllm_is_part_of_the_text(kb: Kb) -> None:
    quoted = kb("query", "--json", "unrecognized arguments: --swap-space 4")
    assert kb("query", "unrecognized", "arguments:", "--swap-space", "4", "--json").stdout == quoted.stdout


@pytest.mark.parametrize("arguments", [["-"], []])
def test_words_may_come_from_standard_input(kb: Kb, arguments: list[str]) -> None:
    piped = answer(kb("query", *arguments, "--json", stdin="请求卡住了".encode()))
    assert piped["lang"] == "zh"
    assert piped["status"] == "answered"


@pytest.mark.parametrize("arguments", [["-"], [], ["--log", "-"]])
def test_a_log_may_come_from_standard_input(kb: Kb, arguments: list[str]) -> None:
    first = answer(kb("query", *arguments, "--json", stdin=KV_CACHE_LOG))["causes"][0]
    assert (first["id"], first["evidence"][0]["line"]) == (KV_CACHE, 2)


def test_standard_input_is_left_alone_where_the_case_is_given_otherwise(kb: Kb) -> None:
    alone = kb("query", "requests hang", "--json").stdout
    assert kb("query", "requests hang", "--json", stdin=KV_CACHE_LOG).stdout == alone


def test_words_and_standard_input_belong_to_one_case(kb: Kb) -> None:
    both = answer(kb("query", "-", "启动失败", "--json", stdin=KV_CACHE_LOG))
    assert (both["lang"], both["causes"][0]["id"]) == ("zh", KV_CACHE)


def test_a_dash_within_the_words_is_a_dash(kb: Kb) -> None:
    assert answer(kb("query", "vllm", "-", "requests", "hang", "--json", stdin=b"CUDA out of memory"))["causes"]
    assert (
        b"out of memory" not in kb("query", "vllm", "-", "requests", "hang", stdin=b"CUDA out of memory").stdout.lower()
    )


def test_a_dash_after_two_dashes_is_a_dash(kb: Kb) -> None:
    assert kb("query", "--json", "--", "-", stdin=KV_CACHE_LOG).returncode == 1


def test_several_logs_are_told_apart_in_the_evidence(kb: Kb, log: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.log"
    other.write_text("INFO 11-02 10:11:59 [api_server.py:1] vLLM API server version 0.11.0\n")
    evidence = answer(kb("query", "--log", other, "--log", log, "--json"))["causes"][0]["evidence"][0]
    assert (evidence["file"], evidence["where"]) == (1, "input 2, line 2")


def test_a_log_may_be_a_pipe_of_the_shell(kb: Kb, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(KV_CACHE_LOG,))
    writer.start()
    assert answer(kb("query", "--log", pipe, "--json"))["causes"][0]["id"] == KV_CACHE
    writer.join()


def test_the_command_takes_its_values_from_the_operator(kb: Kb, log: Path) -> None:
    command = "vllm serve my/model --max-model-len 32768"
    found = answer(kb("query", "--log", log, "--command", command, "--json"))
    assert found["command"]["before"] == command
    assert "--max-model-len 15888" in found["command"]["after"]
    assert found["causes"][0]["fixes"][0]["changes"][0] == {
        "kind": "flag", "name": "--max-model-len", "from": "32768", "to": "15888",
    }  # fmt: skip


def test_a_command_alone_is_a_case(kb: Kb) -> None:
    assert kb("query", "--command", "vllm serve my/model --swap-space 4", "--json").returncode in (0, 1)


def test_bytes_that_are_no_utf_8_are_no_obstacle(kb: Kb) -> None:
    ran = kb("query", b"requests \xff\xfe hang \xe8\xaf", "--json")
    assert answer(ran)["status"] == "answered"


# -- what comes out ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (["requests hang"], "answered", 0),
        (["how do I cook rice"], "unknown", 1),
        (["help"], "needs_more", 1),
        (["报错了"], "needs_more", 1),
    ],
)
def test_the_exit_code_follows_the_status(kb: Kb, arguments: list[str], status: str, code: int) -> None:
    ran = kb("query", "--json", *arguments)
    assert (answer(ran)["status"], ran.returncode) == (status, code)


@pytest.mark.parametrize("form", [["--json"], ["--format", "json"], ["--format", "markdown"], ["--format", "text"], []])
def test_the_same_case_gives_the_same_bytes(kb: Kb, form: list[str]) -> None:
    first = kb("query", "requests hang", *form)
    assert first.stdout.endswith(b"\n")
    assert kb("query", "requests hang", *form, env={"PYTHONHASHSEED": "7"}).stdout == first.stdout


def test_all_formats_name_the_same_cause(kb: Kb, log: Path) -> None:
    title = answer(kb("query", "--log", log, "--json"))["causes"][0]["title"].encode()
    assert title in kb("query", "--log", log).stdout
    assert title.replace(b"_", b"\\_") in kb("query", "--log", log, "--format", "markdown").stdout


def test_standard_error_stays_silent_with_an_answer(kb: Kb, log: Path) -> None:
    assert kb("query", "requests hang", "--log", log).stderr == b""


@pytest.mark.parametrize(("lang", "expected"), [("auto", "zh"), ("en", "en"), ("zh", "zh")])
def test_the_language_is_that_of_the_words_unless_it_is_chosen(kb: Kb, lang: str, expected: str) -> None:
    assert answer(kb("query", "请求卡住了", "--lang", lang, "--json"))["lang"] == expected


def test_a_log_in_chinese_does_not_make_the_answer_chinese(kb: Kb, tmp_path: Path) -> None:
    log = tmp_path / "zh.log"
    log.write_text("INFO 11-02 10:12:01 [api_server.py:1] 模型加载完成\nERROR CUDA out of memory\n", encoding="utf-8")
    assert answer(kb("query", "--log", log, "--json"))["lang"] == "en"


def test_explain_adds_the_trace_and_nothing_else(kb: Kb) -> None:
    plain, explained = (answer(kb("query", "requests hang", "--json", *more)) for more in ([], ["--explain"]))
    assert explained.pop("trace")
    assert explained == plain
    assert b"Level 1" in kb("query", "requests hang", "--explain").stdout
    assert "第 1 层".encode() in kb("query", "请求卡住了", "--explain").stdout


@pytest.mark.parametrize(
    "variables",
    [
        {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "POSIX", "LANG": ""},
    ],
)
def test_the_locale_changes_nothing(kb: Kb, variables: dict[str, str]) -> None:
    words = "请求卡住了".encode()
    ran = kb("query", words, env=variables)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout == kb("query", words, env={"LC_ALL": "C.UTF-8"}).stdout


def test_help_names_every_option(kb: Kb) -> None:
    ran = kb("query", "--help")
    options = ["--log", "--command", "--context", "--fact", "--lang", "--explain", "--format", "--json", "--llm"]
    assert ran.returncode == 0
    assert [option for option in options if option.encode() not in ran.stdout] == []


# -- wrong usage ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["", "  "], "no complaint"),
        (["-"], "no complaint"),
        ([], "no complaint"),
        (["hang", "--explan"], "Did you mean '--explain'?"),
        (["hang", "--log"], "--log"),
        (["hang", "--lang", "fr"], "'fr'"),
        (["hang", "--format", "xml"], "'xml'"),
        (["hang", "--llm"], "--llm is not part of this version"),
    ],
)
def test_wrong_usage_is_one_line_that_says_what_to_do(kb: Kb, arguments: list[str], says: str) -> None:
    ran = kb("query", *arguments)
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert says in ran.stderr.decode()
    assert ran.stderr.count(b"\n") == 1
    assert ran.stderr.startswith(b"kb query: ")
