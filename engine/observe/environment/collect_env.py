"""`vllm collect-env` and torch's own collect_env: one statement a line."""

from __future__ import annotations

from engine.lazy import regex
from engine.observe.environment.gpus import traits
from engine.observe.environment.seen import Seen, rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_STATEMENT = regex(r"\s{0,8}([A-Za-z][\w .()-]{2,60}?)\s{0,40}:\s{1,4}(\S.{0,200})")
_GPU = regex(r"\s{0,40}(?:GPU models and configuration:\s{0,4})?GPU (\d{1,3}): (\S.{0,100})")
_NUMBER = regex(r"\d{1,4}(?:\.\d{1,8}){0,3}[\w.+-]{0,40}")
_NAMES = {
    "PyTorch version": "torch.version",
    "vLLM Version": "vllm.version",
    "Python version": "python.version",
    "Nvidia driver version": "driver.version",
    "CUDA used to build PyTorch": "torch.cuda",
}
_MISSING = ("n/a", "none", "could not collect", "no cuda")


def parse(text: str) -> Iterator[Seen]:
    """torch and what it was built for, Python, driver, GPUs, vLLM."""
    if "PyTorch version" not in text and "CUDA used to build" not in text:
        return
    gpus: list[tuple[int, str, str]] = []
    for line, row in rows(text):
        gpu = _GPU.match(row)
        if gpu:
            gpus.append((line, row, gpu[2]))
        elif (match := _STATEMENT.match(row)) is not None:
            yield from _of_statement(match[1].strip(), match[2].strip(), line, row)
    if gpus:
        line, row, name = gpus[0]
        yield Seen("gpu.name", name.strip(), line, row)
        yield Seen("gpu.count", len(gpus), line, row)
        for trait, value in traits(name):
            yield Seen(trait, value, line, row)


def _of_statement(key: str, value: str, line: int, row: str) -> Iterator[Seen]:
    missing = value.lower().startswith(_MISSING)
    if key == "Is CUDA available":
        yield Seen("torch.sees_gpu", value.lower().startswith("true"), line, row)
    elif key == "ROCM used to build PyTorch" and not missing:
        yield Seen("torch.build", "rocm", line, row)
        yield Seen("platform", "rocm", line, row)
    elif key == "CUDA used to build PyTorch":
        yield (
            Seen("torch.build", "cpu", line, row)
            if missing and "+rocm" not in row
            else Seen("torch.build", "cuda", line, row)
        )
    name = _NAMES.get(key)
    number = _NUMBER.search(value)
    if name and number and not missing:
        yield Seen(name, number.group(), line, row)
