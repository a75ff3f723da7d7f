"""What every parser of this folder speaks: numbered lines in, things seen out."""

from __future__ import annotations

from engine.model import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.model import Grade, Scalar

LONGEST = 1_000  # characters of a line that are looked at
MOST = 50_000  # lines of one text that are looked at


class Seen(Value):
    """The fact `name` = `value`, shown by line `line` (counted from 1), which reads `text`."""

    name: str
    value: Scalar
    line: int
    text: str
    grade: Grade = "exact"


def rows(text: str, longest: int = LONGEST) -> Iterator[tuple[int, str]]:
    """The lines of `text` with their numbers, long ones cut. The numbers are those that an editor shows."""
    start = 0
    for number in range(1, MOST + 1):
        end = text.find("\n", start)
        yield number, text[start : min(end if end >= 0 else len(text), start + longest)].rstrip("\r")
        if end < 0:
            return
        start = end + 1


def gib(amount: str, unit: str) -> float | None:
    """`amount` in GiB. Units as tools print them: G, Gi, GiB, GB, M, MiB, kB, T, B; None where one is unknown."""
    factor = {"t": 1024.0, "g": 1.0, "m": 1 / 1024, "k": 1 / 1024**2, "b": 1 / 1024**3, "": 1 / 1024**3}
    number = decimal(amount)
    scale = factor.get(unit[:1].lower())
    return None if number is None or scale is None else round(number * scale, 3)


def decimal(text: str) -> float | None:
    """The number that `text` is, with a point or a comma as the locale has it; None for anything else."""
    text = text.replace(",", ".")
    plain = text.replace(".", "", 1)
    return float(text) if plain.isascii() and plain.isdigit() and len(text) < 20 else None
