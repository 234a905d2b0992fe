"""Statistics of a model are averaged with step 1, whatever algorithm, penalty and server optimiser are."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.protocol.horizontal.settings import TrainingSettings
from hekat.protocol.horizontal.training.local_training import local_update
from hekat.protocol.horizontal.training.server_step import ServerStep
from hekat.protocol.horizontal.training.trained_tensors import TrainedTensors


class RunningMean:
    """loss = w^2 / 2 a row; beside it the running mean of the first column, moved by a tenth towards a batch's."""

    averaged = frozenset({"mean"})
    frozen: frozenset[str] = frozenset()

    @property
    def parameter_shapes(self):
        return {"mean": (1,), "w": (1,)}

    def loss(self, params, X, y):
        return float(params["w"][0] ** 2 / 2)

    def loss_and_gradient(self, params, X, y):
        return self.loss(params, X, y), {"mean": 0.1 * (params["mean"] - X[:, :1].mean(axis=0)), "w": params["w"]}


TRAINED = TrainedTensors(("w",), ("mean",))
ROWS = np.full((6, 1), 5.0)
START = {"mean": np.array([1.0]), "w": np.array([2.0])}


@pytest.mark.parametrize("algorithm", ["fedavg", "fedprox", "scaffold"])
def test_a_statistic_moves_by_itself(algorithm) -> None:
    """Two steps of a tenth of the way from 1 to 5, without learning rate, mu or correction."""
    settings = TrainingSettings(algorithm=algorithm, batch_rows=3, learning_rate=0.25, proximal_mu=0.01)
    correction = {"w": np.array([0.4])} if algorithm == "scaffold" else None
    work = local_update(
        RunningMean(), START, ROWS, np.zeros(6), settings, np.random.default_rng(0), trained=TRAINED,
        correction=correction,
    )  # fmt: skip
    assert work.step_count == 2
    assert work.weight == 6
    assert 1.0 + work.update["mean"][0] == pytest.approx(5.0 - 4.0 * 0.9**2)
    w = 2.0
    for _ in range(2):
        slope = w + {"fedprox": 0.01 * (w - 2.0), "scaffold": 0.4}.get(algorithm, 0.0)
        w -= 0.25 * slope
    assert 2.0 + work.update["w"][0] == pytest.approx(w)
    assert START["w"][0] == 2.0


class WithoutAxes(RunningMean):
    """The same numbers as tensors without axes, as a module's single factor or running scale is."""

    @property
    def parameter_shapes(self):
        return {"mean": (), "w": ()}

    def loss(self, params, X, y):
        return float(params["w"] ** 2 / 2)

    def loss_and_gradient(self, params, X, y):
        return self.loss(params, X, y), {"mean": np.asarray(0.1 * (params["mean"] - X.mean())), "w": params["w"]}


@pytest.mark.parametrize("batch_rows", [6, 3, 2])
@pytest.mark.parametrize("algorithm", ["fedavg", "fedprox", "scaffold"])
def test_tensors_without_axes_move_as_those_of_one_number(algorithm, batch_rows) -> None:
    settings = TrainingSettings(algorithm=algorithm, batch_rows=batch_rows, learning_rate=0.25)
    updates = []
    for model, shape in ((RunningMean(), (1,)), (WithoutAxes(), ())):
        start = {name: values.reshape(shape) for name, values in START.items()}
        correction = {"w": np.full(shape, 0.4)} if algorithm == "scaffold" else None
        work = local_update(
            model, start, ROWS, np.zeros(6), settings, np.random.default_rng(0), trained=TRAINED, correction=correction
        )
        assert work.step_count == 6 // batch_rows
        assert {values.shape for values in work.update.values()} == {shape}
        assert start["mean"] == 1.0
        assert start["w"] == 2.0
        updates.append({name: float(values.reshape(())) for name, values in work.update.items()})
    assert updates[0] == updates[1]


@pytest.mark.parametrize("batch_rows", [6, 3])
def test_a_modules_tensors_without_axes_are_trained(batch_rows) -> None:
    torch = pytest.importorskip("torch", reason="needs hekat[torch]")
    from hekat.model.torch_model import TorchModel

    class Scaled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor = torch.nn.Parameter(torch.tensor(2.0))
            self.register_buffer("seen", torch.tensor(1.0))

        def forward(self, rows):
            if self.training:
                self.seen += 0.5 * (rows.mean() - self.seen)
            return self.factor * rows

    model = TorchModel("scaled", Scaled, column_count=1, class_count=None)
    start, trained = model.init(0), TrainedTensors.of(model)
    settings = TrainingSettings(algorithm="fedavg", batch_rows=batch_rows, learning_rate=0.01)
    rng = np.random.default_rng(0)
    update = local_update(model, start, ROWS, np.zeros(6), settings, rng, trained=trained).update
    assert {name: values.shape for name, values in update.items()} == {"factor": (), "seen": ()}
    assert update["factor"] < 0
    assert 1.0 + update["seen"] == pytest.approx(5.0 - 4.0 * 0.5 ** (6 // batch_rows))


@pytest.mark.parametrize("optimiser", ["sgd", "momentum", "adam", "yogi", "adagrad", "rmsprop"])
@pytest.mark.parametrize("algorithm", ["fedsgd", "fedavg"])
def test_the_server_takes_a_statistic_whole(algorithm, optimiser) -> None:
    step = ServerStep(TRAINED, TrainingSettings(algorithm=algorithm, optimiser=optimiser, learning_rate=0.01))
    state = step.init_state(START)
    assert not any(name.endswith("mean") for name in state)
    mean = {"mean": np.array([0.3]), "w": np.array([0.3])}
    moved, _ = step.apply({**START, "other": np.array([7.0])}, mean, state)
    # A gradient is taken away, a change is added.
    assert moved["mean"][0] == pytest.approx(1.0 - 0.3 if algorithm == "fedsgd" else 1.0 + 0.3)
    assert bool(moved["w"][0] < 2.0) is (algorithm == "fedsgd")
    assert moved["other"][0] == 7.0


def test_a_variance_that_rounding_brings_below_zero_is_zero() -> None:
    """The square root of what a normalisation divides by would be NaN, in this round and all that follow."""
    trained = TrainedTensors(("w",), ("mean", "variance"), frozenset({"variance"}))
    step = ServerStep(trained, TrainingSettings())
    start = {"mean": np.array([0.25]), "variance": np.array([0.25, 0.25]), "w": np.array([2.0])}
    change = {"mean": np.array([-0.5]), "variance": np.array([-0.5, 0.5]), "w": np.array([0.0])}
    moved, _ = step.apply(start, change, step.init_state(start))
    np.testing.assert_array_equal(moved["variance"], [0.0, 0.75])
    assert moved["mean"][0] == -0.25


def test_local_steps_leave_the_round_its_first_weights_and_every_step_its_own() -> None:
    """Arrays are used again, the shared model's never: three steps are those of three new arrays."""
    rows, labels = np.arange(12.0)[:, None], np.zeros(12)
    training = TrainingSettings(algorithm="fedavg", batch_rows=4, learning_rate=0.1)
    start = {name: values.copy() for name, values in START.items()}
    model = Recorder()
    work = local_update(model, start, rows, labels, training, np.random.default_rng(5), trained=TRAINED)
    expected = {name: values.copy() for name, values in START.items()}
    for batch in model.batches:
        _, gradient = RunningMean.loss_and_gradient(model, expected, batch, labels[:4])
        expected["w"] = expected["w"] - 0.1 * gradient["w"]
        expected["mean"] = expected["mean"] - gradient["mean"]
    assert len(model.batches) == 3
    for name, values in work.update.items():
        np.testing.assert_array_equal(values, expected[name] - START[name])
        np.testing.assert_array_equal(start[name], START[name])


class Recorder(RunningMean):
    """Keeps the rows of each batch as they come."""

    def __init__(self) -> None:
        self.batches: list[np.ndarray] = []

    def loss_and_gradient(self, params, X, y):
        self.batches.append(X)
        return super().loss_and_gradient(params, X, y)


def test_all_rows_come_in_the_rounds_own_order() -> None:
    """What a model draws by its batch follows from the round alone: seeds 7 and 8 stand for two rounds."""
    rows, model = np.arange(12.0)[:, None], Recorder()
    training = TrainingSettings(algorithm="fedsgd", batch_rows=0)
    for seed in (7, 8, 7):
        local_update(model, START, rows, np.zeros(12), training, np.random.default_rng(seed), trained=TRAINED)
    first, second, again = model.batches
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(np.sort(second, axis=0), rows)
