"""`kb show`, `kb list`, `kb lint` and the command itself."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine import __version__
from engine.knowledge.store import load
from interfaces.cli.show import KINDS
from interfaces.render.entry import entry
from interfaces.render.text import layout

if TYPE_CHECKING:
    from tests.interfaces.cli.conftest import Kb

ROOT = Path(__file__).resolve().parents[3]
KV_CACHE = "kv-cache-smaller-than-max-model-len"


# -- kb show ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind", "known_as"),
    [
        (KV_CACHE, "cause", KV_CACHE),
        ("requests-hang", "symptom", "requests-hang"),
        ("engine-core-init-failed", "sign", "engine-core-init-failed"),
        ("kv-need-exceeds-available", "sign", "kv-need-exceeds-available"),
        ("stats.waiting", "fact", "stats.waiting"),
        ("--max-model-len", "flag", "--max-model-len"),
        ("max-model-len", "flag", "--max-model-len"),
        ("max_model_len", "flag", "--max-model-len"),
        ("args.max-model-len", "flag", "--max-model-len"),
        ("-tp", "flag", "--tensor-parallel-size"),
        ("NCCL_P2P_DISABLE", "variable", "NCCL_P2P_DISABLE"),
        ("vllm:num_requests_waiting", "metric", "vllm:num_requests_waiting"),
        ("num_requests_waiting", "metric", "vllm:num_requests_waiting"),
        ("v0.14.1", "version", "0.14.1"),
    ],
)
def test_an_entry_is_found_however_it_is_called(kb: Kb, name: str, kind: str, known_as: str) -> None:
    ran = kb("show", name, "--json")
    assert (ran.returncode, ran.stderr) == (0, b"")
    shown = json.loads(ran.stdout)
    assert shown["kind"] == kind
    assert known_as in {shown.get("id"), shown.get("name"), shown.get("vllm")}
    text = kb("show", name)
    assert known_as.encode() in text.stdout


def test_a_cause_is_shown_whole_in_either_language(kb: Kb) -> None:
    cause = json.loads(kb("show", KV_CACHE, "--json").stdout)
    for lang in ("en", "zh"):
        text = kb("show", KV_CACHE, "--lang", lang).stdout.decode()
        wanted = [cause["title"], cause["why"], cause["not_this_when"], *(fix["text"] for fix in cause["fixes"])]
        assert [words[lang] for words in wanted if words[lang] not in text] == []
        assert cause["checks"][0]["command"] in text


def test_every_entry_of_the_knowledge_base_can_be_shown() -> None:
    knowledge = load()
    for kind in KINDS:
        for name in knowledge.ids(kind):
            for lang in ("en", "zh"):
                item = knowledge.item(kind, name) or {}
                assert layout(entry(kind, name, item, knowledge, lang), 40).strip()


@pytest.mark.parametrize(
    ("name", "meant"),
    [("max-modl-len", "--max-model-len"), ("request-hang", "requests-hang"), ("NCCL_P2P_DISABEL", "NCCL_P2P_DISABLE")],
)
def test_an_unknown_id_is_refused_with_the_nearest(kb: Kb, name: str, meant: str) -> None:
    ran = kb("show", name)
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert f"Did you mean '{meant}'?" in ran.stderr.decode()


def test_show_without_an_id_says_that_one_is_needed(kb: Kb) -> None:
    ran = kb("show")
    assert (ran.returncode, ran.stdout, ran.stderr.count(b"\n")) == (2, b"", 1)


# -- kb list ----------------------------------------------------------------------------------------------------------


def test_the_list_has_one_line_for_each_cause(kb: Kb) -> None:
    rows = [line.split("\t") for line in kb("list").stdout.decode().splitlines()]
    files = {path.stem: path.parent.name for path in (ROOT / "kb/causes").glob("*/*.yaml")}
    assert {name: area for name, area, _title in rows} == files
    assert len(rows) == len(files)


def test_the_list_can_be_narrowed_to_an_area(kb: Kb) -> None:
    listed = json.loads(kb("list", "--area", "memory", "--json", "--lang", "zh").stdout)
    assert {each["area"] for each in listed} == {"memory"}
    assert {"id", "area", "title", "kind"} == set(listed[0])
    assert {each["kind"] for each in listed} == {"cause"}
    assert any("显存" in each["title"] for each in listed)


def test_an_unknown_area_is_refused_with_the_nearest(kb: Kb) -> None:
    ran = kb("list", "--area", "memroy")
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert b"Did you mean 'memory'?" in ran.stderr


# -- kb lint ----------------------------------------------------------------------------------------------------------


def test_the_shipped_knowledge_base_has_no_finding(kb: Kb) -> None:
    ran = kb("lint")
    assert (ran.stdout.decode(), ran.stderr, ran.returncode) == ("", b"", 0)


def test_findings_name_file_and_line_and_the_exit_code_says_that_there_are_some(kb: Kb, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "kb", tmp_path / "kb", ignore=shutil.ignore_patterns("compiled"))
    cause = tmp_path / f"kb/causes/memory/{KV_CACHE}.yaml"
    lines = cause.read_text(encoding="utf-8").splitlines()
    place = lines.index("prior: common") + 1
    cause.write_text("\n".join(lines).replace("prior: common", "prior: comon"), encoding="utf-8")
    ran = kb("lint", "kb")
    assert (ran.returncode, ran.stderr) == (2, b"")
    assert f"kb/causes/memory/{KV_CACHE}.yaml:{place}: prior 'comon'" in ran.stdout.decode()


@pytest.mark.parametrize("arguments", [["nowhere"], ["a", "b"], ["--all"]])
def test_lint_refuses_what_is_no_knowledge_base(kb: Kb, arguments: list[str]) -> None:
    ran = kb("lint", *arguments)
    assert (ran.returncode, ran.stdout, ran.stderr.count(b"\n")) == (2, b"", 1)


# -- kb ---------------------------------------------------------------------------------------------------------------


def test_the_version_names_the_three_things_that_decide_an_answer(kb: Kb) -> None:
    ran = kb("--version")
    shown = dict(line.split(" ", 1) for line in ran.stdout.decode().splitlines())
    assert shown["kb"] == __version__
    assert shown["knowledge"] == json.loads(kb("query", "hang", "--json").stdout)["kb"]["hash"]
    assert shown["engine"] == "agenda"


def test_the_version_is_that_of_the_distribution() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        assert tomllib.load(file)["project"]["version"] == __version__


@pytest.mark.parametrize("command", [[], ["query"], ["show"], ["list"], ["lint"]])
def test_every_command_has_help_on_standard_output(kb: Kb, command: list[str]) -> None:
    ran = kb(*command, "--help")
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout.startswith(b"usage: kb")
    assert b"\x1b" not in ran.stdout


def test_without_a_command_help_goes_to_standard_error(kb: Kb) -> None:
    ran = kb()
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert ran.stderr.startswith(b"usage: kb")


@pytest.mark.parametrize(("word", "meant"), [("qeury", "'query'"), ("--versoin", "'--version'"), ("chat", "kb --help")])
def test_a_command_that_does_not_exist_is_refused_with_the_nearest(kb: Kb, word: str, meant: str) -> None:
    ran = kb(word)
    assert (ran.returncode, ran.stdout, ran.stderr.count(b"\n")) == (2, b"", 1)
    assert meant in ran.stderr.decode()
