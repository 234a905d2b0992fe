"""A sealed network trained by roles at sites of their own: each keeps its share, and the mean loss alone opens."""

from __future__ import annotations

import numpy as np
import pytest
from tests.launch.jobs_apart import patients

from hekat.cli.main import main
from hekat.protocol.vertical_network.model_part import SEALED_SHARE
from hekat.report import load_summary
from hekat.run.vertical_network.part_file import NETWORK_PARTS

PARTIES = ("clinic", "laboratory")


@pytest.mark.long
@pytest.mark.parametrize("protection", ["none", "lattice"])
def test_roles_at_their_own_sites_train_a_sealed_network(fork, tmp_path, protection) -> None:
    apart = patients(tmp_path, "vertical_network", protection=protection, form="sealed")
    ended = apart.play(fork)
    assert {role: (one.code, one.told.get("error")) for role, one in ended.items()} == dict.fromkeys(PARTIES, (0, None))
    parts = {role: NETWORK_PARTS.load_own(apart.run_of(role), role).part for role in PARTIES}
    assert {part.form for part in parts.values()} == {"sealed"}
    assert parts["clinic"].model_id == parts["laboratory"].model_id
    shares = [part.arrays[SEALED_SHARE] for part in parts.values()]
    # Each alone is uniform, so the other's is nowhere here; their sum is small numbers.
    total = np.abs(sum_of(shares))
    assert total.max() < 2.0**3
    assert np.ptp(total) > 0
    assert all(np.unique(share[..., 1]).size > 2 for share in shares)
    losses = [[one["loss"] for one in load_summary(apart.run_of(role))["epochs"]] for role in PARTIES]
    assert [len(one) for one in losses] == [2, 2]
    # Weights begin at random: the first epoch's loss may pass 1, and a wrong opening is anywhere mod 2^64.
    assert all(0 < loss < 8 for loss in losses[0])
    ledgers = [str(apart.run_of(role) / "ledger" / f"{role}.jsonl") for role in PARTIES]
    assert main(["audit", *ledgers, "--job", str(apart.together / "job.toml")]) == 0


def sum_of(shares: list[np.ndarray]) -> np.ndarray:
    """The weights that two shares mod 2^128 at 2^-64 stand for."""
    limbs = [share.reshape(-1, 2).astype(object) for share in shares]
    numbers = [sum(int(low) + (int(high) << 64) for low, high in pair) % 2**128 for pair in zip(*limbs, strict=True)]
    return np.array([float(one - 2**128 if one >= 2**127 else one) * 2.0**-64 for one in numbers])
