"""What `python -c "import torch; print(torch.__version__, torch.version.cuda, torch.cuda.is_available())"` prints."""

from __future__ import annotations

from engine.lazy import regex
from engine.observe.environment.gpus import of_capability
from engine.observe.environment.seen import Seen, rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PRINTED = regex(
    r"(?:>>> )?(?:torch[ :=]{0,3})?'?(?P<version>[12]\.\d{1,2}\.\d{1,2}(?:[ab.]\w{1,20})?"
    r"(?:\+(?P<build>cu\d{2,3}|cpu|rocm[\d.]{1,8}|git\w{1,20}))?)'?"
    r"(?:[ ,]{1,4}'?(?P<cuda>\d{2}\.\d|None)'?)?(?:[ ,]{1,4}(?P<sees>True|False))?(?:[ ,].{0,100})?$"
)
_CAPABILITY = regex(r"\((\d{1,2}), (\d)\)\s{0,4}$")
_ANSWER = regex(r"(?:>>> )?(?:print\()?torch\.cuda\.is_available\(\)\)?[ :=->]{0,6}(True|False)")


def parse(text: str) -> Iterator[Seen]:
    """torch's version, its build, and whether it sees a GPU. A line that could be anything else says nothing."""
    printed = False
    for line, row in rows(text):
        match = _PRINTED.match(row.strip())
        if match and (match["build"] or match["sees"]):
            printed = True
            yield from _of_line(match["version"], match["build"] or "", match["cuda"] or "", line, row)
            if match["sees"]:
                yield Seen("torch.sees_gpu", match["sees"] == "True", line, row)
        elif printed and row.strip() in ("True", "False"):
            yield Seen("torch.sees_gpu", row.strip() == "True", line, row)
        elif printed and (pair := _CAPABILITY.match(row.strip())) is not None:
            for name, value in of_capability(float(f"{pair[1]}.{pair[2]}")):
                yield Seen(name, value, line, row)
        elif (answer := _ANSWER.match(row.strip())) is not None:
            yield Seen("torch.sees_gpu", answer[1] == "True", line, row)


def _of_line(version: str, build: str, cuda: str, line: int, row: str) -> Iterator[Seen]:
    yield Seen("torch.version", version, line, row)
    if build.startswith("cu") and len(build) > 4:
        yield Seen("torch.cuda", f"{build[2:-1]}.{build[-1]}", line, row)
        yield Seen("torch.build", "cuda", line, row)
    elif build.startswith("rocm"):
        yield Seen("torch.build", "rocm", line, row)
    elif build == "cpu" or cuda == "None":
        yield Seen("torch.build", "cpu", line, row)
    elif cuda:
        yield Seen("torch.cuda", cuda, line, row)
        yield Seen("torch.build", "cuda", line, row)
