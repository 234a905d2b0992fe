"""What a new job of boosted trees says of columns: no fills, which trees have no use for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.data.columns.specs import CATEGORY_FILL, NUMBER_FILLS

_FILLS = (*NUMBER_FILLS, CATEGORY_FILL)


def columns_for_trees(columns: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """What a job says of columns, without the fills that trees have no use for: they take empty cells as they are."""
    kept: dict[str, dict[str, Any]] = {}
    for name, said in columns.items():
        own = {key: value for key, value in said.items() if not (key == "fill" and value in _FILLS)}
        if own.get("missing") == "indicator":
            del own["missing"]
        if own.get("unknown") == CATEGORY_FILL:
            own["unknown"] = "ignore"
        if own:
            kept[name] = own
    return kept
