"""What a dry run says of the protection that a job of trees does not name."""

from __future__ import annotations

import pytest

from hekat.cost.rehearsed_steps import Cost
from hekat.cost.trees_protections import OtherProtection, cost_under_other
from hekat.cost.vertical_trees import cost_of_trees_job

LATTICE = Cost(10e6, 1.0)


@pytest.mark.parametrize(
    ("other", "even", "words"),
    [
        (Cost(2e6, 5.0), 16e6, "'paillier' ends sooner on lines of less than 16 Mbit/s, 'lattice' on others."),
        (Cost(12e6, 0.5), 32e6, "'lattice' ends sooner on lines of less than 32 Mbit/s, 'paillier' on others."),
        (Cost(12e6, 5.0), None, "'lattice' ends sooner on every line."),
        (Cost(2e6, 0.5), None, "'paillier' ends sooner on every line."),
        (Cost(10e6, 5.0), None, "'lattice' ends sooner on every line."),
    ],
)
def test_both_end_at_once_on_the_line_that_is_told(other: Cost, even: float | None, words: str) -> None:
    found = OtherProtection("lattice", LATTICE, "paillier", other)
    assert found.even_bits_per_s == even
    assert found.say().endswith(words)
    if even is not None:
        ends = [one.seconds + 8 * one.sent_bytes / even for one in (LATTICE, other)]
        assert ends[0] == pytest.approx(ends[1])


@pytest.mark.long_cases("lattice-paillier")
@pytest.mark.parametrize(("kind", "other"), [("lattice", "paillier"), ("paillier", "lattice")])
def test_the_other_protection_costs_what_a_job_that_names_it_costs(clinics, kind: str, other: str) -> None:
    keys = {"lattice": "", "paillier": "key_bits = 3072\n"}
    training = "[training]\nmax_iter = 2\nmax_depth = 2\nmax_bins = 4\n"
    sections = {name: f"[protection]\nkind = '{name}'\n{keys[name]}" for name in keys}
    clinics.write_job(sections[other], training=training)
    named = cost_of_trees_job(clinics.load_inputs()).total
    clinics.write_job(sections[kind], training=training)
    found = cost_under_other(clinics.load_inputs(), LATTICE)
    assert isinstance(found, OtherProtection)
    assert (found.own_kind, found.kind, found.own) == (kind, other, LATTICE)
    # Proofs of a key differ by some bytes.
    assert found.other.sent_bytes == pytest.approx(named.sent_bytes, rel=1e-3)
    assert found.to_json()["total"]["sent_bytes"] == found.other.sent_bytes


def test_what_is_not_rehearsed_is_told(clinics, monkeypatch) -> None:
    clinics.write_job()
    assert cost_under_other(clinics.load_inputs(), LATTICE) == "a run in the clear has none beside it"
    clinics.write_site("[policy]\nprotections = ['lattice']\nbin_leak_waiver = true\n")
    clinics.write_job("[protection]\nkind = 'lattice'\n")
    assert cost_under_other(clinics.load_inputs(), LATTICE) == "the site does not allow protection 'paillier'"
    clinics.write_site()
    monkeypatch.setattr("hekat.cost.trees_protections.MOST_COLUMNS", 5)
    assert "6 columns of hosts take long" in str(cost_under_other(clinics.load_inputs(), LATTICE))
    training = "[training]\nmax_iter = 1\nmax_depth = 2\ngradient_bits = 32\n"
    clinics.write_job("[protection]\nkind = 'paillier'\nkey_bits = 2048\n", training=training)
    assert cost_under_other(clinics.load_inputs(), LATTICE) == "'lattice' has no room for the job's sums"
