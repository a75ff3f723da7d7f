"""Outputs of commands that an operator pastes -> facts. Each parser is a file of its own and is imported only for a text
that holds one of its hints, so that a complaint or a log pays for none of them."""

from __future__ import annotations

from engine.model import Fact, Origin, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from engine.model import Kind

HEAD = 1 << 20  # bytes of an attachment that are kept for the parsers; what is longer is a log

# A text goes to every parser one of whose hints it holds. A hint says only that looking closer may pay.
HINTS: dict[str, tuple[str, ...]] = {
    "nvidia_smi": ("NVIDIA-SMI", "nvidia-smi", "==NVSMI LOG==", "(UUID: ", "GPU0\t", "GPU0 ", "No devices were found"),
    "collect_env": ("PyTorch version:", "CUDA used to build PyTorch"),
    "packages": ("torch==", "vllm==", "transformers==", "Package ", "\nName: ", "# packages in environment"),
    "torch_output": ("+cu1", "+cpu", "+rocm", "None False", "is_available()"),
    "ldconfig": ("libs found in cache", "(libc6,"),
    "disk": ("Filesystem", "文件系统", "% /"),
    "memory": ("Mem:", "内存：", "内存:", "MemTotal:"),
    "kernel": ("NVRM: Xid", "Killed process"),
    "kubernetes": ("Last State:", "Exit Code:", "Restart Count:", " Insufficient ", "probe failed", "failed liveness", "failed startup"),
    "infiniband": ("CA type:", "Link layer:", "ibpanic", "IB devices", "hca_id:"),
    "variables": ("\nVLLM_", "\nNCCL_", "\nCUDA_", "\nHF_", "\nLD_LIBRARY_PATH=", "\nRAY_", "\nPATH=", "\nHOME=", "\nexport ", "\ndeclare -x "),
    "limits": ("open files", "nofile", "max locked memory"),
}
SCRAPED = ("\nvllm:", "\nvllm_", "\nray_vllm")


class Text(Value):
    """A text with its place: `file` is the index among the inputs, None for what was typed; `where` names the place."""

    text: str
    where: str
    file: int | None = None
    kind: Kind = "environment"


class Kept:
    """Passes the blocks of a stream on and keeps its beginning."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = blocks
        self._head: list[bytes] = []

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for block in self._blocks:
            if size < HEAD:
                self._head.append(block[: HEAD - size])
                size += len(block)
            yield block

    def text(self) -> str:
        """What was kept, as text; "" before the stream was read."""
        head = b"".join(self._head)
        for mark, encoding in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
            if head.startswith(mark):
                return head.decode(encoding, "replace")
        return head.decode("utf-8", "replace").removeprefix("\ufeff")


def facts(texts: Sequence[Text]) -> list[Fact]:
    """What the texts show, in their order; scrapes of /metrics are read together, since two of them give rates."""
    out: list[Fact] = []
    scrapes = []
    for one in texts:
        begun = f"\n{one.text}"  # so that a hint can ask for the beginning of a line
        for name in [name for name, hints in HINTS.items() if any(hint in begun for hint in hints)]:
            out += _parsed(name, one)
        if any(hint in begun for hint in SCRAPED):
            scrapes.append(one)
    if scrapes:
        from engine.observe import metrics  # noqa: PLC0415 - for a scrape only

        out += metrics.facts(scrapes)
    return out


def _parsed(name: str, one: Text) -> Iterator[Fact]:
    from importlib import import_module  # noqa: PLC0415 - only for a text that looks like a command's output

    for seen in import_module(f"engine.observe.environment.{name}").parse(one.text):
        source = f"environment:{one.where}:{seen.line}"
        origin = Origin(one.kind, seen.text.strip()[:300], source, file=one.file, line=seen.line)
        yield Fact(seen.name, seen.value, origin, seen.grade)
