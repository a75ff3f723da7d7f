"""Puts the compiled knowledge into the wheel, so that an installed `kb` answers at once, even on a read-only disk.

The checkout needs none of this: there the compiled copy is made at first use.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledKnowledge(BuildHookInterface[Any]):
    """Compiles `kb/` at build time. A fault in the knowledge stops the build with the linter's findings."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from engine.knowledge.compile import build  # noqa: PLC0415 - the line above makes it importable

        self._folder = tempfile.TemporaryDirectory()
        compiled = Path(self._folder.name, "knowledge.bin")
        compiled.write_bytes(build(str(Path(self.root, "kb"))))
        build_data["force_include"][str(compiled)] = "kb/compiled/knowledge.bin"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._folder.cleanup()
