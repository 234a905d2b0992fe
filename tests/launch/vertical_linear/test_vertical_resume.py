"""Runs that stop in the middle: who stopped and where, what is kept, and that a resumed run ends as one run would."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hekat.errors import ChannelError, PartyStoppedError, StateError
from hekat.launch.vertical_linear.run import run_vertical_job
from hekat.ledger import RecordedChannel
from hekat.run.vertical_linear.epochs import EPOCHS
from hekat.state.array_file import decode_arrays, encode_arrays

TRAINING = "[training]\nepochs = 4\nbatch_rows = 40\nlearning_rate = 0.2\n"
FORMS = {
    "shared_weights": ("[protection]\nkind = 'none'\n", {}),
    "arbiter": ("ARBITER", {"arbiter": '"auditor"'}),
}


class Leaving:
    """Makes a party leave in the middle of an epoch: after that many messages of it in its steps."""

    def __init__(self, monkeypatch, party: str, epoch: int, messages: int) -> None:
        self.left, send = messages, RecordedChannel.send

        def send_or_leave(channel, to, step, message):
            if channel.party == party and f"epoch-{epoch}" in step:
                self.left -= 1
                if self.left < 0:
                    raise ChannelError("left, as was asked for")
            return send(channel, to, step, message)

        monkeypatch.setattr(RecordedChannel, "send", send_or_leave)


def write(firms, form: str, more: str = "", **changes: str) -> None:
    protection, named = FORMS[form]
    sections = firms.ARBITER + firms.WAIVER + "\n" if protection == "ARBITER" else protection
    firms.write_job(f'{sections}{TRAINING}optimiser = "momentum"\n{more}', **named, **changes)


def stop(firms, monkeypatch, party: str, epoch: int = 3, messages: int = 1):
    """The folder of a run that `party` left in `epoch`."""
    with monkeypatch.context() as patched:
        Leaving(patched, party, epoch, messages)
        with pytest.raises(PartyStoppedError) as caught:
            run_vertical_job(firms.load_inputs(), firms.folder / "runs")
    (folder,) = (firms.folder / "runs").iterdir()
    return folder, caught.value


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("party", ["bank", "insurer"])
def test_a_run_that_a_party_left_goes_on_as_if_it_had_not(form, party, firms, weights_of, monkeypatch) -> None:
    write(firms, form)
    whole = run_vertical_job(firms.load_inputs(), firms.folder / "whole")
    folder, error = stop(firms, monkeypatch, party)
    assert error.party == party
    assert "epoch-3" in error.step
    assert error.saved == "checkpoints of epoch 2"
    assert not (folder / "parts").exists()
    last = json.loads((folder / "events.jsonl").read_text().splitlines()[-1])
    assert (last["event"], last["party"]) == ("stopped", party)
    resumed = run_vertical_job(firms.load_inputs(), firms.folder / "resumed", resume_from=folder)
    assert [epoch["epoch"] for epoch in resumed.summary["epochs"]] == [1, 2, 3, 4]
    assert [epoch["seconds"] is None for epoch in resumed.summary["epochs"]] == [True, True, False, False]
    expected = [epoch["loss"] for epoch in whole.summary["epochs"]]
    # On shares the last bits of a number depend on the randomness of its shares.
    assert [epoch["loss"] for epoch in resumed.summary["epochs"]] == pytest.approx(expected, abs=2**-20)
    ours, theirs = weights_of(resumed.folder), weights_of(whole.folder)
    assert len(ours) == 5
    units = 2.0**8 if form == "shared_weights" else 1e-9
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=units)
    assert any("goes on from epoch 2" in note for note in resumed.summary["notes"])


@pytest.mark.long
def test_the_arbiter_leaving_is_told_too(firms, monkeypatch) -> None:
    write(firms, "arbiter")
    folder, error = stop(firms, monkeypatch, "auditor", epoch=2)
    assert error.party == "auditor"
    assert error.saved == "checkpoints of epoch 1"
    assert run_vertical_job(firms.load_inputs(), firms.folder / "more", resume_from=folder).summary["epochs"][-1][
        "loss"
    ]


def test_a_run_that_left_in_the_first_epoch_has_nothing_to_go_on_from(firms, monkeypatch) -> None:
    write(firms, "shared_weights")
    folder, error = stop(firms, monkeypatch, "insurer", epoch=1)
    assert error.saved == ""
    with pytest.raises(StateError, match="there is nothing to resume"):
        run_vertical_job(firms.load_inputs(), firms.folder / "more", resume_from=folder)
    assert not (firms.folder / "more").exists()


def test_all_go_on_from_the_last_epoch_that_all_have(firms, monkeypatch) -> None:
    write(firms, "arbiter")
    folder, _ = stop(firms, monkeypatch, "bank")
    (folder / "checkpoints" / "insurer-epoch-2.npz").unlink()
    kept = EPOCHS.load_all(folder / "checkpoints", firms.load_inputs().job)
    assert {name: one.state.epochs_done for name, one in kept.items()} == {"bank": 1, "insurer": 1}
    assert len(kept["bank"].state.losses) == 1
    assert kept["insurer"].state.losses == ()


@pytest.mark.long
def test_a_run_stopped_after_training_still_predicts(firms, monkeypatch) -> None:
    write(firms, "arbiter", test_data='"clients-test"')
    with monkeypatch.context() as patched:

        def fail(*_: object) -> None:
            raise ChannelError("left before predicting")

        patched.setattr("hekat.protocol.vertical_linear.party_roles.predict_scores", fail)
        with pytest.raises(PartyStoppedError):
            run_vertical_job(firms.load_inputs(), firms.folder / "runs")
    (folder,) = (firms.folder / "runs").iterdir()
    summary = run_vertical_job(firms.load_inputs(), firms.folder / "more", resume_from=folder).summary
    assert len(summary["epochs"]) == 4
    assert summary["results"][0]["metrics"]["auc"] > 0.5


def test_other_rows_are_not_trained_on(firms, monkeypatch) -> None:
    write(firms, "shared_weights")
    folder, _ = stop(firms, monkeypatch, "insurer")
    firms.write_table("insurer", change=lambda rows: [[row[0], row[1] + 1e-9, row[2]] for row in rows])
    with pytest.raises(PartyStoppedError) as caught:
        run_vertical_job(firms.load_inputs(), firms.folder / "more", resume_from=folder)
    assert isinstance(caught.value.__cause__, StateError)
    assert "trained on other rows of insurer" in str(caught.value.__cause__)


@pytest.mark.long
def test_the_same_rows_in_another_order_are_the_same(firms, monkeypatch) -> None:
    write(firms, "shared_weights")
    folder, _ = stop(firms, monkeypatch, "insurer")
    firms.write_table("insurer", change=lambda rows: rows[::-1])
    run_vertical_job(firms.load_inputs(), firms.folder / "more", resume_from=folder)


@pytest.mark.long
def test_a_finished_run_and_another_job_are_refused(firms, monkeypatch) -> None:
    write(firms, "shared_weights")
    done = run_vertical_job(firms.load_inputs(), firms.folder / "done")
    with pytest.raises(StateError, match="is finished"):
        run_vertical_job(firms.load_inputs(), firms.folder / "more", resume_from=done.folder)
    folder, _ = stop(firms, monkeypatch, "insurer")
    write(firms, "shared_weights", "seed = 2\n")
    with pytest.raises(StateError, match="belongs to another job"):
        run_vertical_job(firms.load_inputs(), firms.folder / "more", resume_from=folder)
    with pytest.raises(StateError, match="there is nothing to resume"):
        run_vertical_job(firms.load_inputs(), firms.folder / "more", resume_from=firms.folder / "nowhere")
    assert not (firms.folder / "more").exists()


LIMIT = "codec_state/limit_spreads"


def change_limits(folder, change, parties: tuple[str, ...] = ("bank", "insurer")) -> None:
    """Write the checkpoints of a run anew, with other limits on values: none where `change` gives None."""
    for party in parties:
        for path in (folder / "checkpoints").glob(f"{party}-*.npz"):
            metadata, arrays = decode_arrays(path.read_bytes(), "checkpoint", "x")
            limit = change(arrays.pop(LIMIT))
            changed = arrays if limit is None else {**arrays, LIMIT: np.asarray(limit)}
            path.write_bytes(encode_arrays("checkpoint", metadata, changed))


@pytest.fixture
def outlier(firms):
    """Firms of which the insurer has a row twenty spreads from the others."""
    firms.write_table(
        "insurer", change=lambda rows: [[rows[60][0], 20.0, 1.0] if row is rows[60] else row for row in rows]
    )
    write(firms, "arbiter")
    return firms


@pytest.mark.long
def test_a_run_from_before_values_were_limited_goes_on_without_a_limit(outlier, weights_of, monkeypatch) -> None:
    """Form `arbiter` had no limit unless the job named one, and checkpoints did not say what there was."""
    limited = run_vertical_job(outlier.load_inputs(), outlier.folder / "limited")
    with monkeypatch.context() as patched:
        patched.setattr("hekat.protocol.vertical_linear.settings.DEFAULT_LIMIT_SPREADS", 0.0)
        whole = run_vertical_job(outlier.load_inputs(), outlier.folder / "whole")
        folder, _ = stop(outlier, monkeypatch, "insurer")
    change_limits(folder, lambda limit: None)
    resumed = run_vertical_job(outlier.load_inputs(), outlier.folder / "resumed", resume_from=folder)
    assert weights_of(resumed.folder) == weights_of(whole.folder)
    assert not np.allclose(weights_of(resumed.folder), weights_of(limited.folder), atol=1e-3)
    assert "limit_spreads" not in resumed.summary["settings"]
    assert limited.summary["settings"]["limit_spreads"] == 3


@pytest.mark.long
def test_a_run_with_a_limit_keeps_it_whatever_releases_take_later(outlier, weights_of, monkeypatch) -> None:
    whole = run_vertical_job(outlier.load_inputs(), outlier.folder / "whole")
    folder, _ = stop(outlier, monkeypatch, "insurer")
    with monkeypatch.context() as patched:
        patched.setattr("hekat.protocol.vertical_linear.settings.DEFAULT_LIMIT_SPREADS", 5.0)
        resumed = run_vertical_job(outlier.load_inputs(), outlier.folder / "resumed", resume_from=folder)
    assert weights_of(resumed.folder) == weights_of(whole.folder)
    assert resumed.summary["settings"]["limit_spreads"] == 3


def test_checkpoints_with_different_limits_are_refused(outlier, monkeypatch) -> None:
    folder, _ = stop(outlier, monkeypatch, "insurer")
    change_limits(folder, lambda limit: limit + 1, ("bank",))
    with pytest.raises(StateError, match="runs with different limits on values"):
        run_vertical_job(outlier.load_inputs(), outlier.folder / "more", resume_from=folder)
    assert not (outlier.folder / "more").exists()


FORGED = {
    "a limit that is none": (LIMIT, lambda values: values * np.nan),
    "not a number": ("parameters/weights", lambda values: values * np.nan),
    "numbers of another kind": ("parameters/weights", lambda values: values.astype(np.float32)),
    "a digest of another size": ("codec_state/rows/digest", lambda values: values[:5]),
    "neither finished nor not": ("codec_state/finished", lambda values: values + 0.5),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_checkpoints_are_refused(case, firms, monkeypatch) -> None:
    write(firms, "arbiter")
    folder, _ = stop(firms, monkeypatch, "insurer")
    path = folder / "checkpoints" / "insurer-epoch-2.npz"
    metadata, arrays = decode_arrays(path.read_bytes(), "checkpoint", "x")
    key, change = FORGED[case]
    path.write_bytes(encode_arrays("checkpoint", metadata, {**arrays, key: np.asarray(change(arrays[key]))}))
    with pytest.raises(StateError, match="cannot be resumed"):
        run_vertical_job(firms.load_inputs(), firms.folder / "more", resume_from=folder)
