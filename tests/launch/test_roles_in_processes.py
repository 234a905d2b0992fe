"""Each role of a run in a process of its own, with nothing shared but the job and public keys: as in one process."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.launch.jobs_apart import clinics, credit, customers, protected_clinics, shortened
from tests.launch.roles_apart import RUN_ID

from hekat.cli.main import main
from hekat.job.approvals import approve
from hekat.job.horizontal.job_file import load_job
from hekat.job.site_file import load_site
from hekat.launch.horizontal.run import run_job
from hekat.launch.psi.run import run_intersection_job
from hekat.launch.vertical_linear.run import run_vertical_job
from hekat.report import brief_of, load_summary, terminal_findings, terminal_tables
from hekat.run.horizontal.load_inputs import load_inputs
from hekat.run.own_keys import write_key_folder
from hekat.run.psi.load_inputs import load_intersection_inputs
from hekat.run.vertical_linear.load_inputs import load_vertical_inputs
from hekat.run.vertical_linear.part_file import PARTS
from hekat.wire.keyfile import save_private_key

EXAMPLES = Path(__file__).parents[2] / "examples"
# The party's process ends where `--lose` would have it leave: ahead of its upload of that round.
KILLED_IN_ROUND_2 = """
import os, signal
from hekat.run.horizontal.role import HorizontalRole
def leave(self, step, part):
    if (step, part) == ("round-2", "sign"):
        os.kill(os.getpid(), signal.SIGKILL)
HorizontalRole._leave_where_asked = leave
"""
# The party's process ends as it sends its update of round 2.
KILLED_AT_ITS_UPDATE = """
import os, signal
from hekat.ledger import RecordedChannel
send = RecordedChannel.send
def send_or_die(self, to, step, message):
    if step.startswith("round-2/"):
        os.kill(os.getpid(), signal.SIGKILL)
    return send(self, to, step, message)
RecordedChannel.send = send_or_die
"""


def model_in(folder: Path) -> dict[str, np.ndarray]:
    with np.load(folder / "model.npz") as file:
        return {name: file[name] for name in file.files if file[name].dtype.kind == "f"}


def assert_same_arrays(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    assert one
    for name, values in one.items():
        assert np.array_equal(values, other[name]), name


def assert_reported_alone(folder: Path) -> None:
    """What one role knows makes a report, which says that it is of one role."""
    summary = load_summary(folder)
    shown = " ".join(table.note for table in terminal_tables(summary))
    assert "By the clock of this one role" in shown
    assert any("figures of the other roles are at their sites" in text for text in summary["notes"])
    assert terminal_findings(summary)
    assert brief_of(summary)


@pytest.mark.long
@pytest.mark.parametrize(
    "protection", ["lattice", *(pytest.param(one, marks=pytest.mark.long) for one in ("paillier", "none"))]
)
def test_horizontal_roles_train_what_one_process_trains(fork, tmp_path, paillier_keys, protection) -> None:
    apart = protected_clinics(tmp_path, paillier_keys, protection)
    ended = apart.play(fork)
    assert {role: (one.code, one.told.get("error")) for role, one in ended.items()} == dict.fromkeys(
        apart.roles, (0, None)
    )
    together = run_job(load_inputs(apart.together / "job.toml"), tmp_path / "runs")
    whole, summary = model_in(together.folder), json.loads((together.folder / "summary.json").read_text())
    for party in apart.job.settings.parties:
        own = apart.run_of(party)
        assert_same_arrays(model_in(own), whole)
        # Nothing of another role lies there.
        assert [path.name for path in (own / "ledger").iterdir()] == [f"{party}.jsonl"]
        assert json.loads((own / "summary.json").read_text())["rounds"] == summary["rounds"]
    for role in apart.roles:
        assert_reported_alone(apart.run_of(role))
    of_hub = load_summary(apart.run_of("hub"))
    shown = f"{terminal_tables(of_hub)} {terminal_findings(of_hub)}"
    assert "not known to this role" in shown
    assert "there is no compression ratio" not in shown
    assert "no values were sent" not in shown
    hub = json.loads((apart.run_of("hub") / "summary.json").read_text())
    assert hub["included"] == summary["included"]
    assert hub["aggregator_saw"] == summary["aggregator_saw"]
    assert not (apart.run_of("hub") / "model.npz").exists()


@pytest.mark.long
def test_all_roles_know_the_members_that_eight_parties_drew(fork, tmp_path) -> None:
    apart = clinics(tmp_path, 8, 'kind = "lattice"', rounds=1)
    ended = apart.play(fork)
    assert {role: (one.code, one.told.get("error")) for role, one in ended.items()} == dict.fromkeys(
        apart.roles, (0, None)
    )
    summaries = {role: load_summary(apart.run_of(role)) for role in apart.roles}
    openers = {role: tuple(summary["settings"]["openers"]) for role, summary in summaries.items()}
    assert len(set(openers.values())) == 1, openers
    assert len(openers["hub"]) == 7


@pytest.mark.long
def test_a_killed_party_drops_out_as_a_lost_one_does(fork, tmp_path) -> None:
    apart = clinics(tmp_path, 5, 'kind = "lattice"', rounds=3)
    apart.preludes["west"] = KILLED_IN_ROUND_2
    ended = apart.play(fork, may_drop_out=apart.job.settings.parties)
    assert {role: one.code for role, one in ended.items()} == {**dict.fromkeys(apart.roles, 0), "west": -9}
    together = run_job(load_inputs(apart.together / "job.toml"), tmp_path / "runs", dropouts={"west": 2})
    for party in ("north", "east", "south", "middle"):
        assert_same_arrays(model_in(apart.run_of(party)), model_in(together.folder))


@pytest.mark.long
def test_where_no_party_may_drop_out_all_others_are_told_whose_process_ended(fork, tmp_path) -> None:
    apart = clinics(tmp_path, 2, 'kind = "none"')
    apart.preludes["east"] = KILLED_AT_ITS_UPDATE
    ended = apart.play(fork)
    assert ended["east"].code == -9
    for role in ("north", "hub"):
        assert ended[role].code == 2
        assert "party 'east' stopped in step 'round-1/agreed'" in ended[role].told["error"]
        assert "its process ended" in ended[role].told["error"]
    # What was saved before stays, and nothing is half-written.
    assert ended["north"].told["saved"] == "checkpoint of round 1"
    assert not (apart.run_of("north") / "summary.json").exists()


# --- set intersections -----------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("kind", ["ecdh", "rsa_blind"])
def test_parties_of_an_intersection_find_the_same_rows(fork, tmp_path, kind) -> None:
    apart = customers(tmp_path, kind)
    ended = apart.play(fork)
    assert {role: (one.code, one.told.get("common")) for role, one in ended.items()} == dict.fromkeys(
        apart.roles, (0, 20)
    )
    together = run_intersection_job(load_intersection_inputs(apart.together / "job.toml"), tmp_path / "runs")
    for party in apart.roles:
        own = (apart.run_of(party) / "intersection" / f"{party}.csv").read_text().splitlines()
        whole = (together.folder / "intersection" / f"{party}.csv").read_text().splitlines()
        # The order that is common to all follows fresh secrets; which rows are in it does not.
        assert sorted(own) == sorted(whole)
        assert [path.name for path in (apart.run_of(party) / "intersection").iterdir()] == [f"{party}.csv"]
    assert_reported_alone(apart.run_of("insurer"))
    order = [(apart.run_of(party) / "intersection" / f"{party}.csv").read_text() for party in apart.roles]
    assert order[0] == order[1]


# --- vertical regressions --------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("form", ["arbiter", "shared_weights"])
def test_vertical_roles_train_what_one_process_trains(fork, tmp_path, paillier_keys, form) -> None:
    apart = credit(tmp_path, paillier_keys, form)
    roles = apart.roles
    values = ("bank", "insurer")
    ended = apart.play(fork)
    assert {role: (one.code, one.told.get("error")) for role, one in ended.items()} == dict.fromkeys(roles, (0, None))
    together = run_vertical_job(load_vertical_inputs(apart.together / "job.toml"), tmp_path / "runs")
    for role in roles:
        assert_reported_alone(apart.run_of(role))
    parts = {party: PARTS.load(apart.run_of(party) / "parts" / f"{party}.npz").part.arrays for party in values}
    whole = {party: PARTS.load(together.folder / "parts" / f"{party}.npz").part.arrays for party in values}
    if form == "arbiter":
        for party, arrays in parts.items():
            assert_same_arrays(dict(arrays), dict(whole[party]))
    else:
        # Shares are fresh in every run, and each truncation of one rounds up or down by what it drew.
        for name in ("weight_shares", "intercept_shares"):
            difference = joined([one[name] for one in parts.values()]) - joined([one[name] for one in whole.values()])
            assert np.abs(difference).max() < 2.0**6, name
    assert not (apart.place / "arbiter" / "runs" / RUN_ID / "parts").exists()


def joined(shares: list[np.ndarray]) -> np.ndarray:
    """The numbers that shares of uint64 pairs (low, high) stand for, mod 2^128, in units."""
    limbs = [share.reshape(-1, 2).astype(object) for share in shares]
    totals = []
    for row in range(len(limbs[0])):
        totals.append(sum(int(one[row][0]) + (int(one[row][1]) << 64) for one in limbs) % 2**128)
    return np.array([float(total - 2**128 if total >= 2**127 else total) for total in totals])


# --- one command that starts them all ----------------------------------------------------------------------------


def known(value: object) -> object:
    """What is told of a run, without whether the party that was lost had told the end of the round before: nobody waits
    for that word, so it may be read or not."""
    if isinstance(value, list):
        return [one.replace(", west", "") if isinstance(one, str) and "/end:" in one else one for one in value]
    return value


@pytest.mark.long
def test_processes_leave_what_one_process_leaves(tmp_path, capsys) -> None:
    """A job without party keys: the command makes a key for each role, which nothing keeps."""
    apart = clinics(tmp_path, 4, 'kind = "lattice"')
    job = apart.together / "job.toml"
    job.write_text(job.read_text().partition("[party_keys]")[0])
    site = apart.together / "site.toml"
    site.write_text("\n".join(line for line in site.read_text().splitlines() if "party_key" not in line))
    answers = []
    for number, more in enumerate((["--processes"], [])):
        runs = tmp_path / f"runs-{number}"
        # Each has state folders of its own: a record refuses other sums of the same rows.
        site.write_text(site.read_text().replace("state/", "other/" if number else "state/"))
        code = main(["run", str(job), "--runs", str(runs), "--json", "--lose", "west:2", *more])
        answers.append(json.loads(capsys.readouterr().out))
        assert code == 0, answers[-1]
    apart_folder, folder = (Path(answer["folder"]) for answer in answers)
    assert_same_arrays(model_in(apart_folder), model_in(folder))
    left = [{path.relative_to(one).as_posix() for path in one.rglob("*")} for one in (apart_folder, folder)]
    # Each process keeps the identity of its own party's rows; one process keeps all in the first one's file.
    kept = [{name for name in names if name.startswith("rows/")} for names in left]
    assert kept == [{f"rows/{party}.json" for party in apart.job.settings.parties}, {"rows/north.json"}]
    assert left[0] - kept[0] == left[1] - kept[1]
    same = ("settings", "parties", "results", "rounds", "included", "aggregator_saw", "packing", "clipped")
    for name in same:
        assert known(answers[0][name]) == known(answers[1][name]), name
    # Of an error in another process its kind is told, and no word of it.
    lost = [{**one, "reason": ""} for answer in answers for one in answer["lost"]]
    assert lost[0] == lost[1]
    assert answers[0]["lost"][0]["reason"] == "ChannelError"
    assert main(["audit", str(apart_folder)]) == 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("example", "left", "same"),
    [
        ("intersection/job.toml", ["intersection/baker.csv", "intersection/florist.csv"], ["common", "parties"]),
        pytest.param(
            "vertical_credit/job_shared.toml",
            ["parts/bank.npz", "parts/insurer.npz", "checkpoints/bank-epoch-2.npz"],
            ["intersection", "parties", "learned", "settings"],
            marks=pytest.mark.long,
        ),
        pytest.param(
            "vertical_credit/job_network.toml",
            [f"parts/{party}.npz" for party in ("bank", "insurer", "telephone")],
            ["intersection", "parties", "learned", "settings"],
            marks=pytest.mark.long,
        ),
        pytest.param(
            "encrypted_model/job.toml",
            ["model.npz", "kept/northside.npz", "kept/arbiter.npz", "kept/aggregator.npz"],
            ["parties", "settings", "columns", "training_rows"],
            marks=pytest.mark.long,
        ),
    ],
)
def test_processes_of_other_protocols_leave_one_folder(tmp_path, capsys, example, left, same) -> None:
    answers = []
    job = shortened(EXAMPLES / example, tmp_path / "job", 2)
    for more in (["--processes"], []):
        assert main(["run", str(job), "--runs", str(tmp_path / "runs"), "--json", *more]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    folder = Path(answers[0]["folder"])
    assert [name for name in left if not (folder / name).is_file()] == []
    assert not (folder / "roles").exists()
    for name in same:
        found = [answer[name] for answer in answers]
        if name == "intersection":
            found = [{**one, "seconds": 0.0} for one in found]
        assert found[0] == found[1], name
    assert [answer["played"] for answer in answers] == ["at once", "in turn"]
    assert main(["audit", str(folder)]) == 0


@pytest.mark.long
def test_a_run_that_stopped_in_processes_goes_on_in_one(tmp_path, capsys) -> None:
    apart = clinics(tmp_path, 3, 'kind = "lattice"', rounds=3)
    job = apart.together / "job.toml"
    assert main(["run", str(job), "--runs", str(tmp_path / "runs"), "--processes", "--lose", "east:2"]) == 2
    told = capsys.readouterr().err
    assert "too few parties are left for round-2" in told
    assert "saved: checkpoint of round 1" in told
    (folder,) = (tmp_path / "runs").iterdir()
    assert not (folder / "roles").exists()
    resumed = run_job(load_inputs(job), tmp_path / "resumed", resume_from=folder)
    whole = clinics(make_folder(tmp_path / "whole"), 3, 'kind = "lattice"', rounds=3)
    straight = run_job(load_inputs(whole.together / "job.toml"), tmp_path / "straight")
    assert_same_arrays(model_in(resumed.folder), model_in(straight.folder))


@pytest.mark.long
def test_roles_apart_go_on_from_folders_of_their_own(tmp_path, fork) -> None:
    apart = clinics(tmp_path, 3, 'kind = "lattice"', rounds=3)
    apart.preludes["east"] = KILLED_IN_ROUND_2
    stopped = apart.play(fork, may_drop_out=("north", "east", "south"))
    assert all(one.code for one in stopped.values())
    apart.preludes.clear()
    for role in apart.roles:
        before = apart.run_of(role).rename(apart.folder_of(role) / "stopped")
        apart.options[role] = ["--resume", str(before)]
    assert {role: one.code for role, one in apart.play(fork).items()} == dict.fromkeys(apart.roles, 0)
    whole = clinics(make_folder(tmp_path / "whole"), 3, 'kind = "lattice"', rounds=3)
    straight = run_job(load_inputs(whole.together / "job.toml"), tmp_path / "straight")
    for role in ("north", "east", "south"):
        assert_same_arrays(model_in(apart.run_of(role)), model_in(straight.folder))


def make_folder(path: Path) -> Path:
    path.mkdir()
    return path


# --- what is refused before anything is written --------------------------------------------------------------------


def refusal(capsys, *words: object) -> str:
    capsys.readouterr()
    assert main(["run", *(str(word) for word in words)]) == 2
    return capsys.readouterr().err


def test_a_role_that_cannot_play_is_refused_by_name(tmp_path, capsys) -> None:
    apart = clinics(tmp_path, 3, 'kind = "lattice"')
    folder = apart.folder_of("north")
    job, site, runs, relay = folder / "job.toml", folder / "site.toml", folder / "runs", tmp_path / "relay"
    words = (job, "--relay", relay, "--runs", runs)
    assert "the job has no role 'nobody'" in refusal(capsys, *words, "--role", "nobody")
    assert "the site file knows no party 'east'" in refusal(capsys, *words, "--role", "east")
    assert "there is no relay at" in refusal(capsys, *words, "--role", "north")
    assert "--role plays one role over a relay" in refusal(capsys, job, "--role", "north", "--runs", runs)
    assert "cure: leave it out" in refusal(capsys, *words, "--role", "north", "--dry-run")
    assert "there is nothing to resume in" in refusal(capsys, *words, "--role", "north", "--resume", tmp_path / "x")
    text = site.read_text()
    site.write_text(text.replace('party_key = "north.party"', ""))
    assert "the site file has no party key for north" in refusal(capsys, *words, "--role", "north")
    site.write_text(text.replace('party_key = "north.party"', 'party_key = "gone.key"'))
    told = refusal(capsys, *words, "--role", "north")
    assert "gone.key cannot be read" in told
    assert "for north's party_key under [party.north]" in told
    site.write_text(text.replace('state = "state/north"', ""))
    assert "north" in refusal(capsys, *words, "--role", "north")
    site.write_text(text.replace("state/north", "state/new"))
    assert "the job is not approved" in refusal(capsys, *words, "--role", "north")
    site.write_text(text)
    job.write_text(job.read_text().partition("[party_keys]")[0])
    told = refusal(capsys, *words, "--role", "north")
    assert "only one machine that plays all roles" in told
    assert "--processes" in told
    assert not runs.exists()


def test_losses_are_asked_for_where_they_can_be(tmp_path, capsys) -> None:
    apart = clinics(tmp_path, 3, 'kind = "none"')
    folder = apart.folder_of("north")
    words = (folder / "job.toml", "--relay", tmp_path / "relay", "--runs", folder / "runs", "--role", "north")
    assert "--lose of a party that another process plays" in refusal(capsys, *words, "--lose", "east:2")
    assert "protection 'none' bears no losses" in refusal(capsys, *words, "--lose", "north:2")
    assert not (folder / "runs").exists()


@pytest.mark.long
def test_a_protected_key_is_opened_in_processes_by_a_passphrase_file(tmp_path, capsys, paillier_keys) -> None:
    """Otherwise the command would ask at the terminal, and then every process of its own again."""
    save_private_key(tmp_path / "leader.key", paillier_keys(2048).private, b"long enough a passphrase")
    apart = clinics(tmp_path, 2, 'kind = "paillier"\nkey_bits = 2048', key=f'paillier_key = "{tmp_path}/leader.key"')
    runs = tmp_path / "runs"
    told = refusal(capsys, apart.together / "job.toml", "--processes", "--runs", runs)
    assert "add --passphrase-file FILE" in told
    assert not runs.exists()


def test_keys_in_a_folder_free_no_site_from_its_rules(tmp_path, capsys) -> None:
    """A launcher gives them to roles of one machine; elsewhere release records would be forgotten with the run, and
    the same update opened in two sums."""
    apart = clinics(tmp_path, 3, 'kind = "lattice"')
    folder = apart.folder_of("north")
    job, site, runs = folder / "job.toml", folder / "site.toml", folder / "runs"
    write_key_folder(tmp_path / "keys", apart.keys["north"], {role: key.public for role, key in apart.keys.items()})
    words = (job, "--relay", tmp_path / "relay", "--runs", runs, "--role", "north", "--keys", tmp_path / "keys")
    assert "keys from a folder are not taken" in refusal(capsys, *words)
    job.write_text(job.read_text().partition("[party_keys]")[0])
    site.write_text(site.read_text().replace('state = "state/north"', ""))
    assert "the site file names no state folder for north" in refusal(capsys, *words)
    assert not runs.exists()


@pytest.mark.long
def test_a_party_that_never_comes_is_named_by_all_others(fork, tmp_path) -> None:
    apart = clinics(tmp_path, 2, 'kind = "none"')
    apart.preludes["east"] = "import sys; sys.exit(0)"
    ended = apart.play(fork, timeout_s=20.0)
    for role in ("north", "hub"):
        assert ended[role].code == 2
        assert "no east" in ended[role].told["error"]
        assert not (apart.folder_of(role) / "runs").exists()


@pytest.mark.long
def test_another_job_at_one_party_is_told_to_it(fork, tmp_path) -> None:
    apart = clinics(tmp_path, 2, 'kind = "none"')
    job = apart.folder_of("east") / "job.toml"
    job.write_text(job.read_text().replace("rounds = 2", "rounds = 3"))
    site = load_site(apart.folder_of("east") / "site.toml")
    approve(site, "east", load_job(job).digest, "clinics")
    ended = apart.play(fork, timeout_s=120.0)
    assert ended["east"].code == 2
    assert "'east' was given another job" in ended["east"].told["error"]
    assert not any((apart.folder_of(role) / "runs").exists() for role in apart.roles)
