"""Bytes of any quality become whole lines in order, and what loggers put before a message is taken off."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.observe.lines import OVERLAP, PIECE, WINDOW, around, message, pieces


def text_of(*blocks: bytes) -> str:
    return "".join(piece.text for piece in pieces(blocks))


@st.composite
def cut_up(draw: st.DrawFn, content: bytes) -> list[bytes]:
    places = sorted(draw(st.lists(st.integers(0, len(content)), max_size=12)))
    return [content[start:end] for start, end in zip([0, *places], [*places, len(content)], strict=True)]


def test_lines_are_numbered_across_pieces() -> None:
    row = b"x" * 99 + b"\n"
    found = list(pieces([row * 40_000]))
    assert len(found) > 2
    assert all(piece.text.endswith("\n") for piece in found)
    assert [piece.first for piece in found[1:]] == [
        1 + sum(before.text.count("\n") for before in found[:index]) for index in range(1, len(found))
    ]
    assert sum(piece.text.count("\n") for piece in found) == 40_000


def test_a_piece_is_bounded_however_large_the_block_is() -> None:
    assert max(len(piece.text) for piece in pieces([b"some line\n" * 1_000_000])) <= 2 * PIECE
    assert max(len(piece.text) for piece in pieces([b"x" * 5_000_000])) <= 2 * PIECE


@pytest.mark.parametrize("gap", [PIECE - 30, PIECE - 10, PIECE - 1, 2 * PIECE - OVERLAP - 20])
def test_a_phrase_in_an_endless_line_falls_into_no_cut(gap: int) -> None:
    content = b"x" * gap + b"CUDA out of memory" + b"y" * PIECE
    assert any("CUDA out of memory" in piece.text for piece in pieces([content]))


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff\ufffe\x1b")), st.data())
def test_how_the_bytes_are_cut_into_blocks_makes_no_difference(text: str, data: st.DataObject) -> None:
    content = text.encode()
    assert text_of(*data.draw(cut_up(content))) == text_of(content)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@given(data=st.data())
def test_the_encodings_of_windows_are_recognised(encoding: str, data: st.DataObject) -> None:
    text = "INFO 12-01 10:00:00 [api_server.py:1] vLLM API server version 0.18.0\n" * 3 + "模型 ü\n"
    assert text_of(*data.draw(cut_up(text.encode(encoding)))) == text


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_long_file_in_utf_16_is_cut_at_lines_too(encoding: str) -> None:
    text = "the engine is dead and the requests fail 中文\n" * 60_000
    found = list(pieces([text.encode(encoding)]))
    assert "".join(piece.text for piece in found) == text
    assert len(found) > 2
    assert all(piece.text.endswith("\n") for piece in found)


def test_the_hole_of_a_truncated_file_is_no_sign_of_utf_16() -> None:
    assert text_of(b"\0" * 3_000 + b"CUDA out of memory\n") == "CUDA out of memory\n"


@given(st.lists(st.binary(max_size=2_000), max_size=5))
def test_no_bytes_are_refused(blocks: list[bytes]) -> None:
    text = text_of(*blocks)
    assert "\0" not in text
    assert isinstance(text.encode("utf-8", "surrogatepass").decode("utf-8"), str)


@pytest.mark.parametrize(
    "coloured",
    [
        "\x1b[31mERROR\x1b[0m 12-01 10:00:00 [core.py:1] dead",
        "\x1b[1;38;5;196mERROR\x1b[m 12-01 10:00:00 [core.py:1] \x1b[2Kdead",
        "\x1b]0;a title\x07ERROR 12-01 10:00:00 [core.py:1] dead",
        "\x1b]8;;http://x\x1b\\ERROR 12-01 10:00:00 [core.py:1] dead",
        "\x1b(ERROR 12-01 10:00:00 [core.py:1] dead".replace("\x1b(", "\x1bM"),
    ],
)
def test_colours_and_other_escapes_are_taken_off(coloured: str) -> None:
    assert text_of(coloured.encode()) == "ERROR 12-01 10:00:00 [core.py:1] dead"


PREFIXED = [
    ("CUDA out of memory", "", ""),
    ("ERROR 12-01 10:00:00 [core.py:1] CUDA out of memory", "ERROR", ""),
    ("ERROR 12-01 10:00:00 core.py:1] CUDA out of memory", "ERROR", ""),
    ("(EngineCore_DP0 pid=1234) ERROR 12-01 10:00:00 [core.py:1] CUDA out of memory", "ERROR", "EngineCore_DP0"),
    ("(EngineCore_0 pid=1) (Worker_TP1 pid=2) ERROR 12-01 10:00:00 [w.py:1] CUDA out of memory", "ERROR", "Worker_TP1"),
    ("(APIServer pid=1) INFO:     CUDA out of memory", "INFO", "APIServer"),
    ("(Worker_TP1_EP0 pid=77) CUDA out of memory", "", "Worker_TP1_EP0"),
    ("(RayWorkerWrapper pid=1, ip=10.0.0.2) CUDA out of memory", "", ""),
    ("vllm-1  | ERROR 12-01 10:00:00 [core.py:1] CUDA out of memory", "ERROR", ""),
    ("2025-12-01T10:00:00.123456789Z stderr F CUDA out of memory", "", ""),
    ("2025-12-01 10:00:00,123 CUDA out of memory", "", ""),
    ("Dec  1 10:00:00 node1 vllm[123]: WARNING: CUDA out of memory", "WARNING", ""),
    ("[pod/vllm-0/server] CUDA out of memory", "", ""),
    ("[rank1]: CUDA out of memory", "", ""),
    ("[rank0]: (VllmWorker rank=1 pid=9) CRITICAL 12-01 10:00:00 [core.py:1] CUDA out of memory", "CRITICAL", ""),
]  # fmt: skip


@pytest.mark.parametrize(("line", "level", "process"), PREFIXED, ids=[line[:40] for line, _level, _process in PREFIXED])
def test_what_loggers_put_before_a_message_is_taken_off(line: str, level: str, process: str) -> None:
    found = message(line)
    assert found.text == "CUDA out of memory"
    assert found.level == level
    assert not process or found.process == process


@given(st.text())
def test_any_line_is_a_message(line: str) -> None:
    found = message(line)
    assert found.text in line


@given(st.text(alphabet="ab\n", max_size=200), st.data())
def test_the_line_around_a_place_ends_where_lines_end(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, max(len(text) - 1, 0)))
    start, end = around(text, at)
    assert "\n" not in text[start:at]
    assert "\n" not in text[at:end].rstrip("\n")
    assert start == 0 or text[start - 1] == "\n"


def test_the_line_around_a_place_is_never_longer_than_its_window() -> None:
    start, end = around("x" * 1_000_000, 500_000)
    assert (start, end) == (500_000 - WINDOW, 500_000 + WINDOW)
