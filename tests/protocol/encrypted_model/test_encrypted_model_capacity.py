"""A plan of a round says what a round then takes."""

from __future__ import annotations

import pytest
from tests.protocol.encrypted_model.play import AGGREGATOR, ARBITER, make_settings, make_tables, play

from hekat.errors import BoundError
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
