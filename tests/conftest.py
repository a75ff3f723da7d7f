"""Settings that all tests share: property tests are judged by what they find, not by how busy the machine is."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("kb", deadline=None, derandomize="CI" in os.environ, print_blob=True)
settings.load_profile("kb")
