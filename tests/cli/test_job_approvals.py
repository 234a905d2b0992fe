"""`hekat job`: what a site agrees to, its approval by digest, and the refusal of everything else."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest

from hekat.channel import PartyKey
from hekat.cli.main import main

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("north", "east", "south", "hub")


@pytest.fixture
def keyed(workplace):
    """The workplace with a party key of every role in the job, and keys and state folders at the site."""
    keys = {name: PartyKey.generate() for name in NAMES}
    for name, key in keys.items():
        key.save(workplace.folder / f"{name}.key")
    with (workplace.folder / "job.toml").open("a") as file:
        file.write("\n[party_keys]\n" + "".join(f'{name} = "{key.pin}"\n' for name, key in keys.items()))
    for name in NAMES[:3]:
        workplace.edit("site.toml", rf"^\[party\.{name}\.data", f"[party.{name}.data")
    text = (workplace.folder / "site.toml").read_text().replace("[party.north]\n", "")
    text = text.replace('paillier_key = "leader.key"\n', "")
    places = "".join(f'[party.{name}]\nparty_key = "{name}.key"\nstate = "states/{name}"\n' for name in NAMES[:3])
    (workplace.folder / "site.toml").write_text(text + "\n" + places + '[party.hub]\nparty_key = "hub.key"\n')
    return workplace


def approve(workplace, *options):
    return workplace.call("job", "approve", workplace.folder / "job.toml", *options)


def digest_of(workplace) -> str:
    return workplace.call("job", "digest", workplace.folder / "job.toml").out.strip()


def test_a_job_that_nobody_approved_is_refused_and_only_the_refusal_is_written(keyed) -> None:
    for options in (("--dry-run",), ()):
        answer = keyed.run(*options)
        assert answer.code == 2
        assert digest_of(keyed) in answer.err
        assert "north, east, south" in answer.err
        assert "hekat job approve" in answer.err
        assert not keyed.runs.exists()
        assert (keyed.folder / "states").exists() == (options == ())
    assert {path.name for path in (keyed.folder / "states").glob("*/*")} == {"refusals"}


def test_an_approved_job_runs_with_the_keys_of_the_job(keyed) -> None:
    answer = approve(keyed)
    assert answer.code == 0, answer.err
    assert digest_of(keyed) in answer.out
    for told in ("lattice", "3 of 3 members, all parties", "2 rounds", "'visits'", "up to 100"):
        assert told in answer.out
    ran = keyed.run("--json")
    assert ran.code == 0, ran.err
    assert "party keys" not in " ".join(json.loads(ran.out)["notes"])
    (folder,) = keyed.folders()
    assert keyed.call("audit", folder, "--job", keyed.folder / "job.toml").code == 0


def test_without_keys_a_run_says_that_one_process_plays_all(workplace) -> None:
    ran = workplace.run("--verbose")
    assert ran.code == 0
    assert "one machine that plays all roles" in " ".join(ran.out.split())


def test_an_approval_is_of_these_very_bytes(keyed) -> None:
    """A writer who changes a comment after the approval has another job."""
    assert approve(keyed).code == 0
    keyed.edit("job.toml", r"^name", "# harmless\nname")
    answer = keyed.run()
    assert (answer.code, keyed.runs.exists()) == (2, False)
    assert "no approval of north, east, south" in answer.err


def test_every_party_approves_for_itself(keyed) -> None:
    assert approve(keyed, "--party", "north").code == 0
    assert "no approval of east, south" in keyed.run().err
    assert approve(keyed, "--party", "east").code == 0
    assert approve(keyed, "--party", "south").code == 0
    assert keyed.run("--dry-run").code == 0
    shown = json.loads(keyed.call("job", "show", keyed.folder / "job.toml", "--json").out)
    assert shown["approved"] == {"north": True, "east": True, "south": True}
    for name in ("hub", "west"):
        answer = approve(keyed, "--party", name)
        assert answer.code == 2
        assert name in answer.err


def test_an_approval_is_a_small_file_for_its_owner_and_may_be_given_twice(keyed) -> None:
    assert approve(keyed).code == 0
    (path,) = (keyed.folder / "states" / "north" / "approved").iterdir()
    before = path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (path.parent, path.parent.parent)] == [0o700, 0o700]
    assert path.stem == digest_of(keyed)
    assert approve(keyed).code == 0
    assert path.read_bytes() == before
    doctor = json.loads(keyed.call("doctor", "--site", keyed.folder / "site.toml", "--json").out)
    assert doctor["approved jobs"]["north"] == f"{digest_of(keyed)[:16]} clinics"
    assert doctor["approved jobs"]["hub"] == "no state folder"


def test_an_approval_can_be_taken_back(keyed) -> None:
    assert approve(keyed).code == 0
    assert keyed.call("job", "revoke", keyed.folder / "job.toml", "--party", "east").code == 0
    assert "no approval of east" in keyed.run().err
    assert keyed.call("job", "revoke", keyed.folder / "job.toml").code == 0
    assert "no approval of north, east, south" in keyed.run().err


def test_another_party_or_job_in_the_file_is_no_approval(keyed) -> None:
    """A file that was copied from another party's state, or cut short, is not taken for an approval."""
    assert approve(keyed, "--party", "north").code == 0
    approved = [keyed.folder / "states" / name / "approved" / f"{digest_of(keyed)}.json" for name in NAMES[:3]]
    approved[1].parent.mkdir(parents=True)
    for content in (approved[0].read_bytes(), b"", b"[1]", b'{"format": 1}'):
        approved[1].write_bytes(content)
        answer = keyed.run()
        assert answer.code == 2
        assert "damaged" in answer.err
        assert not keyed.runs.exists()


def test_an_approval_has_to_have_a_place(keyed) -> None:
    keyed.edit("site.toml", r'^state = "states/east"\n', "")
    answer = approve(keyed)
    assert answer.code == 2
    assert 'state = "state/east" to [party.east]' in re.sub(r"\s+", " ", answer.err)
    assert not (keyed.folder / "states").exists()


@pytest.mark.parametrize("job", ["hospitals/job.toml", "vertical_credit/job_arbiter.toml", "intersection/job.toml"])
def test_a_shipped_example_is_shown_without_state_folders(job, capsys) -> None:
    assert main(["job", "show", str(EXAMPLES / job)]) == 0
    told = capsys.readouterr().out
    assert "not approved: no state folder" in told
    assert main(["job", "show", str(EXAMPLES / job), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["approved"]
    assert not any(shown["approved"].values())


def test_the_site_of_an_aggregator_reads_the_terms_and_approves_nothing(keyed) -> None:
    site = keyed.folder / "hub.toml"
    site.write_text('format = 1\n[party.hub]\nparty_key = "hub.key"\n')
    answer = keyed.call("job", "show", keyed.folder / "job.toml", "--site", site)
    assert answer.code == 0, answer.err
    assert "3 of 3 members" in answer.out
    assert "the aggregator: approves nothing" in answer.out
    assert digest_of(keyed) in answer.out
    assert (
        json.loads(keyed.call("job", "show", keyed.folder / "job.toml", "--site", site, "--json").out)["approved"] == {}
    )
    for action in ("approve", "revoke"):
        answer = keyed.call("job", action, keyed.folder / "job.toml", "--site", site)
        assert answer.code == 2
        assert "hub has nothing to approve" in answer.err


@pytest.mark.parametrize("place", ["runs/east", "old/20260101T000000Z-00ab12/state"])
def test_no_approval_is_written_among_runs_where_a_run_would_refuse_it(keyed, monkeypatch, place) -> None:
    monkeypatch.chdir(keyed.folder)
    keyed.edit("site.toml", r'^state = "states/east"', f'state = "{place}"')
    answer = approve(keyed)
    assert answer.code == 2
    assert "the state folder of east lies among runs" in answer.err
    assert not (keyed.folder / place).exists()
    assert not (keyed.folder / "states").exists()


def test_a_name_of_a_party_hides_no_term(keyed) -> None:
    """A party may be called as a line of the terms: both are shown."""
    for file in ("job.toml", "site.toml"):
        text = (keyed.folder / file).read_text().replace('"east"', '"opening"').replace("[party.east", "[party.opening")
        (keyed.folder / file).write_text(re.sub("^east = ", "opening = ", text, flags=re.MULTILINE))
    answer = keyed.call("job", "show", keyed.folder / "job.toml")
    assert answer.code == 0, answer.err
    assert [line.split()[1] for line in answer.out.splitlines() if line.startswith("opening ")] == ["by", "not"]


def test_a_key_that_is_not_the_jobs_ends_before_anything_is_written(keyed) -> None:
    assert approve(keyed).code == 0
    (keyed.folder / "east.key").unlink()
    other = PartyKey.generate()
    other.save(keyed.folder / "east.key")
    answer = keyed.run()
    assert (answer.code, keyed.runs.exists()) == (2, False)
    assert other.fingerprint in answer.err


def test_exchanged_ledgers_and_keys_pass_an_audit_unless_the_job_is_given(keyed) -> None:
    """Whoever holds the run's folder can write all ledgers anew, with keys of its own: the job's keys show it."""
    keyed.shorten()
    assert approve(keyed).code == 0
    assert keyed.run().code == 0
    (genuine,) = keyed.folders()
    text = (keyed.folder / "job.toml").read_text()
    (keyed.folder / "job.toml").write_text(re.sub(r"\n\[party_keys\][\s\S]*", "\n", text))
    site = (keyed.folder / "site.toml").read_text()
    (keyed.folder / "site.toml").write_text(re.sub(r"\[party\.\w+\]\n(party_key.*\n)?(state.*\n)?", "", site))
    assert keyed.run().code == 0
    forged = next(folder for folder in keyed.folders() if folder != genuine)
    (keyed.folder / "job.toml").write_text(text)
    assert keyed.call("audit", forged).code == 0
    answer = keyed.call("audit", forged, "--job", keyed.folder / "job.toml")
    assert answer.code == 2
    assert keyed.call("audit", genuine, "--job", keyed.folder / "job.toml").code == 0
    both = keyed.call("audit", genuine, "--job", keyed.folder / "job.toml", "--parties", genuine / "parties.json")
    assert (both.code, "one of them" in both.err) == (2, True)


def test_audit_takes_keys_from_one_place_that_has_them(workplace) -> None:
    workplace.shorten()
    assert workplace.run().code == 0
    (folder,) = workplace.folders()
    job = workplace.folder / "job.toml"
    assert "names no party keys" in workplace.call("audit", folder, "--job", job).err
    assert workplace.call("audit", folder, "--job", job, "--parties", folder / "parties.json").code == 0


def test_the_line_that_keys_party_prints_goes_into_a_job(workplace) -> None:
    made = json.loads(workplace.call("keys", "party", workplace.folder / "east.key", "--json").out)
    assert made["in_party_keys"] == f'east = "{made["pin"]}"'


def test_a_policy_of_the_site_is_answered_before_anything_is_written(keyed) -> None:
    assert approve(keyed).code == 0
    for line, told in (
        ("min_committee_members = 4", "at least 4 members"),
        ("min_parties = 4", "training.min_parties = 4"),
        ('committee_members = ["north", "east", "south"]', "their public keys"),
    ):
        keyed.edit("site.toml", r"^min_key_bits = 2048$", f"min_key_bits = 2048\n{line}")
        answer = keyed.run()
        assert (answer.code, keyed.runs.exists()) == (2, False)
        assert told in answer.err
        keyed.edit("site.toml", re.escape(f"\n{line}"), "")


def test_a_site_reads_whether_sums_are_checked_before_it_approves(keyed) -> None:
    def told() -> str:
        return json.loads(keyed.call("job", "show", keyed.folder / "job.toml", "--json").out)["terms"]["sums checked"]

    assert told().startswith("NO: an aggregator can alter a sum")
    keyed.edit("job.toml", 'kind = "lattice"', 'kind = "lattice"\ncheck_sum = true')
    assert told().startswith("against the uploads that their parties signed")


@pytest.mark.parametrize("protocol", ["vertical_linear", "psi"])
def test_other_protocols_are_approved_alike(tmp_path, capsys, protocol) -> None:
    assert main(["init", str(tmp_path / "job"), "--protocol", protocol, "--example"]) in (0, 2)
    folder = tmp_path / "job"
    if not (folder / "job.toml").exists():
        assert main(["init", str(folder), "--protocol", protocol]) == 0
    keys = {name: PartyKey.generate() for name in ("alpha", "beta")}
    with (folder / "job.toml").open("a") as file:
        lines = "".join(f'{name} = "{key.pin}"\n' for name, key in keys.items())
        file.write(f"\n[party_keys]\n{lines}")
    site = (folder / "site.toml").read_text()
    for name, key in keys.items():
        key.save(folder / f"{name}.key")
        place = f'party_key = "{name}.key"\n'
        site = re.sub(rf"^\[party\.{name}\].*\n", rf"\g<0>{place}", site, flags=re.MULTILINE)
    (folder / "site.toml").write_text(site)
    capsys.readouterr()
    assert main(["job", "show", str(folder / "job.toml"), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["approved"] == {"alpha": False, "beta": False}
    assert shown["party_keys"] == {name: key.fingerprint for name, key in keys.items()}
    assert shown["terms"]["protocol"].startswith(protocol)
    assert main(["job", "approve", str(folder / "job.toml"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["approved"] == {"alpha": True, "beta": True}
