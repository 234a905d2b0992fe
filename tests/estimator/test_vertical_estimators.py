"""Trainings and predictions of all parties: common rows, what is left behind, warm starts, roles at their sites."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from sklearn.base import clone

from hekat.channel import PartyKey, run_parties
from hekat.data import Table
from hekat.errors import InputError, PolicyError
from hekat.estimator import VerticalLinearRegression, VerticalLogisticRegression, find_common_rows
from hekat.protocol.in_process import make_sessions
from hekat.protocol.role_session import RoleSession

NAMES = ("a", "b", "c", "d", "e", "f")


def tables_of(X: np.ndarray, y: np.ndarray, seed: int = 5) -> dict[str, Table]:
    """Two parties' tables with ids: rows of each in an order of its own, 100 of 120 at the bank, 90 at the insurer."""
    rng = np.random.default_rng(seed)
    bank, insurer = rng.permutation(120)[:100], rng.permutation(120)[:90]
    return {
        "bank": Table(X[bank, :3], y[bank], NAMES[:3], "bank", ids=[f"id-{row}" for row in bank]),
        "insurer": Table(X[insurer, 3:], None, NAMES[3:], "insurer", ids=[f"id-{row}" for row in insurer]),
    }


def texts(table: Table) -> list[tuple[str, ...]]:
    assert table.ids is not None
    return table.ids.to_rows()


# --- common rows -----------------------------------------------------------------------------------------------


def test_common_rows_are_those_of_all_parties_in_one_order(tumours) -> None:
    tables = tables_of(*tumours)
    found = find_common_rows(tables)
    common = set(texts(tables["bank"])) & set(texts(tables["insurer"]))
    assert texts(found.tables["bank"]) == texts(found.tables["insurer"])
    assert set(texts(found.tables["bank"])) == common
    for name, table in tables.items():
        assert texts(table.take(found.rows[name])) == texts(found.tables[name])
    assert found.tables["bank"].labels is not None
    assert {note.disclosure_class for note in found.ledgers["insurer"].notes} == {"disclosed"}


def test_rows_without_ids_and_ids_without_a_match_are_refused(tumours) -> None:
    X, y = tumours
    tables = tables_of(X, y)
    strangers = Table(X[:50, 3:], None, NAMES[3:], "insurer", ids=[f"other-{row}" for row in range(50)])
    with pytest.raises(InputError, match="no row is common to all parties"):
        find_common_rows({**tables, "insurer": strangers})
    bare = Table(X[:100, 3:], None, NAMES[3:], "insurer")
    with pytest.raises(InputError, match="insurer has no ids"):
        VerticalLogisticRegression().fit({**tables, "insurer": bare})


@pytest.mark.long
@pytest.mark.sealed
def test_tables_with_ids_meet_before_training_and_before_prediction(tumours, small) -> None:
    tables = tables_of(*tumours)
    made = VerticalLogisticRegression(**{**small, "columns": None}).fit(tables)
    aligned = find_common_rows(tables).tables
    without = clone(made).set_params(intersection=None).fit(aligned)
    np.testing.assert_allclose(made.losses_, without.losses_, rtol=1e-6)
    kinds = {row.kind for row in made.ledgers_["insurer"].learned}
    assert "psi/common-rows" in kinds
    assert "vertical-shared/epoch-end" in kinds, kinds

    # What is predicted stands in the order of the guest's rows, whatever order the intersection gives.
    scores = made.decision_function(aligned)
    np.testing.assert_allclose(scores, without.decision_function(aligned), atol=1e-5)
    back = {"bank": aligned["bank"].take(np.arange(40)[::-1]), "insurer": aligned["insurer"]}
    np.testing.assert_allclose(made.decision_function(back), scores[:40][::-1], atol=1e-5)
    with pytest.raises(InputError, match="rows of the guest that not every party has"):
        made.predict(tables)


def test_how_common_rows_are_found_is_a_parameter(tumours) -> None:
    tables = tables_of(*tumours)
    made = VerticalLogisticRegression(intersection="rsa_blind")
    settings = made._intersection(tables)
    assert settings is not None
    assert (settings.kind, settings.guest, settings.hosts) == ("rsa_blind", "bank", ("insurer",))
    common = find_common_rows(tables).tables
    assert made.set_params(intersection=None)._intersection(common) is None
    with pytest.raises(InputError, match=r"rows of bank and insurer have different ids.*leave intersection"):
        made._intersection(tables)
    with pytest.raises(InputError, match=r"setting intersection refused"):
        VerticalLogisticRegression(intersection="rsa").fit(tables)


# --- what is left behind ---------------------------------------------------------------------------------------


@pytest.mark.long_cases("lattice")
@pytest.mark.sealed
@pytest.mark.parametrize("protection", ["paillier", "lattice"])
def test_attributes_of_a_training_with_an_arbiter(tumours, small_arbiter, protection, opened_channels) -> None:
    X, y = tumours
    made = VerticalLogisticRegression(**small_arbiter)
    if protection == "lattice":
        made.set_params(protection=protection, keys=None, key_bits=3072)
    made.fit(X, y)
    assert list(made.parts_) == ["bank", "insurer", "grocer"]
    assert {len(part.columns) for part in made.parts_.values()} == {2}
    assert made.n_iter_ == len(made.losses_) == 3
    assert made.losses_[-1] < made.losses_[0]
    assert set(made.ledgers_) == set(made.seconds_by_part_) == {"bank", "insurer", "grocer", "arbiter"}
    assert all(ledger.signed for ledger in made.ledgers_.values())
    for parts in made.seconds_by_part_.values():
        assert min(parts.values()) >= 0
        assert sum(parts.values()) == pytest.approx(made.seconds_)
    assert {"encrypt", "products", "idle"} <= set(made.seconds_by_part_["insurer"])
    # Nobody asks for one epoch's bytes: no count of any is kept.
    epochs = {step.split("/")[0] for channel in opened_channels for _, step in channel.traffic if "epoch-" in step}
    assert epochs == {"epoch-0"}
    made.predict(X)
    assert set(made.prediction_ledgers_) == {"bank", "insurer", "grocer"}
    assert {row.disclosure_class for row in made.prediction_ledgers_["bank"].learned} == {"ciphertext"}


def test_shares_leave_nobody_a_weight(tumours, small) -> None:
    X, y = tumours
    made = VerticalLogisticRegression(**small).fit(X, y)
    for part in made.parts_.values():
        assert part.form == "shared_weights"
        assert all(array.dtype == np.uint64 for array in part.arrays.values())


@pytest.mark.long
@pytest.mark.parametrize("form", ["shared_weights", "arbiter"])
def test_a_warm_start_goes_on_where_the_last_fit_ended(tumours, small, small_arbiter, form) -> None:
    X, y = tumours
    parameters = {**(small if form == "shared_weights" else small_arbiter), "epochs": 2}
    whole = VerticalLogisticRegression(**{**parameters, "epochs": 4}).fit(X, y)
    made = VerticalLogisticRegression(**parameters, warm_start=True).fit(X, y)
    first = made.losses_
    made.fit(X, y)
    np.testing.assert_allclose([*first, *made.losses_], whole.losses_, atol=1e-5)
    cold = VerticalLogisticRegression(**parameters).fit(X, y).fit(X, y)
    np.testing.assert_allclose(cold.losses_, first, atol=1e-5)


def test_a_warm_start_from_other_columns_is_refused(tumours, small) -> None:
    X, y = tumours
    made = VerticalLogisticRegression(**{**small, "protection": "none"}, warm_start=True).fit(X, y)
    made.set_params(columns={"bank": [0, 1], "insurer": [2, 3]})
    with pytest.raises(InputError, match="warm start from other columns at bank") as caught:
        made.fit(X, y)
    assert "set warm_start=False" in str(caught.value)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"value_bits": 30}, "other value_bits at bank"),
        ({"arbiter": "auditor", "label_leak_accepted": "hosts may learn labels"}, "another form at bank"),
    ],
)
def test_a_warm_start_under_other_settings_is_refused(tumours, small, parameters, told) -> None:
    """Shares at another scale, or weights in the place of shares, would mean other numbers."""
    X, y = tumours
    made = VerticalLogisticRegression(**{**small, "protection": "none"}, warm_start=True).fit(X, y)
    made.set_params(**parameters)
    with pytest.raises(InputError, match=told):
        made.fit(X, y)


def test_a_warm_start_with_other_classes_is_refused(tumours, small) -> None:
    X, y = tumours
    made = VerticalLogisticRegression(**{**small, "protection": "none"}, warm_start=True).fit(X, y)
    with pytest.raises(InputError, match="other classes at bank"):
        made.fit(X, y + 1)


def test_receivers_may_be_hosts(tumours, small_arbiter) -> None:
    X, _ = tumours
    target = X @ np.arange(1.0, 7.0)
    made = VerticalLinearRegression(**small_arbiter).fit(X, target)
    at_guest = made.predict(X)
    made.set_params(receivers=["grocer"])
    np.testing.assert_allclose(made.predict(X), at_guest, rtol=1e-9)
    kinds = {row.kind for row in made.prediction_ledgers_["bank"].learned}
    assert not any(kind.endswith(("part", "scores")) for kind in kinds)


# --- at a site -------------------------------------------------------------------------------------------------


def _new_sessions(names: Iterable[str]) -> dict[str, RoleSession]:
    keys = {name: PartyKey.generate() for name in names}
    return make_sessions(keys, run_id="test", protocol="vertical_linear", job_digest=bytes(32))


@pytest.mark.long
@pytest.mark.parametrize("form", ["shared_weights", "arbiter"])
def test_roles_at_their_sites_do_what_one_machine_does(tumours, small, small_arbiter, keys, form) -> None:
    """Each party has an estimator, a table and a channel of its own."""
    X, y = tumours
    arbiter = "arbiter" if form == "arbiter" else None
    parameters = {**small, "columns": None, "guest": "bank", "arbiter": arbiter}
    if arbiter is not None:
        parameters |= {name: small_arbiter[name] for name in ("label_leak_accepted", "column_leak_accepted")}
    tables = tables_of(X, y)
    names = [*tables, *([arbiter] if arbiter else [])]
    sessions = _new_sessions(names)
    estimators = {name: VerticalLogisticRegression(**parameters) for name in names}

    def train(name, channel):
        return estimators[name].fit_party(tables.get(name), channel, classes=("0", "1"))

    run_parties(
        {name: lambda channel, name=name: sessions[name].play(channel, lambda own: train(name, own)) for name in names}
    )
    together = VerticalLogisticRegression(**parameters).fit(tables)
    np.testing.assert_allclose(estimators["bank"].losses_, together.losses_, rtol=1e-6)
    assert {name: list(one.parts_) for name, one in estimators.items()} == {
        name: [name] if name in tables else [] for name in names
    }
    assert estimators["insurer"].losses_ == []

    def predict(name, channel):
        return estimators[name].predict_party(tables[name], channel)

    sessions = _new_sessions(tables)
    results = run_parties(
        {
            name: lambda channel, name=name: sessions[name].play(channel, lambda own: predict(name, own))
            for name in tables
        }
    )
    assert results["insurer"].scores is None
    common = find_common_rows(tables).tables
    order = {row: number for number, row in enumerate(texts(common["bank"]))}
    places = [order[texts(tables["bank"])[row]] for row in results["bank"].rows]
    np.testing.assert_allclose(results["bank"].scores[:, 0], together.decision_function(common)[places], atol=1e-5)

    with pytest.raises(InputError, match="a joint prediction needs every party"):
        estimators["bank"].predict(common)


# --- how finely, and how often ---------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["shared_weights", "arbiter"])
def test_scores_are_told_to_twelve_bits_unless_more_are_asked_for(tumours, small, form) -> None:
    X, y = tumours
    more = {"arbiter": "arbiter", "label_leak_accepted": "hosts may learn labels"} if form == "arbiter" else {}
    made = VerticalLogisticRegression(**{**small, **more, "protection": "none"}).fit(X, y)
    fine = made.decision_function(X)
    scores = made.set_params(score_bits=12).decision_function(X)
    assert (scores * 2**12 == np.rint(scores * 2**12)).all()
    assert 0 < np.abs(scores - fine).max() < (1.51 if form == "shared_weights" else 1.01) * 2.0**-12
    assert VerticalLogisticRegression().score_bits == 12


def test_a_fitted_model_predicts_so_many_rows_and_no_more(tumours, small) -> None:
    X, y = tumours
    made = VerticalLogisticRegression(**{**small, "protection": "none", "max_predictions": 200}).fit(X, y)
    made.predict(X)
    with pytest.raises(PolicyError, match="does not allow so many predictions with its part") as refused:
        made.predict(X)
    assert refused.value.got == "120 rows after 120"
    made.predict(X[:80])
    with pytest.raises(PolicyError):
        made.predict(X[:1])
    made.fit(X, y).predict(X)
    assert made.predicted_rows_ == {"bank": 120, "insurer": 120}


def test_rows_that_probabilities_are_fitted_to_count(tumours, small) -> None:
    X, y = tumours
    fitted = {**small, "protection": "none", "calibration_rows": 50}
    made = VerticalLogisticRegression(**{**fitted, "max_predictions": 200}).fit(X, y)
    assert made.predicted_rows_ == {"bank": 50, "insurer": 50}
    made.predict(X)
    with pytest.raises(PolicyError, match="does not allow so many predictions") as refused:
        made.predict(X[:31])
    assert refused.value.got == "31 rows after 170"
    # More than may be predicted in all is refused before anything is trained, with a cure that works.
    few = VerticalLogisticRegression(**{**fitted, "max_predictions": 40})
    with pytest.raises(PolicyError, match=r"set calibration_rows=40 or fewer.*or raise max_predictions"):
        few.fit(X, y)
    assert few.set_params(calibration_rows=40).fit(X, y).predicted_rows_ == {"bank": 40, "insurer": 40}


def test_batches_of_one_row_warn_before_they_start(tumours, small, monkeypatch) -> None:
    """The first role that begins ends the test, so nothing is trained."""

    class BegunError(Exception):
        """A role began."""

    def begin(*arguments: object) -> None:
        raise BegunError

    monkeypatch.setattr("hekat.estimator.vertical_regression.play_roles", begin)
    X, y = tumours
    with (
        pytest.warns(UserWarning, match=r"600 steps in batches of up to 1 rows: some 24 s or more"),
        pytest.raises(BegunError),
    ):
        VerticalLogisticRegression(**{**small, "batch_rows": 1, "epochs": 5}).fit(X, y)


def test_a_refused_training_names_cures_that_work(tumours, small_arbiter) -> None:
    """One batch of all rows is as large as batches get: no cure says larger batches."""
    X, y = tumours
    settings = {**small_arbiter, "label_leak_accepted": None, "column_leak_accepted": None, "protection": "none"}
    columns = {"bank": slice(0, 2), "insurer": slice(2, 6)}
    with pytest.raises(PolicyError, match="would tell the labels of a batch") as caught:
        VerticalLogisticRegression(**{**settings, "columns": columns}).fit(X[:80], y[:80])
    assert "larger batches" not in caught.value.cure
    assert "shared_weights" in caught.value.cure
