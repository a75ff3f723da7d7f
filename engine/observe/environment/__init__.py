"""Outputs of commands that an operator pastes -> facts. Each parser is a file of its own, imported only for a text that
holds one of its hints, so that a complaint or a log pays for none of them."""

from __future__ import annotations

from engine.model import Fact, Origin, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from engine.model import Kind

HEAD = 1 << 20  # bytes of an attachment that are kept for the parsers; what is longer is a log
FIRST, LAST = 98_304, 32_768  # characters at either end of it that are searched for hints

# A text goes to every parser one of whose hints it holds. A hint says only that looking closer may pay.
HINTS: dict[str, tuple[str, ...]] = {
    "nvidia_smi": ("NVIDIA-SMI", "nvidia-smi", "==NVSMI LOG==", "(UUID: ", "GPU0\t", "GPU0 ", "No devices were found"),
    "collect_env": ("PyTorch version:", "CUDA used to build PyTorch"),
    "packages": ("torch==", "vllm==", "transformers==", "Package ", "\nName: ", "# packages in environment"),
    "torch_output": ("+cu1", "+cpu", "+rocm", "None False", "is_available()"),
    "ldconfig": ("libs found in cache", "(libc6,"),
    "disk": ("Mounted on", "挂载点", "\nshm ", "\ntmpfs ", "\noverlay "),
    "memory": ("Mem:", "内存：", "内存:", "MemTotal:"),
    "kernel": ("NVRM: Xid", "Killed process"),
    "kubernetes": (
        "Last State:",
        "Exit Code:",
        "Restart Count:",
        " Insufficient ",
        "probe failed",
        "failed liveness",
        "failed startup",
    ),
    "infiniband": ("CA type:", "Link layer:", "ibpanic", "IB devices", "hca_id:"),
    "variables": (
        "\nVLLM_",
        "\nNCCL_",
        "\nCUDA_",
        "\nHF_",
        "\nLD_LIBRARY_PATH=",
        "\nRAY_",
        "\nPATH=",
        "\nHOME=",
        "\nexport ",
        "\ndeclare -x ",
    ),
    "limits": ("\nopen files", "\nMax open files", "nofile", "\nmax locked memory", "-n: file"),
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


def lines(text: str) -> frozenset[int]:
    """Which lines of `text`, counted from 0, are the output of a command: all from the first to the last that shows
    something, without the sentences between them."""
    if "\n" not in text:
        return frozenset()
    shown = [fact.origin.line or 1 for fact in facts([Text(text[:HEAD], "text")])]
    if not shown:
        return frozenset()
    first, last = min(shown) - 1, max(shown)
    rows = text.split("\n")[first:last]
    return frozenset(number for number, row in enumerate(rows, first) if not _is_sentence(row))


def _is_sentence(row: str) -> bool:
    words = row.replace(",", " ").replace(".", " ").split()
    plain = sum(word.isalpha() and (word.islower() or not word.isascii()) for word in words)
    return plain >= 4 and plain * 2 > len(words)


def facts(texts: Sequence[Text]) -> list[Fact]:
    """What the texts show, in their order; scrapes of /metrics are read together, since two of them give rates."""
    out: list[Fact] = []
    scrapes = []
    for one in texts:
        begun = f"\n{_edges(one.text)}"  # so that a hint can ask for the beginning of a line
        for name in [name for name, hints in HINTS.items() if any(hint in begun for hint in hints)]:
            out += _parsed(name, one)
        if any(hint in begun for hint in SCRAPED):
            scrapes.append(one)
    if scrapes:
        from engine.observe import metrics  # noqa: PLC0415 - for a scrape only

        out += metrics.facts(scrapes)
    return out


def _edges(text: str) -> str:
    """What hints are searched in: of a long text the beginning and the end, since an output is rarely so long."""
    return text if len(text) <= FIRST + LAST else f"{text[:FIRST]}\n{text[-LAST:]}"


def _parsed(name: str, one: Text) -> Iterator[Fact]:
    from importlib import import_module  # noqa: PLC0415 - only for a text that looks like a command's output

    for seen in import_module(f"engine.observe.environment.{name}").parse(one.text):
        source = f"environment:{one.where}:{seen.line}"
        origin = Origin(one.kind, seen.text.strip()[:300], source, file=one.file, line=seen.line)
        yield Fact(seen.name, seen.value, origin, seen.grade)
