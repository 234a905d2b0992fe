"""Settings refuse what cannot run, by the key of the job and with a cure."""

from __future__ import annotations

from typing import Any

import pytest
from tests.protocol.encrypted_model.play import AGGREGATOR, ARBITER, HOSTS, make_settings

from hekat.errors import HekatError
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings
from hekat.protocol.encrypted_model.training_settings import EncryptedTraining


@pytest.mark.parametrize(
    ("training", "match"),
    [
        ({"optimiser": "adam"}, "training.optimiser.*Adam divides"),
        ({"optimiser": "lbfgs"}, "training.optimiser.*no affine map"),
        ({"l1": 0.1}, "training.l1"),
        ({"rounds": 0}, "training.rounds"),
        ({"rounds": True}, "training.rounds"),
        ({"local_epochs": 0}, "training.local_epochs"),
        ({"batch_rows": -1}, "training.batch_rows"),
        ({"report_every": 1.5}, "training.report_every"),
        ({"learning_rate": 0.0}, "training.learning_rate"),
        ({"learning_rate": float("inf")}, "training.learning_rate"),
        ({"momentum": 1.0}, "training.momentum"),
        ({"l2": -1.0}, "training.l2"),
        ({"l2": float("nan")}, "training.l2"),
    ],
)
def test_training_settings_that_cannot_be_are_refused(training: dict[str, Any], match: str) -> None:
    with pytest.raises(HekatError, match=match):
        make_settings(training=training)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"hosts": HOSTS[:1]}, "hosts refused.*2 or more"),
        ({"owner": AGGREGATOR}, "owner refused.*read the model"),
        ({"owner": ARBITER}, "a different name for each.*notary"),
        ({"arbiter": HOSTS[0]}, "a different name for each.*north"),
        ({"aggregator": ARBITER}, "a different name for each.*notary"),
        ({"hosts": (HOSTS[0], HOSTS[0])}, "a different name for each.*north"),
        ({"owner": "../x"}, "name cannot be used"),
        ({"task": "ranking"}, "model.name"),
        ({"protection": "rsa"}, "protection.kind"),
        ({"key_bits": 1024}, "protection.key_bits"),
        ({"classes": None}, "classes refused"),
        ({"classes": ("a",)}, "classes refused"),
        ({"classes": ("a", "a")}, "each class once"),
        ({"task": "linear"}, "none for a linear regression"),
        ({"allow_two_parties": False}, "allow_two_parties = true"),
        ({"training": EncryptedTraining(report_every=2)}, "one of two hosts would read.*report_every = 0"),
    ],
)
def test_roles_and_tasks_that_cannot_be_are_refused(changes: dict[str, Any], match: str) -> None:
    usual: dict[str, Any] = {
        "hosts": HOSTS[:2],
        "arbiter": ARBITER,
        "aggregator": AGGREGATOR,
        "owner": HOSTS[0],
        "classes": ("no", "yes"),
        "allow_two_parties": True,
    }
    assert EncryptedModelSettings(**usual).everyone == (*HOSTS[:2], AGGREGATOR, ARBITER)
    with pytest.raises(HekatError, match=match):
        EncryptedModelSettings(**(usual | changes))


def test_models_on_the_way_are_for_owners_that_cannot_take_their_own_part_off() -> None:
    for hosts, owner in ((2, "buyer"), (3, HOSTS[0])):
        assert make_settings(hosts, owner=owner, training={"report_every": 2}).training.reported_count == 2
    assert make_settings(3).training.reported_count == 1
    assert make_settings(3, training={"rounds": 4, "report_every": 2}).training.reported_count == 2
