"""The privacy budgets that a site file grants: a party's for jobs, and all of them for a loop of one's own."""

from __future__ import annotations

import os
from pathlib import Path

from hekat.errors import JobError
from hekat.job.site_file import Site, load_site
from hekat.own_loop.private.loop_budgets import LoopBudgets
from hekat.state.privacy_budget import PrivacyBudget
from hekat.toml_text import toml_key


def site_budgets(site: str | os.PathLike[str]) -> LoopBudgets:
    """The budgets of a site file, which jobs on the same rows are charged to as well, for `hekat.federate`.

    Args:
        site: the path of the site file.

    Returns:
        The budget of each party with a table `[party.NAME.privacy]`, and whether `policy.budget_waiver` allows sums
        without noise beside it.

    Raises:
        JobError: the file is no site file, or a party with a budget has no `state` folder.

    Examples:
        >>> import hekat
        >>> grant = "{data_set = 'patients', unit = 'row', epsilon = 8.0, delta = 1e-6}"
        >>> party = "{state = 'state/north', privacy = " + grant + "}"
        >>> with open("site.toml", "w") as file:
        ...     print("format = 1", f"party.north = {party}", sep=chr(10), file=file)
        >>> budgets = hekat.site_budgets("site.toml")
        >>> budgets.by_party["north"].spent().left
        8.0
    """
    found = load_site(Path(site))
    granted = {party: granted_budget(found, party) for party, held in found.parties.items() if held.privacy is not None}
    return LoopBudgets(granted, waived=found.policy.budget_waiver)


def granted_budget(site: Site, party: str) -> PrivacyBudget:
    """The budget of a party's rows. Raises JobError where the site grants none, or keeps no state."""
    held, table = site.parties[party], toml_key("party", party, "privacy")
    if held.privacy is None:
        raise JobError(
            f"the site grants no privacy budget for {party}",
            expected=f"[{table}] in the site file: what all jobs together may tell of its rows",
            got="none",
            cure='add it, such as data_set = "patients", epsilon = 8.0, delta = 1e-6',
        )
    if held.state is None:
        raise JobError(
            f"the privacy budget of {party} has no place that outlasts runs",
            expected=f"{toml_key('party', party, 'state')} in the site file: a folder outside of all runs",
            got="none",
            cure=f'add state = "state/{party}"',
        )
    return PrivacyBudget.in_folder(held.state, held.privacy)
