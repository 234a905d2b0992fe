"""A run that stopped when its parties compared final models: resumed for that alone, unless the models differed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hekat.errors import ModelsDifferError
from hekat.protocol.secure_sum import party_side
from hekat.report import load_summary

HOLD_OUT = "[validation]\nhold_out = 0.25\nbins = 16\n\n[protection]"


@pytest.fixture(params=["lattice", "authority", "paillier", "none"])
def protected(request, workplace):
    """The job under each protection, and with a key authority."""
    if request.param == "paillier":
        workplace.use_paillier()
    if request.param == "authority":
        workplace.open_by("authority")
    if request.param == "none":
        workplace.edit("job.toml", 'kind = "lattice"', 'kind = "none"')
        workplace.edit("site.toml", r"\[policy\]", '[policy]\nprotections = ["none"]')
    return workplace


@pytest.fixture
def comparing(monkeypatch):
    """`comparing(error)` makes every party raise that in the comparison; `comparing(None)` is as it was."""
    compare = party_side.compare_final_models

    def make(error: Exception | None) -> None:
        def fail(channel, settings, digest, **others):
            raise error

        monkeypatch.setattr(party_side, "compare_final_models", fail if error else compare)

    return make


def ledger_steps(folder, role: str) -> set[str]:
    lines = (folder / "ledger" / f"{role}.jsonl").read_text().splitlines()
    return {str(json.loads(line).get("step")) for line in lines}


def tensors_of(folder) -> dict[str, np.ndarray]:
    with np.load(folder / "model.npz") as model:
        return {name: model[name] for name in model.files if model[name].dtype.kind == "f"}


@pytest.mark.quick_cases("authority-False", "paillier-False", "none-True")
@pytest.mark.parametrize("hold_out", [False, True])
def test_a_run_that_stopped_in_the_comparison_is_resumed_for_that_alone(hold_out, protected, comparing) -> None:
    if hold_out:
        protected.edit("job.toml", r"\[protection\]", HOLD_OUT)
    else:
        protected.shorten()
    comparing(OSError("the machine goes down"))
    answer = protected.run()
    assert answer.code == 2
    (stopped,) = protected.folders()
    assert not (stopped / "model.npz").exists()
    assert f"--resume {stopped}" in " ".join(answer.err.split())

    again = protected.run("--resume", stopped)
    assert again.code == 2
    _, twice = protected.folders()
    assert (twice / "checkpoint.npz").exists(), "what stopped there twice is resumed from either folder"

    comparing(None)
    answer = protected.run("--resume", twice)
    assert answer.code == 0, answer.err
    resumed = protected.folders()[2]
    assert (resumed / "model.npz").exists()
    for role in ("north", "hub"):
        steps = ledger_steps(resumed, role)
        assert not [step for step in steps if "round-" in step or "validation" in step], "no sum is opened again"
    assert "final/model" in ledger_steps(resumed, "north")
    summary = load_summary(resumed)
    assert summary["results"][-1].get("validation", {}).get("rows") == (15 if hold_out else None)

    finished = protected.run("--resume", resumed)
    assert finished.code == 2
    assert "is finished" in finished.err


@pytest.mark.long
def test_the_model_is_that_of_the_run_that_stopped(workplace, comparing) -> None:
    comparing(OSError("the machine goes down"))
    workplace.run()
    (stopped,) = workplace.folders()
    comparing(None)
    assert workplace.run("--resume", stopped).code == 0
    with np.load(stopped / "checkpoint.npz") as checkpoint:
        kept = [checkpoint[name].tobytes() for name in checkpoint.files]
    model = tensors_of(workplace.folders()[1])
    assert model
    assert all(values.tobytes() in kept for values in model.values())


@pytest.mark.long
def test_a_run_that_the_stop_rule_ended_is_resumed_for_the_comparison(workplace, comparing) -> None:
    workplace.edit("job.toml", "rounds = 2", "rounds = 3\nstop_at_loss = 100.0")
    comparing(OSError("the machine goes down"))
    workplace.run()
    (stopped,) = workplace.folders()
    comparing(None)
    answer = workplace.run("--resume", stopped)
    assert answer.code == 0, answer.err
    resumed = workplace.folders()[1]
    assert not [step for step in ledger_steps(resumed, "hub") if "round-" in step]


def test_models_that_differed_are_not_compared_again_from_one_checkpoint(protected, comparing) -> None:
    """All parties here would go on from what one of them saved: a second comparison finds nothing."""
    protected.shorten()
    comparing(ModelsDifferError("north and east do not end with the same model"))
    answer = protected.run()
    assert answer.code == 2
    assert "do not end with the same model" in answer.err
    assert "--resume" not in answer.err
    (stopped,) = protected.folders()
    assert not (stopped / "model.npz").exists()
    assert (stopped / "checkpoint.different.npz").exists()
    comparing(None)
    answer = protected.run("--resume", stopped)
    assert answer.code == 2
    assert "ended with different models" in " ".join(answer.err.split())
    assert protected.folders() == [stopped], "nothing was begun"


@pytest.mark.long
@pytest.mark.parametrize("liar", [pytest.param("north", marks=pytest.mark.long), "east"])
def test_one_false_digest_after_a_round_takes_no_more_than_that_round(liar, workplace, monkeypatch) -> None:
    """It ends the run, as ever; resumed, the round is done again, and the model has the bits of a whole run."""
    workplace.edit("job.toml", "rounds = 2", "rounds = 4")
    tell = party_side.tell_round_end

    def tell_falsely(channel, aggregator, step, digest, finished):
        is_false = channel.party == liar and step == "round-3"
        tell(channel, aggregator, step, bytes(32) if is_false else digest, finished)

    with monkeypatch.context() as patch:
        patch.setattr(party_side, "tell_round_end", tell_falsely)
        answer = workplace.run()
    assert answer.code == 2
    words = " ".join(answer.err.split())
    assert "parties hold different models after round-3" in words
    assert "saved: checkpoint of round 2" in words
    (stopped,) = workplace.folders()
    left = ["checkpoint.doubtful.npz", "checkpoint.npz"]
    assert sorted(path.name for path in stopped.glob("checkpoint*")) == left
    if liar == "east":
        # As a process leaves it that is killed while it sets the round aside.
        (stopped / "checkpoint.npz").rename(stopped / "checkpoint.before.npz")
        (stopped / "checkpoint.npz").hardlink_to(stopped / "checkpoint.doubtful.npz")
    answer = workplace.run("--resume", stopped)
    assert answer.code == 0, answer.err
    assert sorted(path.name for path in stopped.glob("checkpoint*")) == left
    assert workplace.run().code == 0
    resumed, whole = (tensors_of(folder) for folder in workplace.folders()[1:])
    assert resumed.keys() == whole.keys()
    for name, values in whole.items():
        np.testing.assert_array_equal(resumed[name], values)
