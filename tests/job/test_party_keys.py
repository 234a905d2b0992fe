"""Keys that stand in a job: of all roles or of none, each once, the public halves of what the site keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from hekat.channel import Channel, PartyKey, run_parties
from hekat.errors import JobError, PartyStoppedError, SealError
from hekat.job.horizontal.job_file import load_job
from hekat.job.load_any_job import approvers_of, load_any_job
from hekat.job.site_file import PartySite, Site
from hekat.ledger import RecordedChannel
from hekat.protocol.in_process import make_sessions
from hekat.run.load_keys import load_party_keys

HORIZONTAL = """format = 2
name = "clinics"
protocol = "horizontal"
parties = ["a", "b", "c"]
aggregator = "hub"
data = "visits"
classes = ["no", "yes"]
weight_max = 100
"""
VERTICAL = """format = 2
name = "firms"
protocol = "vertical_linear"
guest = "a"
hosts = ["b"]
arbiter = "c"
data = "clients"
classes = ["no", "yes"]
"""
PSI = """format = 2
name = "ids"
protocol = "psi"
guest = "a"
hosts = ["b", "c"]
data = "clients"
"""
ROLES = {HORIZONTAL: ("a", "b", "c", "hub"), VERTICAL: ("a", "b", "c"), PSI: ("a", "b", "c")}
KEYS = {name: PartyKey.generate() for name in ("a", "b", "c", "hub", "other")}
every_protocol = pytest.mark.parametrize("text", ROLES, ids=("horizontal", "vertical_linear", "psi"))


def write(folder: Path, text: str, keys: dict[str, str]) -> Path:
    lines = "".join(f'{name} = "{line}"\n' for name, line in keys.items())
    path = folder / "job.toml"
    path.write_text(f"{text}\n[party_keys]\n{lines}")
    return path


def lines_of(text: str) -> dict[str, str]:
    return {name: KEYS[name].pin for name in ROLES[text]}


@every_protocol
def test_every_role_has_its_key(tmp_path, text) -> None:
    job = load_any_job(write(tmp_path, text, lines_of(text)))
    assert job.party_keys == {name: KEYS[name].public for name in ROLES[text]}
    assert approvers_of(job) == ("a", "b", "c")


@every_protocol
def test_a_job_without_keys_reads_as_before(tmp_path, text) -> None:
    assert load_any_job(write(tmp_path, text, {})).party_keys == {}


@every_protocol
def test_all_roles_have_keys_or_none(tmp_path, text) -> None:
    lines = lines_of(text)
    gone = ROLES[text][-1]
    del lines[gone]
    with pytest.raises(JobError, match=gone):
        load_any_job(write(tmp_path, text, lines))


@pytest.mark.parametrize(
    ("name", "line", "told"),
    [
        ("b", KEYS["a"].pin, "a and b one key"),
        ("b", KEYS["b"].fingerprint, "party_keys.b"),
        ("b", KEYS["b"].public.text, "party_keys.b"),
        ("b", KEYS["b"].public.text + KEYS["other"].pin.removeprefix(KEYS["other"].public.text), "party_keys.b"),
        ("b", "hekat-party-private-ed25519:AAAA", "party_keys.b"),
        ("d", KEYS["other"].pin, "party_keys.d is not a setting"),
    ],
    ids=("one key twice", "a fingerprint", "a key without proof", "another's proof", "a private key", "a stranger"),
)
def test_what_is_no_key_of_a_role_is_refused(tmp_path, name, line, told) -> None:
    with pytest.raises(JobError, match=told) as refusal:
        load_job(write(tmp_path, HORIZONTAL, {**lines_of(HORIZONTAL), name: line}))
    assert "AAAA" not in str(refusal.value)


def test_the_digest_covers_the_keys(tmp_path) -> None:
    lines = lines_of(HORIZONTAL)
    one = load_job(write(tmp_path, HORIZONTAL, lines))
    other = load_job(write(tmp_path, HORIZONTAL, {**lines, "b": KEYS["other"].pin}))
    assert one.digest != other.digest


# --- the site's own half -------------------------------------------------------------------------------------


def site_with(folder: Path, **kept: PartyKey) -> Site:
    parties = {}
    for name, key in kept.items():
        key.save(folder / f"{name}.key")
        parties[name] = PartySite({}, party_key=folder / f"{name}.key")
    return Site(folder, parties)


def test_a_job_with_another_key_for_a_name_is_refused(tmp_path) -> None:
    """Whoever writes a job in which a friend plays b is told so by b's own site, with both fingerprints."""
    site = site_with(tmp_path, a=KEYS["a"], b=KEYS["b"])
    stated = {"a": KEYS["a"].public, "b": KEYS["other"].public}
    assert load_party_keys(site, ("a", "b")).keys() == {"a", "b"}  # without keys in the job nobody notices
    with pytest.raises(JobError) as refusal:
        load_party_keys(site, ("a", "b"), stated)
    assert KEYS["b"].fingerprint in refusal.value.got
    assert KEYS["other"].fingerprint in refusal.value.expected


def test_a_run_makes_no_key_where_the_job_names_one(tmp_path) -> None:
    site = site_with(tmp_path, a=KEYS["a"])
    with pytest.raises(JobError, match="no party key for b"):
        load_party_keys(site, ("a", "b"), {"a": KEYS["a"].public, "b": KEYS["b"].public})


def test_the_cure_names_the_section_as_the_site_file_has_it(tmp_path) -> None:
    with pytest.raises(JobError) as refusal:
        load_party_keys(site_with(tmp_path), (), {"St. Anne": KEYS["a"].public})
    assert refusal.value.got == 'no party_key under [party."St. Anne"]'
    assert refusal.value.cure.startswith('add party_key to [party."St. Anne"]; ')


def test_a_session_holds_everybody_to_the_keys_of_the_job() -> None:
    """b signs with a key of its own: without pinned keys the session opens, with those of the job it does not."""
    keys = {"a": KEYS["a"], "b": KEYS["other"]}

    def play(pinned: dict) -> None:
        sessions = make_sessions(keys, run_id="run", protocol="test", job_digest=bytes(32), public_keys=pinned)

        def role(channel: Channel) -> None:
            sessions[channel.party].play(channel, lambda recorded: _talk(recorded))

        run_parties({"a": role, "b": role}, timeout_s=5.0)

    play({})
    with pytest.raises(PartyStoppedError) as stopped:
        play({"a": KEYS["a"].public, "b": KEYS["b"].public})
    assert isinstance(stopped.value.__cause__, SealError)


def _talk(channel: RecordedChannel) -> None:
    assert len(channel.session_id) == 32
