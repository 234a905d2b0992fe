"""The start-up of the sums, up to the first one, at a party and at the aggregator; it needs everybody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hekat.errors import PartyLostError, PartyStoppedError
from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.aggregation import Aggregation
from hekat.protocol.secure_sum.masked.messages import RunSecretsMessage
from hekat.protocol.secure_sum.masked.run_secrets import tell_run_secrets
from hekat.protocol.secure_sum.masked.start_up import join_masked, start_masked
from hekat.protocol.secure_sum.paillier.start_up import join_paillier, start_paillier
from hekat.protocol.secure_sum.plain.start_up import join_plain, start_plain
from hekat.protocol.secure_sum.roster import Roster
from hekat.protocol.secure_sum.settings import Protection, SumSettings
from hekat.protocol.secure_sum.sum_run import AggregatorSumRun, PartySumRun
from hekat.protocol.secure_sum.summation import Summation

_Join = Callable[[RecordedChannel, SumSettings, PartySumRun], tuple[Aggregation, bytes]]
_Start = Callable[[RecordedChannel, SumSettings, Roster, AggregatorSumRun], Summation]

_JOIN: dict[Protection, _Join] = {"lattice": join_masked, "paillier": join_paillier, "none": join_plain}
_START: dict[Protection, _Start] = {"lattice": start_masked, "paillier": start_paillier, "none": start_plain}


def join_sums(channel: RecordedChannel, settings: SumSettings, run: PartySumRun) -> tuple[Aggregation, bytes]:
    """This party's side of the sums, and the key of model digests (none under protection `none`).

    Shares keys and tells upload numbers. The aggregator answers with `start_summation`.
    """
    return _JOIN[settings.protection](channel, settings, run)


def tell_early(channel: RecordedChannel, settings: SumSettings) -> RunSecretsMessage | None:
    """What this party gives the others along with its confirmation of the session, a leg earlier than `join_sums`.

    Under `lattice` the leader gives the secrets of the run, which no other session uses. Paillier's private key may be
    a stored one, and waits until all have confirmed.
    """
    tells = settings.protection == "lattice" and channel.party == settings.leader
    return tell_run_secrets(channel, settings) if tells else None


def start_summation(
    channel: RecordedChannel, settings: SumSettings, roster: Roster, run: AggregatorSumRun
) -> Summation:
    """The aggregator's side of the sums, once keys and numbers are told."""
    return _START[settings.protection](channel, settings, roster, run)


@contextmanager
def needs_everybody() -> Iterator[None]:
    """A drop-out within it ends the run for all: raises PartyStoppedError that names the party."""
    try:
        yield
    except PartyLostError as error:
        raise PartyStoppedError(
            f"the run cannot begin without all parties: {error.what}", party=error.party, step=error.step
        ) from error
