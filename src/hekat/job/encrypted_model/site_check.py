"""Whether a site lets a training on an encrypted model do what it asks for, line by line of its policy."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from hekat.channel import PartyKey, PartyPublicKey
from hekat.errors import PolicyError
from hekat.job.encrypted_model.job_file import PROTOCOL, EncryptedModelJob
from hekat.job.encrypted_model.key_makers import key_makers
from hekat.job.policy.column_checks import checks_of_columns
from hekat.job.policy.job_limits import say_names
from hekat.job.policy.policy_check import APPLIES_NOT, PolicyCheck, refusals_of, refuse_first
from hekat.job.policy.shared_checks import (
    check_holds_no_rows,
    check_holds_nothing,
    check_protections,
    on_job,
    on_key_sizes,
    on_model,
    on_parties,
    on_rounds,
)
from hekat.job.policy.site_lines import SitePolicy, is_key_line
from hekat.job.site_file import Site
from hekat.protocol.encrypted_model.settings import PROTECTIONS

OWNERS_LINE: Final = "policy.model_owners"


def check_site_allows_encrypted_model(site: Site, job: EncryptedModelJob, here: Collection[str] | None = None) -> None:
    """Raise PolicyError or JobError where the job asks this site for what it does not have or does not allow.

    `here` are the roles that this machine plays, None for all.
    """
    refuse_first(refusals_of(encrypted_model_checks(site, job, here)))


def encrypted_model_checks(
    site: Site, job: EncryptedModelJob, here: Collection[str] | None = None
) -> list[PolicyCheck]:
    """Every line that the job is held against; `here` as in `check_site_allows_encrypted_model`."""
    settings, policy = job.settings, site.policy
    own = settings.everyone if here is None else tuple(here)
    sizes = {"protection.key_bits": settings.key_bits} if key_makers(job) else {}
    return [
        *on_job(site, PROTOCOL, job.digest),
        on_model(policy, settings.task),
        on_rounds(policy, settings.training.rounds, "training.rounds", "round"),
        PolicyCheck(
            "policy.protections",
            settings.protection,
            say_names(policy.protections, "none at all"),
            lambda: check_protections(policy, settings.protection, known=PROTECTIONS),
        ),
        on_key_sizes(policy, sizes),
        _on_owner(site, job, own),
        _on_reported_models(policy, job),
        *_on_hosts(policy, job),
        *_on_roles_without_rows(site, job),
        *_on_tables(site, job, own),
    ]


def _on_owner(site: Site, job: EncryptedModelJob, own: Collection[str]) -> PolicyCheck:
    """The line of owners: who may be given a model of the rows here that this site is not given."""
    owner, policy = job.settings.owner, site.policy
    known = policy.model_owners
    leaves = not set(own).isdisjoint(job.settings.hosts) and owner not in own and not _plays(site, job, owner)
    return PolicyCheck(
        OWNERS_LINE,
        f"the model goes to {owner} alone" if leaves else APPLIES_NOT,
        f"{len(known)} listed" if known else "nobody but the roles here",
        lambda: _check_owner(policy, job) if leaves else None,
    )


def _plays(site: Site, job: EncryptedModelJob, name: str) -> bool:
    """Whether the role is this site's own: by its key where the job gives names keys, for a name says nothing then."""
    held = site.parties.get(name)
    if held is None or not job.party_keys:
        return held is not None
    return held.party_key is not None and PartyKey.load(held.party_key).public == job.party_keys[name]


def _check_owner(policy: SitePolicy, job: EncryptedModelJob) -> None:
    """Raise PolicyError for an owner that the site does not list: by its key where the job gives names keys."""
    owner, keys = job.settings.owner, job.party_keys
    if keys:
        lines = [line for line in policy.model_owners if is_key_line(line)]
        is_known = keys[owner] in [PartyPublicKey.from_line(line) for line in lines]
    else:
        is_known = owner in policy.model_owners
    if is_known:
        return
    raise PolicyError(
        "the site does not allow the model to go to this owner",
        expected=f"an owner that {OWNERS_LINE} lists: it alone is given the model of the rows here",
        got=f"{owner} (key {keys[owner].fingerprint})" if keys else owner,
        cure=f"name another owner in the job, or let the site's owner add "
        f"{'its public key' if keys else 'its name'} to {OWNERS_LINE}",
    )


def _on_reported_models(policy: SitePolicy, job: EncryptedModelJob) -> PolicyCheck:
    count = job.settings.training.reported_count

    def check() -> None:
        if count > policy.max_reported_models:
            raise PolicyError(
                "the site does not allow the owner to be given so many models of one training",
                expected=f"at most policy.max_reported_models = {policy.max_reported_models}, the last one included",
                got=str(count),
                cure="raise training.report_every, set it to 0 for the last model alone, or let the site's owner raise "
                "policy.max_reported_models",
            )

    return PolicyCheck(
        "policy.max_reported_models", f"{count} of {job.settings.owner}", str(policy.max_reported_models), check
    )


def _on_hosts(policy: SitePolicy, job: EncryptedModelJob) -> list[PolicyCheck]:
    count = len(job.settings.hosts)

    def check() -> None:
        if count < policy.min_parties:
            raise PolicyError(
                "the model and the sums of this job are of fewer hosts than the site allows",
                expected=f"at least policy.min_parties = {policy.min_parties} hosts",
                got=str(count),
                cure="name more hosts in the job, or let the site's owner lower policy.min_parties",
            )

    return [PolicyCheck("policy.min_parties", f"{count} hosts", str(policy.min_parties), check)]


def _on_roles_without_rows(site: Site, job: EncryptedModelJob) -> list[PolicyCheck]:
    settings = job.settings
    return [
        PolicyCheck(
            "[party] of the aggregator",
            f"{settings.aggregator} as aggregator",
            "no rows and no Paillier key",
            lambda: check_holds_nothing(site, settings.aggregator, "aggregator"),
        ),
        PolicyCheck(
            "[party] of the arbiter",
            f"{settings.arbiter} as arbiter",
            "no rows",
            lambda: check_holds_no_rows(site, settings.arbiter, "arbiter"),
        ),
    ]


def _on_tables(site: Site, job: EncryptedModelJob, own: Collection[str]) -> list[PolicyCheck]:
    """The lines of the hosts here and of their columns, and of the owner's where it measures."""
    settings = job.settings
    hosts = [host for host in settings.hosts if host in own]
    owners = [settings.owner] if job.test_data is not None and settings.owner in own else []
    checks = [on_parties(site, tuple(dict.fromkeys([*hosts, *owners]))), *checks_of_columns(site, hosts, job.data)]
    return checks + (checks_of_columns(site, owners, job.test_data) if job.test_data is not None else [])
