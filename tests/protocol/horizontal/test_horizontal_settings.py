"""What a job may not ask for: every refusal names the setting, what was expected and what came."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from hekat.errors import InputError, PolicyError
from hekat.privacy import MaskRules
from hekat.protocol.horizontal.selective_settings import SelectiveSettings
from hekat.protocol.horizontal.settings import HorizontalSettings, ModelSettings, TrainingSettings
from hekat.protocol.horizontal.training.local_run import build_model
from hekat.protocol.horizontal.training.server_step import build_optimiser
from hekat.protocol.secure_sum.settings import CodecSettings

GOOD = HorizontalSettings(("a", "b", "c"), "hub", ("no", "yes"), weight_max=10)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"parties": ()}, PolicyError, "too few parties"),
        ({"parties": ("a",)}, PolicyError, "too few parties"),
        ({"parties": ("a", "b")}, PolicyError, "allow_two_parties"),
        ({"parties": ("a", "b", "a")}, PolicyError, "named twice"),
        ({"parties": ("a", "b", "hub")}, PolicyError, "aggregator is also a party"),
        ({"parties": ("a", "b", "../../c")}, PolicyError, "name cannot be used"),
        ({"parties": ("a", "b", "-c")}, PolicyError, "name cannot be used"),
        ({"parties": ("a", "b", "c d")}, PolicyError, "name cannot be used"),
        ({"parties": ("a", "b", "x" * 65)}, PolicyError, "name cannot be used"),
        ({"aggregator": "a/b"}, PolicyError, "name cannot be used"),
        ({"aggregator": ""}, PolicyError, "name cannot be used"),
        ({"weight_max": 0}, InputError, "weight_max"),
        ({"weight_max": 2**40}, InputError, "weight_max"),
        ({"protection": "paillier", "key_bits": 1024}, PolicyError, "too small"),
        ({"protection": "paillier", "key_bits": 3071}, InputError, "key_bits"),
        ({"protection": "paillier", "key_bits": 10**6}, InputError, "key_bits"),
        ({"protection": "rot13"}, InputError, "protection"),
    ],
)
def test_settings_refused(changes, error, words) -> None:
    with pytest.raises(error, match=words):
        replace(GOOD, **changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"value_bits": 0}, "value_bits"),
        ({"value_bits": 33}, "value_bits"),
        ({"layout": "two_sign_bits_as_published"}, "layout"),
        ({"rounding": "up"}, "rounding"),
        ({"clipping": "none"}, "clipping"),
        ({"clipping": "fixed"}, "alpha"),
        ({"clipping": "fixed", "alpha": 0.0}, "alpha"),
        ({"alpha": math.inf}, "alpha"),
        ({"alpha": math.nan}, "alpha"),
        ({"target_clipped_fraction": 0.0}, "target_clipped_fraction"),
        ({"target_clipped_fraction": math.nan}, "target_clipped_fraction"),
    ],
)
def test_codec_settings_refused(changes, words) -> None:
    with pytest.raises(InputError, match=f"codec.{words}"):
        replace(GOOD, codec=CodecSettings(**changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"algorithm": "fedproxy"}, "algorithm refused.*did you mean 'fedprox'"),
        ({"algorithm": "fedprox", "proximal_mu": -0.1}, "proximal_mu refused"),
        ({"algorithm": "fedprox", "proximal_mu": math.inf}, "proximal_mu refused"),
        ({"algorithm": "fedavg", "proximal_mu": 0.1}, "proximal_mu has no effect.*or choose fedprox"),
        ({"algorithm": "scaffold", "proximal_mu": 0.1}, "proximal_mu has no effect"),
        ({"algorithm": "fedsgd", "proximal_mu": 0.1}, "proximal_mu has no effect"),
        ({"stop_at_loss": -1.0}, "stop_at_loss"),
        ({"stop_at_loss": math.nan}, "stop_at_loss"),
        ({"round_count": 0}, "rounds"),
        ({"local_epochs": 0}, "local_epochs"),
        ({"batch_rows": -1}, "batch_rows"),
        ({"patience": -1}, "patience"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"learning_rate": math.nan}, "learning_rate"),
        ({"min_improvement": math.nan}, "min_improvement"),
        ({"min_improvement": -1.0}, "min_improvement"),
        ({"algorithm": "fedsgd", "local_epochs": 2}, "local_epochs"),
        ({"seed": -1}, "seed"),
    ],
)
def test_training_settings_refused(changes, words) -> None:
    with pytest.raises(InputError, match=f"training.{words}"):
        replace(GOOD, training=TrainingSettings(**changes))


@pytest.mark.parametrize("changes", [{"l2": -1.0}, {"l2": math.nan}, {"l2": math.inf}, {"seed": -1}, {"seed": 2**63}])
def test_model_settings_refused(changes) -> None:
    with pytest.raises(InputError, match=f"model.{next(iter(changes))}"):
        replace(GOOD, model=ModelSettings(**changes))


def test_what_is_allowed() -> None:
    assert replace(GOOD, parties=("a", "b"), allow_two_parties=True).everyone == ("a", "b", "hub")
    assert replace(GOOD, parties=("Süd-1", "b.2", "c_3")).leader == "Süd-1"
    assert replace(GOOD, protection="none", key_bits=0).protection == "none"


@pytest.mark.parametrize(
    ("model", "classes", "words"),
    [
        (ModelSettings("logstic"), ("no", "yes"), "did you mean 'logistic'"),
        (ModelSettings("logistic"), None, "name the classes"),
        (ModelSettings("linear"), ("no", "yes"), "remove classes"),
        (ModelSettings("logistic", hidden=(3,)), ("no", "yes"), "hidden"),
    ],
)
def test_models_that_do_not_fit_the_job(model, classes, words) -> None:
    with pytest.raises(InputError, match=words):
        build_model(replace(GOOD, model=model, classes=classes), 4)


def test_optimisers_that_are_not_there() -> None:
    with pytest.raises(InputError, match="did you mean 'momentum'"):
        build_optimiser(TrainingSettings(optimiser="momentun"))
    with pytest.raises(InputError, match="beta_1"):
        build_optimiser(TrainingSettings(optimiser="adam", optimiser_settings={"beta1": 0.5}))


PART = TrainingSettings(keep=0.5)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"training": TrainingSettings(keep=0.0)}, r"training\.keep refused"),
        ({"training": TrainingSettings(keep_by="top_k")}, r"training\.keep_by has no effect"),
        ({"training": replace(PART, algorithm="scaffold")}, r"training\.keep refused"),
        (
            {"training": TrainingSettings(keep=0.5), "selective": SelectiveSettings(MaskRules(0.5))},
            r"protection\.masked refused",
        ),
        (
            {"training": TrainingSettings(keep=0.5), "codec": CodecSettings(clipping="daciq")},
            r"codec\.clipping refused",
        ),
    ],
)
def test_parts_of_updates_go_with_nothing_that_needs_the_whole(changes, words) -> None:
    with pytest.raises(InputError, match=words):
        replace(GOOD, **changes)
