"""Checkpoints whose digest holds and whose content does not: each is refused before a run folder is made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hekat.errors import StateError
from hekat.job.horizontal.job_file import Job, load_job
from hekat.protocol.horizontal.training.local_run import build_model
from hekat.protocol.horizontal.training.server_step import build_optimiser
from hekat.protocol.horizontal.training.standardise import Standardiser
from hekat.protocol.horizontal.training.training_state import TrainingState
from hekat.run.horizontal.training_state_file import load_state, save_state
from hekat.state.array_file import decode_arrays, encode_arrays

COLUMNS = 3
JOB = """format = 1
name = "j"
protocol = "horizontal"
parties = ["a", "b", "c"]
aggregator = "hub"
data = "rows"
classes = ["no", "yes"]
weight_max = 10
[training]
optimiser = "adam"
"""
PRIVATE = """algorithm = "fedsgd"
standardise = false
[privacy]
unit = "row"
clip = 1.0
delta = 1e-5
noise = 1.0
divisor = 30
"""


@pytest.fixture
def saved(tmp_path: Path):
    (tmp_path / "job.toml").write_text(JOB)
    job = load_job(tmp_path / "job.toml")
    parameters = build_model(job.settings, COLUMNS).init(0)
    state = TrainingState(
        parameters,
        build_optimiser(job.settings.training).init_state(parameters),
        Standardiser(np.zeros(COLUMNS), np.ones(COLUMNS)),
        rounds_done=2,
        bounds=dict.fromkeys(parameters, 0.5),
        losses=[0.7, 0.6],
    )
    path = tmp_path / "checkpoint.npz"
    save_state(path, job, state)
    return path, job


def load(path: Path, job: Job, column_count: int = COLUMNS) -> TrainingState:
    return load_state(path, job, column_count, build_model(job.settings, column_count))


def put(name: str, value: object):
    return lambda metadata, arrays: arrays.update({name: np.asarray(value)})


def drop(prefix: str):
    def change(metadata, arrays) -> None:
        names = [name for name in arrays if name.startswith(prefix)]
        assert names
        for name in names:
            del arrays[name]

    return change


def fill(prefix: str, value: float):
    def change(metadata, arrays) -> None:
        names = [name for name in arrays if name.startswith(prefix)]
        assert names
        for name in names:
            arrays[name] = np.full(arrays[name].shape, value)

    return change


def say(name: str, value: object):
    return lambda metadata, arrays: metadata.update({name: value})


BOUND = "codec_state/bound/"
FORGERIES = {
    "spread of 0": (put("codec_state/standardiser/spread", np.zeros(COLUMNS)), "spread above 0"),
    "spread NaN": (fill("codec_state/standardiser/spread", np.nan), "finite numbers"),
    "spread of another shape": (put("codec_state/standardiser/spread", np.ones(7)), r"shape \(3,\)"),
    "mean as a number": (put("codec_state/standardiser/mean", 1.0), r"shape \(3,\)"),
    "no standardiser": (drop("codec_state/standardiser/mean"), "no 'standardiser/mean'"),
    "bound NaN": (fill(BOUND, np.nan), "finite numbers"),
    "bound below 0": (fill(BOUND, -1.0), r"from 2\^-40"),
    "bound beyond all": (fill(BOUND, 1e300), r"from 2\^-40"),
    "no bounds": (drop(BOUND), "no 'bound/"),
    "not said whether finished": (drop("codec_state/finished"), "no 'finished'"),
    "finished twice": (put("codec_state/finished", 2.0), "0 or 1"),
    "unknown codec state": (put("codec_state/x", 1.0), "unknown 'x'"),
    "rounds below 0": (say("rounds_done", -5), "rounds_done, a whole number >= 0; got -5"),
    "rounds as text": (say("rounds_done", "3"), "rounds_done, .*; got str"),
    "rounds as truth": (say("rounds_done", True), "rounds_done, .*; got bool"),
    "fewer losses than rounds": (say("metrics_history", [{"loss": 0.5}]), "one loss for each of 2 rounds"),
    "losses of another name": (say("metrics_history", [{"x": 1}] * 2), "a loss from 0"),
    "losses as text": (say("metrics_history", [{"loss": "a"}] * 2), "named numbers"),
    "losses NaN": (say("metrics_history", [{"loss": float("nan")}] * 2), "a loss from 0"),
    "losses no list": (say("metrics_history", 3), "named numbers"),
    "no digest of the job": (say("job_digest", 7), "the job's digest"),
    "optimiser state of another shape": (put("optimiser_state/step_count", np.ones(9)), r"shape \(\)"),
    "no optimiser state": (drop("optimiser_state/"), "no 'beta_1_power'"),
    "squares below 0": (fill("optimiser_state/second_moment/", -1.0), "out of range"),
    "a power beyond 1": (put("optimiser_state/beta_1_power", 2.0), "out of range"),
    "unknown group": (put("evil/x", [1.0]), "'evil/x'"),
    "no group": (put("parameters", [1.0]), "'parameters'"),
    "parameters NaN": (fill("parameters/", np.nan), "finite numbers"),
    "parameters of another model": (put("parameters/w9", [1.0]), "unknown 'w9'"),
    "parameters in float32": (put("parameters/bias", np.zeros(1, dtype=np.float32)), "float64"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_checkpoint_is_refused(name, saved) -> None:
    path, job = saved
    change, words = FORGERIES[name]
    metadata, arrays = decode_arrays(path.read_bytes(), "checkpoint", "it")
    change(metadata, arrays)
    path.write_bytes(encode_arrays("checkpoint", metadata, arrays))
    with pytest.raises(StateError, match=words) as caught:
        load(path, job)
    assert caught.value.expected
    assert caught.value.got
    assert caught.value.cure


def test_the_checkpoint_as_it_was_saved_is_taken(saved) -> None:
    state = load(*saved)
    assert (state.rounds_done, state.losses, state.finished) == (2, [0.7, 0.6], False)
    assert set(state.bounds.values()) == {0.5}


def test_the_table_has_other_columns_than_the_checkpoint(saved) -> None:
    with pytest.raises(StateError, match=r"shape \(4, 1\)"):
        load(*saved, COLUMNS + 1)


@pytest.mark.parametrize("clipping", ["daciq", "fixed"])
def test_bounds_where_none_are_learned(clipping, saved) -> None:
    path, job = saved
    codec = replace(job.settings.codec, clipping=clipping, alpha=1.0)
    with pytest.raises(StateError, match="unknown 'bound/"):
        load(path, replace(job, settings=replace(job.settings, codec=codec)))


@pytest.mark.parametrize("metadata", [[1], "x", None])
def test_metadata_that_is_no_table(metadata, saved) -> None:
    path, job = saved
    path.write_bytes(encode_arrays("checkpoint", metadata, {}))
    with pytest.raises(StateError, match="damaged"):
        load(path, job)


def test_a_noised_loss_is_bounded_by_what_lanes_hold_and_not_by_0(saved) -> None:
    path, job = saved
    path.with_name("job.toml").write_text(JOB.replace('optimiser = "adam"', PRIVATE))
    job = load_job(path.with_name("job.toml"))
    plan = job.settings.plan_privacy(COLUMNS + 1)
    assert plan is not None
    parameters = build_model(job.settings, COLUMNS).init(0)
    first = build_optimiser(job.settings.training).init_state(parameters)
    standardiser = Standardiser(np.zeros(COLUMNS), np.ones(COLUMNS))
    for lowest, is_taken in ((-0.1, True), (-plan.largest_loss, True), (-1.01 * plan.largest_loss, False)):
        save_state(path, job, TrainingState(parameters, first, standardiser, rounds_done=2, losses=[0.7, lowest]))
        if is_taken:
            assert load(path, job).losses == [0.7, lowest]
        else:
            with pytest.raises(StateError, match="a loss from -"):
                load(path, job)
