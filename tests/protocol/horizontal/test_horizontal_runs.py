"""Whole runs, every role in this process: encrypted against plain, against centralised training, resumed, stopped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from hekat.data import Table
from hekat.model import make_model, make_optimiser
from hekat.protocol.horizontal.settings import ModelSettings, TrainingSettings
from hekat.protocol.secure_sum.settings import CodecSettings

FEDSGD = TrainingSettings(algorithm="fedsgd", round_count=3, batch_rows=0, learning_rate=0.2)
FEDAVG = TrainingSettings(algorithm="fedavg", round_count=3, batch_rows=8, local_epochs=2)
MLP = ModelSettings("mlp", hidden=(3,), seed=4)
ADVANCE = CodecSettings(layout="two_sign_bits", clipping="daciq")

# A covering selection: every algorithm with every clipping, layout and model at least once.
CASES = {
    "fedavg-adaptive-balanced-logistic": (FEDAVG, CodecSettings(), ModelSettings(l2=0.01), "two classes"),
    "fedsgd-fixed-offset-linear": (
        FEDSGD,
        CodecSettings(layout="offset", clipping="fixed", alpha=4.0),
        ModelSettings("linear"),
        "number",
    ),
    "fedsgd-daciq-two_sign_bits-logistic": (FEDSGD, ADVANCE, ModelSettings(), "three classes"),
    "fedavg-daciq-balanced-mlp": (FEDAVG, CodecSettings(clipping="daciq"), MLP, "two classes"),
    "fedsgd-adaptive-two_sign_bits-mlp": (FEDSGD, CodecSettings(layout="two_sign_bits"), MLP, "number"),
    "fedavg-adaptive-offset-logistic": (FEDAVG, CodecSettings(layout="offset"), ModelSettings(), "three classes"),
    "fedavg-fixed-two_sign_bits-linear": (
        FEDAVG,
        CodecSettings(layout="two_sign_bits", clipping="fixed", alpha=2.0),
        ModelSettings("linear"),
        "number",
    ),
    "fedavg-adaptive-balanced-stochastic": (FEDAVG, CodecSettings(rounding="stochastic"), MLP, "three classes"),
    "fedsgd-adaptive-balanced-8-bits": (FEDSGD, CodecSettings(value_bits=8), ModelSettings(), "two classes"),
    "fedsgd-fixed-balanced-1-bit": (
        FEDSGD,
        CodecSettings(value_bits=1, clipping="fixed", alpha=1.0),
        ModelSettings(),
        "two classes",
    ),
    "fedavg-adaptive-balanced-32-bits": (FEDAVG, CodecSettings(value_bits=32), MLP, "two classes"),
}


def largest_difference(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> float:
    assert a.keys() == b.keys()
    return max(float(np.abs(a[name] - b[name]).max()) for name in a)


@pytest.mark.parametrize("case", CASES)
def test_every_encrypted_sum_is_within_the_stated_bound(case, rehearse, tables_of, settings_of) -> None:
    training, codec, model, task = CASES[case]
    tables = tables_of(11, task=task)
    encrypted = rehearse(settings_of(model=model, codec=codec, training=training, task=task), tables)
    state = encrypted.run()
    checks = encrypted.exactness_check.checks
    # Two moments of the standardiser and one sum a round, each held against the float one.
    assert [check.step for check in checks] == ["standardise/mean", "standardise/variance"] + [
        f"round-{number}" for number in (1, 2, 3)
    ]
    assert all(0 <= check.largest_error <= check.bound for check in checks)
    assert state.rounds_done == 3
    plain = rehearse(settings_of(model=model, training=training, task=task, protection="none"), tables).run()
    clipped = sum(record.clipped_count for record in encrypted.records)
    if codec.value_bits >= 16 and not clipped:
        # Three rounds of a step of rate 0.2 (fedsgd) or 1 (fedavg), each off by at most its own bound; the gradients'
        # own answer to that is second order, for which four times as much is room.
        drift = sum(check.bound for check in checks[2:])
        assert largest_difference(state.parameters, plain.parameters) <= 4 * drift + 1e-6
    assert np.allclose(state.standardiser.mean, plain.standardiser.mean, rtol=1e-6, atol=1e-6)
    assert np.allclose(state.standardiser.spread, plain.standardiser.spread, rtol=1e-5)


@pytest.mark.quick_cases("rmsprop", "adam")
@pytest.mark.parametrize("optimiser", ["sgd", "momentum", "adam", "rmsprop"])
def test_each_server_optimiser_trains_alike_encrypted_and_plain(optimiser, rehearse, tables_of, settings_of) -> None:
    training = replace(FEDSGD, optimiser=optimiser, learning_rate=0.05, round_count=4)
    tables = tables_of(5)
    encrypted = rehearse(settings_of(training=training), tables).run()
    plain = rehearse(settings_of(training=training, protection="none"), tables).run()
    assert largest_difference(encrypted.parameters, plain.parameters) < 2e-3
    assert encrypted.optimiser_state.keys() == plain.optimiser_state.keys()
    assert plain.losses[-1] < plain.losses[0]
    assert encrypted.losses[-1] < encrypted.losses[0]


def centralised(table: Table, training: TrainingSettings, class_count: int) -> dict[str, np.ndarray]:
    """Gradient descent on all rows at one place, standardised by their own mean and spread."""
    features = (table.features - table.features.mean(axis=0)) / table.features.std(axis=0)
    model = make_model("logistic", features.shape[1], class_count)
    optimiser = make_optimiser("sgd", learning_rate=training.learning_rate)
    parameters = model.init(0)
    state = optimiser.init_state(parameters)
    for _ in range(training.round_count):
        _, gradient = model.loss_and_gradient(parameters, features, table.labels)
        parameters, state = optimiser.step(parameters, gradient, state)
    return parameters


def split(pooled: Table, rows: tuple[int, ...]) -> dict[str, Table]:
    ends = np.cumsum(rows)
    return {
        name: pooled.take(np.arange(end - count, end))
        for name, count, end in zip(("a", "b", "c"), rows, ends, strict=True)
    }


def test_fedsgd_over_all_rows_is_gradient_descent_on_the_pooled_rows(rehearse, tables_of, settings_of) -> None:
    pooled = tables_of(3, rows=(60,))["a"]
    encrypted = rehearse(settings_of(training=FEDSGD), split(pooled, (30, 25, 5)))
    state = encrypted.run()
    steps = [check.bound for check in encrypted.exactness_check.checks if check.step.startswith("round")]
    allowed = 4 * FEDSGD.learning_rate * sum(steps) + 1e-6
    assert largest_difference(state.parameters, centralised(pooled, FEDSGD, 2)) <= allowed


@pytest.mark.long
@hypothesis_settings(max_examples=15, deadline=None)
@given(first=st.integers(1, 58), second=st.integers(1, 58), protection=st.sampled_from(["none", "paillier"]))
def test_any_split_of_the_rows_gives_the_same_model(
    rehearse, tables_of, settings_of, first, second, protection
) -> None:
    cuts = sorted({first, second})
    if len(cuts) == 1:
        cuts = [cuts[0], cuts[0] + 1]
    rows = (cuts[0], cuts[1] - cuts[0], 60 - cuts[1])
    pooled = tables_of(3, rows=(60,))["a"]
    codec = CodecSettings(value_bits=32)
    state = rehearse(settings_of(training=FEDSGD, codec=codec, protection=protection), split(pooled, rows)).run()
    assert largest_difference(state.parameters, centralised(pooled, FEDSGD, 2)) < 1e-6


@pytest.mark.parametrize("protection", ["none", "paillier"])
def test_the_stop_rule_ends_all_parties_in_the_same_round(protection, rehearse, tables_of, settings_of) -> None:
    # A rate far too small to gain `min_improvement`: the rule must fire as soon as it can, after 1 + patience rounds.
    training = replace(FEDSGD, round_count=9, learning_rate=1e-9, patience=2)
    rehearsal = rehearse(settings_of(training=training, protection=protection), tables_of(7))
    state = rehearsal.run()
    assert state.finished
    assert state.rounds_done == 3 == len(rehearsal.records)


def test_without_patience_every_round_is_played(rehearse, tables_of, settings_of) -> None:
    training = replace(FEDSGD, round_count=5, learning_rate=1e-9)
    state = rehearse(settings_of(training=training, protection="none"), tables_of(7)).run()
    assert not state.finished
    assert state.rounds_done == 5


@pytest.mark.parametrize("optimiser", ["momentum", "adam"])
def test_a_resumed_run_ends_with_the_same_bytes(optimiser, rehearse, tables_of, settings_of) -> None:
    training = replace(FEDAVG, round_count=5, optimiser=optimiser)
    tables, plain = tables_of(9), settings_of(training=training, protection="none")
    whole = rehearse(plain, tables)
    state = whole.run()
    again = rehearse(plain, tables, resume_from=whole.saved[1]).run()
    assert whole.saved[1].rounds_done == 2
    assert again.losses == state.losses
    for name, values in state.parameters.items():
        assert values.tobytes() == again.parameters[name].tobytes()


@pytest.mark.long
def test_a_resumed_encrypted_run_takes_up_bounds_and_model(rehearse, tables_of, settings_of) -> None:
    settings = settings_of(training=replace(FEDAVG, round_count=4))
    whole = rehearse(settings, tables_of(9))
    state = whole.run()
    resumed = rehearse(settings, tables_of(9), resume_from=whole.saved[1])
    again = resumed.run()
    # Nearest rounding and exact sums: not even the quantisation differs, although every ciphertext does.
    assert [check.step for check in resumed.exactness_check.checks] == ["round-3", "round-4"]
    assert largest_difference(state.parameters, again.parameters) == 0.0
    assert [record.bounds for record in resumed.records] == [record.bounds for record in whole.records[2:]]
    assert whole.saved[1].rounds_done == 2


def test_rows_weigh_in_by_their_number(rehearse, tables_of, settings_of) -> None:
    tables = tables_of(13, rows=(2, 2, 60))
    training = replace(FEDSGD, standardise=False, learning_rate=1e-7, round_count=1)
    state = rehearse(settings_of(training=training), tables).run()
    model = make_model("logistic", 4, 2)
    gradients = {
        name: model.loss_and_gradient(model.init(0), table.features, table.labels)[1] for name, table in tables.items()
    }
    mean = sum(len(tables[name]) * gradient["weight"] for name, gradient in gradients.items()) / 64
    assert np.allclose(state.parameters["weight"], -1e-7 * mean, rtol=1e-3, atol=1e-10 * np.abs(mean).max())


@pytest.mark.long
def test_a_generous_weight_max_costs_no_precision(rehearse, tables_of, settings_of) -> None:
    tables = tables_of(17)
    exact = rehearse(settings_of(training=FEDSGD, protection="none"), tables).run()
    for weight_max in (64, 10**6, 10**11):
        state = rehearse(settings_of(training=FEDSGD, weight_max=weight_max), tables).run()
        assert np.allclose(state.standardiser.spread, exact.standardiser.spread, rtol=1e-5), weight_max
        assert largest_difference(state.parameters, exact.parameters) < 1e-4, weight_max


def test_two_parties_work_where_they_allow_it(rehearse, tables_of, settings_of) -> None:
    tables = tables_of(19, rows=(20, 30))
    rehearsal = rehearse(settings_of(parties=("a", "b"), training=FEDSGD), tables)
    assert rehearsal.run().rounds_done == 3


@pytest.mark.parametrize("optimiser", ["sgd", "momentum", "adam", "rmsprop"])
def test_fedavg_learns_with_every_server_optimiser_as_it_is(optimiser, rehearse, tables_of, settings_of) -> None:
    training = replace(FEDAVG, round_count=6, optimiser=optimiser)
    state = rehearse(settings_of(training=training, protection="none"), tables_of(21)).run()
    assert state.losses[-1] < 0.7 * state.losses[0]
    assert max(state.losses) == state.losses[0]


def test_labels_of_a_large_unit_are_no_divergence(rehearse, tables_of, settings_of) -> None:
    tables = {name: replace(table, labels=table.labels * 2e5) for name, table in tables_of(23, task="number").items()}
    settings = settings_of(model=ModelSettings("linear"), training=replace(FEDSGD, round_count=5), task="number")
    state = rehearse(settings, tables).run()
    assert state.losses[0] > 2**16
    assert state.losses[-1] < state.losses[0]
