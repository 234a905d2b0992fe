"""The privacy budget that a site grants a party's rows: found in the party's state folder, over all jobs."""

from __future__ import annotations

import hashlib
from pathlib import Path

from hekat.errors import JobError, PolicyError
from hekat.job.site_file import PartySite, Site
from hekat.privacy.accounting import Neighbours
from hekat.state.privacy_budget import BudgetTerms, PrivacyBudget
from hekat.toml_text import toml_key


def open_budget_for(site: Site, party: str, *, unit: str, neighbours: Neighbours) -> PrivacyBudget:
    """The budget of a party's rows, for a job with these `unit` and `neighbours`.

    Raises JobError where the site grants none, or keeps no state; PolicyError where it grants one of another kind.
    """
    terms, folder = _granted(party, site.parties[party], unit, neighbours)
    # A data set's name may hold any sign.
    name = hashlib.sha256(terms.data_set.encode()).hexdigest()[:16]
    return PrivacyBudget(folder / f"privacy-{name}.jsonl", terms)


def _granted(party: str, site: PartySite, unit: str, neighbours: Neighbours) -> tuple[BudgetTerms, Path]:
    terms = site.privacy
    table = toml_key("party", party, "privacy")
    if terms is None:
        raise JobError(
            f"the site grants no privacy budget for {party}",
            expected=f"[{table}] in the site file: what all jobs together may tell of its rows",
            got="none",
            cure='add it, such as data_set = "patients", epsilon = 8.0, delta = 1e-6',
        )
    if site.state is None:
        raise JobError(
            f"the privacy budget of {party} has no place that outlasts runs",
            expected=f"{toml_key('party', party, 'state')} in the site file: a folder outside of all runs",
            got="none",
            cure=f'add state = "state/{party}"',
        )
    for key, ours, theirs in (("unit", terms.unit, unit), ("neighbours", terms.neighbours, neighbours)):
        if ours != theirs:
            raise PolicyError(
                f"the job's privacy.{key} is not the one of {party}'s budget",
                expected=f"{ours!r}, as [{table}] says",
                got=repr(theirs),
                cure=f"change privacy.{key} in the job, or let the site's owner grant a budget of that kind",
            )
    return terms, site.state
