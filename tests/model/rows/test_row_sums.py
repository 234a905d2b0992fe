"""Sums of clipped row gradients against rows taken one by one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from hekat.errors import InputError
from hekat.model import Model, make_model
from hekat.model.rows.row_sums import as_row_model
from hekat.privacy.noised_levels import clip_factors

CLIP = 0.7
COLUMNS, ROWS = 6, 20


def _factors(norms: np.ndarray) -> np.ndarray:
    return clip_factors(norms, CLIP)


def _rows(class_count: int | None, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((ROWS, COLUMNS)) * (rng.random((ROWS, COLUMNS)) < 0.5)
    return features, rng.integers(0, class_count, ROWS) if class_count else rng.standard_normal(ROWS)


def _one_by_one(model: Model, parameters, features, labels, names) -> dict[str, np.ndarray]:
    """The definition: each row's own gradient without penalty, brought to the clip, and added."""
    penalty = as_row_model(model).penalty_slope(parameters)
    total = {name: np.zeros(model.parameter_shapes[name]) for name in names}
    for row in range(len(features)):
        _, gradient = model.loss_and_gradient(parameters, features[row : row + 1], labels[row : row + 1])
        own = {name: gradient[name] - penalty.get(name, 0.0) for name in names}
        norm = np.sqrt(sum((values**2).sum() for values in own.values()))
        for name in names:
            total[name] += _factors(np.array([norm]))[0] * own[name]
    return total


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    ("name", "class_count", "hidden"),
    [("logistic", 2, ()), ("logistic", 4, ()), ("linear", None, ()), ("mlp", 3, (5, 4)), ("mlp", None, (3,))],
)
def test_models_of_hekat(name: str, class_count: int | None, hidden: tuple[int, ...], is_sparse: bool) -> None:
    model = make_model(name, COLUMNS, class_count, hidden=hidden, l2=0.1)
    rng = np.random.default_rng(3)
    parameters = {key: rng.standard_normal(shape) for key, shape in model.parameter_shapes.items()}
    features, labels = _rows(class_count, seed=4)
    for names in (list(parameters), list(parameters)[-2:], list(parameters)[:1]):
        wanted = _one_by_one(model, parameters, features, labels, names)
        given = csr_array(features) if is_sparse else features
        losses, found = as_row_model(model).sum_clipped_rows(parameters, given, labels, _factors, names)
        assert losses.mean() == pytest.approx(model.data_loss(parameters, features, labels))
        assert list(found) == names
        for key in names:
            np.testing.assert_allclose(found[key], wanted[key], atol=1e-12)


def test_a_row_beyond_floats_is_left_out() -> None:
    model = make_model("linear", 2, None)
    parameters = {"weight": np.array([[1e200], [0.0]]), "bias": np.zeros(1)}
    features, labels = np.array([[1e200, 0.0], [0.0, 1.0]]), np.array([0.0, -0.1])
    losses, found = as_row_model(model).sum_clipped_rows(parameters, features, labels, _factors, ["weight", "bias"])
    assert np.isinf(losses[0])
    np.testing.assert_allclose(found["weight"], [[0.0], [0.1]])
    np.testing.assert_allclose(found["bias"], [0.1])


def test_a_model_that_does_not_tell_rows_apart_is_refused() -> None:
    with pytest.raises(InputError, match="does not tell the gradient of each row"):
        as_row_model(object())


def _torch_net():
    torch = pytest.importorskip("torch", reason="needs hekat[torch]")
    pytest.importorskip("opacus", reason="needs hekat[privacy-torch]")
    nn = torch.nn
    return nn.Sequential(nn.Linear(COLUMNS, 5), nn.Tanh(), nn.LayerNorm(5), nn.Linear(5, 3)).double()


@pytest.mark.long
def test_modules_of_a_site(monkeypatch: pytest.MonkeyPatch) -> None:
    _torch_net()
    from hekat.model import torch_model

    model = torch_model.TorchModel("net", _torch_net, column_count=COLUMNS, class_count=3, l2=0.1)
    parameters = model.init(1)
    features, labels = _rows(3, seed=5)
    monkeypatch.setattr(torch_model, "MOST_VALUES", 7 * sum(values.size for values in parameters.values()))
    for names in (list(parameters), list(parameters)[2:]):
        wanted = _one_by_one(model, parameters, features, labels, names)
        losses, found = model.sum_clipped_rows(parameters, features, labels, _factors, names)
        assert losses.mean() == pytest.approx(model.data_loss(parameters, features, labels))
        for key in names:
            np.testing.assert_allclose(found[key], wanted[key], atol=1e-12)
    # The module is as it was: hooks and samples of rows are off it again.
    loss, gradient = model.loss_and_gradient(parameters, features, labels)
    assert np.isfinite(loss)
    assert set(gradient) == set(parameters)
    assert not any(hasattr(tensor, "grad_sample") for tensor in model._module.parameters())


def _mixing_net(kind: str):
    import torch

    class Centred(torch.nn.Module):
        def forward(self, rows):
            return rows - rows.mean(0)

    class Drawn(torch.nn.Module):
        def forward(self, rows):
            return torch.nn.functional.dropout(rows, 0.5, training=self.training)

    frozen = torch.nn.BatchNorm1d(5).requires_grad_(False)
    middle = {
        "batch normalisation": torch.nn.BatchNorm1d(5),
        "without weights": torch.nn.BatchNorm1d(5, affine=False),
        "without statistics": torch.nn.BatchNorm1d(5, affine=False, track_running_stats=False),
        "frozen": frozen,
        "centred": Centred(),
        "other draws": Drawn(),
    }[kind]
    # The first step of a last layer of zeros shows nothing of what lies before it.
    last = torch.nn.Linear(5, 3)
    torch.nn.init.zeros_(last.weight)
    return torch.nn.Sequential(torch.nn.Linear(COLUMNS, 5), middle, last)


@pytest.mark.parametrize(
    "kind",
    ["batch normalisation", "without weights", "without statistics", "frozen", "centred", "other draws"],
)
def test_a_module_that_mixes_rows_is_refused(kind: str) -> None:
    _torch_net()
    from hekat.model.torch_model import TorchModel

    model = TorchModel("net", lambda: _mixing_net(kind), column_count=COLUMNS, class_count=3)
    features, labels = _rows(3, seed=5)
    with pytest.raises(InputError, match="the rows of model net have no gradients of their own"):
        model.sum_clipped_rows(model.init(1), features, labels, _factors, ["0.weight"])


def test_what_dropout_draws_for_a_row_does_not_follow_from_other_rows(monkeypatch) -> None:
    """With one seed, the sums of all rows and of all but one differ by the term of that row, which is clipped."""
    _torch_net()
    import torch

    from hekat.model import torch_model

    def make() -> torch.nn.Module:
        first, last = torch.nn.Linear(COLUMNS, 16), torch.nn.Linear(16, 3)
        return torch.nn.Sequential(first, torch.nn.ReLU(), torch.nn.Dropout(0.5), last)

    model = torch_model.TorchModel("net", make, column_count=COLUMNS, class_count=3)
    parameters = model.init(1)
    features, labels = _rows(3, seed=5)
    drawn: list[int] = []

    def draw(count: int) -> bytes:
        drawn.append(count)
        return bytes(count)

    monkeypatch.setattr(torch_model.os, "urandom", draw)
    clip = 0.1

    def factors(norms):
        return np.minimum(1.0, clip / np.maximum(norms, 1e-300))

    def total(count: int) -> np.ndarray:
        _, found = model.sum_clipped_rows(parameters, features[:count], labels[:count], factors, list(parameters))
        return np.concatenate([found[key].ravel() for key in sorted(found)])

    moved = np.linalg.norm(total(len(labels)) - total(len(labels) - 1))
    assert 0 < moved <= clip * (1 + 1e-6)
    assert len(drawn) == 2
