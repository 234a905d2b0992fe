"""How many rows a site lets be predicted with its part of a model: counted on disk, run after run, and no more."""

from __future__ import annotations

import shutil
import stat
from dataclasses import replace

import pytest

from hekat.channel import PartyKey
from hekat.errors import JobError, PartyStoppedError, PolicyError, StateError
from hekat.job.policy.refusals_ledger import find_refusal_ledgers
from hekat.job.policy.site_lines import SitePolicy
from hekat.job.site_file import load_site
from hekat.launch.vertical_linear.predict import predict_jointly
from hekat.launch.vertical_linear.run import run_vertical_job
from hekat.ledger import audit
from hekat.ledger.refusals import refused_jobs
from hekat.run.vertical.prediction_count import COUNTS_FOLDER, PredictionCount
from hekat.run.vertical_linear.part_file import PARTS
from hekat.state import Counter


def policy(limit: int, firms) -> str:
    return f"{firms.POLICY}max_predictions = {limit}\n"


@pytest.fixture(scope="module")
def trained_once(tmp_path_factory, make_firms):
    firms = make_firms(tmp_path_factory.mktemp("counted"), 2)
    firms.write_job(firms.ARBITER + firms.WAIVER, arbiter='"auditor"', test_data='"clients-test"')
    return firms, run_vertical_job(firms.load_inputs(), firms.folder / "runs")


@pytest.fixture
def trained(trained_once, tmp_path):
    """(firms, folder of the run) of a copy; the run has predicted its test rows."""
    firms, run = trained_once
    shutil.copytree(firms.folder, tmp_path / "job")
    own = replace(firms, folder=tmp_path / "job")
    return own, own.folder / run.folder.relative_to(firms.folder), run.summary["test_rows"]


def count_of(folder, party: str) -> int:
    with Counter.open(folder / COUNTS_FOLDER / party) as counter:
        return counter.next_value


@pytest.mark.long
def test_a_runs_own_test_rows_and_those_of_every_later_prediction_are_counted(trained) -> None:
    firms, folder, test_rows = trained
    assert {count_of(folder, name) for name in firms.names} == {test_rows}
    site = load_site(firms.folder / "site.toml")
    assert predict_jointly(folder, site, "clients-test").common == test_rows
    assert {count_of(folder, name) for name in firms.names} == {2 * test_rows}
    assert stat.S_IMODE((folder / COUNTS_FOLDER / "bank").stat().st_mode) == 0o600


def test_what_would_pass_the_limit_is_refused_before_a_score_leaves_and_counts_nothing(trained) -> None:
    firms, folder, test_rows = trained
    firms.write_site(policy(3 * test_rows - 1, firms))
    site = load_site(firms.folder / "site.toml")
    predict_jointly(folder, site, "clients-test")
    before = set((folder / "predictions").iterdir())
    with pytest.raises(PartyStoppedError, match="does not allow so many predictions") as stop:
        predict_jointly(folder, site, "clients-test")
    refused = stop.value.__cause__
    assert isinstance(refused, PolicyError)
    assert stop.value.exit_code == 2
    assert refused.got == f"{test_rows} rows after {2 * test_rows}"
    assert "policy.max_predictions" in refused.cure
    assert {count_of(folder, name) for name in firms.names} == {2 * test_rows}
    (stopped,) = set((folder / "predictions").iterdir()) - before
    assert not any(b"prediction-" in path.read_bytes() for path in (stopped / "ledger").iterdir())


def test_a_model_that_has_predicted_all_it_may_is_refused_before_rows_are_matched(trained) -> None:
    firms, folder, test_rows = trained
    firms.write_site(policy(test_rows, firms))
    with pytest.raises(PolicyError, match="the site of bank does not allow so many predictions"):
        predict_jointly(folder, load_site(firms.folder / "site.toml"), "clients-test")
    assert not (folder / "predictions").exists()


@pytest.mark.long
def test_where_the_site_names_a_folder_of_state_a_copy_of_the_run_has_no_new_count(trained, tmp_path) -> None:
    """With the count in the run's folder a copy from before the prediction begins anew; the site's own does not."""
    firms, folder, test_rows = trained
    shutil.copytree(folder, tmp_path / "copy")
    firms.write_site(policy(2 * test_rows, firms))
    in_folder = load_site(firms.folder / "site.toml")
    predict_jointly(folder, in_folder, "clients-test")
    predict_jointly(tmp_path / "copy", in_folder, "clients-test")

    states = {name: f"state = '{name}.state'\n" for name in firms.names}
    firms.write_site(policy(2 * test_rows, firms), party=states)
    kept = load_site(firms.folder / "site.toml")
    for _ in range(2):
        predict_jointly(folder, kept, "clients-test")
    for place in (folder, tmp_path / "copy"):
        with pytest.raises(PolicyError, match="does not allow so many predictions"):
            predict_jointly(place, kept, "clients-test")
    # Another model has a count of its own.
    part = PARTS.load_all(folder)["bank"].part
    other = PredictionCount.of(kept, folder, replace(part, model_id="another"))
    other.add(2 * test_rows)
    with pytest.raises(PolicyError):
        other.add(1)


def test_rows_are_gone_from_the_file_before_anything_is_computed(trained, monkeypatch) -> None:
    firms, folder, test_rows = trained
    module = "hekat.protocol.vertical_linear.prediction.predict_scores._own_scores"
    monkeypatch.setattr(module, lambda part, rows: (_ for _ in ()).throw(ConnectionError("the power fails")))
    with pytest.raises(PartyStoppedError):
        predict_jointly(folder, load_site(firms.folder / "site.toml"), "clients-test")
    assert {count_of(folder, name) for name in firms.names} == {2 * test_rows}


def test_a_damaged_count_is_no_new_one(trained) -> None:
    firms, folder, _ = trained
    (folder / COUNTS_FOLDER / "insurer").write_bytes(b"hekat counter 1\n0\n")
    with pytest.raises(StateError, match="is damaged"):
        predict_jointly(folder, load_site(firms.folder / "site.toml"), "clients-test")


def test_a_run_whose_test_rows_would_pass_the_limit_is_refused_before_it_begins(firms) -> None:
    firms.write_job(firms.ARBITER + firms.WAIVER, arbiter='"auditor"', test_data='"clients-test"')
    firms.write_site(policy(39, firms), party={"bank": "state = 'states/bank'\n"})
    with pytest.raises(PolicyError, match="so many predictions") as refused:
        firms.load_inputs()
    assert refused.value.got == "40 rows after 0"
    (ledger,) = find_refusal_ledgers(firms.folder / "states" / "bank")
    own = PartyKey.load(firms.folder / "states" / "bank" / "refusals" / "own.key")
    (kept,) = refused_jobs(audit(ledger, own.public))
    assert (kept.line, kept.asked) == ("policy.max_predictions", "40 rows after 0")
    firms.write_site(policy(40, firms))
    firms.load_inputs()


def test_a_limit_that_is_none_is_refused(firms) -> None:
    firms.write_site(policy(-1, firms))
    with pytest.raises(JobError, match="max_predictions is no number of rows"):
        load_site(firms.folder / "site.toml")
    assert SitePolicy().rows_to_predict() == 100_000


def test_a_run_of_a_release_that_did_not_count_begins_at_0(trained) -> None:
    firms, folder, test_rows = trained
    shutil.rmtree(folder / COUNTS_FOLDER)
    predict_jointly(folder, load_site(firms.folder / "site.toml"), "clients-test")
    assert {count_of(folder, name) for name in firms.names} == {test_rows}
