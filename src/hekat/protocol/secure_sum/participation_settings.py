"""How many parties train in a round, as a job states it, checked once."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from hekat.errors import PolicyError

# A sum over fewer parties tells each of them too much of the others; two parties alone take part both or not at all.
LEAST_SAMPLE = 3


# Asked for with every message of a sum.
@lru_cache(maxsize=64)
def sample_size_of(participation: float, party_count: int) -> int:
    """ceil(participation * parties), of the fraction as it is written: 0.1 of 30 parties is 3, not 4."""
    return math.ceil(Fraction(repr(participation)) * party_count)


def check_participation(participation: float, min_parties: int, party_count: int) -> None:
    """Raise PolicyError for a fraction outside (0, 1], a sample that is too small, and too many `min_parties`."""
    if not 0 < participation <= 1:
        raise PolicyError(
            "setting training.participation refused",
            expected="a fraction above 0, up to 1",
            got=f"{participation}",
            cure="change training.participation",
        )
    if not 0 <= min_parties <= party_count:
        raise PolicyError(
            "setting training.min_parties refused",
            expected=f"0 to {party_count}, the parties of the job",
            got=f"{min_parties}",
            cure="change training.min_parties",
        )
    fewest = min(LEAST_SAMPLE, party_count)
    least, size = max(fewest, min_parties), sample_size_of(participation, party_count)
    if size < least:
        is_minimum = min_parties > fewest
        raise PolicyError(
            "setting training.participation refused",
            expected=f"{_fraction_of(least, party_count)} or more, {least} of {party_count} parties in each round: "
            + ("training.min_parties" if is_minimum else "the fewest that hide an update among them"),
            got=f"{participation}, {size} of {party_count}",
            cure="raise training.participation" + (", or lower training.min_parties" if is_minimum else ""),
        )


def _fraction_of(count: int, party_count: int) -> float:
    """A short decimal fraction of the parties that makes a sample of `count`."""
    scale = 10
    while (part := scale * count // party_count) * party_count <= scale * (count - 1):
        scale *= 10
    return part / scale
