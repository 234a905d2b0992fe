"""Ledgers of one session claim one noise of one sum: what two of them say unlike is told with both names."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace

import pytest

from hekat.channel import PartyKey
from hekat.cli.audit_claims import say_differences
from hekat.ledger import Ledger, audit_bytes
from hekat.ledger.audit import AuditReport
from hekat.ledger.claims import alone_with_claims, compare_claims, differences
from hekat.ledger.privacy.reckon import UPLOAD_KIND
from hekat.ledger.privacy.records import SETUP_STEP, ChargeRecord, NoiseRecord
from hekat.privacy.accounting import epsilon_of, fit_to_lane
from hekat.protocol.horizontal.privacy_settings import PrivacySettings
from hekat.wire import Disclosure

pytest.importorskip("dp_accounting", reason="needs hekat[privacy]")

KEY = PartyKey.generate()
PRIVACY = PrivacySettings("row", 1.0, 1e-5, noise=4.0, divisor=100)
ONE = fit_to_lane(clip=1.0, alpha=1.0, value_count=25, noise=4.0, honest=2, party_count=4, lane_bits=16)
OF_JOB = NoiseRecord.of(ONE, PRIVACY, least=3, every_sum=True)
OF_CALL = replace(OF_JOB, every_sum=False)
HALF = {"noise": OF_JOB.noise / 2, "noise_at_one": OF_JOB.noise_at_one / 2, "std": OF_JOB.std / 2}
"""Of a party that adds half of the noise and says so: its own ledger holds together."""

Write = Callable[[Ledger], None]


def audited(party: str, write: Write, session: bytes = bytes(32)) -> AuditReport:
    with Ledger(None, party, KEY, session) as ledger:
        write(ledger)
    return audit_bytes(ledger.data, KEY.public)


def charged(noise: NoiseRecord, *steps: str, from_: int = 0) -> Write:
    def write(ledger: Ledger) -> None:
        noise.write(ledger)
        for number, step in enumerate(steps, from_ + 1):
            claims = (epsilon_of({one: number}, noise.delta) for one in (noise.release, noise.release_at_one))
            ChargeRecord(number, *claims, None, None).write(ledger, step)
            uploaded(step)(ledger)

    return write


def uploaded(*steps: str) -> Write:
    def write(ledger: Ledger) -> None:
        for step in steps:
            ledger.record("sent", "hub", f"{step}/upload-7/upload", UPLOAD_KIND, (), b"block")

    return write


def test_ledgers_that_claim_alike_do_not_differ() -> None:
    """In unlike rounds as well, and beside a role that sends no part of a sum."""
    reports = [
        audited("north", charged(OF_JOB, "round-1", "round-2")),
        audited("south", charged(OF_JOB, "round-2", from_=1)),
        audited("hub", lambda ledger: ledger.record("sent", "north", "round-1", "horizontal/sum", (), b"sum")),
    ]
    assert compare_claims(reports) == ()


CHANGES = {
    "half of the noise": (HALF, "the std of a party's noise, in levels, is"),
    "another delta": ({"delta": 1e-4}, "the delta is 1e-05 at north, 0.0001 at south"),
    "another unit": ({"unit": "party"}, "the unit is row at north, party at south"),
    "other neighbours": ({"neighbours": "replace-one"}, "zero-out at north, replace-one at south"),
    "batches by coins": ({"sampling": 0.5}, "a row to be in a sum is 1 at north, 0.5 at south"),
    "more colluders": (
        {"colluders": 2, "noise": OF_JOB.noise_at_one / 2**0.5},
        "the number of colluders t_c is 1 at north, 2 at south",
    ),
    "more parties in the smallest sum": (
        {"least_parties": 4},
        "the smallest number of parties in a sum is 3 at north, 4 at south",
    ),
    "another clip": ({"clip": 2.0}, "the clip is 1 at north, 2 at south"),
    "fewer levels": ({"levels": 100}, "the clip in levels is"),
    "no levels": ({"levels": None}, "the clip in levels is"),
    "fewer values": ({"value_count": 24}, "the number of values in a sum is 25 at north, 24 at south"),
    "more noise than others": ({"std": 2 * OF_JOB.std}, "the std of a party's noise"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_claim_unlike_the_other_party_s_is_told_with_both_names(name: str) -> None:
    changes, told = CHANGES[name]
    changed = replace(OF_JOB, **changes)
    found = compare_claims([audited("north", charged(OF_JOB)), audited("south", charged(changed))])
    assert any(told in text for text in found), found
    assert all("at north" in text and "at south" in text for text in found)
    # As many points as numbers differ, each once for all sums.
    assert len(found) == len(changes)


def test_a_party_that_adds_no_noise_differs_from_one_that_does() -> None:
    reports = [audited("north", charged(OF_JOB, "round-1")), audited("south", uploaded("standardise", "round-1"))]
    (text,) = compare_claims(reports)
    assert text == "north records noise in every sum, south sent 2 without, the first in standardise"


def test_calls_of_a_loop_are_compared_each_by_itself() -> None:
    """Exact calls beside noised ones are nobody's disagreement, as long as no sum is both."""
    weaker = replace(OF_CALL, **HALF)

    def calls(second: NoiseRecord, exact: str) -> Write:
        def write(ledger: Ledger) -> None:
            charged(OF_CALL, "sum-1")(ledger)
            second.write(ledger)
            claims = (
                epsilon_of({a: 1, b: 1}, OF_CALL.delta)
                for a, b in ((OF_CALL.release, second.release), (OF_CALL.release_at_one, second.release_at_one))
            )
            ChargeRecord(2, *claims, None, None).write(ledger, "sum-2")
            uploaded("sum-2", exact)(ledger)

        return write

    north = audited("north", calls(weaker, "round-3"))
    assert compare_claims([north, audited("south", calls(weaker, "round-3"))]) == ()
    found = compare_claims([north, audited("south", calls(replace(weaker, std=2 * weaker.std), "round-3"))])
    assert len(found) == 1
    assert "the std" in found[0]
    (text,) = compare_claims([north, audited("south", uploaded("sum-1", "round-3"))])
    assert text == "north records noise in that sum, south sent 1 without, the first in sum-1"


def test_ledgers_of_other_sessions_are_compared_among_themselves() -> None:
    changed = replace(OF_JOB, delta=1e-4)
    first = [audited(name, charged(OF_JOB)) for name in ("north", "south")]
    second = [audited(name, charged(changed), b"\1" * 32) for name in ("north", "south")]
    assert compare_claims([*first, *second]) == ()
    assert alone_with_claims([*first, *second]) == ()


def test_a_claim_in_a_session_of_its_own_is_not_said_to_agree() -> None:
    """Half of the noise under another session's name meets no other ledger, which has to be said."""
    north, south = audited("north", charged(OF_JOB)), audited("south", charged(replace(OF_JOB, **HALF)), b"\1" * 32)
    assert alone_with_claims([north, south]) == (north, south)
    told = say_differences([north, south], None, compare_claims([north, south]))
    assert "0 differences" not in told
    assert told.count("NOT COMPARED") == 2
    third = audited("east", charged(OF_JOB))
    assert alone_with_claims([north, south, third]) == (south,)
    told = say_differences([north, south, third], None, ())
    assert told.startswith(
        "Claims of differential privacy of north, east: 0 differences\nNOT COMPARED: the claims of south"
    )


def test_ledgers_from_before_the_clip_was_recorded_are_read_and_compared() -> None:
    content = {key: value for key, value in asdict(OF_JOB).items() if key != "clip"}

    def write(ledger: Ledger) -> None:
        ledger.note(SETUP_STEP, NoiseRecord.NAME, Disclosure("public", json.dumps(content)))

    old = audited("south", write)
    assert old.privacy is not None
    assert old.privacy.noise == (replace(OF_JOB, clip=None),)
    assert compare_claims([audited("north", charged(OF_JOB)), old]) == ()


def test_last_digits_that_machines_round_unlike_are_no_difference() -> None:
    assert not list(differences(OF_JOB, replace(OF_JOB, std=OF_JOB.std * (1 + 1e-12))))
    assert list(differences(OF_JOB, replace(OF_JOB, std=OF_JOB.std * (1 + 1e-6))))
