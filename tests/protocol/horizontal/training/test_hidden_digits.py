"""No sum of a job opens a counter digit by digit: a digit's sum would tell what the counter's sum hides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.codec.counters import HIDING_BITS, encode_counters
from hekat.codec.quantise import level_bound
from hekat.data import Table
from hekat.data.table import OpenFill
from hekat.protocol.horizontal.settings import CodecSettings, TrainingSettings, ValidationSettings
from hekat.protocol.horizontal.training.gram import sum_curvature
from hekat.protocol.secure_sum import update_codec
from hekat.protocol.secure_sum.aggregation import Alone
from hekat.protocol.secure_sum.paillier.party import PaillierAggregation

RULES = ("mean", "median", "most_frequent")
NAMES = ("low", "high", "job=a", "job=b")
FILLS = (OpenFill(("low",), "mean"), OpenFill(("high",), "median"), OpenFill(("job=a", "job=b"), "most_frequent"))


def table_with_gaps(name: str, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    features = np.column_stack([rng.normal(size=40), rng.lognormal(size=40), np.eye(2)[rng.integers(0, 2, 40)]])
    features[::5] = np.nan
    return Table(features, np.arange(40) % 2, NAMES, name, open_fills=FILLS)


@pytest.mark.long
@pytest.mark.parametrize(
    "training",
    [
        TrainingSettings(algorithm="lbfgs", round_count=2),
        TrainingSettings(algorithm="scaffold", round_count=1, batch_rows=8, learning_rate=0.1),
    ],
    ids=lambda training: training.algorithm,
)
def test_every_counter_of_several_digits_hides_them(training, rehearse, settings_of, monkeypatch) -> None:
    counters: list[tuple[int, int]] = []

    def listen(values, maxima, highest):
        # Where a sum is of counters alone, the weight before them is 1 at every party.
        counters.extend((maximum, highest) for maximum in maxima[values[0] == 1 :])
        return encode_counters(values, maxima, highest)

    monkeypatch.setattr(update_codec, "encode_counters", listen)
    tables = {name: table_with_gaps(name, seed) for seed, name in enumerate("abc")}
    validation = ValidationSettings(hold_out=0.2, bins=10)
    settings = replace(settings_of(training=training), fills=RULES, weight_max=2**40 - 1, validation=validation)
    rehearse(settings, tables).run()
    several = [highest for maximum, highest in counters if maximum > highest]
    assert len(several) > 20
    assert min(several) >= level_bound(HIDING_BITS)


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ["lbfgs", "scaffold"])
def test_under_narrow_values_only_the_rounds_open_digits_as_they_are(
    algorithm, rehearse, settings_of, monkeypatch
) -> None:
    bits: dict[str, int | None] = {}
    mean = PaillierAggregation.weighted_mean

    def listen(self, request):
        if request.weight != 1 or any(counter.maximum > 127 for counter in request.counters):
            bits[request.step] = request.value_bits
        return mean(self, request)

    monkeypatch.setattr(PaillierAggregation, "weighted_mean", listen)
    tables = {name: table_with_gaps(name, seed) for seed, name in enumerate("abc")}
    own = {} if algorithm == "lbfgs" else {"batch_rows": 8, "learning_rate": 0.1}
    settings = replace(
        settings_of(
            training=TrainingSettings(algorithm=algorithm, round_count=1, **own), codec=CodecSettings(value_bits=4)
        ),
        fills=RULES,
        weight_max=2**40 - 1,
        validation=ValidationSettings(hold_out=0.2, bins=10),
    )
    rehearse(settings, tables).run()
    assert "validation/final" in bits
    assert len(bits) > 6
    narrow = {step for step, one in bits.items() if one is None or one < HIDING_BITS}
    assert narrow == {"round-1"}


def test_ranges_of_the_curvature_tell_no_rows() -> None:
    """The same rows four times over have the same ranges; a flag for the constant column would show their number."""
    told: list[dict[str, int]] = []

    class Listening(Alone):
        def weighted_mean(self, request):
            told.append({counter.name: counter.value for counter in request.counters if counter.name != "rows"})
            return super().weighted_mean(request)

    rows = np.random.default_rng(3).normal(size=(50, 3))
    for features in (rows, np.vstack([rows] * 4)):
        sum_curvature(Listening(), features, factor=0.25, weight_max=1000, party_count=3, value_bits=24)
    first, _, second, _ = told
    assert first == second
    assert {name.partition("/")[0] for name in first} == {"0", "1", "2", "lacks-rows"}
