"""What the memory arithmetic makes of the facts of a case: how many tokens fit, and the longest context that would.

A figure of the log itself is passed on as it is. One that rests on the shape of a model known by its name, or on
assumed activations, is rounded down and said to be about right; where it contradicts what was seen, it is left out.
"""

from __future__ import annotations

from engine.advise import memory, shapes, values
from engine.advise.memory import Setup
from engine.model import Fact, Origin, Value
from engine.reason.atoms import number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from engine.advise.memory import Shape
    from engine.knowledge.store import Knowledge
    from engine.model import Scalar

LEAST = 256  # tokens; a shorter context helps nobody
ABOUT = "≈ "
_FP8 = ("fp8", "int8")
_LARGEST = 1e15


class Figures(Value):
    """What is known: a length in tokens and whether it is exact."""

    tokens: int
    exact: bool


def facts(found: Sequence[Fact], knowledge: Knowledge) -> list[Fact]:
    """The facts `derived.kv_…` and `derived.max_model_len_that_fits` that follow from `found`."""
    stated = values.known(found)
    shape = model(stated, knowledge)
    setup = setup_of(stated)
    length = _number(stated, "args.max-model-len", "log.max_model_len") or (shape.positions if shape else None) or 0
    available = _available(stated, shape, setup, knowledge)
    return list(_facts(stated, shape, setup, int(length), available))


def _facts(
    stated: Mapping[str, str], shape: Shape | None, setup: Setup, length: int, available: float | None
) -> Iterator[Fact]:
    if shape is not None:
        yield _fact("derived.kv_bytes_per_token", memory.bytes_per_token(shape, setup), "kv-bytes", exact=True)
    held = _held(stated, shape, setup, length, available)
    if held is not None:
        yield _fact("derived.kv_tokens", held.tokens, "kv-tokens", held.exact)
        if length:
            yield _fact("derived.max_concurrency", round(held.tokens / length, 2), "kv-tokens", held.exact)
    longest = _longest(stated, shape, setup, length, held, available)
    if longest is not None:
        yield _fact("derived.max_model_len_that_fits", longest.tokens, "longest", longest.exact)
        if not longest.exact:  # an answer says so beside the value
            yield _fact("derived.max_model_len_is_estimated", True, "longest", exact=True)


def _fact(name: str, value: Scalar, source: str, exact: bool) -> Fact:
    text = f"{value}" if exact or isinstance(value, str) else f"{ABOUT}{value}"
    return Fact(name, value, Origin("derived", text, f"derived:{source}"), "exact" if exact else "near")


# -- what is known ----------------------------------------------------------------------------------------------------


def model(stated: Mapping[str, str], knowledge: Knowledge) -> Shape | None:
    """The shape of the model that is served, if the reference knows it."""
    name = stated.get("model.name") or stated.get("args.model")
    found = shapes.of_name(name, knowledge, stated.get("args.quantization", "")) if name else None
    if found is None:
        return None
    shape = found[1]
    if stated.get("args.dtype") == "float32" and shape.bits == 16 and shape.weights_gib:
        return shape.but(weights_gib=shape.weights_gib * 2, bits=32)  # type: ignore[no-any-return]
    return shape


def setup_of(stated: Mapping[str, str]) -> Setup:
    """How the flags deploy the model; what they do not say is as vLLM does it."""

    def whole(name: str, least: int = 1) -> int | None:
        value = _number(stated, name)
        return int(value) if value is not None and least <= value < 1 << 40 else None

    return Setup(
        whole("args.tensor-parallel-size") or 1,
        whole("args.pipeline-parallel-size") or 1,
        kv_bytes(stated.get("args.kv-cache-dtype", ""), stated.get("args.dtype", "")),
        whole("args.block-size") or memory.BLOCK,
        whole("args.max-num-batched-tokens"),
        stated.get("args.enforce-eager", "false") not in ("false", "False", "0"),
    )


def kv_bytes(cache: str, weights: str) -> float:
    """Bytes of one number in the KV cache, by --kv-cache-dtype and --dtype."""
    if cache.lower().startswith(_FP8):
        return 1.0
    wide = "32" in cache or (cache in ("", "auto") and weights in ("float32", "float"))
    return 4.0 if wide else 2.0


def _number(stated: Mapping[str, str], *names: str) -> float | None:
    for name in names:
        value = number(stated[name]) if name in stated else None
        if value is not None and 0 < value < _LARGEST:
            return value
    return None


def _available(stated: Mapping[str, str], shape: Shape | None, setup: Setup, knowledge: Knowledge) -> float | None:
    """GiB of KV cache on one GPU that model, card and share of it leave; None when one of them is not known."""
    if stated.get("platform", "cuda") not in ("cuda", "rocm") or shape is None:
        return None
    total = _number(stated, "gpu.memory_gib")
    card = shapes.gpu_memory(stated.get("gpu.name", ""), knowledge)
    if total is None and card is not None:
        total = card[1]
    share = number(values.current("--gpu-memory-utilization", stated, None, knowledge))
    if total is None or share is None or not 0 < share <= 1:
        return None
    return memory.budget(shape, setup, total, share).kv


# -- what follows -----------------------------------------------------------------------------------------------------


def _held(
    stated: Mapping[str, str], shape: Shape | None, setup: Setup, length: int, available: float | None
) -> Figures | None:
    """Tokens that the KV cache holds."""
    tokens, blocks = _number(stated, "log.kv_tokens"), _number(stated, "log.blocks")
    if tokens is not None:
        return Figures(int(tokens), True)
    if blocks is not None:
        return Figures(int(blocks) * setup.block, True)
    measured = _number(stated, "log.available_gib")
    gib = measured if measured is not None else available
    if shape is None or gib is None:
        return None
    return Figures(memory.rounded_down(memory.tokens(shape, setup, gib, length or None)), False)


def _longest(
    stated: Mapping[str, str],
    shape: Shape | None,
    setup: Setup,
    length: int,
    held: Figures | None,
    available: float | None,
) -> Figures | None:
    """The longest context that fits, unless it is no shorter than the one that is set: then nothing need be changed, or
    the arithmetic is wrong."""
    found = _fitting(stated, shape, setup, length, held, available)
    if found is None or found.tokens < LEAST or (length and found.tokens >= length):
        return None
    return found


def _fitting(
    stated: Mapping[str, str],
    shape: Shape | None,
    setup: Setup,
    length: int,
    held: Figures | None,
    available: float | None,
) -> Figures | None:
    estimate = _number(stated, "log.estimated_max_model_len")
    if estimate is not None:
        return Figures(int(estimate), True)
    needed, measured = _number(stated, "log.needed_gib"), _number(stated, "log.available_gib")
    uniform = shape is None or not shape.windowed
    if needed and measured and length and uniform:
        return Figures(memory.scaled(length, needed, measured), False)
    if held is not None and held.exact and uniform:
        return Figures(held.tokens // setup.block * setup.block, True)
    gib = measured if measured is not None else available
    if shape is None or gib is None:
        return None
    return Figures(memory.rounded_down(memory.longest(shape, setup, gib)), False)
