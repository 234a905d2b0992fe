"""Budgets of parties' rows in a loop: a noised sum is charged before it leaves, and no exact one opens beside them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from hekat.errors import InputError, PolicyError
from hekat.ledger import Ledger
from hekat.ledger.privacy.records import WAIVED_TEXT, record_waived
from hekat.privacy.accounting import Release
from hekat.protocol.horizontal.privacy_settings import PrivacySettings
from hekat.state.privacy_budget import PrivacyBudget, Promise, Spent


@dataclass(frozen=True)
class LoopBudgets:
    """Privacy budgets for `hekat.federate`, as `hekat.site_budgets` reads them.

    Attributes:
        by_party: the budget of each party's rows; parties without one count their calls alone.
        waived: whether sums without noise may open beside it.
    """

    by_party: Mapping[str, PrivacyBudget] = field(default_factory=dict)
    waived: bool = False

    def check(self, parties: Collection[str], called: str = "hekat.federate") -> None:
        """Raise InputError for budgets of strangers, and where no party of the loop has one."""
        if not set(self.by_party) & set(parties):
            raise InputError(
                f"argument budgets of {called} refused",
                expected=f"a budget of one of {', '.join(sorted(parties))}",
                got=f"budgets of {', '.join(sorted(self.by_party)) or 'nobody'}",
                cure="name the loop's parties as the site file does",
            )

    def check_waived(self, parties: Collection[str]) -> None:
        """Raise PolicyError where a party's rows have a budget that its site does not waive, of a loop that has no call
        with noise."""
        bounded = [party for party in parties if party in self.by_party]
        if bounded and not self.waived:
            raise PolicyError(
                f"the rows of {', '.join(bounded)} have a privacy budget, and a split network has no noise",
                expected="rows without a budget, or policy.budget_waiver = true in the site file (what the budget "
                "promises of these rows then no longer holds)",
                got="exact sums of these rows",
                cure="train on rows of one form by party.aggregate_private of hekat.federate, or let the site's owner "
                "set policy.budget_waiver",
            )

    def of(self, party: str) -> RowsBudget | None:
        """The budget of one party's rows in one run of the loop."""
        found = self.by_party.get(party)
        return None if found is None else RowsBudget(party, found, waived=self.waived)


class RowsBudget:
    """The budget of one party's rows, in one run of a loop."""

    def __init__(self, party: str, budget: PrivacyBudget, *, waived: bool) -> None:
        self._party, self._budget, self._waived = party, budget, waived
        self._said = False

    def check(self, privacy: PrivacySettings, least_parties: int) -> None:
        """Raise PolicyError where the budget is for another unit, other neighbours, or asks for more colluders."""
        colluders = privacy.colluders_of(least_parties)
        promise = Promise(privacy.unit, privacy.neighbours, colluders, least_parties)
        self._budget.check_promise(self._party, promise, "the loop's ")

    def check_delta(self, count: int, whose: str) -> None:
        """Raise PolicyError where the budget's delta lets one of `count` rows or parties show whole."""
        self._budget.check_delta(self._party, count, whose)

    def check_ahead(self, round_number: int, release: Release) -> None:
        """Raise BudgetError where a noised sum would pass the limit; StateError."""
        self._budget.check_ahead([release], f"round {round_number}")

    def charge(self, run: bytes, round_number: int, release: Release) -> Spent:
        """Charge a noised sum, which has not left yet. Raises BudgetError where it would pass the limit; StateError."""
        return self._budget.reserve(run, round_number, release)

    def allow_exact(self, ledger: Ledger) -> str:
        """Raise PolicyError for a sum without noise, unless the site waived its budget; then a note for the user."""
        if not self._waived:
            raise PolicyError(
                f"the rows of {self._party} have a privacy budget, and this is without noise",
                expected="party.aggregate_private, or policy.budget_waiver = true in the site file (what the budget "
                "promises of these rows then no longer holds)",
                got="exact sums of these rows",
                cure="add noise to the call, or let the site's owner set policy.budget_waiver",
            )
        if not self._said:
            record_waived(ledger)
            self._said = True
        return f"BUDGET WAIVED at {self._party}: {WAIVED_TEXT}"
