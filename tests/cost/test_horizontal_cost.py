"""Bytes that are estimated are those that a run's sealed channels count; seconds are there, and nothing is written."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from hekat.channel import sealing
from hekat.channel.sealing import SealedChannel
from hekat.cli.run.cost_tables import cost_tables
from hekat.cli.run.progress import RunProgress
from hekat.cost import horizontal as estimating
from hekat.cost.horizontal import RUN_ID, NetworkLink, cost_of_job, plan_round
from hekat.launch.horizontal.run import run_job
from hekat.protocol.secure_sum.cost.round_bytes import RoleBytes, bytes_by_role, packing_of
from hekat.protocol.secure_sum.masked.group import announced_block
from hekat.run.horizontal.load_inputs import HorizontalInputs, load_inputs
from hekat.scheme.paillier import encrypt
from hekat.scheme.paillier.keys.parameters import plaintext_bits_of
from hekat.wire import to_bytes
from hekat.wire.paillier import written_ciphertexts_bytes

SITE = """format = 1
[policy]
protections = ["lattice", "paillier", "none"]
openings = ["committee", "authority", "shared"]
min_masked = 0.1
[party.a]
paillier_key = "leader.key"
"""
# By id: what the job file says beside names, and how far estimates may be off in one message, in bytes.
CASES = {
    "committee": ('[protection]\nkind = "lattice"', 0),
    "five-members-mlp": ('parties = 5\n[model]\nname = "mlp"\nhidden = [7, 3]', 0),
    "authority": ('[protection]\nopening = "authority"\nauthority = "notary"', 0),
    "shared": ('[protection]\nopening = "shared"', 0),
    "checked-sums": ("[protection]\ncheck_sum = true", 0),
    "checked-sums-of-an-authority": ('[protection]\nopening = "authority"\nauthority = "notary"\ncheck_sum = true', 0),
    "masked-part": ("[protection]\nmasked = 0.4", 0),
    "daciq": ('[codec]\nclipping = "daciq"', 0),
    "fixed": ('[codec]\nclipping = "fixed"\nalpha = 0.5\nvalue_bits = 8', 0),
    "few-values-of-24-bits": ("parties = 5\n[codec]\nvalue_bits = 24", 0),
    "fedsgd": ('[training]\nalgorithm = "fedsgd"\nstandardise = false', 0),
    "scaffold": ('[training]\nalgorithm = "scaffold"', 0),
    "a-sample-of-the-parties": ("parties = 5\n[training]\nparticipation = 0.6", 0),
    "validation": ("[validation]\nhold_out = 0.2", 0),
    "validation-now-and-then": ("[training]\nrounds = 3\n[validation]\nhold_out = 0.2\nevery = 2", 0),
    "paillier": ('[protection]\nkind = "paillier"\nkey_bits = 2048', 0),
    "paillier-offset": ('[protection]\nkind = "paillier"\nkey_bits = 2048\n[codec]\nlayout = "offset"', 0),
    "votes": ('[model]\nname = "mlp"\nhidden = [30]\n[training]\nrounds = 4\nkeep = 0.3', 0),
    "votes-under-an-authority": (
        '[protection]\nopening = "authority"\nauthority = "notary"\n[training]\nrounds = 3\nkeep = 0.3',
        0,
    ),
    "votes-under-paillier": ('[protection]\nkind = "paillier"\nkey_bits = 2048\n[training]\nkeep = 0.3', 0),
    "top-k": ('[model]\nname = "mlp"\nhidden = [7]\n[training]\nkeep = 0.3\nkeep_by = "top_k"', 0),
    # Row counts are taken for their bound: their numbers can be shorter.
    "none": ('[protection]\nkind = "none"', 8),
}


def write_tables(folder: Path, names: list[str]) -> None:
    for number, name in enumerate(names):
        rng = np.random.default_rng(number)
        features = rng.normal(size=(24, 3))
        labels = np.array(["no", "yes"])[(features[:, 0] > 0).astype(int)]
        labels[:4] = ["no", "yes", "no", "yes"]
        np.savez(folder / f"{name}.npz", features=features, labels=labels)


@pytest.fixture
def job(tmp_path, paillier_keys, request) -> Path:
    from hekat.wire.keyfile import save_private_key

    text = getattr(request, "param", "")
    names = list("abcde") if text.startswith("parties = 5") else list("abc")
    write_tables(tmp_path, names)
    save_private_key(tmp_path / "leader.key", paillier_keys[2048][0].private, None)
    sources = "".join(f'[party.{name}.data.rows]\nsource = "npz"\npath = "{name}.npz"\n' for name in names)
    (tmp_path / "site.toml").write_text(SITE + sources)
    head = 'format = 1\nname = "j"\nprotocol = "horizontal"\naggregator = "hub"\ndata = "rows"\nweight_max = 100\n'
    rounds = text.replace("parties = 5\n", "")
    if "[training]" not in rounds:
        rounds += "\n[training]"
    if "rounds = " not in rounds:
        rounds = rounds.replace("[training]", "[training]\nrounds = 2")
    (tmp_path / "job.toml").write_text(f'{head}parties = {json.dumps(names)}\nclasses = ["no", "yes"]\n{rounds}\n')
    return tmp_path / "job.toml"


@pytest.fixture
def channels(monkeypatch, opened_channels) -> list[SealedChannel]:
    """Every sealed channel that a run opens; each counts by step, and not by groups of steps."""
    for grouping in ("group_of", "group_over_rounds"):
        monkeypatch.setattr(sealing, grouping, lambda step: step)
    return opened_channels


def counted(channels: list[SealedChannel], step: str) -> dict[str, RoleBytes]:
    """What the channels counted in a round, but for its exponents, which are asked for once."""
    found = {}
    for channel in channels:
        entries = {
            key: traffic
            for key, traffic in channel.traffic.items()
            if key[1].startswith(f"{step}/") and not key[1].startswith(f"{step}/exponents")
        }
        sums = [
            sum(getattr(entry, field) for entry in entries.values())
            for field in ("sent_bytes", "received_bytes", "sent_count", "received_count")
        ]
        waits = {name for (_, name), entry in entries.items() if entry.received_count}
        found[channel.party] = RoleBytes(*sums, waits=len(waits))
    return found


def play(inputs: HorizontalInputs, folder: Path) -> dict[str, object]:
    """The summary of a run of the job."""
    return run_job(inputs, folder, RunProgress(Console(quiet=True))).summary


@pytest.mark.quick_cases("daciq", "none")
@pytest.mark.parametrize("job", [text for text, _ in CASES.values()], indirect=True, ids=CASES)
def test_bytes_are_those_that_a_run_counts(job, channels, tmp_path, request) -> None:
    slack = CASES[request.node.callspec.id][1]
    inputs = load_inputs(job)
    settings = inputs.job.settings
    plan = plan_round(inputs, settings)
    # An authority is told of every upload of the run under one name of a step, which no round can be told by.
    last = f"round-{settings.training.round_count}"
    messages = [one for one in plan.messages(settings) if one.step.startswith(f"{last}/")]
    own = bytes_by_role(messages, settings.everyone, run_id=RUN_ID, protocol="horizontal")
    summary = play(inputs, tmp_path / "runs")
    real = counted(channels, last)
    if not slack:
        assert own == real
    for role, expected in real.items():
        assert own[role].sent_count == expected.sent_count
        assert 0 <= own[role].sent_bytes - expected.sent_bytes <= slack * expected.sent_count
        assert 0 <= own[role].received_bytes - expected.received_bytes <= slack * expected.received_count
    assert len(plan.uploaders) == settings.sample_size
    packing = packing_of(settings.sums, plan.shape, len(plan.uploaders))
    # The last sum of a run that validates is not one of a round.
    if settings.validation.hold_out == 0:
        assert (None if packing is None else asdict(packing)) == summary["packing"]


@pytest.mark.long
@pytest.mark.parametrize("job", [CASES["committee"][0], CASES["authority"][0]], indirect=True)
def test_only_parties_count_rounds_apart(job, tmp_path, opened_channels) -> None:
    """What one round's sum took is asked of a party, and of no other role."""
    summary = play(load_inputs(job), tmp_path / "runs")
    numbers = {
        channel.party: {step.split("/")[0] for _, step in channel.traffic if step.startswith("round-")}
        for channel in opened_channels
    }
    assert numbers["hub"] == numbers.get("notary", {"round-0"}) == {"round-0"}
    assert numbers["a"] == {"round-1", "round-2"}
    of_kinds = summary["bytes"]["by_role"]["hub"]["by_step"]
    assert {"sums", "bounds", "agreement", "session", "standardise"} == set(of_kinds)


@pytest.mark.long
@pytest.mark.parametrize("most", [announced_block.MOST_BYTES, 0], ids=["one message", "blocks that follow"])
@pytest.mark.parametrize(
    "job",
    [
        "",
        "[training]\nrounds = 3\n[validation]\nfolds = 2",
        "[protection]\nmasked = 0.4\nrefresh = 2\n[training]\nrounds = 5",
        "[training]\nrounds = 4\nkeep = 0.3",
        "[training]\nrounds = 3\nkeep = 0.3\n[validation]\nfolds = 2",
    ],
    indirect=True,
    ids=["rounds", "folds", "new masks", "votes", "votes-in-folds"],
)
def test_all_rounds_are_at_least_what_a_run_sends_in_sums(most, job, channels, tmp_path, monkeypatch) -> None:
    """Uploads of further sums go with their announcements, or after them."""
    monkeypatch.setattr(announced_block, "MOST_BYTES", most)
    monkeypatch.setattr(estimating, "_protections", lambda inputs: ["lattice"])
    found = cost_of_job(load_inputs(job)).to_json()["protections"][0]
    play(load_inputs(job), tmp_path / "runs")
    groups = ("round-", "standardise/", "fold-", "mask")
    sent = sum(
        traffic.sent_bytes
        for channel in channels
        for (_, step), traffic in channel.traffic.items()
        if step.startswith(groups)
    )
    # Names of later rounds and uploads are longer by a digit now and then.
    assert sent <= found["run_bytes"] <= 1.001 * sent


def test_every_role_works_and_every_step_takes_time(job) -> None:
    found = cost_of_job(load_inputs(job), NetworkLink(1e8, 0.02))
    assert [cost.protection for cost in found.costs] == ["lattice", "paillier", "none"]
    for cost in found.costs:
        seconds = {role.role: role.seconds for role in cost.roles}
        assert seconds["hub"]["aggregate"] > 0
        assert all(seconds[party]["train"] > 0 for party in "abc")
        if cost.protection != "none":
            assert all(seconds[party][step] > 0 for party in "abc" for step in ("encode", "encrypt", "decrypt"))
        assert ("shares" in seconds["a"]) == (cost.protection == "lattice")
        for role in cost.roles:
            line_s = 8 * (role.traffic.sent_bytes + role.traffic.received_bytes) / 1e8 + 0.02 * role.traffic.waits
            assert role.transfer_s == pytest.approx(line_s)


@pytest.mark.parametrize(
    ("job", "count"),
    [("[protection]\nmasked = 0.4\nrefresh = 2\n[training]\nrounds = 5", 3), ("", None)],
    indirect=["job"],
    ids=["masked", "whole"],
)
def test_maps_are_counted_and_timed(job, count, monkeypatch) -> None:
    """A map before rounds 1, 3 and 5; its sum holds three weights and a bias of eight bytes."""
    monkeypatch.setattr(estimating, "_protections", lambda inputs: ["lattice"])
    found = cost_of_job(load_inputs(job))
    if count is None:
        assert found.maps is None
        assert found.to_json()["maps"] is None
    else:
        assert found.maps is not None
        assert (found.maps.count, found.maps.held_bytes) == (count, 4 * 8)
        assert all(found.maps.seconds[party] > 0 for party in "abc")
        assert "maps in the run" in str(cost_tables(found, verbose=False))


def test_the_estimate_of_a_large_model_makes_no_update_of_it(job) -> None:
    """Bytes of a hundred million values are counted, not made: there is no array of them anywhere."""
    from dataclasses import replace

    from hekat.protocol.secure_sum.cost.recorded_sums import SumShape
    from hekat.protocol.secure_sum.cost.round_bytes import messages_of_sum

    settings = load_inputs(job).job.settings.sums
    shape = SumShape("round-1", {"w": (109_482_240,)}, (), 16)
    up = sum(one.payload_bytes for one in messages_of_sum(settings, shape, settings.parties, 7) if one.sender == "a")
    # 23 bits a value, as set A16-16 has them; shares and statements beside them.
    assert 1 < up / (109_482_240 * 19.5 / 8) < 1.001
    plain = replace(settings, protection="none")
    assert (
        sum(one.payload_bytes for one in messages_of_sum(plain, shape, ["a"], 0) if one.sender == "a") > 8 * 109_482_240
    )


@pytest.mark.parametrize("count", [1, 3, 127, 128, 200])
def test_ciphertexts_are_as_long_as_is_said(count, paillier_keys) -> None:
    key = paillier_keys[2048][0].private
    from hekat.engine.limbs import limbs_from_ints
    from hekat.plaintext_space import PackedPlaintext

    plain = PackedPlaintext(limbs_from_ints([1] * count, 2), 1)
    assert len(to_bytes(encrypt(key, plain))) == written_ciphertexts_bytes(2048, count)


@pytest.mark.parametrize("bits", [512, 1024, 2048, 3072])
def test_every_key_of_a_size_has_the_same_plaintext_bits(bits, paillier_keys) -> None:
    assert {pair.public.plaintext_space.bits for pair in paillier_keys[bits]} == {plaintext_bits_of(bits)}
