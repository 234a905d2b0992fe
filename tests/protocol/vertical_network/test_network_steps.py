"""Step by step: outputs, slopes and weights are those of exact arithmetic, to a unit for each truncation."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.protocol.vertical_network.driven import chosen, drive
from tests.protocol.vertical_network.rehearsal import GUEST, HOSTS, ends, make_settings

from hekat.errors import InputError, ProtocolError
from hekat.protocol.shares.share_array import add_shares, from_integers, random_shares, shift_left, subtract, to_floats
from hekat.protocol.vertical_network.fixed_point import add
from hekat.protocol.vertical_network.fixed_point import signed as to_integers
from hekat.protocol.vertical_network.host_masks import HostMasks
from hekat.protocol.vertical_network.host_side.loop import HostLoop
from hekat.protocol.vertical_network.row_plan import RowPlan
from hekat.protocol.vertical_network.shared_addend import SharedAddend

UNIT_OF_WEIGHTS, UNIT_OF_OUTPUTS, UNIT_OF_SLOPES = 2.0**-20, 2.0**-36, 2.0**-44


def settings_of(rows: int, width: int, units: int, hosts: int, **changes: Any) -> tuple[Any, dict[int, int]]:
    training = {"batch_rows": 16, "shared_rate": 0.02, "epochs": 1} | changes.pop("training", {})
    network = {"units": units, "host_width": width}
    settings = make_settings(hosts, network=network, training=training, **changes)
    batches = RowPlan.of(rows, settings.training).batches
    return settings, {number: len(batch) for number, batch in enumerate(batches)}


def float_weights(arrays: Any, host: str) -> Any:
    return to_floats(add_shares(arrays[GUEST]["share/" + host], arrays[host]["share/" + host]), 64)


@pytest.mark.quick_cases("lattice-momentum-frozen", "none-momentum-trained")
@pytest.mark.parametrize("bottom", ["frozen", "trained"])
@pytest.mark.parametrize("optimiser", ["sgd", "momentum"])
@pytest.mark.parametrize("protection", ["none", "lattice"])
def test_fifty_steps_follow_floats_within_the_bound(protection: str, optimiser: str, bottom: str) -> None:
    """The same slopes whatever opens; weights by exact sums; outputs a unit of the weights off for each feature."""
    rows, width, units, l2 = 33, 3, 2, 0.01
    training = {"shared_optimiser": optimiser, "epochs": 17, "l2": l2}
    settings, sizes = settings_of(rows, width, units, 1, protection=protection, host_bottom=bottom, training=training)
    features = chosen(2, sizes, width)
    rng = np.random.default_rng(3)
    all_slopes = [rng.uniform(-1, 1, size=(sizes[step % len(sizes)], units)) for step in range(17 * len(sizes))]
    opened, heard, arrays = drive(settings, rows, features, lambda step, outputs: all_slopes[step])
    assert len(opened) == 51
    # Back from where the weights ended: their start is known to no party.
    rounded = [np.rint(features(HOSTS[0], number) * 2**16) / 2**16 for number in range(len(sizes))]
    rate = {n: settings.training.rate_units(size) / 2**24 for n, size in sizes.items()}
    momentum = settings.training.momentum_units / 256
    start = _solve_start(rounded, all_slopes, rate, momentum, l2, float_weights(arrays, HOSTS[0]))
    weights, velocity = start, np.zeros_like(start)
    for step, outputs in enumerate(opened):
        number = step % len(sizes)
        slopes = np.rint(all_slopes[step] * 2**24) / 2**24
        bound = np.abs(rounded[number]).sum(axis=1).max() * 2 * UNIT_OF_WEIGHTS + 2 * UNIT_OF_OUTPUTS
        assert np.abs(outputs - rounded[number] @ weights).max() <= bound
        if bottom == "trained":
            limit = np.abs(slopes).sum(axis=1).max() * 2 * UNIT_OF_WEIGHTS + 2 * UNIT_OF_SLOPES
            assert np.abs(heard[HOSTS[0]][step] - slopes @ weights.T).max() <= limit
        velocity = momentum * velocity + rounded[number].T @ slopes + l2 * len(slopes) * weights
        weights = weights - rate[number] * velocity


def _solve_start(rounded: Any, all_slopes: Any, rate: Any, momentum: float, l2: float, end: Any) -> Any:
    """The weights that the steps must have begun at: steps are affine in them, so two trial runs tell."""

    def run(weights: Any) -> Any:
        velocity = np.zeros_like(weights)
        for step, slopes in enumerate(all_slopes):
            number = step % len(rounded)
            exact = np.rint(slopes * 2**24) / 2**24
            velocity = momentum * velocity + rounded[number].T @ exact + l2 * len(slopes) * weights
            weights = weights - rate[number] * velocity
        return weights

    offset = run(np.zeros_like(end))
    factor = run(np.ones_like(end)) - offset
    return (end - offset) / factor


@pytest.mark.quick_cases("1-1-1-1-frozen", "5-2-3-2-trained", "2-1-3-1-frozen", "17-4-1-1-trained")
@pytest.mark.parametrize("bottom", ["frozen", "trained"])
@pytest.mark.parametrize(
    ("rows", "width", "units", "hosts"), [(1, 1, 1, 1), (5, 2, 3, 2), (2, 1, 3, 1), (17, 4, 1, 1), (33, 1, 1, 3)]
)
def test_every_size_gives_what_the_clear_gives(rows: int, width: int, units: int, hosts: int, bottom: str) -> None:
    found = []
    for protection in ("none", "lattice"):
        settings, sizes = settings_of(rows, width, units, hosts, protection=protection, host_bottom=bottom)
        found.append(drive(settings, rows, chosen(7, sizes, width), lambda step, outputs: np.sin(outputs + 1)))
    (plain, plain_slopes, plain_arrays), (opened, slopes, arrays) = found
    for one, other in zip(opened, plain, strict=True):
        np.testing.assert_allclose(one, other, atol=hosts * width * 8 * UNIT_OF_WEIGHTS)
    for host in settings.hosts:
        for one, other in zip(slopes[host], plain_slopes[host], strict=True):
            np.testing.assert_allclose(one, other, atol=1e-4)
        np.testing.assert_allclose(float_weights(arrays, host), float_weights(plain_arrays, host), atol=1e-4)


def test_a_column_of_zeros_gives_nothing_and_moves_no_weight() -> None:
    settings, sizes = settings_of(20, 2, 2, 1, protection="lattice", training={"shared_optimiser": "sgd"})
    features = {number: np.column_stack([np.zeros(size), np.ones(size)]) for number, size in sizes.items()}
    opened, _, _ = drive(settings, 20, lambda host, number: features[number], lambda step, outputs: 0 * outputs + 1)
    for number, outputs in enumerate(opened):
        np.testing.assert_allclose(outputs, np.broadcast_to(outputs[0], outputs.shape), atol=2 * UNIT_OF_WEIGHTS)
        assert len(outputs) == sizes[number]


def test_no_two_steps_and_no_two_sessions_take_the_same_masks() -> None:
    seen: set[bytes] = set()
    masks = HostMasks({HOSTS[1]: b"a" * 32}, {})
    numbers = np.zeros((4, 2), np.uint64)
    for epoch, batch in product((1, 2), (1, 2)):
        seen.add(masks.cover(f"epoch-{epoch}/batch-{batch}", numbers).tobytes())
    seen.add(HostMasks({HOSTS[1]: b"b" * 32}, {}).cover("epoch-1/batch-1", numbers).tobytes())
    assert len(seen) == 5
    other = HostMasks({}, {HOSTS[0]: b"a" * 32})
    added, taken = masks.cover("s", numbers), other.cover("s", numbers)
    assert not ((added + taken) % np.uint64(1 << 60)).any()
    assert len({int(x) for x in added.ravel()}) == added.size


def test_both_sides_truncate_to_the_weights_by_pads_of_each_step() -> None:
    rng = np.random.default_rng(5)
    weights = rng.uniform(-8, 8, size=(40, 25))
    drawn = shift_left(from_integers(np.rint(np.ldexp(weights, 40)).astype(np.int64)), 24)
    guests = random_shares((40, 25))
    guest = SharedAddend("model", HOSTS[0], guests, is_guest=True)
    host = SharedAddend("model", HOSTS[0], subtract(drawn, guests), is_guest=False)
    found = []
    for step in ("epoch-1/batch-1", "epoch-1/batch-2"):
        opened = to_integers(add(guest.use(step), host.use(step)))
        assert np.abs(opened - weights * 2**20).max() < 1.5
        found.append(guest.used)
    assert (found[0] != found[1]).any()


@pytest.mark.parametrize("hosts", [1, 2])
def test_no_mask_covers_two_outputs(hosts: int) -> None:
    """The difference of two would open to the guest, of one host alone."""
    masks = HostMasks(dict.fromkeys(HOSTS[1:hosts], bytes(32)), {})
    numbers = np.arange(6, dtype=np.uint64).reshape(2, 3)
    masks.cover("epoch-1/batch-1", numbers)
    masks.cover("epoch-1/batch-2", numbers)
    with pytest.raises(ProtocolError, match=r"step epoch-1/batch-1 is played a second time"):
        masks.cover("epoch-1/batch-1", numbers + np.uint64(5))


def test_a_kept_batch_takes_no_other_features() -> None:
    settings, sizes = settings_of(20, 3, 2, 1, training={"epochs": 2})
    first = chosen(2, sizes, 3)
    calls = iter(range(10))

    def features(host: str, number: int) -> Any:
        return first(host, number) + (0.5 if next(calls) >= len(sizes) else 0.0)

    with pytest.MonkeyPatch.context() as patch, ends(InputError, "batch 1 comes with other features than before"):
        patch.setattr(HostLoop, "has_features", lambda self, number: False)
        drive(settings, 20, features, lambda step, outputs: np.zeros_like(outputs))
