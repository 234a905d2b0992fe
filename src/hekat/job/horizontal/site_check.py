"""Whether a site lets a horizontal job do what it asks for, line by line of its policy."""

from __future__ import annotations

from collections.abc import Collection

from hekat.data.columns.specs import LEAST_ROWS_OF_FOUND
from hekat.job.horizontal.committee_policy import checks_of_committee
from hekat.job.horizontal.job_file import PROTOCOL, Job
from hekat.job.policy.job_limits import (
    check_category_rows,
    check_exposed_embeddings,
    check_masked_part,
    check_model,
    check_rounds,
    check_validation_bins,
    check_value_bits,
    say_names,
)
from hekat.job.policy.policy_check import APPLIES_NOT, PolicyCheck, refusals_of, refuse_first
from hekat.job.policy.shared_checks import check_exactness_check, on_job
from hekat.job.rows.site_checks import on_holdings, on_protection, on_row_tables
from hekat.job.site_file import Site
from hekat.protocol.horizontal.selective_settings import format_part

_CURE_OF_ROUNDS = (
    "lower training.rounds in the job, or train less often (validation.folds, compare.bits, compare.plain)"
)

_CURE_OF_BINS = "lower validation.bins in the job or set validation.auc = false"


def check_site_allows(site: Site, job: Job, here: Collection[str] | None = None) -> None:
    """Raise PolicyError or JobError where a horizontal job asks this site for what it does not have or allow.

    `here` are the roles that this machine plays, None for all.
    """
    refuse_first(refusals_of(horizontal_checks(site, job, here)))


def horizontal_checks(site: Site, job: Job, here: Collection[str] | None = None) -> list[PolicyCheck]:
    """Every line that the job is held against; `here` as in `check_site_allows`."""
    return [*_on_protocol(site, job), *_on_sums(site, job), *on_holdings(site, job), *on_row_tables(site, job, here)]


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
            lambda: check_validation_bins(policy, settings.validation.bins if counts else 0, _CURE_OF_BINS),
        ),
        PolicyCheck(
            "policy.min_category_rows",
            APPLIES_NOT if rows is None else f"texts of {rows:,} rows",
            str(policy.min_category_rows),
            lambda: None if rows is None else check_category_rows(policy, rows),
        ),
    ]


def _on_sums(site: Site, job: Job) -> list[PolicyCheck]:
    policy = site.policy
    check = PolicyCheck(
        "policy.exactness_check",
        "yes" if job.check_exactness else "no",
        "yes" if policy.exactness_check else "no",
        lambda: check_exactness_check(policy) if job.check_exactness else None,
    )
    selective = job.settings.selective
    masked = 1.0 if selective is None else selective.rules.fraction
    part = PolicyCheck(
        "policy.min_masked",
        f"{format_part(masked)} of all values masked" if job.settings.protection == "lattice" else APPLIES_NOT,
        f"at least {format_part(policy.min_masked)}",
        lambda: check_masked_part(policy, masked),
    )
    is_exposed = selective is not None and selective.rules.expose_embeddings
    embeddings = PolicyCheck(
        "policy.exposed_embeddings",
        "embeddings in the clear" if is_exposed else APPLIES_NOT,
        "yes" if policy.exposed_embeddings else "no",
        lambda: check_exposed_embeddings(policy, is_asked=is_exposed),
    )
    return [
        *on_protection(policy, job, compares_plain=job.compare_plain),
        part,
        embeddings,
        check,
        *checks_of_committee(policy, job),
    ]
