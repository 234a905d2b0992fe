"""Which algorithm a job trains by that names none, and the defaults that follow from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hekat.errors import InputError
from hekat.job.agreed_terms import terms_of
from hekat.job.horizontal.job_file import load_job
from hekat.summary.horizontal.described_settings import describe_settings

HEAD = """
format = {format}
name = "trial"
protocol = "horizontal"
parties = ["a", "b", "c"]
aggregator = "hub"
data = "visits"
{classes}
weight_max = 100
"""
CLASSES = 'classes = ["no", "yes"]'


def job_of(tmp_path: Path, text: str = "", *, format: int = 2, classes: str = CLASSES):
    path = tmp_path / "job.toml"
    path.write_text(HEAD.format(format=format, classes=classes) + text)
    return load_job(path)


@pytest.mark.parametrize(("classes", "text"), [(CLASSES, ""), ("", '[model]\nname = "linear"')])
def test_a_linear_model_searches_its_step(tmp_path, classes, text) -> None:
    settings = job_of(tmp_path, text, classes=classes).settings
    assert settings.training.algorithm == "lbfgs"
    assert (settings.training.round_count, settings.codec.value_bits) == (100, 24)
    assert settings.penalty_by_rows == bool(classes)
    sums = dict(terms_of(job_of(tmp_path, text, classes=classes)))["opened sums"]
    assert sums.endswith("once the mean products of every two columns")


@pytest.mark.parametrize(
    "text",
    [
        "[training]\nlearning_rate = 0.1",
        "[training]\nbatch_rows = 32",
        "[training]\nlocal_epochs = 1",
        '[training]\noptimiser = "sgd"',
        "[training.optimiser_settings]\ndecay = 0.1",
        "[training]\nerror_feedback = true",
        "[training]\nparticipation = 1.0",
        "[codec]\nvalue_bits = 16",
        '[codec]\nclipping = "adaptive"',
        '[model]\nparameters = ["weight"]',
        '[model]\nname = "mlp"\nhidden = [4]\n[training]\nlearning_rate = 0.1',
        '[model]\nname = "mlp"\nhidden = [4]\nparameters = ["layer_1.*"]',
        '[model]\nname = "ours"',
        '[training]\nalgorithm = "fedavg"',
    ],
)
def test_a_job_that_says_anything_of_local_steps_means_what_it_meant(tmp_path, text) -> None:
    settings = job_of(tmp_path, text).settings
    assert settings.training.algorithm == "fedavg"
    assert (settings.training.round_count, settings.codec.value_bits) == (20, 16)
    assert settings.penalty_by_rows == 0
    assert settings.model.own_l2 == 0.0
    assert "products" not in dict(terms_of(job_of(tmp_path, text)))["opened sums"]


@pytest.mark.parametrize("classes", [CLASSES, ""])
def test_a_network_searches_its_step_too(tmp_path, classes) -> None:
    job = job_of(tmp_path, '[model]\nname = "mlp"\nhidden = [4]', classes=classes)
    settings = job.settings
    assert settings.training.algorithm == "lbfgs"
    assert (settings.training.round_count, settings.codec.value_bits) == (300, 24)
    assert settings.penalty_by_rows == 10
    assert describe_settings(settings)["l2"] == "10 / rows"
    assert ("mean and spread of the labels" in dict(terms_of(job))["opened sums"]) == (not classes)
    # No Gram matrix bounds a network's curvature, so none is summed.
    assert "products" not in dict(terms_of(job))["opened sums"]


def test_a_network_has_the_penalty_that_the_job_names(tmp_path) -> None:
    settings = job_of(tmp_path, '[model]\nname = "mlp"\nhidden = [4]\nl2 = 0.25').settings
    assert (settings.penalty_by_rows, settings.model.own_l2) == (0, 0.25)


def test_a_network_of_format_1_means_what_it_meant(tmp_path) -> None:
    settings = job_of(tmp_path, '[model]\nname = "mlp"\nhidden = [4]', format=1).settings
    assert (settings.training.algorithm, settings.training.round_count) == ("fedavg", 20)


def test_a_job_of_format_1_means_what_it_meant(tmp_path) -> None:
    assert job_of(tmp_path, format=1).settings.training.algorithm == "fedavg"


def test_rounds_and_stop_rules_are_no_local_steps(tmp_path) -> None:
    settings = job_of(tmp_path, "[training]\nrounds = 7\npatience = 2\nseed = 3\nstandardise = false").settings
    assert (settings.training.algorithm, settings.training.round_count) == ("lbfgs", 7)


def test_a_named_search_takes_the_bits_that_the_job_names(tmp_path) -> None:
    settings = job_of(tmp_path, '[training]\nalgorithm = "lbfgs"\n[codec]\nvalue_bits = 16').settings
    assert settings.codec.value_bits == 16


def test_a_rate_beside_a_named_search_is_refused(tmp_path) -> None:
    with pytest.raises(InputError, match=r"training\.learning_rate has no effect"):
        job_of(tmp_path, '[training]\nalgorithm = "lbfgs"\nlearning_rate = 0.5')


def test_a_network_of_numbers_has_no_penalty_in_a_unit_of_labels_that_nobody_knows(tmp_path) -> None:
    more = '[model]\nname = "mlp"\nhidden = [4]\n[training]\nstandardise = false'
    job = job_of(tmp_path, more, classes="")
    assert not job.settings.standardises_labels
    assert job.settings.penalty_by_rows == 0
    assert "labels" not in dict(terms_of(job))["opened sums"]
