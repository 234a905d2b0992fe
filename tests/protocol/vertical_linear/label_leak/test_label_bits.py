"""The rule that refuses a job whose gradients hold more bits than the labels of a batch."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hekat.errors import PolicyError
from hekat.protocol.vertical_linear.label_leak.label_bits import check_label_bits, least_label_bits, most_label_bits
from hekat.protocol.vertical_linear.settings import LEAK_ACCEPTED, VerticalLinearSettings


def job_of(classes: tuple[str, ...] | None, accepted: str | None = None) -> VerticalLinearSettings:
    task = "linear" if classes is None else "logistic"
    return VerticalLinearSettings(
        "bank", ("shop",), arbiter="judge", task=task, classes=classes, label_leak_accepted=accepted
    )


@pytest.mark.parametrize(
    ("columns", "feature_bits", "rows", "classes", "refused"),
    [
        (10, 18, 1024, "ab", False),
        (10, 18, 100, "ab", True),
        (4, 18, 100, "ab", False),  # 4 x (18 + 7) bits on 100 labels
        (4, 19, 100, "ab", True),
        (4, 19, 104, "ab", False),
        (2, 18, 100, "abcd", False),  # 4 x 2 x 25 bits on 100 labels of 2 bits
        (3, 18, 100, "abcd", True),
        (8, 18, 100, None, False),  # 8 x (18 + 7 + 33) bits on log2 100! = 524
        (10, 18, 100, None, True),
    ],
)
def test_gradients_may_not_hold_more_bits_than_labels_can(columns, feature_bits, rows, classes, refused) -> None:
    named = None if classes is None else tuple(classes)
    job = job_of(named)
    numbers = (columns, feature_bits, rows, most_label_bits(rows, job))
    if not refused:
        check_label_bits("shop", *numbers, job)
        return
    with pytest.raises(PolicyError, match="host shop would tell the labels of a batch") as caught:
        check_label_bits("shop", *numbers, job)
    assert LEAK_ACCEPTED in caught.value.cure
    check_label_bits("shop", *numbers, job_of(named, LEAK_ACCEPTED))


def test_bits_before_the_point_of_a_number_count() -> None:
    job = job_of(None)
    check_label_bits("shop", 1, 16, 31, 57.0, job, target_bits=4)
    with pytest.raises(PolicyError, match="expected at most 56 bits"):
        check_label_bits("shop", 1, 16, 31, 56.9, job, target_bits=4)


WAYS = [
    ([1, -1, -1, -1], math.comb(4, 1)),
    ([1, -1, 1, -1], math.comb(4, 2)),
    ([1, 1, 1, 1], 1),
    ([0.5, 0.25, -1.0, 3.0], math.factorial(4)),
    ([0.5, 0.25, 0.25, 3.0], 12),
    ([0.25, 0.25 + 2.0**-40, 0.25, 3.0], 4),  # one integer of the protocol
]


@pytest.mark.parametrize(("values", "ways"), WAYS, ids=[str(values) for values, _ in WAYS])
def test_labels_have_as_many_bits_as_there_are_ways_to_arrange_them(values: list[float], ways: int) -> None:
    targets = np.array(values, np.float64)[:, np.newaxis]
    bits = least_label_bits(targets, [np.arange(4)], job_of(None))
    assert bits == pytest.approx(math.log2(ways), abs=1e-9)


def test_classes_that_never_occur_in_a_batch_add_nothing() -> None:
    """Targets of three classes, one against the rest, in batches with two of the classes or one."""
    job, kinds = job_of(("a", "b", "c")), np.array([0, 2, 2, 0, 2, 1, 1, 1, 1])
    targets = np.where(kinds[:, np.newaxis] == np.arange(3), 1.0, -1.0)
    assert least_label_bits(targets, [np.arange(5)], job) == pytest.approx(math.log2(math.comb(5, 2)))
    assert least_label_bits(targets, [np.arange(5, 9)], job) == 0
    assert least_label_bits(targets, [np.arange(9)], job) == pytest.approx(math.log2(1260))


def test_the_batch_whose_labels_say_least_counts() -> None:
    targets = np.array([1.0, -1, 1, -1, -1, -1, -1, 1])[:, np.newaxis]
    batches = [np.arange(4), np.arange(4, 8)]
    assert least_label_bits(targets, batches, job_of(("a", "b"))) == pytest.approx(2)
