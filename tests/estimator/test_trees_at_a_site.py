"""Gradient boosting at sites of their own: each party has an estimator, a table and a channel, and no other's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from hekat.channel import PartyKey, run_parties
from hekat.data import Table
from hekat.errors import InputError, PartyStoppedError, PolicyError
from hekat.estimator import VerticalGradientBoostingClassifier
from hekat.protocol.in_process import make_sessions
from hekat.protocol.role_session import RoleSession

PARAMETERS = {
    "guest": "clinic",
    "max_iter": 3,
    "max_depth": 2,
    "max_bins": 8,
    "bin_leak_accepted": "the guest may learn bins of hosts",
    "max_predictions": 500,
}


def make_tables() -> dict[str, Table]:
    """300 patients at the clinic, 280 of them at the laboratory in another order."""
    X, y = load_breast_cancer(return_X_y=True)
    ids = [f"p{row}" for row in range(300)]
    order = np.random.default_rng(4).permutation(300)[:280]
    names = {"clinic": ("a", "b"), "laboratory": ("c", "d", "e")}
    return {
        "clinic": Table(X[:300, :2], y[:300].astype(str), names["clinic"], "clinic", ids=ids),
        "laboratory": Table(X[order, 2:5], None, names["laboratory"], "laboratory", ids=[ids[row] for row in order]),
    }


def play(names: Iterable[str], role):
    keys = {name: PartyKey.generate() for name in names}
    sessions: dict[str, RoleSession] = make_sessions(
        keys, run_id="test", protocol="vertical_trees", job_digest=bytes(32)
    )
    return run_parties(
        {name: lambda channel, name=name: sessions[name].play(channel, lambda own: role(name, own)) for name in keys}
    )


@pytest.mark.long
def test_parties_at_their_sites_do_what_one_machine_does() -> None:
    tables = make_tables()
    estimators = {name: VerticalGradientBoostingClassifier(**PARAMETERS) for name in tables}
    play(tables, lambda name, own: estimators[name].fit_party(tables[name], own, classes=("0", "1")))
    together = VerticalGradientBoostingClassifier(**PARAMETERS).fit(tables)
    assert estimators["clinic"].losses_ == together.losses_
    assert estimators["laboratory"].losses_ == []
    assert {name: list(one.parts_) for name, one in estimators.items()} == {name: [name] for name in tables}
    for name, one in estimators.items():
        assert one.n_iter_ == 3
        for array, values in together.parts_[name].arrays.items():
            assert np.array_equal(values, one.parts_[name].arrays[array]), (name, array)
    answers = play(tables, lambda name, own: estimators[name].predict_party(tables[name], own))
    assert answers["laboratory"].scores is None
    assert len(answers["clinic"].rows) == 280
    assert answers["clinic"].scores.shape == (280, 1)
    assert estimators["laboratory"].predicted_rows_ == {"laboratory": 280}
    assert set(estimators["clinic"].feature_importances_) == {"clinic", "laboratory"}
    with pytest.raises(InputError, match="a host does not know what all columns did"):
        _ = estimators["laboratory"].feature_importances_
    with pytest.raises(InputError, match="a joint prediction needs every party"):
        estimators["clinic"].predict(tables)
    with pytest.raises(PartyStoppedError) as stopped:
        play(tables, lambda name, own: estimators[name].predict_party(tables[name], own))
    assert isinstance(stopped.value.__cause__, PolicyError)


@pytest.mark.long
def test_a_site_goes_on_with_its_own_part() -> None:
    tables = make_tables()
    estimators = {
        name: VerticalGradientBoostingClassifier(**{**PARAMETERS, "max_iter": 1, "warm_start": True}) for name in tables
    }
    play(tables, lambda name, own: estimators[name].fit_party(tables[name], own, classes=("0", "1")))
    for one in estimators.values():
        one.set_params(max_iter=3)
    play(tables, lambda name, own: estimators[name].fit_party(tables[name], own, classes=("0", "1")))
    together = VerticalGradientBoostingClassifier(**PARAMETERS).fit(tables)
    assert estimators["clinic"].losses_ == pytest.approx(together.losses_[1:])
    assert estimators["laboratory"].n_iter_ == 3
    assert {name: set(one.predicted_rows_) for name, one in estimators.items()} == {name: {name} for name in tables}


def test_a_site_that_names_no_guest_or_has_no_labels_is_refused() -> None:
    tables = make_tables()
    nameless = VerticalGradientBoostingClassifier(**{**PARAMETERS, "guest": None})
    with pytest.raises(PartyStoppedError, match="no guest is named"):
        play(tables, lambda name, own: nameless.fit_party(tables[name], own, classes=("0", "1")))
    tables["clinic"] = replace(tables["clinic"], labels=None)
    model = VerticalGradientBoostingClassifier(**PARAMETERS)
    with pytest.raises(PartyStoppedError, match="labels"):
        play(tables, lambda name, own: model.fit_party(tables[name], own, classes=("0", "1")))
