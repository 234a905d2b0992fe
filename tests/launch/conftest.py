"""What tests of roles in processes share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.launch.forked_roles import Fork


@pytest.fixture(scope="session")
def fork() -> Iterator[Fork]:
    """What the processes of roles are forked from."""
    with Fork() as fork:
        yield fork
