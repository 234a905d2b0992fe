"""Attacks on a run: each succeeds without the rule that is there against it, and fails with it."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.protocol.encrypted_model.play import AGGREGATOR, ARBITER, HOSTS, Played, make_settings, make_tables, play

from hekat.engine.select import get_engine
from hekat.protocol.encrypted_model import host as host_module
from hekat.protocol.encrypted_model.arithmetic import bfv, choose
from hekat.protocol.encrypted_model.arithmetic.affine_map import make_map
from hekat.protocol.encrypted_model.arithmetic.bfv import BfvAggregator, BfvArbiter, BfvHost, lay_out_round
from hekat.protocol.encrypted_model.arithmetic.fixed_point import IntegerMap
from hekat.protocol.encrypted_model.set_up import moments
from hekat.protocol.encrypted_model.set_up.host_seeds import HostSeeds
from hekat.protocol.shares.share_array import from_integers, random_shares, signed_integers, subtract
from hekat.scheme.bfv import KeyPair, PublicKey, generate_keys
from hekat.scheme.bfv.shared_products import MatrixLayout, answers, open_share
from hekat.scheme.bfv.shared_products.answers import Answer
from hekat.scheme.bfv.shared_products.places import cut_plain
from hekat.scheme.bfv.shared_products.residues import add
from hekat.wire import from_bytes
from hekat.wire.shared_products import read_answer, read_matrix

SEED = 13
NORTH, SOUTH = HOSTS[:2]


class Overheard:
    """One run of two hosts under BFV, with the arbiter's key pair and each host's map and masks."""

    def __init__(self, patch: pytest.MonkeyPatch, **training: Any) -> None:
        self.pairs: list[KeyPair] = []
        self.maps: dict[str, IntegerMap] = {}
        self.masks: list[Any] = []
        make_host, cancelling = host_module.make_host, bfv.cancelling_masks

        def make_pair() -> KeyPair:
            self.pairs.append(generate_keys())
            return self.pairs[-1]

        def keep_map(channel: Any, settings: Any, key: Any, own: IntegerMap, seeds: Any) -> Any:
            self.maps[channel.party] = own
            return make_host(channel, settings, key, own, seeds)

        def keep_masks(*given: Any) -> Any:
            self.masks.append(cancelling(*given))
            return self.masks[-1]

        patch.setattr(choose, "generate_bfv_keys", make_pair)
        patch.setattr(host_module, "make_host", keep_map)
        patch.setattr(bfv, "cancelling_masks", keep_masks)
        self.settings = make_settings(protection="lattice", training={"rounds": 1, **training})
        self.played: Played = play(self.settings, make_tables(SEED))
        size = self.maps[NORTH].matrix.shape[0]
        self.layout: MatrixLayout = lay_out_round((size, 1), 2)
        self.key = from_bytes(self.played.messages(ARBITER, NORTH, "key")[0].public_key, PublicKey)

    def update(self, host: str) -> Answer:
        """What the aggregator gets of a host."""
        return read_answer(
            self.played.messages(host, AGGREGATOR, "update")[0].values, self.key, self.layout, whole=True
        )


def divide(numerator: npt.NDArray[np.uint64], divisor: npt.NDArray[np.uint64], prime: int) -> list[int]:
    return [int(a) * pow(int(b), -1, prime) % prime for a, b in zip(numerator, divisor, strict=True)]


def read_map(run: Overheard, host: str) -> npt.NDArray[np.int64]:
    """The aggregator's guess of a host's map: c1 of the answer divided by c1 of the weights, mod the first prime."""
    engine, part = get_engine(), run.layout.parameters.parts[0]
    weights = read_matrix(run.played.messages(AGGREGATOR, host, "weights")[0].values, run.key, run.layout)
    sent = weights.second_halves()[0][0, 0, 0]
    returned = engine.ring_ntt(part, run.update(host).c1[0])[0, 0]
    prime = part.primes[0]
    slots = np.array([divide(returned, sent, prime), [0] * part.degree], np.uint64)
    coefficients = engine.ring_intt(part, slots)[0].astype(np.int64)
    return np.where(coefficients > prime // 2, coefficients - prime, coefficients)


def placed_map(run: Overheard, host: str) -> npt.NDArray[np.int64]:
    coefficients = cut_plain(run.maps[host].matrix, run.layout)[0, 0]
    return np.pad(coefficients, (0, run.layout.parameters.degree - len(coefficients)))


def without_zeros(patch: pytest.MonkeyPatch) -> None:
    """Hosts forget the fresh encryption of zero: no v and no errors."""
    engine = type(get_engine())
    refresh = engine.ring_refresh

    def add_none(engine: Any, ring: Any, elements: Any, small: Any, pair: Any) -> Any:
        return refresh(engine, ring, elements, np.zeros_like(small), pair)

    patch.setattr(engine, "ring_refresh", add_none)


def test_c1_divided_by_c1_reads_a_map_without_a_fresh_zero_and_nothing_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        without_zeros(patch)
        open_run = Overheard(patch)
        assert (read_map(open_run, NORTH) == placed_map(open_run, NORTH)).all()
    with monkeypatch.context() as patch:
        run = Overheard(patch)
        guessed, placed = read_map(run, NORTH), placed_map(run, NORTH)
        used = placed != 0
        assert used.sum() > 50
        assert (guessed[used] == placed[used]).mean() < 0.01
        # Centred numbers mod a prime of 48 bits, not of 24.
        assert np.median(np.abs(guessed[used])) > 2**44


def test_who_has_the_key_reads_no_single_update_without_the_other_hosts_masks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = Overheard(monkeypatch)
    exact = signed_integers(run.maps[NORTH].offset)  # the first round's weights are 0
    pair, update = run.pairs[0], run.update(NORTH)
    assert np.abs(exact).max() < 2**60
    opened = signed_integers(open_share(pair.private, update))
    assert np.abs(opened - exact).min() > 2**90
    # What SECURITY.md says of all other hosts with both: their masks are the rest of this host's.
    parameters = run.layout.parameters
    for masks in run.masks:
        bare = Answer(run.key, run.layout, update.primes, update.c1, add(parameters, update.c0, masks))
        found = signed_integers(open_share(pair.private, bare))
        if np.abs(found - exact).max() <= 1:
            return
    raise AssertionError("two hosts' masks do not cancel")


def test_no_two_rounds_have_one_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has the key would read M times the difference of two rounds' weights off the difference of two updates."""
    run = Overheard(monkeypatch, rounds=3)
    first = [masks[0] for masks in run.masks]
    assert len(first) == 6
    for place, masks in enumerate(first):
        assert not any((masks == others).any() for others in first[:place])


def chi_square_tail(histogram: npt.NDArray[np.int64]) -> float:
    """The odds of a distance from uniform like this one: Wilson and Hilferty's normal approximation."""
    expected, freedom = histogram.sum() / len(histogram), len(histogram) - 1
    statistic = float(((histogram - expected) ** 2 / expected).sum())
    z = ((statistic / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / math.sqrt(2 / (9 * freedom))
    return 0.5 * math.erfc(z / math.sqrt(2))


def opened_bytes() -> npt.NDArray[np.uint8]:
    """What an arbiter opens in rounds of two hosts with the same small weights, (numbers, 16) bytes."""
    shape, rng = (64, 128), np.random.default_rng(SEED)
    layout, pair = lay_out_round(shape, 2), generate_keys()
    arbiter, aggregator = BfvArbiter(pair, layout), BfvAggregator(pair.public, layout)
    seeds = [HostSeeds((b"s" * 32,), (), b"", is_first=True), HostSeeds((), (b"s" * 32,), b"", is_first=False)]
    hosts = [
        BfvHost(
            pair.public,
            layout,
            IntegerMap(rng.integers(-(2**10), 2**10, (64, 64)), from_integers(rng.integers(0, 9, shape))),
            one,
        )
        for one in seeds
    ]
    share = random_shares(shape)
    own = subtract(from_integers(rng.integers(0, 99, shape)), share)
    opened = []
    for number in range(4):
        weights = aggregator.complete(arbiter.encrypt(share), own)
        updates = {str(place): host.update(weights, number) for place, host in enumerate(hosts)}
        opened.append(arbiter.open(aggregator.add(updates)[0]))
    return np.concatenate(opened).reshape(-1, 2).astype("<u8").view(np.uint8).reshape(-1, 16)


def least_tail(numbers: npt.NDArray[np.uint8]) -> float:
    return min(chi_square_tail(np.bincount(numbers[:, place], minlength=256)) for place in range(16))


def test_what_the_arbiter_opens_is_uniform_in_every_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    assert least_tail(opened_bytes()) > 1e-12  # 16 bytes of 32,768 numbers: once in 10^10 runs it is not
    draw = answers.draw_uniform
    monkeypatch.setattr(answers, "draw_uniform", lambda *given: tuple(x * np.uint64(0) for x in draw(*given)))
    assert least_tail(opened_bytes()) < 1e-40


def test_the_aggregator_sees_no_sum_over_rows_not_even_of_all_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    def seen() -> tuple[list[int], int]:
        played = play(make_settings(training={"rounds": 1}), tables)
        told = [played.messages(host, AGGREGATOR, "moments/sums")[0].values for host in (NORTH, SOUTH)]
        numbers = [moments._integers(values, "x", 5) for values in told]
        first = [one[0] >> moments.SUM_BITS for one in numbers]
        return first, sum(one[0] for one in numbers) % moments.RING >> moments.SUM_BITS

    tables = make_tables(SEED)
    counts = [len(tables[host]) for host in (NORTH, SOUTH)]
    masked, total = seen()
    assert not set(masked) & set(counts)
    assert total != sum(counts)
    assert all(number > 2**60 for number in (*masked, total))  # misses one of a million million
    monkeypatch.setattr(moments, "_grow", lambda seed, count: [0] * count)
    assert seen() == (counts, sum(counts))


def test_masks_are_fresh_in_every_step_and_session() -> None:
    uses = Counter()
    seeds = HostSeeds((b"a" * 32,), (b"b" * 32,), b"c" * 32, is_first=True)
    for use in ("round-1", "round-2", "moments/sums", "moments/squares"):
        added, taken = seeds.cancelling(use, lambda seed: seed)
        uses.update([*added, *taken, seeds.shared(use, lambda seed: seed)])
    assert set(uses.values()) == {1}
    assert len(uses) == 12
    settings, tables = make_settings(training={"rounds": 1}), make_tables(SEED)
    drawn = [play(settings, tables).messages(NORTH, SOUTH, "seed") for _ in range(2)]
    assert len({message.seed for messages in drawn for message in messages}) == 4


def test_models_on_the_way_tell_the_mean_of_all_hosts_maps_and_one_of_two_the_other_hosts() -> None:
    """So an owner that is one of two hosts is given none of them, and sites bound their number."""
    rng = np.random.default_rng(SEED)
    training = {"rounds": 20, "batch_rows": 0, "optimiser": "sgd", "learning_rate": 1.0}
    settings = make_settings(training=training)
    maps = []
    for _ in range(2):
        columns = rng.normal(size=(500, 4)) @ rng.normal(size=(4, 4))
        columns /= columns.std(axis=0)
        labels = np.where(columns[:, :1] + rng.normal(size=(500, 1)) > 0, 1.0, -1.0)
        maps.append(make_map(columns, labels, settings))
    own, other = maps
    models = [np.zeros((5, 1))]
    for _ in range(settings.training.rounds):
        mean = (own.apply(models[-1]) + other.apply(models[-1])) / 2
        models.append(np.round(mean * 2.0**32 + rng.integers(0, 2, mean.shape)) / 2.0**32)
    told = np.hstack(models).T
    # What the owner's own map gave is known to it, so the rest is the other host's.
    rest = 2 * told[1:] - told[:-1] @ own.matrix.T - own.offset[:, 0]
    known = np.column_stack([told[:-1], np.ones(len(rest))])
    solved = np.linalg.lstsq(known, rest, rcond=1e-13)[0][:5].T
    moved = np.abs(other.matrix - np.eye(5)).max()
    assert np.abs(solved - other.matrix).max() < 0.05 * moved
    # The last model alone is one equation a weight.
    few = np.linalg.lstsq(known[:1], rest[:1], rcond=1e-13)[0][:5].T
    assert np.abs(few - other.matrix).max() > 0.5 * moved
