"""A plan of a round says what a round then takes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.protocol.encrypted_model.play import AGGREGATOR, ARBITER, make_settings, make_tables, play

from hekat.errors import BoundError
from hekat.protocol.encrypted_model.arithmetic.bfv import check_told_numbers, lay_out_round, told_hiding_bits
from hekat.protocol.encrypted_model.capacity import plan_round


@pytest.mark.parametrize(
    ("protection", "columns", "kind"),
    [("none", 3, "multiclass"), ("lattice", 5, "binary"), ("lattice", 60, "binary"), ("paillier", 2, "binary")],
)
def test_the_bytes_of_a_round_are_the_plans(protection: str, columns: int, kind: str) -> None:
    settings = make_settings(kind=kind, protection=protection, training={"rounds": 1})
    plan = plan_round(settings, columns)
    played = play(settings, make_tables(4, columns=columns, kind=kind))
    for name, planned in plan.sent_bytes.items():
        messages = [m for by, _, step, m in played.sent if by == name and step.startswith("round-1/")]
        sent = sum(len(message.values) for message in messages if hasattr(message, "values"))
        # Seeds, fingerprints, and the frames of Paillier's ciphertexts.
        assert planned <= sent <= planned + 200 * len(messages)


def test_a_round_of_a_credit_table_is_two_products_and_one_and_a_third_megabytes() -> None:
    plan = plan_round(make_settings(protection="lattice"), 23)
    assert (plan.numbers, plan.ciphertexts, plan.products, plan.answers) == (48, 1, 1, 1)
    assert sum(plan.sent_bytes.values()) < 1_400_000
    assert plan.sent_bytes[AGGREGATOR] > plan.sent_bytes[ARBITER]


def test_wide_tables_take_as_many_products_as_their_square() -> None:
    settings = make_settings(protection="lattice", training={"momentum": 0.0})
    least = 4096 * 4096 // 8192
    # Blocks with the fewest bytes on the wire take a few products more.
    assert least <= plan_round(settings, 4095).products < 1.1 * least
    with pytest.raises(BoundError, match="too many numbers"):
        plan_round(settings, 4096)
    with pytest.raises(BoundError, match="too many numbers"):
        plan_round(make_settings(protection="lattice"), 2048)


@pytest.mark.parametrize("hosts", [2, 100])
@pytest.mark.parametrize("size", [2, 24, 4096])
def test_noise_shows_in_the_owners_numbers_with_odds_below_2_to_the_minus_40(size: int, hosts: int) -> None:
    layout = lay_out_round((size, 1), hosts)
    assert told_hiding_bits(layout, hosts) >= 40
    # Of larger entries, as of more hosts, it would show more often: a bit more of them, a bit less hidden.
    more = replace(layout, plain_bound=2 * layout.plain_bound)
    assert told_hiding_bits(more, hosts) == told_hiding_bits(layout, hosts) - 1
    with pytest.raises(BoundError, match="tell of the hosts' maps by their noise"):
        check_told_numbers(replace(layout, plain_bound=layout.plain_bound << 20), hosts)
