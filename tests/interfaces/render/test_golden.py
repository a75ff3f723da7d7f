"""The bytes of every format, in both languages. KB_WRITE_GOLDEN=1 writes them anew: read the difference."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.knowledge.store import Knowledge
from interfaces.render.document import document, json_bytes
from interfaces.render.markdown import markdown
from interfaces.render.text import text

if TYPE_CHECKING:
    from engine.model import Language
    from tests.interfaces.render.conftest import Answers

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
FORMS = {
    "claimed": ("80.txt", "40.txt", "piped.txt", "md", "json"),
    "suspected": ("80.txt", "md"),
    "needs_more": ("40.txt",),
    "unknown": ("40.txt",),
    "healthy": ("40.txt",),
}
CASES = [(kind, lang, form) for kind, forms in FORMS.items() for lang in ("en", "zh") for form in forms]


def rendered(answers: Answers, knowledge: Knowledge, kind: str, lang: Language, form: str) -> bytes:
    plain = document(getattr(answers, kind)(lang), knowledge, "0.1.0")
    plain["kb"]["hash"] = "0" * 24  # any edit of the knowledge base changes it
    if form == "json":
        return json_bytes(plain)
    if form == "md":
        return markdown(plain, knowledge).encode()
    width = form.removesuffix(".txt")
    return text(plain, knowledge, int(width) if width.isdecimal() else None).encode()


@pytest.mark.parametrize(("kind", "lang", "form"), CASES, ids=[".".join(case) for case in CASES])
def test_the_answer_is_shown_as_it_was_read_and_approved(
    answers: Answers, knowledge: Knowledge, kind: str, lang: Language, form: str
) -> None:
    path = GOLDEN / f"{kind}.{lang}.{form}"
    out = rendered(answers, knowledge, kind, lang, form)
    if os.environ.get("KB_WRITE_GOLDEN"):
        path.write_bytes(out)
    assert path.read_bytes() == out


def test_no_golden_file_is_left_over() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == {".".join(case) for case in CASES}
