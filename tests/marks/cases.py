"""The marks `quick_cases` and `long_cases`: which cases of a test `make test` has; the others are long.

So a product of parameters is tried whole by `make test-all`, and each value of each parameter by `make test`.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem() -> Generator[None, Any, Any]:
    """Mark as long the cases of a test that `quick_cases` does not name, or that `long_cases` does."""
    found = yield
    items = found if isinstance(found, list) else []
    for name in ("quick_cases", "long_cases"):
        marker = items[0].get_closest_marker(name) if items else None
        if marker is None:
            continue
        ids = {item.callspec.id for item in items if hasattr(item, "callspec")}
        # A case that was renamed would else change from one run to the other unseen.
        if not marker.args or (unknown := set(marker.args) - ids):
            told = ", ".join(sorted(unknown)) if marker.args else "none is named"
            raise pytest.UsageError(f"{items[0].nodeid}: no cases of this test: {told}; it has {sorted(ids)}")
        for item in items:
            if (item.callspec.id in marker.args) == (name == "long_cases"):
                item.add_marker(pytest.mark.long)
    return found
