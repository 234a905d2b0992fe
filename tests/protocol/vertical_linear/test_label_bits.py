"""The rule by which a job is refused whose gradients hold more bits than there are labels."""

from __future__ import annotations

import pytest

from hekat.errors import PolicyError
from hekat.protocol.vertical_linear.label_bits import check_label_bits
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
    ],
)
def test_gradients_may_not_hold_more_bits_than_labels(columns, feature_bits, rows, classes, refused) -> None:
    job = job_of(tuple(classes))
    if not refused:
        check_label_bits("shop", columns, feature_bits, rows, job)
        return
    with pytest.raises(PolicyError, match="host shop would tell the labels of a batch") as caught:
        check_label_bits("shop", columns, feature_bits, rows, job)
    assert LEAK_ACCEPTED in caught.value.cure
    check_label_bits("shop", columns, feature_bits, rows, job_of(tuple(classes), LEAK_ACCEPTED))


def test_numbers_are_no_choice_between_few_values() -> None:
    check_label_bits("shop", 10, 18, 20, job_of(None))
