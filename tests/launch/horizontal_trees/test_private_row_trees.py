"""Jobs of trees across rows with differential privacy: what they say, what they spend, and what they refuse."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.launch.horizontal_trees.conftest import PARTIES

from hekat.cli.main import main
from hekat.errors import BudgetError, InputError, JobError, PolicyError
from hekat.job.agreed_terms import terms_of
from hekat.launch.horizontal_trees.run import run_row_trees_job
from hekat.report import brief_of, load_summary
from hekat.report.views import render_page, terminal_tables
from hekat.run.load_any_model import load_any_model
from hekat.state.privacy_budget import Spent
from hekat.summary.horizontal_trees.caveats import say_asked_colluders

pytest.importorskip("dp_accounting", reason="needs hekat[privacy]")

PRIVATE = "[privacy]\nepsilon = 3\ndelta = 1e-5\n[privacy.bounds]\nage = [20, 90]\ndose = [-3, 3]\n"
TRAINING = "[training]\nmax_iter = 3\nmax_depth = 3\nmax_bins = 16\nseed = 5\nlearning_rate = 0.3\n"


def write(clinics, limit: float = 10.0, private: str = PRIVATE, head: str = "") -> None:
    """Each party keeps a budget of `limit`."""
    path = clinics.write_job(private, head=head)
    text = path.read_text()
    path.write_text(text[: text.index("[training]")] + TRAINING + text[text.index("[columns.town]") :])
    grants = "".join(
        f"[party.{name}]\nstate = 'kept/{name}'\n[party.{name}.privacy]\ndata_set = 'patients of {name}'\n"
        f"epsilon = {limit}\ndelta = 1e-5\n"
        for name in PARTIES
    )
    clinics.write_site(grants)


@pytest.mark.long
def test_a_run_says_what_it_promised_and_spends_it_once(clinics, tmp_path, capsys) -> None:
    write(clinics, head='test_data = "test"')
    run = run_row_trees_job(clinics.load_inputs(), tmp_path / "runs")
    summary = load_summary(run.folder)
    told = next(note for note in summary["notes"] if note.startswith("differential privacy of a row: epsilon "))
    assert 2.9 < float(told.split("epsilon ")[1].split(" ")[0]) <= 3.0
    assert "over 3 releases" in told
    assert any(
        note.startswith("privacy budget of lake: epsilon 3") or "of 10 spent" in note for note in summary["notes"]
    )
    assert [one["loss"] for one in summary["iterations"]] == [None] * 3
    assert summary["importance"] == []
    assert summary["results"][0]["metrics"]["auc"] > 0.5
    assert told in dict(brief_of(summary).facts)["protected"]
    page = render_page(summary)
    assert "Splits are drawn from the job&#x27;s seed" in page or "Splits are drawn from the job's seed" in page
    assert terminal_tables(summary)
    assert load_any_model(run.folder)
    events = [json.loads(line) for line in (run.folder / "events.jsonl").read_text().splitlines()]
    costs = [one["privacy"]["epsilon"] for one in events if one["event"] == "iteration"]
    assert costs == sorted(costs)
    assert costs[-1] <= 3.0
    kept = list((clinics.folder / "kept" / "lake").glob("privacy-*.jsonl"))
    assert len(kept) == 1
    assert len(kept[0].read_text().splitlines()) == 4
    capsys.readouterr()
    assert main(["audit", str(run.folder), "--party", "lake", "--json"]) == 0
    (ledger,) = json.loads(capsys.readouterr().out)["ledgers"]
    assert [one["epsilon"] for one in ledger["privacy"]["charged"]] == costs
    assert (ledger["privacy"]["sent_count"], ledger["privacy"]["exact_count"]) == (3, 0)
    job, keys = str(clinics.folder / "job.toml"), str(run.folder / "parties.json")
    assert main(["audit", str(run.folder), "--job", job, "--parties", keys]) == 0
    # The same job again would add as much: 3 and 3 are less than 6 by composition, but more than 4.
    write(clinics, limit=4.0, head='test_data = "test"')
    with pytest.raises(BudgetError, match="the privacy budget of data set 'patients of north' is spent"):
        run_row_trees_job(clinics.load_inputs(), tmp_path / "runs")
    assert len(kept[0].read_text().splitlines()) == 4


def test_a_dry_run_says_the_promise_and_spends_nothing(clinics, capsys) -> None:
    write(clinics)
    assert main(["run", str(clinics.folder / "job.toml"), "--dry-run"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Differential privacy: epsilon" in told
    assert "lake 0 of 10" in told
    assert not list((clinics.folder / "kept").rglob("privacy-*"))
    terms = dict(terms_of(clinics.load_inputs().job))
    assert terms["opened sums"] == "gradients by leaf of public splits, with noise of every party"
    assert "over 3 releases" in terms["differential privacy"]


def test_the_t_c_of_a_site_is_told_where_the_job_has_another(clinics) -> None:
    write(clinics)
    settings = clinics.load_inputs().job.settings
    assert settings.leaf_noise.colluders == 1
    assert say_asked_colluders(settings, Spent(1.0, 4.0, 2)) == ""
    assert say_asked_colluders(settings, Spent(1.0, 4.0, 2, colluders=2)) == ", at a site that asks for t_c = 2 or more"


def test_a_site_without_a_budget_is_asked_for_one(clinics, tmp_path) -> None:
    write(clinics)
    clinics.write_site("".join(f"[party.{name}]\nstate = 'kept/{name}'\n" for name in PARTIES))
    with pytest.raises(JobError, match="the site grants no privacy budget for north"):
        run_row_trees_job(clinics.load_inputs(), tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("private", "error", "words"),
    [
        (PRIVATE.replace("1e-5", "0.1"), InputError, "delta is too large for the [0-9]+ rows here"),
        (PRIVATE.replace("age = [20, 90]\n", ""), InputError, "columns without public bounds"),
        (PRIVATE.replace("[20, 90]", "[20]"), JobError, r"privacy\.bounds\.age has the wrong type"),
        (PRIVATE.replace("[20, 90]", "[true, 90]"), JobError, r"privacy\.bounds\.age has the wrong type"),
        (PRIVATE + "town = [0, 1]\n", InputError, r"privacy\.bounds refused"),
        (PRIVATE.replace("epsilon = 3", "epsilon = 3\nclip = 1.0"), JobError, "privacy.clip"),
        (PRIVATE + "[validation]\nhold_out = 0.2\n", InputError, r"validation\.hold_out refused"),
    ],
)
def test_what_cannot_be_promised_is_refused_by_its_key(clinics, private: str, error, words: str) -> None:
    write(clinics, private=private)
    with pytest.raises(error, match=words):
        clinics.load_inputs()


def test_another_unit_of_neighbours_than_the_budget_has_is_refused(clinics, tmp_path) -> None:
    write(clinics)
    inputs = clinics.load_inputs()
    privacy = replace(inputs.job.settings.privacy, neighbours="replace-one")
    job = replace(inputs.job, settings=replace(inputs.job.settings, privacy=privacy))
    with pytest.raises(PolicyError, match=r"privacy\.neighbours is not the one of north's budget"):
        run_row_trees_job(replace(inputs, job=job), tmp_path / "runs")


def test_a_job_against_fewer_colluders_than_the_budget_asks_for_is_refused(clinics) -> None:
    write(clinics)
    inputs = clinics.load_inputs()
    inputs.check_budgets(0)
    party = inputs.site.parties["north"]
    asked = replace(party, privacy=replace(party.privacy, colluders=2))
    inputs = replace(inputs, site=replace(inputs.site, parties={**inputs.site.parties, "north": asked}))
    with pytest.raises(PolicyError, match=r"privacy\.colluders is less than north's budget asks for"):
        inputs.check_budgets(0)


def test_a_delta_of_the_site_that_its_rows_are_too_few_for_is_refused(clinics) -> None:
    write(clinics)
    inputs = clinics.load_inputs()
    north, count = inputs.site.parties["north"], len(inputs.tables["north"])
    # Rows of others do not count: the budget is about its own.
    for delta, is_refused in ((1 / count, True), (0.9 / count, False)):
        asked = replace(north, privacy=replace(north.privacy, delta=delta))
        changed = replace(inputs, site=replace(inputs.site, parties={**inputs.site.parties, "north": asked}))
        if not is_refused:
            changed.check_budgets(0)
            continue
        with pytest.raises(PolicyError, match=f"the delta of north's budget is too large for its {count} rows"):
            changed.check_budgets(0)


def test_a_delta_is_held_against_the_rows_that_a_role_knows(clinics) -> None:
    """Apart, each party knows its own rows; where all play here, a delta below each party's bound is too large."""
    write(clinics)
    tables = clinics.load_inputs().tables
    largest = max(map(len, tables.values()))
    write(clinics, private=PRIVATE.replace("1e-5", f"{0.9 / largest:.6f}"))
    with pytest.raises(InputError, match=f"delta is too large for the {sum(map(len, tables.values()))} rows here"):
        clinics.load_inputs()
    assert clinics.load_inputs(role="north").roles == ("north",)
