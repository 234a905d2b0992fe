"""The mark `waits`: tests that pass most of their time in waiting for other processes, which come first.

What is left at the end of a run is then shared among all workers, and nobody waits alone. Of the long tests `make
test-all` runs them in a process of their own, beside the others: there the processors compute meanwhile.
"""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("waits") is None)
