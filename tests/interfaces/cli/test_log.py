"""`kb log`: what a log says, without a diagnosis."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.interfaces.cli.conftest import Kb

LOG = """\
(APIServer pid=1) INFO 12-01 10:00:00 [utils.py:1] vLLM API server version 0.15.0
(APIServer pid=1) INFO 12-01 10:00:00 [utils.py:2] non-default args: {'model': 'm', 'max_model_len': 4096, 'api_key': ['sk-abcdefgh12345678']}
(EngineCore_DP0 pid=2) INFO 12-01 10:00:05 [gpu_model_runner.py:1] Starting to load model m...
(EngineCore_DP0 pid=2) ERROR 12-01 10:00:09 [core.py:1] Traceback (most recent call last):
(EngineCore_DP0 pid=2) ERROR 12-01 10:00:09 [core.py:1]   File "/x/vllm/loader.py", line 7, in load_weights
(EngineCore_DP0 pid=2) ERROR 12-01 10:00:09 [core.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB
"""


@pytest.fixture
def server(tmp_path: Path) -> str:
    (tmp_path / "server.log").write_text(LOG, encoding="utf-8")
    return "server.log"


def test_the_root_line_the_stage_the_version_and_the_arguments_are_shown(kb: Kb, server: str) -> None:
    ran = kb("log", server)
    shown = ran.stdout.decode()
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert shown.splitlines()[0].startswith("Failed, loading the model: ")
    assert "- line 6, EngineCore_DP0 pid=2: torch.OutOfMemoryError: CUDA out of memory." in shown
    assert "begins in line 4; last frame loader.py:7 in load_weights" in shown
    assert "vLLM 0.15.0 (line 1)" in shown
    assert "- --max-model-len: 4096" in shown
    assert "sk-abcdefgh12345678" not in shown


def test_chinese_is_asked_for(kb: Kb, server: str) -> None:
    assert kb("log", server, "--lang", "zh").stdout.decode().startswith("失败，加载模型：")


def test_json_has_every_match_with_line_sign_and_process(kb: Kb, server: str) -> None:
    ran = kb("log", "--json", server)
    found = json.loads(ran.stdout)
    assert ran.stdout.endswith(b"}\n")
    assert found["stage"] == "loading"
    (log,) = found["logs"]
    assert {"line": 6, "sign": "cuda-out-of-memory", "process": "EngineCore_DP0"} in log["matches"]
    assert log["version"] == {"value": "0.15.0", "line": 1}
    assert log["arguments"]["line"] == 2
    assert "sk-abcdefgh12345678" not in ran.stdout.decode()


def test_standard_input_is_read_where_it_is_named_or_piped(kb: Kb, server: str) -> None:
    named, piped = kb("log", "-", stdin=LOG.encode()), kb("log", stdin=LOG.encode())
    assert named.stdout == piped.stdout
    assert named.stdout.replace(b"- \xc2\xb7", b"server.log \xc2\xb7") == kb("log", server).stdout


def test_logs_of_several_nodes_are_read_together(kb: Kb, server: str, tmp_path: Path) -> None:
    (tmp_path / "other.log").write_text(LOG.replace("10:00:09", "10:00:07"), encoding="utf-8")
    found = json.loads(kb("log", server, "other.log", "--json").stdout)
    assert [root["file"] for root in found["roots"] if root["sign"] == "cuda-out-of-memory"] == [1, 0]
    assert "input 2, line 6" in kb("log", server, "other.log").stdout.decode()


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xff\xfe\x00", b"{", b'{"log": 1}\n' * 9, b"\x00" * 3_000])
def test_any_content_is_read(kb: Kb, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "odd.log").write_bytes(content)
    ran = kb("log", "odd.log")
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout


def test_what_cannot_be_read_is_named(kb: Kb) -> None:
    ran = kb("log", "none.log")
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert b"kb log: there is no file 'none.log'" in ran.stderr


def test_escapes_of_a_log_do_not_reach_the_terminal(kb: Kb) -> None:
    ran = kb("log", "-", stdin=b"KeyError: \x1b]0;title\x07\xe2\x80\xae'x'\n")
    assert not {0x1B, 0x07} & set(ran.stdout)
    assert "\u202e" not in ran.stdout.decode()


def test_a_wrong_option_is_refused(kb: Kb) -> None:
    assert kb("log", "--fast").returncode == 2
