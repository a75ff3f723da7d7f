"""The names under which wrappers and charts take vLLM's settings.

A wrapper has options of its own beside vLLM's, so an unknown name in it is no misspelt flag and is left alone.
"""

from __future__ import annotations

from engine.model import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Dialect(Value):
    """Own name -> vLLM's flag for the names that differ; `prefix` stands before the others; `open` says that any other
    flag can be given under its own name with underscores."""

    names: Mapping[str, str]
    prefix: str = ""
    open: bool = False


DIALECTS = {
    "xinference": Dialect(
        {"model-name": "--served-model-name", "model-path": "--model", "n-gpu": "--tensor-parallel-size"}, "", True
    ),
    "swift": Dialect(
        {
            "model": "--model", "model-id-or-path": "--model", "max-model-len": "--max-model-len",
            "gpu-memory-utilization": "--gpu-memory-utilization", "tensor-parallel-size": "--tensor-parallel-size",
            "served-model-name": "--served-model-name", "port": "--port", "host": "--host",
        },
        "vllm_",
    ),
    "llamafactory": Dialect(
        {
            "model-name-or-path": "--model", "vllm-maxlen": "--max-model-len", "vllm-enforce-eager": "--enforce-eager",
            "vllm-gpu-util": "--gpu-memory-utilization", "vllm-max-lora-rank": "--max-lora-rank",
            "trust-remote-code": "--trust-remote-code", "infer-dtype": "--dtype",
        },
    ),
    "helm": Dialect(
        {
            "max-model-len": "--max-model-len", "tensor-parallel-size": "--tensor-parallel-size", "dtype": "--dtype",
            "gpu-memory-utilization": "--gpu-memory-utilization", "max-num-seqs": "--max-num-seqs",
            "max-loras": "--max-loras", "enable-chunked-prefill": "--enable-chunked-prefill",
            "enable-prefix-caching": "--enable-prefix-caching", "pipeline-parallel-size": "--pipeline-parallel-size",
        },
    ),
    "kserve": Dialect({"model-id": "--model", "model-name": "--served-model-name", "model-dir": "--model"}, "", True),
}  # fmt: skip
# What ms-swift has an option of its own for, with its prefix.
_PREFIXED = frozenset(
    {
        "--max-model-len", "--gpu-memory-utilization", "--tensor-parallel-size", "--enforce-eager", "--max-num-seqs",
        "--enable-prefix-caching", "--pipeline-parallel-size", "--limit-mm-per-prompt", "--max-lora-rank",
        "--quantization",
    }
)  # fmt: skip


def flag(own: str, dialect: str, names: Mapping[str, str]) -> str | None:
    """vLLM's flag for a wrapper's option, or None when it is the wrapper's own."""
    one = DIALECTS[dialect]
    plain = own.strip("-").replace("_", "-").lower()
    if plain in one.names:
        return one.names[plain]
    prefix = one.prefix.replace("_", "-")
    if prefix and plain.startswith(prefix):
        return names.get(f"--{plain[len(prefix) :]}")
    return names.get(f"--{plain}") if one.open and len(plain) > 1 else None


def own_name(name: str, dialect: str) -> str | None:
    """How a wrapper calls vLLM's flag, with underscores; None when it has no name for it."""
    one = DIALECTS[dialect]
    plain = name.strip("-").replace("-", "_")
    if one.prefix and name in _PREFIXED:
        return one.prefix + plain
    found = next((own for own, flag in one.names.items() if flag == name), None)
    return found.replace("-", "_") if found else plain if one.open else None
