"""The ways through a log find the same: by words, by Hyperscan, and by trying every pattern on every line."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.observe import hyper, log, pattern
from engine.observe.lines import chunks
from engine.observe.scan import Found, Literals, by_words
from tests.support import mini, real

if TYPE_CHECKING:
    from engine.observe.scan import Scanner

pytest.importorskip("hyperscan")

SIGNS = real().section("signs")
LITERALS = Literals(SIGNS)
WORDS = by_words(LITERALS)
SOME = sorted(SIGNS["literals"])[::7]
ROWS = st.one_of(
    st.sampled_from(SOME),
    st.sampled_from([literal.upper() for literal in SOME]),
    st.sampled_from(
        ["CUDA out of memory", "ValueError: x", "fatal: no", "error", "Exception", "500 Internal Server Error"]
    ),
    st.sampled_from(
        ["(EngineCore pid=1) ERROR 12-01 10:00:00 [core.py:1] ", "\x1b[31m", "模型", "K", "ſ", "\xff", " ", "\t"]
    ),
    st.text(max_size=20),
)
TEXTS = st.lists(st.lists(ROWS, max_size=4).map("".join), max_size=12).map("\n".join)


def fast() -> Scanner:
    scanner = hyper.scanner(LITERALS, WORDS)
    assert scanner is not None
    return scanner


FAST = fast()


def same(ours: Found, theirs: Found) -> bool:
    return (ours.lines, ours.names) == (theirs.lines, theirs.names)


def stages(found: Found) -> set[str]:
    return {literal for literal in found.present if literal in SIGNS["literals"]}


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_hyperscan_finds_the_lines_that_words_find(text: str) -> None:
    data = text.encode("utf-8", "replace").replace(b"\0", b"")
    ours, theirs = FAST(data), WORDS(data)
    assert same(ours, theirs)
    assert stages(ours) == stages(theirs)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.binary(max_size=300), max_size=3))
def test_any_bytes_are_scanned_alike(blocks: list[bytes]) -> None:
    for data in chunks(blocks):
        assert same(FAST(data), WORDS(data))


@pytest.mark.parametrize("row", ["CUDA out of memory ", "x" * 3_000 + "CUDA out of memory", "ValueError: ", "error:"])
def test_a_line_without_end_is_scanned_alike(row: str) -> None:
    data = (row * 2_000).encode()
    assert same(FAST(data), WORDS(data))


def test_a_text_of_nothing_but_literals_is_scanned_alike() -> None:
    data = b"CUDA out of memory\n" * 60_000
    assert same(FAST(data), WORDS(data))


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_every_sign_that_matches_a_line_has_a_literal_in_it(text: str) -> None:
    found = log.read([text.encode("utf-8", "replace")], SIGNS)
    noise = {row[0] for row in SIGNS["signs"] if row[2] == "noise"}
    expected = set()
    for number, line in enumerate(b"".join(chunks([text.encode("utf-8", "replace")])).split(b"\n"), 1):
        matched = {
            row[0] for row in SIGNS["signs"] if row[2] != "milestone" and pattern.search(row[1], line) is not None
        }
        expected |= {(number, sign) for sign in (matched & noise or matched)}
    assert {(number, sign) for number, sign, _process in found.matches} == expected


# -- the database -----------------------------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "vllm-kb"


def test_the_database_is_kept_and_used_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import hyperscan

    fast()
    (kept,) = cache.iterdir()
    assert (kept.suffix, kept.stat().st_mode & 0o777) == (".hs", 0o600)
    monkeypatch.delattr(hyperscan, "Database")  # it cannot be compiled any more
    assert same(fast()(b"CUDA out of memory"), WORDS(b"CUDA out of memory"))


@pytest.mark.parametrize("content", [b"", b"garbage", b"\xdb" * 5_000])
def test_a_damaged_database_is_made_anew(cache: Path, content: bytes) -> None:
    fast()
    (kept,) = cache.iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(content)
    fast()
    assert kept.read_bytes() == whole


@pytest.mark.skipif("os.geteuid() != 0", reason="only root may give files away")
def test_a_foreign_database_is_not_read(cache: Path) -> None:
    fast()
    (kept,) = cache.iterdir()
    kept.write_bytes(b"foreign")
    os.chown(kept, 12345, 12345)
    fast()
    assert kept.stat().st_uid == 0


def test_without_hyperscan_the_result_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = [f"INFO row {n}\n".encode() for n in range(20_000)] + [b"CUDA out of memory\n"]
    whole = log.read([b"".join(text)], SIGNS)
    monkeypatch.setitem(sys.modules, "hyperscan", None)
    assert log.read([b"".join(text)], SIGNS).matches == whole.matches


# -- bounds -----------------------------------------------------------------------------------------------------------


def blocks(row: bytes, size: int) -> Iterator[bytes]:
    block = row * (1_000_000 // len(row) + 1)
    for _ in range(size // len(block)):
        yield block


HOSTILE = [
    b"x",
    b"CUDA out of memory ",
    b"error:",
    b"Avg generation throughput: 1.0 tokens/s, ",
    b"[",
    b"fatal ",
    b"\xff",
]


@pytest.mark.parametrize("row", HOSTILE, ids=[row[:12].decode("latin-1") for row in HOSTILE])
def test_a_line_of_twenty_megabytes_takes_a_moment(row: bytes) -> None:
    start = process_time()
    assert log.read(blocks(row, 20_000_000), SIGNS).lines == 1
    assert process_time() - start < 4


def test_memory_stays_bounded() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    log.read(
        blocks(b"(EngineCore pid=1) ERROR 12-01 10:00:00 [core.py:1] CUDA out of memory\nrow\nrow\nrow\n", 60_000_000),
        mini().section("signs"),
    )
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000
