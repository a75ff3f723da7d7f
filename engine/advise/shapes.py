"""Where the figures of a model or a GPU come from: a config.json, or the name of one that the reference knows."""

from __future__ import annotations

from engine.advise.memory import GIB, Shape
from engine.lazy import IGNORECASE, regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from engine.knowledge.store import Knowledge

# Bytes of one weight. Below 16 bits embeddings and scales stay, which makes 4 bits a little more than half a byte.
WEIGHT_BYTES = {32: 4.0, 16: 2.0, 8: 1.0, 4: 0.57}
_FOUR = (
    "awq",
    "gptq",
    "int4",
    "4bit",
    "w4a16",
    "bnb",
    "bitsandbytes",
    "nf4",
    "q4",
    "autoround",
    "nvfp4",
    "mxfp4",
    "fp4",
)
_EIGHT = ("fp8", "int8", "8bit", "w8a8", "w8a16", "q8", "ptpc")
# What a name says of the kind of copy and not of the shape.
_COPIES = {
    "instruct",
    "chat",
    "it",
    "hf",
    "base",
    "gguf",
    "mlx",
    "quantized",
    "dynamic",
    "pt",
    "quant",
    "marlin",
    "sym",
    "g128",
}
_WORDS = regex(r"[-_\s]+")
_SIZE = regex(r"(?<![\d.])(\d{1,6}(?:\.\d{1,3})?)\s?(gib|gb|g\b|mib)", IGNORECASE)
_COUNT = regex(r"(?<!\w)\d{1,3}\s?[x*×]\s?(?=\S)", IGNORECASE)  # "2x4090": how many there are
_STICKER = 0.985  # of the gigabytes on a card's box, what a process sees in GiB
_LONGEST_NAME = 300


def of_name(name: str, knowledge: Knowledge, quantization: str = "") -> tuple[str, Shape] | None:
    """The known model that `name` (a repository, a local folder) is a copy of, and its shape; None when none is known.

    `quantization` is what the command says; without it the name tells how many bits a weight has."""
    known = knowledge.section("model-names").get(plain(name))
    if known is None:
        return None
    return known, of_entry(knowledge.item("model", known) or {}, bits_of(quantization) or bits_of(name))


def plain(name: str) -> str:
    """A model's name without its owner, its folder, and the words for the kind of copy."""
    name = name.strip()[:_LONGEST_NAME].rstrip("/").lower()
    if "models--" in name:  # a folder of the hub's cache
        name = name.partition("models--")[2].partition("/")[0].rpartition("--")[2]
    words = _WORDS.split(name.replace("\\", "/").rpartition("/")[2])
    return "-".join(word for word in words if word not in _COPIES and word not in _FOUR and word not in _EIGHT)


def bits_of(words: str) -> int:
    """Bits of a weight that a name or a method of quantization speaks of; 0 when it says nothing."""
    parts = [part for part in _WORDS.split(words.lower().rpartition("/")[2]) if part]
    if any(part.startswith(_FOUR) for part in parts) and not any(part in ("int8", "8bit") for part in parts):
        return 4
    return 8 if any(part.startswith(_EIGHT) for part in parts) else 0


def of_entry(entry: Mapping[str, Any], bits: int = 0) -> Shape:
    """The shape that an entry of the reference has, with weights of `bits` where a copy is stored otherwise."""
    native = entry.get("bits", 16)
    gib = entry.get("weights_gib")
    if gib is None or (bits and bits < native):
        gib = entry["parameters"] * 1e9 * WEIGHT_BYTES[bits or native] / GIB
    return Shape(
        entry["layers"], entry["heads"], entry.get("kv_heads", 0), entry.get("head_dim", 0), entry.get("latent", 0),
        entry.get("windowed", 0), entry.get("window", 0), entry.get("stateless", 0), gib, False, bits or native,
        entry.get("positions"),
    )  # fmt: skip


def gpu_memory(text: str, knowledge: Knowledge) -> tuple[str, float, bool] | None:
    """The GPU that `text` names, its memory in GiB, and whether that was stated as it is ("24GiB").

    A size beside a name ("A100 40G") or alone ("24GB") is what the box says. None when there is neither."""
    text = text[:_LONGEST_NAME]
    name, memory = _card(text, knowledge)
    size = _SIZE.search(text)
    if size is None:
        return (name, memory, False) if name else None
    amount, unit = float(size[1]), size[2].lower()
    exact = unit in ("gib", "mib")
    stated = amount / 1024 if unit == "mib" else amount if exact else amount * _STICKER
    if name and (not exact and abs(stated - memory) <= memory * 0.1):
        return name, memory, False
    shown = f"{size[1]} {'GiB' if exact and unit == 'gib' else size[2]}"
    return (f"{name} {shown}" if name else shown, stated, exact) if stated > 0 else None


def _card(text: str, knowledge: Knowledge) -> tuple[str, float]:
    """The card whose longest spelling stands in the text as words of its own."""
    found: tuple[int, str, float] = (0, "", 0.0)
    words = f" {' '.join(_cut(_COUNT.sub(' ', text)))} "
    for name in knowledge.ids("gpu"):
        entry = knowledge.item("gpu", name) or {}
        for spelling in (name, *entry.get("also", ())):
            if len(spelling) > found[0] and f" {' '.join(_cut(spelling))} " in words:
                found = len(spelling), name, entry["memory_gib"]
    return found[1], found[2]


def _cut(text: str) -> list[str]:
    spaced = "".join(character if character.isalnum() else " " for character in text.lower())
    return [word for word in spaced.split() if word]


# -- config.json ------------------------------------------------------------------------------------------------------


def of_config(config: Mapping[str, Any], weight_bytes: int | None = None) -> Shape:
    """The shape that a config.json describes. `weight_bytes`: the size of its files, where it is known.

    Raises ValueError, naming the key, when a figure is missing that everything rests on."""
    text = _of_language(config)
    layers = _whole(text, ("num_hidden_layers", "n_layer", "num_layers", "n_layers"))
    heads = _whole(text, ("num_attention_heads", "n_head", "n_heads"))
    latent = int(text.get("kv_lora_rank") or 0)
    latent += int(text.get("qk_rope_head_dim") or 0) if latent else 0
    head_dim = _head_dim(text, heads)
    windowed, window, stateless = _kinds(text, layers)
    bits = _bits(config, text)
    weights = (
        weight_bytes / GIB if weight_bytes else parameters(text, heads, head_dim, layers) * WEIGHT_BYTES[bits] / GIB
    )
    positions = _maybe(
        text, ("max_position_embeddings", "n_positions", "seq_length", "max_sequence_length", "max_seq_len")
    )
    return Shape(
        layers, heads, 0 if latent else _kv_heads(text, heads), 0 if latent else head_dim, latent, windowed, window,
        stateless, weights, weight_bytes is not None, bits, positions,
    )  # fmt: skip


def _of_language(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a multimodal config that describes the language model."""
    for key in ("text_config", "llm_config", "language_config", "thinker_config"):
        inner = config.get(key)
        if isinstance(inner, dict) and any(name in inner for name in ("num_hidden_layers", "n_layer", "text_config")):
            return _of_language(inner)
    return config


def _maybe(config: Mapping[str, Any], keys: Iterable[str]) -> int | None:
    for key in keys:
        value = config.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 40:
            return value
    return None


def _whole(config: Mapping[str, Any], keys: Sequence[str]) -> int:
    found = _maybe(config, keys)
    if found is None:
        raise ValueError(f"'{keys[0]}' is missing")
    return found


def _head_dim(text: Mapping[str, Any], heads: int) -> int:
    stated = _maybe(text, ("head_dim", "kv_channels", "attention_head_dim"))
    return stated or _whole(text, ("hidden_size", "n_embd", "d_model")) // heads


def _kv_heads(text: Mapping[str, Any], heads: int) -> int:
    if text.get("multi_query") is True and not text.get("new_decoder_architecture"):
        return 1
    return _maybe(text, ("num_key_value_heads", "multi_query_group_num", "n_head_kv", "num_kv_heads")) or heads


def _kinds(text: Mapping[str, Any], layers: int) -> tuple[int, int, int]:
    """Layers with a window, the window, and layers without a cache that grows."""
    window = _maybe(text, ("sliding_window", "attention_chunk_size")) or 0
    kinds = text.get("layer_types") or text.get("layers_block_type")
    if isinstance(kinds, list) and len(kinds) == layers:
        stateless = sum(
            1 for kind in kinds if str(kind) in ("linear_attention", "mamba", "mamba2", "conv", "recurrent")
        )
        windowed = sum(1 for kind in kinds if str(kind) == "sliding_attention") if window else 0
        return windowed, window if windowed else 0, stateless
    pattern = text.get("hybrid_override_pattern")
    if isinstance(pattern, str) and len(pattern) == layers:
        return 0, 0, layers - pattern.count("*")
    every = _maybe(text, ("full_attention_interval", "attn_layer_period"))
    if every:
        return 0, 0, layers - layers // every
    windowed = _windowed(text, layers) if window else 0
    return windowed, window if windowed else 0, 0


def _windowed(text: Mapping[str, Any], layers: int) -> int:
    """Of models that state a window without saying for which layers: the rule of their kind."""
    kind, every = str(text.get("model_type", "")), _maybe(text, ("sliding_window_pattern",))
    if text.get("use_sliding_window") is False or (kind.startswith("qwen") and not text.get("use_sliding_window")):
        return 0
    if kind.startswith("qwen"):
        return max(0, layers - (_maybe(text, ("max_window_layers",)) or 0))
    if every or kind.startswith("gemma3"):
        return layers - layers // (every or 6)
    if kind in ("gemma2", "gpt_oss"):
        return layers // 2
    positions = _maybe(text, ("max_position_embeddings",))
    narrower = text["sliding_window"] < (positions or 1 << 40)
    return layers if narrower and kind in ("mistral", "mixtral", "phi3", "starcoder2") else 0


def _bits(config: Mapping[str, Any], text: Mapping[str, Any]) -> int:
    stated = config.get("quantization_config") or text.get("quantization_config")
    if isinstance(stated, dict):
        groups = stated.get("config_groups")
        first: Any = next(iter(groups.values()), {}) if isinstance(groups, dict) else {}
        in_group = first.get("weights") if isinstance(first, dict) else None
        number = stated.get("bits") or stated.get("w_bit") or (in_group or {}).get("num_bits")
        if isinstance(number, int) and number in WEIGHT_BYTES:
            return number
        if stated.get("load_in_8bit") is True:
            return 8
        return bits_of(str(stated.get("quant_method", ""))) or 16
    dtype = str(text.get("torch_dtype") or text.get("dtype") or config.get("torch_dtype") or config.get("dtype") or "")
    return 32 if dtype.endswith("float32") else 16


def parameters(text: Mapping[str, Any], heads: int, head_dim: int, layers: int) -> float:
    """About how many parameters a decoder of the usual build has, experts included."""
    hidden = _whole(text, ("hidden_size", "n_embd", "d_model"))
    vocabulary = _maybe(text, ("vocab_size", "padded_vocab_size")) or 0
    embeddings = vocabulary * hidden * (1 if text.get("tie_word_embeddings") else 2)
    inner = _maybe(text, ("intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim")) or 4 * hidden
    attention = _attention(text, hidden, heads, head_dim)
    experts = _maybe(text, ("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts")) or 0
    if not experts:
        return embeddings + layers * (attention + 3 * hidden * inner)
    of_expert = _maybe(text, ("moe_intermediate_size",)) or inner
    shared = _maybe(text, ("n_shared_experts", "moe_num_shared_experts")) or 0
    extra = _maybe(text, ("shared_expert_intermediate_size",)) or 0
    dense = min(layers, _maybe(text, ("first_k_dense_replace",)) or 0)
    step = _maybe(text, ("interleave_moe_layer_step", "decoder_sparse_step")) or 1
    sparse = (layers - dense) // step
    mixture = 3 * hidden * ((experts + shared) * of_expert + extra)
    return embeddings + layers * attention + sparse * mixture + (layers - sparse) * 3 * hidden * inner


def _attention(text: Mapping[str, Any], hidden: int, heads: int, head_dim: int) -> int:
    rank = _maybe(text, ("kv_lora_rank",))
    if rank is None:
        return hidden * head_dim * 2 * (heads + _kv_heads(text, heads))
    rope, nope = int(text.get("qk_rope_head_dim") or 64), int(text.get("qk_nope_head_dim") or 128)
    value, query = int(text.get("v_head_dim") or 128), _maybe(text, ("q_lora_rank",))
    queries = query * (hidden + heads * (rope + nope)) if query else hidden * heads * (rope + nope)
    return queries + hidden * (rank + rope) + rank * heads * (nope + value) + heads * value * hidden
