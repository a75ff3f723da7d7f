"""The refusals that only the command line knows."""

from __future__ import annotations

from engine.errors import KbError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class OutputError(KbError):
    """Standard output does not take the answer: a full disk, a closed descriptor."""


class SeveralErrors(KbError):
    """More than one thing is wrong; each is reported on a line of its own."""

    def __init__(self, errors: Sequence[KbError]) -> None:
        super().__init__("; ".join(map(str, errors)))
        self.errors = tuple(errors)


def raise_all(errors: Sequence[KbError]) -> None:
    """Raises what has been collected: nothing, the one error, or all of them."""
    each = [one for error in errors for one in (error.errors if isinstance(error, SeveralErrors) else (error,))]
    if each:
        raise each[0] if len(each) == 1 else SeveralErrors(each)
