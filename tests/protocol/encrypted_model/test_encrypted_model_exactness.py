"""A round under encryption is the hosts' integer maps, added up exactly and off by one unit once truncated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from tests.protocol.encrypted_model.play import AGGREGATOR, ARBITER, HOSTS, OWNER, make_settings, make_tables, play
from tests.protocol.encrypted_model.steps_in_float import train_in_steps

from hekat.data import Table
from hekat.protocol.encrypted_model import host as host_module
from hekat.protocol.encrypted_model.arithmetic.fixed_point import MAP_BITS, IntegerMap
from hekat.protocol.encrypted_model.party_run import SHARE, TRANSCRIPT, ShareState
from hekat.protocol.shares.share_array import (
    add_shares,
    from_integers,
    random_shares,
    signed_integers,
    subtract,
    sum_along,
)


def state_with(share: Any, rounds_done: int) -> ShareState:
    return ShareState({SHARE: share, TRANSCRIPT: np.zeros(32, np.uint8)}, rounds_done)


@pytest.mark.parametrize(
    ("protection", "hosts", "kind", "columns", "momentum"),
    [
        ("none", 3, "binary", 5, 0.9),
        ("lattice", 2, "binary", 1, 0.0),
        ("lattice", 3, "binary", 23, 0.9),
        ("lattice", 2, "multiclass", 7, 0.9),
        # Several ciphertexts: 122 numbers, and 3 times 62.
        ("lattice", 2, "binary", 60, 0.9),
        ("lattice", 2, "multiclass", 61, 0.0),
        ("paillier", 2, "binary", 1, 0.9),
        ("paillier", 3, "multiclass", 2, 0.0),
    ],
)
def test_a_round_is_exact_but_for_one_unit(
    protection: str, hosts: int, kind: str, columns: int, momentum: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(columns)
    settings = make_settings(hosts, kind, protection=protection, training={"rounds": 2, "momentum": momentum})
    shape = ((columns + 1) * (2 if momentum else 1), settings.target_count)
    weights = rng.integers(-(2**33), 2**33, shape)
    arbiter = random_shares(shape)
    if protection == "none":
        # Below 2^127, as the twin's mask is.
        arbiter[..., 1] >>= np.uint64(2)
    resume = {name: ShareState({}, 1) for name in settings.everyone}
    resume[ARBITER] = state_with(arbiter, 1)
    resume[AGGREGATOR] = state_with(subtract(from_integers(weights), arbiter), 1)
    maps: list[IntegerMap] = []
    made = host_module.make_host

    def keep(channel: Any, settings: Any, key: Any, own: IntegerMap, seeds: Any) -> Any:
        maps.append(own)
        return made(channel, settings, key, own, seeds)

    monkeypatch.setattr(host_module, "make_host", keep)
    played = play(settings, make_tables(columns, hosts, columns=columns, kind=kind), resume=resume)
    exact = signed_integers(sum_along(np.stack([own.apply(from_integers(weights)) for own in maps]), 0))
    ends = [played.states[name][-1].arrays[SHARE] for name in (ARBITER, AGGREGATOR)]
    found = signed_integers(add_shares(*ends))
    assert len(maps) == hosts
    assert np.abs(exact).max() > 2**50  # the weights are no zeros
    distance = np.abs(found * (1 << MAP_BITS) - exact)
    # One unit, and the last bits of the sum that dropped primes may move.
    assert distance.max() <= (1 << MAP_BITS) + (1 if protection == "lattice" else 0)


def test_real_rows_train_as_in_the_clear() -> None:
    from sklearn.datasets import load_breast_cancer

    x, y = load_breast_cancer(return_X_y=True)
    parts = np.array_split(np.random.default_rng(2).permutation(len(y)), 3)
    names = tuple(f"c{number}" for number in range(x.shape[1]))
    tables = {host: Table(x[rows], y[rows], names, host) for host, rows in zip(HOSTS[:2], parts[:2], strict=True)}
    settings = make_settings(protection="lattice", training={"rounds": 5, "batch_rows": 64, "learning_rate": 0.02})
    model, expected = play(settings, tables).results[OWNER], train_in_steps(settings, tables)
    assert model is not None
    found, clear = model.scores(x[parts[2]]), expected.scores(x[parts[2]])
    assert np.abs(found - clear).max() < 1e-5
    aucs = [roc_auc_score(y[parts[2]], scores[:, 0]) for scores in (found, clear)]
    assert aucs[0] == pytest.approx(aucs[1], abs=1e-3)
    assert aucs[0] > 0.98
