"""What a party's releases have cost so far: charged before each round, and told with it."""

from __future__ import annotations

from collections.abc import Callable

from hekat.privacy.accounting import Release, epsilon_of
from hekat.protocol.horizontal.privacy_settings import PrivacyPlan
from hekat.protocol.horizontal.training.training_state import RoundPrivacy, TrainingState
from hekat.state.privacy_budget import Spent


class Charges:
    """One party's releases of one job; those before a resumed run are the budget's to know, else one a round."""

    def __init__(self, plan: PrivacyPlan, charge: Callable[[int, Release], Spent | None], state: TrainingState) -> None:
        self._plan, self._charge = plan, charge
        self._count = state.rounds_done
        self._spent: Spent | None = None

    def charge(self, number: int) -> None:
        """Charge round `number`, before its first block leaves. Raises BudgetError."""
        self._spent = self._charge(number, self._plan.claimed)
        self._count = self._count + 1 if self._spent is None else self._spent.job_count

    def tell(self) -> RoundPrivacy:
        """What all releases so far have cost."""
        privacy = self._plan.settings
        return RoundPrivacy(
            epsilon=epsilon_of({self._plan.claimed: self._count}, privacy.delta, privacy.neighbours),
            epsilon_at_one=epsilon_of({self._plan.at_one: self._count}, privacy.delta, privacy.neighbours),
            release_count=self._count,
            spent=self._spent,
        )
