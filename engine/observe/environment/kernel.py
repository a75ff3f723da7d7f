"""Lines of the kernel log: whom the OOM killer took, and what the NVIDIA driver reports as Xid."""

from __future__ import annotations

from engine.lazy import regex
from engine.observe.environment.seen import Seen, rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_XID = regex(r".{0,200}NVRM: Xid \([^)]{1,80}\): (\d{1,3})\b")
_KILLED = regex(
    r".{0,200}(?P<cgroup>Memory cgroup out of memory|Out of memory): Killed process \d{1,10} \((?P<name>[^)]{1,60})\)"
)
_OURS = ("vllm", "python", "ray", "engine", "worker", "uvicorn", "pt_main", "api_server")


def parse(text: str) -> Iterator[Seen]:
    """Xid numbers, and the kind of memory that ran out where one of vLLM's processes was killed."""
    for line, row in rows(text):
        xid = _XID.match(row) if "Xid" in row else None
        if xid:
            yield Seen("gpu.xid", int(xid[1]), line, row)
        killed = _KILLED.match(row) if "Killed process" in row else None
        if killed and any(name in killed["name"].lower() for name in _OURS):
            yield Seen("memory.kind", "host", line, row)
            if killed["cgroup"].startswith("Memory cgroup"):
                yield Seen("pod.reason", "oomkilled", line, row)
