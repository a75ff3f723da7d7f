"""Both engines, one after the other, for every test that asks for `engine`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engine.reason.chain import backend

if TYPE_CHECKING:
    from engine.reason.chain import Backend


@pytest.fixture(params=["agenda", "durable"])
def engine(request: pytest.FixtureRequest) -> Backend:
    if request.param == "durable":
        pytest.importorskip("durable_rules_engine", exc_type=ImportError)
    return backend(request.param)
