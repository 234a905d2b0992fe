"""No sum of a job opens a counter digit by digit: a digit's sum would tell what the counter's sum hides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.codec.counters import HIDING_BITS, encode_counters
from hekat.codec.quantise import level_bound
from hekat.data import Table
from hekat.data.table import OpenFill
from hekat.protocol.horizontal.settings import TrainingSettings, ValidationSettings
from hekat.protocol.secure_sum import update_codec

RULES = ("mean", "median", "most_frequent")
NAMES = ("low", "high", "job=a", "job=b")
FILLS = (OpenFill(("low",), "mean"), OpenFill(("high",), "median"), OpenFill(("job=a", "job=b"), "most_frequent"))


def table_with_gaps(name: str, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    features = np.column_stack([rng.normal(size=40), rng.lognormal(size=40), np.eye(2)[rng.integers(0, 2, 40)]])
    features[::5] = np.nan
    return Table(features, np.arange(40) % 2, NAMES, name, open_fills=FILLS)


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
