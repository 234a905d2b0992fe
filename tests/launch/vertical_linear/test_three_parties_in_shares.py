"""Jobs of three parties whose weights lie in shares at two: what they leave, resume, predict, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hekat.cost.vertical_linear import cost_of_vertical_job
from hekat.errors import ChannelError, InputError, PartyStoppedError, PolicyError, StateError
from hekat.job.site_file import load_site
from hekat.launch.vertical_linear.predict import predict_jointly
from hekat.launch.vertical_linear.run import run_vertical_job
from hekat.ledger import RecordedChannel
from hekat.run.vertical_linear.part_file import PARTS
from hekat.state.array_file import decode_arrays, encode_arrays

TRAINING = "[training]\nepochs = 3\nbatch_rows = 0\nlearning_rate = 0.3\n"
COMPARED = "[compare]\ncentralised = true\n[checks]\nexactness = true\n"
UNIT = 2.0**8  # The last bits of a number depend on the randomness of its shares.


def run(firms, sections="", start_from=None, **changes):
    firms.write_job(TRAINING + sections, **changes)
    return run_vertical_job(firms.load_inputs(), firms.folder / "runs", start_from=start_from)


def opened(folder):
    """All weights, the intercept first, in units, from the parts of both holders."""
    parts = [saved.part.arrays for saved in PARTS.load_all(folder).values() if "weight_shares" in saved.part.arrays]
    found = []
    for key in ("intercept_shares", "weight_shares"):
        one, other = (arrays[key].reshape(-1, 2).astype(object) for arrays in parts)
        for total in (one[:, 0] + other[:, 0] + ((one[:, 1] + other[:, 1]) << 64)) % 2**128:
            found.append(float(total - 2**128 if total >= 2**127 else total))
    return found


def labels_alone(firms) -> None:
    """The bank's tables without columns of its own."""
    for data, count, seed in (("clients", 120, 3), ("clients-test", 40, 4)):
        firms.write_table(
            "bank",
            count,
            data=data,
            seed=seed,
            header=["person", "outcome"],
            change=lambda rows: [[row[0], row[-1]] for row in rows],
        )


@pytest.mark.long
@pytest.mark.parametrize(
    ("guest", "holders"),
    [
        ("with columns", None),
        ("with labels alone", '["telephone", "insurer"]'),
        pytest.param("with labels alone", None, marks=pytest.mark.long),
        pytest.param("with columns", '["telephone", "insurer"]', marks=pytest.mark.long),
    ],
)
def test_a_run_and_a_prediction(guest, holders, three_firms) -> None:
    changes = {} if holders is None else {"share_holders": holders}
    if guest == "with labels alone":
        labels_alone(three_firms)
    result = run(three_firms, COMPARED, test_data='"clients-test"', **changes)
    summary = result.summary
    chosen = ["bank", "insurer"] if holders is None else ["insurer", "telephone"]
    assert summary["settings"]["share_holders"] == chosen
    assert any(f"{' and '.join(chosen)} hold all shares" in caveat for caveat in summary["notes"])
    assert all(check["largest_error"] <= check["bound"] for check in summary["exactness"])
    assert summary["compared"]["loss"] == pytest.approx(summary["compared"]["centralised_loss"], abs=1e-4)
    assert summary["compared"]["largest_score_difference"] < 3 * 2.0**-12
    assert [row["equations"] for row in summary["learned"]] == [0, 0, 0]
    assert summary["results"][0]["metrics"]["auc"] > (0.7 if guest == "with columns" else 0.6)
    found = predict_jointly(result.folder, load_site(three_firms.folder / "site.toml"), "clients-test", ("telephone",))
    assert list(found.by_receiver) == ["telephone"]
    assert found.common == summary["test_rows"]


def test_a_quiet_party_is_told_nothing_but_the_end(three_firms) -> None:
    result = run(three_firms)
    lines = [json.loads(line) for line in (result.folder / "ledger" / "telephone.jsonl").read_text().splitlines()]
    got = [line for line in lines if line.get("direction") == "received" and not line["kind"].startswith("psi/")]
    told = {(line["kind"], field["name"]) for line in got for field in line["fields"] if field["class"] == "disclosed"}
    assert {name for kind, name in told if "plain" not in kind} == {"column_count", "sparse", "finished"}
    assert "bank and insurer hold the shares" in (result.folder / "ledger" / "telephone.jsonl").read_text()


@pytest.mark.long
def test_a_run_that_the_quiet_party_left_goes_on(three_firms, monkeypatch) -> None:
    whole = opened(run(three_firms).folder)
    send = RecordedChannel.send

    def send_or_leave(channel, to, step, message):
        if channel.party == "bank" and "epoch-3" in step:
            raise ChannelError("left, as was asked for")
        return send(channel, to, step, message)

    with monkeypatch.context() as patched:
        patched.setattr(RecordedChannel, "send", send_or_leave)
        with pytest.raises(PartyStoppedError):
            run_vertical_job(three_firms.load_inputs(), three_firms.folder / "stopped")
    (folder,) = (three_firms.folder / "stopped").iterdir()
    resumed = run_vertical_job(three_firms.load_inputs(), three_firms.folder / "runs", resume_from=folder)
    np.testing.assert_allclose(opened(resumed.folder), whole, rtol=0, atol=UNIT)


@pytest.mark.long
def test_a_warm_start_takes_the_same_holders_alone(three_firms) -> None:
    first = run(three_firms)
    then = run(three_firms, start_from=first.folder)
    assert then.summary["epochs"][0]["loss"] < first.summary["epochs"][-1]["loss"]
    with pytest.raises(InputError, match="a warm start from other holders"):
        run(three_firms, start_from=first.folder, share_holders='["bank", "telephone"]')
    with pytest.raises(InputError, match=r"a warm start from other (holders|order of hosts)"):
        run(three_firms, start_from=first.folder, hosts='["telephone", "insurer"]')


@pytest.mark.parametrize("damage", ["no holders", "a stranger", "no key of noise"])
def test_parts_that_name_no_two_holders_are_refused(damage, three_firms) -> None:
    folder = run(three_firms).folder
    path = folder / "parts" / "telephone.npz"
    metadata, arrays = decode_arrays(path.read_bytes(), "model part", "part")
    if damage == "no key of noise":
        arrays = {name: values for name, values in arrays.items() if "noise" not in name}
    else:
        metadata = {**metadata, "share_holders": [] if damage == "no holders" else ["bank", "grocer"]}
    path.write_bytes(encode_arrays("model part", metadata, arrays))
    with pytest.raises(StateError, match="does not say how to predict"):
        PARTS.load(path)


def test_batches_too_small_are_refused_by_the_dry_run_with_a_cure_that_works(three_firms) -> None:
    three_firms.write_job("[training]\nbatch_rows = 40\n")
    with pytest.raises(PolicyError, match="could solve for rows") as caught:
        three_firms.load_inputs()
    rows = int(caught.value.cure.split("batch_rows to ")[1].split(" ")[0])
    three_firms.write_job(f"[training]\nbatch_rows = {rows}\n")
    three_firms.load_inputs()


def test_bytes_of_a_dry_run_are_those_of_the_run(three_firms) -> None:
    for name in three_firms.names:
        three_firms.write_table(name, change=sorted)
    site = three_firms.folder / "site.toml"
    site.write_text(site.read_text().replace("id = 'person'", "ignore = ['person']"))
    three_firms.write_job(f"[intersection]\nkind = 'aligned'\n{TRAINING}")
    inputs = three_firms.load_inputs()
    found = {role.role: role for role in cost_of_vertical_job(inputs).roles}
    assert found["telephone"].later.sent_bytes == 0
    sent = run_vertical_job(inputs, three_firms.folder / "runs").summary["bytes"]["by_role"]
    for name, role in found.items():
        assert role.total(3).sent_bytes == pytest.approx(sent[name]["sent"], rel=0.05)


def test_a_guest_with_labels_alone_is_refused_beside_an_arbiter(three_firms) -> None:
    labels_alone(three_firms)
    three_firms.write_job(three_firms.ARBITER + three_firms.WAIVER, arbiter='"auditor"')
    with pytest.raises(InputError, match="bank has no columns"):
        three_firms.load_inputs()


def test_the_summary_names_no_holders_of_two_parties(firms) -> None:
    summary = run(firms).summary
    assert "share_holders" not in summary["settings"]
    assert json.dumps(summary).count("hold all shares") == 0
