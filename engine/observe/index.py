"""A small lexical index over the causes: BM25 of word stems, Chinese character pairs and concepts.

It only says who might be in the room. A cause that nothing but the index proposes is never claimed.
"""

from __future__ import annotations

from itertools import pairwise
from math import log

from engine.buckets import Buckets, pack
from engine.observe import lexicon, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

SATURATION, LENGTH_SHARE = 1.2, 0.6  # k1 and b of BM25
MOST_TERMS = 80  # distinct terms of one complaint that are looked up, rarest first
MOST_CAUSES = 8
_CONCEPT_TIMES = 2  # a concept says more than one of its words


def terms(text: str, compiled: Mapping[str, Any]) -> list[str]:
    """The index terms of `text`, with repeats: stems, Chinese pairs, and each concept as `says:<concept>`."""
    folded = words.fold(text)
    cut = [lexicon.Word(words.stem(word), start, end) for word, start, end in words.cut(folded)]
    return of_words(cut, lexicon.spans(folded, cut, compiled))


def of_words(cut: Sequence[lexicon.Word], spans: Sequence[lexicon.Span]) -> list[str]:
    """The same for text that is cut already."""
    out = [word.stem for word in cut if len(word.stem) > 1]
    pairs = pairwise(cut)
    out += [a.stem + b.stem for a, b in pairs if a.end == b.start and not a.stem.isascii() and not b.stem.isascii()]
    return out + [f"says:{span.concept}" for span in spans if not span.negated] * _CONCEPT_TIMES


def build(documents: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Postings with their BM25 weight worked out, as plain data that can be stored. `documents` maps a cause to its
    terms, with repeats."""
    ids = sorted(documents)
    lengths = {cause: len(found) for cause, found in documents.items()}
    mean = sum(lengths.values()) / max(len(lengths), 1)
    counts: dict[str, dict[int, int]] = {}
    for number, cause in enumerate(ids):
        for term in documents[cause]:
            posting = counts.setdefault(term, {})
            posting[number] = posting.get(number, 0) + 1
    postings = {}
    for term, posting in counts.items():
        if len(posting) * 2 <= len(ids) or len(ids) < 4:  # what half of the causes say tells them not apart
            rarity = log(1 + (len(ids) - len(posting) + 0.5) / (len(posting) + 0.5))
            postings[term] = tuple(
                (number, round(rarity * _gain(count, lengths[ids[number]] / mean), 4))
                for number, count in posting.items()
            )
    return {"ids": tuple(ids), "postings": pack(postings)}


def _gain(count: int, relative_length: float) -> float:
    return count * (SATURATION + 1) / (count + SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * relative_length))


def opened(compiled: Mapping[str, Any]) -> dict[str, Any]:
    """A compiled index, ready for `nearest`."""
    return {**compiled, "postings": Buckets(compiled["postings"])}


def nearest(found: Sequence[str], index: Mapping[str, Any]) -> list[tuple[str, float]]:
    """The causes most like a text of these terms, best first, each with its share (0 to 1) of the best score that any
    text of as many rare terms could have."""
    postings: Buckets = index["postings"]
    rows = {term: row for term in found if (row := postings.get(term)) is not None}
    known = sorted(rows, key=lambda term: (len(rows[term]), term))[:MOST_TERMS]
    scores: dict[int, float] = {}
    possible = 0.0
    for term in known:
        possible += max(weight for _number, weight in rows[term])
        for number, weight in rows[term]:
            scores[number] = scores.get(number, 0.0) + weight
    ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:MOST_CAUSES]
    return [(index["ids"][number], round(score / possible, 4)) for number, score in ranked]
