"""nvidia-smi in its forms: the table, -L, -q, topo -m, with and without MIG."""

from __future__ import annotations

from engine.lazy import regex
from engine.observe.environment.gpus import traits
from engine.observe.environment.seen import Seen, rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_VERSIONS = regex(
    r"Driver Version\s{0,40}: ?(\d{3}[\d.]{0,12})(?:.{0,40}CUDA (?:UMD )?Version\s{0,20}: ?(\d{1,2}\.\d))?"
)
_CUDA = regex(r"CUDA Version\s{0,40}: (\d{1,2}\.\d)")
_ROW = regex(
    r"\|\s{1,4}(\d{1,3})\s{1,4}((?:NVIDIA|Tesla|GeForce|Quadro|GRID|A100|H100|L4)[^|]{0,40}?)\s{2,40}"
    r"(?:On|Off|N/A|\.\.\.|\S{1,12})\s{0,4}\|"
)
_USAGE = regex(r"(\d{1,7})MiB / {1,6}(\d{1,7})MiB")
_TEMPERATURE = regex(r"\|\s{0,4}(?:N/A|\d{1,3}%|ERR!)\s{1,4}(\d{1,3})C\s")
_LISTED = regex(r"GPU (\d{1,3}): ([^(]{1,80}?) \(UUID: ")
_MIG_DEVICE = regex(r"\s{1,4}MIG [\w.]{1,20}\s{1,30}Device\s{1,4}\d")
_PRODUCT = regex(r"\s{0,12}Product Name\s{1,40}: (\S.{0,80})")
_PROCESS = regex(
    r"\|\s{1,6}\d{1,3}(?:\s{1,6}(?:N/A|\d{1,3})){0,2}\s{1,20}(\d{1,9})\s{1,6}(C|G|C\+G|M\+C)\s{1,4}"
    r"(\S.{0,90}?)\s{1,40}(\d{1,7})MiB \|"
)
_ECC = regex(
    r"\s{1,20}(?:DRAM Uncorrectable|SRAM Uncorrectable(?: \w{1,10})?|Double Bit|Uncorrectable)"
    r"\s{1,40}: ([1-9]\d{0,8})\b"
)
_TOTAL = regex(r"\s{1,12}Total\s{1,40}: (\d{1,7}) MiB")
_TOPOLOGY = regex(r"\s{0,8}GPU\d{1,3}[\t ]{1,20}(?:X|NV\d{1,3}|PIX|PXB|PHB|NODE|SYS)\b")
_OTHERS = (
    "ollama", "llama-server", "llama.cpp", "sglang", "text-generation", "tritonserver", "comfyui", "stable-diffusion",
    "jupyter", "ipykernel", "train", "lmdeploy", "tei", "xinference", "koboldcpp",
)  # fmt: skip
_HOT = 88  # degrees from which data-centre cards slow down


def parse(text: str) -> Iterator[Seen]:
    """Driver, CUDA, GPUs, their memory, processes, links and faults."""
    names: list[tuple[int, str, str]] = []
    usages: list[tuple[int, str, int, int]] = []
    section = ""
    for line, row in rows(text):
        yield from _of_header(line, row)
        names += [(line, row, match[2]) for match in (_ROW.match(row), _LISTED.search(row)) if match]
        names += [(line, row, match[1]) for match in (_PRODUCT.match(row),) if match]
        usages += [(line, row, int(match[1]), int(match[2])) for match in (_USAGE.search(row),) if match]
        yield from _of_process(line, row)
        yield from _of_faults(line, row)
        section = row.strip() if row.rstrip().endswith("Usage") else section
        if section == "FB Memory Usage" and (match := _TOTAL.match(row)):
            yield Seen("gpu.memory_gib", round(int(match[1]) / 1024, 1), line, row)
    yield from _of_gpus(names)
    yield from _of_memory(usages)
    yield from _of_links(text)


def _of_header(line: int, row: str) -> Iterator[Seen]:
    if (match := _VERSIONS.search(row)) is not None:
        yield Seen("driver.version", match[1], line, row)
        if match[2]:
            yield Seen("driver.cuda", match[2], line, row)
    elif (cuda := _CUDA.match(row)) is not None:
        yield Seen("driver.cuda", cuda[1], line, row)
    if "No devices were found" in row:
        yield Seen("gpu.visible", "nowhere", line, row)
    elif "couldn't communicate with the NVIDIA driver" in row:
        yield Seen("driver.answers", False, line, row)


def _of_process(line: int, row: str) -> Iterator[Seen]:
    match = _PROCESS.match(row)
    if match is None or "C" not in match[2]:
        return
    name = match[3].lower()
    if "vllm" in name:
        yield Seen("gpu.vllm_process", True, line, row)
    elif any(other in name for other in _OTHERS):
        yield Seen("gpu.other_process", "yes", line, row)


def _of_faults(line: int, row: str) -> Iterator[Seen]:
    if "ERR!" in row:
        yield Seen("gpu.reads_error", True, line, row)
    if (ecc := _ECC.match(row)) is not None:
        yield Seen("gpu.ecc_errors", int(ecc[1]), line, row)
    if (heat := _TEMPERATURE.match(row)) is not None and int(heat[1]) >= _HOT:
        yield Seen("gpu.temperature", int(heat[1]), line, row)
    if _MIG_DEVICE.match(row) or ("| Enabled" in row and "MiB" not in row) or row.strip() == "MIG devices:":
        yield Seen("gpu.mig", True, line, row)


def _of_gpus(names: list[tuple[int, str, str]]) -> Iterator[Seen]:
    if not names:
        return
    line, row, name = names[0]
    yield Seen("gpu.count", len(names), line, row)
    yield Seen("gpus", "several" if len(names) > 1 else "one", line, row, "near")
    yield Seen("gpu.name", name.strip(" ."), line, row)
    for trait, value in traits(name):
        yield Seen(trait, value, line, row)
    other = next((one for one in names if one[2].strip() != name.strip()), None)
    if other:
        yield Seen("gpu.uneven", True, other[0], other[1])


def _of_memory(usages: list[tuple[int, str, int, int]]) -> Iterator[Seen]:
    if not usages:
        return
    line, row, used, total = max(usages, key=lambda one: one[2])
    yield Seen("gpu.used_gib", round(used / 1024, 1), line, row)
    yield Seen("gpu.memory_gib", round(total / 1024, 1), line, row)
    totals = [one[3] for one in usages]
    if len(totals) > 1 and min(totals) * 1.2 < max(totals):
        yield Seen("gpu.uneven", True, usages[totals.index(min(totals))][0], usages[totals.index(min(totals))][1])


def _of_links(text: str) -> Iterator[Seen]:
    """topo -m: one pair of GPUs without NVLink and the traffic goes over PCIe."""
    matrix = [(line, row) for line, row in rows(text) if _TOPOLOGY.match(row)]
    if len(matrix) < 2:
        return
    cells = [(line, row, row.split()[1 : 1 + len(matrix)]) for line, row in matrix]
    slow = next(
        (
            (line, row)
            for line, row, words in cells
            if any(word in {"PIX", "PXB", "PHB", "NODE", "SYS"} for word in words)
        ),
        None,
    )
    line, row = slow or matrix[0]
    yield Seen("gpu.link", "pcie" if slow else "nvlink", line, row)
    yield Seen("gpu.count", len(matrix), *matrix[0])
