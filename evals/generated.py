"""Parts of Markdown files that programs write: what stands between `<!-- name -->` and `<!-- end name -->`."""

from __future__ import annotations

from pathlib import Path


def put(path: Path, name: str, content: str) -> bool:
    """Writes `content` between the markers of `name`; says whether the file changed. Raises ValueError without them."""
    old = path.read_text(encoding="utf-8")
    new = placed(old, name, content, path.name)
    if new != old:
        path.write_text(new, encoding="utf-8")
    return new != old


def placed(text: str, name: str, content: str, where: str) -> str:
    """`text` with `content` between the markers of `name`."""
    head, begin, rest = text.partition(f"<!-- {name} -->\n")
    _old, end, tail = rest.partition(f"<!-- end {name} -->")
    if not end:
        raise ValueError(f"{where} lacks the lines '<!-- {name} -->' and '<!-- end {name} -->'")
    return f"{head}{begin}{content.rstrip()}\n{end}{tail}"
