"""A model on a GPU, thought through: the memory budget, what the KV cache holds, and requests of which length fit."""

from __future__ import annotations

from engine.advise import memory
from engine.model import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.advise.memory import Budget, Setup, Shape

SHORTEST, MOST_ROWS = 4_096, 8


class Row(Value):
    """Requests of one length: GiB of one, and how many the KV cache holds at once."""

    tokens: int
    need: float
    at_once: float


class Fit(Value):
    """The result. `budget` None where the free memory was measured; `exact` False where it rests on what is assumed.
    `fits` answers for the length that was asked for, None when none was."""

    shape: Shape
    setup: Setup
    budget: Budget | None
    available: float
    exact: bool
    per_token: int
    tokens: int
    longest: int
    rows: tuple[Row, ...]
    asked: int | None
    fits: bool | None


def fit(shape: Shape, setup: Setup, available: float, budget: Budget | None, asked: int | None = None) -> Fit:
    """What `available` GiB of KV cache on each GPU are worth. They are exact unless a budget led to them."""
    exact = budget is None
    longest = memory.longest(shape, setup, available)
    held = memory.tokens(shape, setup, available, asked)
    if not exact:
        longest, held = memory.rounded_down(longest), memory.rounded_down(held)
    reach = min(longest, shape.positions or longest)
    lengths = list(_lengths(shape.positions or max(longest, SHORTEST), {asked, reach}))
    rows = tuple(_row(shape, setup, available, length) for length in lengths)
    fits = None if asked is None else memory.need(shape, setup, asked) <= available * memory.GIB
    per_token = memory.bytes_per_token(shape, setup)
    return Fit(shape, setup, budget, available, exact, per_token, held, longest, rows, asked, fits)


def _row(shape: Shape, setup: Setup, available: float, length: int) -> Row:
    needed = memory.need(shape, setup, length) / memory.GIB
    return Row(length, needed, memory.concurrency(shape, setup, available, length))


def _lengths(most: int, wanted: set[int | None]) -> Iterator[int]:
    """The usual lengths up to the model's own, which is one of them, and those that are wanted."""
    usual = [SHORTEST << power for power in range(30) if SHORTEST << power < most]
    thinned = usual[-(MOST_ROWS - 1) :] if len(usual) >= MOST_ROWS else usual
    yield from sorted({*thinned, most, *(length for length in wanted if length)})
