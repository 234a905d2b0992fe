"""What a run keeps of clipped values by tensor: sums that agree with the rounds' own, few tensors of many."""

from __future__ import annotations

from hekat.protocol.horizontal.training.training_state import RoundRecord
from hekat.summary.horizontal.clip_history import MOST_TENSORS, clip_history


def record(number: int, clipped: dict[str, int], size: int = 10) -> RoundRecord:
    return RoundRecord(
        round=number,
        loss=1.0,
        clipped_count=sum(clipped.values()),
        value_count=size * len(clipped),
        bounds=dict.fromkeys(clipped, 0.5 / number),
        row_count=30,
        party_count=3,
        clipped_by_tensor=clipped,
        values_by_tensor=dict.fromkeys(clipped, size),
    )


def test_each_tensor_has_its_counts_and_bounds() -> None:
    found = clip_history([record(4, {"w": 3, "b": 0}), record(5, {"w": 1, "b": 2})])
    assert found is not None
    assert found["rounds"] == [4, 5]
    assert found["tensors"][0] == {"name": "w", "clipped": [3, 1], "of": [10, 10], "bound": [0.125, 0.1]}
    assert found["tensors"][1] == {"name": "b", "clipped": [0, 2], "of": [10, 10], "bound": [0.125, 0.1]}
    assert found["others"] == {"tensors": 0, "clipped": [0, 0], "of": [0, 0]}


def test_of_many_tensors_those_with_most_clipped_values_are_told_apart() -> None:
    names = [f"layer.{number}" for number in range(MOST_TENSORS + 8)]
    records = [record(1, {name: place for place, name in enumerate(names)})]
    found = clip_history(records)
    assert found is not None
    assert [tensor["name"] for tensor in found["tensors"]] == names[8:]  # in the model's order
    assert found["others"] == {"tensors": 8, "clipped": [sum(range(8))], "of": [80]}
    every = [*found["tensors"], found["others"]]
    assert sum(entry["clipped"][0] for entry in every) == records[0].clipped_count
    assert sum(entry["of"][0] for entry in every) == records[0].value_count


def test_where_nothing_is_clipped_or_no_round_ran_there_is_nothing() -> None:
    assert clip_history([]) is None
    assert clip_history([record(1, {})]) is None
