"""The compiled file is found, made, kept and distrusted as it should be, whoever else is at work."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from engine.errors import KnowledgeError
from engine.knowledge import store
from engine.knowledge.compile import build
from engine.knowledge.store import MAGIC, Knowledge, load, pack
from tests.support import edited

if TYPE_CHECKING:
    from pathlib import Path

TITLE = "The KV cache cannot hold one full request"
WINDOW = "causes/memory/window-too-large.yaml"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the compiled files of one test go to."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder / "vllm-kb"


def title(knowledge: Knowledge) -> str:
    cause = knowledge.item("cause", "window-too-large")
    assert cause is not None
    return str(cause["title"]["en"])


def compiled(cache: Path) -> Path:
    """The one compiled file that is kept."""
    (file,) = cache.glob("*.bin")
    return file


def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Notes each compilation from here on."""
    made: list[str] = []

    def noted(home: str) -> bytes:
        made.append(home)
        return build(home)

    monkeypatch.setattr("engine.knowledge.compile.build", noted)
    return made


def test_the_second_start_compiles_nothing(home: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = compilations(monkeypatch)
    assert title(load(str(home))) == title(load(str(home))) == TITLE
    assert len(made) == 1
    assert compiled(cache).is_file()


def test_an_edit_is_noticed(home: Path) -> None:
    before = load(str(home))
    edited(home, WINDOW, TITLE, "Another title")
    assert title(load(str(home))) == "Another title"
    assert load(str(home)).hash != before.hash


def test_an_edit_that_is_taken_back_needs_no_compilation(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(str(home))
    edited(home, WINDOW, TITLE, "Another title")
    load(str(home))
    edited(home, WINDOW, "Another title", TITLE)
    made = compilations(monkeypatch)
    assert title(load(str(home))) == TITLE
    assert made == []


def test_a_new_file_and_a_removed_file_are_noticed(home: Path) -> None:
    load(str(home))
    (home / "causes/config/flag-removed.yaml").unlink()
    assert load(str(home)).ids("cause") == ("budget-too-large", "shm-too-small", "window-too-large")
    (home / "signs/more.yaml").write_text(
        "- {id: something-new, log: 'something new', role: hint, meaning: {en: a, zh: b}}\n", encoding="utf-8"
    )
    assert "something-new" in load(str(home)).ids("sign")


@pytest.mark.parametrize(
    "spoilt",
    [
        b"",
        b"nonsense",
        MAGIC,
        MAGIC + b"\0" * 8,
        b"kb compiled knowledge 0\n" + b"\0" * 100,
        "half",
        "one bit",
    ],
    ids=str,
)
def test_a_damaged_file_is_made_anew(home: Path, cache: Path, spoilt: bytes | str) -> None:
    load(str(home))
    file = compiled(cache)
    whole = file.read_bytes()
    flipped = whole[:-100] + bytes([whole[-100] ^ 1]) + whole[-99:]
    file.write_bytes(whole[: len(whole) // 2] if spoilt == "half" else flipped if isinstance(spoilt, str) else spoilt)
    assert title(load(str(home))) == TITLE
    assert file.read_bytes() == whole or spoilt == "one bit"  # found out, part by part, when the part is asked for


def test_a_part_that_is_damaged_is_made_anew_when_it_is_asked_for(home: Path, cache: Path) -> None:
    load(str(home))
    file = compiled(cache)
    whole = file.read_bytes()
    at = whole.index(TITLE.encode())
    file.write_bytes(whole[:at] + b"X" + whole[at + 1 :])
    knowledge = load(str(home))
    assert knowledge.ids("cause")
    assert title(knowledge) == title(knowledge) == TITLE


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files belong to users only on POSIX")
@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602])
def test_a_file_that_others_could_have_written_is_ignored(home: Path, cache: Path, mode: int) -> None:
    foreign_home = home.parent / "foreign" / "kb"
    foreign_home.parent.mkdir()
    home.rename(foreign_home)
    edited(foreign_home, WINDOW, TITLE, "Planted")
    planted = build(str(foreign_home))
    edited(foreign_home, WINDOW, "Planted", TITLE)
    load(str(foreign_home))
    file = compiled(cache)
    file.write_bytes(planted)
    assert title(load(str(foreign_home))) == "Planted"  # well formed, and ours: nothing to tell it by
    file.chmod(mode)
    assert title(load(str(foreign_home))) == TITLE


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_ignored(home: Path, cache: Path) -> None:
    load(str(home))
    file = compiled(cache)
    os.chown(file, 12345, 12345)
    before = file.stat().st_uid
    assert title(load(str(home))) == TITLE
    assert (before, file.stat().st_uid) == (12345, os.geteuid())


def test_an_unreadable_file_is_made_anew(home: Path, cache: Path) -> None:
    load(str(home))
    file = compiled(cache)
    file.unlink()
    file.mkdir()
    assert title(load(str(home))) == TITLE


def test_a_cache_folder_that_cannot_be_made_costs_time_only(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in-the-way").write_text("a file where the folder would be", encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "in-the-way"))
    made = compilations(monkeypatch)
    assert title(load(str(home))) == title(load(str(home))) == TITLE
    assert len(made) == 2


def test_a_read_only_file_system_costs_time_only(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object, **_named: object) -> int:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(os, "makedirs", refuse)
    assert title(load(str(home))) == TITLE


def test_a_shipped_file_is_used_without_looking_at_the_yaml(home: Path, cache: Path) -> None:
    (home / "compiled").mkdir()
    (home / "compiled" / "knowledge.bin").write_bytes(build(str(home)))
    for file in home.rglob("*.yaml"):
        file.unlink()
    assert title(load(str(home))) == TITLE
    assert not cache.exists()


def test_a_shipped_file_may_be_writable_for_others_and_belong_to_anybody(home: Path) -> None:
    (home / "compiled").mkdir()
    shipped = home / "compiled" / "knowledge.bin"
    shipped.write_bytes(build(str(home)))
    shipped.chmod(0o666)
    edited(home, WINDOW, TITLE, "Not looked at")
    assert title(load(str(home))) == TITLE


def test_a_damaged_shipped_file_falls_back_to_the_yaml(home: Path) -> None:
    (home / "compiled").mkdir()
    (home / "compiled" / "knowledge.bin").write_bytes(b"damaged")
    assert title(load(str(home))) == TITLE


def test_the_last_few_compilations_are_kept(home: Path, cache: Path) -> None:
    for number in range(12):
        weights = home / "weights.yaml"
        weights.write_text(weights.read_text(encoding="utf-8") + f"# {number}\n", encoding="utf-8")
        load(str(home))
    assert len(list(cache.glob("*.bin"))) == 8
    assert len(list(cache.iterdir())) <= 16


def test_broken_knowledge_is_named_and_not_kept(home: Path, cache: Path) -> None:
    edited(home, WINDOW, "prior: common", "prior: comon")
    with pytest.raises(KnowledgeError, match="prior 'comon'"):
        load(str(home))
    assert list(cache.glob("*.bin")) == []


def test_a_file_that_cannot_be_read_is_named(home: Path) -> None:
    (home / "causes/memory/gone.yaml").symlink_to(home / "nowhere.yaml")
    with pytest.raises(KnowledgeError, match=r"gone\.yaml cannot be read: No such file"):
        load(str(home))


def test_processes_that_start_at_once_all_get_the_knowledge(home: Path, cache: Path) -> None:
    program = (
        "from engine.knowledge.store import load\n"
        f"print(load({str(home)!r}).item('cause', 'window-too-large')['title']['en'])\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    said = [process.communicate() for process in running]
    assert said == [(f"{TITLE}\n", "")] * 4
    file = compiled(cache)
    assert Knowledge(file.read_bytes()).hash


def test_a_reader_never_sees_a_half_written_file(home: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    moved = os.replace

    def watched(source: str, target: str) -> None:
        if target.endswith(".bin"):
            seen.append([file.name for file in cache.glob("*.bin")])
            Knowledge((cache / os.path.basename(source)).read_bytes())
        moved(source, target)

    monkeypatch.setattr(os, "replace", watched)
    load(str(home))
    assert seen == [[]]


def test_the_cache_is_for_its_owner_only(home: Path, cache: Path) -> None:
    load(str(home))
    file = compiled(cache)
    assert (cache.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)


def test_what_is_packed_is_read_back_part_by_part() -> None:
    data = pack("abc", {"cause": ("x",)}, {"cause x": {"a": 1}, "section s": (1, 2)})
    knowledge = Knowledge(data)
    assert (knowledge.hash, knowledge.ids("cause"), knowledge.ids("none")) == ("abc", ("x",), ())
    assert knowledge.item("cause", "x") == {"a": 1}
    assert knowledge.section("s") == (1, 2)
    assert knowledge.item("cause", "y") is None


def test_the_code_that_compiles_is_part_of_the_key(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(str(home))
    monkeypatch.setattr(store, "_COMPILERS", ("knowledge",))
    made = compilations(monkeypatch)
    load(str(home))
    assert len(made) == 1
