"""Values are frozen records: equal by content, made by position or name, and quick to say what is wrong with them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from engine.model import Attachment, Case, Change, Fact, Origin, Value

ORIGIN = Origin("log", "text", "log:0:1")


class Point(Value):
    x: int
    y: int = 2


class Named(Point):
    name: str = ""


UNCHECKED: dict[str, Any] = {"Point": Point, "Change": Change}  # what mypy would refuse before the test can


def test_fields_are_given_by_position_or_by_name() -> None:
    assert Point(1) == Point(x=1) == Point(1, y=2)
    assert Named(1, 3, "a") == Named(1, name="a", y=3)
    assert (Named(1).x, Named(1).y, Named(1).name) == (1, 2, "")


@pytest.mark.parametrize(
    ("kind", "args", "named", "message"),
    [
        ("Point", (), {}, "Point lacks x"),
        ("Point", (1, 2, 3), {}, "Point takes x, y"),
        ("Point", (1,), {"x": 1}, "Point takes x, y"),
        ("Point", (1,), {"z": 1}, "Point takes x, y"),
        ("Change", ("flag", "--port"), {}, "Change lacks before, after"),
    ],
)
def test_a_wrong_call_says_what_the_type_takes(
    kind: str, args: tuple[int, ...], named: dict[str, int], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        UNCHECKED[kind](*args, **named)


def test_a_value_cannot_be_changed() -> None:
    point: Any = Point(1)
    with pytest.raises(AttributeError, match="Point is frozen: x cannot be set"):
        point.x = 5
    with pytest.raises(AttributeError, match="Point is frozen: y cannot be deleted"):
        del point.y
    assert point == Point(1, 2)


def test_a_copy_with_changes_leaves_the_original() -> None:
    point = Point(1)
    assert point.but(y=5) == Point(1, 5)
    assert point == Point(1, 2)
    with pytest.raises(TypeError, match="Point takes x, y"):
        point.but(z=1)


def test_equality_and_hash_are_by_type_and_content() -> None:
    assert Point(1) != Named(1)
    assert Point(1) != (1, 2)
    assert {Fact("a", 1, ORIGIN), Fact("a", 1, Origin("log", "text", "log:0:1"))} == {Fact("a", 1, ORIGIN)}
    assert Fact("a", 1, ORIGIN) != Fact("a", 1, ORIGIN, "near")


def test_a_value_shows_its_fields() -> None:
    assert repr(Point(1)) == "Point(x=1, y=2)"


def test_values_survive_copying_and_pickling() -> None:
    fact = Fact("a", 1, ORIGIN, known=False)
    assert copy.deepcopy(fact) == copy.copy(fact) == pickle.loads(pickle.dumps(fact)) == fact


def test_a_case_needs_nothing() -> None:
    case = Case()
    assert (case.text, case.attachments, case.command, dict(case.context), case.lang, case.explain) == (
        "",
        (),
        "",
        {},
        "auto",
        False,
    )


def test_an_attachment_is_read_as_a_stream() -> None:
    assert b"".join(Attachment("x", (block for block in [b"a", b"b"])).blocks) == b"ab"
