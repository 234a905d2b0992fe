"""Imports dp-accounting, an optional extra, when the first loss is counted."""

from __future__ import annotations

from typing import Any

from hekat.errors import missing_extra


def import_dp_accounting() -> Any:
    """The module dp_accounting with its accountants. Raises InputError with the cure where it is not installed."""
    try:
        import dp_accounting
        import dp_accounting.pld.pld_privacy_accountant
        import dp_accounting.rdp
    except ImportError as error:
        raise missing_extra(
            "dp-accounting is not installed, so that no privacy loss can be counted", "privacy", error
        ) from None
    return dp_accounting
