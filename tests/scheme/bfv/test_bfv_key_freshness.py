"""Every BFV key pair has a secret, an error and a public seed of its own, none of which the others lead to."""

from __future__ import annotations

import numpy as np

from hekat.scheme.bfv import generate_keys


def test_no_two_pairs_share_a_secret_an_error_or_a_seed(engine) -> None:
    pairs = [generate_keys(engine=engine) for _ in range(3)]
    assert len({pair.public.seed for pair in pairs}) == 3
    for secret_of in (
        lambda pair: pair.private.secret,  # s
        lambda pair: pair.public.b,  # -a s + e
        lambda pair: pair.public.a,
    ):
        assert len({b"".join(np.ascontiguousarray(part).tobytes() for part in secret_of(pair)) for pair in pairs}) == 3


def test_a_secret_does_not_follow_from_the_public_seed(engine, monkeypatch) -> None:
    """The attack: whoever is sent the key makes the secret as its owner did, from the one seed that is public."""
    drawn: list[bytes] = []
    sample = type(engine).sample_cbd

    def watched(self, seed, *others):
        drawn.append(seed)
        return sample(self, seed, *others)

    monkeypatch.setattr(type(engine), "sample_cbd", watched)
    seeds = [generate_keys(engine=engine).public.seed for _ in range(2)]
    assert len(drawn) == 2
    assert len({*drawn, *seeds}) == 4
    assert all(len(seed) == 32 and len(set(seed)) > 8 for seed in drawn)
