"""Whether a site lets a job do what it asks for; refusals name what the job wants and the line of the site file."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from hekat.errors import JobError, PolicyError
from hekat.job.horizontal.committee_policy import check_committee
from hekat.job.horizontal.job_file import Job
from hekat.job.site_file import Site, SitePolicy
from hekat.protocol.secure_sum.settings import PROTECTIONS
from hekat.toml_text import toml_key


def check_site_allows(site: Site, job: Job, here: Collection[str] | None = None) -> None:
    """Raise PolicyError or JobError where a horizontal job asks this site for what it does not have or allow.

    `here` are the roles that this machine plays, None for all.
    """
    settings, policy = job.settings, site.policy
    check_protections(policy, settings.protection, compares_plain=job.compare_plain)
    if settings.protection == "lattice" and settings.opening not in policy.openings:
        raise PolicyError(
            f"the site does not allow opening '{settings.opening}'",
            expected=" or ".join(policy.openings) or "no opening at all: policy.openings is empty",
            got=settings.opening,
            cure=(
                f"set protection.opening = {policy.openings[0]!r} in the job" if policy.openings else "change the job"
            )
            + ", or let the site's owner add it to policy.openings",
        )
    if settings.protection == "paillier":
        check_key_bits(policy, settings.key_bits)
    if job.check_exactness:
        check_exactness_check(policy)
    check_committee(policy, job)
    check_has_tables(site, [party for party in settings.parties if here is None or party in here])
    check_holds_nothing(site, settings.aggregator, "aggregator")
    if settings.authority is not None:
        check_holds_nothing(site, settings.authority, "key authority")


def check_protections(
    policy: SitePolicy, protection: str, *, compares_plain: bool = False, known: Collection[str] = PROTECTIONS
) -> None:
    """Raise PolicyError for a protection, or a plain comparison, that the site does not allow.

    `known` are those that the job's protocol has: the cure names none else.
    """
    allowed = [name for name in policy.protections if name in known]
    wanted = {protection, *(("none",) if compares_plain else ())}
    for one in sorted(wanted - set(policy.protections)):
        raise PolicyError(
            f"the site does not allow protection '{one}'",
            expected=" or ".join(allowed) or "no job of this kind: see policy.protections",
            got=one,
            cure=(
                "set compare.plain = false in the job"
                if one != protection
                else f"set protection.kind = {allowed[0]!r} in the job"
                if allowed
                else "change the job"
            )
            + ", or let the site's owner add it to policy.protections",
        )


def check_key_bits(policy: SitePolicy, key_bits: int, key: str = "protection.key_bits") -> None:
    """Raise PolicyError for a key that is smaller than the site allows."""
    if key_bits < policy.min_key_bits:
        raise PolicyError(
            "the job's key is smaller than the site allows",
            expected=f"at least {policy.min_key_bits} bits",
            got=f"{key_bits} bits",
            cure=f"raise {key} in the job",
        )


def check_exactness_check(policy: SitePolicy) -> None:
    """Raise PolicyError where values of all parties may not be compared in one process."""
    if not policy.exactness_check:
        raise PolicyError(
            "the site does not allow the exactness check",
            expected="policy.exactness_check = true (all parties' updates are compared in one process)",
            got="false",
            cure="set checks.exactness = false in the job",
        )


def check_has_tables(site: Site, parties: Iterable[str]) -> None:
    """Raise JobError for a party that the site file does not name."""
    for party in parties:
        if party not in site.parties:
            raise JobError(
                f"the site file knows no party {party!r}",
                expected=f"one of {', '.join(sorted(site.parties))}" if site.parties else "a table for each party",
                got=party,
                cure=f"add [{toml_key('party', party)}] to the site file, or correct the job's parties",
            )


def check_holds_nothing(site: Site, name: str, role: str) -> None:
    """Raise PolicyError where a role that only adds or opens has a Paillier key or rows of its own."""
    held = site.parties.get(name)
    if held is None:
        return
    if held.paillier_key is not None:
        raise PolicyError(
            f"the {role} is given a private key",
            expected="an aggregator that can add ciphertexts and open none"
            if role == "aggregator"
            else "an authority without keys: it receives the numbers that it opens",
            got=f"paillier_key under [{toml_key('party', name)}]",
            cure=f"remove the key from the {role}'s site",
        )
    check_holds_no_rows(site, name, role)


def check_holds_no_rows(site: Site, name: str, role: str) -> None:
    """Raise PolicyError where a role that holds no rows by the protocol has a table."""
    held = site.parties.get(name)
    if held is not None and held.data:
        raise PolicyError(
            f"the {role} is given data",
            expected=f"a {role} without rows of its own" if role != "aggregator" else "an aggregator without rows",
            got=f"data under [{toml_key('party', name)}]",
            cure="move the data to a party",
        )
