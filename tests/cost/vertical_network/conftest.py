"""The clinic and the laboratory of the tests of launched runs of split networks."""

from __future__ import annotations

from tests.launch.vertical_network.conftest import clinics

__all__ = ["clinics"]
