"""`env`, `printenv`, `export -p` and the end of `vllm collect-env`: the variables that vLLM and its libraries read."""

from __future__ import annotations

from engine.lazy import regex
from engine.observe.environment.seen import Seen, rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_ASSIGNMENT = regex(r"(?:export |declare -x |set )?([A-Za-z_][A-Za-z0-9_]{1,60})=(\S.{0,600}|)$")
_OURS = (
    "VLLM_", "NCCL_", "CUDA_", "NVIDIA_", "HF_", "HUGGING_FACE_", "TRANSFORMERS_", "TORCH", "PYTORCH_", "RAY_",
    "GLOO_", "UCX_", "OMP_", "TRITON_", "LD_LIBRARY_PATH", "LD_PRELOAD", "TP_SOCKET", "MASTER_", "WORLD_SIZE", "RANK",
    "LMCACHE_", "LOCAL_RANK", "HIP_", "ROCR_", "HSA_", "MODELSCOPE_", "FLASHINFER_", "SAFETENSORS_", "OPENAI_",
    "PYTHONPATH", "TMPDIR", "XDG_CACHE_HOME", "TILELANG_", "ASCEND_",
)  # fmt: skip
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")
_SECRET = ("TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")
_LEAST = 2  # lines of assignments in a row that make it a list of variables


def parse(text: str) -> Iterator[Seen]:
    """`env.NAME` for each variable of vLLM and its neighbours. A credential is noted as set, without its value."""
    found = [(line, row, match) for line, row in rows(text) if (match := _ASSIGNMENT.match(row.strip())) is not None]
    if len(found) < _LEAST:
        return
    for line, row, match in found:
        name, value = match[1], match[2].strip("'\"")
        if not (name.startswith(_OURS) or name.lower() in _PROXIES):
            continue
        secret = any(word in name.upper() for word in _SECRET)
        yield Seen(f"env.{name}", "set" if secret and value else value, line, f"{name}=…" if secret else row)
