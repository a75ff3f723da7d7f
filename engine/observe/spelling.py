"""Finds the word that was meant. The only importer of rapidfuzz, and only when a word is not known."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_WORDS = 8  # unknown words of one complaint that are looked up; a text of thousands is no complaint with typos


def meant(word: str, known: Sequence[str]) -> str | None:
    """The known word that `word` is a slip of: one letter wrong, missing, added or swapped (two from eight letters on,
    in four letters only a swap). None when there is none."""
    from rapidfuzz.distance import OSA  # noqa: PLC0415 - ten milliseconds that most complaints need not pay
    from rapidfuzz.process import extract  # noqa: PLC0415

    if len(word) < 4 or not word.isalpha() or not word.isascii():
        return None
    allowed = 2 if len(word) >= 8 else 1
    near = extract(word, known, scorer=OSA.distance, score_cutoff=allowed, limit=3)
    for candidate, distance, _index in sorted(near, key=lambda found: (found[1], found[0])):
        if distance and len(candidate) >= 4 and (len(word) > 4 or sorted(word) == sorted(candidate)):
            return str(candidate)
    return None


def closest(word: str, known: Sequence[str]) -> str | None:
    """The known name that is most like `word`, for a "did you mean"; None when nothing is alike."""
    from rapidfuzz.distance import JaroWinkler  # noqa: PLC0415
    from rapidfuzz.process import extractOne  # noqa: PLC0415

    found = extractOne(word, known, scorer=JaroWinkler.normalized_similarity, score_cutoff=0.8)
    return str(found[0]) if found else None
