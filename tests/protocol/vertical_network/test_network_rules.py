"""What is refused before or during a training: waivers, sizes, numbers beyond their range, odds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.protocol.vertical_network.driven import drive
from tests.protocol.vertical_network.rehearsal import GUEST, HOSTS, Rehearsal, ends, make_settings, make_tables

from hekat.errors import BoundError, InputError, JobError, PartyStoppedError
from hekat.model.split import Bottom, BottomTask, dense_bottom, principal_components
from hekat.model.split.fixed_maps import AffineMap
from hekat.protocol.vertical_network.fixed_point import Rounding
from hekat.protocol.vertical_network.run_odds import run_bits

HOST = HOSTS[0]


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"rotation_accepted": None}, "but for a rotation"),
        ({"rotation_accepted": "yes"}, "column_leak.accepted refused"),
        ({"host_bottom": "trained", "labels_accepted": None}, "reads the labels off its gradients"),
        ({"labels_accepted": "yes"}, "label_leak.accepted refused"),
        ({"host_bottom": "trained", "slopes_accepted": None}, "columns of all other parties"),
        ({"slopes_accepted": "yes"}, "slope_leak.accepted refused"),
        ({"protection": "paillier"}, "cannot be used for a split network"),
        ({"form": "sealed"}, "'source': squares are of the columns themselves; got 'frozen'; cure: leave the line out"),
        ({"form": "other"}, "form refused"),
        ({"host_bottom": "other"}, "host_bottom refused"),
        ({"label_privacy": 0.0}, "epsilon refused"),
        ({"network": {"units": 257}}, "network.units refused"),
        ({"network": {"host_width": 0}}, "network.host_width refused"),
        ({"network": {"host_widths": {"stranger": 3}}}, "host_widths refused"),
        ({"network": {"activation": "gelu"}}, "activation refused"),
        ({"training": {"shared_optimiser": "adam"}}, "shared_optimiser refused"),
        ({"training": {"shared_rate": 1e-9}}, "shared_rate refused"),
        ({"training": {"shared_rate": 1e-7, "batch_rows": 1024}}, "shared_rate refused"),
        ({"training": {"momentum": 1.0}}, "momentum refused"),
        ({"training": {"epochs": True}}, "epochs refused"),
    ],
)
def test_settings_are_refused_with_a_cure(changes: dict[str, Any], match: str) -> None:
    with pytest.raises(JobError, match=match) as caught:
        make_settings(1, **changes)
    assert caught.value.cure


@pytest.mark.parametrize(
    ("task", "widths", "rate"),
    [
        ("binary", [32], 0.2),
        ("binary", [64, 64], 0.05),
        ("multiclass", [8], 0.2),
        ("regression", [32], 0.05),
        ("regression", [8], 0.2),
        ("regression", [64, 64], 0.0125),
    ],
)
def test_the_rate_by_rule_follows_from_task_and_features(task: str, widths: list[int], rate: float) -> None:
    names = dict(zip(HOSTS, widths, strict=False))
    settings = make_settings(len(widths), task, network={"host_widths": names}, training={"shared_rate": 0})
    assert settings.training.shared_rate == rate
    assert make_settings(len(widths), task, network={"host_widths": names}).training.shared_rate == 0.1


def test_a_regression_has_no_label_privacy() -> None:
    with pytest.raises(JobError, match="none for a regression"):
        make_settings(1, "regression", label_privacy=1.0)


def test_label_privacy_without_flips_is_refused() -> None:
    settings = make_settings(1, host_bottom="trained", label_privacy=1.0, labels_accepted=None)
    with ends(InputError, "label privacy has no flips"):
        Rehearsal(settings, make_tables(1, 40, (2, 2))).run()


def test_a_bottom_of_another_width_or_with_nan_is_refused() -> None:
    tables = make_tables(1, 40, (2, 3))

    def wide(task: BottomTask) -> AffineMap:
        return AffineMap("wide", np.ones((3, 9)), np.zeros(9), rectified=False)

    def broken(task: BottomTask) -> AffineMap:
        return AffineMap("broken", np.full((3, task.width), np.nan), np.zeros(task.width), rectified=False)

    def steep(task: BottomTask) -> AffineMap:
        return AffineMap("steep", np.full((3, task.width), 50.0), np.zeros(task.width), rectified=False)

    for make, kind, match in (
        (wide, InputError, "another width"),
        (broken, InputError, "features of shop hold NaN or infinity"),
        (steep, BoundError, "features of shop lie beyond their range"),
        (principal_components, InputError, "fewer principal components"),
    ):
        with ends(kind, match):
            Rehearsal(make_settings(1), tables, runs={HOST: {"make_bottom": make}}).run()


class Module:
    """Callable with rows and with a state, as a PyTorch module is."""

    def state_dict(self) -> dict[str, Any]:
        return {}

    def __call__(self, rows: Any) -> Any:
        raise AssertionError("a module is no function of a task")


@pytest.mark.parametrize(
    ("make", "got"), [(lambda task: Module(), "a function that returns Module"), (Module(), "Module"), (7, "int")]
)
def test_a_bottom_that_is_no_maker_of_bottoms_is_refused_with_the_cure(make: Any, got: str) -> None:
    with ends(InputError, f"bottom of shop cannot be made; .*got {got}; cure: give hekat.model.split.module_bottom"):
        Rehearsal(make_settings(1), make_tables(1, 40, (2, 3)), runs={HOST: {"make_bottom": make}}).run()


@pytest.mark.filterwarnings("error")
def test_features_of_the_guest_with_nan_are_refused() -> None:
    def broken(task: BottomTask) -> Bottom:
        bottom = dense_bottom(task)
        bottom.begin_from({name: values * np.nan for name, values in bottom.arrays().items()})
        return bottom

    with ends(InputError, "features of the guest hold NaN or infinity"):
        Rehearsal(make_settings(1), make_tables(1, 40, (2, 3)), runs={GUEST: {"make_bottom": broken}}).run()


def test_a_frozen_bottom_that_trains_and_a_trained_one_that_does_not_are_refused() -> None:
    tables = make_tables(1, 40, (2, 5))

    def fixed(task: BottomTask) -> AffineMap:
        return AffineMap("fixed", np.ones((5, task.width)), np.zeros(task.width), rectified=False)

    with ends(InputError, "whether it trains"):
        Rehearsal(make_settings(1, host_bottom="trained"), tables, runs={HOST: {"make_bottom": fixed}}).run()


def test_numbers_beyond_their_range_are_counted_then_warned_of_then_refused() -> None:
    lines: list[str] = []
    rounding = Rounding("features of x", 16, "standardise", lines.append)
    values = np.zeros(1000)
    values[0] = 8.0
    np.testing.assert_array_equal(rounding.round(values)[:2], [2**19 - 1, 0])
    assert rounding.end_epoch() == 0.001
    assert not lines
    values[1] = -9.0
    assert rounding.round(values)[1] == -(2**19 - 1)
    assert rounding.end_epoch() == 0.002
    assert len(lines) == 1
    assert "0.2% of features of x lay beyond 8 and were cut to it: standardise" in lines[0]
    values[:51] = 8.5
    with pytest.raises(BoundError, match="51 of 1,000 beyond"):
        rounding.round(values)


def test_slopes_beyond_their_range_stop_the_run() -> None:
    settings = make_settings(1, training={"epochs": 1})
    with pytest.raises(PartyStoppedError, match="slopes of the interactive layer lie beyond"):
        drive(settings, 20, lambda host, number: np.ones((20, 5)), lambda step, outputs: outputs * 0 + 9.0)


def test_weights_that_leave_their_range_stop_the_run() -> None:
    settings = make_settings(1, training={"epochs": 9, "shared_rate": 8.0, "momentum": 0.99})
    words = "outputs of the interactive layer lie beyond their range; .*up to 320, as of 5 .*got 80 of 80 beyond; cure"
    with pytest.raises(PartyStoppedError, match=words):
        drive(settings, 20, lambda host, number: np.full((20, 5), 7.0), lambda step, outputs: outputs * 0 + 7.0)


@pytest.mark.parametrize("form", ["shared", "guest_layer"])
def test_slopes_of_features_that_weights_in_their_range_do_not_give_stop_the_run(form: str) -> None:
    """Features are so small that outputs stay small, while weights and slopes grow until they would wrap."""
    training = {"epochs": 9, "shared_rate": 8.0, "momentum": 0.99}
    settings = make_settings(1, form=form, host_bottom="trained", training=training)
    words = "slopes of features lie beyond their range; .*up to 256, as of 4 .*got 100 of 100 beyond; cure"
    with pytest.raises(PartyStoppedError, match=words) as stopped:
        drive(settings, 20, lambda host, number: np.full((20, 5), 2.0**-6), lambda step, outputs: outputs * 0 + 7.0)
    assert stopped.value.party == HOST


def test_odds_of_a_run_follow_from_its_steps_and_are_refused_above_the_limit() -> None:
    settings = make_settings(1, network={"units": 32}, training={"shared_optimiser": "sgd"})
    # 1,024 numbers in 2^11 steps, each astray with odds of 2^(68 - 128).
    assert run_bits(settings, [32], 2**11, 1024) == pytest.approx(39, abs=0.01)
    assert run_bits(settings, [32], 2**13, 1024) == pytest.approx(37, abs=0.01)
    with_momentum = make_settings(1, network={"units": 32})
    assert 36 < run_bits(with_momentum, [32], 2**11, 1024) < 39
    long = make_settings(1, network={"units": 32}, training={"epochs": 1 << 20})
    with ends(BoundError, "go astray too often"):
        Rehearsal(long, make_tables(1, 40, (2, 3))).run()


def test_the_ledger_says_what_opens() -> None:
    run = Rehearsal(make_settings(2, host_bottom="trained"), make_tables(1, 40, (2, 3, 2)))
    run.run()
    for name in (GUEST, *HOSTS[:2]):
        notes = "\n".join(run.notes[name])
        assert "protection is NONE" in notes
        assert "but for a rotation, by the end of the run: 5 of 5 of shop, 5 of 5 of telco" in notes
        assert "slopes of features tell hosts the labels of bank: nothing bounds that" in notes
        assert "slopes of features tell each host of columns of bank and shop and telco: nothing bounds that" in notes
        assert "move at a rate of 0.0999" in notes or "move at a rate of 0.1" in notes
        assert "goes astray in the run with odds of at most 2^-" in notes
