"""The operator's own words -> facts: concepts, stages, versions, flags, and which causes the words resemble."""

from __future__ import annotations

from engine.lazy import regex
from engine.model import Fact, Origin, Value
from engine.observe import command, index, lexicon, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from engine.knowledge.store import Knowledge

LONGEST = 8_000  # characters of words that are read; a longer complaint is a log or a book
_VERSION = regex(
    r"\bvllm[ =:@-]{0,4}(?:version|版本)?[ =:]{0,4}v?(0\.\d+(?:\.\d+)?(?:\.?post\d+|rc\d+)?)"
    r"|\bv(0\.\d+\.\d+)\b|(?<![\d.])(0\.\d{1,2}\.\d{1,2})(?![\d.])"
)
_TORCH = regex(r"\b(?:py)?torch[ =:v]{0,4}(\d\.\d+(?:\.\d+)?(?:\+\w+)?)")
_GPU = regex(r"\b((?:rtx ?|gtx ?)?[2-5]0[5-9]0(?: ?ti)?|[abhlvt]\d{1,3}0?[0-9]?[s]?|a6000|mi\d{3}x?|gb?\d{2,3})\b")
_NO_GPU = ("v0", "v1")  # vLLM's engines
_OTHER_PRODUCT = regex(
    r"(?:flash.?infer|flash.?attn|xformers|torchvision|torchaudio|tokenizers|transformers|xgrammar|outlines|safetensors|peft"
    r"|huggingface.?hub|accelerate|bitsandbytes|autoawq|auto-gptq|compressed.tensors|llguidance|lmcache|sglang|lmdeploy|ollama"
    r"|deepspeed|fastapi|uvicorn|starlette|tiktoken|triton|nixl|ray|litellm|langchain\w*)[ =<>~!:@v-]{0,4}"
    r"(?:version|版本)?[ =:v]{0,3}$"
)
_VARIABLE = regex(
    r"\b((?:VLLM|NCCL|GLOO|CUDA|HF|HUGGINGFACE|TORCH|PYTORCH|RAY|HIP|ROCR|OMP|MASTER)_[A-Z0-9_]{1,60})"
    r" ?= ?([\w.:/,-]{1,200})"
)
_PLATFORM = {
    "ascend": "npu", "昇腾": "npu", "npu": "npu", "torch_npu": "npu", "gaudi": "hpu", "hpu": "hpu", "habana": "hpu",
    "tpu": "tpu", "xpu": "xpu", "intel arc": "xpu", "rocm": "rocm", "mi300": "rocm", "mi300x": "rocm", "mi250": "rocm",
}  # fmt: skip


class Hearing(Value):
    """What a complaint said. `unknown` counts the content words that nothing in the knowledge base uses."""

    facts: tuple[Fact, ...]
    kinds: frozenset[str]
    unknown: int


def hear(text: str, knowledge: Knowledge, kind: str = "complaint") -> Hearing:
    """Facts of `text`, the operator's words in any language. Text beyond 8,000 characters is not read."""
    folded = words.fold(text[:LONGEST])
    compiled = knowledge.lexicon()
    cut, unknown = _corrected(folded, compiled, knowledge)
    spans = lexicon.spans(folded, cut, compiled)
    facts = [fact for span in spans for fact in _facts_of(span, text, compiled, kind)]
    facts += _lexical(cut, spans, knowledge, text, kind)
    facts += _error_names(cut, text, kind)
    facts += _numbers(folded, kind)
    facts += _variables(text[:LONGEST], kind)
    facts += command.mentioned(text[:LONGEST], knowledge, kind)
    unknown += _uncovered(folded, spans)
    said = frozenset(compiled["kinds"][fact.name[5:]] for fact in facts if fact.name.startswith("says.") and fact.known)
    return Hearing(tuple(facts), said, unknown)


def _corrected(folded: str, compiled: Mapping[str, Any], knowledge: Knowledge) -> tuple[list[lexicon.Word], int]:
    """The words with slips put right, and how many remain that are neither known nor ordinary."""
    known = knowledge.vocabulary()
    cut, unknown, looked_up = [], 0, 0
    for word, start, end in words.cut(folded):
        root = words.stem(word)
        if root in known or not root.isalpha() or not root.isascii() or len(root) < 4:
            cut.append(lexicon.Word(root, start, end))
            continue
        unknown += 1
        meant = None
        if looked_up < _most_words():
            looked_up += 1
            meant = _meant(root, word, knowledge.section("spelling"))
        cut.append(lexicon.Word(meant or root, start, end, meant is not None))
        unknown -= meant is not None
    return cut, unknown


def _uncovered(folded: str, spans: Sequence[lexicon.Span]) -> int:
    """Chinese text that no concept covers, in words of about three characters."""
    covered = {place for span in spans for place in range(span.start, span.end)}
    return sum("\u3400" <= c <= "\u9fff" and place not in covered for place, c in enumerate(folded)) // 3


def _most_words() -> int:
    from engine.observe.spelling import MOST_WORDS  # noqa: PLC0415 - only when a word is not known

    return MOST_WORDS


def _meant(root: str, word: str, vocabulary: Sequence[str]) -> str | None:
    from engine.observe.spelling import meant  # noqa: PLC0415 - only when a word is not known

    return meant(root, vocabulary) or (meant(word, vocabulary) if word != root else None)


def _facts_of(span: lexicon.Span, text: str, compiled: Mapping[str, Any], kind: str) -> Iterator[Fact]:
    origin = Origin(kind, text[span.start : span.end], f"{kind}:{span.start}", words=(span.first + 1, span.last + 1))  # type: ignore[arg-type]
    grade = "near" if span.corrected else "exact"
    yield Fact(f"says.{span.concept}", True, origin, grade, known=not span.negated)  # type: ignore[arg-type]
    if not span.negated:
        for name, value in compiled["facts"].get(span.concept, {}).items():
            yield Fact(name, value, origin, grade)  # type: ignore[arg-type]


def _lexical(
    cut: Sequence[lexicon.Word], spans: Sequence[lexicon.Span], knowledge: Knowledge, text: str, kind: str
) -> list[Fact]:
    """A complaint that resembles the description of a cause proposes it, faintly."""
    floor = knowledge.section("weights")["lexical"]["floor"]
    origin = Origin(kind, text[:200], f"{kind}:resemblance")  # type: ignore[arg-type]
    found = index.nearest(index.of_words(cut, spans), knowledge.lexical())
    return [Fact(f"lexical.{cause}", share, origin, "faint") for cause, share in found if share >= floor]


def _error_names(cut: Sequence[lexicon.Word], text: str, kind: str) -> Iterator[Fact]:
    """`ValueError` and `HFValidationError` say that there is an error, whatever they are."""
    for number, word in enumerate(cut, 1):
        if len(word.stem) > 6 and word.stem.endswith(("error", "exception")):
            origin = Origin(kind, text[word.start : word.end], f"{kind}:{word.start}", words=(number, number))  # type: ignore[arg-type]
            yield Fact("says.error", True, origin)


def _variables(text: str, kind: str) -> Iterator[Fact]:
    """Variables that the words set: `NCCL_P2P_DISABLE=1`."""
    if "=" in text:
        for match in _VARIABLE.finditer(text):
            origin = Origin(kind, match.group(), f"{kind}:{match.start()}")  # type: ignore[arg-type]
            yield Fact(f"env.{match.group(1)}", match.group(2), origin)


def _numbers(folded: str, kind: str) -> Iterator[Fact]:
    """Versions, GPUs and platforms that are named."""
    digits = any(character.isdigit() for character in folded)
    for name, pattern in (("vllm.version", _VERSION), ("torch.version", _TORCH)) if digits else ():
        for match in pattern.finditer(folded):
            if match.group()[0].isdigit() and _OTHER_PRODUCT.search(folded, max(0, match.start() - 40), match.start()):
                continue
            value = next(group for group in match.groups() if group)
            yield Fact(name, value, Origin(kind, match.group(), f"{kind}:{match.start()}"))  # type: ignore[arg-type]
    for match in _GPU.finditer(folded) if digits else ():
        if match.group() in _NO_GPU:
            continue
        yield Fact("gpu.name", match.group(1).upper(), Origin(kind, match.group(), f"{kind}:{match.start()}"))  # type: ignore[arg-type]
    for word, platform in _PLATFORM.items():
        at = _standing(folded, word)
        if at >= 0:
            yield Fact("platform", platform, Origin(kind, word, f"{kind}:{at}"))  # type: ignore[arg-type]


def _standing(text: str, word: str) -> int:
    """Where `word` stands by itself, or -1: `npu` is not said in `input`, nor `hpu` in `throughput`."""
    at = text.find(word)
    while at >= 0:
        rest = text[at + len(word) :].removeprefix("s")
        if not word.isascii() or not (_letter(text[at - 1 : at]) or _letter(rest[:1])):
            return at
        at = text.find(word, at + 1)
    return -1


def _letter(character: str) -> bool:
    return character.isascii() and character.isalpha()
