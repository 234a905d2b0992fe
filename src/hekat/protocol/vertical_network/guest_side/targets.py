"""The numbers that the guest's outputs are trained towards: from labels, or from labels that were replaced once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np

from hekat.data import Table
from hekat.errors import StateError
from hekat.ledger import Ledger
from hekat.protocol.vertical.guest_labels import read_labels
from hekat.protocol.vertical.label_privacy import LabelQuestion, answer_once
from hekat.protocol.vertical_network.fixed_point import FloatArray
from hekat.protocol.vertical_network.party_run import NetworkRun
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings

FLIPS = "label_flips"


@dataclass(frozen=True)
class Targets:
    """Targets (rows, K): 1 or 0 for a class, unbiased numbers for replaced labels, or standardised numbers.

    `flips` is the digest of what the labels were replaced by; empty where they were not.
    """

    values: FloatArray = field(repr=False)
    mean: float = 0.0
    spread: float = 1.0
    flips: bytes = b""


def make_targets(table: Table, settings: VerticalNetworkSettings, run: NetworkRun, ledger: Ledger) -> Targets:
    """The targets of the guest's rows. Where there is label privacy, nothing else of the training sees labels.

    Raises InputError for labels that cannot be trained on, and where label privacy has no flips; PolicyError and
    StateError as `LabelFlips.flip`.
    """
    labels = read_labels(table, settings)
    if settings.classes is None:
        numbers = labels.astype(np.float64)
        mean, spread = float(numbers.mean()), float(numbers.std())
        return Targets(((numbers - mean) / spread)[:, np.newaxis], mean, spread)
    count = len(settings.classes)
    classes = labels.astype(np.int64)
    if settings.label_privacy is None:
        one_hot = np.equal.outer(classes, np.arange(count)).astype(np.float64)
        return Targets(one_hot[:, 1:] if count == 2 else one_hot)
    flips = None if run.own_labels is None else run.own_labels.flips
    digest = b"" if flips is None else hashlib.sha256(flips.digest).digest()
    if flips is not None:
        _check_flips(run, digest)
    question = LabelQuestion("" if run.own_labels is None else run.own_labels.name, settings.classes)
    answers, response = answer_once(classes, table.ids, question, settings.label_privacy, run.own_labels, ledger)
    unbiased = response.unbiased_targets(answers)
    return Targets(unbiased[:, 1:] if count == 2 else unbiased, flips=digest)


def _check_flips(run: NetworkRun, digest: bytes) -> None:
    if run.resume_from is None:
        return
    kept = run.resume_from.arrays.get(FLIPS)
    if kept is None or kept.tobytes() != digest:
        raise StateError(
            "the resumed training had other flips of labels",
            expected="the flips that it began with",
            got="others",
            cure="put back the site's file of flips, or begin anew",
        )
