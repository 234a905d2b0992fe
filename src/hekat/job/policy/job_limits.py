"""Checks of what jobs of every protocol ask for: the protocol, the model, rounds, bits, counters, digests."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hekat.errors import PolicyError
from hekat.job.policy.site_lines import SitePolicy


def check_protocol(policy: SitePolicy, protocol: str) -> None:
    """Raise PolicyError for a protocol that the site does not allow."""
    if protocol not in policy.protocols:
        raise PolicyError(
            f"the site does not allow protocol '{protocol}'",
            expected=say_names(policy.protocols, "no job at all: policy.protocols is empty"),
            got=protocol,
            cure="change the job, or let the site's owner add it to policy.protocols",
        )


def check_model(policy: SitePolicy, model: str) -> None:
    """Raise PolicyError for a model that the site does not allow."""
    if policy.models is not None and model not in policy.models:
        raise PolicyError(
            "the site does not allow this model",
            expected=say_names(policy.models, "no model at all: policy.models is empty"),
            got=repr(model),
            cure="name another model in the job, or let the site's owner add it to policy.models",
        )


def check_rounds(policy: SitePolicy, rounds: int, cure: str, what: str = "rounds") -> None:
    """Raise PolicyError for more rounds, or epochs, than the site allows; `cure` says how the job asks for fewer."""
    if policy.max_rounds is not None and rounds > policy.max_rounds:
        raise PolicyError(
            f"the site does not allow so many {what}",
            expected=f"up to policy.max_rounds = {policy.max_rounds}",
            got=f"{rounds} {what}",
            cure=f"{cure}, or let the site's owner raise policy.max_rounds",
        )


def check_value_bits(policy: SitePolicy, bits: Sequence[int], keys: str) -> None:
    """Raise PolicyError where opened numbers would hold more bits than the site allows; `keys` say them in the job."""
    if max(bits) > policy.max_value_bits:
        raise PolicyError(
            "the site does not allow opened numbers of so many bits",
            expected=f"up to policy.max_value_bits = {policy.max_value_bits}",
            got=f"{max(bits)} bits",
            cure=f"lower {keys} in the job, or let the site's owner raise policy.max_value_bits",
        )


def check_validation_bins(policy: SitePolicy, bins: int, cure: str) -> None:
    """Raise PolicyError where scores of held-out rows would be counted more finely than the site allows.

    `cure` says how the job asks for less.
    """
    if bins > policy.max_validation_bins:
        raise PolicyError(
            "the site does not allow scores of held-out rows to be counted in so many bins",
            expected=f"up to policy.max_validation_bins = {policy.max_validation_bins}",
            got=f"{bins} bins",
            cure=f"{cure}, or let the site's owner raise policy.max_validation_bins",
        )


def check_masked_part(policy: SitePolicy, part: float) -> None:
    """Raise PolicyError where a job masks a smaller part of every update than the site asks for."""
    if part < policy.min_masked:
        raise PolicyError(
            "the site does not allow so much of an update to go in the clear",
            expected=f"at least policy.min_masked = {policy.min_masked:g} of all values masked",
            got=f"protection.masked = {part:g}",
            cure="remove protection.masked from the job, or let the site's owner lower policy.min_masked",
        )


def check_exposed_embeddings(policy: SitePolicy, *, is_asked: bool) -> None:
    """Raise PolicyError where a job may send tables of embeddings in the clear and the site does not allow it."""
    if is_asked and not policy.exposed_embeddings:
        raise PolicyError(
            "the site does not allow embeddings to go in the clear",
            expected="policy.exposed_embeddings = true (the rows of a table that change are the words of texts here)",
            got="protection.expose_embeddings = true",
            cure="remove protection.expose_embeddings from the job, so that tables of embeddings are masked whole, or "
            "let the site's owner set policy.exposed_embeddings",
        )


def check_category_rows(policy: SitePolicy, rows: int) -> None:
    """Raise PolicyError where texts of fewer rows than the site allows would be shown to all parties."""
    if rows < policy.min_category_rows:
        raise PolicyError(
            "the site does not allow texts of so few rows to be shown to other parties",
            expected=f"at least policy.min_category_rows = {policy.min_category_rows}",
            got=f"{rows:,} rows",
            cure="raise min_rows of columns with categories = 'found' in the job, or let the site's owner lower "
            "policy.min_category_rows",
        )


def check_single_ids(policy: SitePolicy, *, is_asked: bool) -> None:
    """Raise PolicyError where a party could ask about one person and the site does not allow it."""
    if is_asked and not policy.single_ids:
        raise PolicyError(
            "the site does not allow a party to ask about one person",
            expected="policy.single_ids = true (a set of one id tells whether the others know that person)",
            got="false",
            cure="set intersection.allow_single = false in the job, or let the site's owner set policy.single_ids",
        )


def check_server_learns_model(policy: SitePolicy) -> None:
    """Raise PolicyError where the server of an engine would see the mean model and the site does not allow it.

    For a launcher whose server opens or keeps the mean of all updates; jobs of Hekat's own show it to parties alone.
    """
    if not policy.server_learns_model:
        raise PolicyError(
            "the site does not allow the server to learn the model",
            expected="policy.server_learns_model = true (who runs the server then sees the mean model of every round)",
            got="false",
            cure="let the final model be written at the sites alone, or let the site's owner set "
            "policy.server_learns_model",
        )


def check_is_listed(policy: SitePolicy, digest: bytes) -> None:
    """Raise PolicyError for a job that the site's list of approved jobs does not name."""
    if policy.approved_jobs is not None and digest.hex() not in policy.approved_jobs:
        raise PolicyError(
            "the job is not among those that the site file approves",
            expected=f"one of the {len(policy.approved_jobs)} digests in policy.approved_jobs",
            got=f"job {digest.hex()}",
            cure="give the job file as it was approved, byte for byte, or let the site's owner add its digest to "
            "policy.approved_jobs",
        )


def say_names(names: Collection[str], none: str) -> str:
    """Names as a choice; `none` where there are none."""
    return " or ".join(names) or none
