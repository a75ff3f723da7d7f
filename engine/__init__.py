"""kb's reasoning: a Case goes in at `engine.diagnose.diagnose`, an Answer comes out. No input or output beyond kb/."""

from __future__ import annotations

__version__ = "0.1.0"
