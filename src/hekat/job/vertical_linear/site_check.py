"""Whether a site lets a vertical job do what it asks for, line by line of its policy."""

from __future__ import annotations

from collections.abc import Collection

from hekat.errors import PolicyError
from hekat.job.policy.job_limits import check_value_bits, say_names
from hekat.job.policy.policy_check import APPLIES_NOT, PolicyCheck, refusals_of, refuse_first
from hekat.job.policy.shared_checks import (
    check_exactness_check,
    check_holds_no_rows,
    check_protections,
    on_job,
    on_key_sizes,
    on_model,
    on_rounds,
)
from hekat.job.policy.site_lines import SitePolicy
from hekat.job.site_file import Site
from hekat.job.vertical.site_checks import (
    intersection_key_size,
    on_joined_rows,
    on_labels,
    on_tables,
    yes_or_no,
)
from hekat.job.vertical_linear.job_file import PROTOCOL, VerticalJob
from hekat.job.vertical_linear.key_makers import key_makers
from hekat.protocol.vertical_linear.settings import PROTECTIONS_OF_FORMS


def check_site_allows_vertical(site: Site, job: VerticalJob, here: Collection[str] | None = None) -> None:
    """Raise PolicyError or JobError where the job asks this site for what it does not have or does not allow.

    `here` are the roles that this machine plays, None for all.
    """
    refuse_first(refusals_of(vertical_checks(site, job, here)))


def vertical_checks(site: Site, job: VerticalJob, here: Collection[str] | None = None) -> list[PolicyCheck]:
    """Every line that the job is held against; `here` as in `check_site_allows_vertical`."""
    return [
        *_on_protocol(site, job),
        *_on_protection(site, job),
        *_on_leaks(site, job),
        *on_labels(site.policy, job, here),
        *on_tables(site, job, job.settings.parties, here),
        *_on_arbiter(site, job),
    ]


def _on_protocol(site: Site, job: VerticalJob) -> list[PolicyCheck]:
    settings, policy = job.settings, site.policy
    # Where weights stay in shares, no gradient is opened to anybody.
    is_opened, bits = settings.form == "arbiter", settings.fixed_point.value_bits
    return [
        *on_job(site, PROTOCOL, job.digest),
        on_model(policy, settings.task),
        on_rounds(policy, settings.training.epochs, "training.epochs", "epoch"),
        PolicyCheck(
            "policy.max_value_bits",
            f"{bits} bits" if is_opened else APPLIES_NOT,
            str(policy.max_value_bits),
            lambda: check_value_bits(policy, (bits if is_opened else 0,), "fixed_point.value_bits"),
        ),
    ]


def _on_protection(site: Site, job: VerticalJob) -> list[PolicyCheck]:
    settings, policy = job.settings, site.policy
    sizes = _key_sizes(job)
    return [
        PolicyCheck(
            "policy.protections",
            settings.protection,
            say_names(policy.protections, "none at all"),
            lambda: check_protections(policy, settings.protection, known=PROTECTIONS_OF_FORMS[str(settings.form)]),
        ),
        PolicyCheck(
            "policy.vertical_forms",
            str(settings.form),
            say_names(policy.vertical_forms, "none at all"),
            lambda: _check_form(policy, str(settings.form)),
        ),
        on_key_sizes(policy, sizes),
    ]


def _key_sizes(job: VerticalJob) -> dict[str, int]:
    """The bits of the keys that the job asks for, by the key that says them."""
    sizes = {"protection.key_bits": job.settings.key_bits} if key_makers(job) else {}
    return {**sizes, **intersection_key_size(job)}


def _on_leaks(site: Site, job: VerticalJob) -> list[PolicyCheck]:
    settings, policy = job.settings, site.policy
    return [
        yes_or_no(
            "policy.label_leak_waiver",
            settings.label_leak_accepted is not None,
            policy.label_leak_waiver,
            PolicyError(
                "the site does not allow a job to waive the label-leak rule",
                expected="policy.label_leak_waiver = true (gradients may tell hosts the labels of single rows)",
                got="false",
                cure="remove [label_leak] from the job: larger batches, fewer columns, or form 'shared_weights' need "
                "none",
            ),
        ),
        yes_or_no(
            "policy.column_leak_waiver",
            settings.column_leak_accepted is not None,
            policy.column_leak_waiver,
            PolicyError(
                "the site does not allow a job to waive the limit on what the guest learns of hosts",
                expected="policy.column_leak_waiver = true (gradients may tell the guest the columns of hosts)",
                got="false",
                cure="remove [column_leak] from the job: larger batches, fewer columns of the guest, or form "
                "'shared_weights' need none",
            ),
        ),
        PolicyCheck(
            "policy.exactness_check",
            "yes" if job.check_exactness else "no",
            "yes" if policy.exactness_check else "no",
            lambda: check_exactness_check(policy) if job.check_exactness else None,
        ),
        on_joined_rows(job, policy),
        PolicyCheck(
            "policy.max_score_bits",
            f"{job.prediction.score_bits} bits",
            str(policy.max_score_bits),
            lambda: check_score_bits(policy, job.prediction.score_bits),
        ),
    ]


def _on_arbiter(site: Site, job: VerticalJob) -> list[PolicyCheck]:
    arbiter = job.settings.arbiter
    if arbiter is None:
        return []
    return [
        PolicyCheck(
            "[party] of the arbiter",
            f"{arbiter} as arbiter",
            "no rows",
            lambda: check_holds_no_rows(site, arbiter, "arbiter"),
        )
    ]


def check_score_bits(policy: SitePolicy, score_bits: int) -> None:
    """Raise PolicyError where scores would be told more finely than the site allows."""
    if score_bits > policy.max_score_bits:
        raise PolicyError(
            "the site does not allow scores this fine",
            expected=f"score_bits up to policy.max_score_bits = {policy.max_score_bits}",
            got=f"score_bits = {score_bits}",
            cure="take fewer score_bits, or let the site's owner raise policy.max_score_bits",
        )


def _check_form(policy: SitePolicy, form: str) -> None:
    if form not in policy.vertical_forms:
        raise PolicyError(
            f"the site does not allow form '{form}'",
            expected=" or ".join(policy.vertical_forms) or "no vertical job at all: policy.vertical_forms is empty",
            got=form,
            cure=(
                f"set protection.form = {policy.vertical_forms[0]!r} in the job"
                if policy.vertical_forms
                else "change the job"
            )
            + ", or let the site's owner add it to policy.vertical_forms",
        )
