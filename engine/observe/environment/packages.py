"""`pip list`, `pip freeze`, `uv pip list` and `pip show`: which versions are installed beside each other."""

from __future__ import annotations

from engine.lazy import regex
from engine.observe.environment.seen import Seen, rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_FROZEN = regex(r"(?:\[pip3?\] |\[conda\] )?([A-Za-z][\w.-]{0,60})==(\d[\w.+!-]{0,60})\s{0,4}$")
_LISTED = regex(r"(?:\[conda\] )?([A-Za-z][\w.-]{0,60}) {1,60}(\d[\w.+!-]{0,60})(?:\s{1,40}\S{0,200}){0,2}\s{0,8}$")
_SHOWN = regex(r"Name: ([A-Za-z][\w.-]{0,60})$")
_VERSION = regex(r"Version: (\d[\w.+!-]{0,60})$")
KNOWN = {
    "vllm": "vllm.version",
    "torch": "torch.version",
    "transformers": "transformers.version",
    "ray": "ray.version",
    "numpy": "numpy.version",
}
_LEAST = 3  # packages that make a list; two numbers in a sentence are none


def parse(text: str) -> Iterator[Seen]:
    """The versions of the packages that vLLM is tied to, and pairs that do not go together."""
    found = _packages(text)
    if len(found) < _LEAST and not ("Name: " in text or ("==" in text and found)):
        return
    for name, (version, line, row) in found.items():
        if name in KNOWN:
            yield Seen(KNOWN[name], version, line, row)
    if "torch" in found:
        yield from _of_build(*found["torch"])
    yield from _of_pairs(found)


def _packages(text: str) -> dict[str, tuple[str, int, str]]:
    found: dict[str, tuple[str, int, str]] = {}
    shown = ""
    listed = "Package " in text or "-------" in text or "==" in text or "# packages in environment" in text
    for line, row in rows(text):
        if (name := _SHOWN.match(row)) is not None:
            shown = name[1]
        elif shown and (version := _VERSION.match(row)) is not None:
            found.setdefault(_normal(shown), (version[1], line, row))
            shown = ""
        elif match := _FROZEN.match(row) or (_LISTED.match(row) if listed else None):
            found.setdefault(_normal(match[1]), (match[2], line, row))
    return found


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def _of_build(version: str, line: int, row: str) -> Iterator[Seen]:
    build = version.partition("+")[2]
    if build.startswith("cu") and build[2:].isdecimal() and 3 <= len(build[2:]) <= 4:
        yield Seen("torch.cuda", f"{build[2:-1]}.{build[-1]}", line, row)
        yield Seen("torch.build", "cuda", line, row)
    elif build.startswith(("cpu", "rocm")):
        yield Seen("torch.build", "cpu" if build.startswith("cpu") else "rocm", line, row)


def _of_pairs(found: dict[str, tuple[str, int, str]]) -> Iterator[Seen]:
    """Packages that overwrite each other's files when both are there."""
    if "pynvml" in found:
        yield Seen("packages.pynvml", True, *found["pynvml"][1:])
    nccl = [name for name in found if name.startswith("nvidia-nccl-cu")]
    if len(nccl) > 1:
        yield Seen("packages.nccl_twice", True, *found[nccl[1]][1:])
    majors = {name[-4:]: name for name in found if name.startswith("nvidia-") and name[-4:] in ("cu11", "cu12", "cu13")}
    if len(majors) > 1:
        yield Seen("packages.cuda_majors", " and ".join(sorted(majors)), *found[majors[min(majors)]][1:])
