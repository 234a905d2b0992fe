"""Whether a site lets a vertical job do what it asks for."""

from __future__ import annotations

from collections.abc import Collection

from hekat.errors import PolicyError
from hekat.job.site_file import Site, SitePolicy
from hekat.job.site_policy import (
    check_exactness_check,
    check_has_tables,
    check_holds_no_rows,
    check_key_bits,
    check_protections,
)
from hekat.job.vertical_linear.job_file import VerticalJob
from hekat.protocol.vertical_linear.prediction.limit import check_prediction_limit
from hekat.protocol.vertical_linear.settings import PROTECTIONS_OF_FORMS

MAX_PREDICTIONS_KEY = "policy.max_predictions"


def check_site_allows_vertical(site: Site, job: VerticalJob, here: Collection[str] | None = None) -> None:
    """Raise PolicyError or JobError where the job asks this site for what it does not have or does not allow.

    `here` are the roles that this machine plays, None for all.
    """
    settings, policy = job.settings, site.policy
    check_protections(policy, settings.protection, known=PROTECTIONS_OF_FORMS[str(settings.form)])
    _check_form(policy, str(settings.form))
    if settings.protection == "paillier":
        check_key_bits(policy, settings.key_bits)
    if job.intersection_kind == "rsa_blind":
        assert job.intersection is not None
        check_key_bits(policy, job.intersection.key_bits, "intersection.key_bits")
    if settings.label_leak_accepted is not None and not policy.label_leak_waiver:
        raise PolicyError(
            "the site does not allow a job to waive the label-leak rule",
            expected="policy.label_leak_waiver = true (gradients may tell hosts the labels of single rows)",
            got="false",
            cure="remove [label_leak] from the job: larger batches, fewer columns, or form 'shared_weights' need none",
        )
    if settings.column_leak_accepted is not None and not policy.column_leak_waiver:
        raise PolicyError(
            "the site does not allow a job to waive the limit on what the guest learns of hosts",
            expected="policy.column_leak_waiver = true (gradients may tell the guest the columns of hosts)",
            got="false",
            cure="remove [column_leak] from the job: larger batches, fewer columns of the guest, or form "
            "'shared_weights' need none",
        )
    if job.check_exactness:
        check_exactness_check(policy)
    if job.compare_centralised and not policy.joined_rows:
        raise PolicyError(
            "the site does not allow the parties' rows to be put together",
            expected="policy.joined_rows = true (one process then holds all columns and labels)",
            got="false",
            cure="set compare.centralised = false in the job",
        )
    check_score_bits(policy, job.prediction.score_bits)
    check_has_tables(site, [party for party in settings.parties if here is None or party in here])
    if settings.arbiter is not None:
        check_holds_no_rows(site, settings.arbiter, "arbiter")


def check_score_bits(policy: SitePolicy, score_bits: int) -> None:
    """Raise PolicyError where scores would be told more finely than the site allows."""
    if score_bits > policy.max_score_bits:
        raise PolicyError(
            "the site does not allow scores this fine",
            expected=f"score_bits up to policy.max_score_bits = {policy.max_score_bits}",
            got=f"score_bits = {score_bits}",
            cure="take fewer score_bits, or let the site's owner raise policy.max_score_bits",
        )


def check_test_rows_allowed(policy: SitePolicy, row_count: int) -> None:
    """Raise PolicyError where a run would end with more predictions than the site allows with a new model's parts."""
    check_prediction_limit("the site", row_count, 0, policy.max_predictions, MAX_PREDICTIONS_KEY)


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
