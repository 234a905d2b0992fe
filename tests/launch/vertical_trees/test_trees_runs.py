"""Jobs of trees across columns as runs on one machine: what they leave, and that they go on where they stopped."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hekat.data.columns.findings import ColumnsRefusedError
from hekat.errors import BoundError, InputError, PartyStoppedError, PolicyError, StateError
from hekat.job.site_file import load_site
from hekat.launch.local.processes import JobFiles
from hekat.launch.vertical_trees.predict import predict_trees_jointly
from hekat.launch.vertical_trees.run import run_trees_in_processes, run_trees_job
from hekat.report import brief_of, load_summary
from hekat.report.views import render_page, terminal_findings, terminal_tables
from hekat.run.vertical_trees.part_file import TREE_PARTS
from hekat.state.array_file import decode_arrays, encode_arrays

MEASURED = "[validation]\nhold_out = 0.25\n[compare]\ncentralised = true\n"


def test_plain_trees_beside_a_run_leave_hosts_out_of_the_first_iterations_too(clinics, tmp_path) -> None:
    clinics.write_job(f"{MEASURED}[protection]\nkind = 'none'\nlabel_party_first_trees = 2\n")
    summary = load_summary(run_trees_job(clinics.load_inputs(), tmp_path / "runs").folder)
    owners = [{node["owner"] for node in tree["nodes"]} for tree in summary["trees"]]
    assert "laboratory" not in owners[0]
    assert "laboratory" in {one["owner"] for one in summary["importance"]}
    assert summary["compared"]["largest_score_difference"] < 1e-12


@pytest.mark.long
@pytest.mark.parametrize("kind", ["none", "lattice"])
def test_a_run_equals_plain_trees_on_the_joined_rows(clinics, tmp_path, kind: str) -> None:
    clinics.write_job(f"{MEASURED}[protection]\nkind = '{kind}'\n")
    result = run_trees_job(clinics.load_inputs(), tmp_path / "runs")
    summary = load_summary(result.folder)
    own, plain, _ = summary["results"]
    assert own["kind"] == ("plain" if kind == "none" else "encrypted")
    assert own["metrics"] == plain["metrics"]
    assert own["metrics"]["auc"] > 0.9
    assert summary["compared"]["largest_score_difference"] < 1e-12
    assert [one["iteration"] for one in summary["iterations"]] == [1, 2, 3, 4]
    assert {one["owner"] for one in summary["importance"]} == {"clinic", "laboratory"}
    hidden = [node for tree in summary["trees"] for node in tree["nodes"] if node["owner"] == "laboratory"]
    assert hidden
    assert {node["test"] for node in hidden} == {None}
    page = render_page(summary)
    assert ("This run was NOT protected" in page) == (kind == "none")
    assert "threshold" in page
    assert len(terminal_tables(summary)) > 4
    assert terminal_findings(summary)
    if kind == "lattice":
        assert "each of 20 rows or more" in dict(brief_of(summary).facts)["protected"]


def test_a_hidden_partition_is_said_to_open_sums_of_few_rows(clinics, tmp_path) -> None:
    clinics.write_site("[policy]\nbin_leak_waiver = true\nhide_partition = true\n")
    clinics.write_job("[protection]\nhide_partition = true\n", training="[training]\nmax_iter = 1\nmax_depth = 2\n")
    summary = run_trees_job(clinics.load_inputs(), tmp_path / "runs").summary
    told = dict(brief_of(summary).facts)["protected"]
    assert "of fewer than 20 rows too. Hosts did not see which rows a node has" in told
    assert any("clinic opened sums of fewer than 20 rows too" in note for note in summary["notes"])


def test_categories_and_gaps_of_the_table_reach_the_trees(clinics, tmp_path) -> None:
    inputs = clinics.load_inputs()
    clinic = inputs.tables["clinic"]
    assert clinic.categories == ("texture",)
    assert np.isnan(clinic.features[:, clinic.feature_names.index("radius")]).any()
    result = run_trees_job(inputs, tmp_path / "runs")
    tests = {node["test"] for tree in result.summary["trees"] for node in tree["nodes"] if node["column"] == "texture"}
    named = {word for test in tests for word in ("low", "middle", "high") if word in test}
    assert named or not tests
    assert any("empty cells of column 'radius' left empty" in note for note in result.summary["notes"])


@pytest.mark.long
def test_a_stopped_run_goes_on_from_its_last_tree_and_ends_as_if_it_had_not_stopped(
    clinics, tmp_path, monkeypatch
) -> None:
    whole = run_trees_job(clinics.load_inputs(), tmp_path / "whole")

    def leave(observer, role, record):
        if role == "laboratory" and record.iteration == 2:
            raise RuntimeError("power cut")

    with monkeypatch.context() as patched:
        patched.setattr("hekat.launch.vertical.run_observer.RunObserver.note_step", leave)
        with pytest.raises(PartyStoppedError) as stopped:
            run_trees_job(clinics.load_inputs(), tmp_path / "stopped")
    assert "iteration" in stopped.value.saved
    (folder,) = (tmp_path / "stopped").iterdir()
    again = run_trees_job(clinics.load_inputs(), tmp_path / "again", resume_from=folder)
    assert [one["loss"] for one in again.summary["iterations"]] == [one["loss"] for one in whole.summary["iterations"]]
    parts = {name: TREE_PARTS.load_all(run.folder) for name, run in (("whole", whole), ("again", again))}
    for party in clinics.names:
        for name, values in parts["whole"][party].part.arrays.items():
            assert np.array_equal(values, parts["again"][party].part.arrays[name]), (party, name)
    with pytest.raises(StateError, match="is finished"):
        run_trees_job(clinics.load_inputs(), tmp_path / "third", resume_from=whole.folder)


@pytest.mark.long
def test_new_rows_are_predicted_jointly_and_counted(clinics, tmp_path) -> None:
    run = run_trees_job(clinics.load_inputs(), tmp_path / "runs")
    site = load_site(clinics.folder / "site.toml")
    found = predict_trees_jointly(run.folder, site, "patients", ["clinic", "laboratory"])
    assert found.common == 300
    clinic, laboratory = found.by_receiver["clinic"], found.by_receiver["laboratory"]
    assert clinic.metrics["accuracy"] > 0.85
    of_clinic = dict(zip(map(tuple, clinic.ids.to_rows()), clinic.probabilities[:, 1], strict=True))
    of_laboratory = dict(zip(map(tuple, laboratory.ids.to_rows()), laboratory.probabilities[:, 1], strict=True))
    assert of_clinic == of_laboratory
    clinics.write_site("[policy]\nprotections = ['none']\nbin_leak_waiver = true\nmax_predictions = 599\n")
    with pytest.raises(PartyStoppedError) as stopped:
        predict_trees_jointly(run.folder, load_site(clinics.folder / "site.toml"), "patients")
    assert isinstance(stopped.value.__cause__, PolicyError)


def test_the_ledger_says_what_sums_tell(clinics, tmp_path) -> None:
    run = run_trees_job(clinics.load_inputs(), tmp_path / "runs")
    seen = {view["party"]: view for view in run.summary["seen"]}
    assert any("the guest opens at most" in row["what"] for row in seen["laboratory"]["noted"])
    assert any("joined bin" in row["what"] for row in seen["clinic"]["learned"])


def test_a_job_that_waives_nothing_is_refused_before_it_begins(clinics) -> None:
    clinics.write_job(waiver="")
    with pytest.raises(PolicyError, match="sums of gradients would tell the guest the bins"):
        clinics.load_inputs()


def test_too_few_rows_for_a_split_are_refused_before_it_begins(clinics) -> None:
    clinics.write_tables(30)
    with pytest.raises(InputError, match="too few rows for a split"):
        clinics.load_inputs()


def test_sums_beyond_the_room_and_odds_beyond_the_bound_are_refused_before_it_begins(clinics) -> None:
    clinics.write_job("[protection]\nkind = 'lattice'\n", training="[training]\ngradient_bits = 32\n")
    with pytest.raises(BoundError, match=r"no room for sums of this size.*lower training\.gradient_bits"):
        clinics.load_inputs()
    many = "[training]\nmax_iter = 100000\nmax_bins = 255\nmin_samples_leaf = 1\nmax_depth = 16\ngradient_bits = 16\n"
    clinics.write_job("[protection]\nkind = 'lattice'\n", training=many)
    with pytest.raises(BoundError, match="noise of sums would show with too large odds"):
        clinics.load_inputs()


def test_more_bins_than_the_guest_has_room_for_are_refused_before_it_begins(clinics) -> None:
    clinics.write_job("[protection]\nkind = 'none'\nmax_level_sums = 407\n")
    with pytest.raises(BoundError, match="laboratory have more bins"):
        clinics.load_inputs()
    clinics.write_job("[protection]\nkind = 'none'\nmax_level_sums = 408\n")
    assert clinics.load_inputs().job.settings.max_level_sums == 408  # 6 columns of 17 bins in 4 nodes


def test_sums_beyond_the_memory_of_a_site_end_the_run_by_name(clinics, tmp_path) -> None:
    clinics.write_job("[protection]\nkind = 'lattice'\n", training="[training]\nmax_iter = 1\nmax_depth = 2\n")
    clinics.write_site("[policy]\nbin_leak_waiver = true\nmax_sum_memory_mib = 1\n")
    with pytest.raises(PartyStoppedError) as stopped:
        run_trees_job(clinics.load_inputs(), tmp_path / "runs")
    assert "laboratory" in str(stopped.value)
    assert "policy.max_sum_memory_mib" in str(stopped.value)


@pytest.mark.long_cases("clinic-part/node_column-<lambda>")
@pytest.mark.parametrize(
    ("party", "array", "change"),
    [
        ("clinic", "part/node_left", lambda values: np.zeros_like(values)),
        ("clinic", "part/node_column", lambda values: values + 50),
        ("clinic", "part/node_value", lambda values: values * np.inf),
        ("clinic", "part/tree_starts", lambda values: values[::-1].copy()),
        ("laboratory", "part/split_columns", lambda values: values + 50),
        ("laboratory", "part/split_left", lambda values: values[:, :3].copy()),
        ("laboratory", "part/edges", lambda values: values[::-1].copy()),
    ],
)
def test_a_damaged_part_is_refused(clinics, tmp_path, party: str, array: str, change) -> None:
    run = run_trees_job(clinics.load_inputs(), tmp_path / "runs")
    path = run.folder / "parts" / f"{party}.npz"
    metadata, arrays = decode_arrays(path.read_bytes(), "trees part", "part")
    with np.errstate(invalid="ignore"):
        arrays = {**arrays, array: change(arrays[array])}
    path.write_bytes(encode_arrays("trees part", metadata, arrays))
    with pytest.raises(StateError):
        TREE_PARTS.load_all(run.folder)


@pytest.mark.long
def test_events_tell_the_iterations(clinics, tmp_path) -> None:
    run = run_trees_job(clinics.load_inputs(), tmp_path / "runs")
    events = [json.loads(line) for line in (run.folder / "events.jsonl").read_text().splitlines()]
    assert [event["iteration"] for event in events if event["event"] == "iteration"] == [1, 2, 3, 4]
    # The last one tells the loss of the final model, and not of the model before it.
    site = load_site(clinics.folder / "site.toml")
    found = predict_trees_jointly(run.folder, site, "patients", ["clinic"]).by_receiver["clinic"]
    losses = [event["loss"] for event in events if event["event"] == "iteration"]
    assert losses[-1] == pytest.approx(found.metrics["log_loss"])
    assert losses[-1] < min(losses[:-1])


@pytest.mark.long
def test_roles_in_processes_of_their_own_grow_the_same_trees(clinics, tmp_path) -> None:
    clinics.write_job("[protection]\nkind = 'lattice'\n")
    together = run_trees_job(clinics.load_inputs(), tmp_path / "together")
    files = JobFiles(clinics.job, clinics.folder / "site.toml", None, {})
    apart = run_trees_in_processes(clinics.load_inputs(), files, tmp_path / "apart")
    assert apart.summary["played"] == "at once"
    losses = [[one["loss"] for one in run.summary["iterations"]] for run in (together, apart)]
    assert losses[0] == losses[1]
    parts = [TREE_PARTS.load_all(run.folder) for run in (together, apart)]
    for party in clinics.names:
        for name, values in parts[0][party].part.arrays.items():
            assert np.array_equal(values, parts[1][party].part.arrays[name]), (party, name)


def test_a_job_that_says_nothing_of_columns_takes_empty_cells_and_shows_lines_without_fills_for_texts(clinics) -> None:
    """A text among numbers, texts with gaps, and numbers with gaps, which trees take as they are."""
    text = clinics.job.read_text().partition("[columns.texture]")[0]
    clinics.job.write_text(text)
    laboratory, clinic = clinics.folder / "laboratory.csv", clinics.folder / "clinic.csv"
    header, first, *rows = laboratory.read_text().splitlines()
    laboratory.write_text("\n".join([header, first.rpartition(",")[0] + ",inf", *rows]) + "\n")
    header, *rows = clinic.read_text().splitlines()
    cells = [row.split(",") for row in rows]
    clinic.write_text("\n".join([header, *(",".join([one[0], "", *one[2:]]) for one in cells[:9]), *rows[9:]]) + "\n")
    with pytest.raises(ColumnsRefusedError) as caught:
        clinics.load_inputs()
    lines = caught.value.lines
    said = lines[lines.index("lines for the job, once looked through (the same at every party):") + 1 :]
    assert [line.split()[0] for line in said if line.startswith("[")] == ["[columns.texture]", "[columns.m5]"]
    assert not any(line.startswith(("fill", "missing")) for line in said)
    clinics.job.write_text(text + "\n".join(said) + "\n")
    assert clinics.load_inputs().tables["clinic"].categories == ("texture",)
