"""Each algorithm against a slow reference in plain NumPy that knows nothing of parties, sums or the model classes."""

from __future__ import annotations

import hashlib
import hmac
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from hekat.data import Table
from hekat.protocol.horizontal.settings import HorizontalSettings, ModelSettings, TrainingSettings
from hekat.protocol.horizontal.validation_settings import ValidationSettings
from hekat.protocol.secure_sum.participation import draw_sample

PARTIES = ("a", "b", "c", "d")
COLUMNS = ("u", "v", "w")
LOGISTIC = ModelSettings("logistic", l2=0.05)
MLP = ModelSettings("mlp", hidden=(4,), l2=0.01, seed=8)
MODELS = {
    "logistic-2": (LOGISTIC, ("no", "yes")),
    "logistic-3": (LOGISTIC, ("low", "middle", "high")),
    "linear": (ModelSettings("linear", l2=0.05), None),
    "mlp-2": (MLP, ("no", "yes")),
    "mlp-3": (MLP, ("low", "middle", "high")),
    "mlp-number": (MLP, None),
}
LOCAL = TrainingSettings(round_count=4, local_epochs=2, batch_rows=7, learning_rate=0.2, standardise=False, seed=5)


def make_tables(seed: int, classes: tuple[str, ...] | None, *, apart: float = 1.0) -> dict[str, Table]:
    """Four parties of unequal size whose columns are shifted against each other by `apart`."""
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=len(COLUMNS))
    tables = {}
    for name, rows in zip(PARTIES, (20, 33, 9, 14), strict=True):
        features = rng.normal(size=(rows, len(COLUMNS))) + apart * rng.normal(size=len(COLUMNS))
        score = features @ direction + 0.5 * rng.normal(size=rows) + apart * rng.normal()
        labels = score if classes is None else np.digitize(score, [-0.5, 0.5][: len(classes) - 1]).astype(np.int64)
        tables[name] = Table(features, labels, COLUMNS, name)
    return tables


def make_settings(model: str, training: TrainingSettings, **others) -> HorizontalSettings:
    spec, classes = MODELS[model]
    return HorizontalSettings(
        parties=PARTIES,
        aggregator="hub",
        classes=classes,
        weight_max=64,
        protection="none",
        model=spec,
        training=training,
        **others,
    )


def slopes_of_loss(outputs: np.ndarray, labels: np.ndarray, settings: HorizontalSettings) -> np.ndarray:
    """The mean loss's derivative by each output: half squared error, or cross-entropy over one logit or several."""
    if settings.classes is None:
        return (outputs - labels[:, None]) / len(labels)
    if len(settings.classes) == 2:
        return (1.0 / (1.0 + np.exp(-outputs)) - labels[:, None]) / len(labels)
    powers = np.exp(outputs)
    wanted = np.eye(len(settings.classes))[labels]
    return (powers / powers.sum(axis=1, keepdims=True) - wanted) / len(labels)


def gradient_of(x: dict[str, np.ndarray], X: np.ndarray, y: np.ndarray, settings: HorizontalSettings) -> dict:
    l2 = settings.model.l2
    if settings.model.name != "mlp":
        slopes = slopes_of_loss(X @ x["weight"] + x["bias"], y, settings)
        return {"weight": X.T @ slopes + l2 * x["weight"], "bias": slopes.sum(axis=0)}
    inner = X @ x["layer_1.weight"] + x["layer_1.bias"]
    shown = np.where(inner > 0, inner, 0.0)
    slopes = slopes_of_loss(shown @ x["layer_2.weight"] + x["layer_2.bias"], y, settings)
    back = (slopes @ x["layer_2.weight"].T) * (inner > 0)
    return {
        "layer_1.weight": X.T @ back + l2 * x["layer_1.weight"],
        "layer_1.bias": back.sum(axis=0),
        "layer_2.weight": shown.T @ slopes + l2 * x["layer_2.weight"],
        "layer_2.bias": slopes.sum(axis=0),
    }


def server_move(name: str, d: np.ndarray, kept: dict, step: int) -> np.ndarray:
    """What is taken from a tensor with pseudo-gradient `d`; `kept` are its moments. FedOpt's Algorithm 2 and kin."""
    m, v = kept.get("m", 0.0), kept.get("v")
    tau = 1e-3
    if name == "sgd":
        return d
    if name == "momentum":
        kept["m"] = 0.9 * m + d
        return kept["m"]
    if name == "adagrad":
        kept["v"] = (tau**2 if v is None else v) + d**2
        return 0.1 * d / (np.sqrt(kept["v"]) + tau)
    if name == "rmsprop":
        kept["v"] = 0.9 * (0.0 if v is None else v) + 0.1 * d**2
        return 0.1 * d / (np.sqrt(kept["v"]) + tau)
    kept["m"] = 0.9 * m + 0.1 * d
    if name == "yogi":
        before = tau**2 if v is None else v
        kept["v"] = before - 0.01 * d**2 * np.sign(before - d**2)
        return 0.1 * kept["m"] / (np.sqrt(kept["v"]) + tau)
    assert name == "adam"
    kept["v"] = 0.99 * (0.0 if v is None else v) + 0.01 * d**2
    return 0.1 * (kept["m"] / (1 - 0.9**step)) / (np.sqrt(kept["v"] / (1 - 0.99**step)) + tau)


def train_slowly(tables: dict[str, Table], settings: HorizontalSettings, first: dict) -> dict[str, np.ndarray]:
    """The whole training in one loop: the model after the last round."""
    training = settings.training
    x = {name: values.copy() for name, values in first.items()}
    c = {name: np.zeros_like(values) for name, values in x.items()}
    c_i = {party: {name: np.zeros_like(values) for name, values in x.items()} for party in tables}
    rows = {party: len(table) for party, table in tables.items()}
    kept: dict[str, dict] = {name: {} for name in x}
    for number in range(1, training.round_count + 1):
        chosen = draw_sample(settings.parties, settings.sample_size, bytes(32), f"round-{number}")
        sent, controls = {}, {}
        for party in chosen:
            X, labels = tables[party].features, tables[party].labels
            rng = np.random.default_rng([training.seed, number, settings.parties.index(party)])
            y, steps = dict(x), 0
            for _ in range(training.local_epochs):
                order = rng.permutation(len(X))
                for start in range(0, len(X), training.batch_rows or len(X)):
                    batch = order[start : start + (training.batch_rows or len(X))]
                    g = gradient_of(y, X[batch], labels[batch], settings)
                    for name in x:
                        if training.algorithm == "fedprox":
                            g[name] = g[name] + training.proximal_mu * (y[name] - x[name])
                        if training.algorithm == "scaffold":
                            g[name] = g[name] - c_i[party][name] + c[name]
                    y = {name: y[name] - training.learning_rate * g[name] for name in x}
                    steps += 1
            sent[party] = {name: y[name] - x[name] for name in x}
            new = {
                name: c_i[party][name] - c[name] + (x[name] - y[name]) / (steps * training.learning_rate) for name in x
            }
            controls[party] = {name: new[name] - c_i[party][name] for name in x}
        here = sum(rows[party] for party in chosen)
        for name in x:
            change = sum(rows[party] * sent[party][name] for party in chosen) / here
            x[name] = x[name] - server_move(training.optimiser, -change, kept[name], number)
        if training.algorithm == "scaffold":
            for name in x:
                c[name] = c[name] + sum(rows[party] * controls[party][name] for party in chosen) / sum(rows.values())
                for party in chosen:
                    c_i[party][name] = c_i[party][name] + controls[party][name]
                mean = sum(rows[party] * c_i[party][name] for party in rows) / sum(rows.values())
                assert np.allclose(c[name], mean, atol=1e-12), "the corrections do not cancel out"
    return x


def first_model(settings: HorizontalSettings) -> dict[str, np.ndarray]:
    from hekat.protocol.horizontal.training.local_run import build_model

    return build_model(settings, len(COLUMNS)).init(settings.model.seed)


def distance(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> float:
    assert a.keys() == b.keys()
    return max(float(np.abs(a[name] - b[name]).max()) for name in a)


@pytest.mark.quick_values
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("algorithm", ["fedavg", "fedprox", "scaffold"])
def test_the_reference_ends_with_the_same_model(algorithm, model, rehearse) -> None:
    training = replace(LOCAL, algorithm=algorithm)
    if algorithm == "fedprox":
        training = replace(training, proximal_mu=0.4)
    settings = make_settings(model, training)
    tables = make_tables(31, settings.classes)
    first = first_model(settings)
    state = rehearse(settings, tables).run()
    assert distance(state.parameters, train_slowly(tables, settings, first)) < 1e-12
    assert distance(state.parameters, first) > 0.01


@pytest.mark.quick_values
@pytest.mark.parametrize("optimiser", ["sgd", "momentum", "adam", "yogi", "adagrad", "rmsprop"])
@pytest.mark.parametrize("algorithm", ["fedavg", "scaffold"])
def test_server_optimisers_take_mean_changes_by_the_documented_defaults(algorithm, optimiser, rehearse) -> None:
    settings = make_settings("logistic-3", replace(LOCAL, algorithm=algorithm, optimiser=optimiser, learning_rate=0.05))
    tables = make_tables(32, settings.classes)
    state = rehearse(settings, tables).run()
    assert distance(state.parameters, train_slowly(tables, settings, first_model(settings))) < 1e-12
    assert state.losses[-1] < state.losses[0]


@pytest.mark.parametrize("algorithm", ["fedavg", "fedprox", "scaffold"])
def test_a_sample_of_the_parties_each_round(algorithm, rehearse) -> None:
    training = replace(LOCAL, algorithm=algorithm, participation=0.75, round_count=6)
    settings = make_settings("logistic-2", training)
    tables = make_tables(33, settings.classes)
    rehearsal = rehearse(settings, tables)
    state = rehearsal.run()
    assert {record.party_count for record in rehearsal.records} == {3}
    assert distance(state.parameters, train_slowly(tables, settings, first_model(settings))) < 1e-12


@pytest.mark.parametrize("algorithm", ["fedavg", "fedprox", "scaffold"])
def test_one_local_step_over_all_rows_is_gradient_descent_on_all_rows(algorithm, rehearse) -> None:
    """The weights n_i make it so, of scaffold too: its corrections cancel out."""
    together = replace(LOCAL, local_epochs=1, batch_rows=0)
    settings = make_settings("linear", replace(together, algorithm=algorithm))
    tables = make_tables(34, settings.classes)
    state = rehearse(settings, tables).run()
    gradient = rehearse(make_settings("linear", replace(together, algorithm="fedsgd")), tables).run()
    assert distance(state.parameters, gradient.parameters) < 1e-12


def optimum_of(tables: dict[str, Table], settings: HorizontalSettings) -> dict[str, np.ndarray]:
    """By gradient descent on all rows at one place."""
    X = np.concatenate([table.features for table in tables.values()])
    y = np.concatenate([table.labels for table in tables.values()])
    x = first_model(settings)
    for _ in range(20000):
        g = gradient_of(x, X, y, settings)
        if max(np.abs(values).max() for values in g.values()) < 1e-10:
            return x
        x = {name: x[name] - 0.2 * g[name] for name in x}
    raise AssertionError("no optimum found")


def strong(settings: HorizontalSettings) -> HorizontalSettings:
    """With a penalty under which few rounds reach the optimum."""
    return replace(settings, model=replace(settings.model, l2=0.3))


@pytest.mark.long
@pytest.mark.parametrize(
    "model", ["linear", *(pytest.param(one, marks=pytest.mark.long) for one in ("logistic-2", "logistic-3"))]
)
def test_with_many_local_steps_on_unlike_rows_scaffold_and_fedprox_come_closer(model, rehearse) -> None:
    """fedavg settles between the parties' own optima; mu holds it back; control variates take the drift out."""
    many = TrainingSettings(round_count=40, local_epochs=50, batch_rows=0, learning_rate=0.1, standardise=False)
    away = {}
    for algorithm in ("fedavg", "fedprox", "scaffold"):
        training = replace(many, algorithm=algorithm)
        if algorithm == "fedprox":
            training = replace(training, proximal_mu=1.0)
        settings = strong(make_settings(model, training))
        tables = make_tables(35, settings.classes, apart=1.0)
        best = optimum_of(tables, settings)
        away[algorithm] = distance(rehearse(settings, tables).run().parameters, best)
    assert away["fedprox"] < 0.85 * away["fedavg"], away
    assert away["scaffold"] < 0.1 * away["fedavg"], away


@pytest.mark.long
def test_scaffold_finds_the_optimum_although_parties_are_sampled(rehearse) -> None:
    training = TrainingSettings(
        algorithm="scaffold",
        round_count=100,
        local_epochs=5,
        batch_rows=0,
        learning_rate=0.1,
        standardise=False,
        participation=0.75,
    )
    settings = strong(make_settings("logistic-2", training))
    tables = make_tables(36, settings.classes)
    best = optimum_of(tables, settings)
    scaffold = distance(rehearse(settings, tables).run().parameters, best)
    plain = replace(settings, training=replace(training, algorithm="fedavg"))
    fedavg = distance(rehearse(plain, tables).run().parameters, best)
    assert scaffold < 0.05 * fedavg, (scaffold, fedavg)


@pytest.mark.quick_values
@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize("algorithm", ["fedsgd", "fedprox", "scaffold"])
def test_a_resumed_run_ends_with_the_same_bytes(algorithm, optimiser, rehearse) -> None:
    training = replace(LOCAL, algorithm=algorithm, optimiser=optimiser, participation=0.75, round_count=6)
    if algorithm == "fedsgd":
        training = replace(training, local_epochs=1)
    settings = make_settings("logistic-2", training)
    tables = make_tables(37, settings.classes)
    whole = rehearse(settings, tables)
    owned: dict[tuple[str, int], object] = {}

    def keep(party, own) -> None:
        owned[party, own.round] = own

    whole.save_own = keep
    state = whole.run()
    middle = whole.saved[3]
    assert middle.rounds_done == 4
    own = {party: owned[party, number] for party, number in middle.last_rounds.items() if number}
    assert bool(own) == (algorithm == "scaffold")
    again = rehearse(settings, tables, resume_from=middle, resume_own=own).run()
    assert again.losses == state.losses
    for name, values in state.parameters.items():
        assert values.tobytes() == again.parameters[name].tobytes()
    if algorithm == "scaffold":
        forgotten = rehearse(settings, tables, resume_from=middle).run()
        assert distance(forgotten.parameters, state.parameters) > 1e-6


def test_rows_that_are_held_out_are_not_among_those_that_scaffold_weighs(rehearse) -> None:
    settings = make_settings(
        "logistic-2", replace(LOCAL, algorithm="scaffold"), validation=ValidationSettings(hold_out=0.25)
    )
    rehearsal = rehearse(settings, make_tables(42, settings.classes))
    state = rehearsal.run()
    assert {record.row_count for record in rehearsal.records} == {state.row_count}
    assert state.row_count < 20 + 33 + 9 + 14


def test_what_scaffold_shares_is_in_the_digest(rehearse) -> None:
    from hekat.protocol.horizontal.training.training_state import digest_model

    settings = make_settings("linear", replace(LOCAL, algorithm="scaffold", round_count=1))
    state = rehearse(settings, make_tables(38, None)).run()
    before = digest_model(state, b"key")
    state.control["bias"] = state.control["bias"] + 1e-12
    assert digest_model(state, b"key") != before


def test_the_digest_of_a_large_model_takes_no_copy_of_it() -> None:
    from hekat.protocol.horizontal.training.standardise import Standardiser
    from hekat.protocol.horizontal.training.training_state import TrainingState, digest_model

    weight = np.ones((1 << 10, 1 << 10))
    state = TrainingState({"weight": weight}, {}, Standardiser(np.zeros(2), np.ones(2)))
    expected = hmac.new(b"key", digestmod=hashlib.sha256)
    for name, values in (("standardiser/mean", np.zeros(2)), ("standardiser/spread", np.ones(2)), ("weight", weight)):
        header = f"{name}|{values.shape}|".encode()
        expected.update(len(header).to_bytes(4, "little") + header + values.tobytes())
    tracemalloc.start()
    try:
        found = digest_model(state, b"key")
        assert tracemalloc.get_traced_memory()[1] < weight.nbytes / 8
    finally:
        tracemalloc.stop()
    assert found == expected.digest()


@pytest.mark.parametrize("algorithm", ["fedsgd", "fedavg", "scaffold"])
def test_only_the_selected_tensors_are_trained_and_sent(algorithm, rehearse) -> None:
    training = replace(LOCAL, algorithm=algorithm, local_epochs=1, optimiser="momentum")
    settings = make_settings("mlp-2", training)
    chosen = replace(settings, model=replace(settings.model, parameters=("layer_2.*",)))
    tables = make_tables(39, settings.classes)
    rehearsal = rehearse(chosen, tables)
    state = rehearsal.run()
    first = first_model(settings)
    for name in ("layer_1.weight", "layer_1.bias"):
        assert np.array_equal(state.parameters[name], first[name]), name
    assert not np.array_equal(state.parameters["layer_2.weight"], first["layer_2.weight"])
    assert [name for name in state.optimiser_state if "layer_1" in name] == []
    sent = (4 + 1) * (2 if algorithm == "scaffold" else 1)
    assert {record.value_count for record in rehearsal.records} == {sent * len(PARTIES)}
    assert state.losses[-1] < state.losses[0]


def test_training_stops_at_the_loss_that_is_good_enough(rehearse) -> None:
    training = replace(LOCAL, round_count=50, stop_at_loss=0.45)
    settings = make_settings("logistic-2", training)
    state = rehearse(settings, make_tables(40, settings.classes)).run()
    assert state.finished
    assert 1 < state.rounds_done < 50
    assert state.losses[-1] <= 0.45 < state.losses[-2]
