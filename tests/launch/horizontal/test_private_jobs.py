"""Jobs with differential privacy from files to report: a site's budget over jobs and runs, and what is told."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hekat.cli.main import main
from hekat.errors import BudgetError, HekatError, InputError, JobError, PartyStoppedError, PolicyError
from hekat.job.agreed_terms import terms_of
from hekat.job.horizontal.job_file import load_job
from hekat.job.site_file import load_site
from hekat.launch.horizontal.run import run_job
from hekat.report import load_summary, verdict
from hekat.report.horizontal.brief import training_sentence
from hekat.report.horizontal.page import render_page
from hekat.report.horizontal.privacy.plot import plot_privacy
from hekat.report.horizontal.privacy.words import budget_sentence, privacy_sentence, privacy_table
from hekat.run.horizontal.load_inputs import load_inputs

pytest.importorskip("dp_accounting", reason="needs hekat[privacy]")

PARTIES = ("north", "east", "south")
JOB = """format = 2
name = "visits"
protocol = "horizontal"
parties = ["north", "east", "south"]
aggregator = "hub"
data = "visits"
classes = ["no", "yes"]
weight_max = 100

[training]
rounds = 2
learning_rate = 1.0

[privacy]
unit = "row"
clip = 1.0
noise = 4.0
delta = 1e-4
divisor = 150
"""
BUDGET = 'data_set = "patients"\ndelta = 1e-4\nepsilon = 4.0\n'


def write_site(
    place: Path, budget: str = BUDGET, *, with_state: bool = True, parties: tuple[str, ...] = PARTIES
) -> Path:
    rng = np.random.default_rng(7)
    site = ["format = 1", "[policy]", 'protections = ["lattice"]', "max_value_bits = 24"]
    for party in parties:
        rows = rng.normal(size=(50, 2))
        lines = [f"{a:.4f},{b:.4f},{'yes' if a > b else 'no'}" for a, b in rows]
        (place / f"{party}.csv").write_text("\n".join(["age,dose,ill", *lines]) + "\n")
        site += [f"[party.{party}]"] + ([f'state = "state/{party}"'] if with_state else [])
        site += [f'[party.{party}.data.visits]\nsource = "csv"\npath = "{place}/{party}.csv"\nlabel = "ill"']
        site += [f"[party.{party}.privacy]\n{budget}"] if budget else []
    (place / "site.toml").write_text("\n".join(site) + "\n")
    return place


def write_job(place: Path, *changes: tuple[str, str]) -> Path:
    text = JOB
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (place / "job.toml").write_text(text)
    return place / "job.toml"


def play(place: Path, *changes: tuple[str, str]) -> Path:
    return run_job(load_inputs(write_job(place, *changes)), place / "runs").folder


def releases_in(place: Path, party: str) -> int:
    """0 where the party was never in a round."""
    ledgers = [*(place / "state" / party).glob("privacy-*.jsonl")]
    return sum(len(ledger.read_text().splitlines()) - 1 for ledger in ledgers)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = write_site(tmp_path_factory.mktemp("private"))
    play(place)
    return place


def test_summary_and_report_tell_the_claim(played: Path) -> None:
    (run,) = (played / "runs").iterdir()
    summary = load_summary(run)
    found = summary["privacy"]
    assert found["releases"] == 2
    assert found["colluders"] == 1
    assert (
        found["epsilon"] == found["epsilon_by_neighbours"]["zero-out"] < found["epsilon_by_neighbours"]["replace-one"]
    )
    assert found["epsilon_if_continuous"] < found["epsilon"]
    assert [one["round"] for one in found["by_round"]] == [1, 2]
    assert found["by_round"][1]["epsilon"] == pytest.approx(found["epsilon"])
    assert [(one["party"], one["releases"], one["limit"]) for one in found["budgets"]] == [
        (party, 2, 4.0) for party in PARTIES
    ]
    # Neither a count of rows nor one of clipped values is summed: what stands in their place is public.
    assert summary["clipped"] == {"count": 0, "of": 2 * 3 * 3}
    assert summary["convergence_bias"] is None
    assert found["loss_std"] == summary["convergence"]["noise_std"] == pytest.approx(0.53, rel=0.05)
    said = training_sentence(summary)
    assert "of a standard deviation of 0.5" in verdict(summary)
    assert said is None or said in render_page(summary)
    table = privacy_table(summary)
    assert table is not None
    assert ("noise of a loss", f"{found['loss_std']:.3g}") in [row[:2] for row in table.rows]
    assert "The aggregator is none of these" in str(privacy_sentence(summary))
    assert dict(terms_of(load_job(played / "job.toml")))["differential privacy"].startswith("of each row")
    assert any("nobody proves" in note for note in summary["notes"])
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    told = [event["privacy"] for event in events if event["event"] == "round"]
    assert [one["release_count"] for one in told] == [1, 2]
    assert told[1]["spent"]["limit"] == 4.0


def audited(run: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, dict]:
    """By role, what `hekat audit` says of differential privacy."""
    capsys.readouterr()
    assert main(["audit", str(run), "--json"]) == 0
    return {one["party"]: one["privacy"] for one in json.loads(capsys.readouterr().out)["ledgers"]}


def test_an_audit_reckons_from_each_ledger_what_the_run_claims(
    played: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run,) = (played / "runs").iterdir()
    claimed = load_summary(run)["privacy"]["by_round"]
    found = audited(run, capsys)
    assert found.pop("hub") is None
    assert set(found) == set(PARTIES)
    for privacy in found.values():
        assert [(one["step"], one["epsilon"]) for one in privacy["charged"]] == [
            (f"round-{one['round']}", one["epsilon"]) for one in claimed
        ]
        assert (privacy["sent_count"], privacy["exact_count"], privacy["limit"]) == (2, 0, 4.0)
        assert privacy["spent"] == claimed[-1]["epsilon"]
        assert [(one["unit"], one["delta"], one["every_sum"]) for one in privacy["noise"]] == [("row", 1e-4, True)]
    assert main(["audit", str(run)]) == 0
    shown = capsys.readouterr().out
    assert "protects one row (zero-out) at delta 0.0001" in shown
    assert "sums with noise: 2 charged before they left, 2 sent" in shown
    assert "Claims of differential privacy of east, north, south: 0 differences" in shown


@pytest.mark.parametrize(("noise", "code"), [("4.0", 0), ("8.0", 1)])
def test_an_audit_holds_ledgers_against_the_job(
    played: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], noise: str, code: int
) -> None:
    (run,) = (played / "runs").iterdir()
    job = write_job(tmp_path, ("noise = 4.0", f"noise = {noise}"))
    options = [str(run), "--job", str(job), "--parties", str(run / "parties.json")]
    capsys.readouterr()
    assert main(["audit", *options]) == code
    shown = capsys.readouterr().out
    assert ("the noise z is 4 at east, north, south; 8 by the job" in shown) == (code == 1)
    assert ("WARNING: LEDGERS DISAGREE, with one another or with the job" in shown) == (code == 1)
    assert main(["audit", *options, "--json"]) == code
    found = json.loads(capsys.readouterr().out)["claims"]
    assert (found["job"], bool(found["differences"])) == ("visits", code == 1)


def test_a_waived_budget_stands_in_ledger_audit_and_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = write_site(tmp_path)
    site = place / "site.toml"
    site.write_text(site.read_text().replace("max_value_bits = 24", "max_value_bits = 24\nbudget_waiver = true"))
    run = play(place, (JOB[JOB.index("[privacy]") :], ""))
    found = audited(run, capsys)
    assert found.pop("hub") is None
    for privacy in found.values():
        (told,) = privacy["waived"]
        assert told.startswith("policy.budget_waiver of the site file: exact sums")
        assert not privacy["noise"]
    main(["audit", str(run)])
    assert "BUDGET WAIVED: policy.budget_waiver" in capsys.readouterr().out
    assert any("BUDGET WAIVED" in note for note in load_summary(run)["notes"])
    assert "BUDGET WAIVED" in render_page(load_summary(run))


def test_the_claim_is_of_the_party_with_the_most_releases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three of five parties are in a round, by the job's digest: some are in more rounds than others."""
    parties = (*PARTIES, "west", "coast")
    place = write_site(tmp_path, parties=parties)
    names = '["north", "east", "south"]', json.dumps(parties)
    run = play(place, names, ("rounds = 2", "rounds = 4\nparticipation = 0.6"))
    charged = [releases_in(place, party) for party in parties]
    assert sum(charged) == 12
    # 12 over five parties are not alike.
    most = max(charged)
    found = load_summary(run)["privacy"]
    assert found["releases"] == most
    assert found["epsilon"] == found["by_round"][-1]["epsilon"]
    assert found["by_round"][0]["epsilon"] > 0
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    told = [event["privacy"] for event in events if event["event"] == "round"]
    assert [one["release_count"] for one in (told[0], told[-1])] == [1, most]
    assert told[-1]["epsilon"] == found["epsilon"]
    assert told[-1]["spent"]["release_count"] == most
    # Each ledger claims what that party's own rows were released for.
    audits = audited(run, capsys)
    assert [len(audits[party]["charged"]) for party in parties] == charged
    assert [audits[party]["sent_count"] for party in parties] == charged


def test_every_job_on_the_data_set_adds_up_until_none_is_trained(tmp_path: Path) -> None:
    """Two rounds at z = 4 are epsilon 1.27, four 1.88: a third job would pass 2.2, whatever it is called."""
    place = write_site(tmp_path, BUDGET.replace("4.0", "2.2"))
    for number in (1, 2):
        play(place, ('name = "visits"', f'name = "visits {number}"'))
        assert releases_in(place, "north") == releases_in(place, "south") == 2 * number
    with pytest.raises(BudgetError, match="the privacy budget of data set 'patients' is spent: 2 rounds"):
        play(place, ('name = "visits"', 'name = "visits 3"'))
    assert releases_in(place, "north") == 4
    assert len(list((place / "runs").iterdir())) == 2


def test_a_failed_round_stays_charged_and_a_resumed_one_is_charged_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Noise takes the loss of the first round below 0, as it may any: it is no sign of damage."""
    from hekat.protocol.horizontal.training.private.noised_sums import NoisedSums
    from hekat.protocol.horizontal.training.private.private_rounds import LOSS

    place = write_site(tmp_path)
    honest = NoisedSums.sum_noised

    def fail(self, step, levels):
        if step == "round-2":
            raise PolicyError("the line broke", expected="a line")
        found = honest(self, step, levels)
        found.tensors[LOSS][:] = -1 - np.abs(found.tensors[LOSS])
        return found

    with monkeypatch.context() as broken:
        broken.setattr(NoisedSums, "sum_noised", fail)
        with pytest.raises(PartyStoppedError):
            play(place)
    assert 1 <= releases_in(place, "north") <= 2
    before = {party: releases_in(place, party) for party in PARTIES}
    (stopped,) = (place / "runs").iterdir()
    events = [json.loads(line) for line in (stopped / "events.jsonl").read_text().splitlines()]
    assert [event["loss"] < 0 for event in events if event["event"] == "round"] == [True]
    run = run_job(load_inputs(place / "job.toml"), place / "runs", resume_from=stopped).folder
    assert {party: releases_in(place, party) for party in PARTIES} == {party: n + 1 for party, n in before.items()}
    assert load_summary(run)["privacy"]["releases"] == max(before.values()) + 1
    for party, privacy in audited(run, capsys).items():
        assert party == "hub" or privacy["charged"][-1]["releases"] == before[party] + 1


@pytest.mark.parametrize(
    ("site", "changes", "error", "text"),
    [
        ({"budget": ""}, (), JobError, "grants no privacy budget"),
        ({"with_state": False}, (), JobError, "no place that outlasts runs"),
        ({"budget": BUDGET + 'unit = "party"\n'}, (), PolicyError, "privacy.unit is not the one"),
        ({"budget": BUDGET + 'neighbours = "replace-one"\n'}, (), PolicyError, "privacy.neighbours is not the one"),
        ({"budget": BUDGET + "colluders = 2\n"}, (), PolicyError, "privacy.colluders is less than north's budget"),
        ({"budget": BUDGET + "colluders = 0\n"}, (), JobError, "privacy.colluders refused"),
        ({"budget": BUDGET.replace("4.0", "0.1")}, (), BudgetError, "would pass the limit"),
        ({"budget": BUDGET.replace("4.0", "-1.0")}, (), JobError, "epsilon refused"),
        ({"budget": BUDGET.replace("1e-4", "1.5")}, (), JobError, "delta refused"),
        ({"budget": BUDGET.replace("patients", " ")}, (), JobError, "data_set refused"),
        # Less than 1 over the rows of each party: the sums are of all of them.
        ({}, (("delta = 1e-4", "delta = 0.007"),), InputError, "delta is too large for the 150 rows here"),
        (
            {"budget": BUDGET.replace("1e-4", "0.5")},
            (),
            PolicyError,
            "the delta of north's budget is too large",
        ),
        ({}, (("[privacy]", "[codec]\nvalue_bits = 6\n[privacy]"),), InputError, "lanes of 6 bits cannot hold"),
        ({}, (("[privacy]", "[compare]\nalone = true\n[privacy]"),), InputError, "compare.alone refused"),
        ({}, (("[privacy]", "[checks]\nexactness = true\n[privacy]"),), InputError, "checks.exactness refused"),
        ({}, (("[privacy]", "[privacy.moments]\nsex = [0, 1]\n[privacy]"),), InputError, "no column 'sex'"),
        ({}, (("[privacy]", "[privacy.moments]\nage = [0]\n[privacy]"),), JobError, "moments.age has the wrong type"),
        ({}, (("noise = 4.0", "nose = 4.0"),), HekatError, "privacy.noise"),
    ],
)
def test_what_cannot_be_kept_is_refused_before_anything_is_trained(
    tmp_path: Path, site: dict, changes: tuple, error: type[HekatError], text: str
) -> None:
    place = write_site(tmp_path, **site)
    with pytest.raises(error, match=text):
        play(place, *changes)
    # A line of the site's that refuses a job is kept in a ledger of refusals; nothing is charged.
    assert not [*place.rglob("privacy-*")]
    assert not (place / "runs").exists()


def test_a_job_that_adds_parties_and_claims_against_one_of_them_is_refused(tmp_path: Path) -> None:
    """What such a job charges is less than what a coalition of the added parties, each knowing its noise, faces."""
    parties = (*PARTIES, "west", "mid")
    hostile = (
        ('parties = ["north", "east", "south"]', f"parties = {json.dumps(parties)}"),
        ("delta = 1e-4", "delta = 1e-4\ncolluders = 1"),
    )
    place = write_site(tmp_path, parties=parties)
    strict = load_site(place / "site.toml")
    write_site(tmp_path, BUDGET + "colluders = 1\n", parties=parties)
    inputs = load_inputs(write_job(place, *hostile))
    inputs.check_budgets(0)
    write_site(tmp_path, parties=parties)
    found = replace(inputs, site=strict)
    for use in (lambda: found.check_budgets(0), lambda: found.budget_of("north"), lambda: play(place, *hostile)):
        with pytest.raises(PolicyError, match=r"privacy\.colluders is less than north's budget") as refused:
            use()
    assert "2 or more: [party.north.privacy] says nothing" in refused.value.expected
    assert not [*place.rglob("privacy-*")]
    assert not (place / "runs").exists()


def test_a_dry_run_tells_all_of_it_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = write_site(tmp_path)
    assert main(["run", str(write_job(place)), "--dry-run", "--runs", str(place / "runs")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "epsilon, proved (zCDP) 1.27" in shown
    assert "epsilon at t_c = 1" in shown
    assert "north 0 of 4 (4 left)" in shown
    assert not (place / "state").exists()


@pytest.mark.parametrize(
    ("asked", "told"), [("", None), ("colluders = 1\n", "t_c = 2; sites ask for at least: north 1")]
)
def test_a_t_c_that_a_site_asks_for_is_told_where_the_job_has_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], asked: str, told: str | None
) -> None:
    place = write_site(tmp_path, parties=(*PARTIES, "west", "mid"))
    text = (place / "site.toml").read_text()
    (place / "site.toml").write_text(text.replace("[party.north.privacy]\n", f"[party.north.privacy]\n{asked}"))
    job = write_job(place, ('"east", "south"]', '"east", "south", "west", "mid"]'))
    assert main(["run", str(job), "--dry-run", "--runs", str(place / "runs")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "t_c = 2: so many" in shown
    assert (told in shown) if told else ("sites ask for" not in shown)


def test_a_summary_has_the_t_c_of_job_and_site(played: Path) -> None:
    (run,) = (played / "runs").iterdir()
    found = load_summary(run)["privacy"]
    assert [one["colluders"] for one in found["budgets"]] == [found["colluders"]] * 3
    other = {**found, "budgets": [{**one, "colluders": 7} for one in found["budgets"]]}
    assert "t_c = 1; sites ask for at least: north 7, east 7, south 7" in str(budget_sentence({"privacy": other}))
    # Summaries of earlier versions do not say it.
    older = {**found, "budgets": [{"party": "north", "epsilon": 1.0, "limit": 4.0, "releases": 2}]}
    assert "sites ask" not in str(budget_sentence({"privacy": older}))


def test_a_budget_that_a_job_leaves_no_room_ends_the_command_with_its_cure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = write_site(tmp_path, BUDGET.replace("4.0", "0.5"))
    assert main(["run", str(write_job(place)), "--runs", str(place / "runs")]) == 2
    assert "the privacy budget of data set 'patients' is spent" in capsys.readouterr().err


@pytest.mark.long
def test_secret_coins_and_public_moments_train_a_model(tmp_path: Path) -> None:
    place = write_site(tmp_path, BUDGET.replace("4.0", "90.0"))
    folder = play(
        place,
        ("noise = 4.0", 'noise = 1.0\nbatches = "poisson-secret"\nsampling = 0.5'),
        ("divisor = 150", "divisor = 75\n[privacy.moments]\nage = [0.0, 2.0]"),
    )
    found = load_summary(folder)["privacy"]
    assert found["batches"] == "poisson-secret"
    assert math.isfinite(found["epsilon"])
    ledger = next((place / "state" / "north").glob("privacy-*.jsonl")).read_text().splitlines()
    assert json.loads(ledger[1])["sampling"] == 0.5


@pytest.mark.drawn
def test_epsilon_is_drawn_by_round_and_not_where_sums_were_exact(played: Path) -> None:
    (run,) = (played / "runs").iterdir()
    summary = load_summary(run)
    drawn = plot_privacy(summary)
    assert drawn is not None
    assert drawn.startswith('<svg role="img" aria-label="Epsilon of the job by round')
    assert plot_privacy({**summary, "privacy": {}}) is None
    assert "What the model may tell of one row" in render_page(summary)
