"""The map of local epochs equals their steps one by one, and refuses what would blow weights up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocol.encrypted_model.play import make_settings

from hekat.errors import BoundError, DivergedError
from hekat.protocol.encrypted_model.arithmetic.affine_map import AffineMap, make_map, state_size
from hekat.protocol.encrypted_model.arithmetic.fixed_point import (
    LARGEST_SIZE,
    OFFSET_BITS,
    WEIGHT_BITS,
    check_room,
    round_map,
    truncate_aggregator_share,
    truncate_arbiter_share,
    truncation_bits,
)
from hekat.protocol.shares.share_array import (
    add_shares,
    from_integers,
    random_shares,
    signed_integers,
    subtract,
    to_floats,
)
from hekat.protocol.vertical.batches import draw_batches


def steps_one_by_one(z: Any, rows: Any, y: Any, settings: Any) -> Any:
    """The same epochs on (w, u) or on w, without a map."""
    training, count = settings.training, rows.shape[1] + 1
    x = np.column_stack([rows, np.ones(len(rows))])
    of_score, of_target = (0.25, 0.5) if settings.task == "logistic" else (1.0, 1.0)
    w, u = z[:count], z[count:] if training.uses_velocity else np.zeros_like(z)
    for _ in range(training.local_epochs):
        for batch in draw_batches(len(rows), training.batch_rows, training.seed):
            gradient = x[batch].T @ (of_score * (x[batch] @ w) - of_target * y[batch]) / len(batch)
            gradient[:-1] += training.l2 * w[:-1]
            u = (training.momentum * u if training.uses_velocity else 0.0) + training.learning_rate * gradient
            w = w - u
    return np.concatenate([w, u]) if training.uses_velocity else w


@given(
    seed=st.integers(0, 2**32),
    rows=st.integers(1, 70),
    columns=st.integers(1, 9),
    kind=st.sampled_from(["binary", "multiclass", "linear"]),
    batch_rows=st.sampled_from([0, 1, 16]),
    epochs=st.integers(1, 3),
    momentum=st.sampled_from([0.0, 0.5]),
    l2=st.sampled_from([0.0, 0.1]),
)
def test_a_map_is_its_steps(
    seed: int, rows: int, columns: int, kind: str, batch_rows: int, epochs: int, momentum: float, l2: float
) -> None:
    settings = make_settings(
        kind=kind,
        training={
            "batch_rows": batch_rows,
            "local_epochs": epochs,
            "momentum": momentum,
            "l2": l2,
            "learning_rate": 0.01,
        },
    )
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(rows, columns)), rng.normal(size=(rows, settings.target_count))
    z = rng.normal(size=(state_size(columns, settings), settings.target_count))
    found, expected = make_map(x, y, settings).apply(z), steps_one_by_one(z, x, y, settings)
    assert np.abs(found - expected).max() <= 1e-12 * max(1.0, float(np.abs(expected).max()))


def test_a_map_that_blows_up_is_refused_with_its_cure() -> None:
    x = np.random.default_rng(5).normal(size=(64, 3)) * 50
    with pytest.raises(DivergedError, match="lower training"):
        make_map(x, np.ones((64, 1)), make_settings(training={"learning_rate": 1.0}))
    with pytest.raises(DivergedError, match="standardise"):
        make_map(x * 1e300, np.ones((64, 1)), make_settings(training={"learning_rate": 1.0}))


def test_a_large_offset_is_refused_and_others_keep_every_bit() -> None:
    edge = 2.0**16
    identity = np.eye(2)
    with pytest.raises(DivergedError, match="magnitudes below 2\\^16"):
        round_map(AffineMap(identity, np.array([[edge], [0.0]])), 1.0)
    offsets = np.array([[edge - 1 - 2.0**-30], [-(edge - 1) + 2.0**-36], [2.0**-56], [-(2.0**-56)]])
    made = round_map(AffineMap(np.eye(4), offsets), 1.0)
    assert (to_floats(made.offset, OFFSET_BITS) == offsets).all()
    assert signed_integers(made.offset)[3, 0] == -1


def test_integer_maps_are_exact_and_near_their_map() -> None:
    rng = np.random.default_rng(7)
    matrix, offset = rng.uniform(-1, 1, (9, 9)), rng.uniform(-1, 1, (9, 2))
    own = round_map(AffineMap(matrix, offset), 0.25)
    z = rng.integers(-(2**40), 2**40, (9, 2))
    found = signed_integers(own.apply(from_integers(z)))
    assert (found == own.matrix.astype(object) @ z.astype(object) + signed_integers(own.offset)).all()
    near = 0.25 * (matrix @ np.ldexp(z.astype(float), -WEIGHT_BITS) + offset)
    assert np.abs(np.ldexp(found.astype(float), -OFFSET_BITS) - near).max() < 9 * 2.0**8 * 2.0**-25 + 2.0**-50


def test_truncated_shares_are_off_by_less_than_one_unit() -> None:
    rng = np.random.default_rng(11)
    numbers = np.concatenate([rng.integers(-(2**62), 2**62, 2000), [0, 1, -1, 2**24, -(2**24), 2**24 - 1, 2**62]])
    secret = from_integers(numbers)
    ours = random_shares(numbers.shape)
    theirs = subtract(secret, ours)
    summed = signed_integers(add_shares(truncate_arbiter_share(ours), truncate_aggregator_share(theirs)))
    distance = summed * (1 << 24) - numbers.astype(object)
    assert max(abs(int(value)) for value in distance) < 1 << 24


def test_the_odds_of_a_truncation_bound_a_run() -> None:
    assert truncation_bits(1, 1) == 55
    assert truncation_bits(1, 2**23) == 32
    check_room(1, 1, 2**23)
    with pytest.raises(BoundError, match="odds of at most 2\\^-32"):
        check_room(1, 1, 2**23 + 1)
    check_room(LARGEST_SIZE, 1, 1)
    with pytest.raises(BoundError, match="too many numbers"):
        check_room(LARGEST_SIZE + 1, 1, 1)
