"""Jobs that ask a site for more than it allows: what `hekat run` says and writes. Every line of the policy is attacked
in tests/job/policy."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from hekat.channel import PartyKey

PARTIES = ("north", "east", "south")


@pytest.fixture
def site(workplace):
    """Every party has a state folder; `allow(line)` adds a line to [policy]."""
    workplace.edit("site.toml", r"\[party\.north\]\n", '[party.north]\nstate = "states/north"\n')
    with (workplace.folder / "site.toml").open("a") as file:
        file.write("".join(f'[party.{name}]\nstate = "states/{name}"\n' for name in PARTIES[1:]))
    workplace.allow = lambda line: workplace.edit("site.toml", r"\[policy\]\nmin_key_bits = 2048", f"[policy]\n{line}")
    return workplace


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def audit_of(workplace, party: str = "north", *options: str):
    return workplace.call("audit", workplace.folder / "states" / party, *options)


ATTACKS = {
    "protocols": ('protocols = ["psi"]', "", ""),
    "approved_jobs": (f'approved_jobs = ["{"0" * 64}"]', "", ""),
    "models": ('models = ["mlp"]', "", ""),
    "max_rounds": ("max_rounds = 1", "", ""),
    "max_value_bits": ("max_value_bits = 8", "", ""),
    "max_value_bits in a comparison": ("max_value_bits = 16", "[compare]\nbits = [20]\n", ""),
    "max_validation_bins": ("max_validation_bins = 16", "[validation]\nhold_out = 0.3\n", ""),
    "min_category_rows": ("", '[columns.age]\ncategories = "found"\nmin_rows = 4\n', ""),
    "protections": ('protections = ["paillier"]', "", ""),
    "protections of a comparison": ('protections = ["lattice"]', "[compare]\nplain = true\n", ""),
    "openings": ("openings = []", "", ""),
    "exactness_check": ("exactness_check = false", "[checks]\nexactness = true\n", ""),
    "min_parties": ("min_parties = 5", "", ""),
    "min_committee_members": ("min_committee_members = 5", "", ""),
    "committee_members": ('committee_members = ["north", "east"]', "", ""),
    "min_key_bits": ("min_key_bits = 3072", "", "paillier"),
    "min_parties under one key": ("min_parties = 4", "", "paillier"),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_job_that_asks_for_more_is_refused_by_the_named_line(site, name) -> None:
    line, sections, protection = ATTACKS[name]
    policy_key = f"policy.{name.split()[0]}"
    site.allow(line)
    with (site.folder / "job.toml").open("a") as file:
        file.write(f"\n{sections}")
    if protection:
        site.use_paillier()
    before = files_in(site.folder)
    answer = site.run()
    assert answer.code == 2
    assert policy_key in answer.err
    assert "cure: " in answer.err
    written = files_in(site.folder) - before
    assert {Path(path).parts[0] for path in written} == {"states"}
    assert {Path(path).parts[2] for path in written} == {"refusals"}
    told = json.loads(audit_of(site, "north", "--json").out)
    assert [entry["line"] for entry in told["refused"]] == [policy_key]
    assert told["refused"][0]["job"] == "clinics"
    assert told["refused"][0]["role"] == "north"
    assert told["refused"][0]["digest"] == site.call("job", "digest", site.folder / "job.toml").out.strip()


@pytest.mark.parametrize(
    ("lists", "named"),
    [
        ('deny_columns = ["dose"]', "'dose'"),
        ('allow_columns = ["age", "days"]', "'dose'"),
        ("allow_columns = []", "'age'"),
    ],
)
def test_a_column_that_is_not_allowed_is_refused_before_a_row_is_read(site, lists, named) -> None:
    site.edit("site.toml", 'path = "north.csv"', f'path = "north.csv"\n{lists}')
    path = site.folder / "north.csv"
    path.write_text(path.read_text().splitlines()[0] + "\n\x00 no row can be read here\n")
    answer = site.run()
    assert answer.code == 2
    assert named in answer.err
    assert "columns = " not in answer.err
    ledger = (site.folder / "states/north/refusals/1/ledger/north.jsonl").read_text()
    assert "party.north.data.visits" in ledger
    assert "dose" not in ledger  # what stands first in a file without a header is a row


def test_ignored_columns_the_label_and_ids_are_not_judged(site) -> None:
    site.edit(
        "site.toml", 'path = "north.csv"', 'path = "north.csv"\nallow_columns = ["age"]\nignore = ["dose", "days"]'
    )
    for party in PARTIES[1:]:
        site.edit("site.toml", f'path = "{party}.csv"', f'path = "{party}.csv"\nignore = ["dose", "days"]')
    answer = site.run("--dry-run")
    assert answer.code == 0, answer.err


def test_a_dry_run_refuses_and_writes_nothing(site) -> None:
    site.allow("max_rounds = 1")
    before = files_in(site.folder)
    assert site.run("--dry-run").code == 2
    assert files_in(site.folder) == before


def test_all_lines_that_refuse_are_in_the_ledger_at_once(site) -> None:
    site.allow('max_rounds = 1\nmodels = ["mlp"]\nmin_parties = 5')
    answer = site.run()
    assert "policy.max_rounds, policy.min_parties" in answer.err
    refused = json.loads(audit_of(site, "east", "--json").out)["refused"]
    assert [entry["line"] for entry in refused] == ["policy.models", "policy.max_rounds", "policy.min_parties"]
    assert refused[1]["asked"] == "2 rounds"
    assert refused[1]["allowed"] == "1"


def test_a_site_without_state_refuses_all_the_same_and_says_that_no_ledger_has_it(workplace) -> None:
    workplace.edit("site.toml", r"min_key_bits = 2048", "max_rounds = 1")
    before = files_in(workplace.folder)
    answer = workplace.run()
    assert answer.code == 2
    assert "in NO ledger of north: no state folder" in answer.err
    assert files_in(workplace.folder) == before


def test_a_ledger_that_cannot_be_written_lets_no_job_through(site) -> None:
    site.allow("max_rounds = 1")
    (site.folder / "states/north").mkdir(parents=True)
    (site.folder / "states/north/refusals").write_text("in the way")
    answer = site.run()
    assert answer.code == 2
    assert "policy.max_rounds" in answer.err
    assert "in NO ledger of north" in answer.err
    assert "in the ledger of east, south" in answer.err


def test_names_in_a_job_forge_no_line_of_the_ledger(site) -> None:
    path = site.folder / "job.toml"
    path.write_text(path.read_text().replace("clinics", "x\u200b" + "a" * 3000))
    site.allow("max_rounds = 1")
    assert site.run().code == 2
    found = audit_of(site)
    assert found.code == 0, found.err
    assert "x?aaa" in found.out


def test_an_approval_is_asked_of_jobs_without_party_keys_where_the_site_says_so(site) -> None:
    site.allow("require_approval = true")
    answer = site.run()
    assert answer.code == 2
    assert "not approved" in answer.err
    assert site.call("job", "approve", site.folder / "job.toml").code == 0
    assert site.run("--dry-run").code == 0
    site.edit("job.toml", "rounds = 2", "rounds  = 2")  # the same job, written otherwise
    assert site.run("--dry-run").code == 2


def test_one_role_alone_is_refused_as_well(site, tmp_path) -> None:
    """Keys in a folder, as a launcher gives them, are no way around the approval, and nobody is asked to join."""
    site.allow("require_approval = true")
    answer = site.run("--role", "north", "--relay", tmp_path / "none.sock", "--keys", tmp_path / "keys")
    assert answer.code == 2
    assert "not approved" in answer.err
    assert {path.name for path in (site.folder / "states").iterdir()} == {"north"}


def test_a_listed_job_runs_and_one_changed_letter_does_not(site) -> None:
    digest = site.call("job", "digest", site.folder / "job.toml").out.strip()
    site.allow(f'approved_jobs = ["{digest}"]')
    assert site.run("--dry-run").code == 0
    site.edit("job.toml", 'name = "clinics"', 'name = "clinica"')
    answer = site.run("--dry-run")
    assert answer.code == 2
    assert "policy.approved_jobs" in answer.err


@pytest.fixture
def refused(site):
    """A site whose party north, which has a party key, refused twice."""
    key = PartyKey.generate()
    key.save(site.folder / "north.key")
    site.edit("site.toml", r"\[party\.north\]\n", '[party.north]\nparty_key = "north.key"\n')
    site.allow('max_rounds = 1\nmodels = ["mlp"]')
    assert site.run().code == 2
    assert site.run().code == 2
    site.key = key
    site.ledger = site.folder / "states/north/refusals/1/ledger/north.jsonl"
    return site


def test_the_ledger_is_signed_by_the_party_key_and_for_its_owner_alone(refused) -> None:
    answer = audit_of(refused)
    assert answer.code == 0, answer.err
    assert "4 lines, 1 jobs" in answer.out
    assert refused.key.fingerprint in answer.out
    assert stat.S_IMODE(refused.ledger.stat().st_mode) == 0o600
    pinned = refused.folder / "pinned.json"
    pinned.write_text(json.dumps({"north": refused.key.public.text}))
    assert audit_of(refused, "north", "--parties", pinned).code == 0
    pinned.write_text(json.dumps({"north": PartyKey.generate().public.text}))
    assert audit_of(refused, "north", "--parties", pinned).code == 2


def test_a_party_without_a_key_signs_with_one_that_stays_in_its_state(refused) -> None:
    assert audit_of(refused, "east").code == 0
    own = refused.folder / "states/east/refusals/own.key"
    assert stat.S_IMODE(own.stat().st_mode) == 0o600
    assert not (refused.folder / "states/north/refusals/own.key").exists()


def test_lines_cut_off_are_missed(refused) -> None:
    lines = refused.ledger.read_bytes().splitlines(keepends=True)
    refused.ledger.write_bytes(b"".join(lines[:3]))
    answer = audit_of(refused)
    assert answer.code == 1
    assert "NOT SIGNED" in answer.out


@pytest.mark.parametrize("number", [1, 2, -2])
def test_an_altered_or_missing_line_is_found(refused, number) -> None:
    lines = refused.ledger.read_bytes().splitlines(keepends=True)
    refused.ledger.write_bytes(b"".join([*lines[:number], *lines[number:][1:]]))
    assert audit_of(refused).code == 2
    refused.ledger.write_bytes(b"".join(lines).replace(b"policy.max_rounds", b"policy.max_round5", 1))
    answer = audit_of(refused)
    assert answer.code == 2
    assert "does not hold at line" in answer.err


def test_a_damaged_ledger_stays_for_the_audit_and_the_next_refusal_is_in_a_new_one(refused) -> None:
    damaged = refused.ledger.read_bytes().replace(b"policy.models", b"policy.model5", 1)
    refused.ledger.write_bytes(damaged)
    assert refused.run().code == 2
    assert refused.ledger.read_bytes() == damaged
    assert (refused.folder / "states/north/refusals/2/ledger/north.jsonl").exists()
    assert audit_of(refused).code == 2
    alone = refused.call("audit", refused.folder / "states/north/refusals/2")
    assert alone.code == 0, alone.err


def test_a_ledger_that_was_taken_away_is_missed(refused) -> None:
    place = refused.folder / "states/north/refusals"
    refused.ledger.write_bytes(b"")  # so that a second one is begun
    assert refused.run().code == 2
    (place / "1").rename(refused.folder / "elsewhere")
    answer = audit_of(refused)
    assert answer.code == 2
    assert "ledgers of refusals are missing" in answer.err


def test_a_full_ledger_is_followed_by_the_next(refused, monkeypatch) -> None:
    monkeypatch.setattr("hekat.job.policy.refusals_ledger.MOST_LINES", 3)
    assert refused.run().code == 2
    answer = audit_of(refused, "north", "--party", "north", "--json")
    assert answer.code == 0, answer.out
    assert len(json.loads(answer.out)["refused"]) == 6
    assert len(json.loads(answer.out)["ledgers"]) == 2


def test_jobs_that_are_sent_again_and_again_do_not_fill_the_disk(refused, monkeypatch) -> None:
    monkeypatch.setattr("hekat.job.policy.refusals_ledger.MOST_LINES", 3)
    monkeypatch.setattr("hekat.job.policy.refusals_ledger.MOST_FILES", 1)
    before = refused.ledger.read_bytes()
    answer = refused.run()
    assert answer.code == 2
    assert "in NO ledger of north: the ledgers of refusals are full" in answer.err
    assert refused.ledger.read_bytes() == before
    assert audit_of(refused).code == 0


def test_nothing_of_a_row_and_no_path_is_in_the_ledger(refused) -> None:
    text = "".join(path.read_text() for path in (refused.folder / "states").rglob("*.jsonl"))
    assert str(refused.folder) not in text
    assert ".csv" not in text
    assert "states" not in text
    for row in (refused.folder / "north.csv").read_text().splitlines()[1:]:
        assert not any(cell in text for cell in row.split(",")[:3])
