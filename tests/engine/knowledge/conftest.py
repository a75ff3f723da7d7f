"""A knowledge base in a folder of its own that a test may spoil."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.support import MINI

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A copy of the small knowledge base."""
    return shutil.copytree(MINI, tmp_path / "kb")
