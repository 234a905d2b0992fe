"""Attacks on FATE's form: first weights that the guest knows, noise that is bounded, masks that are real numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.protocol.vertical_network.rehearsal import GUEST, HOSTS, Rehearsal, make_settings, make_tables

from hekat.protocol.shares.share_array import add_shares, to_floats
from hekat.protocol.vertical_network.arithmetic.lattice import LatticeArithmetic
from hekat.protocol.vertical_network.fixed_point import PRODUCT_BITS, signed
from hekat.protocol.vertical_network.guest_layer.guest import HoldingGuestLayer
from hekat.protocol.vertical_network.guest_layer.host import NoisyHostLayer
from hekat.protocol.vertical_network.guest_layer.noise import NOISE_BITS, noise_bits
from hekat.protocol.vertical_network.layer_exchange import LayerExchange
from hekat.protocol.vertical_network.model_part import SHARE
from hekat.protocol.vertical_network.row_plan import RowPlan
from hekat.protocol.vertical_network.shared_addend import SharedAddend

HOST, WIDTH, UNITS, ROWS = HOSTS[0], 5, 6, 240


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    """By step: the host's features and slopes of features; the guest's outputs, slopes, addend and what moves it."""
    found: dict[str, list[Any]] = {
        name: [] for name in ("features", "feature slopes", "outputs", "slopes", "addend", "moved")
    }
    host_forward, host_backward = NoisyHostLayer.forward, NoisyHostLayer.backward
    forward, backward, move = HoldingGuestLayer.forward, HoldingGuestLayer.backward, SharedAddend.move

    def watched_host_forward(self: NoisyHostLayer, step: str, number: int, features: Any) -> None:
        found["features"].append(np.ldexp(features.astype(float), -16))
        host_forward(self, step, number, features)

    def watched_host_backward(self: NoisyHostLayer, *given: Any) -> Any:
        found["feature slopes"].append(host_backward(self, *given))
        return found["feature slopes"][-1]

    def watched_forward(self: HoldingGuestLayer, *given: Any) -> Any:
        found["addend"].append(to_floats(self.addends[HOST].addend, 64))
        found["outputs"].append(forward(self, *given))
        return found["outputs"][-1]

    def watched_backward(self: HoldingGuestLayer, step: str, slopes: Any) -> None:
        found["slopes"].append(np.ldexp(slopes.astype(float), -24))
        backward(self, step, slopes)

    def watched_move(self: SharedAddend, gradient: Any, row_count: int) -> None:
        if self._is_guest:
            found["moved"].append(to_floats(gradient, 40))
        move(self, gradient, row_count)

    monkeypatch.setattr(NoisyHostLayer, "forward", watched_host_forward)
    monkeypatch.setattr(NoisyHostLayer, "backward", watched_host_backward)
    monkeypatch.setattr(HoldingGuestLayer, "forward", watched_forward)
    monkeypatch.setattr(HoldingGuestLayer, "backward", watched_backward)
    monkeypatch.setattr(SharedAddend, "move", watched_move)
    return found


def settings_of(**changes: Any) -> Any:
    training = {"epochs": 1, "batch_rows": 60, "shared_optimiser": "sgd"}
    usual = {"form": "guest_layer", "host_bottom": "trained", "training": training}
    return make_settings(1, network={"units": UNITS, "host_width": WIDTH, "guest_width": 3}, **(usual | changes))


def play(settings: Any, parts: Mapping[str, Any] | None = None, **changes: Any) -> tuple[Rehearsal, Mapping[str, Any]]:
    runs = {name: {"start_from": part} for name, part in (parts or {}).items()}
    rehearsal = Rehearsal(settings, make_tables(3, ROWS, (2, 3)), runs=runs, **changes)
    return rehearsal, rehearsal.run()


def solved_features(seen: Mapping[str, list[Any]], rate: float) -> list[Any]:
    """What a guest that takes its addend of the first weights for the weights solves for, step by step."""
    weights, found = seen["addend"][0], []
    for outputs, slopes in zip(seen["outputs"], seen["slopes"], strict=True):
        found.append(outputs @ np.linalg.pinv(weights))
        weights = weights - rate * found[-1].T @ slopes / len(slopes)
    return found


@pytest.mark.parametrize("knows_first_weights", [True, False])
def test_a_guest_that_drew_the_first_weights_reads_all_features(
    seen: dict[str, list[Any]], knows_first_weights: bool
) -> None:
    """FATE's guest draws them. It follows the protocol, and the noise of hosts hides nothing from it."""
    settings = settings_of()
    parts = None
    if knows_first_weights:
        _, before = play(settings_of(form="shared"))
        name = SHARE + HOST
        weights = add_shares(before[GUEST].arrays[name], before[HOST].arrays[name])
        parts = {
            party: replace(part, arrays={**part.arrays, name: weights if party == GUEST else np.zeros_like(weights)})
            for party, part in before.items()
        }
        for kept in seen.values():
            kept.clear()
    play(settings, parts)
    assert len(seen["outputs"]) == ROWS // 60
    found = solved_features(seen, settings.training.taken_rate(60))
    wanted = seen["features"]
    errors = [np.abs(one - other).max() for one, other in zip(found, wanted, strict=True)]
    largest = max(np.abs(one).max() for one in wanted)
    print(errors, largest)
    if knows_first_weights:
        assert max(errors) < 1e-3 * largest
    else:
        assert min(errors) > 0.5 * min(np.abs(one).max() for one in wanted)


def test_what_the_guest_is_returned_is_bounded_and_not_uniform(seen: dict[str, list[Any]]) -> None:
    """The named leak: the gradient lies within the noise's range of what the guest gets, in a ring of 2^128."""
    settings = settings_of(protection="lattice")
    play(settings)
    edge = 2.0 ** (noise_bits(settings.training.rate_units(60)) - 40)
    for moved, features, slopes in zip(seen["moved"], seen["features"], seen["slopes"], strict=True):
        noise = moved - features.T @ slopes
        assert np.abs(noise).max() < edge < 2.0**80
    # 120 numbers: none in the outer half with odds of 2^-120.
    assert max(np.abs(one).max() for one in seen["moved"]) > edge / 2
    # So a number beyond the edge by itself tells the gradient's sign, and how large it is at least.
    assert edge * settings.training.rate_units(60) / 2**24 <= 2**NOISE_BITS


def test_masks_of_the_guest_hide_its_weights_where_real_noise_does_not(
    seen: dict[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host knows its features, so rows of one batch average real noise out of what it opens."""
    opened: list[Any] = []
    take_answer = LayerExchange.take_answer

    def watched(self: LayerExchange, peer: str, step: str, product: Any) -> Any:
        share = take_answer(self, peer, step, product)
        if product.bits == PRODUCT_BITS and step.endswith("batch-1/answer"):
            assert isinstance(self.arithmetic, LatticeArithmetic)
            opened.append(signed(share.T))
        return share

    monkeypatch.setattr(LayerExchange, "take_answer", watched)
    play(settings_of(protection="lattice"))
    (share,) = opened
    # Uniform numbers of 60 bits: 360 of them have mean squares within a third of what that is.
    spread = np.sqrt(np.mean(np.ldexp(share.astype(float), -59) ** 2))
    assert spread == pytest.approx(1 / np.sqrt(3), rel=0.33)
    rng = np.random.default_rng(11)
    features = rng.normal(size=(1024, WIDTH))
    weights = rng.uniform(-(2**NOISE_BITS), 2**NOISE_BITS, size=(WIDTH, UNITS))
    with_real_noise = features @ weights + rng.uniform(-(2**NOISE_BITS), 2**NOISE_BITS, size=(1024, UNITS))
    found = np.linalg.lstsq(features, with_real_noise, rcond=None)[0]
    assert np.corrcoef(found.ravel(), weights.ravel())[0, 1] > 0.99


def test_a_host_reads_labels_off_its_slopes(attacks: Any, seen: dict[str, list[Any]]) -> None:
    """As with trained bottoms in the shared form: hence the same waiver."""
    settings = settings_of(training={"epochs": 1, "batch_rows": 60, "learning_rate": 0.02})
    rehearsal, _ = play(settings)
    labels = rehearsal.tables[GUEST].labels
    batches = RowPlan.of(ROWS, settings.training).batches
    found = [
        attacks.on_labels.direction_of_rows(slopes, labels[rows])
        for slopes, rows in zip(seen["feature slopes"], batches, strict=True)
    ]
    print([round(score, 3) for score in found])
    assert np.mean(found) > 0.95
