"""What a site's policy says of every job on columns: who may train what, on which rows, and how many are predicted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from hekat.errors import PolicyError
from hekat.job.policy.column_checks import checks_of_columns
from hekat.job.policy.policy_check import APPLIES_NOT, PolicyCheck
from hekat.job.policy.shared_checks import on_parties
from hekat.job.policy.site_lines import SitePolicy
from hekat.job.site_file import Site
from hekat.job.vertical.columns_job import ColumnsJob
from hekat.protocol.vertical.prediction_limit import check_prediction_limit

MAX_PREDICTIONS_KEY: Final = "policy.max_predictions"


def on_joined_rows(job: ColumnsJob, policy: SitePolicy) -> PolicyCheck:
    """The line of rows that are put together for a comparison."""
    return yes_or_no(
        "policy.joined_rows",
        job.compare_centralised,
        policy.joined_rows,
        PolicyError(
            "the site does not allow the parties' rows to be put together",
            expected="policy.joined_rows = true (one process then holds all columns and labels)",
            got="false",
            cure="set compare.centralised = false in the job",
        ),
    )


def yes_or_no(line: str, is_asked: bool, is_allowed: bool, error: PolicyError) -> PolicyCheck:
    """A line that lets jobs do something, or not; `error` is raised where it does not and the job asks for it."""

    def check() -> None:
        if is_asked and not is_allowed:
            raise error

    return PolicyCheck(line, "yes" if is_asked else "no", "yes" if is_allowed else "no", check)


def on_label_epsilon(policy: SitePolicy, epsilon: float | None) -> PolicyCheck:
    """How much of a label may be told where labels are replaced; `epsilon` None: the line does not apply."""

    def check() -> None:
        if epsilon is not None and epsilon > policy.max_label_epsilon and not policy.label_leak_waiver:
            raise PolicyError(
                "the site does not allow that hosts learn so much of its labels",
                expected=f"label_privacy.epsilon of at most {policy.max_label_epsilon:g}: policy.max_label_epsilon, or "
                "policy.label_leak_waiver = true",
                got=f"{epsilon:g}",
                cure="lower label_privacy.epsilon in the job; at 8 nearly all labels stay as they are",
            )

    asked = APPLIES_NOT if epsilon is None else f"{epsilon:g}"
    return PolicyCheck("policy.max_label_epsilon", asked, f"at most {policy.max_label_epsilon:g}", check)


def on_no_label_privacy(policy: SitePolicy, *, is_none: bool) -> PolicyCheck:
    """Whether a training on columns may go without label privacy; `is_none`: at its guest, and it does."""

    def check() -> None:
        if is_none and policy.require_label_privacy:
            raise PolicyError(
                "the site does not allow that anything of a training follows from its labels as they are",
                expected=f"[label_privacy] epsilon of at most {policy.max_label_epsilon:g}: "
                "policy.require_label_privacy = true",
                got="no [label_privacy]",
                cure="add it to the job (classes alone have it), or let the site's owner set "
                "policy.require_label_privacy = false",
            )

    asked = "labels as they are" if is_none else APPLIES_NOT
    return PolicyCheck("policy.require_label_privacy", asked, "no" if policy.require_label_privacy else "yes", check)


def on_labels(policy: SitePolicy, job: ColumnsJob, here: Collection[str] | None) -> list[PolicyCheck]:
    """The lines of label privacy where gradients or sums tell hosts of labels; `here` as in `on_tables`."""
    is_guest, epsilon = here is None or job.settings.guest in here, job.settings.label_privacy
    return [
        on_label_epsilon(policy, epsilon if is_guest else None),
        on_no_label_privacy(policy, is_none=is_guest and epsilon is None),
    ]


def on_tables(site: Site, job: ColumnsJob, parties: Collection[str], here: Collection[str] | None) -> list[PolicyCheck]:
    """The lines of `parties` and their columns; `here` are the roles that this machine plays, None for all."""
    own = [party for party in parties if here is None or party in here]
    checks = [on_parties(site, own)]
    for name in dict.fromkeys((job.data, job.test_data)):
        checks += checks_of_columns(site, own, name) if name is not None else []
    return checks


def intersection_key_size(job: ColumnsJob) -> Mapping[str, int]:
    """The bits of the key that matching rows takes, by the setting that says them; empty where it takes none."""
    if job.intersection is None or job.intersection.kind != "rsa_blind":
        return {}
    return {"intersection.key_bits": job.intersection.key_bits}


def check_test_rows_allowed(policy: SitePolicy, row_count: int, calibrated: int = 0, openings: int = 1) -> None:
    """Raise PolicyError where a run would end with more predictions than the site allows with a new model's parts.

    `row_count` are the rows to measure on, `calibrated` the training rows that probabilities are fitted to,
    whose scores are told `openings` times.
    """
    told, limit = calibrated * openings, policy.rows_to_predict()
    if told and row_count <= limit < row_count + told:
        left = (limit - row_count) // openings
        raise PolicyError(
            "the site does not allow so many predictions to fit probabilities to",
            expected=f"at most {left:,} training rows beside {row_count:,} rows to measure on: {MAX_PREDICTIONS_KEY}",
            got=str(calibrated),
            cure=f"set training.calibration_rows = {left} or fewer in the job, or let the site's owner raise "
            f"{MAX_PREDICTIONS_KEY}",
        )
    check_prediction_limit("the site", row_count + told, 0, limit, MAX_PREDICTIONS_KEY)
