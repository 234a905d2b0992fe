"""What a job's releases have cost so far: this party's charged before each round, and the most of any party told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from hekat.ledger.privacy.records import SETUP_STEP, ChargeRecord, PrivacyRecord, finite
from hekat.privacy.accounting import Release, epsilon_of
from hekat.protocol.horizontal.privacy_settings import PrivacyPlan
from hekat.protocol.horizontal.training.training_state import RoundPrivacy
from hekat.state.privacy_budget import Spent


class Charges:
    """The releases of one job, as one party charges its own and knows all others' by the samples of the rounds.

    A claim is about the rows of any party, so what is told is of the party with the most releases. A party that trained
    a round again has charged it again; its own budget knows that. The ledger has this party's own charges.
    """

    def __init__(
        self,
        plan: PrivacyPlan,
        charge: Callable[[int, Release], Spent | None],
        record: Callable[[PrivacyRecord, str], None],
    ) -> None:
        self._plan, self._charge, self._record = plan, charge, record
        self._own = 0
        record(plan.describe(), SETUP_STEP)
        self._rounds = 0
        self._by_party: Counter[str] = Counter()
        self._spent: Spent | None = None

    def charge(self, number: int) -> None:
        """Charge this party with round `number`, before its first block leaves. Raises BudgetError."""
        self._spent = spent = self._charge(number, self._plan.claimed)
        self._own = self._own + 1 if spent is None else spent.job_count
        claimed, at_one = self._epsilons(self._own)
        total, limit = (None, None) if spent is None else (finite(spent.epsilon), spent.limit)
        self._record(ChargeRecord(self._own, finite(claimed), finite(at_one), total, limit), f"round-{number}")

    def tell(self, number: int, parties_in: Callable[[str], tuple[str, ...]]) -> RoundPrivacy:
        """What all releases up to round `number` have cost; `parties_in` gives the sample of a step."""
        while self._rounds < number:
            self._rounds += 1
            self._by_party.update(parties_in(f"round-{self._rounds}"))
        own = 0 if self._spent is None else self._spent.job_count
        count = max(own, *self._by_party.values())
        return RoundPrivacy(*self._epsilons(count), release_count=count, spent=self._spent)

    def _epsilons(self, count: int) -> tuple[float, float]:
        """Of so many releases: against the claim's coalition, and against one party by itself."""
        plan, privacy = self._plan, self._plan.settings
        claimed, at_one = (
            epsilon_of({one: count}, privacy.delta, privacy.neighbours) for one in (plan.claimed, plan.at_one)
        )
        return claimed, at_one
