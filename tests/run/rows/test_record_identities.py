"""By what a release record tells parties of one job from those of another, and when it may lie with a run."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from hekat.channel import PartyKey
from hekat.job.horizontal.job_file import Job
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.run.rows.upload_states import identities_of, may_lie_with_run

NAMES = ("a", "b", "c")
KEYS = {name: PartyKey.generate().public for name in (*NAMES, "hub")}
SETTINGS = HorizontalSettings(parties=NAMES, aggregator="hub", classes=("no", "yes"), weight_max=64)
JOB = Job("test", bytes(32), SETTINGS, "rows", None, False, False, False, timeout_s=30.0)


def test_a_name_that_is_played_with_another_key_is_another_party() -> None:
    with_keys = replace(JOB, party_keys=KEYS)
    other = replace(JOB, party_keys={**KEYS, "b": PartyKey.generate().public})
    assert identities_of(JOB) == {name: name for name in NAMES}
    assert identities_of(with_keys) == {name: KEYS[name].text for name in NAMES}
    assert set(identities_of(with_keys).values()) - set(identities_of(other).values()) == {KEYS["b"].text}


def test_a_key_that_goes_by_another_name_is_the_same_party() -> None:
    renamed = replace(SETTINGS, parties=("x", "b", "c"))
    keys = {"x": KEYS["a"], "b": KEYS["b"], "c": KEYS["c"], "hub": KEYS["hub"]}
    identities = identities_of(replace(JOB, settings=renamed, party_keys=keys))
    assert set(identities.values()) == set(identities_of(replace(JOB, party_keys=KEYS)).values())


def test_records_of_a_job_with_keys_never_lie_with_the_run() -> None:
    tables = dict.fromkeys(NAMES)
    assert may_lie_with_run(SimpleNamespace(job=JOB, tables=tables, launched_together=False))
    assert not may_lie_with_run(
        SimpleNamespace(job=replace(JOB, party_keys=KEYS), tables=tables, launched_together=False)
    )
    del tables["b"]
    assert not may_lie_with_run(SimpleNamespace(job=JOB, tables=tables, launched_together=False))
