"""Attacks on runs: what a host with a fixed bottom is sent, what one that trains opens, what a lying guest reads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.protocol.vertical_network.rehearsal import GUEST, HOSTS, Rehearsal, flips_of, make_settings, make_tables

from hekat.data import make_ids
from hekat.protocol.vertical.label_privacy import LabelFlips, OwnLabels, RandomisedResponse
from hekat.protocol.vertical_network.guest_side.layer import GuestLayer
from hekat.protocol.vertical_network.host_side.layer import HostLayer
from hekat.protocol.vertical_network.messages import (
    AnswerMessage,
    EpochEndMessage,
    FactorsMessage,
    FeatureSlopesMessage,
    StartMessage,
)
from hekat.protocol.vertical_network.model_part import SHARE
from hekat.protocol.vertical_network.row_plan import RowPlan

HOST = HOSTS[0]
ROWS = 1_200


def kinds_sent_to_the_host(bottom: str) -> set[type[Any]]:
    settings = make_settings(1, host_bottom=bottom, protection="lattice", training={"epochs": 3})
    rehearsal = Rehearsal(settings, make_tables(3, 80, (2, 3)))
    rehearsal.run()
    return {type(message) for to, _, message in rehearsal.sent[GUEST] if to == HOST}


@pytest.mark.parametrize("bottom", ["frozen", "source"])
def test_a_host_with_a_fixed_bottom_is_sent_ciphertexts_and_whether_training_ends(bottom: str) -> None:
    assert kinds_sent_to_the_host(bottom) == {StartMessage, FactorsMessage, AnswerMessage, EpochEndMessage}


def test_a_host_that_trains_is_sent_what_opens_its_slopes() -> None:
    assert FeatureSlopesMessage in kinds_sent_to_the_host("trained")


@pytest.fixture
def opened_slopes(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """The slopes of its features that a host learns, by batch."""
    opened: list[np.ndarray] = []
    backward = HostLayer.backward

    def watched(self: HostLayer, *given: Any) -> Any:
        slopes = backward(self, *given)
        assert slopes is not None
        opened.append(slopes)
        return slopes

    monkeypatch.setattr(HostLayer, "backward", watched)
    return opened


def play(epsilon: float | None, flips: LabelFlips | None) -> tuple[Any, list[np.ndarray]]:
    """Two epochs with a host that trains: labels, and the rows of each batch."""
    tables = make_tables(9, ROWS, (3, 4))
    tables[GUEST] = replace(tables[GUEST], ids=make_ids(list(range(ROWS)), GUEST))
    accepted = {} if epsilon is None else {"labels_accepted": None}
    settings = make_settings(
        1,
        host_bottom="trained",
        label_privacy=epsilon,
        training={"batch_rows": ROWS // 4},
        network={"units": 32, "host_width": 32, "guest_width": 8},
        **accepted,
    )
    Rehearsal(settings, tables, runs={GUEST: {"own_labels": OwnLabels(flips, "label")}}).run()
    return tables[GUEST].labels, list(RowPlan.of(ROWS, settings.training).batches) * 2


@pytest.mark.long
def test_what_a_host_opens_tells_labels_unless_they_answer_once(
    attacks: Any, opened_slopes: list[np.ndarray], tmp_path: Path
) -> None:
    def attack(*given: Any) -> tuple[float, list[np.ndarray]]:
        opened_slopes.clear()
        labels, batches = play(*given)
        direction = attacks.on_labels.direction_of_rows
        found = [direction(slopes, labels[rows]) for slopes, rows in zip(opened_slopes, batches, strict=True)]
        print([round(score, 3) for score in found])
        return float(np.mean(found)), list(opened_slopes)

    assert attack(None, None)[0] > 0.98
    bound = RandomisedResponse(1.0, 2).auc_bound
    found, first = attack(1.0, flips_of(1, tmp_path / "flips"))
    assert found < bound + 0.04
    # Another run at the same site opens the same numbers, but for units of its shares: it adds nothing.
    _, again = attack(1.0, LabelFlips.open_or_create(tmp_path / "flips", GUEST))
    _, other = attack(1.0, flips_of(2, tmp_path / "others"))
    assert np.abs(np.subtract(first, again)).max() < 1e-4
    assert np.abs(np.subtract(first, other)).max() > 0.1


@pytest.mark.parametrize("protection", ["none", "lattice"])
def test_a_guest_that_adds_the_identity_to_its_share_reads_features(
    attacks: Any, protection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documented and not prevented: hosts waive it in words. Here with a bottom of source columns."""
    tables = make_tables(7, 60, (2, 3))
    settings = make_settings(1, host_bottom="source", protection=protection, training={"epochs": 1})
    rehearsal = Rehearsal(settings, tables)
    parts = rehearsal.run()
    opened: list[np.ndarray] = []
    open_outputs = GuestLayer._open

    def watched(self: GuestLayer, *given: Any) -> Any:
        opened.append(open_outputs(self, *given))
        return opened[-1]

    monkeypatch.setattr(GuestLayer, "_open", watched)

    def multiply(added: np.ndarray) -> np.ndarray:
        """Z_h of a joint prediction in which the guest adds these weights, whole numbers, to its share."""
        share = parts[GUEST].arrays[SHARE + HOST].copy()
        share[..., 1] += added.astype(np.uint64)  # a weight of 1 is 2^64: the high limb
        lying = replace(parts[GUEST], arrays={**parts[GUEST].arrays, SHARE + HOST: share})
        rehearsal.predict({**parts, GUEST: lying}, tables)
        return opened[-1]

    found = attacks.on_columns.added_identity(multiply, np.zeros((3, settings.network.units)), 3)
    wanted = tables[HOST].features
    wanted = np.clip((wanted - wanted.mean(axis=0)) / wanted.std(axis=0), -5, 5)
    assert np.abs(found - wanted).max() < 1e-4
