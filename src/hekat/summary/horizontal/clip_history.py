"""How many values each tensor had clipped, round by round, and its bound: for the report of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hekat.protocol.horizontal.training.training_state import RoundRecord

# A large model has hundreds of tensors: those with the most clipped values are told apart, the others together.
MOST_TENSORS = 12


def clip_history(records: Sequence[RoundRecord]) -> dict[str, Any] | None:
    """Clipped values, values and bound of each tensor by round; None where nothing is clipped.

    `rounds` are their numbers; `tensors` are in the model's order; `others` sums up the tensors that are left out.
    """
    names = list(records[-1].clipped_by_tensor) if records else []
    if not names:
        return None
    totals = {name: sum(record.clipped_by_tensor.get(name, 0) for record in records) for name in names}
    largest = sorted(names, key=lambda name: (-totals[name], -records[-1].values_by_tensor[name]))
    chosen, left = set(largest[:MOST_TENSORS]), largest[MOST_TENSORS:]
    return {
        "rounds": [record.round for record in records],
        "tensors": [
            {"name": name, **_counts(records, [name]), "bound": [record.bounds[name] for record in records]}
            for name in names
            if name in chosen
        ],
        "others": {"tensors": len(left), **_counts(records, left)},
    }


def _counts(records: Sequence[RoundRecord], names: Sequence[str]) -> dict[str, list[int]]:
    return {
        "clipped": [sum(record.clipped_by_tensor[name] for name in names) for record in records],
        "of": [sum(record.values_by_tensor[name] for name in names) for record in records],
    }
