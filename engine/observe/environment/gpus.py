"""What a GPU's name says of it: its compute capability, which decides what a build has kernels for."""

from __future__ import annotations

from engine.lazy import IGNORECASE, regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# The most telling name first: "RTX 6000 Ada" before "RTX 6000", "A4000" before "4000".
_CAPABILITIES = (
    (r"RTX PRO \d{4} Blackwell|RTX 50[5-9]0|GeForce RTX 50\d0|RTX PRO 6000", 12.0),
    (r"\bGB10\b|DGX Spark", 12.1),
    (r"\bB300\b|\bGB300\b", 10.3),
    (r"\bB[12]00\b|\bGB200\b", 10.0),
    (r"\bH(?:100|200|800|20)\b|\bGH200\b", 9.0),
    (r"\bL(?:4|40S?|20|2)\b|RTX \d000 (?:SFF )?Ada|RTX 40[5-9]0", 8.9),
    (r"\bOrin\b|\bThor\b", 8.7),
    (r"\bA(?:100|800|30X?)\b", 8.0),
    (r"\bA(?:10G?|16|2|40|[2-6]000)\b|RTX A[2-6]\d{3}|RTX 30[5-9]0", 8.6),
    (r"\bT4G?\b|RTX 20[6-8]0|GTX 16\d0|TITAN RTX|Quadro RTX|\bT[1-9]\d{2,3}\b", 7.5),
    (r"\bV100\b|TITAN V|GV100", 7.0),
    (r"GTX 10[5-8]0|TITAN X|\bP(?:4|40|6)\b|Quadro P\d", 6.1),
    (r"\bP100\b", 6.0),
    (r"\bM(?:40|60|4|10)\b|GTX 9\d0", 5.2),
    (r"\bK(?:80|40|20)", 3.7),
)
_BARE = regex(r"(?<![\w.])(?:\d{1,2} ?[x*×] ?)?([2-5]0[5-9]0)(?: ?(?:Ti|D|Super))?(?![\w.])", IGNORECASE)  # "2x4090"
_COUNT = regex(r"(?<![\w.])(\d{1,2}) ?[x*×] ?(?=[A-Z]|[2-5]0[5-9]0)|[x*×] ?(\d{1,2})(?![\w.])", IGNORECASE)
_MEMORY = regex(r"(?<![\w.])(\d{1,3}) ?(?:GB|GiB|G)(?![A-Za-z0-9])", IGNORECASE)
_PATTERNS = [(regex(pattern, IGNORECASE), capability) for pattern, capability in _CAPABILITIES]


def capability(name: str) -> float | None:
    """The compute capability of a GPU by its product name; None for a name that is not known."""
    return next((number for pattern, number in _PATTERNS if pattern.search(name[:200])), None)


def traits(name: str) -> Iterator[tuple[str, str | float]]:
    """Facts that follow from a product name."""
    number = capability(name)
    yield from of_capability(number) if number is not None else ()


def stated(text: str) -> Iterator[tuple[str, str | int | float]]:
    """What people write for a GPU: "2x4090", "A100 80G", "RTX 3090 x 2". What is not understood gives nothing."""
    text = text[:200]
    bare = _BARE.search(text)
    yield from traits(f"RTX {bare[1]}" if bare else text)
    if (count := _COUNT.search(text)) is not None:
        yield "gpu.count", int(count[1] or count[2])
    if (memory := _MEMORY.search(text)) is not None:
        yield "gpu.memory_gib", int(memory[1])


def of_capability(number: float) -> Iterator[tuple[str, str | float]]:
    """Facts that follow from a compute capability."""
    yield "gpu.capability", number
    yield "gpu.generation", "pre-ampere" if number < 8 else "ampere" if number < 8.9 else "ada-or-newer"
