"""What a party hears of a sum that it opened, or that did not open here: whether it stands at all parties."""

from __future__ import annotations

from hekat.errors import ProtocolError
from hekat.protocol.secure_sum.masked.messages import OutcomeMessage


def check_stands(step: str, outcome: OutcomeMessage) -> None:
    """Raise ProtocolError where the sum, which opened here, did not open at all parties."""
    if not outcome.stands:
        raise ProtocolError(
            f"the sum of {step} opens here, and not at all parties",
            expected="releases that fit together at every party",
            got="another party says that they do not",
            cure="ask the aggregator's operator, who passes on the releases, and resume from the last checkpoint",
        )


def check_fallen(step: str, outcome: OutcomeMessage) -> None:
    """Raise ProtocolError where the sum, which did not open here, is said to stand."""
    if outcome.stands:
        raise ProtocolError(
            f"the sum of {step} does not open",
            expected="a sum that stands once it opens at all parties",
            got="one that is said to stand without opening here",
            cure="the ledgers say whose releases did not fit: find out what runs there",
        )
