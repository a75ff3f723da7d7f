"""Words -> concepts, in English and Chinese at once.

The compiled lexicon maps the first stem of each surface form to the forms that begin with it; Chinese forms are looked
up by their first character. Where forms overlap the longer one wins.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from engine.buckets import Buckets, pack
from engine.model import Value
from engine.observe import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

GAP = "_"
DEGREES = ("很", "非常", "特别", "比较", "有点", "有些")
REACH = 3  # words from a negation to the last word that it can negate
_MATERIAL = {"subject", "thing"}  # kinds that mean the same inside a longer form: the cache in `kv cache full`


class Span(Value):
    """A concept that is said: characters `start` to `end` of the text, words `first` to `last`."""

    concept: str
    start: int
    end: int
    first: int
    last: int
    corrected: bool = False
    negated: bool = False


class Word(Value):
    stem: str
    start: int
    end: int
    corrected: bool = False


def compile_lexicon(
    concepts: Sequence[Mapping[str, Any]], english: Mapping[str, Sequence[str]], chinese: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """The lexicon as plain data that can be stored; `opened` makes it readable."""
    forms: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    vocabulary: set[str] = set()
    for concept, surfaces in english.items():
        for surface in surfaces:
            cut = tuple(words.stem(word) for part in surface.split() for word in _cut(part))
            forms.setdefault(cut[0], []).append((cut, concept))
            vocabulary.update(word for word in cut if word != GAP)
    starts: dict[str, list[tuple[str, str]]] = {}
    for concept, surfaces in chinese.items():
        for surface in surfaces:
            folded = words.fold(surface)
            squeezed = "".join(folded[place] for place in _telling(folded)) or "".join(folded.split())
            starts.setdefault(squeezed[0], []).append((squeezed, concept))
    return {
        "kinds": {concept["id"]: concept["kind"] for concept in concepts},
        "facts": {concept["id"]: concept["facts"] for concept in concepts if concept.get("facts")},
        "english": pack({first: _longest_first(found) for first, found in forms.items()}),
        "chinese": pack({first: _longest_first(found) for first, found in starts.items()}),
        "vocabulary": tuple(sorted(vocabulary)),
    }


def _longest_first(found: Sequence[tuple[Any, str]]) -> tuple[tuple[Any, str], ...]:
    return tuple(sorted(found, key=lambda form: -len(form[0])))


def opened(compiled: Mapping[str, Any]) -> dict[str, Any]:
    """A compiled lexicon, ready for `spans`."""
    return {**compiled, "english": Buckets(compiled["english"]), "chinese": Buckets(compiled["chinese"])}


def _cut(part: str) -> list[str]:
    return [GAP] if part == GAP else [word for word, _start, _end in words.cut(words.fold(part))]


def spans(text: str, cut: Sequence[Word], lexicon: Mapping[str, Any]) -> list[Span]:
    """Every concept said in folded `text`, whose words are `cut`, in order of place."""
    found = _english(cut, lexicon["english"])
    if words.is_chinese(text):
        found += _chinese(text, cut, lexicon["chinese"])
    kinds = lexicon["kinds"]
    kept = _uncovered(sorted(dict.fromkeys(found), key=lambda span: span.start), kinds)
    kept.sort(key=lambda span: (span.start, -span.end, span.concept))
    return _with_negation(text, kept, kinds)


def _english(cut: Sequence[Word], forms: Buckets) -> list[Span]:
    found = []
    for index, word in enumerate(cut):
        for form, concept in forms.get(word.stem, ()):
            end = _match(cut, index, form)
            if end:
                part = cut[index:end]
                found.append(
                    Span(concept, word.start, part[-1].end, index, end - 1, any(piece.corrected for piece in part))
                )
    return found


def _match(cut: Sequence[Word], index: int, form: Sequence[str]) -> int:
    """The index after the last word of `form` when it stands at `index`, else 0. A gap is one word or none."""
    at = index
    for position, piece in enumerate(form):
        if piece == GAP:
            following = form[position + 1]
            if at < len(cut) and cut[at].stem != following:
                at += 1
        elif at < len(cut) and cut[at].stem == piece:
            at += 1
        else:
            return 0
    return at


def _chinese(text: str, cut: Sequence[Word], forms: Buckets) -> list[Span]:
    places = _telling(text)
    squeezed = "".join(text[index] for index in places)
    starts, ends = [word.start for word in cut], [word.end for word in cut]
    found = []
    for at, character in enumerate(squeezed):
        for form, concept in forms.get(character, ()):
            if squeezed.startswith(form, at) and _whole(text, places, at, at + len(form)):
                start, end = places[at], places[at + len(form) - 1] + 1
                first, last = bisect_right(ends, start), bisect_left(starts, end) - 1
                found.append(Span(concept, start, end, *((first, last) if first <= last else (0, 0))))
    return found


def _telling(text: str) -> list[int]:
    """The places of the characters that tell: no spaces, and no adverb of degree (`吐字很慢` says what `吐字慢`
    says)."""
    silent = {index for index, character in enumerate(text) if character.isspace()}
    for adverb in DEGREES:
        at = text.find(adverb)
        while at >= 0:
            silent.update(range(at, at + len(adverb)))
            at = text.find(adverb, at + len(adverb))
    return [index for index in range(len(text)) if index not in silent]


def _whole(text: str, places: Sequence[int], start: int, end: int) -> bool:
    """Whether Latin letters at the edges of the match are whole words (`oom` is not said in `room`)."""
    first, last = places[start], places[end - 1]
    before = text[first - 1] if first else " "
    after = text[last + 1] if last + 1 < len(text) else " "
    return not (_latin(text[first]) and _latin(before)) and not (_latin(text[last]) and _latin(after))


def _latin(character: str) -> bool:
    return character.isascii() and character.isalnum()


def _uncovered(found: Sequence[Span], kinds: Mapping[str, str]) -> list[Span]:
    """The spans, ordered by start, that no longer form makes needless. Only the few that reach here are compared."""
    longest = max((span.end - span.start for span in found), default=0)
    starts = [span.start for span in found]
    kept = []
    for span in found:
        near = found[bisect_left(starts, span.end - longest) : bisect_right(starts, span.start)]
        if not _covered(span, near, kinds):
            kept.append(span)
    return kept


def _covered(span: Span, found: Sequence[Span], kinds: Mapping[str, str]) -> bool:
    """Whether a longer form holds this one and means something else by it: no trouble is `stuck` in `download
    stuck`."""
    size = span.end - span.start
    return any(
        other.start <= span.start
        and other.end >= span.end
        and other.end - other.start > size
        and (other.concept == span.concept or kinds[span.concept] not in _MATERIAL)
        for other in found
    )


def _with_negation(text: str, found: Sequence[Span], kinds: Mapping[str, str]) -> list[Span]:
    negations = [span for span in found if kinds[span.concept] == "negation" and span.concept != "already-done"]
    negations.sort(key=lambda span: span.last)
    lasts = [span.last for span in negations]
    out = []
    for span in found:
        near = kinds[span.concept] in {"trouble", "vague", "circumstance"} and any(
            _negates(text, negation, span)
            for negation in negations[bisect_left(lasts, span.first - REACH) : bisect_right(lasts, span.first)]
        )
        out.append(span.but(negated=True) if near else span)
    return out


def _negates(text: str, negation: Span, span: Span) -> bool:
    """`not` reaches three words on within the clause; Chinese negation must stand next to what it negates."""
    if negation.end > span.start:
        return False
    between = text[negation.end : span.start]
    if any(mark in between for mark in ",.;:!?，。；！？、\n") or " but " in between:
        return False
    if words.is_chinese(text[negation.start : negation.end]):
        return len(between.strip()) <= 1
    return span.first - negation.last < REACH
