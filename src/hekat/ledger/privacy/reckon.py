"""Epsilon, reckoned anew from the noise and the charges that a ledger records, and held against what it claims."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from hekat.errors import LedgerError
from hekat.ledger.entry import LedgerEntry
from hekat.ledger.privacy.records import WAIVED, ChargeRecord, LabelsRecord, NoiseRecord, finite, record_in
from hekat.privacy.accounting import Neighbours, Release, epsilon_of
from hekat.privacy.accounting.leaf_sums import least_sensitivity_of_leaves
from hekat.privacy.accounting.mechanism import LEAST_STD, sensitivity_of

UPLOAD_KIND = "horizontal/upload"
"""The message that carries a party's part of a masked sum."""
# Numbers are written whole; sums of many logarithms may differ in their last digits.
_NEAR = 1e-9
_EPSILON_NEAR = 1e-6


@dataclass(frozen=True)
class ChargedSum:
    """A sum with noise: its step, the releases up to it, and what follows of all of them from the recorded noise.

    `rho` is the zCDP of this sum alone, before coins of sampling.
    """

    step: str
    releases: int
    rho: float
    epsilon: float | None
    epsilon_at_one: float | None


@dataclass(frozen=True)
class PrivacyAudit:
    """What a ledger says of differential privacy, once its claims were reckoned anew.

    `noise` are the kinds of noise in their order, `charged` the sums. `sent_count` of these left, and `exact_count`
    sums without noise beside them. `spent` of `limit` is what all jobs had cost the rows at the last charge.
    `waived`: what the site said of a budget that it waived.
    """

    noise: tuple[NoiseRecord, ...]
    charged: tuple[ChargedSum, ...]
    sent_count: int
    exact_count: int
    spent: float | None
    limit: float | None
    labels: tuple[LabelsRecord, ...]
    waived: tuple[str, ...]


@dataclass
class _Found:
    """What was read so far."""

    noise: list[NoiseRecord] = field(default_factory=list)
    counts: Counter[Release] = field(default_factory=Counter)
    counts_at_one: Counter[Release] = field(default_factory=Counter)
    charged: dict[str, ChargedSum] = field(default_factory=dict)
    sent: set[str] = field(default_factory=set)
    exact: dict[str, LedgerEntry] = field(default_factory=dict)
    last: ChargeRecord | None = None


def reckon_privacy(entries: Iterable[LedgerEntry]) -> PrivacyAudit | None:
    """What a verified ledger says of differential privacy; None where it says nothing of it.

    Raises:
        LedgerError: a claim that does not follow from the records: less noise than is claimed, an epsilon below the one
            of noise and releases, a sum that left before it was charged, or without noise where every sum bears it.
        InputError: dp-accounting is not installed, and the ledger claims an epsilon.
    """
    found, labels, waived = _Found(), [], []
    for entry in entries:
        match record_in(entry):
            case NoiseRecord() as noise:
                _take_noise(found, noise, entry)
            case ChargeRecord() as charge:
                _take_charge(found, charge, entry)
            case LabelsRecord() as replaced:
                _check_labels(replaced, entry)
                labels.append(replaced)
        if entry.direction == "note":
            waived += [record.explanation for record in entry.fields if record.name == WAIVED]
        elif entry.direction == "sent" and entry.kind == UPLOAD_KIND:
            _take_upload(found, entry)
    if found.exact and any(noise.every_sum for noise in found.noise):
        step, entry = next(iter(found.exact.items()))
        refuse_claim(entry, "noise in every sum, charged before anything of it leaves", f"a sum of {step} without")
    if not (found.noise or labels or waived):
        return None
    last = found.last
    return PrivacyAudit(
        noise=tuple(found.noise),
        charged=tuple(found.charged.values()),
        sent_count=len(found.sent),
        exact_count=len(found.exact),
        spent=None if last is None else last.spent,
        limit=None if last is None else last.limit,
        labels=tuple(labels),
        waived=tuple(dict.fromkeys(waived)),
    )


def _take_noise(found: _Found, noise: NoiseRecord, entry: LedgerEntry) -> None:
    # Sums of other things than clipped vectors are of derivatives in leaves of trees.
    least, why = (
        (least_sensitivity_of_leaves(noise.value_count), "the sums of a row's leaves")
        if noise.levels is None
        else (sensitivity_of(noise.levels, noise.value_count), "levels and values")
    )
    if noise.sensitivity < least * (1 - _NEAR):
        refuse_claim(entry, f"a sensitivity of {least:.6g} or more, from {why}", noise.sensitivity)
    if noise.std < LEAST_STD:
        refuse_claim(entry, f"a std of {LEAST_STD:g} levels or more", noise.std)
    for claimed, others in (
        (noise.noise, noise.least_parties - noise.colluders),
        (noise.noise_at_one, noise.least_parties - 1),
    ):
        follows = noise.std * math.sqrt(others) / noise.sensitivity
        if claimed > follows * (1 + _NEAR):
            refuse_claim(entry, f"noise of {follows:.6g}, from {others} honest parties", claimed)
    first = found.noise[0] if found.noise else noise
    promises = [(one.unit, one.neighbours, one.delta) for one in (first, noise)]
    if promises[0] != promises[1]:
        refuse_claim(entry, "one unit, neighbours and delta, whose losses add up", "others than before")
    if not found.noise or found.noise[-1] != noise:
        found.noise.append(noise)


def _take_charge(found: _Found, charge: ChargeRecord, entry: LedgerEntry) -> None:
    if not found.noise:
        refuse_claim(entry, "a record of noise before the first charge", "none")
    noise, before = found.noise[-1], found.counts.total()
    if entry.step in found.exact:
        refuse_claim(entry, "a charge before anything of the sum leaves", f"one after an upload of {entry.step}")
    if charge.releases <= before:
        refuse_claim(entry, f"more than {before} releases, as were charged before", charge.releases)
    # What was released before this ledger began had the noise of the job as well.
    more = charge.releases - before
    found.counts[noise.release] += more
    found.counts_at_one[noise.release_at_one] += more
    neighbours: Neighbours = noise.neighbours  # type: ignore[assignment]  # checked as it was read
    epsilons = []
    for name, counts, claimed in (
        ("epsilon", found.counts, charge.epsilon),
        ("epsilon_at_one", found.counts_at_one, charge.epsilon_at_one),
    ):
        follows = epsilon_of(counts, noise.delta, neighbours)
        if (math.inf if claimed is None else claimed) < follows * (1 - _EPSILON_NEAR):
            refuse_claim(entry, f"{name} of {follows:.6g}, from {charge.releases} releases of that noise", claimed)
        epsilons.append(finite(follows))
    found.charged[entry.step] = ChargedSum(entry.step, charge.releases, noise.release.rho, *epsilons)
    found.last = charge


def _take_upload(found: _Found, entry: LedgerEntry) -> None:
    step = summed_in(entry)
    if step in found.charged:
        found.sent.add(step)
    else:
        found.exact.setdefault(step, entry)


def summed_in(upload: LedgerEntry) -> str:
    """The step whose sum an upload is a part of."""
    return upload.step.partition("/upload-")[0]


def _check_labels(replaced: LabelsRecord, entry: LedgerEntry) -> None:
    most = 1 / (1 + (replaced.classes - 1) * math.exp(-replaced.epsilon))
    if replaced.keep_odds > most * (1 + _NEAR):
        refuse_claim(entry, f"labels that stay with odds of at most {most:.6g}, from epsilon", replaced.keep_odds)


def refuse_claim(entry: LedgerEntry, expected: str, got: object) -> None:
    """Raise LedgerError for a claim of a line that does not follow from the records."""
    raise LedgerError(
        f"the claim of differential privacy at line {entry.index + 1} does not follow from the ledger",
        expected=expected,
        got=f"{got:.6g}" if isinstance(got, float) else str(got),
        cure="take the ledger's epsilon for nothing, and ask its owner what ran",
    )
