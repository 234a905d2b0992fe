"""Checks that jobs of several protocols share: protections, keys, comparisons, and what a role may hold."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from hekat.data.number_text import count_of
from hekat.errors import JobError, PolicyError
from hekat.job.policy.job_limits import check_is_listed, check_model, check_protocol, check_rounds, say_names
from hekat.job.policy.policy_check import APPLIES_NOT, PolicyCheck
from hekat.job.policy.site_lines import SitePolicy
from hekat.job.site_file import Site
from hekat.protocol.secure_sum.settings import PROTECTIONS
from hekat.toml_text import toml_key


def check_opening(policy: SitePolicy, opening: str) -> None:
    """Raise PolicyError for a way to open sums that the site does not allow."""
    if opening in policy.openings:
        return
    raise PolicyError(
        f"the site does not allow opening '{opening}'",
        expected=" or ".join(policy.openings) or "no opening at all: policy.openings is empty",
        got=opening,
        cure=(f"set protection.opening = {policy.openings[0]!r} in the job" if policy.openings else "change the job")
        + ", or let the site's owner add it to policy.openings",
    )


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
            cure=f"raise {key} in the job, or let the site's owner lower policy.min_key_bits",
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


def on_job(site: Site, protocol: str, digest: bytes) -> list[PolicyCheck]:
    """The lines that every job is held against, whatever it does."""
    policy = site.policy
    return [
        PolicyCheck(
            "policy.protocols",
            protocol,
            say_names(policy.protocols, "none"),
            lambda: check_protocol(policy, protocol),
        ),
        PolicyCheck(
            "policy.approved_jobs",
            "this digest",
            "any" if policy.approved_jobs is None else f"{len(policy.approved_jobs)} digests",
            lambda: check_is_listed(policy, digest),
        ),
    ]


def on_model(policy: SitePolicy, model: str) -> PolicyCheck:
    """The line of models that may be trained."""
    return PolicyCheck(
        "policy.models",
        model,
        "any" if policy.models is None else say_names(policy.models, "none"),
        lambda: check_model(policy, model),
    )


def on_rounds(policy: SitePolicy, count: int, key: str, what: str) -> PolicyCheck:
    """The line of rounds; `key` of the job says how many there are, and `what` one of them is called."""
    return PolicyCheck(
        "policy.max_rounds",
        count_of(count, what),
        "no limit" if policy.max_rounds is None else str(policy.max_rounds),
        lambda: check_rounds(policy, count, f"lower {key} in the job", f"{what}s"),
    )


def on_key_sizes(policy: SitePolicy, sizes: Mapping[str, int]) -> PolicyCheck:
    """The line of keys that are made for a job: their bits by the setting that says them."""

    def check() -> None:
        for key, bits in sizes.items():
            check_key_bits(policy, bits, key)

    asked = f"{min(sizes.values())} bits" if sizes else APPLIES_NOT
    return PolicyCheck("policy.min_key_bits", asked, str(policy.min_key_bits), check)


def on_parties(site: Site, parties: Collection[str]) -> PolicyCheck:
    """The line of parties that this machine plays: each has a section in the site file."""
    known = ", ".join(sorted(site.parties)) or "none"
    return PolicyCheck("[party.NAME]", ", ".join(parties) or "none", known, lambda: check_has_tables(site, parties))


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
