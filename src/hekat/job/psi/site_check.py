"""Whether a site lets a set intersection do what it asks for."""

from __future__ import annotations

from collections.abc import Collection

from hekat.errors import JobError, PolicyError
from hekat.job.psi.job_file import IntersectionJob
from hekat.job.site_file import Site
from hekat.toml_text import toml_key


def check_site_allows_intersection(site: Site, job: IntersectionJob, here: Collection[str] | None = None) -> None:
    """Raise PolicyError or JobError where the job asks this site for what it does not have or does not allow.

    `here` are the parties that this machine plays, None for all.
    """
    settings = job.settings
    if settings.kind == "rsa_blind" and settings.key_bits < site.policy.min_key_bits:
        raise PolicyError(
            "the job's key is smaller than the site allows",
            expected=f"at least {site.policy.min_key_bits} bits",
            got=f"{settings.key_bits} bits",
            cure="raise intersection.key_bits in the job",
        )
    for party in settings.parties if here is None else here:
        if party not in site.parties:
            raise JobError(
                f"the site file knows no party {party!r}",
                expected=f"one of {', '.join(sorted(site.parties))}" if site.parties else "a table for each party",
                got=party,
                cure=f"add [{toml_key('party', party)}] to the site file, or correct the job's guest and hosts",
            )
