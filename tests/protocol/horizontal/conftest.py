"""Whole horizontal runs in this process: small seeded tables, the stored test key, roles that a test may replace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from tests.protocol.horizontal.rehearsal import Rehearsal

from hekat.data import Table
from hekat.protocol.horizontal.settings import HorizontalSettings, ModelSettings, TrainingSettings
from hekat.protocol.secure_sum.exactness_check import ExactnessCheck
from hekat.protocol.secure_sum.settings import CodecSettings
from hekat.scheme.paillier import KeyPair

PARTIES = ("a", "b", "c")
AGGREGATOR = "hub"


def make_tables(seed: int, *, rows: tuple[int, ...] = (24, 9, 40), task: str = "two classes") -> dict[str, Table]:
    """Tables of 4 columns of very different scales whose labels depend on them; `task` names the kind of label."""
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=4)
    tables: dict[str, Table] = {}
    for name, count in zip(PARTIES, rows, strict=False):
        features = rng.normal(size=(count, 4))
        score = features @ direction + 0.3 * rng.normal(size=count)
        if task == "number":
            labels = 3.0 * score + 1.0
        elif task == "three classes":
            labels = np.digitize(score, [-0.7, 0.7]).astype(np.int64)
        else:
            labels = (score > 0).astype(np.int64)
        scales = np.array([1.0, 200.0, 1e-3, 7.0])
        shifts = np.array([0.0, 1000.0, 0.0, -3.0])
        tables[name] = Table(features * scales + shifts, labels, ("u", "v", "w", "x"), name)
    return tables


def make_settings(
    *,
    model: ModelSettings | None = None,
    codec: CodecSettings | None = None,
    training: TrainingSettings | None = None,
    task: str = "two classes",
    protection: str = "paillier",
    weight_max: int = 64,
    parties: tuple[str, ...] = PARTIES,
) -> HorizontalSettings:
    classes = {"two classes": ("no", "yes"), "three classes": ("low", "middle", "high"), "number": None}[task]
    return HorizontalSettings(
        parties=parties,
        aggregator=AGGREGATOR,
        classes=classes,
        weight_max=weight_max,
        protection=protection,  # type: ignore[arg-type]
        key_bits=2048,
        model=model or ModelSettings(),
        codec=codec or CodecSettings(),
        training=training or TrainingSettings(round_count=3),
        allow_two_parties=True,
    )


@pytest.fixture(scope="session")
def key_pair(paillier_keys) -> KeyPair:
    return paillier_keys[2048][0]


@pytest.fixture(scope="session")
def rehearse(key_pair: KeyPair) -> Callable[..., Rehearsal]:
    """Makes a federation of `settings` over `tables`, checked unless told otherwise; `.run()` plays it."""

    def make(
        settings: HorizontalSettings,
        tables: Mapping[str, Table],
        *,
        ledger_folder: Path | None = None,
        exactness_check: bool = True,
        **others,
    ) -> Rehearsal:
        return Rehearsal(
            settings,
            tables,
            ledger_folder=ledger_folder,
            key_pair=key_pair,
            exactness_check=ExactnessCheck() if exactness_check and settings.protection == "paillier" else None,
            **others,
        )

    return make


@pytest.fixture(scope="session")
def tables_of() -> Callable[..., dict[str, Table]]:
    return make_tables


@pytest.fixture(scope="session")
def settings_of() -> Callable[..., HorizontalSettings]:
    return make_settings
