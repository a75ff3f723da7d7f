"""Cuts text into words the same way for the lexicon (when it is compiled) and for a complaint (when it is read).

English words lose their endings, contractions are spelled out, Chinese is one word a character. Everything is lower
case; full-width letters and digits count as their plain forms.
"""

from __future__ import annotations

from engine.lazy import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST_CHINESE, LAST_CHINESE = "\u3400", "\u9fff"
WHOLE = frozenset({"cors"})  # names that would become another word: a core is no CORS header
LONGEST = 64  # characters of one word; longer runs (base64, hashes) carry no meaning
_WORD = regex(
    r"[a-z0-9_][a-z0-9_+./:@'-]*|--?[a-z][a-z0-9_-]*|!{3,}|\?|/[a-z0-9_./-]+|\+[a-z]+|[^\x00-\x7f]"
)  # the last is taken apart below: a range of Chinese compiles for milliseconds
_CONTRACTION = {"won't": "will not", "can't": "can not", "cannot": "can not", "cant": "can not", "wont": "will not"}
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20, 0x2019: 0x27}


def fold(text: str) -> str:
    """Lower case, full-width forms made plain. The length does not change, so positions stay valid."""
    if text.isascii():
        return text.lower()
    plain = text.translate(_FULL_WIDTH)
    folded = plain.lower()
    if len(folded) == len(text):
        return folded
    return "".join(lower if len(lower := character.lower()) == 1 else character for character in plain)


def cut(text: str) -> Iterator[tuple[str, int, int]]:
    """Each word of folded `text` with its start and end."""
    for match in _WORD.finditer(text):
        word, start = match.group(), match.start()
        if word > "\x7f" and not FIRST_CHINESE <= word <= LAST_CHINESE:
            continue
        trimmed = word.rstrip(".:'=/-") or word
        plain = trimmed.lstrip("-") or trimmed  # a flag is the word that it is made of
        for part in _CONTRACTION.get(plain, _spelled_out(plain)).split():
            yield part[:LONGEST], start, start + len(trimmed)


def _spelled_out(word: str) -> str:
    if word.endswith("n't"):
        return word[:-3] + " not"
    if word.endswith("'s"):
        return word[:-2]
    return word


def stem(word: str) -> str:
    """The word without its ending: hangs, hanging and hang are one; short words and names with signs stay."""
    if len(word) < 4 or not word.isalpha() or word in WHOLE:
        return word
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not (ending == "s" and word[-2] in "su"):
            word = word[: -len(ending)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl":
                word = word[:-1]
            break
    return word.rstrip("e") if len(word) > 3 else word


def stems(text: str) -> list[str]:
    """The stems of all words of `text`, in order."""
    return [stem(word) for word, _start, _end in cut(fold(text))]


def is_chinese(text: str) -> bool:
    return not text.isascii() and any(FIRST_CHINESE <= character <= LAST_CHINESE for character in text)
