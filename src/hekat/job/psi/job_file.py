"""The job file of a set intersection that stands alone: who compares which ids, and who learns what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hekat.channel import PartyPublicKey
from hekat.errors import JobError
from hekat.job.job_head import read_head_of, read_timeout
from hekat.job.party_keys import SECTION, read_party_keys
from hekat.job.section import Section
from hekat.protocol.psi.settings import DEFAULT_KEY_BITS, KINDS, IntersectionSettings
from hekat.protocol.role_names import check_role_name

PROTOCOL = "psi"


@dataclass(frozen=True)
class IntersectionJob:
    """A checked job. `digest` is over the file's bytes; `data` is what each site calls the table with the ids."""

    name: str
    digest: bytes
    settings: IntersectionSettings
    data: str
    timeout_s: float
    party_keys: Mapping[str, PartyPublicKey] = field(default_factory=dict, repr=False)
    """The key that every role signs with; none where the job leaves that open."""


def load_intersection_job(path: Path) -> IntersectionJob:
    """The job at `path`, checked whole. Raises JobError, InputError or PolicyError with the key and the cure."""
    head = read_head_of(path, PROTOCOL)
    top = head.rest
    guest, hosts = top.take("guest", str), top.take_texts("hosts")
    for name in (guest, *hosts):
        check_role_name(name)
    if len({guest, *hosts}) <= len(hosts):
        raise JobError(
            "guest and hosts refused",
            expected="a different name for each",
            got="one of them twice",
            cure="correct guest and hosts in the job",
        )
    data = top.take("data", str)
    settings = read_intersection(top.take_section("intersection"), guest, hosts)
    timeout_s = read_timeout(top, len(settings.parties))
    party_keys = read_party_keys(top.take_section(SECTION), settings.parties)
    top.finish()
    return IntersectionJob(head.name, head.digest, settings, data, timeout_s, party_keys)


def read_intersection(section: Section, guest: str, hosts: tuple[str, ...]) -> IntersectionSettings:
    """What the section [intersection] says. Raises JobError or InputError."""
    settings = IntersectionSettings(
        guest=guest,
        hosts=hosts,
        kind=section.take("kind", str, KINDS[0]),
        learns=section.take_optional_texts("learns"),
        cardinality_only=section.take("cardinality_only", bool, False),
        key_bits=section.take("key_bits", int, DEFAULT_KEY_BITS),
        allow_single=section.take("allow_single", bool, False),
    )
    section.finish()
    return settings
