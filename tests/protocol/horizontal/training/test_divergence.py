"""Updates that must not be averaged are refused by party, tensor and round, and what was trained before is kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.errors import InputError, PartyStoppedError
from hekat.protocol.horizontal.settings import ModelSettings, TrainingSettings
from hekat.protocol.horizontal.training import loop as training_loop
from hekat.protocol.horizontal.training.divergence import check_finite, check_magnitude
from hekat.protocol.horizontal.training.local_run import build_model
from hekat.protocol.horizontal.training.trained_tensors import TrainedTensors
from hekat.protocol.secure_sum.settings import MAX_ALPHA
from hekat.protocol.stop_rules import should_stop

LOCAL = TrainingSettings(round_count=5, batch_rows=8)


@pytest.mark.parametrize(
    ("value", "loss", "words"),
    [
        (np.nan, 1.0, r"^NaN in tensor layer_1\.weight at party county in round 3; .*1 of 6 that are not"),
        (
            np.inf,
            1.0,
            r"^infinity in tensor layer_1\.weight at party county in round 3; .*lower training.learning_rate",
        ),
        (1.0, np.nan, r"^training diverged at party county in round 3"),
        (1.0, -1.0, r"^training diverged at party county in round 3"),
        (1.0, 2.0**61, r"^training diverged at party county in round 3"),
    ],
)
def test_what_is_not_finite_is_named(value, loss, words) -> None:
    update = {"layer_1.bias": np.zeros(2), "layer_1.weight": np.ones((3, 2))}
    update["layer_1.weight"][2, 1] = value
    with pytest.raises(InputError, match=words):
        check_finite("county", 3, update, loss)


def test_finite_updates_pass() -> None:
    check_finite("county", 3, {"weight": np.array([1e300, -1e-300]), "none": np.zeros((0, 2))}, 0.0)
    check_magnitude("county", 3, {"weight": np.array([MAX_ALPHA, -MAX_ALPHA]), "none": np.zeros((0, 2))})


def test_an_update_beyond_every_bound_is_no_clipped_value() -> None:
    with pytest.raises(InputError, match=r"^the update explodes in tensor weight at party county in round 3") as caught:
        check_magnitude("county", 3, {"bias": np.zeros(1), "weight": np.array([0.0, -1.01 * MAX_ALPHA])})
    assert "1.01" not in str(caught.value)


@pytest.mark.parametrize("protection", ["none", "paillier"])
def test_a_run_keeps_the_rounds_before_an_explosion(protection, rehearse, tables_of, settings_of, monkeypatch) -> None:
    original = training_loop.local_update

    def explode(model, parameters, features, *others, **named):
        work = original(model, parameters, features, *others, **named)
        if features.shape[0] != 9 or rehearsal.records[-1:] == [] or rehearsal.records[-1].round < 2:
            return work
        return replace(work, update={**work.update, "bias": work.update["bias"] + 1e14})

    monkeypatch.setattr(training_loop, "local_update", explode)
    rehearsal = rehearse(settings_of(training=LOCAL, protection=protection), tables_of(41))
    with pytest.raises(PartyStoppedError, match="party 'b' stopped") as caught:
        rehearsal.run()
    assert "explodes in tensor bias at party b in round 3" in str(caught.value.__cause__)
    assert caught.value.saved == "checkpoint of round 2"
    assert rehearsal.saved[-1].rounds_done == 2


@pytest.mark.parametrize(
    ("patterns", "words"),
    [
        (("wieght",), "no parameter matches the pattern 'wieght'; expected a pattern for some of: weight, bias"),
        (("weight", "layer_9.*"), "no parameter matches the pattern 'layer_9.*'"),
        (("Weight",), "did you mean 'weight'"),
    ],
)
def test_patterns_that_match_nothing(patterns, words, settings_of) -> None:
    model = build_model(settings_of(), 3)
    with pytest.raises(InputError) as caught:
        TrainedTensors.of(model, patterns)
    assert words in str(caught.value)


class Statistic:
    """A model of one weight, one running mean and one frozen tensor, as TrainedTensors sees models."""

    averaged = frozenset({"norm.mean"})
    frozen = frozenset({"embedding"})

    @property
    def parameter_shapes(self):
        return {"embedding": (2,), "norm.mean": (3,), "weight": (3, 1)}


def test_frozen_tensors_are_not_sent_and_statistics_are_no_weights() -> None:
    trained = TrainedTensors.of(Statistic())
    assert (trained.weights, trained.statistics) == (("weight",), ("norm.mean",))
    like = trained.update_like(Statistic(), has_control=True)
    assert {name: values.shape for name, values in like.items()} == {
        "weight": (3, 1),
        "norm.mean": (3,),
        "control/weight": (3, 1),
    }
    with pytest.raises(InputError, match="no parameter matches the pattern 'embedding'"):
        TrainedTensors.of(Statistic(), ("embedding",))
    with pytest.raises(InputError, match=r"no weights to train.*statistics alone: norm\.mean"):
        TrainedTensors.of(Statistic(), ("norm.*",))


@pytest.mark.parametrize(
    ("losses", "changes", "stops"),
    [
        ([0.5, 0.4], {"stop_at_loss": 0.4}, True),
        ([0.4, 0.41], {"stop_at_loss": 0.4}, False),
        ([0.5, 0.0], {}, False),
        ([], {"stop_at_loss": 0.4, "patience": 1}, False),
        ([0.5, 0.5], {"patience": 1}, True),
        ([0.5, 0.4], {"patience": 1}, False),
        ([0.5, 0.4], {"patience": 1, "min_improvement": 0.2}, True),
        ([0.9, 0.5, 0.6, 0.7], {"patience": 2}, True),
        ([0.9, 0.5, 0.6, 0.4], {"patience": 2}, False),
    ],
)
def test_stop_rules(losses, changes, stops) -> None:
    assert should_stop(losses, replace(LOCAL, **changes)) is stops


def test_a_model_of_two_layers_takes_patterns_by_layer(settings_of) -> None:
    settings = settings_of(model=ModelSettings("mlp", hidden=(4, 3)))
    trained = TrainedTensors.of(build_model(settings, 5), ("layer_[13].*", "*.bias"))
    assert trained.weights == ("layer_1.weight", "layer_1.bias", "layer_2.bias", "layer_3.weight", "layer_3.bias")
