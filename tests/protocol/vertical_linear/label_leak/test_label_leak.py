"""The rules that refuse a job whose gradients would tell hosts labels, or the guest columns of hosts."""

from __future__ import annotations

import pytest

from hekat.errors import PolicyError
from hekat.protocol.vertical_linear.label_leak.equations import LeakCount, check_equations, check_leverage
from hekat.protocol.vertical_linear.settings import COLUMN_LEAK_ACCEPTED, LEAK_ACCEPTED, VerticalLinearSettings
from hekat.protocol.vertical_linear.training_settings import LinearTraining


def job_of(**accepted: str) -> VerticalLinearSettings:
    return VerticalLinearSettings("bank", ("shop",), arbiter="judge", classes=("no", "yes"), **accepted)


# By party: what its gradients would tell, the words that accept it, and the words for the other direction.
SIDES = {
    "shop": ("host shop would tell labels", {"label_leak_accepted": LEAK_ACCEPTED}),
    "bank": ("guest bank would tell columns of hosts", {"column_leak_accepted": COLUMN_LEAK_ACCEPTED}),
}


@pytest.mark.parametrize("party", SIDES)
@pytest.mark.parametrize(("batches", "columns", "refused"), [(10, 10, False), (10, 11, True), (101, 1, True)])
def test_more_equations_than_a_tenth_of_the_rows_are_refused(
    batches: int, columns: int, refused: bool, party: str
) -> None:
    text, accepted = SIDES[party]
    (other,) = SIDES.keys() - {party}
    count = LeakCount(party, batches, columns, 1000)
    assert f"{batches * columns:,} linear equations over 1,000 rows" in count.describe()
    check_equations(count, job_of(**accepted))
    for job in (job_of(), job_of(**SIDES[other][1])):
        if refused:
            with pytest.raises(PolicyError, match=f"the gradients of {text}") as caught:
                check_equations(count, job)
            assert f'{next(iter(accepted)).removesuffix("_accepted")}.accepted = "' in caught.value.cure
            assert next(iter(accepted.values())) in caught.value.cure
        else:
            check_equations(count, job)


@pytest.mark.parametrize("party", SIDES)
def test_columns_in_which_a_row_outweighs_the_rest_are_refused_unless_accepted(party: str) -> None:
    text, accepted = SIDES[party]
    (other,) = SIDES.keys() - {party}
    count = LeakCount(party, 1, 2, 1000, 1)
    for job in (job_of(), job_of(**SIDES[other][1])):
        told = {"shop": "labels of single rows", "bank": "single rows of hosts' columns"}[party]
        with pytest.raises(PolicyError, match=f"^1 column of {text.split(' would')[0]} would tell {told}"):
            check_leverage(count, job)
    check_leverage(count, job_of(**accepted))
    check_leverage(LeakCount(party, 1, 2, 1000), job_of())


@pytest.mark.parametrize("party", SIDES)
def test_cures_are_those_that_can_be_followed(party: str) -> None:
    """A cure names no limit that the job has already but the form without an arbiter and the site's leave for a
    waiver."""
    key = next(iter(SIDES[party][1])).removesuffix("_accepted")
    two = VerticalLinearSettings("bank", ("shop", "telco"), arbiter="judge", classes=("no", "yes"))
    unlimited = VerticalLinearSettings(
        "bank",
        ("shop",),
        arbiter="judge",
        classes=("no", "yes"),
        training=LinearTraining(limit_spreads=0.0),
    )
    for check, count in (
        (check_leverage, LeakCount(party, 1, 2, 1000, 2)),
        (check_equations, LeakCount(party, 1, 200, 9)),
    ):
        cures = {}
        for name, job in (("one", job_of()), ("two", two), ("unlimited", unlimited)):
            with pytest.raises(PolicyError) as caught:
                check(count, job)
            cures[name] = caught.value.cure
            assert f"policy.{key}_waiver = true" in caught.value.cure
        assert ["shared_weights" in cure for cure in cures.values()] == [True, True, True]
        limits = [False, False, check is check_leverage]
        assert ["training.limit_spreads = 3" in cure for cure in cures.values()] == limits
