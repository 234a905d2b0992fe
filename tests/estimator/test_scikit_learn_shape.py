"""The estimators do what scikit-learn asks of one: parameters, clones, cross-validation, search and pipelines."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hekat.errors import InputError, JobError
from hekat.estimator import VerticalLinearRegression, VerticalLogisticRegression
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.training_settings import FixedPoint, LinearTraining

ESTIMATORS = [VerticalLogisticRegression, VerticalLinearRegression]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_parameter_is_kept_as_it_is_given_set_and_cloned(estimator) -> None:
    names = [name for name in inspect.signature(estimator).parameters if name != "self"]
    values = {name: object() for name in names}
    made = estimator(**values)
    assert made.get_params(deep=False) == values
    other = estimator().set_params(epochs=7, columns={"a": [0]})
    assert (other.epochs, other.columns) == (7, {"a": [0]})
    copied = clone(other)
    assert copied.get_params() == other.get_params()
    assert not hasattr(copied, "parts_")


def test_parameters_stand_for_every_setting_with_its_default() -> None:
    made = VerticalLinearRegression()
    settings = made._settings(("bank", "insurer"), None)
    assert settings == VerticalLinearSettings("bank", ("insurer",), task="linear")
    for part in (LinearTraining, FixedPoint):
        for name in part.__dataclass_fields__:
            if name in ("mixes_columns", "calibration_rows"):
                continue  # the first follows from others, the second is for classes
            others: dict[str, object] = {
                "optimiser": "momentum",
                "standardise": False,
                "optimiser_settings": {"momentum": 0.5},
                "reweight": False,
                "stop_when_settled": False,
            }
            changed = others.get(name, 9)
            given = {name: changed, **({"optimiser": "momentum"} if name == "optimiser_settings" else {})}
            if name == "l1":
                given |= {"arbiter": "hub"}
            found = made.set_params(**given)._settings(("bank", "insurer"), None)
            assert getattr(found.training if part is LinearTraining else found.fixed_point, name) == changed
            made = VerticalLinearRegression()


def test_what_they_are() -> None:
    assert is_classifier(VerticalLogisticRegression())
    assert is_regressor(VerticalLinearRegression())
    with pytest.raises(NotFittedError):
        VerticalLogisticRegression(columns={"a": [0], "b": [1]}).predict(np.ones((3, 2)))


def test_keys_do_not_show(keys) -> None:
    shown = repr(VerticalLogisticRegression(keys=keys))
    assert not any(str(prime)[:12] in shown for pair in keys.values() for prime in (pair.private.p, pair.private.q))


@pytest.mark.long
def test_cross_validation_search_and_pipeline(tumours, small) -> None:
    X, y = tumours
    made = VerticalLogisticRegression(**{**small, "protection": "none"})
    folds = cross_val_score(made, X, y, cv=3, scoring="roc_auc")
    assert folds.shape == (3,)
    assert folds.min() > 0.9
    search = GridSearchCV(made, {"learning_rate": [0.5, 1e-6]}, cv=2, scoring="neg_log_loss").fit(X, y)
    assert search.best_params_ == {"learning_rate": 0.5}
    found = cross_val_predict(made, X, y, cv=2, method="predict_proba")
    assert accuracy_score(y, found.argmax(axis=1)) > 0.85
    piped = make_pipeline(StandardScaler(), made).fit(X, y)
    assert piped.score(X, y) > 0.85


@pytest.mark.long
def test_an_encrypted_cross_validation_is_near_scikit_learns(tumours, small) -> None:
    X, y = tumours
    made = VerticalLogisticRegression(**small)
    encrypted = cross_val_score(made, X, y, cv=2, scoring="roc_auc")
    plain = cross_val_score(make_pipeline(StandardScaler(), LogisticRegression()), X, y, cv=2, scoring="roc_auc")
    np.testing.assert_allclose(encrypted, plain, atol=0.03)


@pytest.mark.long
def test_scores_predictions_and_probabilities_agree(tumours, small) -> None:
    X, y = tumours
    words = np.where(y == 1, "benign", "malignant")
    made = VerticalLogisticRegression(**small).fit(X, words)
    assert made.classes_.tolist() == ["benign", "malignant"]
    scores, chosen, probabilities = made.decision_function(X), made.predict(X), made.predict_proba(X)
    assert scores.shape == (120,)
    assert (chosen == np.where(scores > 0, "malignant", "benign")).all()
    np.testing.assert_allclose(probabilities[:, 1], 1 / (1 + np.exp(-scores)), atol=1e-8)
    assert made.score(X, words) == accuracy_score(words, chosen)
    assert made.n_features_in_ == 6
    with pytest.raises(InputError, match="expected 6 columns; got 7"):
        made.predict(np.hstack([X, X[:, :1]]))


def test_a_fit_that_is_refused_leaves_the_model_as_it_was(tumours, small) -> None:
    X, y = tumours
    words = np.where(y == 1, "benign", "malignant")
    made = VerticalLogisticRegression(**{**small, "protection": "none"}).fit(X, words)
    before = made.predict(X)
    made.set_params(learning_rate=-1.0)
    with pytest.raises(InputError, match="learning_rate"):
        made.fit(X, y)
    assert (made.predict(X) == before).all()


@pytest.mark.long
def test_three_classes(keys) -> None:
    X, y = load_iris(return_X_y=True)
    made = VerticalLogisticRegression(
        columns={"bank": [0, 1], "insurer": [2, 3]},
        key_bits=2048,
        keys=keys,
        epochs=15,
        batch_rows=0,
        learning_rate=1.0,
    ).fit(X, y * 10)
    assert made.classes_.tolist() == [0, 10, 20]
    assert made.decision_function(X).shape == (150, 3)
    np.testing.assert_allclose(made.predict_proba(X).sum(axis=1), 1.0)
    assert made.score(X, y * 10) > 0.75


@pytest.mark.long
def test_a_regression_predicts_in_units_of_its_target(tumours, small_arbiter) -> None:
    X, _ = tumours
    target = 1000 + 300 * (X[:, 0] - X[:, 0].mean()) / X[:, 0].std() + 50 * X[:, 3] / X[:, 3].std()
    made = VerticalLinearRegression(**{**small_arbiter, "epochs": 12, "learning_rate": 0.3}).fit(X, target)
    assert made.score(X, target) == r2_score(target, made.predict(X))
    assert made.score(X, target) > 0.9


def test_bad_labels_and_settings_are_refused_before_anything_runs(tumours, small) -> None:
    X, y = tumours
    made = VerticalLogisticRegression(**small)
    with pytest.raises(InputError, match="labels that are no classes"):
        made.fit(X, np.zeros(120))
    with pytest.raises(ValueError, match="continuous"):
        made.fit(X, X[:, 0])
    with pytest.raises(JobError, match="key_bits"):
        clone(made).set_params(key_bits=1024).fit(X, y)
    with pytest.raises(JobError, match="share_holders refused"):
        clone(made).set_params(share_holders=["bank", "grocer"]).fit(X, y)
    with pytest.raises(JobError, match="receivers"):
        clone(made).set_params(receivers=["grocer"]).fit(X, y)
    with pytest.raises(JobError, match="receivers") as refused:
        clone(made).set_params(receivers="bank").fit(X, y)
    assert refused.value.got == "the text 'bank'"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"key_bits": 2048}, "key_bits belongs to another protection"),
        ({"keys": {}}, "keys belongs to another protection"),
        ({"arbiter": None}, "^protection cannot be used in form 'shared_weights'"),
    ],
)
def test_a_ring_takes_no_paillier_key_and_needs_an_arbiter(tumours, given, told) -> None:
    parameters = {"columns": {"bank": [0], "insurer": [1]}, "arbiter": "hub", "protection": "lattice", **given}
    with pytest.raises(JobError, match=told):
        VerticalLogisticRegression(**parameters).fit(*tumours)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epochs", "3"),
        ("epochs", 2.5),
        ("epochs", True),
        ("batch_rows", 64.0),
        ("seed", None),
        ("l2", "0.1"),
        ("key_bits", "2048"),
        ("feature_bits", 16.0),
    ],
)
def test_settings_of_another_type_are_named(tumours, small, name: str, value) -> None:
    with pytest.raises(JobError, match=name):
        VerticalLogisticRegression(**{**small, name: value}).fit(*tumours)


def test_a_refusal_at_a_party_is_raised_as_it_is_with_the_partys_name(tumours, small, monkeypatch) -> None:
    """What is judged before roles begin would find it first."""
    monkeypatch.setattr("hekat.estimator.vertical_regression.check_rules", lambda *arguments: None)
    X, y = tumours
    spoilt = X.copy()
    spoilt[:, 4] = 3.0
    with pytest.raises(InputError, match="one value") as refusal:
        VerticalLogisticRegression(**small).fit(spoilt, y)
    assert "insurer" in "".join(refusal.value.__notes__)
