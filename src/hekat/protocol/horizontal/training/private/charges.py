"""What a job's releases have cost so far: this party's charged before each round, and the most of any party told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from hekat.privacy.accounting import Release, epsilon_of
from hekat.protocol.horizontal.privacy_settings import PrivacyPlan
from hekat.protocol.horizontal.training.training_state import RoundPrivacy
from hekat.state.privacy_budget import Spent


class Charges:
    """The releases of one job, as one party charges its own and knows all others' by the samples of the rounds.

    A claim is about the rows of any party, so what is told is of the party with the most releases. A party that trained
    a round again has charged it again; its own budget knows that.
    """

    def __init__(self, plan: PrivacyPlan, charge: Callable[[int, Release], Spent | None]) -> None:
        self._plan, self._charge = plan, charge
        self._rounds = 0
        self._by_party: Counter[str] = Counter()
        self._spent: Spent | None = None

    def charge(self, number: int) -> None:
        """Charge this party with round `number`, before its first block leaves. Raises BudgetError."""
        self._spent = self._charge(number, self._plan.claimed)

    def tell(self, number: int, parties_in: Callable[[str], tuple[str, ...]]) -> RoundPrivacy:
        """What all releases up to round `number` have cost; `parties_in` gives the sample of a step."""
        while self._rounds < number:
            self._rounds += 1
            self._by_party.update(parties_in(f"round-{self._rounds}"))
        privacy = self._plan.settings
        own = 0 if self._spent is None else self._spent.job_count
        count = max(own, *self._by_party.values())
        return RoundPrivacy(
            epsilon=epsilon_of({self._plan.claimed: count}, privacy.delta, privacy.neighbours),
            epsilon_at_one=epsilon_of({self._plan.at_one: count}, privacy.delta, privacy.neighbours),
            release_count=count,
            spent=self._spent,
        )
