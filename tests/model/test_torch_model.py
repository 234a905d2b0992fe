"""PyTorch modules as models: slopes against central differences, statistics, seeds, forms, refusals."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from hekat.errors import InputError
from hekat.model import LogisticRegression, evaluate
from hekat.model.torch_model import EVALUATION_ROWS, TorchModel

torch = pytest.importorskip("torch", reason="needs hekat[torch]")
nn = torch.nn

COLUMNS = 5


class Net(nn.Module):
    """Every kind of tensor: trained, frozen, one held under two names, statistics, whole numbers."""

    def __init__(self, width: int, dropout: float = 0.0, momentum: float | None = 0.1) -> None:
        super().__init__()
        self.first = nn.Linear(COLUMNS, 6)
        self.norm = nn.BatchNorm1d(6, momentum=momentum)
        self.fixed = nn.Linear(6, 6)
        self.fixed.requires_grad_(False)
        self.drop = nn.Dropout(dropout)
        self.last = nn.Linear(6, width)
        self.again = self.last

    def forward(self, rows: Any) -> Any:
        return self.last(self.drop(torch.tanh(self.fixed(self.norm(self.first(rows))))))


def torch_model(
    class_count: int | None, width: int, *, l2: float = 0.0, double: bool = True, **options: Any
) -> TorchModel:
    def make() -> Any:
        net = Net(width, **options)
        return net.double() if double else net

    return TorchModel("net", make, column_count=COLUMNS, class_count=class_count, l2=l2)


def rows_of(class_count: int | None, row_count: int = 12, seed: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(row_count, COLUMNS))
    return X, rng.normal(size=row_count) if class_count is None else rng.integers(0, class_count, size=row_count)


HEADS = [(2, 1), (2, 2), (4, 4), (None, 1)]


@pytest.mark.parametrize("l2", [0.0, 0.3])
@pytest.mark.parametrize(("class_count", "width"), HEADS)
def test_gradient_agrees_with_central_differences(class_count: int | None, width: int, l2: float) -> None:
    """The train() loss itself is differenced: loss_and_gradient's first value."""
    model = torch_model(class_count, width, l2=l2)
    X, y = rows_of(class_count)
    params = model.init(1)
    _, gradient = model.loss_and_gradient(params, X, y)
    assert {key: value.shape for key, value in gradient.items()} == model.parameter_shapes
    rng = np.random.default_rng(2)
    trained = set(params) - model.averaged - model.frozen
    assert trained == {"first.weight", "first.bias", "norm.weight", "norm.bias", "last.weight", "last.bias"}
    h = 1e-6
    for key in trained:
        index = tuple(int(rng.integers(size)) for size in params[key].shape)
        losses = []
        for sign in (+1, -1):
            moved = {**params, key: params[key].copy()}
            moved[key][index] += sign * h
            losses.append(model.loss_and_gradient(moved, X, y)[0])
        slope = (losses[0] - losses[1]) / (2 * h)
        assert gradient[key][index] == pytest.approx(slope, rel=1e-5, abs=1e-7)


def test_the_penalty_is_on_trained_tensors_of_two_dimensions() -> None:
    X, y = rows_of(4)
    free, bound = torch_model(4, 4), torch_model(4, 4, l2=0.5)
    params = free.init(1)
    weights = ("first.weight", "last.weight")
    penalty = 0.25 * sum(float(np.sum(params[key] ** 2)) for key in weights)
    assert bound.loss(params, X, y) == pytest.approx(free.loss(params, X, y) + penalty, rel=1e-12)
    assert bound.data_loss(params, X, y) == free.data_loss(params, X, y)
    slopes, plain = bound.loss_and_gradient(params, X, y)[1], free.loss_and_gradient(params, X, y)[1]
    for key in slopes:
        np.testing.assert_allclose(slopes[key] - plain[key], 0.5 * params[key] if key in weights else 0, atol=1e-12)


def test_statistics_move_by_their_entry_in_the_gradient() -> None:
    model = torch_model(2, 1)
    assert model.averaged == {"norm.running_mean", "norm.running_var"}
    assert model.non_negative == {"norm.running_var"}
    assert model.local == ("norm.num_batches_tracked",)
    X, y = rows_of(2)
    params = model.init(1)
    gradient = model.loss_and_gradient(params, X, y)[1]
    net = Net(1).double()
    net.load_state_dict(model.state_dict(params))
    net.train()
    net(torch.from_numpy(X))
    for key in model.averaged:
        expected = dict(net.named_buffers())[key].numpy()
        np.testing.assert_allclose(params[key] - gradient[key], expected, rtol=1e-12)
        assert not np.array_equal(expected, params[key])


class Shifted(nn.Module):
    """A statistic in a precision of its own, which comes before the weights in the state dict."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("shift", torch.ones(COLUMNS, dtype=torch.float64))
        self.last = nn.Linear(COLUMNS, 1)

    def forward(self, rows: Any) -> Any:
        return self.last(rows - self.shift.to(rows.dtype))


def test_rows_come_in_the_dtype_of_the_weights() -> None:
    model = TorchModel("net", Shifted, column_count=COLUMNS, class_count=2)
    X, y = rows_of(2)
    params = model.init(0)
    expected = (X - 1) @ params["last.weight"].T + params["last.bias"]
    np.testing.assert_allclose(model.outputs(params, X), expected, rtol=1e-5, atol=1e-6)
    assert np.isfinite(model.loss_and_gradient(params, X, y)[0])


def test_frozen_weights_have_no_slope_and_come_along() -> None:
    model = torch_model(2, 1, l2=1.0)
    assert model.frozen == {"fixed.weight", "fixed.bias"}
    X, y = rows_of(2)
    params = model.init(1)
    gradient = model.loss_and_gradient(params, X, y)[1]
    assert not any(gradient[key].any() for key in model.frozen)
    other = {**params, "fixed.weight": params["fixed.weight"] + 1}
    assert not np.allclose(model.outputs(other, X), model.outputs(params, X))


def test_the_first_parameters_follow_from_the_seed_alone() -> None:
    model = torch_model(4, 4)
    torch.manual_seed(99)
    state = torch.get_rng_state()
    first = model.init(5)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(100)
    again, other = model.init(5), model.init(6)
    for key, values in first.items():
        np.testing.assert_array_equal(values, again[key])
    assert not np.array_equal(first["first.weight"], other["first.weight"])
    assert not np.array_equal(first["fixed.weight"], other["fixed.weight"])


def test_dropout_draws_from_the_batch_and_leaves_the_generator() -> None:
    model = torch_model(2, 1, dropout=0.5)
    X, y = rows_of(2)
    params = model.init(1)
    state = torch.get_rng_state()
    loss = model.loss_and_gradient(params, X, y)[0]
    assert torch.equal(torch.get_rng_state(), state)
    torch.rand(3)
    repeated = model.loss_and_gradient(params, X, y)[0]
    assert abs(repeated - loss) > 1e-6, "a batch that comes twice in a row draws anew"
    model.loss_and_gradient(params, X[::-1].copy(), y[::-1].copy())
    assert model.loss_and_gradient(params, X, y)[0] == loss
    nearby = {key: values + 1e-9 for key, values in params.items()}
    other = torch_model(2, 1, dropout=0.5)
    assert other.loss_and_gradient(nearby, X, y)[0] == pytest.approx(loss, abs=1e-6), "as in a run beside this one"
    assert model.loss(params, X, y) == model.loss(params, X, y)


def test_parties_in_threads_of_their_own_draw_what_they_draw_alone() -> None:
    X, y = rows_of(2)
    models = [torch_model(2, 1, dropout=0.5) for _ in range(4)]
    params = models[0].init(1)
    alone = torch_model(2, 1, dropout=0.5)
    expected = [alone.loss_and_gradient(params, X, y)[0] for _ in range(4)]
    found: list[list[float]] = []

    def play(model: TorchModel) -> None:
        found.append([model.loss_and_gradient(params, X, y)[0] for _ in range(4)])

    threads = [threading.Thread(target=play, args=(model,)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_a_linear_layer_is_the_models_of_numpy() -> None:
    own = TorchModel("line", lambda: nn.Linear(COLUMNS, 3).double(), column_count=COLUMNS, class_count=3, l2=0.1)
    numpy_model = LogisticRegression(COLUMNS, 3, l2=0.1)
    X, y = rows_of(3, 700)
    assert X.shape[0] > 2 * EVALUATION_ROWS
    params = own.init(1)
    theirs = {"weight": np.ascontiguousarray(params["weight"].T), "bias": params["bias"]}
    assert own.loss(params, X, y) == pytest.approx(numpy_model.loss(theirs, X, y), rel=1e-12)
    loss, slopes = own.loss_and_gradient(params, X, y)
    expected_loss, expected = numpy_model.loss_and_gradient(theirs, X, y)
    assert loss == pytest.approx(expected_loss, rel=1e-12)
    np.testing.assert_allclose(slopes["weight"].T, expected["weight"], rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(own.predict(params, X), numpy_model.predict(theirs, X))
    np.testing.assert_allclose(own.predict_proba(params, X), numpy_model.predict_proba(theirs, X), rtol=1e-10)
    assert evaluate(own, params, X, y) == pytest.approx(evaluate(numpy_model, theirs, X, y))


def test_two_logits_and_one_agree_where_they_say_the_same() -> None:
    two = TorchModel("two", lambda: nn.Linear(COLUMNS, 2).double(), column_count=COLUMNS, class_count=2)
    one = TorchModel("one", lambda: nn.Linear(COLUMNS, 1).double(), column_count=COLUMNS, class_count=2)
    X, y = rows_of(2)
    params = two.init(1)
    single = {key: values[1:] - values[:1] for key, values in params.items()}
    assert two.loss(params, X, y) == pytest.approx(one.loss(single, X, y), rel=1e-12)
    np.testing.assert_allclose(two.predict_proba(params, X), one.predict_proba(single, X), rtol=1e-10)


def test_a_convolution_learns_images_of_digits() -> None:
    digits = load_digits()
    X, y = digits.data / 16.0, digits.target
    net = lambda: nn.Sequential(  # noqa: E731
        nn.Unflatten(1, (1, 8, 8)),
        nn.Conv2d(1, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.LazyLinear(10),
    )
    model = TorchModel("images", net, column_count=64, class_count=10)
    params = model.init(0)
    rng = np.random.default_rng(0)
    for _ in range(60):
        rows = rng.permutation(1000)[:64]
        gradient = model.loss_and_gradient(params, X[rows], y[rows])[1]
        params = {
            key: values - (1.0 if key in model.averaged else 0.2) * gradient[key] for key, values in params.items()
        }
    assert evaluate(model, params, X[1000:], y[1000:])["accuracy"] > 0.8


def test_sparse_rows_are_taken_batch_by_batch() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    model = torch_model(2, 1)
    X, y = rows_of(2, 300)
    X[np.abs(X) < 0.7] = 0
    params = model.init(1)
    rows = sparse.csr_array(X)
    np.testing.assert_array_equal(model.outputs(params, rows), model.outputs(params, X))
    assert model.loss_and_gradient(params, rows, y)[0] == model.loss_and_gradient(params, X, y)[0]


def test_read_only_rows_and_a_batch_of_one_row() -> None:
    model = torch_model(2, 1, double=False)
    X, y = rows_of(2)
    X.setflags(write=False)
    params = model.init(1)
    for values in params.values():
        values.setflags(write=False)
    loss, gradient = model.loss_and_gradient(params, X[:1], y[:1])
    assert np.isfinite(loss)
    assert not gradient["norm.running_mean"].any(), "one row has no spread: the running statistics are taken"
    assert model.loss(params, X, y) > 0


def test_the_state_dict_opens_in_a_plain_module() -> None:
    model = torch_model(4, 4, double=False)
    X, _ = rows_of(4)
    params = model.init(1)
    net = Net(4)
    net.load_state_dict(model.state_dict(params), strict=True)
    net.eval()
    with torch.no_grad():
        expected = net(torch.from_numpy(X.astype(np.float32))).numpy()
    np.testing.assert_allclose(model.outputs(params, X), expected, rtol=1e-5, atol=1e-6)
    assert {tensor.dtype for tensor in model.state_dict(params).values()} == {torch.float32, torch.int64}


def broken_parameter() -> Any:
    net = Net(2)
    with torch.no_grad():
        net.first.bias[0] = float("nan")
    return net


class Raising(nn.Linear):
    def forward(self, rows: Any) -> Any:
        raise ValueError(f"secret {rows.sum()}")


class Leaving(nn.Linear):
    def forward(self, rows: Any) -> Any:
        raise SystemExit(0)


def test_an_init_with_nan_names_the_tensor() -> None:
    model = TorchModel("net", broken_parameter, column_count=COLUMNS, class_count=2)
    with pytest.raises(InputError, match=r"model net begins with NaN or infinity.*first\.bias"):
        model.init(0)


def test_a_function_that_makes_another_module_each_time_is_refused() -> None:
    widths = iter([3, 4])
    make = lambda: nn.Sequential(nn.Linear(COLUMNS, next(widths)), nn.LazyLinear(2))  # noqa: E731
    model = TorchModel("net", make, column_count=COLUMNS, class_count=2)
    with pytest.raises(InputError, match="another one each time"):
        model.init(0)


@pytest.mark.parametrize(
    ("make", "class_count", "says"),
    [
        (lambda: "no module", 2, r"returns no module.*got str"),
        (lambda: Net(3), 2, r"outputs of another form.*\(2, 1 or 2\).*got shape \(2, 3\)"),
        (lambda: Net(2), None, r"got shape \(2, 2\)"),
        (lambda: Net(1), 3, r"got shape \(2, 1\)"),
        (lambda: nn.Linear(COLUMNS + 1, 2), 2, r"model net raised.*got RuntimeError; cure"),
        (lambda: Raising(COLUMNS, 2), 2, r"model net raised.*got ValueError; cure"),
        (lambda: Leaving(COLUMNS, 2), 2, r"model net raised.*got SystemExit; cure"),
        (lambda: nn.Linear(COLUMNS, 2).requires_grad_(False), 2, "nothing to train"),
        (lambda: nn.Flatten(), 2, "outputs of another form"),
    ],
    ids=["no-module", "too-wide", "regression", "too-narrow", "columns", "raises", "leaves", "frozen", "no-tensors"],
)
def test_refusals_when_it_is_made(make: Any, class_count: int | None, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        TorchModel("net", make, column_count=COLUMNS, class_count=class_count)
    assert "secret" not in str(caught.value)


def test_refusals_of_rows_labels_and_parameters() -> None:
    model = torch_model(2, 1)
    X, y = rows_of(2)
    params = model.init(0)
    with pytest.raises(InputError, match="features do not fit"):
        model.outputs(params, X[:, 1:])
    with pytest.raises(InputError, match="labels do not fit"):
        model.loss(params, X, y[1:])
    with pytest.raises(InputError, match="no class of this model"):
        model.loss_and_gradient(params, X, y + 1)
    with pytest.raises(InputError, match="no rows"):
        model.loss_and_gradient(params, X[:0], y[:0])
    with pytest.raises(InputError, match=r"first\.bias has the wrong layout"):
        model.outputs({**params, "first.bias": params["first.bias"][1:]}, X)
    with pytest.raises(InputError, match=r"no last\.bias"):
        model.outputs({key: values for key, values in params.items() if key != "last.bias"}, X)
    with pytest.raises(InputError, match="no class probabilities"):
        torch_model(None, 1).predict_proba(params, X)


def test_divergence_shows_as_a_loss_that_is_not_finite() -> None:
    model = torch_model(2, 1, double=False)
    X, y = rows_of(2)
    params = {key: values * 1e38 for key, values in model.init(0).items()}
    loss, _ = model.loss_and_gradient(params, X, y)
    assert not np.isfinite(loss)
