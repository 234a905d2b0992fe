"""Split networks on columns of several parties, in the shape of scikit-learn."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.exceptions import NotFittedError

from hekat.data import Table
from hekat.errors import HekatError, InputError, JobError, PolicyError
from hekat.estimator import VerticalNetworkClassifier, VerticalNetworkRegressor
from hekat.model.split import module_top
from hekat.protocol.vertical.label_privacy import LabelFlips

WAIVER = "the guest may learn my columns but for a rotation"
SLOPES = "hosts may learn columns of the guest and of each other"
SMALL = {
    "column_leak_accepted": WAIVER,
    "units": 8,
    "guest_width": 4,
    "host_width": 8,
    "batch_rows": 50,
    "epochs": 4,
    "learning_rate": 0.02,
}
SPLIT = {"clinic": slice(0, 4), "laboratory": slice(4, 10)}


def rows():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:200, :10], y[:200]


@pytest.mark.long
def test_classes_are_predicted_and_the_rows_counted() -> None:
    X, y = rows()
    model = VerticalNetworkClassifier(columns=SPLIT, **SMALL).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert len(model.losses_) == model.n_iter_ == 4
    assert model.losses_[-1] < model.losses_[0]
    assert model.predict(X).shape == model.decision_function(X).shape == (200,)
    assert model.predicted_rows_ == {"clinic": 600, "laboratory": 600}
    assert any("but for a rotation" in note.what for note in model.ledgers_["laboratory"].notes)
    again = clone(model).set_params(max_predictions=199).fit(X, y)
    with pytest.raises(PolicyError, match="max_predictions"):
        again.predict(X)


@pytest.mark.long
def test_three_classes_and_numbers() -> None:
    X, y = load_wine(return_X_y=True)
    parties = {"cellar": slice(0, 5), "laboratory": slice(5, 13)}
    model = VerticalNetworkClassifier(columns=parties, protection="none", **{**SMALL, "epochs": 20})
    assert model.fit(X, y).predict_proba(X).shape == (178, 3)
    assert model.score(X, y) > 0.6
    X, y = load_diabetes(return_X_y=True)
    numbers = VerticalNetworkRegressor(columns=SPLIT, protection="none", host_bottom="source", **SMALL)
    assert 20 < np.mean(numbers.fit(X, y).predict(X)) < 400


@pytest.mark.parametrize("protection", ["none", pytest.param("lattice", marks=pytest.mark.long)])
def test_fates_form_is_there_to_compare(protection: str) -> None:
    X, y = rows()
    leaks = {"label_leak_accepted": "the host may learn labels", "slope_leak_accepted": SLOPES}
    model = VerticalNetworkClassifier(
        columns=SPLIT, protection=protection, form="guest_layer", host_bottom="trained", **leaks, **SMALL
    ).fit(X, y)
    assert model.predict_proba(X).shape == (200, 2)
    assert model.losses_[-1] < model.losses_[0]
    assert any("TO COMPARE" in note.what for note in model.ledgers_["clinic"].notes)


@pytest.mark.parametrize("protection", ["none", pytest.param("lattice", marks=pytest.mark.long)])
def test_a_sealed_network_trains_without_words_and_opens_its_loss_alone(protection: str) -> None:
    X, y = rows()
    sizes = {"units": 4, "batch_rows": 50, "epochs": 4, "shared_rate": 0.02}
    model = VerticalNetworkClassifier(columns=SPLIT, form="sealed", protection=protection, **sizes).fit(X, y)
    part = model.parts_["clinic"]
    assert (part.host_bottom, part.limit_spreads) == ("source", 3.0)
    assert (model.host_bottom, model.limit_spreads) == (None, None)
    assert len(model.losses_) == 4
    assert model.losses_[-1] < model.losses_[0]
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    with pytest.raises(JobError, match=r"host_bottom cannot be used with form 'sealed'.*leave it out"):
        clone(model).set_params(host_bottom="frozen").fit(X, y)


def test_a_sealed_network_takes_the_rules_of_its_form_and_what_is_said_stays() -> None:
    for form, usual in (("shared", ("frozen", 5.0, 0.2)), ("sealed", ("source", 3.0, 0.1))):
        accepted = {"column_leak_accepted": WAIVER}
        settings = VerticalNetworkClassifier(form=form, **accepted)._settings(tuple(SPLIT), ("no", "yes"))
        assert (settings.host_bottom, settings.training.limit_spreads, settings.training.shared_rate) == usual
    said = VerticalNetworkClassifier(form="sealed", limit_spreads=0.0, shared_rate=0.3, epochs=3)
    training = said._settings(tuple(SPLIT), ("no", "yes")).training
    assert (training.limit_spreads, training.shared_rate, training.epochs) == (0.0, 0.3, 3)


def test_a_sealed_network_has_two_classes_and_says_what_has_others() -> None:
    X, y = rows()
    cure = "the kind of labels cannot be used with form 'sealed'.*set form = 'shared'"
    with pytest.raises(JobError, match=cure) as refused:
        VerticalNetworkRegressor(columns=SPLIT, form="sealed").fit(X, X[:, 0])
    assert "'regression'" in str(refused.value)
    with pytest.raises(JobError, match=cure) as refused:
        VerticalNetworkClassifier(columns=SPLIT, form="sealed").fit(X, np.arange(len(y)) % 3)
    assert "'multiclass'" in str(refused.value)


def test_a_host_alone_receives_scores_of_a_sealed_network() -> None:
    X, y = rows()
    sizes = {"units": 2, "batch_rows": 100, "epochs": 1, "protection": "none", "receivers": ["laboratory"]}
    model = VerticalNetworkClassifier(columns=SPLIT, form="sealed", **sizes)
    with pytest.raises(JobError, match="or train with label_leak_accepted = 'the host may learn labels'"):
        model.fit(X, y)
    model.set_params(label_leak_accepted="the host may learn labels").fit(X, y)
    assert model.predict_proba(X[:9]).shape == (9, 2)


def test_a_module_of_the_guests_own_is_its_top() -> None:
    torch = pytest.importorskip("torch", reason="needs hekat[torch]")

    def make(outputs: int = 1) -> Any:
        return torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Linear(8, outputs))

    X, y = rows()
    model = VerticalNetworkClassifier(columns=SPLIT, protection="none", top=module_top(make), **SMALL).fit(X, y)
    assert model.predict_proba(X).shape == (200, 2)
    assert model.losses_[-1] < model.losses_[0]
    named = {name.removeprefix("top/") for name in model.parts_["clinic"].arrays if name.startswith("top/")}
    assert named == {"1.weight", "1.bias"}
    assert not any(name.startswith("top/") for name in model.parts_["laboratory"].arrays)
    with pytest.raises(InputError, match="another form"):
        clone(model).set_params(top=module_top(lambda: make(2))).fit(X, y)
    with pytest.raises(InputError, match="a warm start from other top at clinic"):
        model.set_params(warm_start=True, top=None).fit(X, y)
    model.set_params(warm_start=False, top=module_top(make))
    for changed, what in (
        ({"top_hidden": [4]}, "top has no use"),
        ({"form": "sealed", "host_bottom": "source"}, "top has no use"),
        ({"top": make()}, "top of clinic cannot be made; .*got Sequential"),
        ({"top": 3}, "top of clinic cannot be made; .*got int"),
        ({"top": lambda task: make()}, "top of clinic cannot be made; .*module_top"),
    ):
        with pytest.raises(InputError, match=what):
            clone(model).set_params(**changed).fit(X, y)


def test_a_warm_start_goes_on_from_the_network_that_is_there() -> None:
    X, y = rows()
    model = VerticalNetworkClassifier(columns=SPLIT, protection="none", warm_start=True, **SMALL).fit(X, y)
    first = model.losses_
    assert model.fit(X, y).losses_[0] < first[0]
    assert model.set_params(warm_start=False).fit(X, y).predicted_rows_ == {}


def private(**changes: Any) -> VerticalNetworkClassifier:
    """An estimator whose host trains behind label privacy."""
    fixed = {"protection": "none", "host_bottom": "trained", "label_privacy": 2.0, "guest": "clinic"}
    fixed["slope_leak_accepted"] = SLOPES
    return VerticalNetworkClassifier(**{**SMALL, "epochs": 1, **fixed, **changes})


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """What labels were replaced by, in every fit."""
    given: list[np.ndarray] = []
    flip = LabelFlips.flip
    monkeypatch.setattr(LabelFlips, "flip", lambda self, *told: given.append(flip(self, *told)) or given[-1])
    return given


def with_ids() -> dict[str, Table]:
    X, y = rows()
    ids = list(range(len(y)))
    return {
        "clinic": Table(X[:, :4], y.astype(str), ("a", "b", "c", "d"), "clinic", ids=ids),
        "laboratory": Table(X[:, 4:], None, tuple("efghij"), "laboratory", ids=ids),
    }


@pytest.mark.long
def test_labels_are_replaced_alike_in_every_fit(answers: list[np.ndarray], tmp_path: Path) -> None:
    model, tables = private(), with_ids()
    model.fit(tables).fit(tables)
    private().fit(tables)
    filed = {"label_flips": tmp_path / "flips"}
    private(**filed).fit(tables)
    private(**filed).fit(tables)
    first, again, other, kept, kept_again = answers
    assert np.array_equal(first, again)
    assert np.array_equal(kept, kept_again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(first, kept)
    with pytest.raises(PolicyError, match="other epsilon"):
        private(**filed, label_privacy=3.0).fit(tables)


def test_label_privacy_without_ids_is_refused() -> None:
    X, y = rows()
    with pytest.raises(InputError, match="ids"):
        private().fit({"clinic": X[:, :4], "laboratory": X[:, 4:]}, y)


def test_a_guest_at_its_own_site_replaces_labels_by_a_file() -> None:
    with pytest.raises(JobError, match="needs a file"):
        private().fit_party(with_ids()["clinic"], SimpleNamespace(party="clinic"), classes=("0", "1"))


@pytest.mark.parametrize(
    ("changes", "kind", "what"),
    [
        ({"column_leak_accepted": None}, JobError, "but for a rotation"),
        ({"host_bottom": "trained"}, JobError, "reads the labels off its gradients"),
        ({"host_bottom": "trained", "label_privacy": 1.0}, JobError, f"slope_leak_accepted = '{SLOPES}'"),
        ({"receivers": ["clinic", "laboratory"]}, JobError, "the labels of rows that it has marked"),
        ({"units": 0}, JobError, "units"),
        ({"epochs": 0}, JobError, "epochs"),
        ({"protection": "paillier"}, JobError, "protection"),
        ({"form": "arbiter"}, JobError, r"\bform refused; expected 'shared' or"),
        ({"form": "guest_layer"}, JobError, "host_bottom = 'trained'"),
        ({"bottoms": {"shop": None}}, InputError, "bottoms names no party"),
        ({"receivers": ["laboratory"]}, JobError, "receivers"),
        ({"intersection": "guess"}, InputError, "intersection"),
    ],
)
def test_parameters_that_cannot_be_are_refused(changes, kind: type[HekatError], what: str) -> None:
    X, y = rows()
    with pytest.raises(kind, match=what):
        VerticalNetworkClassifier(columns=SPLIT, **{**SMALL, **changes}).fit(X, y)


def test_nothing_is_predicted_before_a_fit() -> None:
    with pytest.raises(NotFittedError):
        VerticalNetworkClassifier(columns=SPLIT).predict(rows()[0])
