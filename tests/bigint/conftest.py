"""Every engine in turn, chosen as a user would choose it."""

from __future__ import annotations

import pytest

from hekat.engine.select import READY, available_engines


@pytest.fixture(params=[name for name, state in available_engines().items() if state == READY], autouse=True)
def engine_name(request, monkeypatch):
    monkeypatch.setenv("HEKAT_ENGINE", request.param)
    return request.param
