"""Whether a site lets a horizontal job do what it asks for, line by line of its policy."""

from __future__ import annotations

from collections.abc import Collection

from hekat.data.columns.specs import LEAST_ROWS_OF_FOUND
from hekat.job.horizontal.committee_policy import checks_of_committee
from hekat.job.horizontal.job_file import PROTOCOL, Job
from hekat.job.policy.column_checks import checks_of_columns
from hekat.job.policy.job_limits import (
    check_category_rows,
    check_model,
    check_rounds,
    check_validation_bins,
    check_value_bits,
    say_names,
)
from hekat.job.policy.policy_check import APPLIES_NOT, PolicyCheck, refusals_of, refuse_first
from hekat.job.policy.shared_checks import (
    check_exactness_check,
    check_holds_nothing,
    check_opening,
    check_protections,
    on_job,
    on_key_sizes,
    on_parties,
)
from hekat.job.site_file import Site

_CURE_OF_ROUNDS = (
    "lower training.rounds in the job, or train less often (validation.folds, compare.bits, compare.plain)"
)


def check_site_allows(site: Site, job: Job, here: Collection[str] | None = None) -> None:
    """Raise PolicyError or JobError where a horizontal job asks this site for what it does not have or allow.

    `here` are the roles that this machine plays, None for all.
    """
    refuse_first(refusals_of(horizontal_checks(site, job, here)))


def horizontal_checks(site: Site, job: Job, here: Collection[str] | None = None) -> list[PolicyCheck]:
    """Every line that the job is held against; `here` as in `check_site_allows`."""
    return [*_on_protocol(site, job), *_on_sums(site, job), *_on_holdings(site, job), *_on_tables(site, job, here)]


def _on_protocol(site: Site, job: Job) -> list[PolicyCheck]:
    settings, policy = job.settings, site.policy
    model, bits = settings.model.name, (settings.codec.value_bits, *job.compare_bits)
    counts = settings.validation.is_on and settings.validation.counts_scores and settings.classes is not None
    is_summed = settings.protection != "none"
    rows = min((spec.min_rows or LEAST_ROWS_OF_FOUND for spec in job.columns if spec.found), default=None)
    rounds = job.training_count * settings.training.round_count
    return [
        *on_job(site, PROTOCOL, job.digest),
        PolicyCheck(
            "policy.models",
            model,
            "any" if policy.models is None else say_names(policy.models, "none"),
            lambda: check_model(policy, model),
        ),
        PolicyCheck(
            "policy.max_rounds",
            f"{rounds} rounds" + (", of all trainings" if job.training_count > 1 else ""),
            "no limit" if policy.max_rounds is None else str(policy.max_rounds),
            lambda: check_rounds(policy, rounds, _CURE_OF_ROUNDS),
        ),
        PolicyCheck(
            "policy.max_value_bits",
            f"{max(bits)} bits" if is_summed else APPLIES_NOT,
            str(policy.max_value_bits),
            lambda: check_value_bits(policy, bits if is_summed else (0,), "codec.value_bits and compare.bits"),
        ),
        PolicyCheck(
            "policy.max_validation_bins",
            f"{settings.validation.bins} bins" if counts else APPLIES_NOT,
            str(policy.max_validation_bins),
            lambda: check_validation_bins(policy, settings.validation.bins if counts else 0),
        ),
        PolicyCheck(
            "policy.min_category_rows",
            APPLIES_NOT if rows is None else f"texts of {rows:,} rows",
            str(policy.min_category_rows),
            lambda: None if rows is None else check_category_rows(policy, rows),
        ),
    ]


def _on_sums(site: Site, job: Job) -> list[PolicyCheck]:
    settings, policy = job.settings, site.policy
    is_lattice, is_paillier = settings.protection == "lattice", settings.protection == "paillier"
    return [
        PolicyCheck(
            "policy.protections",
            settings.protection + (", and none for a comparison" if job.compare_plain else ""),
            say_names(policy.protections, "none at all"),
            lambda: check_protections(policy, settings.protection, compares_plain=job.compare_plain),
        ),
        PolicyCheck(
            "policy.openings",
            settings.opening if is_lattice else APPLIES_NOT,
            say_names(policy.openings, "none at all"),
            lambda: check_opening(policy, settings.opening) if is_lattice else None,
        ),
        on_key_sizes(policy, {"protection.key_bits": settings.key_bits} if is_paillier else {}),
        PolicyCheck(
            "policy.exactness_check",
            "yes" if job.check_exactness else "no",
            "yes" if policy.exactness_check else "no",
            lambda: check_exactness_check(policy) if job.check_exactness else None,
        ),
        *checks_of_committee(policy, job),
    ]


def _on_holdings(site: Site, job: Job) -> list[PolicyCheck]:
    """A role that only adds or opens is given nothing else, here or where all roles are played."""
    roles = {job.settings.aggregator: "aggregator"}
    if job.settings.authority is not None:
        roles[job.settings.authority] = "key authority"

    def check_of(name: str, role: str) -> PolicyCheck:
        return PolicyCheck(
            f"[party] of the {role}",
            f"{name} as {role}",
            "no rows and no Paillier key",
            lambda: check_holds_nothing(site, name, role),
        )

    return [check_of(name, role) for name, role in roles.items()]


def _on_tables(site: Site, job: Job, here: Collection[str] | None) -> list[PolicyCheck]:
    parties = [party for party in job.settings.parties if here is None or party in here]
    checks = [on_parties(site, parties), *checks_of_columns(site, parties, job.data)]
    return checks + (checks_of_columns(site, [None], job.test_data) if job.test_data and parties else [])
