"""The lists of columns of every table that a job names at this site, as lines of its policy."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hekat.job.data_source import DataSource
from hekat.job.policy.columns import check_columns, say_column_lists
from hekat.job.policy.policy_check import PolicyCheck
from hekat.job.site_file import Site
from hekat.toml_text import toml_key


def checks_of_columns(
    site: Site, parties: Sequence[str | None], data_name: str, only: Collection[str] | None = None
) -> list[PolicyCheck]:
    """A line for each table that has lists; party None: the common ones.

    `only` are the columns that are used (None: all). Tables that are not there are for another check to refuse.
    """
    found = []
    for party in parties:
        held = None if party is None else site.parties.get(party)
        sources = site.common_data if party is None else {} if held is None else held.data
        place = ("common_data",) if party is None else ("party", party, "data")
        if data_name in sources:
            found += _checks_of(site, sources[data_name], toml_key(*place, data_name), only)
    return found


def _checks_of(site: Site, source: DataSource, place: str, only: Collection[str] | None) -> list[PolicyCheck]:
    if source.allowed_columns is None and not source.denied_columns:
        return []
    return [
        PolicyCheck(
            f"[{place}] allow_columns, deny_columns",
            "the features of this table",
            say_column_lists(source),
            lambda: check_columns(source, site.folder, place, only),
        )
    ]
