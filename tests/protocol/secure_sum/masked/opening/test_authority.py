"""The key authority: seeds checked against their digests, sums under the rules that members have."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hekat.errors import ProtocolError
from hekat.protocol.secure_sum.masked.opening.authority import check_seed, draw_seed, seed_digest, sum_of_seeds
from hekat.protocol.secure_sum.masked.opening.field import WRONG_LENGTH
from hekat.protocol.secure_sum.masked.opening.included import (
    UPLOAD_PURPOSE,
    IncludedSet,
    IncludedUpload,
    check_included,
    state_included,
    upload_fields,
)
from hekat.protocol.secure_sum.masked.opening.release_record import ReleaseRecord
from hekat.protocol.secure_sum.masked.opening.share_message import REFUSALS, WRONG_DIGEST
from hekat.scheme.lattice import SETS, secret_from_seed

PARAMETERS = SETS["A16-16"]


class Scene:
    """Five parties whose seeds an honest authority holds."""

    def __init__(self, make_round: Callable[..., Any], folder: Path) -> None:
        self.this = make_round(5, seed=100)
        self.seeds = {party: draw_seed() for party in self.this.parties}
        self.record = ReleaseRecord.create(folder / "releases")

    def upload(self, party: str, seed: bytes | None = None) -> IncludedUpload:
        digest = hashlib.sha256(party.encode()).digest()
        shares = (seed_digest(self.this.context, party, seed or self.seeds[party]),)
        signature = self.this.keys[party].sign(UPLOAD_PURPOSE, *upload_fields(self.this.context, digest, shares))
        return IncludedUpload(party, digest, shares, signature)

    def included(self, parties: Collection[str] | None = None) -> IncludedSet:
        return state_included(self.this.context, [self.upload(party) for party in parties or self.this.parties])

    def open(self, included: IncludedSet) -> Any:
        this = self.this
        digests = {party: (seed_digest(this.context, party, seed),) for party, seed in self.seeds.items()}
        check_included(included, this.context, this.parties, 4, this.find_unsigned, share_digests=digests)
        self.record.allow(this.job_digest, this.parties, included)
        return sum_of_seeds(PARAMETERS, (self.seeds[party] for party in included.parties))


@pytest.fixture
def scene(make_round: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setenv("HEKAT_ENGINE", "reference")
    return Scene(make_round, tmp_path)


def test_it_opens_the_sum_of_the_stated_secrets(scene: Scene) -> None:
    parties = scene.this.parties[1:]
    opened = scene.open(scene.included(parties))
    secrets = [secret_from_seed(PARAMETERS, scene.seeds[party]).coefficients for party in parties]
    assert np.array_equal(opened.coefficients, np.sum(secrets, axis=0, dtype=np.int32))
    assert opened.addend_count == 4


def test_it_holds_sets_to_the_rules(scene: Scene) -> None:
    good = scene.included()
    other_seed = [scene.upload(p, draw_seed() if p == "party-2" else None) for p in scene.this.parties]
    bad = {
        "too small": scene.included(scene.this.parties[:3]),
        "twice": IncludedSet(good.context, (good.uploads[0], *good.uploads)),
        "another upload": replace(good, context=replace(good.context, number=5)),
        "other shares of 'party-2'": state_included(good.context, other_seed),
        "did not sign": replace(good, uploads=(replace(good.uploads[0], signature=b""), *good.uploads[1:])),
        "takes no part": replace(good, uploads=(replace(good.uploads[0], party="x"), *good.uploads[1:])),
    }
    for match, included in bad.items():
        with pytest.raises(ProtocolError, match=match):
            scene.open(included)
    scene.open(good)


def test_a_second_set_of_the_step_is_refused(scene: Scene) -> None:
    scene.open(scene.included())
    scene.open(scene.included())
    scene.record = ReleaseRecord.open(scene.record._path)
    with pytest.raises(ProtocolError, match="another set was released for"):
        scene.open(scene.included(scene.this.parties[1:]))


def test_the_digest_of_a_seed_binds_session_number_and_party(scene: Scene) -> None:
    context = scene.this.context
    digests = {
        seed_digest(context, "a", b"0" * 32),
        seed_digest(context, "b", b"0" * 32),
        seed_digest(context, "a", b"1" * 32),
        seed_digest(replace(context, number=9), "a", b"0" * 32),
        seed_digest(replace(context, session_id=b"t" * 32), "a", b"0" * 32),
    }
    assert len(digests) == 5


def test_seeds_of_another_length_or_digest_are_refused(scene: Scene) -> None:
    context, seed = scene.this.context, scene.seeds["party-0"]
    digest = seed_digest(context, "party-0", seed)
    check_seed(context, "party-0", seed, digest)
    bad = [
        ("party-0", seed[:-1], seed_digest(context, "party-0", seed[:-1]), WRONG_LENGTH),
        ("party-0", scene.seeds["party-1"], digest, WRONG_DIGEST),
        ("party-1", seed, digest, WRONG_DIGEST),
    ]
    for party, given, stated, what in bad:
        with pytest.raises(ProtocolError) as caught:
            check_seed(context, party, given, stated)
        assert caught.value.what == what
        assert what in REFUSALS


def test_seeds_are_fresh() -> None:
    assert len({draw_seed() for _ in range(16)}) == 16
    assert len(draw_seed()) == 32
