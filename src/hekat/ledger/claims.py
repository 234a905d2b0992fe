"""Compares what ledgers of one session claim of noise: a sum of several parties has one claim, the same at all of them.

A party's own ledger shows that its epsilon follows from the noise that it recorded. Noise that others recorded
otherwise, or not at all, shows only beside their ledgers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields

from hekat.ledger.audit import AuditReport
from hekat.ledger.privacy.reckon import UPLOAD_KIND, summed_in
from hekat.ledger.privacy.records import SETUP_STEP, ChargeRecord, NoiseRecord, record_in

# Two machines may round the last digits of one number unlike.
_NEAR = 1e-9
_WORDS = {
    "noise": "the noise z",
    "noise_at_one": "the noise against one party",
    "sampling": "the chance of a row to be in a sum",
    "colluders": "the number of colluders t_c",
    "least_parties": "the smallest number of parties in a sum",
    "party_count": "the largest number of parties in a sum",
    "value_count": "the number of values in a sum",
    "std": "the std of a party's noise, in levels,",
    "levels": "the clip in levels",
    "neighbours": "the kind of neighbours",
    "every_sum": "whether every sum bears noise",
}


@dataclass(frozen=True)
class ClaimDifference:
    """One number of a claim, in words, that two sides give unlike; `what` it is told of, and what each side says."""

    what: str
    ours: str
    theirs: str


@dataclass
class _Sums:
    """What one party recorded: the noise before anything was charged, by charged step, and the steps without."""

    party: str
    begins: NoiseRecord | None = None
    noised: dict[str, NoiseRecord] = field(default_factory=dict)
    exact: dict[str, None] = field(default_factory=dict)

    @classmethod
    def of(cls, report: AuditReport) -> _Sums:
        found = cls(report.party)
        now: NoiseRecord | None = None
        for entry in report.entries:
            match record_in(entry):
                case NoiseRecord() as noise:
                    now = noise
                    if found.begins is None and noise.every_sum:
                        found.begins = noise
                case ChargeRecord():
                    assert now is not None  # as the audit checked
                    found.noised[entry.step] = now
            if entry.direction == "sent" and entry.kind == UPLOAD_KIND:
                step = summed_in(entry)
                if step not in found.noised:
                    found.exact[step] = None
        return found

    @property
    def claimed(self) -> dict[str, NoiseRecord]:
        """The noise by step, of sums that were charged; before them what a job says of all its sums."""
        return {**({} if self.begins is None else {SETUP_STEP: self.begins}), **self.noised}


def differences(ours: NoiseRecord, theirs: NoiseRecord) -> Iterator[ClaimDifference]:
    """Every number that two records of one noise do not give alike. A clip that one of them lacks is passed over:
    older ledgers have none, and sensitivity and std, which follow from it, are compared."""
    for name in (one.name for one in fields(NoiseRecord)):
        a, b = getattr(ours, name), getattr(theirs, name)
        near = isinstance(a, float) and isinstance(b, float) and math.isclose(a, b, rel_tol=_NEAR)
        if a == b or near or (name == "clip" and None in (a, b)):
            continue
        yield ClaimDifference(_WORDS.get(name, f"the {name}"), *_shown(a, b))


def compare_claims(reports: Sequence[AuditReport]) -> tuple[str, ...]:
    """Every point on which ledgers of one session do not claim the same of the noise of one sum; empty where they do.

    Each names both parties. Sums are compared by their step: parties may be in unlike rounds. A party that sends a part
    of a sum without noise, for which another one charged noise, differs as well.

    Args:
        reports: of verified ledgers; other sessions are compared by themselves, a ledger alone in its session with
            nothing: `alone_with_claims` names it.

    Returns:
        One line of text for each point.

    Examples:
        >>> compare_claims([audit(file, key) for file, key in two_ledgers])  # without differential privacy
        ()
    """
    found: list[str] = []
    by_session: dict[str, list[AuditReport]] = {}
    for report in reports:
        by_session.setdefault(report.session, []).append(report)
    for together in by_session.values():
        if len(together) > 1 and any(one.privacy is not None and one.privacy.noise for one in together):
            found += _compare([_Sums.of(report) for report in together])
    return tuple(found)


def alone_with_claims(reports: Sequence[AuditReport]) -> tuple[AuditReport, ...]:
    """Ledgers that claim noise and are, of several, the only one of their session: nothing holds their claims."""
    if len(reports) == 1:
        return ()
    sizes = Counter(report.session for report in reports)
    return tuple(one for one in reports if one.privacy is not None and one.privacy.noise and sizes[one.session] == 1)


def _compare(parties: Iterable[_Sums]) -> list[str]:
    found: dict[str, None] = {}
    first: dict[str, tuple[str, NoiseRecord]] = {}
    sums = list(parties)
    for one in sums:
        for step, noise in one.claimed.items():
            other, theirs = first.setdefault(step, (one.party, noise))
            for point in differences(theirs, noise):
                found.setdefault(f"{point.what} is {point.ours} at {other}, {point.theirs} at {one.party}", None)
    of_all = first.get(SETUP_STEP)
    for one in sums:
        unlike = [step for step in one.exact if of_all is not None or step in first]
        if unlike:
            party, noise = of_all or first[unlike[0]]
            claim = "noise in every sum" if noise.every_sum else "noise in that sum"
            text = f"{party} records {claim}, {one.party} sent {len(unlike)} without, the first in {unlike[0]}"
            found.setdefault(text, None)
    return list(found)


def _shown(ours: object, theirs: object) -> tuple[str, str]:
    """Both, with as few digits as tell them apart."""
    if isinstance(ours, float) and isinstance(theirs, float):
        shown = [(f"{ours:.{digits}g}", f"{theirs:.{digits}g}") for digits in (6, 15)]
        return next((pair for pair in shown if pair[0] != pair[1]), shown[-1])
    return str(ours), str(theirs)
