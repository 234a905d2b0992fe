"""Slots are wide enough for every sum that the limits allow, in batches of any size, for any targets."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.protocol.vertical_linear.arbiter.start_messages import make_start

from hekat.errors import BoundError
from hekat.protocol.vertical.batches import draw_batches
from hekat.protocol.vertical_linear.arbiter.bfv_capacity import check_bfv_capacity
from hekat.protocol.vertical_linear.arbiter.loss import decode_loss, encode_loss_part, encode_target_shares
from hekat.protocol.vertical_linear.arbiter.sum_layout import SumLayout
from hekat.protocol.vertical_linear.objective import residual_of
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.training_settings import LinearTraining
from hekat.scheme.bfv import PRODUCTS
from hekat.scheme.bfv.product_layout import MIN_HIDING_BITS


def layout_of(rows: int, batch_rows: int, target: float, *, classes=None, hosts=("shop",)):
    settings = VerticalLinearSettings(
        "bank",
        hosts,
        arbiter="judge",
        task="linear" if classes is None else "logistic",
        classes=classes,
        training=LinearTraining(batch_rows=batch_rows),
    )
    target_bits = math.ceil(target).bit_length()
    start = make_start(rows, (2,) * len(settings.parties), feature_bits=20, target_bits=target_bits)
    return settings, SumLayout.of(start, settings)


@given(
    rows=st.integers(2, 300),
    batch_rows=st.integers(0, 40),
    target=st.floats(1.0, 1e5),
    class_count=st.sampled_from([0, 2, 3, 7]),
    host_count=st.integers(1, 4),
)
def test_no_sum_passes_the_bound(rows, batch_rows, target, class_count, host_count) -> None:
    classes = tuple(map(str, range(class_count))) or None
    target = 1.0 if classes else target
    hosts = tuple(f"shop{i}" for i in range(host_count))
    settings, layout = layout_of(rows, batch_rows, target, classes=classes, hosts=hosts)
    residual = residual_of(settings.task)
    most = len(settings.parties) * (1 << layout.part_bits)
    of_loss = 0
    for batch in draw_batches(rows, batch_rows, 1):
        shares = encode_target_shares(np.full((len(batch), layout.targets), -target), residual, layout, "bank")
        assert shares.shape == (layout.targets, len(batch))
        of_loss += int(shares.sum()) * most
        assert (len(batch) << layout.feature_bits) * most <= layout.product_bound
    assert of_loss + len(settings.parties) * layout.loss_part_bound <= layout.product_bound
    # Shares of targets have enough digits for the loss.
    assert of_loss >= most << 18


@given(
    rows=st.integers(2, 60),
    batch_rows=st.integers(0, 20),
    seed=st.integers(0, 99),
    scale=st.sampled_from([0.01, 1, 900]),
)
def test_the_loss_is_read_off_residuals_and_shares(rows, batch_rows, seed, scale) -> None:
    """A party's part and the part of its targets make up the mean loss, as on plain numbers."""
    rng = np.random.default_rng(seed)
    targets, scores = scale * rng.normal(size=(2, rows, 1))
    settings, layout = layout_of(rows, batch_rows, float(np.abs(targets).max()))
    residual, parts, total, losses = residual_of("linear"), [], 0, []
    for batch in draw_batches(rows, batch_rows, 1):
        d = residual.of(scores[batch], targets[batch])
        parts.append(float(np.mean(scores[batch] * d)))
        shares = encode_target_shares(targets[batch], residual, layout, "bank")
        integers = np.rint(np.ldexp(d, settings.fixed_point.value_bits)).astype(np.int64)
        total += int((shares.astype(object) @ integers.astype(object))[0, 0])
        losses.append(np.mean(d**2) / 2)
    total += encode_loss_part(parts, layout)
    unit = 2.0**-layout.told_loss_bits / 2
    assert decode_loss(total >> layout.loss_cut_bits, residual, layout) == pytest.approx(
        np.mean(losses), rel=1e-4, abs=unit + 1e-6 * scale * max(1, scale)
    )


def test_a_part_of_the_loss_beyond_its_bound_is_refused() -> None:
    _, layout = layout_of(100, 10, 1.0)
    largest = math.ldexp(float(layout.loss_part_bound), -layout.loss_bits)
    encode_loss_part([0.99 * largest] * layout.batches, layout)
    for beyond in (1.01 * largest, math.inf, math.nan):
        with pytest.raises(BoundError, match="training diverges"):
            encode_loss_part([beyond] * layout.batches, layout)


def test_the_guide_says_how_well_noise_is_hidden_in_a_run_of_the_size_that_is_measured() -> None:
    guide = (Path(__file__).parents[4] / "docs" / "explanation" / "vertical.md").read_text(encoding="utf-8")
    _, layout = layout_of(30_000, 1024, 1.0, classes=("0", "1"))
    bits = layout.products(PRODUCTS).hiding_bits
    assert f"2^-{bits} for 30,000 rows in batches of 1,024" in " ".join(guide.split())


@given(
    rows=st.integers(1, 2**21),
    batch_rows=st.sampled_from([0, 100, 1024, 10_000]),
    columns=st.lists(st.integers(1, 2**14), min_size=2, max_size=5),
    class_count=st.sampled_from([0, 2, 10]),
    bits=st.integers(8, 30),
)
def test_bfv_has_room_or_says_what_to_change(rows, batch_rows, columns, class_count, bits) -> None:
    """A layout has room for its bound and noise twice; where there is none, the error names a cure."""
    settings = VerticalLinearSettings(
        "bank",
        tuple(f"shop{i}" for i in range(len(columns) - 1)),
        arbiter="judge",
        protection="lattice",
        task="logistic" if class_count else "linear",
        classes=tuple(map(str, range(class_count))) or None,
        training=LinearTraining(batch_rows=batch_rows),
    )
    start = make_start(rows, tuple(columns), feature_bits=bits)
    try:
        check_bfv_capacity(start, settings)
    except BoundError as error:
        assume("protection.kind = 'paillier'" not in str(error))
        raise
    layout = SumLayout.of(start, settings).products(PRODUCTS)
    assert 2 * (layout.delta * layout.product_bound + layout.noise_bound) < PRODUCTS.modulus
    assert layout.noise_bound << MIN_HIDING_BITS <= layout.delta
