"""Joint prediction with the parts of a run: the receivers' answers, nobody else's, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from hekat.channel import PartyPublicKey
from hekat.errors import HekatError, InputError, JobError, PolicyError, StateError
from hekat.job.site_file import load_site
from hekat.launch.vertical_linear.predict import predict_jointly
from hekat.launch.vertical_linear.run import run_vertical_job
from hekat.ledger import audit
from hekat.run.vertical_linear.part_file import PART_FORMAT, PARTS
from hekat.state.array_file import decode_arrays, encode_arrays


@pytest.fixture(scope="module")
def trained_once(tmp_path_factory, make_firms):
    """Three firms with a model, whose folder is copied for each test."""
    firms = make_firms(tmp_path_factory.mktemp("trained"), 3)
    firms.write_job(firms.ARBITER + firms.WAIVER, arbiter='"auditor"', test_data='"clients-test"')
    return firms, run_vertical_job(firms.load_inputs(), firms.folder / "runs")


@pytest.fixture
def trained(trained_once, tmp_path):
    """(firms, site, run) of a model of three firms with an arbiter."""
    firms, run = trained_once
    folder = tmp_path / "job"
    shutil.copytree(firms.folder, folder)
    own = replace(firms, folder=folder)
    return own, load_site(folder / "site.toml"), replace(run, folder=folder / run.folder.relative_to(firms.folder))


@pytest.mark.long
def test_only_receivers_have_answers(trained) -> None:
    _, site, result = trained
    found = predict_jointly(result.folder, site, "clients-test", ("insurer",))
    assert list(found.by_receiver) == ["insurer"]
    again = predict_jointly(result.folder, site, "clients-test", ("bank", "telephone"))
    assert list(again.by_receiver) == ["bank", "telephone"]
    assert found.common == again.common == result.summary["test_rows"]
    # Weights are floats, scores within a unit: answers are the same whoever receives them.
    by_id = [
        dict(zip(one.ids.to_rows(), one.probabilities[:, 1].tolist(), strict=True))
        for one in (found.by_receiver["insurer"], *again.by_receiver.values())
    ]
    assert by_id[0].keys() == by_id[1].keys() == by_id[2].keys()
    for other in by_id[1:]:
        assert max(abs(by_id[0][person] - other[person]) for person in other) < 1e-8


def test_the_guest_alone_receives_unless_others_are_named(trained) -> None:
    _, site, result = trained
    found = predict_jointly(result.folder, site, "clients-test")
    (answers,) = found.by_receiver.values()
    assert list(found.by_receiver) == ["bank"]
    assert answers.metrics["auc"] == pytest.approx(result.summary["results"][0]["metrics"]["auc"])
    assert found.sizes == {"bank": 40, "insurer": 40, "telephone": 40}


def test_answers_stand_in_the_receivers_own_order(trained) -> None:
    firms, site, result = trained
    answers = predict_jointly(result.folder, site, "clients-test").by_receiver["bank"]
    rows = list(csv.DictReader(io.StringIO(answers.to_csv().decode())))
    assert list(rows[0]) == ["id", "prediction", "probability_repaid", "probability_defaulted"]
    with (firms.folder / "bank-clients-test.csv").open() as file:
        own = [row["person"] for row in csv.DictReader(file)]
    told = [row["id"] for row in rows]
    assert told == [person for person in own if person in set(told)]
    assert all(row["prediction"] in ("repaid", "defaulted") for row in rows)


def test_a_host_that_receives_sees_no_labels(trained) -> None:
    _, site, result = trained
    answers = predict_jointly(result.folder, site, "clients-test", ("insurer",)).by_receiver["insurer"]
    assert answers.metrics == {}


def test_ledgers_of_a_prediction_can_be_audited(trained) -> None:
    _, site, result = trained
    found = predict_jointly(result.folder, site, "clients-test")
    assert found.folder.parent == result.folder / "predictions"
    keys = json.loads((found.folder / "parties.json").read_text())
    learned = {}
    for name in ("bank", "insurer", "telephone"):
        report = audit(found.folder / "ledger" / f"{name}.jsonl", PartyPublicKey.from_text(keys[name]))
        assert report.signed
        learned[name] = " ".join(note.what for note in report.notes)
    assert "the score of every row, to 2^-12" in learned["bank"]
    assert "score" not in learned["insurer"]


def test_rows_with_a_budget_are_predicted_only_where_their_site_waives_it(trained) -> None:
    firms, _, result = trained
    grant = "[party.insurer.privacy]\ndata_set = 'clients'\nepsilon = 1.0\ndelta = 1e-6\n"
    firms.write_site(more=grant)
    with pytest.raises(PolicyError, match="the rows of insurer have a privacy budget, and this is without noise"):
        predict_jointly(result.folder, load_site(firms.folder / "site.toml"), "clients-test")
    firms.write_site(firms.POLICY + "budget_waiver = true\n", more=grant)
    found = predict_jointly(result.folder, load_site(firms.folder / "site.toml"), "clients-test")
    keys = json.loads((found.folder / "parties.json").read_text())
    told = {
        name: audit(found.folder / "ledger" / f"{name}.jsonl", PartyPublicKey.from_text(keys[name])).privacy
        for name in ("bank", "insurer", "telephone")
    }
    assert [name for name, privacy in told.items() if privacy is not None and privacy.waived] == ["insurer"]


def test_columns_beside_those_of_the_model_are_ignored_and_told(trained) -> None:
    firms, site, result = trained
    firms.write_table(
        "insurer",
        40,
        data="clients-test",
        seed=4,
        header=["person", "note", "age", "claims"],
        change=lambda rows: [[row[0], "a text", row[2], row[1]] for row in rows],
    )
    found = predict_jointly(result.folder, site, "clients-test", ("insurer", "bank"))
    assert found.by_receiver["insurer"].ignored == ("note",)
    assert found.by_receiver["bank"].metrics["auc"] == pytest.approx(result.summary["results"][0]["metrics"]["auc"])


def test_rows_without_labels_get_answers_too(trained) -> None:
    firms, _, result = trained
    site_text = (firms.folder / "site.toml").read_text()
    (firms.folder / "site.toml").write_text(site_text.replace("label = 'outcome'", "ignore = ['outcome']"))
    found = predict_jointly(result.folder, load_site(firms.folder / "site.toml"), "clients-test")
    assert found.by_receiver["bank"].metrics == {}
    assert len(found.by_receiver["bank"]) == found.common


REFUSED = {
    "a stranger": ({"receivers": ("eve",)}, JobError, "one or more of bank, insurer, telephone"),
    "nothing of that name": ({"data_name": "nobody"}, JobError, "no data called 'nobody' for bank"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_predicted(case, trained) -> None:
    _, site, result = trained
    changes, kind, words = REFUSED[case]
    with pytest.raises(kind) as caught:
        predict_jointly(**{"run_folder": result.folder, "site": site, "data_name": "clients-test", **changes})
    assert words in str(caught.value)
    assert not (result.folder / "predictions").exists()


def test_a_missing_column_is_named(trained) -> None:
    firms, site, result = trained
    firms.write_table("insurer", 40, data="clients-test", header=["person", "claims", "years"])
    with pytest.raises(InputError, match="without 'age'"):
        predict_jointly(result.folder, site, "clients-test")


def test_a_model_without_one_of_its_parts_is_refused(trained) -> None:
    _, site, result = trained
    (result.folder / "parts" / "telephone.npz").unlink()
    with pytest.raises(StateError, match="none of telephone"):
        predict_jointly(result.folder, site, "clients-test")
    shutil.rmtree(result.folder / "parts")
    with pytest.raises(StateError, match="does not hold the whole model"):
        predict_jointly(result.folder, site, "clients-test")


@pytest.mark.long
def test_parts_of_two_models_are_refused(trained) -> None:
    firms, site, result = trained
    other = run_vertical_job(firms.load_inputs(), firms.folder / "other")
    shutil.copy(other.folder / "parts" / "insurer.npz", result.folder / "parts" / "insurer.npz")
    with pytest.raises(StateError, match="of different models"):
        predict_jointly(result.folder, site, "clients-test")


@pytest.mark.long
def test_shares_predict_what_the_run_predicted(firms, key_files) -> None:
    firms.write_site(party=key_files)
    firms.write_job("[protection]\nkey_bits = 2048\nkind = 'none'\n", test_data='"clients-test"')
    inputs = firms.load_inputs()
    result = run_vertical_job(inputs, firms.folder / "runs")
    found = predict_jointly(result.folder, inputs.site, "clients-test", ("insurer", "bank"))
    assert found.by_receiver["bank"].metrics["auc"] == pytest.approx(result.summary["results"][0]["metrics"]["auc"])
    ours, theirs = (
        dict(zip(one.ids.to_rows(), one.probabilities[:, 1].tolist(), strict=True))
        for one in (found.by_receiver["insurer"], found.by_receiver["bank"])
    )
    assert ours == theirs


def test_a_part_holds_nothing_of_another_party(trained) -> None:
    _, _, result = trained
    saved = PARTS.load(result.folder / "parts" / "insurer.npz")
    assert saved.part.columns == ("claims", "age")
    assert set(saved.part.arrays) == {"weights"}
    assert saved.part.arrays["weights"].shape == (2, 1)
    for own in ("income", "debt", "calls", "bills"):
        assert own.encode() not in (result.folder / "parts" / "insurer.npz").read_bytes()


FORGED = {
    "weights of other columns": (lambda m, a: (m, {**a, "part/weights": np.zeros((3, 1))})),
    "weights that are no numbers": (lambda m, a: (m, {**a, "part/weights": a["part/weights"] * np.nan})),
    "no intercept": (lambda m, a: (m, {key: one for key, one in a.items() if key != "part/intercept"})),
    "a spread of nothing": (lambda m, a: (m, {**a, "spreads": a["spreads"] * 0})),
    "a stranger's": (lambda m, a: ({**m, "party": "eve"}, a)),
    "no columns": (lambda m, a: ({key: one for key, one in m.items() if key != "columns"}, a)),
    "names that are no texts": (lambda m, a: ({**m, "hosts": [1, 2]}, a)),
    "another form": (lambda m, a: ({**m, "form": "open"}, a)),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_parts_are_refused(case, trained) -> None:
    _, _, result = trained
    path = result.folder / "parts" / "bank.npz"
    metadata, arrays = FORGED[case](*decode_arrays(path.read_bytes(), "model part", "x"))
    path.write_bytes(encode_arrays("model part", metadata, arrays))
    with pytest.raises(StateError, match="does not say how to predict"):
        PARTS.load_all(result.folder)


def test_damaged_and_newer_parts_are_refused(trained) -> None:
    _, _, result = trained
    path = result.folder / "parts" / "bank.npz"
    content = path.read_bytes()
    metadata, arrays = decode_arrays(content, "model part", "x")
    path.write_bytes(encode_arrays("model part", {**metadata, "format": PART_FORMAT.newest + 1}, arrays))
    with pytest.raises(StateError, match="a newer release wrote it"):
        PARTS.load_all(result.folder)
    path.write_bytes(content[:-40])
    with pytest.raises(StateError, match="is damaged"):
        PARTS.load_all(result.folder)


def test_rows_that_are_in_no_common_order_are_refused(trained) -> None:
    firms, site, result = trained
    for path in (result.folder / "parts").iterdir():
        metadata, arrays = decode_arrays(path.read_bytes(), "model part", "x")
        path.write_bytes(encode_arrays("model part", {**metadata, "intersection": "aligned"}, arrays))
    firms.write_table("insurer", 39, data="clients-test")
    with pytest.raises(HekatError, match="bank: 40, insurer: 39"):
        predict_jointly(result.folder, replace(site), "clients-test")
