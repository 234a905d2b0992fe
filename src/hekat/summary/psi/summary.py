"""What a set intersection found, as the plain tables of summary.json; every figure comes from the run itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hekat.job.party_keys import caveats_on_keys
from hekat.job.psi.job_file import PROTOCOL, IntersectionJob
from hekat.protocol.psi.padding import padded_count
from hekat.protocol.psi.settings import IntersectionSettings
from hekat.summary.party_views import PartyView
from hekat.summary.psi.role_result import IntersectionResult
from hekat.summary.run_facts import facts_of_run

IDLE = "idle"


def summarise(
    job: IntersectionJob,
    run_id: str,
    results: Mapping[str, IntersectionResult],
    *,
    seconds: float,
    views: Sequence[PartyView],
    more_caveats: Sequence[str] = (),
) -> dict[str, Any]:
    """The whole of summary.json, of the parties whose results are known here; `seconds` are of the whole run.

    `common` is how many ids are common, None where no party that is known here learned it.
    """
    common = next((found.common for found in results.values() if found.common is not None), None)
    return {
        **facts_of_run(run_id, job.name, job.digest),
        "protocol": PROTOCOL,
        "settings": _describe(job.settings),
        "parties": [_describe_party(found, job.settings) for found in results.values()],
        "common": common,
        "seconds": {"total": seconds},
        "seconds_by_role": {name: _parts(found, seconds) for name, found in results.items()},
        "bytes": {
            "by_role": {
                name: {"sent": found.sent_bytes, "received": found.received_bytes} for name, found in results.items()
            }
        },
        "seen": list(views),
        "notes": [*more_caveats, *_caveats(job, results, common)],
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


def _describe_party(found: IntersectionResult, settings: IntersectionSettings) -> dict[str, Any]:
    return {
        "name": found.role,
        "role": "guest" if found.role == settings.guest else "host",
        "ids": found.ids,
        "padded": padded_count(found.ids),
        "learned": found.learned,
    }


def _parts(found: IntersectionResult, total: float) -> dict[str, float]:
    """Seconds by part, and how long the party waited."""
    return {**found.seconds_by_step, IDLE: max(0.0, total - sum(found.seconds_by_step.values()))}


def _caveats(job: IntersectionJob, results: Mapping[str, IntersectionResult], common: int | None) -> list[str]:
    settings = job.settings
    caveats = [
        *caveats_on_keys(job.party_keys),
        "parties are trusted to give ids that they hold: who makes ids up learns which of these the others have",
        *dict.fromkeys(found.ids_note for found in results.values()),
    ]
    if common == 0:
        caveats.append("no id is common to all parties: are the id columns of one kind, and written alike?")
    if len(settings.hosts) > 1:
        caveats.append(f"{settings.guest} also learned which of its rows each single host has")
    if settings.allow_single:
        caveats.append("the job lets a party take part with one id, which is to ask about one person")
    return caveats
