"""When a run's checkpoint is set aside for good: only on a signed or own word that models differ."""

from __future__ import annotations

import pytest

from hekat.channel.dropout_notice import DropoutNotice
from hekat.errors import ModelsDifferError, PartyStoppedError
from hekat.run.horizontal.training_state_file import says_models_differ


def stop(told_reason: str = "", *, signed: bool = False, cause: Exception | None = None) -> PartyStoppedError:
    error = PartyStoppedError("party 'a' stopped", party="a")
    error.told_reason = told_reason
    if signed:
        error.notice = DropoutNotice("a", "a", told_reason, b"verified by the sealed channel")
    error.__cause__ = cause
    return error


def test_a_relays_word_that_models_differ_takes_no_checkpoint() -> None:
    assert not says_models_differ(stop("ModelsDifferError"))


@pytest.mark.parametrize(
    ("error", "differ"),
    [
        (stop("ModelsDifferError", signed=True), True),
        (stop(cause=ModelsDifferError("north and east do not end with the same model")), True),
        (stop("ChannelError", signed=True), False),
        (stop(cause=OSError("no space")), False),
        (stop(), False),
    ],
)
def test_a_signed_word_or_an_own_finding_does(error, differ) -> None:
    assert says_models_differ(error) == differ
