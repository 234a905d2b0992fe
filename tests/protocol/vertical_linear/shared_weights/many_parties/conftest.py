"""Whole runs among three parties or more, in this process, with stored test keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest

from hekat.channel import PartyKey
from hekat.cost.calibrate import make_passing_key
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_linear.party_run import PartyRun
from hekat.protocol.vertical_linear.prediction.predict_scores import predict_scores
from hekat.protocol.vertical_linear.prediction.settings import PredictionSettings
from hekat.protocol.vertical_linear.shared_weights.many_parties.places import Places
from hekat.scheme.paillier import KeyPair

HOSTS = ("shop", "telco")


@pytest.fixture(scope="session")
def many_keys(paillier_keys) -> dict[str, Any]:
    """Two stored keys, and two that are quickly made."""
    passing = [make_passing_key(2048) for _ in range(2)]
    pairs = [*paillier_keys[2048][:2], *(KeyPair(key.public, key) for key in passing)]
    return dict(zip(("bank", "shop", "telco", "lab"), pairs, strict=True))


@pytest.fixture(scope="session")
def many_run_of(run_of, many_keys) -> Callable[..., Any]:
    return partial(run_of, keys=many_keys)


@pytest.fixture(scope="session")
def many_settings(settings_of) -> Callable[..., Any]:
    return partial(settings_of, hosts=HOSTS)


@pytest.fixture(scope="session")
def in_order(opened) -> Callable[..., np.ndarray]:
    """The opened weights in the order of the joined table: the intercept, then each party's columns."""

    def make(settings, tables, parts) -> np.ndarray:
        weights = opened(parts)
        places = Places.of(
            settings.holders, settings.quiet_parties, {name: table.features.shape[1] for name, table in tables.items()}
        )
        order = [0, *(at for name in settings.parties for at in range(places.size)[places.ranges[name]])]
        return weights[order]

    return make


@dataclass
class Predictions:
    """Joint predictions with parts of a training; `ledgers` by party, of the last one."""

    keys: Mapping[str, Any]
    ledgers: dict[str, Any] = field(default_factory=dict)

    def play(self, parts, tables, receivers=("bank",), score_bits=32, wrap=lambda channel: channel) -> dict[str, Any]:
        names = tuple(parts)
        settings = PredictionSettings(names[0], names[1:], receivers, score_bits)
        sessions = make_sessions(
            {name: PartyKey.generate() for name in names}, run_id="run", protocol="predict", job_digest=bytes(32)
        )

        def predict(name, channel):
            self.ledgers[name] = channel.ledger
            run = PartyRun(Stopwatch(), key_pair=self.keys[name])
            return predict_scores(wrap(channel), parts[name], tables[name], settings, run)

        plays = {name: partial(sessions[name].play, role=partial(predict, name)) for name in names}
        return play_in_process(plays, timeout_s=60.0)


@pytest.fixture
def predictions(many_keys) -> Predictions:
    return Predictions(many_keys)
