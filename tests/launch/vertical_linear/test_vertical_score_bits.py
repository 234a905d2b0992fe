"""How finely a site lets scores be told: a job or a prediction that asks for more is refused."""

from __future__ import annotations

import pytest

from hekat.channel import PartyKey
from hekat.errors import JobError, PolicyError
from hekat.job.policy.refusals_ledger import find_refusal_ledgers
from hekat.job.policy.site_lines import SitePolicy
from hekat.job.site_file import load_site
from hekat.launch.vertical_linear.predict import predict_jointly
from hekat.launch.vertical_linear.run import run_vertical_job
from hekat.ledger import audit
from hekat.ledger.refusals import refused_jobs

NO_WORD = "[policy]\nprotections = ['none']\n"


def limited(limit: int) -> str:
    return f"{NO_WORD}max_score_bits = {limit}\n"


def test_a_job_that_asks_for_more_than_a_site_allows_is_refused(firms) -> None:
    firms.write_site(NO_WORD)
    firms.write_job("[prediction]\nscore_bits = 12\n")
    firms.load_inputs()
    firms.write_job("[prediction]\nscore_bits = 13\n")
    with pytest.raises(PolicyError, match="scores this fine") as refused:
        firms.load_inputs()
    assert refused.value.exit_code == 2
    assert refused.value.got == "score_bits = 13"
    assert "policy.max_score_bits" in refused.value.cure
    firms.write_site(limited(13))
    firms.load_inputs()


@pytest.mark.long
def test_a_later_prediction_that_asks_for_more_is_refused_and_counts_nothing(firms) -> None:
    firms.write_site(NO_WORD)
    firms.write_job()
    folder = run_vertical_job(firms.load_inputs(), firms.folder / "runs").folder
    site = load_site(firms.folder / "site.toml")
    with pytest.raises(PolicyError, match="scores this fine"):
        predict_jointly(folder, site, "clients-test", score_bits=13)
    assert not (folder / "predicted").exists()
    assert not (folder / "predictions").exists()
    firms.write_site(limited(11))
    with pytest.raises(PolicyError, match="scores this fine"):
        predict_jointly(folder, load_site(firms.folder / "site.toml"), "clients-test")


@pytest.mark.long
def test_a_prediction_is_refused_by_protocol_and_column_and_the_refusal_is_kept(firms) -> None:
    firms.write_site(NO_WORD)
    firms.write_job()
    folder = run_vertical_job(firms.load_inputs(), firms.folder / "runs").folder
    states = {name: f"state = 'states/{name}'\n" for name in firms.names}
    firms.write_site("[policy]\nprotocols = ['psi']\n", party=states)
    with pytest.raises(PolicyError, match=r"policy\.protocols"):
        predict_jointly(folder, load_site(firms.folder / "site.toml"), "clients-test")
    firms.write_site(NO_WORD, party=states)
    path = firms.folder / "site.toml"
    table = "path = 'insurer-clients-test.csv'"
    path.write_text(path.read_text().replace(table, f"{table}\nallow_columns = ['age']"))
    with pytest.raises(PolicyError, match="'claims'"):
        predict_jointly(folder, load_site(path), "clients-test")
    path.write_text(path.read_text().replace("['age']", "['age', 'claims']"))
    firms.write_table("insurer", 40, data="clients-test", seed=4, header=["person", "claims", "age"])
    predict_jointly(folder, load_site(path), "clients-test")
    firms.write_site(f"{NO_WORD}max_predictions = 0\n", party=states)
    with pytest.raises(PolicyError, match="max_predictions"):
        predict_jointly(folder, load_site(path), "clients-test")
    (ledger,) = find_refusal_ledgers(firms.folder / "states" / "bank")
    key = PartyKey.load(firms.folder / "states" / "bank" / "refusals" / "own.key")
    refused = refused_jobs(audit(ledger, key.public))
    assert [job.line for job in refused] == [
        "policy.protocols",
        "[party.insurer.data.clients-test] allow_columns, deny_columns",
        "policy.max_predictions",
    ]
    assert [job.job for job in refused] == ["joint prediction"] * 2 + ["prediction with a part of a model"]


@pytest.mark.parametrize("limit", [0, 41])
def test_a_limit_that_is_none_is_refused(firms, limit: int) -> None:
    firms.write_site(limited(limit))
    with pytest.raises(JobError, match="max_score_bits is no number of bits"):
        load_site(firms.folder / "site.toml")
    assert SitePolicy().max_score_bits == 12
