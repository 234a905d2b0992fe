"""`hekat site check`: what a site allows in words, its files, weak lines, and how a job fits, all lines at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hekat.channel import PartyKey
from hekat.job.policy.site_lines import policy_keys

PARTIES = ("north", "east", "south")


def check(workplace, *options: object):
    return workplace.call("site", "check", *options)


def told(workplace, *options: object) -> dict:
    return json.loads(check(workplace, *options, "--json").out)


def test_every_line_of_the_policy_is_told_with_what_it_means(workplace) -> None:
    answer = check(workplace, "--site", workplace.folder / "site.toml")
    assert answer.code == 0, answer.out
    for key in policy_keys():
        assert f"policy.{key}: " in answer.out
    lines = told(workplace, "--site", workplace.folder / "site.toml")["allows"]
    assert [line["line"] for line in lines] == [f"policy.{key}" for key in policy_keys()]
    assert all(line["meaning"] for line in lines)


def test_a_job_that_fits_ends_with_0_and_writes_nothing(workplace) -> None:
    before = sorted(workplace.folder.rglob("*"))
    answer = check(workplace, workplace.folder / "job.toml")
    assert answer.code == 0, answer.out
    assert "every line allows the job" in answer.out
    assert sorted(workplace.folder.rglob("*")) == before


def test_all_refusals_of_a_job_come_at_once_with_their_cures(workplace) -> None:
    workplace.edit("site.toml", "min_key_bits = 2048", 'max_rounds = 1\nmodels = ["mlp"]\nopenings = []')
    before = sorted(workplace.folder.rglob("*"))
    answer = check(workplace, workplace.folder / "job.toml")
    assert answer.code == 2
    assert "3 of 20 lines refuse the job" in answer.out
    for line in ("max_rounds", "models", "openings"):
        assert f"policy.{line}: REFUSED" in answer.out
    found = told(workplace, workplace.folder / "job.toml")["job"]
    refused = [line for line in found["lines"] if not line["fits"]]
    assert [line["line"] for line in refused] == ["policy.models", "policy.max_rounds", "policy.openings"]
    assert all(line["cure"] for line in refused)
    assert not found["fits"]
    assert found["roles"] == ["north", "east", "south", "hub"]
    assert sorted(workplace.folder.rglob("*")) == before


def test_an_approval_that_is_missing_is_a_line_of_its_own(workplace) -> None:
    workplace.edit("site.toml", r"\[party\.north\]\n", '[party.north]\nstate = "states/north"\n')
    with (workplace.folder / "job.toml").open("a") as file:
        keys = {name: PartyKey.generate() for name in (*PARTIES, "hub")}
        file.write("\n[party_keys]\n" + "".join(f'{name} = "{key.pin}"\n' for name, key in keys.items()))
    answer = check(workplace, workplace.folder / "job.toml", "--party", "north")
    assert answer.code == 2
    assert "approval (hekat job approve): REFUSED" in answer.out
    assert workplace.call("job", "approve", workplace.folder / "job.toml", "--party", "north").code == 0
    assert check(workplace, workplace.folder / "job.toml", "--party", "north").code == 0


WEAK = {
    'protections = ["lattice", "none"]': '"none"',
    'openings = ["shared"]': "every party could open single updates",
    'openings = ["authority"]': "the authority could open single updates",
    "exactness_check = true": "policy.exactness_check",
    "joined_rows = true": "policy.joined_rows",
    "label_leak_waiver = true": "policy.label_leak_waiver",
    "column_leak_waiver = true": "policy.column_leak_waiver",
    'network_forms = ["shared", "guest_layer"]': "policy.network_forms",
    "single_ids = true": "policy.single_ids",
    "server_learns_model = true": "policy.server_learns_model",
    "min_parties = 2": "policy.min_parties",
    "min_category_rows = 4": "policy.min_category_rows",
    "min_masked = 0.1": "policy.min_masked",
    "exposed_embeddings = true": "policy.exposed_embeddings",
    "min_key_bits = 2048": "policy.max_rounds",
    "min_key_bits = 3072": "policy.committee_members",
    'committee_members = ["north"]': "paillier",
    'models = ["logistc"]': "logistc",
    "require_approval = false": "policy.require_approval",
}
STRONG = """min_parties = 3
max_rounds = 50
require_approval = true
protections = ["lattice"]
committee_members = ["north", "east", "south"]
"""


@pytest.mark.parametrize("line", WEAK)
def test_a_weak_line_is_warned_of_and_fails_nothing(workplace, line) -> None:
    workplace.edit("site.toml", "min_key_bits = 2048", line)
    answer = told(workplace, "--site", workplace.folder / "site.toml")
    assert any(WEAK[line] in text for text in answer["weak"])
    assert answer["in_order"]


@pytest.mark.parametrize(
    ("protocol", "named"),
    [
        ("psi", []),
        ("vertical_linear", ["max_rounds"]),
        ("encrypted_model", ["min_parties", "max_rounds"]),
        ("horizontal", ["min_parties", "max_rounds", "committee_members"]),
        ("averaging", ["min_parties", "max_rounds", "committee_members"]),
    ],
)
def test_lines_that_no_allowed_protocol_asks_for_are_not_weak(workplace, protocol, named) -> None:
    workplace.edit("site.toml", "min_key_bits = 2048", f'protocols = ["{protocol}"]')
    weak = " ".join(told(workplace, "--site", workplace.folder / "site.toml")["weak"])
    assert [line for line in ("min_parties", "max_rounds", "committee_members") if line in weak] == named


def test_a_strict_site_has_no_weak_line(workplace) -> None:
    workplace.edit("site.toml", "min_key_bits = 2048", STRONG)
    text = (workplace.folder / "site.toml").read_text().replace("[party.north]\n", "")
    text = text.replace('paillier_key = "leader.key"\n', "")
    for name in PARTIES:
        PartyKey.generate().save(workplace.folder / f"{name}.key")
        text += f'[party.{name}]\nparty_key = "{name}.key"\nstate = "states/{name}"\n'
    (workplace.folder / "site.toml").write_text(text)
    assert told(workplace, "--site", workplace.folder / "site.toml")["weak"] == []


def break_key(folder: Path) -> None:
    PartyKey.generate().save(folder / "north.key")
    (folder / "north.key").chmod(0o644)


FAULTS = {
    "a key that others may read": (break_key, 'party_key = "north.key"', "party_key", "0644"),
    "a key that is not there": (lambda folder: None, 'party_key = "north.key"', "party_key", "No such file"),
    "a state folder that others may write to": (
        lambda folder: ((folder / "state").mkdir(), (folder / "state").chmod(0o777)),
        'state = "state"',
        "state",
        "chmod 700",
    ),
    "a file where the state folder belongs": (
        lambda folder: (folder / "state").write_text(""),
        'state = "state"',
        "state",
        "no folder",
    ),
    "rows that are not there": (lambda folder: (folder / "north.csv").unlink(), "", "path", "not there"),
    "a Paillier key that others may read": (
        lambda folder: (folder / "leader.key").chmod(0o644),
        "",
        "paillier_key",
        "chmod 600",
    ),
    "a site file that others may write to": (
        lambda folder: (folder / "site.toml").chmod(0o666),
        "",
        "the site file",
        "chmod go-w",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_file_that_is_not_in_order_is_named_without_its_path(workplace, name) -> None:
    make, line, where, problem = FAULTS[name]
    if line:
        workplace.edit("site.toml", r"\[party\.north\]\n", f"[party.north]\n{line}\n")
    make(workplace.folder)
    answer = check(workplace, "--site", workplace.folder / "site.toml", "--json")
    assert answer.code == 2
    found = [file for file in json.loads(answer.out)["files"] if file["problem"]]
    assert len(found) == 1, found
    assert where in found[0]["line"]
    assert problem in found[0]["problem"]
    assert str(workplace.folder) not in answer.out


def test_a_party_without_a_job_and_a_job_of_others_are_refused(workplace) -> None:
    assert check(workplace, "--site", workplace.folder / "site.toml", "--party", "north").code == 2
    for name in PARTIES:
        path = workplace.folder / "job.toml"
        path.write_text(path.read_text().replace(name, f"{name}-2"))
    answer = check(workplace, workplace.folder / "job.toml")
    assert answer.code == 2
    assert "no role of this job" in answer.err


def test_an_escape_sequence_in_a_job_steers_no_terminal(workplace) -> None:
    path = workplace.folder / "job.toml"
    path.write_text(path.read_text().replace("clinics", "x\u200by"))
    assert "x\\u200by" in check(workplace, path).out
