"""The set of a further sum: one whose secrets the group has, where that sends no more bytes than a fresh secret."""

from __future__ import annotations

import pytest
from tests.protocol.secure_sum.masked.runs.conftest import make_settings

from hekat.protocol.secure_sum.masked.group.sum_form import choose_form, is_dealt_ahead
from hekat.scheme.lattice import SETS


def choose(settings, bits, slots, held=(), **others):
    form = choose_form(settings.sums, bits, 5, lambda _: slots, [SETS[name] for name in held], **others)
    return form.parameters.name, form.bits


@pytest.mark.parametrize(
    ("bits", "slots", "held", "expected"),
    [
        (16, 1000, (), "A16-16"),
        (16, 1000, ("A16-16",), "A16-16"),
        # A fresh secret's offset is more bytes than the wider slots are.
        (8, 300, ("A16-16",), "A16-16"),
        (8, 100_000, ("A16-16",), "A8-32"),
        # Narrower slots do not hold the values.
        (32, 300, ("A16-16", "A8-32"), "A32-32"),
        (8, 300, ("A32-32", "A16-16"), "A16-16"),
    ],
)
def test_the_set_with_fewest_bytes_is_taken(bits, slots, held, expected) -> None:
    assert choose(make_settings(5), bits, slots, held) == (expected, bits)


def test_counters_alone_are_cut_into_digits_of_the_set_that_is_there() -> None:
    """Twice as many digits of 16 bits are fewer bytes than digits of 32 and a fresh secret."""

    def slots_of(bits: int) -> int:
        return 200 * 32 // bits

    settings, held = make_settings(5).sums, [SETS["A16-16"]]
    form = choose_form(settings, 32, 5, slots_of, held, recodes=True)
    assert (form.parameters.name, form.bits) == ("A16-16", 16)
    form = choose_form(settings, 32, 5, slots_of, held)
    assert (form.parameters.name, form.bits) == ("A32-32", 32)
    form = choose_form(settings, 32, 5, lambda bits: 1000 * slots_of(bits), [SETS["A8-32"]], recodes=True)
    assert (form.parameters.name, form.bits) == ("A32-32", 32)


def test_within_a_group_a_secret_is_dealt_ahead_after_a_histogram_alone() -> None:
    assert is_dealt_ahead("fold-1/round-1/exponents", "fold-1/round-1")
    assert not is_dealt_ahead("fold-1/round-1", "fold-1/round-2")
    assert not is_dealt_ahead("round-1/exponents", "")
