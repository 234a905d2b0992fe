"""Epsilon is reckoned anew from a ledger's records: a claim that does not follow from them is refused by its line."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from hekat.channel import PartyKey
from hekat.errors import LedgerError
from hekat.ledger import Ledger, audit_bytes
from hekat.ledger.audit import AuditReport
from hekat.ledger.privacy.reckon import UPLOAD_KIND
from hekat.ledger.privacy.records import SETUP_STEP, WAIVED, ChargeRecord, LabelsRecord, NoiseRecord
from hekat.privacy.accounting import epsilon_of, fit_to_lane
from hekat.privacy.accounting.leaf_sums import sensitivity_of_leaves
from hekat.protocol.horizontal.privacy_settings import PrivacySettings
from hekat.protocol.secure_sum.masked.messages import UploadMessage
from hekat.protocol.vertical.label_privacy import RandomisedResponse
from hekat.wire import Disclosure, kind_name

pytest.importorskip("dp_accounting", reason="needs hekat[privacy]")

KEY = PartyKey.generate()
DELTA = 1e-5
ONE = fit_to_lane(clip=1.0, alpha=1.0, value_count=25, noise=4.0, honest=2, party_count=4, lane_bits=16)
NOISE = NoiseRecord.of(ONE, PrivacySettings("row", 1.0, DELTA, noise=4.0, divisor=100), least=3, every_sum=True)

LEAVES = replace(NOISE, levels=None, clip=None, value_count=2 * 16, sensitivity=sensitivity_of_leaves(1), std=1000.0)


def charged(count: int, noise: NoiseRecord = NOISE) -> ChargeRecord:
    claimed, at_one = (epsilon_of({one: count}, DELTA) for one in (noise.release, noise.release_at_one))
    return ChargeRecord(count, claimed, at_one, claimed, 20.0)


@dataclass
class Written:
    """A ledger as one is written."""

    ledger: Ledger

    def upload(self, step: str) -> None:
        self.ledger.record("sent", "hub", f"{step}/upload-7/upload", UPLOAD_KIND, (), b"block")


def audited(write: Callable[[Written], None]) -> AuditReport:
    with Ledger(None, "north", KEY, bytes(32)) as ledger:
        write(Written(ledger))
    return audit_bytes(ledger.data, KEY.public)


def two_rounds(out: Written) -> None:
    NOISE.write(out.ledger)
    for number in (1, 2):
        charged(number).write(out.ledger, f"round-{number}")
        out.upload(f"round-{number}")


def test_a_whole_claim_is_told_by_round() -> None:
    report = audited(two_rounds)
    found = report.privacy
    assert found is not None
    assert (found.sent_count, found.exact_count, found.spent, found.limit) == (2, 0, charged(2).epsilon, 20.0)
    assert [one.step for one in found.charged] == ["round-1", "round-2"]
    assert found.charged[1].epsilon == charged(2).epsilon
    assert found.charged[0].rho == pytest.approx(1 / 32, rel=1e-3)
    text = report.to_text()
    for told in ("protects one row (zero-out) at delta 1e-05", "noise z = 4 against 1 of the fewest 3", "2 charged"):
        assert told in text
    assert "20 spent by all jobs" in text
    # The records' numbers are told as such, not once more as notes.
    assert not report.notes
    assert '"every_sum"' not in text


def test_the_kind_of_message_is_the_upload_of_masked_sums() -> None:
    assert kind_name(UploadMessage) == UPLOAD_KIND


FAULTS: dict[str, tuple[Callable[[Written], None], str]] = {}


def fault(name: str, expected: str) -> Callable[[Callable[[Written], None]], Callable[[Written], None]]:
    def add(write: Callable[[Written], None]) -> Callable[[Written], None]:
        FAULTS[name] = (write, expected)
        return write

    return add


@fault("a smaller epsilon than the releases cost", "epsilon of")
def _(out: Written) -> None:
    NOISE.write(out.ledger)
    replace(charged(2), epsilon=charged(1).epsilon).write(out.ledger, "round-2")


@fault("a smaller epsilon at one than the releases cost", "epsilon_at_one of")
def _(out: Written) -> None:
    NOISE.write(out.ledger)
    replace(charged(2), epsilon_at_one=charged(1).epsilon_at_one).write(out.ledger, "round-2")


@fault("a round that was counted before", "more than 1 releases")
def _(out: Written) -> None:
    NOISE.write(out.ledger)
    charged(1).write(out.ledger, "round-1")
    charged(1).write(out.ledger, "round-2")


@fault("noise of half the size", "noise of 2")
def _(out: Written) -> None:
    replace(NOISE, std=NOISE.std / 2).write(out.ledger)


@fault("noise that counts one honest party more than are sure", "noise of")
def _(out: Written) -> None:
    replace(NOISE, noise=NOISE.noise * math.sqrt(1.5)).write(out.ledger)


@fault("more noise against one party than others have", "noise of")
def _(out: Written) -> None:
    replace(NOISE, noise_at_one=2 * NOISE.noise).write(out.ledger)


@fault("a sensitivity below the clip's", "a sensitivity of")
def _(out: Written) -> None:
    small = NOISE.sensitivity / 2
    replace(NOISE, sensitivity=small, std=NOISE.std / 2).write(out.ledger)


@fault("noise that is too small for a Gaussian", "a std of 4")
def _(out: Written) -> None:
    replace(NOISE, std=3.0).write(out.ledger)


@fault("sums of leaves that a row is said to move less than its derivatives do", "256.707 or more, from the sums of a")
def _(out: Written) -> None:
    replace(LEAVES, sensitivity=LEAVES.sensitivity / 1.001).write(out.ledger)


@fault("leaves of three trees, which a row moves further than one", "the sums of a row's leaves")
def _(out: Written) -> None:
    replace(LEAVES, value_count=2 * 3 * 16).write(out.ledger)


@fault("another delta in the middle", "one unit, neighbours and delta")
def _(out: Written) -> None:
    NOISE.write(out.ledger)
    replace(NOISE, delta=1e-3).write(out.ledger)


@fault("a charge of unknown noise", "a record of noise")
def _(out: Written) -> None:
    charged(1).write(out.ledger, "round-1")


@fault("a sum that nothing was charged for", "noise in every sum")
def _(out: Written) -> None:
    two_rounds(out)
    out.upload("round-3")


@fault("a sum that is charged after it left", "a charge before anything of the sum leaves")
def _(out: Written) -> None:
    NOISE.write(out.ledger)
    out.upload("round-1")
    charged(1).write(out.ledger, "round-1")


@fault("an exact sum before the noise", "noise in every sum")
def _(out: Written) -> None:
    out.upload("standardise")
    two_rounds(out)


@fault("labels that stay more often", "labels that stay")
def _(out: Written) -> None:
    LabelsRecord(1.0, 2, 0.9).write(out.ledger)


@fault("numbers of other kinds", "a record of differential privacy")
def _(out: Written) -> None:
    out.ledger.note(SETUP_STEP, NoiseRecord.NAME, Disclosure("public", '{"unit":"row"}'))


@fault("no number at all", "another kind")
def _(out: Written) -> None:
    text = '{"epsilon":NaN,"epsilon_at_one":1.0,"limit":null,"releases":1,"spent":null}'
    out.ledger.note("round-1", ChargeRecord.NAME, Disclosure("public", text))


@fault("numbers that no release can have", "colluders, least_parties")
def _(out: Written) -> None:
    replace(NOISE, colluders=3).write(out.ledger)


@pytest.mark.parametrize("field", ["noise", "noise_at_one", "std", "sensitivity", "delta", "sampling"])
@pytest.mark.parametrize("value", [1e-299, 1e299])
def test_numbers_whose_squares_are_none_are_refused_by_their_line(field: str, value: float) -> None:
    def write(out: Written) -> None:
        replace(NOISE, **{field: value}).write(out.ledger)
        charged(1).write(out.ledger, "round-1")

    with pytest.raises(LedgerError, match="does not hold at line 2"):
        audited(write)


@pytest.mark.parametrize("name", FAULTS)
def test_a_claim_that_does_not_follow_is_refused(name: str) -> None:
    write, expected = FAULTS[name]
    with pytest.raises(LedgerError) as caught:
        audited(write)
    assert expected in str(caught.value)
    assert " at line " in str(caught.value)


def test_releases_of_earlier_runs_are_counted_at_the_same_noise() -> None:
    def resumed(out: Written) -> None:
        NOISE.write(out.ledger)
        charged(8).write(out.ledger, "round-8")
        out.upload("round-8")

    report = audited(resumed)
    assert report.privacy is not None
    assert report.privacy.charged[0].epsilon == charged(8).epsilon
    assert "releases in all: 8, 7 of them in other runs" in report.to_text()


def test_losses_of_unlike_noise_add_up() -> None:
    """A loop of one's own may take other noise in each call: a claim of the last call alone is too small."""
    loop, weaker = (
        replace(NOISE, every_sum=False, noise=NOISE.noise / by, noise_at_one=NOISE.noise_at_one / by) for by in (1, 2)
    )
    both = {loop.release: 1, weaker.release: 1}
    both_at_one = {loop.release_at_one: 1, weaker.release_at_one: 1}

    def calls(out: Written, second: ChargeRecord) -> None:
        loop.write(out.ledger)
        charged(1, loop).write(out.ledger, "round-1/sum")
        out.upload("round-1/sum")
        out.upload("round-2")
        weaker.write(out.ledger)
        second.write(out.ledger, "round-3/sum")

    right = ChargeRecord(2, epsilon_of(both, DELTA), epsilon_of(both_at_one, DELTA), None, None)
    report = audited(lambda out: calls(out, right))
    assert report.privacy is not None
    assert (report.privacy.sent_count, report.privacy.exact_count) == (1, 1)
    assert "SUMS WITHOUT NOISE beside them: 1" in report.to_text()
    with pytest.raises(LedgerError, match="does not follow"):
        audited(lambda out: calls(out, replace(right, epsilon=epsilon_of({weaker.release: 1}, DELTA))))


def test_labels_and_a_waived_budget_are_told() -> None:
    def write(out: Written) -> None:
        response = RandomisedResponse(1.0, 3)
        LabelsRecord(1.0, 3, response.keep_odds).write(out.ledger)
        out.ledger.note(SETUP_STEP, WAIVED, Disclosure("disclosed", "exact sums opened"))

    report = audited(write)
    text = report.to_text()
    assert "BUDGET WAIVED: exact sums opened" in text
    assert "labels of 3 classes replaced once for all runs: epsilon 1 of each label, 57.61% stay" in text
    assert report.privacy is not None
    assert report.privacy.waived == ("exact sums opened",)


def test_a_ledger_without_noise_says_nothing_of_it() -> None:
    report = audited(lambda out: out.upload("round-1"))
    assert report.privacy is None
    assert "Differential privacy" not in report.to_text()
