"""Jobs of split networks as runs on one machine: what they leave, and that they go on where they stopped."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from hekat.cli.main import main
from hekat.errors import InputError, JobError, PartyStoppedError, PolicyError, StateError
from hekat.job.site_file import load_site
from hekat.launch.local.processes import JobFiles
from hekat.launch.vertical_network.predict import predict_network_jointly
from hekat.launch.vertical_network.run import run_network_in_processes, run_network_job
from hekat.protocol.vertical_network.settings import LABELS_ACCEPTED, SLOPES_ACCEPTED
from hekat.report import brief_of, load_summary
from hekat.report.views import render_page, terminal_findings, terminal_tables
from hekat.run.vertical.own_labels import check_keeps_flips, own_labels_of
from hekat.run.vertical_network.part_file import NETWORK_PARTS
from hekat.state.array_file import decode_arrays, encode_arrays

POLICY = "[policy]\nprotections = ['lattice']\ncolumn_leak_waiver = true\n"
LONGER = "[training]\nepochs = 10\nbatch_rows = 30\nlearning_rate = 0.02\n"
MEASURED = "[validation]\nhold_out = 0.25\n[compare]\ncentralised = true\n"


@pytest.mark.quick_cases("lattice")
@pytest.mark.parametrize("kind", ["none", "lattice"])
def test_a_run_says_who_learned_what_and_stands_beside_the_same_network_on_the_joined_rows(
    clinics, tmp_path, kind: str
) -> None:
    clinics.write_job(f"{MEASURED}[protection]\nkind = '{kind}'\n", training=LONGER)
    summary = load_summary(run_network_job(clinics.load_inputs(), tmp_path / "runs").folder)
    own, joined = summary["results"]
    assert own["kind"] == ("plain" if kind == "none" else "encrypted")
    # Weights begin with secrets: in 25 runs the run had 0.91 or more, and the joined network's loss was below 0.4.
    assert own["metrics"]["auc"] > 0.6
    assert joined["metrics"].keys() == own["metrics"].keys()
    assert summary["compared"]["centralised_loss"] < 0.6
    assert [one["epoch"] for one in summary["epochs"]] == list(range(1, 11))
    assert summary["learned"] == [{"host": "laboratory", "features": 5, "directions": 5}]
    assert summary["bottoms"] == {"clinic": "dense", "laboratory": "random_features"}
    page = render_page(summary)
    assert ("This run was NOT protected" in page) == (kind == "none")
    assert "5 of 5 directions, but for a rotation" in page
    assert len(terminal_tables(summary)) > 4
    assert terminal_findings(summary)
    brief = brief_of(summary)
    assert any("Each host WAIVED" in warning for warning in brief.warnings)
    if kind == "lattice":
        assert "no gradient opens to a host" in dict(brief.facts)["protected"]


def test_a_stopped_run_goes_on_from_its_last_epoch(clinics, tmp_path) -> None:
    folder, stopped = clinics.stop_in_epoch_2(tmp_path / "stopped")
    assert "epoch" in stopped.saved
    summary = clinics.check_goes_on(folder, tmp_path)
    assert any("goes on from epoch" in note for note in summary["notes"])


def test_a_run_begins_with_the_network_of_another_and_no_other_model_will_do(clinics, tmp_path) -> None:
    first = run_network_job(clinics.load_inputs(), tmp_path / "runs")
    then = run_network_job(clinics.load_inputs(), tmp_path / "runs", start_from=first.folder)
    assert then.summary["started_from"] == first.folder.name
    assert then.summary["epochs"][0]["loss"] < first.summary["epochs"][0]["loss"]
    parts = [NETWORK_PARTS.load_all(run.folder)["clinic"].part.epochs for run in (first, then)]
    assert parts == [3, 3]
    clinics.write_job(network="[network]\nunits = 7\nguest_width = 4\nhost_width = 5\n")
    with pytest.raises(InputError, match="a warm start from other"):
        run_network_job(clinics.load_inputs(), tmp_path / "refused", start_from=first.folder)
    assert not (tmp_path / "refused").exists()
    with pytest.raises(StateError, match="is finished"):
        run_network_job(clinics.load_inputs(), tmp_path / "refused", resume_from=first.folder)


def test_new_rows_are_predicted_jointly_and_counted(clinics, tmp_path) -> None:
    both = ["clinic", "laboratory"]
    open_site = "[policy]\nprotections = ['none']\ncolumn_leak_waiver = true\n"
    clinics.write_job(f"[label_leak]\naccepted = '{LABELS_ACCEPTED}'\n")
    site = load_site(clinics.write_site(f"{open_site}label_leak_waiver = true\n"))
    run = run_network_job(clinics.load_inputs(), tmp_path / "runs")
    found = predict_network_jointly(run.folder, site, "patients", both)
    assert found.common == 160
    clinic, laboratory = found.by_receiver["clinic"], found.by_receiver["laboratory"]
    assert clinic.metrics.keys() == {"accuracy", "log_loss", "auc"}
    of_clinic = dict(zip(map(tuple, clinic.ids.to_rows()), clinic.probabilities[:, 1], strict=True))
    of_laboratory = dict(zip(map(tuple, laboratory.ids.to_rows()), laboratory.probabilities[:, 1], strict=True))
    assert of_clinic == of_laboratory
    clinics.write_site(f"{open_site}max_predictions = 319\n")
    with pytest.raises(PartyStoppedError) as stopped:
        predict_network_jointly(run.folder, load_site(clinics.folder / "site.toml"), "patients")
    assert isinstance(stopped.value.__cause__, PolicyError)


@pytest.mark.parametrize(
    ("section", "allowed", "line"),
    [
        (f"[label_leak]\naccepted = '{LABELS_ACCEPTED}'\n", "label_leak_waiver = true", "policy.label_leak_waiver"),
        ("[label_privacy]\nepsilon = 3.5\n", "max_label_epsilon = 4", "policy.max_label_epsilon"),
    ],
)
def test_parts_and_the_guests_site_say_whether_hosts_receive_scores(
    clinics, tmp_path, section: str, allowed: str, line: str
) -> None:
    """Whatever the summary says, or where there is none."""
    both = ["clinic", "laboratory"]
    open_site = "[policy]\nprotections = ['none']\ncolumn_leak_waiver = true\n"
    state = {"clinic": "state = 'kept'"}
    clinics.write_job(section)
    clinics.write_site(f"{open_site}{allowed}\n", state)
    run = run_network_job(clinics.load_inputs(), tmp_path / "runs")
    for path in (*run.folder.glob("summary*"), *run.folder.glob("results/*")):
        path.unlink()
    site = load_site(clinics.write_site(open_site, state))
    with pytest.raises(PolicyError, match=line):
        predict_network_jointly(run.folder, site, "patients", both)
    site = load_site(clinics.write_site(f"{open_site}{allowed}\n", state))
    assert set(predict_network_jointly(run.folder, site, "patients", both).by_receiver) == set(both)


@pytest.mark.parametrize(
    ("policy", "line"),
    [
        ("protections = ['none']", "policy.column_leak_waiver"),
        ("column_leak_waiver = true", "policy.protections"),
    ],
)
def test_a_site_that_takes_its_word_back_predicts_no_more(clinics, tmp_path, policy: str, line: str) -> None:
    run = run_network_job(clinics.load_inputs(), tmp_path / "runs")
    clinics.write_site(f"[policy]\n{policy}\n")
    with pytest.raises(PolicyError, match=line):
        predict_network_jointly(run.folder, load_site(clinics.folder / "site.toml"), "patients")


def test_label_privacy_needs_a_place_to_keep_what_is_replaced(clinics, tmp_path) -> None:
    clinics.write_job("[protection]\nkind = 'none'\n[label_privacy]\nepsilon = 2\n")
    with pytest.raises(JobError, match=r"add state = \"state/clinic\""):
        clinics.load_inputs()
    clinics.write_site(party={"clinic": "state = 'kept'"})
    inputs = clinics.load_inputs()
    assert not (clinics.folder / "kept").exists()
    run = run_network_job(inputs, tmp_path / "runs")
    kept = (clinics.folder / "kept" / "label_flips").read_bytes()
    assert any("labels were replaced once by chance (epsilon 2)" in note for note in run.summary["notes"])
    assert any(
        "new flips: labels are replaced by a key that began with this run" in note for note in run.summary["notes"]
    )
    again = run_network_job(clinics.load_inputs(), tmp_path / "runs")
    assert not any("new flips" in note for note in again.summary["notes"])
    assert (clinics.folder / "kept" / "label_flips").read_bytes() == kept
    other = replace(inputs, job=replace(inputs.job, settings=replace(inputs.job.settings, label_privacy=3.0)))
    with pytest.raises(PartyStoppedError) as stopped:
        run_network_job(other, tmp_path / "runs")
    assert isinstance(stopped.value.__cause__, PolicyError)


@pytest.mark.parametrize("state", ["runs/20260101T000000Z-0123ab/state", "runs/state"])
def test_flips_that_would_go_with_a_run_are_refused_before_anything_is_written(clinics, state) -> None:
    """In a folder of runs they would be thrown away with it, and fresh ones in the next run add up with these."""
    clinics.write_job("[protection]\nkind = 'none'\n[label_privacy]\nepsilon = 2\n")
    clinics.write_site(party={"clinic": f"state = '{state}'"})
    with pytest.raises(JobError, match="the state folder of clinic lies among runs") as refused:
        run_network_job(clinics.load_inputs(), clinics.folder / "runs")
    assert 'such as to "state/clinic"' in str(refused.value)
    files = JobFiles(clinics.job, clinics.folder / "site.toml", None, {})
    with pytest.raises(JobError, match="the state folder of clinic lies among runs"):
        run_network_in_processes(clinics.load_inputs(), files, clinics.folder / "runs")
    assert not (clinics.folder / "runs").exists()


def test_labels_of_a_run_answer_to_the_name_that_the_site_gives_them(clinics) -> None:
    """A job could call the same rows by two names, or its site hold the same labels in two files."""
    clinics.write_job("[protection]\nkind = 'none'\n[label_privacy]\nepsilon = 2\n")
    path = clinics.write_site(party={"clinic": "state = 'kept'"})
    second = "[party.clinic.data.people]\nsource = 'csv'\npath = 'clinic.csv'\nid = 'patient'\nlabel = 'label'\n"
    unnamed = "[party.clinic.data.made]\nsource = 'python'\nfunction = 'rows:make'\nid = 'patient'\n"
    arrays = "[party.clinic.data.arrays]\nsource = 'npy'\nfeatures = 'x.npy'\nlabels = 'copied/y.npy'\n"
    job, whole = clinics.load_inputs().job, path.read_text()
    path.write_text(f"{whole}{second}{unnamed}{arrays}")
    site = load_site(path)
    names = {data: own_labels_of(site, replace(job, data=data), "clinic").name for data in ("patients", "people")}
    assert names == {"patients": "label", "people": "label"}
    for data in ("made", "arrays"):
        with pytest.raises(JobError, match=rf'add label_name = "NAME" under \[party.clinic.data.{data}\]'):
            check_keeps_flips(site, replace(job, data=data))
    path.write_text(f"{whole}{second}{unnamed}label_name = 'label'\n{arrays}label_name = 'label'\n")
    site = load_site(path)
    for data in ("made", "arrays"):
        assert own_labels_of(site, replace(job, data=data), "clinic").name == "label"


def test_a_guest_with_arrays_names_its_labels_and_answers_for_them_once(clinics, tmp_path) -> None:
    """Its table of the same labels, whose ids have a name, gets no flips of its own: two would tell twice as much."""
    clinics.write_job("[protection]\nkind = 'none'\n[label_privacy]\nepsilon = 2\n")
    path = clinics.write_site(party={"clinic": "state = 'kept'"})
    of_table = clinics.load_inputs()
    header, *rows = (line.split(",") for line in (clinics.folder / "clinic.csv").read_text().split())
    radius, label, patient = (header.index(name) for name in ("radius", "label", "patient"))
    np.save(clinics.folder / "x.npy", np.array([[float(row[radius])] for row in rows]))
    np.save(clinics.folder / "y.npy", np.array([row[label] for row in rows]))
    np.save(clinics.folder / "ids.npy", np.array([row[patient] for row in rows]))
    table, job = path.read_text(), clinics.job.read_text()
    begin, end = table.index("source = 'csv'"), table.index("[party.laboratory")
    arrays = "source = 'npy'\nfeatures = 'x.npy'\nlabels = 'y.npy'\nids = 'ids.npy'\n"
    clinics.job.write_text(job[: job.index("[columns.texture]")])
    path.write_text(table[:begin] + arrays + table[end:])
    with pytest.raises(JobError, match="does not name its labels"):
        clinics.load_inputs()
    path.write_text(table[:begin] + arrays + "label_name = 'label'\n" + table[end:])
    first, again = (run_network_job(clinics.load_inputs(), tmp_path / "runs") for _ in range(2))
    told = [any("new flips" in note for note in run.summary["notes"]) for run in (first, again)]
    assert told == [True, False]
    with pytest.raises(PartyStoppedError, match="other id columns"):
        run_network_job(of_table, tmp_path / "runs")


def test_more_columns_than_the_layer_takes_are_refused_before_it_begins(clinics) -> None:
    names = [f"m{number}" for number in range(257)]
    rows = [",".join([f"p{row}", *(f"{(row + number) % 7}" for number in range(257))]) for row in range(160)]
    (clinics.folder / "laboratory.csv").write_text("\n".join([",".join(["patient", *names]), *rows]) + "\n")
    clinics.load_inputs()
    clinics.write_job("[protection]\nkind = 'none'\nhost_bottom = 'source'\n")
    with pytest.raises(InputError, match="more columns than the interactive layer takes"):
        clinics.load_inputs()


def test_a_dry_run_says_who_would_learn_what_and_writes_nothing(clinics, monkeypatch, capsys) -> None:
    monkeypatch.chdir(clinics.folder)
    clinics.write_job(MEASURED)
    assert main(["run", "job.toml", "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["protocol"] == "vertical_network"
    assert [party["learns"] for party in told["parties"]] == [
        "features of hosts but for a rotation",
        "nothing of labels: no gradient opens to it",
    ]
    assert (told["estimate"]["epochs"], told["estimate"]["batches"]) == (3, 3)
    assert told["estimate"]["total"]["sent_bytes"] > 0
    assert told["prediction"]["rows_at_most"] == 40
    assert not (clinics.folder / "runs").exists()
    trained = f"[protection]\nkind = 'lattice'\nhost_bottom = 'trained'\n[slope_leak]\naccepted = '{SLOPES_ACCEPTED}'\n"
    clinics.write_job(f"{trained}[label_privacy]\nepsilon = 2\n")
    clinics.write_site(f"{POLICY}slope_leak_waiver = true\n", party={"clinic": "state = 'kept'"})
    assert main(["run", "job.toml", "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["parties"][1]["learns"] == "what replaced labels tell, epsilon 2, and something of all others' columns"
    assert not (clinics.folder / "kept").exists()


@pytest.mark.parametrize(
    ("party", "array", "change"),
    [
        ("clinic", "part/top/layer_1.weight", lambda values: values[:-1].copy()),
        ("clinic", "part/interactive/weight", lambda values: values * np.inf),
        ("clinic", "part/share/laboratory", lambda values: values[:-1].copy()),
        ("clinic", "part/target_spread", lambda values: np.zeros(3)),
        ("laboratory", "part/share/laboratory", lambda values: values.astype(np.float64)),
        ("laboratory", "part/bottom/weight", lambda values: values[:, :2].copy()),
        ("laboratory", "part/spreads", lambda values: np.zeros_like(values)),
        ("laboratory", "part/means", lambda values: values[:3].copy()),
    ],
)
def test_a_damaged_part_is_refused(clinics, tmp_path, party: str, array: str, change) -> None:
    run = run_network_job(clinics.load_inputs(), tmp_path / "runs")
    path = run.folder / "parts" / f"{party}.npz"
    metadata, arrays = decode_arrays(path.read_bytes(), "network part", "part")
    with np.errstate(invalid="ignore"):
        arrays = {**arrays, array: change(arrays[array])}
    path.write_bytes(encode_arrays("network part", metadata, arrays))
    with pytest.raises(StateError):
        NETWORK_PARTS.load_all(run.folder)


@pytest.mark.long
def test_roles_in_processes_of_their_own(clinics, tmp_path) -> None:
    clinics.write_job("[protection]\nkind = 'lattice'\n")
    files = JobFiles(clinics.job, clinics.folder / "site.toml", None, {})
    apart = run_network_in_processes(clinics.load_inputs(), files, tmp_path / "apart")
    assert apart.summary["played"] == "at once"
    assert [one["epoch"] for one in apart.summary["epochs"]] == [1, 2, 3]
    assert set(NETWORK_PARTS.load_all(apart.folder)) == {"clinic", "laboratory"}
