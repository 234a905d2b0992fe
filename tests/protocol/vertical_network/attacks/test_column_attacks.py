"""What a guest finds of a host's columns from Z_h: not prevented in form `shared`, so hosts waive it in words.

These tests hold the documents to what they say: each attack finds what the waiver says that the guest may learn.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

ROWS, SEED = 2_560, 5


@pytest.fixture(scope="module")
def columns(attacks: Any) -> Any:
    return attacks.watched_network.draw_split_columns(ROWS, SEED)


@pytest.mark.parametrize(("host_bottom", "least"), [("source", 0.999), ("frozen", 0.7), ("trained", 0.7)])
@pytest.mark.long_cases("trained-0.7")
def test_sixty_four_known_rows_tell_the_columns_of_all_others(
    attacks: Any, columns: Any, host_bottom: str, least: float
) -> None:
    batches = list(attacks.watched_network.SplitNetwork(columns, host_bottom, SEED).train(3))
    found = attacks.on_columns.columns_from_known_rows(batches, columns.host, 64, 3)
    unknown = attacks.on_columns.columns_from_known_rows(batches, columns.guest[:, :1], 64, 3)
    print(round(found, 3), round(unknown, 3))
    assert found > least
    assert unknown < 0.3  # columns that Z_h does not hold are not found


@pytest.mark.parametrize("host_bottom", ["source", "frozen"])
def test_a_batch_trained_on_alone_tells_its_features_but_for_a_rotation(attacks: Any, host_bottom: str) -> None:
    drawn = attacks.watched_network.draw_split_columns(320, SEED)
    batches = list(attacks.watched_network.SplitNetwork(drawn, host_bottom, SEED, batch_rows=256).train(7))
    velocity, Ds, moves = np.zeros_like(batches[0].D), [], []
    for before, after in pairwise(batches):
        velocity = 0.9 * velocity + before.D
        Ds.append(velocity)
        moves.append(after.opened - before.opened)
    rate = attacks.watched_network.SHARED_RATE
    features = batches[0].host_features
    wanted = features @ features.T
    found = attacks.on_columns.rotated_features(moves, Ds, rate)
    error = np.abs(found - wanted).max() / np.abs(wanted).max()
    few = attacks.on_columns.rotated_features([moves[0][:, :2]], [Ds[0][:, :2]], rate)
    print(error)
    assert error < 1e-6
    # Two units of one step are two equations on m features: the ledger counts min(m, units times epochs).
    assert np.abs(few - wanted).max() > 0.1 * np.abs(wanted).max()
    assert np.linalg.matrix_rank(few, tol=1e-6 * np.abs(few).max()) <= 2


@pytest.mark.parametrize("units", [32, 4])
def test_a_guest_that_adds_the_identity_to_its_share_reads_every_feature(attacks: Any, units: int) -> None:
    """The form is for parties that keep to it (semi-honest): nobody can tell V' + I from V'."""
    rng = np.random.default_rng(6)
    features, host_share = rng.normal(size=(100, 10)), rng.normal(size=(10, units))
    passes = []

    def multiply(share: np.ndarray) -> np.ndarray:
        passes.append(share)
        return features @ (host_share + share)

    found = attacks.on_columns.added_identity(multiply, rng.normal(size=(10, units)), 10)
    assert np.abs(found - features).max() < 1e-12
    assert len(passes) == 1 + -(-10 // units)
