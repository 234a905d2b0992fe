"""The end of a round, at a party and at the aggregator: all models are equal, and all go on or all stop."""

from __future__ import annotations

from hekat.errors import ModelsDifferError
from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.agreement.messages import RoundAgreedMessage, RoundEndMessage
from hekat.protocol.secure_sum.roster import Roster


def tell_round_end(channel: RecordedChannel, aggregator: str, step: str, model_digest: bytes, finished: bool) -> None:
    """Report this party's model digest, and whether it stops here."""
    channel.send(aggregator, f"{step}/end", RoundEndMessage(model_digest=model_digest, finished=finished))


def receive_agreed(channel: RecordedChannel, aggregator: str, step: str, *, timeout_s: float | None = None) -> None:
    """Wait until the aggregator has found all parties' models equal."""
    channel.receive(aggregator, f"{step}/agreed", RoundAgreedMessage, timeout_s=timeout_s)


def serve_round_end(roster: Roster, step: str) -> bool:
    """Whether the parties end training with this step. Raises ModelsDifferError unless all hold the same model."""
    ends = roster.receive_from_all(f"{step}/end", RoundEndMessage)
    roster.check_enough(step, 1)
    groups: dict[tuple[bytes, bool], list[str]] = {}
    for party, end in ends.items():
        groups.setdefault((end.model_digest, end.finished), []).append(party)
    if len(groups) > 1:
        described = " | ".join(", ".join(group) for group in groups.values())
        # Parties do not await the answer before they save: what they saved after this step is in doubt, no earlier one.
        raise ModelsDifferError(
            f"parties hold different models after {step}",
            expected="one model at all parties",
            got=f"{len(groups)} different ones: {described}",
            cure="find out what runs at these parties: their ledgers hold the digests of every sum that came. Then "
            "resume from the round before, or begin anew",
        )
    roster.send_to_all(f"{step}/agreed", RoundAgreedMessage(party_count=len(ends)))
    return next(iter(ends.values())).finished
