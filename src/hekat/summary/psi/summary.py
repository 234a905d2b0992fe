"""What a set intersection found, as the plain tables of summary.json; every figure comes from the run itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from hekat.job.party_keys import caveats_on_keys
from hekat.job.psi.job_file import PROTOCOL
from hekat.launch.psi.federation import IntersectionFederation
from hekat.protocol.psi.padding import padded_count
from hekat.protocol.psi.roles import Intersection
from hekat.protocol.psi.settings import IntersectionSettings
from hekat.summary.party_views import PartyView
from hekat.summary.run_facts import facts_of_run

IDLE = "idle"


def summarise(
    federation: IntersectionFederation,
    run_id: str,
    results: Mapping[str, Intersection],
    views: Sequence[PartyView],
) -> dict[str, Any]:
    """The whole of summary.json.

    It is of a machine that plays all parties: `parties` has every one's number of ids, `common` how many are common.
    """
    job = federation.job
    common = next(found.count for found in results.values() if found.count is not None)
    return {
        **facts_of_run(run_id, job.name, job.digest),
        "protocol": PROTOCOL,
        "settings": _describe(job.settings),
        "parties": [_describe_party(name, federation, results[name]) for name in job.settings.parties],
        "common": common,
        "seconds": {"total": federation.seconds},
        "seconds_by_role": {name: _parts(federation, name) for name in job.settings.parties},
        "bytes": {"by_role": {name: asdict(federation.traffic[name]) for name in job.settings.parties}},
        "seen": list(views),
        "notes": _caveats(federation, common),
    }


def _describe(settings: IntersectionSettings) -> dict[str, Any]:
    found: dict[str, Any] = {
        "guest": settings.guest,
        "hosts": list(settings.hosts),
        "kind": settings.kind,
        "learns": list(settings.learners),
        "cardinality_only": settings.cardinality_only,
    }
    if settings.kind == "rsa_blind":
        found["key_bits"] = settings.key_bits
    return found


def _describe_party(name: str, federation: IntersectionFederation, found: Intersection) -> dict[str, Any]:
    settings = federation.job.settings
    count = len(federation.inputs.ids[name])
    return {
        "name": name,
        "role": "guest" if name == settings.guest else "host",
        "ids": count,
        "padded": padded_count(count),
        "learned": "rows" if found.rows is not None else "count" if found.count is not None else "nothing",
    }


def _parts(federation: IntersectionFederation, name: str) -> dict[str, float]:
    """Seconds by part, and how long the role waited: roles take turns on this machine."""
    seconds = dict(federation.stopwatches[name].seconds)
    return {**seconds, IDLE: max(0.0, federation.seconds - sum(seconds.values()))}


def _caveats(federation: IntersectionFederation, common: int) -> list[str]:
    inputs, settings = federation.inputs, federation.job.settings
    caveats = [
        "all parties ran on this one machine, which therefore knows every party's ids",
        *caveats_on_keys(federation.job.party_keys),
        "parties are trusted to give ids that they hold: who makes ids up learns which of these the others have",
        *dict.fromkeys(ids.describe() for ids in inputs.ids.values()),
    ]
    if not common:
        caveats.append("no id is common to all parties: are the id columns of one kind, and written alike?")
    if len(settings.hosts) > 1:
        caveats.append(f"{settings.guest} also learned which of its rows each single host has")
    if settings.allow_single:
        caveats.append("the job lets a party take part with one id, which is to ask about one person")
    return caveats
