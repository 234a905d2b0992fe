"""Whole vertical runs as jobs: what they leave behind, and that it is what centralised training gives."""

from __future__ import annotations

import json
import stat

import numpy as np
import pytest

from hekat.channel import PartyPublicKey
from hekat.errors import BoundError, InputError, PartyStoppedError
from hekat.launch.vertical_linear.run import run_vertical_job
from hekat.ledger import audit
from hekat.protocol.vertical_linear.exactness_check import ExactnessCheck
from hekat.report import verdict
from hekat.run.vertical_linear.part_file import PARTS
from hekat.scheme.bfv import CIPHERTEXT_BYTES

COMPARED = "[compare]\ncentralised = true\n[checks]\nexactness = true\n[prediction]\nscore_bits = 32\n"


def run(firms, *args, **changes):
    firms.write_job(*args, **changes)
    return run_vertical_job(firms.load_inputs(), firms.folder / "runs")


@pytest.mark.long
def test_an_encrypted_run_on_shares_leaves_everything_behind(firms, key_files) -> None:
    firms.write_site(party=key_files)
    sections = (
        "[protection]\nkey_bits = 2048\n[training]\nepochs = 2\nbatch_rows = 60\nlearning_rate = 0.3\n" + COMPARED
    )
    result = run(firms, sections, test_data='"clients-test"')
    summary = json.loads((result.folder / "summary.json").read_text())
    assert summary == result.summary
    assert (summary["protocol"], summary["settings"]["form"]) == ("vertical_linear", "shared_weights")
    assert sorted(path.name for path in result.folder.iterdir()) == [
        "checkpoints",
        "events.jsonl",
        "ledger",
        "parties.json",
        "parts",
        "predicted",
        "summary.json",
    ]
    common = summary["intersection"]["common"]
    assert 100 <= common < 120
    assert summary["intersection"]["sizes"] == {"bank": 120, "insurer": 120}
    assert [epoch["epoch"] for epoch in summary["epochs"]] == [1, 2]
    assert summary["epochs"][1]["loss"] < summary["epochs"][0]["loss"]
    assert [result["kind"] for result in summary["results"]] == ["encrypted", "centralised", "scikit-learn"]
    assert summary["compared"]["largest_score_difference"] < 1e-3
    assert summary["compared"]["loss"] == pytest.approx(summary["compared"]["centralised_loss"], abs=1e-4)
    assert summary["results"][0]["metrics"]["auc"] > 0.8
    assert [row["equations"] for row in summary["learned"]] == [0, 0]
    assert summary["exactness"]
    assert all(check["largest_error"] <= check["bound"] for check in summary["exactness"])
    assert sum(summary["parties"][0]["class_rows"].values()) == common
    for parts in summary["seconds_by_part"].values():
        assert sum(parts.values()) == pytest.approx(summary["seconds"]["total"], rel=1e-6)
    sent = sum(role["sent"] for role in summary["bytes"]["by_role"].values())
    assert sent == sum(role["received"] for role in summary["bytes"]["by_role"].values()) > 50_000


def test_each_file_of_a_party_is_its_own_and_private(firms) -> None:
    result = run(firms)
    for folder in ("parts", "checkpoints"):
        assert stat.S_IMODE((result.folder / folder).stat().st_mode) == 0o700
        for path in (result.folder / folder).iterdir():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert path.name.split("-")[0].removesuffix(".npz") in firms.names
    assert sorted(path.name for path in (result.folder / "parts").iterdir()) == ["bank.npz", "insurer.npz"]


@pytest.mark.long
@pytest.mark.parametrize(("model", "protection"), [("logistic", "lattice"), ("linear", "none")])
def test_a_run_with_an_arbiter_is_centralised_training(model, protection, three_firms) -> None:
    firms = three_firms
    changes = {} if model == "logistic" else {"classes": ""}
    if model == "linear":
        firms.write_table("bank", change=lambda rows: [[*row[:-1], 3.0 * row[1] + 7.0] for row in rows])
        firms.write_table(
            "bank",
            40,
            data="clients-test",
            seed=4,
            change=lambda rows: [[*row[:-1], 3.0 * row[1] + 7.0] for row in rows],
        )
    sections = f"[model]\nname = '{model}'\nl2 = 0.01\n{firms.ARBITER}{firms.WAIVER}{COMPARED}".replace(
        "'none'", f"'{protection}'"
    )
    result = run(firms, sections, arbiter='"auditor"', test_data='"clients-test"', **changes)
    summary = result.summary
    assert summary["compared"]["largest_score_difference"] < 1e-4
    assert (summary["settings"]["protection"], summary["settings"]["key_bits"]) == (protection, None)
    assert summary["results"][0]["kind"] == ("plain" if protection == "none" else "encrypted")
    assert summary["bytes"]["ciphertext_bytes"] == (None if protection == "none" else CIPHERTEXT_BYTES)
    assert [row["party"] for row in summary["learned"]] == ["bank", "insurer", "telephone"]
    assert [row["equations"] for row in summary["learned"]] == [9, 6, 6]
    assert all(row["waived"] for row in summary["learned"])
    assert [party["role"] for party in summary["parties"]] == ["guest", "host", "host", "arbiter"]
    assert set(summary["epochs"][0]["gradient_error_bound"]) == {"bank", "insurer", "telephone"}
    parts = PARTS.load_all(result.folder)
    assert {name: saved.part.columns for name, saved in parts.items()} == {
        "bank": ("income", "debt"),
        "insurer": ("claims", "age"),
        "telephone": ("calls", "bills"),
    }
    assert "intercept" in parts["bank"].part.arrays
    assert all("intercept" not in parts[name].part.arrays for name in ("insurer", "telephone"))


@pytest.mark.long
@pytest.mark.parametrize("form", ["arbiter", "shared_weights"])
def test_a_limit_is_one_for_training_and_predictions_and_scikit_learn_has_none(form, firms) -> None:
    limit = "[training]\nepochs = 2\nlimit_spreads = 0.75\n"
    more = firms.ARBITER + firms.WAIVER if form == "arbiter" else "[protection]\nkind = 'none'\n"
    changes = {"arbiter": '"auditor"'} if form == "arbiter" else {}
    found = {
        name: run(firms, settings + more + COMPARED, test_data='"clients-test"', **changes)
        for name, settings in (("limited", limit), ("free", limit.replace("limit_spreads = 0.75\n", "")))
    }
    limited, free = found["limited"].summary, found["free"].summary
    for summary in (limited, free):
        # In shares the guest learns scores to 2^-12, from which the weights of rows follow.
        assert summary["compared"]["largest_score_difference"] < (1e-4 if form == "arbiter" else 0.02)
        assert all(check["largest_error"] <= check["bound"] for check in summary["exactness"])
    assert limited["results"][1]["metrics"] != free["results"][1]["metrics"]
    assert limited["results"][2]["metrics"] == free["results"][2]["metrics"]
    assert limited["settings"]["limit_spreads"] == 0.75
    assert any("beyond 0.75 spreads" in note for note in limited["notes"])
    assert {saved.part.limit_spreads for saved in PARTS.load_all(found["limited"].folder).values()} == {0.75}
    keys = json.loads((found["limited"].folder / "parties.json").read_text())
    for name in firms.names:
        report = audit(found["limited"].folder / "ledger" / f"{name}.jsonl", PartyPublicKey.from_text(keys[name]))
        assert any("more than 0.75 spreads from their mean" in note.what for note in report.notes)


def test_one_ledger_tells_of_rows_and_of_labels(firms) -> None:
    result = run(firms, firms.ARBITER + firms.WAIVER, arbiter='"auditor"')
    keys = json.loads((result.folder / "parties.json").read_text())
    for name in ("bank", "insurer", "auditor"):
        report = audit(result.folder / "ledger" / f"{name}.jsonl", PartyPublicKey.from_text(keys[name]))
        assert report.signed
        assert report.protocol == "vertical_linear"
        noted = " ".join(note.what for note in report.notes)
        assert ("common to all parties" in noted) == (name != "auditor")
        assert ("linear equations over" in noted) == (name != "auditor")
    seen = {view["party"]: view for view in result.summary["seen"]}
    assert set(seen) == {"bank", "insurer", "auditor"}


def test_rows_in_the_same_order_need_no_ids(firms) -> None:
    for name in firms.names:
        firms.write_table(
            name,
            change=lambda rows: [row[1:] for row in sorted(rows)][:100],
            header=[*{"bank": ["income", "debt", "outcome"], "insurer": ["claims", "age"]}[name]],
        )
    site = "\n".join(line for line in (firms.folder / "site.toml").read_text().splitlines() if "id =" not in line)
    (firms.folder / "site.toml").write_text(site.replace("label", "label"))
    firms.write_job("[intersection]\nkind = 'aligned'\n")
    inputs = firms.load_inputs()
    assert inputs.job.intersection is None
    summary = run_vertical_job(inputs, firms.folder / "runs").summary
    assert summary["intersection"] == summary["intersection"] | {"kind": "aligned", "common": 100}
    assert any("nothing was compared" in note for note in summary["notes"])


@pytest.mark.long
def test_blind_signatures_match_rows_too(firms) -> None:
    summary = run(firms, "[intersection]\nkind = 'rsa_blind'\n").summary
    assert (summary["intersection"]["kind"], summary["settings"]["intersection_key_bits"]) == ("rsa_blind", 3072)
    assert summary["intersection"]["common"] > 100


@pytest.mark.long
def test_sparse_columns_stay_sparse(firms) -> None:
    sections = firms.ARBITER + firms.WAIVER + COMPARED
    summary = run(firms, sections, sparse="true", arbiter='"auditor"', test_data='"clients-test"').summary
    assert summary["settings"]["sparse"] is True
    assert summary["compared"]["largest_score_difference"] < 1e-3


def test_three_classes_are_each_against_the_rest(firms) -> None:
    labels = ("low", "middle", "high")
    firms.write_labels(lambda row: labels[int(np.digitize(row[1], (-0.5, 0.5)))])
    sections = firms.ARBITER + firms.WAIVER + COMPARED
    summary = run(
        firms, sections, arbiter='"auditor"', classes='["low", "middle", "high"]', test_data='"clients-test"'
    ).summary
    assert set(summary["parties"][0]["class_rows"]) == set(labels)
    assert summary["compared"]["largest_score_difference"] < 1e-3
    assert summary["results"][0]["metrics"]["auc"] > 0.7


def test_classes_that_are_numbers_the_other_way_round_keep_their_meaning(firms) -> None:
    firms.write_labels(lambda row: int(row[-1] == "defaulted"))
    sections = firms.ARBITER + firms.WAIVER + COMPARED
    found = run(firms, sections, arbiter='"auditor"', classes='["1", "0"]', test_data='"clients-test"').summary
    assert found["compared"]["largest_score_difference"] < 1e-3
    assert found["results"][0]["metrics"]["auc"] > 0.8
    ones = found["parties"][0]["class_rows"]["1"]
    assert 0 < ones < found["intersection"]["common"]


def test_a_run_that_stops_early_says_so(firms) -> None:
    sections = "[training]\nepochs = 9\nbatch_rows = 0\nlearning_rate = 0.0001\npatience = 1\nmin_improvement = 0.5\n"
    summary = run(firms, sections).summary
    assert summary["stopped_early"]
    assert len(summary["epochs"]) < 9


@pytest.mark.parametrize("keep", [0, 1])
def test_too_few_common_rows_are_refused_before_a_run_begins(keep, firms) -> None:
    firms.write_table("insurer", change=lambda rows: [*rows[:keep], *([f"x{row[0]}", *row[1:]] for row in rows[keep:])])
    firms.write_table("bank", change=lambda rows: sorted(rows), count=130)
    with pytest.raises(InputError, match="no row is common" if keep == 0 else "too few rows are common"):
        run(firms)
    assert not (firms.folder / "runs").exists()


def test_a_gradient_beyond_its_bound_stops_the_run(firms, monkeypatch) -> None:
    deposit = ExactnessCheck.deposit

    def deposit_another(self, step, rows, party, parameters, gradient, *more, **named):
        moved = {name: values + 1e-3 for name, values in gradient.items()}
        deposit(self, step, rows, party, parameters, moved, *more, **named)

    monkeypatch.setattr(ExactnessCheck, "deposit", deposit_another)
    with pytest.raises(PartyStoppedError) as caught:
        run(firms, firms.ARBITER + firms.WAIVER + "[checks]\nexactness = true\n", arbiter='"auditor"')
    assert isinstance(caught.value.__cause__, BoundError)


@pytest.mark.long
def test_metrics_on_the_training_rows_are_named_as_such(firms) -> None:
    found = run(firms, COMPARED, test_data='"clients"').summary
    assert found["test_rows_trained_on"] == found["test_rows"] == found["intersection"]["common"]
    assert any("measured on the training rows" in note for note in found["notes"])
    assert f"{found['test_rows']} training rows" in verdict(found)


@pytest.mark.long
def test_test_rows_that_are_training_rows_are_found_under_another_name(firms) -> None:
    """Forty new people, and the first training rows of every party again."""
    for party in firms.names:
        trained = (firms.folder / f"{party}-clients.csv").read_text().splitlines()[1:]
        new = (firms.folder / f"{party}-clients-test.csv").read_text().splitlines()
        (firms.folder / f"{party}-clients-test.csv").write_text(
            "\n".join([new[0], *(f"q{row[1:]}" for row in new[1:]), *trained])
        )
    found = run(firms, test_data='"clients-test"').summary
    assert found["test_rows_trained_on"] == found["intersection"]["common"] < found["test_rows"]
    firms.write_table("bank", 40, data="clients-test", seed=4)
    firms.write_table("insurer", 40, data="clients-test", seed=4)
    assert run(firms, test_data='"clients-test"').summary["test_rows_trained_on"] == 0
