"""The marks `quick_cases`, `long_cases` and `quick_values`: which cases of a test `make test` has; the others are long.

So a product of parameters is tried whole by `make test-all`, and each value of each parameter by `make test`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import pytest

NAMED = ("quick_cases", "long_cases")


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem() -> Generator[None, Any, Any]:
    """Mark as long the cases that `quick_cases` does not name, that `long_cases` does, or that `quick_values` spares.

    A test that names its cases keeps to them where its file is marked `quick_values`.
    """
    found = yield
    items = found if isinstance(found, list) else []
    markers = {name: items[0].get_closest_marker(name) for name in (*NAMED, "quick_values")} if items else {}
    for name in NAMED:
        marker = markers.get(name)
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
    marker = markers.get("quick_values")
    if marker is not None and not any(markers[name] for name in NAMED) and hasattr(items[0], "callspec"):
        quick = cover_values(items, marker.kwargs)
        for item in items:
            if item not in quick:
                item.add_marker(pytest.mark.long)
    return found


def cover_values(items: Sequence[Any], of: Mapping[str, Any]) -> list[Any]:
    """Few of the cases, such that each value of each parameter is in one; of those that are not long and have `of`.

    What one `parametrize` gives together counts as one value.
    """
    left = [
        item
        for item in items
        if item.get_closest_marker("long") is None
        and all(item.callspec.params.get(name) == value for name, value in of.items())
    ]
    values = {item: values_of(item) for item in left}
    lacking = set().union(*values.values())
    quick: list[Any] = []
    taken: Counter[tuple[Any, ...]] = Counter()
    while lacking:
        # Of those that bring most, one of values that were taken least: so they meet in turn.
        best = max(left, key=lambda item: (len(values[item] & lacking), -sum(taken[value] for value in values[item])))
        quick.append(best)
        taken.update(values[best])
        lacking -= values[best]
    return quick


def values_of(item: Any) -> set[tuple[Any, ...]]:
    """The values of a case, one for each `parametrize`, by the places that they have in memory."""
    params = dict(item.callspec.params)
    values = set()
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0].replace(" ", "").split(",") if isinstance(mark.args[0], str) else mark.args[0]
        values.add(tuple((name, id(params.pop(name))) for name in names))
    # What a hook or a fixture gives.
    return values | {((name, id(value)),) for name, value in params.items()}
