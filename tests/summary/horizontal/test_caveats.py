"""What a run's report says of whom to trust: the numbers are those of the committee, for every size of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.secure_sum.cost.packing import packing_in_chunks
from hekat.scheme.lattice import SETS
from hekat.summary.horizontal.caveats_on_sums import who_opens
from hekat.summary.horizontal.described_settings import CLAIM, describe_settings, security_of


def settings_of(party_count: int, **changes) -> HorizontalSettings:
    parties = tuple(f"p{number}" for number in range(party_count))
    made = HorizontalSettings(parties, "hub", None, 10, allow_two_parties=party_count == 2)
    return replace(made, **changes)


@pytest.mark.parametrize(
    ("party_count", "opened", "least", "spare", "against"),
    [
        (2, "2 of 2", 2, "none", "alone"),
        (3, "3 of 3", 3, "none", "together with up to 1 party"),
        (4, "3 of 4", 3, "1", "together with up to 1 party"),
        (5, "4 of 5", 4, "1", "together with up to 2 parties"),
        (6, "5 of 6", 4, "1", "together with up to 2 parties"),
        (7, "5 of 7", 5, "2", "together with up to 2 parties"),
        (8, "5 of 7", 6, "2", "together with up to 4 parties, up to 2 of them members"),
        (100, "5 of 7", 67, "2", "together with up to 65 parties, up to 2 of them members"),
    ],
)
def test_who_opens_in_a_committee(party_count, opened, least, spare, against) -> None:
    drawn = "" if party_count <= 7 else f" of {party_count} parties"
    assert who_opens(settings_of(party_count)) == (
        f"no key opens an update: {opened} committee members{drawn} open each sum, of at least {least} parties; "
        f"{spare} of them may be lost. This holds against the aggregator {against}"
    )


def test_no_set_is_claimed_to_be_more_than_was_estimated() -> None:
    assert {name for name, parameters in SETS.items() if security_of(parameters) == CLAIM} == {
        *("A8-4", "A8-32", "A16-16", "A32-32")
    }
    assert {security_of(parameters) for parameters in SETS.values()} == {CLAIM, f"at least {CLAIM}"}


def test_settings_of_other_protections_are_left_out() -> None:
    lattice = describe_settings(settings_of(3))
    assert (lattice["opening"], lattice["openers"], lattice["openers_needed"]) == ("committee", ["p0", "p1", "p2"], 3)
    assert "key_bits" not in lattice
    paillier = describe_settings(settings_of(3, protection="paillier"))
    assert paillier["key_bits"] == 3072
    assert "parameter_set" not in paillier
    assert not {"key_bits", "opening"} & set(describe_settings(settings_of(3, protection="none")))
    shared = describe_settings(settings_of(3, opening="shared"))
    assert (shared["openers"], shared["openers_needed"]) == (["p0", "p1", "p2"], 1)
    authority = describe_settings(settings_of(3, opening="authority", authority="notary"))
    assert (authority["openers"], authority["openers_needed"]) == (["notary"], 1)


@pytest.mark.parametrize(
    ("slots", "told"), [(None, "A16-256 or C16-256"), (1000, "A16-256"), (100_000, "C16-256")], ids=str
)
def test_a_role_that_sends_no_update_tells_each_set_that_updates_can_be_under(slots, told) -> None:
    settings = settings_of(200)
    packing = None if slots is None else packing_in_chunks(SETS["A16-256"].form, slots)
    described = describe_settings(settings, settings.parties[:7], packing)
    assert described["parameter_set"] == told
    assert described["ring"].count("degree") == len(told.split(" or "))
    assert described["security"] == f"at least {CLAIM}"
