"""The documents say what is so: what they show is what the commands print, what they name exists."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from engine import __version__
from evals import docs, generated
from interfaces.cli.main import COMMANDS, INTERRUPTED
from interfaces.cli.query import EXIT_CODES

ROOT = docs.ROOT
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "evals/README.md")
PARTS = [part for document in docs.DOCUMENTS for part in docs.parts(document)]


def text(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


@pytest.mark.parametrize("part", PARTS, ids=lambda part: f"{part.document}: {part.title}")
def test_a_document_shows_what_the_command_prints_today(part: docs.Part) -> None:
    assert docs.shown(part) == part.output, "run: make docs"


def test_the_readme_shows_a_run_on_a_log_and_one_on_a_complaint_in_each_language() -> None:
    titles = [part.title for part in PARTS if part.document == "README.md"]
    assert any("--log" in title for title in titles)
    assert 'kb query "requests hang"' in titles
    assert any(not title.isascii() for title in titles)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_readme_names_each_command(command: str) -> None:
    assert f"kb {command}" in text("README.md")


def test_the_readme_gives_each_exit_code_with_its_statuses() -> None:
    rows = dict(re.findall(r"^\| (\d+) \| ([a-z_, ]*)\|", text("README.md"), re.MULTILINE))
    told = {status: int(code) for code, names in rows.items() for status in names.replace(" ", "").split(",") if status}
    assert told == EXIT_CODES
    assert rows.keys() == {"0", "1", "2", str(INTERRUPTED)}


def test_the_changelog_tells_of_the_version_that_runs() -> None:
    headings = re.findall(r"^## \[(.+?)\]", text("CHANGELOG.md"), re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert headings[1] == __version__


def test_the_manual_for_contributors_stays_short() -> None:
    assert len(text("CONTRIBUTING.md").splitlines()) <= 120


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_inside_the_checkout_leads_to_a_file(document: str) -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", text(document))
    inside = [target for target in targets if not target.startswith("https://")]
    assert [target for target in inside if not (ROOT / document).parent.joinpath(target).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_make_target_that_a_document_names_exists(document: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    spans = re.findall(r"`(.+?)`", text(document)) + re.findall(r"^    (.+)$", text(document), re.MULTILINE)
    named = {target for span in spans for target in re.findall(r"\bmake ([a-z-]+)", span)}
    assert named <= targets


@pytest.mark.parametrize("document", DOCUMENTS)
def test_lines_outside_of_tables_and_of_what_is_shown_are_not_longer_than_code(document: str) -> None:
    own = re.sub(r"```.*?```|<!--.*?-->", "", text(document), flags=re.DOTALL)
    assert [line for line in own.splitlines() if len(line) > 120 and not line.startswith("|")] == []


# -- the generator ----------------------------------------------------------------------------------------------------


def made(*lines: str) -> str:
    return docs.shown(docs.Part("README.md", lines, ""))


def test_hidden_lines_run_before_what_is_shown_and_leave_no_trace() -> None:
    assert made("echo prepared > file", "$ cat file") == "```console\n$ cat file\nprepared\n```\n"


def test_long_output_is_cut_where_the_document_says_so() -> None:
    assert made("first 2 lines", "$ seq 9", "$ seq 2") == "```console\n$ seq 9\n1\n2\n[…]\n$ seq 2\n1\n2\n```\n"


def test_what_is_shown_was_printed_on_a_terminal_of_eighty_cells() -> None:
    assert "80" in made("$ stty size <&1")


def test_commands_see_a_copy_of_the_knowledge_and_cannot_change_the_checkout() -> None:
    assert "max-num-seqs-too-small.yaml" in made("rm kb/facts.yaml", "$ ls kb/causes/latency")
    assert (ROOT / "kb/facts.yaml").exists()


def test_a_hidden_line_that_fails_stops_the_generator() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        made("false", "$ true")


def test_a_document_is_brought_up_to_date_between_its_markers_only(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text("before\n<!-- evals -->\nold\n<!-- end evals -->\nafter\n", encoding="utf-8")
    assert generated.put(path, "evals", "new\n")
    assert path.read_text(encoding="utf-8") == "before\n<!-- evals -->\nnew\n<!-- end evals -->\nafter\n"
    assert not generated.put(path, "evals", "new\n")


def test_a_document_without_its_markers_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text("before\nafter\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"README.md lacks the lines '<!-- evals -->'"):
        generated.put(path, "evals", "new")


def test_stale_documents_are_written_anew_and_current_ones_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "kb", tmp_path / "kb")
    stale = "<!-- shown\n$ echo now\n-->\n```console\n$ echo now\nthen\n```\n<!-- end shown -->\n"
    (tmp_path / "README.md").write_text(stale, encoding="utf-8")
    monkeypatch.setattr(docs, "ROOT", tmp_path)
    docs.main(["README.md"])
    written = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert written == stale.replace("then", "now")
    docs.main(["README.md"])
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == written


def test_nothing_is_written_while_the_knowledge_base_is_at_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "kb", tmp_path / "kb", ignore=shutil.ignore_patterns("compiled"))
    (tmp_path / "kb/weights.yaml").write_text("weight: {}", encoding="utf-8")
    monkeypatch.setattr(docs, "ROOT", tmp_path)
    assert docs.main(["README.md"]) == 2
    assert "weights.yaml" in capsys.readouterr().err
