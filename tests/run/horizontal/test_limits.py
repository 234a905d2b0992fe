"""Settings and data beyond every use are refused before a run begins; time-outs name the key of the job."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hekat.data import Table
from hekat.errors import ChannelTimeoutError, HekatError, InputError
from hekat.job.horizontal.job_file import load_job
from hekat.run.horizontal.load_inputs import MAX_MAGNITUDE, MAX_STANDARDISED, check_magnitudes, load_inputs
from hekat.run.timeout_hint import name_timeout_key

HEAD = """format = 1
name = "j"
protocol = "horizontal"
aggregator = "hub"
data = "rows"
weight_max = 100
"""


def write_job(folder: Path, text: str = "", parties: str = '["a", "b", "c"]') -> Path:
    path = folder / "job.toml"
    path.write_text(f"{HEAD}parties = {parties}\n{text}")
    return path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[model]\nname = 'mlp'\nhidden = [1000000000000]", "model.hidden"),
        ("[model]\nname = 'mlp'\nhidden = [8, 0]", "model.hidden"),
        ("[training]\nrounds = 1000001", "training.rounds"),
        ("[training]\nrounds = 0", "training.rounds"),
        ("[training]\nlocal_epochs = 1000001", "training.local_epochs"),
        ("[training]\nbatch_rows = 1" + "0" * 30, "training.batch_rows"),
        ("[training]\npatience = 1" + "0" * 30, "training.patience"),
        ("[codec]\nalpha = 1e308", "codec.alpha"),
        ("[codec]\nalpha = 1e-320", "codec.alpha"),
        ("[codec]\nalpha = nan", "codec.alpha"),
        ("timeout_s = 604801", "timeout_s"),
        ("timeout_s = 1e300", "timeout_s"),
        ("timeout_s = nan", "timeout_s"),
    ],
)
def test_settings_beyond_every_use(text, words, tmp_path) -> None:
    with pytest.raises(HekatError) as caught:
        load_job(write_job(tmp_path, text))
    assert words in caught.value.what
    assert caught.value.cure


@pytest.mark.parametrize(
    ("key", "largest", "beyond", "read"),
    [
        ("timeout_s = {}", 604_800, 604_801, lambda job: job.timeout_s),
        ("[codec]\nalpha = {}", 2.0**40, 2.0**40 + 1, lambda job: job.settings.codec.alpha),
        ("[training]\nrounds = {}", 1_000_000, 1_000_001, lambda job: job.settings.training.round_count),
    ],
)
def test_the_largest_that_is_taken(key, largest, beyond, read, tmp_path) -> None:
    assert read(load_job(write_job(tmp_path, key.format(largest)))) == largest
    with pytest.raises(HekatError, match=r"timeout_s|codec\.alpha|training\.rounds"):
        load_job(write_job(tmp_path, key.format(beyond)))


def test_a_name_is_limited_in_bytes(tmp_path) -> None:
    load_job(write_job(tmp_path, parties=f'["{"一" * 33}", "b", "c"]'))
    with pytest.raises(HekatError, match="100 bytes at most"):
        load_job(write_job(tmp_path, parties=f'["{"一" * 34}", "b", "c"]'))


def test_the_time_to_answer_grows_with_the_parties(tmp_path) -> None:
    assert load_job(write_job(tmp_path)).timeout_s == 360.0
    assert load_job(write_job(tmp_path, parties=str([f"p{n}" for n in range(10)]))).timeout_s == 1200.0


def test_a_time_out_names_the_key_of_the_job() -> None:
    error = ChannelTimeoutError("nothing came", expected="an answer", got="none", cure="allow the step more time")
    named = name_timeout_key(error, 360.0)
    assert isinstance(named, ChannelTimeoutError)
    assert named.cure == "allow the step more time: raise timeout_s in the job (now 360 s)"
    assert (named.what, named.expected, named.got) == (error.what, error.expected, error.got)
    other = ValueError()
    assert name_timeout_key(other, 1.0) is other


@pytest.mark.parametrize("most", [MAX_STANDARDISED, MAX_MAGNITUDE])
def test_a_column_of_giants_is_named(most) -> None:
    features = np.array([[1.0, most], [2.0, -most]])
    check_magnitudes(Table(features, None, ("age", "dose"), "east"), most)
    features[1, 1] *= 1.001
    with pytest.raises(InputError, match="column 'dose' of east has values too large"):
        check_magnitudes(Table(features, None, ("age", "dose"), "east"), most)


@pytest.mark.parametrize(
    ("text", "value", "words"),
    [
        ("[training]\nstandardise = true", "2e12", "column 'dose' of b"),
        ("[training]\nstandardise = false", "-1e308", "column 'dose' of b"),
        ("[model]\nname = 'mlp'\nhidden = [1048576, 1048576]", "1", "the model is too large"),
    ],
)
def test_prepare_refuses_what_no_run_can_hold(text, value, words, tmp_path) -> None:
    site = ["format = 1"]
    for party in "abc":
        dose = value if party == "b" else "1"
        (tmp_path / f"{party}.csv").write_text(f"age,dose,y\n1,{dose},1.5\n2,2,2.5\n")
        site.append(f"[party.{party}.data.rows]\nsource = 'csv'\npath = '{party}.csv'\nlabel = 'y'")
    (tmp_path / "site.toml").write_text("\n".join(site))
    model = "" if "[model]" in text else "[model]\nname = 'linear'\n"
    with pytest.raises(InputError, match=words):
        load_inputs(write_job(tmp_path, model + text))
