"""Units that slots carry into each other: where they show, how far they reach, and that the stated bounds count
them."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.engine.select import get_engine
from hekat.errors import BoundError, PartyStoppedError
from hekat.protocol.shares.share_array import add_shares, random_shares, signed_integers
from hekat.protocol.shares.truncation import Truncation
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_linear.party_run import PartyRun
from hekat.protocol.vertical_linear.prediction import predict_on_shares as predict
from hekat.protocol.vertical_linear.prediction.predict_scores import predict_scores
from hekat.protocol.vertical_linear.prediction.settings import PredictionSettings
from hekat.protocol.vertical_linear.shared_weights import training
from hekat.protocol.vertical_linear.shared_weights.cross_products import paillier as cross_products
from hekat.protocol.vertical_linear.shared_weights.cross_products.paillier import PaillierCrossProducts
from hekat.protocol.vertical_linear.shared_weights.cross_products.slots import MARGIN_BITS, MAX_RESULTS
from hekat.protocol.vertical_linear.shared_weights.gram import GramGradients, column_layout
from hekat.protocol.vertical_linear.shared_weights.pair import Pair
from hekat.protocol.vertical_linear.shared_weights.residuals import (
    ResidualGradients,
    score_error,
    score_layouts,
    score_shares,
)
from hekat.protocol.vertical_linear.shared_weights.scales import Scales
from hekat.protocol.vertical_linear.training_settings import FixedPoint

RING = 1 << 128
KEY_BITS = 2048
COARSE = FixedPoint(feature_bits=8)


@pytest.fixture
def carries(monkeypatch):
    """Masks of ones alone: every slot that can carry does, except slots that lie apart."""
    engine = type(get_engine())
    real, mask = engine.random_below, cross_products.mask_products

    def mask_with_ones(products, layout):
        if layout.gap_bits:
            return mask(products, layout)
        ones = (1 << (layout.slot_bits * layout.slot_count)) - 1
        limb_count = products.public.n_modulus.limb_count
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine, "random_below", lambda _, count, bound: limbs_from_ints([ones] * count, limb_count))
            return mask(products, layout)

    assert real is engine.random_below
    monkeypatch.setattr(cross_products, "mask_products", mask_with_ones)


def test_scores_are_carried_two_units_at_most_and_truncated_within_their_bound(converse, key_pairs, carries):
    scales, rng = Scales(COARSE, "logistic"), np.random.default_rng(51)
    features = {"bank": rng.integers(-(2**9), 2**9, (30, 2)), "shop": rng.integers(-(2**9), 2**9, (30, 3))}
    values = rng.integers(-(2**32), 2**32, 6)
    guests = random_shares((6, 1))
    hosts = add_shares(from_ints(values), from_ints([-value for value in signed_integers(guests)[:, 0]]))

    def play(name, other):
        def role(channel):
            is_guest = name == "bank"
            side = PaillierCrossProducts(channel, other, key_pairs[name].private, key_pairs[other].public, Stopwatch())
            truncation = Truncation(b"seed", is_guest=is_guest)
            pair = Pair(is_guest, 2, 3, 1, KEY_BITS, side, truncation, scales, Stopwatch())
            assert all(layout.slot_count > 1 for layout in score_layouts(pair, 30))
            scores = score_shares(pair, "s", features[name], guests if is_guest else hosts)
            return scores, truncation.truncate(scores, scales.feature_bits)

        return role

    found = converse(play("bank", "shop"), play("shop", "bank"))
    whole, truncated = (signed_integers(add_shares(*parts))[:, 0] for parts in zip(*found.values(), strict=True))
    joined = np.hstack([np.full((30, 1), 2**8), features["bank"], features["shop"]]).astype(object)
    exact = joined @ values.astype(object)
    # Rows in the lowest slot of both answers are carried nothing; rows above it in both answers are carried two.
    assert {0, 2} <= set(whole - exact) <= {0, 1, 2}
    error = np.abs(np.array(truncated * 2**8 - exact, np.float64)).max() * 2.0**-40
    assert error <= score_error(scales) == 2.0**-32 * (1 + 2 * 2.0**-8)


def from_ints(values):
    return limbs_from_ints([int(value) % RING for value in values], 2).reshape(-1, 1, 2)


@pytest.mark.quick_cases("residuals-number", "gram-two classes")
@pytest.mark.parametrize("task", ["two classes", "number"])
def test_training_keeps_its_bound_where_every_slot_is_carried_into(
    run_of, settings_of, tables_of, gradient_method, carries, task
):
    settings = settings_of(task=task, fixed_point=COARSE, epochs=2, batch_rows=17, learning_rate=0.1)
    run = run_of(settings, tables_of(52, task=task))
    run.run()
    assert run.exactness_check.checks
    assert all(check.largest_error <= check.bound for check in run.exactness_check.checks)


@pytest.mark.parametrize(("task", "shift"), [("logistic", 2), ("linear", 0)])
def test_the_told_bounds_count_what_is_carried(task, shift):
    scales = Scales(COARSE, task)
    pair = Pair(True, 2, 2, 1, KEY_BITS, None, None, scales, Stopwatch())
    features, targets = np.full((8, 2), 3 * 2**8), np.ones((8, 1), np.int64)
    batches = [np.arange(8)]
    unit = 2.0**-32
    targets_off = 0.0 if task == "logistic" else unit / 2
    residuals = ResidualGradients(pair, features, targets, batches).error_bound()
    assert residuals == unit + 3 * (unit * (1 + 2 * 2.0**-8) * 2.0**-shift + targets_off)
    kept = GramGradients(pair, features, targets, batches).error_bound()
    assert kept == unit * (1 + 2 * 2.0 ** -(16 + shift)) + 3 * targets_off


@pytest.mark.parametrize("task", ["logistic", "linear"])
@pytest.mark.parametrize("fixed_point", [FixedPoint(), COARSE, FixedPoint(feature_bits=20, value_bits=40)])
def test_gram_products_lie_so_far_apart_that_none_is_carried(task, fixed_point):
    pair = Pair(True, 13, 10, 1, KEY_BITS, None, None, Scales(fixed_point, task), Stopwatch())
    layout = column_layout(pair, 1024)
    assert layout.slot_bits - layout.value_bits - 1 >= MARGIN_BITS
    assert layout.slot_count > 8


def test_gram_products_are_exact(run_of, settings_of, tables_of, monkeypatch):
    """Later steps multiply the products with weights of any size, so their shares add up exactly, without a unit
    more."""
    monkeypatch.setattr(training, "prefers_gram", lambda *_: True)
    kept, columns = {True: [], False: []}, {}
    make = GramGradients._make_products

    def record(self, step, number):
        found = make(self, step, number)
        columns.setdefault(self._pair.is_guest, []).append(self._own_columns(number))
        kept[self._pair.is_guest].append(found[0])
        return found

    monkeypatch.setattr(GramGradients, "_make_products", record)
    run_of(settings_of(epochs=1, batch_rows=10), tables_of(53), exactness_check=False).run()
    assert len(kept[True]) == len(kept[False]) > 1
    for number, (guests, hosts) in enumerate(zip(kept[True], kept[False], strict=True)):
        joined = np.hstack([columns[True][number], columns[False][number]]).astype(object)
        expected = [int(value) % RING for value in (joined.T @ joined).ravel()]
        assert ints_from_limbs(add_shares(guests, hosts)) == expected


def test_more_results_than_may_be_opened_are_refused_before_any_leaves(run_of, settings_of, tables_of, monkeypatch):
    monkeypatch.setattr(PaillierCrossProducts, "_encrypted", lambda *_: pytest.fail("encrypted"))
    with pytest.raises(PartyStoppedError, match="too many results") as caught:
        run_of(settings_of(epochs=MAX_RESULTS // 100), tables_of(54), exactness_check=False).run()
    assert isinstance(caught.value.__cause__, BoundError)


@pytest.mark.quick_cases("residuals-1", "gram-2")
@pytest.mark.parametrize("epochs", [1, 2])
def test_a_run_opens_no_more_results_than_were_counted(
    run_of, settings_of, tables_of, gradient_method, epochs, monkeypatch
):
    opened, counted = [], []
    count = training.count_results
    for name in ("open_answer", "open_columns"):
        read = getattr(PaillierCrossProducts, name)

        def record(self, step, shape, layout, read=read):
            opened.append(shape[0] * shape[1])
            return read(self, step, shape, layout)

        monkeypatch.setattr(PaillierCrossProducts, name, record)
    monkeypatch.setattr(training, "count_results", lambda *args: (counted.append(count(*args)), counted[-1])[1])
    settings = settings_of(task="three classes", epochs=epochs, batch_rows=9)
    run_of(settings, tables_of(55, task="three classes"), exactness_check=False).run()
    assert len(set(counted)) == 1
    assert counted[0] / 4 < sum(opened) <= counted[0]


def test_a_prediction_of_too_many_rows_is_refused(run_of, settings_of, tables_of, converse, key_pairs, monkeypatch):
    parts = run_of(settings_of(epochs=1, protection="none"), tables_of(56), exactness_check=False).run()
    asked = []
    check = predict.check_result_count
    monkeypatch.setattr(predict, "check_result_count", lambda count: (asked.append(count), check(MAX_RESULTS))[1])
    tables = tables_of(57, rows=13)

    def role(name):
        run = PartyRun(Stopwatch(), key_pair=key_pairs[name])
        return lambda channel: predict_scores(
            channel, parts[name], tables[name], PredictionSettings("bank", ("shop",), ("bank",)), run
        )

    with pytest.raises(PartyStoppedError, match="too many results"):
        converse(role("bank"), role("shop"))
    assert set(asked) == {26}
