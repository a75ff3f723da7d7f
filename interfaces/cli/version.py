"""`kb --version`: the three things that decide an answer."""

from __future__ import annotations

from engine import __version__
from engine.knowledge.store import load
from engine.reason import chain


def version() -> str:
    """The version of kb, the hash of its knowledge and the name of the engine that runs, on one line each.

    Raises KbError when the knowledge base or the engine asked for cannot be used."""
    return f"kb {__version__}\nknowledge {load().hash}\nengine {chain.backend().name}\n"
