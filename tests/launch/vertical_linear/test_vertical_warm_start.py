"""Runs that begin with the weights of an earlier one: they go on from there, say so, and take no other model's."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from hekat.errors import ChannelError, InputError, PartyStoppedError, StateError
from hekat.launch.vertical_linear.run import run_vertical_job
from hekat.run.vertical_linear.epochs import EPOCHS
from hekat.state.array_file import decode_arrays, encode_arrays

FORMS = ("shared_weights", "arbiter")
UNIT = 2.0**8  # On shares the last bits of a number depend on the randomness of its shares.


def train(firms, form: str, epochs: int, start=None, *, optimiser: str = "sgd", sections: str = "", **changes: str):
    """A run of so many epochs in a folder of its own name."""
    write(firms, form, epochs, optimiser=optimiser, sections=sections, **changes)
    return run_vertical_job(firms.load_inputs(), firms.folder / "runs", start_from=start)


def write(firms, form: str, epochs: int, *, optimiser: str = "sgd", sections: str = "", **changes: str) -> None:
    training = f"[training]\nepochs = {epochs}\nbatch_rows = 40\nlearning_rate = 0.2\noptimiser = '{optimiser}'\n"
    if form == "arbiter":
        changes, sections = {"arbiter": '"auditor"', **changes}, firms.ARBITER + firms.WAIVER + sections
    firms.write_job(training + sections, **changes)


def notes_of(folder, party: str) -> list[str]:
    """What a party noted of its start."""
    lines = (folder / "ledger" / f"{party}.jsonl").read_text().splitlines()
    return [line for line in lines if "from its part of run" in line]


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_an_epoch_and_an_epoch_from_there_are_two(form, firms, weights_of) -> None:
    whole = train(firms, form, 2)
    first = train(firms, form, 1)
    then = train(firms, form, 1, first.folder)
    found, expected = weights_of(then.folder), weights_of(whole.folder)
    assert len(found) == 5
    if form == "arbiter":
        assert found == expected
    else:
        np.testing.assert_allclose(found, expected, rtol=0, atol=UNIT)
    assert then.summary["epochs"][0]["loss"] == pytest.approx(whole.summary["epochs"][1]["loss"], abs=2**-20)
    assert (whole.summary["started_from"], then.summary["started_from"]) == (None, first.folder.name)
    for party in firms.names:
        (note,) = notes_of(then.folder, party)
        assert f"starts from its part of run {first.folder.name}" in note
        assert '"public"' in note
        assert notes_of(whole.folder, party) == []
    events = [json.loads(line) for line in (then.folder / "events.jsonl").read_text().splitlines()]
    assert [event["run_id"] for event in events if event["event"] == "warm_start"] == [first.folder.name]


@pytest.mark.long
def test_the_optimiser_starts_anew(firms, weights_of) -> None:
    whole = train(firms, "arbiter", 2, optimiser="momentum")
    first = train(firms, "arbiter", 1, optimiser="momentum")
    then = train(firms, "arbiter", 1, first.folder, optimiser="momentum")
    assert not np.allclose(weights_of(then.folder), weights_of(whole.folder), atol=1e-3)


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_a_run_started_so_is_resumed_without_the_first_one(form, firms, weights_of, monkeypatch) -> None:
    first = train(firms, form, 1)
    whole = train(firms, form, 3, first.folder)
    with monkeypatch.context() as patched:

        def leave(session, party: str, record) -> None:
            if record.epoch == 2:
                raise ChannelError("left, as was asked for")

        patched.setattr("hekat.launch.vertical.run_observer.RunObserver.note_step", leave)
        with pytest.raises(PartyStoppedError):
            run_vertical_job(firms.load_inputs(), firms.folder / "stopped", start_from=first.folder)
    (folder,) = (firms.folder / "stopped").iterdir()
    shutil.rmtree(first.folder)
    resumed = run_vertical_job(firms.load_inputs(), firms.folder / "more", resume_from=folder)
    np.testing.assert_allclose(weights_of(resumed.folder), weights_of(whole.folder), rtol=0, atol=UNIT)
    assert [epoch["epoch"] for epoch in resumed.summary["epochs"]] == [1, 2, 3]
    assert resumed.summary["started_from"] == first.folder.name
    assert resumed.summary["job_digest"] == whole.summary["job_digest"]
    for party in firms.names:
        (note,) = notes_of(resumed.folder, party)
        assert f"goes on with a training that started from its part of run {first.folder.name}" in note


@pytest.mark.long
def test_a_forged_origin_in_a_checkpoint_is_refused(firms) -> None:
    first = train(firms, "arbiter", 1)
    then = train(firms, "arbiter", 1, first.folder)
    kept = EPOCHS.load_all(then.folder / "checkpoints", firms.load_inputs().job)
    assert {one.started_from for one in kept.values()} == {first.folder.name}
    path = then.folder / "checkpoints" / "insurer-epoch-1.npz"
    metadata, arrays = decode_arrays(path.read_bytes(), "checkpoint", "x")
    arrays = {**arrays, "codec_state/started_from": np.frombuffer(b"\x1b[31mrun", np.uint8)}
    path.write_bytes(encode_arrays("checkpoint", metadata, arrays))
    with pytest.raises(StateError, match="cannot be resumed"):
        EPOCHS.load_all(then.folder / "checkpoints", firms.load_inputs().job)


@pytest.fixture(scope="module")
def earlier(make_firms, tmp_path_factory):
    """Two firms, and a run of one epoch on shares."""
    firms = make_firms(tmp_path_factory.mktemp("earlier"), 2)
    return firms, train(firms, "shared_weights", 1).folder


def refused(firms, start, error: type[Exception], match: str) -> str:
    """The error of a job that starts from a folder; nothing was written."""
    with pytest.raises(error, match=match) as caught:
        run_vertical_job(firms.load_inputs(), firms.folder / "refused", start_from=start)
    assert not (firms.folder / "refused").exists()
    return str(caught.value)


@pytest.mark.parametrize(
    ("form", "sections", "changes", "told"),
    [
        ("arbiter", "", {}, "another form at bank; expected arbiter; got in the earlier part: shared_weights"),
        ("shared_weights", "", {"classes": '["defaulted", "repaid"]'}, "other classes at bank"),
        ("shared_weights", "[fixed_point]\nvalue_bits = 30\n", {}, "other value_bits at bank; expected 30"),
    ],
)
def test_a_model_of_another_kind_is_refused(earlier, form, sections, changes, told) -> None:
    firms, start = earlier
    write(firms, form, 1, sections=sections, **changes)
    assert "leave out --start-from" in refused(firms, start, InputError, told)


def test_another_task_is_refused(firms) -> None:
    start = train(firms, "arbiter", 1).folder
    firms.write_labels(lambda row: row[1])
    write(firms, "arbiter", 1, sections="[model]\nname = 'linear'\n", classes="")
    refused(firms, start, InputError, "another task at bank; expected linear; got in the earlier part: logistic")


@pytest.mark.long
def test_other_columns_and_parties_are_refused(firms, make_firms, tmp_path) -> None:
    start = train(firms, "arbiter", 1).folder
    firms.write_table("insurer", header=["person", "claims", "years"])
    told = refused(firms, start, InputError, "other columns at insurer")
    assert "missing 'years'; unknown 'age'" in told
    firms.write_table("insurer", header=["person", "age", "claims"])
    refused(firms, start, InputError, "same columns in another order")
    firms.write_table("insurer")
    (tmp_path / "three").mkdir()
    other = train(make_firms(tmp_path / "three", 3), "arbiter", 1).folder
    write(firms, "arbiter", 1)
    refused(firms, other, InputError, "other parties at bank; expected guest bank; hosts insurer; got .*telephone")


def test_what_is_no_finished_run_is_refused(earlier, tmp_path) -> None:
    firms, start = earlier
    write(firms, "shared_weights", 1)
    refused(firms, tmp_path / "nowhere", StateError, "there is no finished run")
    copy = tmp_path / "copy"
    shutil.copytree(start, copy)
    (copy / "parts" / "insurer.npz").unlink()
    refused(firms, copy, StateError, "does not hold the whole model")
    for content, told in (
        ('{"run_id": "20260301T120005Z-aaaaaa"}', "has no parts of a model.*got 'horizontal'"),
        ('{"run_id": "<b>", "protocol": "vertical_linear"}', "is damaged"),
        ("[]", "is damaged"),
        ("{", "is damaged"),
    ):
        (copy / "summary.json").write_text(content)
        refused(firms, copy, StateError, told)
    with pytest.raises(InputError, match="so it cannot also start from another"):
        run_vertical_job(firms.load_inputs(), firms.folder / "refused", resume_from=start, start_from=start)
