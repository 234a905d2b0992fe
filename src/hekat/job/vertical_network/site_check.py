"""Whether a site lets a job of a split network do what it asks for, line by line of its policy."""

from __future__ import annotations

from collections.abc import Collection

from hekat.errors import PolicyError
from hekat.job.policy.job_limits import say_names
from hekat.job.policy.policy_check import PolicyCheck, refusals_of, refuse_first
from hekat.job.policy.shared_checks import check_protections, on_job, on_key_sizes, on_model, on_rounds
from hekat.job.policy.site_lines import SitePolicy
from hekat.job.site_file import Site
from hekat.job.vertical.site_checks import (
    intersection_key_size,
    on_joined_rows,
    on_label_epsilon,
    on_no_label_privacy,
    on_tables,
    yes_or_no,
)
from hekat.job.vertical_network.job_file import MODEL, OWN_BOTTOMS, PROTOCOL, NetworkJob
from hekat.protocol.vertical_network.settings import PROTECTIONS, SEALED


def check_site_allows_network(site: Site, job: NetworkJob, here: Collection[str] | None = None) -> None:
    """Raise PolicyError or JobError where the job asks this site for what it does not have or does not allow.

    `here` are the roles that this machine plays, None for all.
    """
    refuse_first(refusals_of(network_checks(site, job, here)))


def network_checks(site: Site, job: NetworkJob, here: Collection[str] | None = None) -> list[PolicyCheck]:
    """Every line that the job is held against; `here` as in `check_site_allows_network`."""
    settings, policy = job.settings, site.policy
    own = [name for name in settings.parties if here is None or name in here]
    named = {job.bottoms[name] for name in own if name in job.bottoms} - set(OWN_BOTTOMS)
    if job.top is not None and settings.guest in own:
        named.add(job.top)
    return [
        *on_job(site, PROTOCOL, job.digest),
        *(on_model(policy, model) for model in (MODEL, *sorted(named))),
        on_rounds(policy, settings.training.epochs, "training.epochs", "epoch"),
        on_protection(policy, settings.protection),
        on_form(policy, settings.form),
        on_key_sizes(policy, intersection_key_size(job)),
        *_on_leaks(site, job, own),
        on_joined_rows(job, policy),
        *on_tables(site, job, settings.parties, here),
    ]


def on_opened_features(policy: SitePolicy, *, is_host: bool) -> PolicyCheck:
    """What the guest may learn of a host's columns, in training and in each joint prediction."""
    return yes_or_no(
        "policy.column_leak_waiver",
        is_host,
        policy.column_leak_waiver,
        PolicyError(
            "the site does not allow that the guest learns its columns, be it but for a rotation",
            expected="policy.column_leak_waiver = true (sums that a split network opens tell it as much)",
            got="false",
            cure="let the site's owner allow it, or train protocol 'vertical_linear', which opens no such sums",
        ),
    )


def on_protection(policy: SitePolicy, protection: str) -> PolicyCheck:
    """The line of what products of private matrices may be computed under."""
    return PolicyCheck(
        "policy.protections",
        protection,
        say_names(policy.protections, "none at all"),
        lambda: check_protections(policy, protection, known=PROTECTIONS),
    )


def on_told_labels(policy: SitePolicy, form: str, *, tells: bool) -> PolicyCheck:
    """Whether hosts may learn the guest's labels as they are: from gradients, or from scores of rows they marked."""
    cure = (
        "let the guest alone receive scores"
        if form == SEALED
        else "set label_privacy.epsilon in the job in place of [label_leak]; or protection.host_bottom = 'frozen', "
        "under which no gradient opens, with scores for the guest alone"
    )
    return yes_or_no(
        "policy.label_leak_waiver",
        tells,
        policy.label_leak_waiver,
        PolicyError(
            "the site does not allow that hosts learn its labels",
            expected="policy.label_leak_waiver = true (gradients of a host's bottom tell it single labels, and so do "
            "scores that a host receives)",
            got="false",
            cure=cure,
        ),
    )


def on_form(policy: SitePolicy, form: str) -> PolicyCheck:
    """The line of where weights of a host's side may lie."""
    return PolicyCheck(
        "policy.network_forms",
        form,
        say_names(policy.network_forms, "none at all"),
        lambda: _check_form(policy, form),
    )


def _check_form(policy: SitePolicy, form: str) -> None:
    if form not in policy.network_forms:
        raise PolicyError(
            f"the site does not allow a split network of form '{form}'",
            expected=" or ".join(policy.network_forms) or "no split network: policy.network_forms is empty",
            got=form,
            cure="change protection.form in the job, or let the site's owner add it to policy.network_forms",
        )


def _on_leaks(site: Site, job: NetworkJob, own: Collection[str]) -> list[PolicyCheck]:
    """What others may learn of this site: a host's columns, a guest's labels, and columns from slopes."""
    settings, policy = job.settings, site.policy
    trains, is_guest = settings.host_bottom == "trained", settings.guest in own
    tells_labels = trains or not set(settings.hosts).isdisjoint(job.prediction.receivers)
    concerned = is_guest or (len(settings.hosts) > 1 and bool(own))
    return [
        on_opened_features(policy, is_host=settings.form != SEALED and any(host in own for host in settings.hosts)),
        on_told_labels(policy, settings.form, tells=is_guest and settings.labels_accepted is not None),
        on_label_epsilon(policy, settings.label_privacy if is_guest and tells_labels else None),
        on_no_label_privacy(policy, is_none=is_guest and settings.label_privacy is None),
        yes_or_no(
            "policy.slope_leak_waiver",
            trains and concerned,
            policy.slope_leak_waiver,
            PolicyError(
                "the site does not allow that hosts learn of its columns from slopes",
                expected="policy.slope_leak_waiver = true (a row's slopes follow from the columns of all parties)",
                got="false",
                cure="let the site's owner allow it, or set protection.host_bottom = 'frozen' in the job, under which "
                "no gradient opens",
            ),
        ),
    ]
