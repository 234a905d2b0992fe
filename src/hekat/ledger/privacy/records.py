"""What a role notes of differential privacy in its ledger: facts and numbers, from which an audit reckons epsilon anew.

Each record is a note of one field: its name says in words what it is, its explanation holds the numbers as JSON.
"""

from __future__ import annotations

import json
import math
from dataclasses import MISSING, asdict, dataclass, fields
from typing import ClassVar, Final, Protocol, Self, cast, get_type_hints

from hekat.ledger.entry import LedgerEntry, canonical_json, damaged
from hekat.ledger.ledger import Ledger
from hekat.privacy.accounting import NEIGHBOURS, NoisedSum, Release
from hekat.wire import Disclosure

SETUP_STEP: Final = "setup"
WAIVED: Final = "budget waived"
"""The name of the note of a site that opened exact sums of rows with a privacy budget."""
WAIVED_TEXT: Final = (
    "policy.budget_waiver of the site file: exact sums or scores opened of these rows, which have a privacy budget; "
    "the epsilon that it shows says nothing of them any more"
)
UNITS: Final = ("row", "party")
_MOST_COUNT = 10**12
# Numbers beyond it, or below its inverse, are no job's, and their squares would not be numbers.
_MOST = 2.0**100


class NoisePromise(Protocol):
    """Whose term is bounded, how one of them differs, at which delta, and the chance of a row to be in a sum."""

    @property
    def unit(self) -> str: ...

    @property
    def neighbours(self) -> str: ...

    @property
    def delta(self) -> float: ...

    @property
    def sampling(self) -> float: ...


class UnsoundError(ValueError):
    """A record whose numbers no release can have; its text says what was expected."""


@dataclass(frozen=True)
class PrivacyRecord:
    """A note's numbers; `NAME` tells its kind."""

    NAME: ClassVar[str]

    def write(self, ledger: Ledger, step: str = SETUP_STEP) -> None:
        """Note the record in `step`. Raises as `Ledger.note`."""
        ledger.note(step, self.NAME, Disclosure("public", canonical_json(asdict(self)).decode()))

    @classmethod
    def read(cls, text: str) -> Self:
        """The record whose numbers `text` holds. Raises UnsoundError for others: a ledger may be anybody's."""
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            content = None
        kinds = get_type_hints(cls)
        names = [one.name for one in fields(cls)]
        # Earlier ledgers lack the numbers that came later, which have defaults.
        needed = {one.name for one in fields(cls) if one.default is MISSING}
        if not isinstance(content, dict) or not needed <= set(content) <= set(names):
            raise UnsoundError(f"the numbers {', '.join(names)}")
        found = cls(**{name: _as(kinds[name], name, value) for name, value in content.items()})
        found.check()
        return found

    def check(self) -> None:
        """Raise UnsoundError for numbers that do not go together."""


@dataclass(frozen=True)
class NoiseRecord(PrivacyRecord):
    """The noise of the sums that follow, and what it is held to keep.

    `noise` is z, the multiplier against `colluders` of `least_parties`, the fewest in a sum, and `noise_at_one` against
    one party by itself. `std` is of one party's noise, and `sensitivity` the most by which a `unit` moves a sum, both
    in levels; `levels`: the clip in levels, from which the sensitivity follows, None for sums of other things than
    clipped vectors. `every_sum`: whether the role sends sums without noise in no step. `clip`: the norm that is so many
    levels, in the units of what is summed.
    """

    NAME: ClassVar[str] = "differential privacy: noise of the sums from here on"
    unit: str
    neighbours: str
    delta: float
    noise: float
    noise_at_one: float
    sampling: float
    colluders: int
    least_parties: int
    party_count: int
    value_count: int
    sensitivity: float
    std: float
    levels: int | None
    every_sum: bool
    clip: float | None = None

    @classmethod
    def of(cls, one: NoisedSum, promise: NoisePromise, *, least: int, every_sum: bool) -> NoiseRecord:
        """The record of sums by the mechanism `one`, of `least` parties and more, which keep to `promise`."""
        return cls(
            promise.unit,
            promise.neighbours,
            promise.delta,
            one.noise,
            one.noise_against(1, least),
            promise.sampling,
            least - one.honest,
            least,
            one.party_count,
            one.value_count,
            one.sensitivity,
            one.std,
            one.levels,
            every_sum,
            one.clip,
        )

    @property
    def release(self) -> Release:
        """A sum against the claim's coalition."""
        return Release(self.noise, self.sampling, self.value_count, self.party_count, self.std)

    @property
    def release_at_one(self) -> Release:
        """A sum against one party by itself."""
        return Release(self.noise_at_one, self.sampling, self.value_count, self.party_count, self.std)

    def check(self) -> None:
        if self.unit not in UNITS or self.neighbours not in NEIGHBOURS:
            raise UnsoundError(f"a unit of {', '.join(UNITS)} and neighbours of {', '.join(NEIGHBOURS)}")
        if not (1 / _MOST <= self.delta < 1 and 1 / _MOST <= self.sampling <= 1):
            raise UnsoundError("a delta above 0 and below 1, and a sampling above 0 and up to 1")
        if not all(1 / _MOST <= one <= _MOST for one in (self.noise, self.noise_at_one, self.sensitivity, self.std)):
            raise UnsoundError("noise, sensitivity and std above 0")
        if not (self.clip is None or 1 / _MOST <= self.clip <= _MOST):
            raise UnsoundError("a clip above 0")
        if not 1 <= self.colluders < self.least_parties <= self.party_count <= _MOST_COUNT:
            raise UnsoundError("colluders, least_parties and party_count that rise from 1")
        if not 1 <= self.value_count <= _MOST_COUNT or not (self.levels is None or 1 <= self.levels <= _MOST_COUNT):
            raise UnsoundError("one value or more, and one level or more")


@dataclass(frozen=True)
class ChargeRecord(PrivacyRecord):
    """A noised sum, charged before anything of it left: it is the step of the note.

    `releases` are all of the party's in this job or loop so far, also in runs before a resumed one; `epsilon` and
    `epsilon_at_one` are claimed of them, None where none is finite. `spent` of `limit` is what all jobs have cost the
    rows, None where no budget counts them.
    """

    NAME: ClassVar[str] = "differential privacy: charged before it leaves"
    releases: int
    epsilon: float | None
    epsilon_at_one: float | None
    spent: float | None
    limit: float | None

    def check(self) -> None:
        if not 1 <= self.releases <= _MOST_COUNT:
            raise UnsoundError("one release or more")


@dataclass(frozen=True)
class LabelsRecord(PrivacyRecord):
    """Labels of `classes` classes, replaced once for all runs, that stay as they are with odds `keep_odds`."""

    NAME: ClassVar[str] = "differential privacy: labels replaced"
    epsilon: float
    classes: int
    keep_odds: float

    def check(self) -> None:
        if not (0 < self.epsilon < 700 and 2 <= self.classes <= _MOST_COUNT and 0 < self.keep_odds < 1):
            raise UnsoundError("an epsilon above 0, two classes or more, and odds between 0 and 1")


KINDS: Final[tuple[type[PrivacyRecord], ...]] = (NoiseRecord, ChargeRecord, LabelsRecord)
NOTED: Final = frozenset((WAIVED, *(kind.NAME for kind in KINDS)))
"""The names of all notes that an audit tells under differential privacy."""


def record_in(entry: LedgerEntry) -> PrivacyRecord | None:
    """The record that a line notes; None for other lines. Raises LedgerError, by the line, for one that is unsound."""
    if entry.direction != "note":
        return None
    for record in entry.fields:
        for kind in KINDS:
            if record.name == kind.NAME:
                try:
                    return kind.read(record.explanation)
                except UnsoundError as error:
                    raise damaged(entry.index + 1, f"a record of differential privacy with {error}", "others") from None
    return None


def record_waived(ledger: Ledger) -> None:
    """Note that the site waived the budget of the role's rows. Raises as `Ledger.note`."""
    ledger.note(SETUP_STEP, WAIVED, Disclosure("disclosed", WAIVED_TEXT))


def finite(value: float) -> float | None:
    """`value`, or None where it is infinite."""
    return value if math.isfinite(value) else None


def _as(kind: object, name: str, value: object) -> object:
    """`value` where it is of the field's type, whole numbers as floats where these are meant."""
    if value is None and kind in (float | None, int | None):
        return None
    if kind in (bool, str) and type(value) is kind:
        return value
    if kind in (int, int | None) and type(value) is int:
        return value
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    # No NaN and no infinity passes.
    if kind in (float, float | None) and is_number and abs(cast("float", value)) < 1e300:
        return float(cast("float", value))
    raise UnsoundError(f"{name} of another kind")
