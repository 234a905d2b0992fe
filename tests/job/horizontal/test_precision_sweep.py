"""`compare.bits`: what a job may name there, and what is refused before anything starts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hekat.errors import JobError
from hekat.job.horizontal.precision_sweep import check_precision_sweep, with_bits
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.secure_sum.settings import CodecSettings

SETTINGS = HorizontalSettings(parties=("a", "b", "c"), aggregator="hub", classes=("no", "yes"), weight_max=100)
PAILLIER = replace(SETTINGS, protection="paillier", codec=CodecSettings(layout="two_sign_bits", value_bits=8))


@pytest.mark.parametrize("bits", [(), (8,), (32, 8), (1, 2, 24, 32)], ids=str)
def test_other_bits_that_the_job_could_have_are_taken(bits) -> None:
    check_precision_sweep(bits, SETTINGS)


@pytest.mark.parametrize(
    ("bits", "settings", "words"),
    [
        ((16,), SETTINGS, "other than the job's own 16"),
        ((8, 8), SETTINGS, "different numbers of bits"),
        ((0,), SETTINGS, "1 to 32.*got 0"),
        ((8, 33), SETTINGS, "1 to 32.*got 33"),
        ((2**70,), SETTINGS, "1 to 32"),
        ((1, 2, 3, 4, 5), SETTINGS, "at most 4.*got 5"),
        ((16, 8), PAILLIER, "other than the job's own 8"),
        ((8,), replace(SETTINGS, protection="none"), "updates are encrypted"),
    ],
)
def test_other_bits_that_cannot_be_are_refused(bits, settings, words) -> None:
    with pytest.raises(JobError, match=rf"compare\.bits refused.*{words}"):
        check_precision_sweep(bits, settings)


def test_nothing_but_the_bits_changes() -> None:
    other = with_bits(PAILLIER, 24)
    assert other.codec.value_bits == 24
    assert replace(other, codec=PAILLIER.codec) == PAILLIER
