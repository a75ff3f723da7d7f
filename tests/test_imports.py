"""What one answer costs in imports, because every `kb query` pays for each module before it prints a word.

import-linter proves which imports are written; only a fresh interpreter shows which ones happen.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

INTERFACE_LIBRARIES = {
    "fastapi",
    "starlette",
    "uvicorn",
    "textual",
    "rich",
    "click",
    "openai",
    "slack_sdk",
    "sqlalchemy",
    "httpx",
    "prometheus_client",
    "opentelemetry",
}
LOADING_LIBRARIES = {"pydantic", "pydantic_core", "yaml"}
SLOW_STANDARD_MODULES = {
    "typing",
    "dataclasses",
    "pathlib",
    "importlib.resources",
    "importlib.metadata",
    "asyncio",
    "tempfile",
    "subprocess",
    "threading",
    "logging",
}
NEVER = INTERFACE_LIBRARIES | LOADING_LIBRARIES | SLOW_STANDARD_MODULES

LOG = """\
INFO 11-02 10:12:01 [gpu_worker.py:298] Available KV cache memory: 1.94 GiB
(EngineCore pid=241) ERROR 11-02 10:12:02 [core.py:845] ValueError: To serve at least one request with the models's \
max seq len (32768), (4.00 GiB KV cache is needed, which is larger than the available KV cache memory (1.94 GiB).
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""

# `-S` keeps the .pth files of other packages from importing anything first.
PROGRAM = """
import sys
from interfaces.cli.main import main
status = main(sys.argv[1:])
sys.stdout.flush()
sys.stderr.write("\\n".join(["modules:", *sys.modules]))
sys.exit(status)
"""


def modules_after(engine: str, *arguments: str) -> set[str]:
    """The modules that a fresh interpreter holds after `kb` has run with these arguments and has succeeded."""
    path = os.pathsep.join([str(ROOT), *(entry for entry in sys.path if entry)])
    environment = {**os.environ, "PYTHONPATH": path, "KB_ENGINE": engine}
    ran = subprocess.run(
        [sys.executable, "-S", "-c", PROGRAM, *arguments],
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return set(ran.stderr.partition("modules:\n")[2].splitlines())


@pytest.fixture(scope="module", autouse=True)
def compiled_knowledge() -> None:
    """The first run after a change of the knowledge base compiles it, and may load what that takes."""
    modules_after("agenda", "query", "requests hang")


@pytest.fixture(params=["durable", "agenda"])
def engine(request: pytest.FixtureRequest) -> str:
    """Both engines; durable where it is installed, as `make setup` does wherever it builds."""
    if request.param == "durable":
        pytest.importorskip("durable_rules_engine", exc_type=ImportError)
    return str(request.param)


def test_a_complaint_is_answered_without_loading_a_slow_or_foreign_library(engine: str) -> None:
    loaded = modules_after(engine, "query", "requests hang")
    assert loaded & {*NEVER, "json"} == set()


def test_json_output_costs_the_json_module_and_no_other(engine: str) -> None:
    loaded = modules_after(engine, "query", "requests hang", "--json")
    assert "json" in loaded
    assert loaded & NEVER == set()


def test_a_log_is_answered_without_loading_a_slow_or_foreign_library(engine: str, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(LOG, encoding="utf-8")
    loaded = modules_after(engine, "query", "--log", str(log))
    assert loaded & {*NEVER, "json"} == set()


def test_the_agenda_engine_leaves_durable_rules_alone() -> None:
    loaded = modules_after("agenda", "query", "requests hang")
    assert loaded & {"durable", "durable_rules_engine"} == set()


def test_the_durable_engine_is_the_one_that_runs_where_it_is_chosen() -> None:
    pytest.importorskip("durable_rules_engine", exc_type=ImportError)
    loaded = modules_after("durable", "query", "requests hang")
    assert "durable_rules_engine" in loaded


def test_the_words_of_a_known_complaint_need_no_spelling_help() -> None:
    assert "rapidfuzz" not in modules_after("agenda", "query", "requests hang")


def test_the_knowledge_base_holds_no_python() -> None:
    assert sorted(str(path.relative_to(ROOT)) for path in (ROOT / "kb").rglob("*.py")) == []
