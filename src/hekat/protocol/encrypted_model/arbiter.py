"""The role of the arbiter: it holds the key, and neither rows nor the model.

1. make the key pair and send the public half to hosts and aggregator; hear how many columns there are
2. each round: encrypt its share of the weights; open the masked sum, which is uniform, and truncate what it opened:
   its next share
3. after the last round, and after each that is reported: send the owner its share
"""

from __future__ import annotations

from hekat.errors import ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.encrypted_model.arithmetic.affine_map import state_size
from hekat.protocol.encrypted_model.arithmetic.blame import blame
from hekat.protocol.encrypted_model.arithmetic.choose import make_arbiter
from hekat.protocol.encrypted_model.arithmetic.fixed_point import check_room, truncate_arbiter_share
from hekat.protocol.encrypted_model.held_share import HeldShare
from hekat.protocol.encrypted_model.messages import SHARES, SUMS, KeyMessage, StartMessage
from hekat.protocol.encrypted_model.party_run import EncryptedModelRun
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings
from hekat.protocol.encrypted_model.steps import KEY_STEP, START_STEP, round_step
from hekat.protocol.encrypted_model.timing_labels import DECRYPT, ENCRYPT, KEYS


def run_arbiter(channel: RecordedChannel, settings: EncryptedModelSettings, run: EncryptedModelRun) -> None:
    """Serve one run to its end."""
    training = settings.training
    with run.stopwatch.measure(KEYS):
        maker = make_arbiter(channel, settings, run)
    for name in (*settings.hosts, settings.aggregator):
        channel.send(name, KEY_STEP, KeyMessage(public_key=maker.public_key, rounds_done=run.rounds_done))
    start = channel.receive(settings.aggregator, START_STEP, StartMessage)
    if start.rounds_done != run.rounds_done or start.column_count < 1:
        raise ProtocolError(
            f"{settings.aggregator!r} begins another run than {channel.party!r}",
            expected=f"{run.rounds_done} rounds done, and at least one column",
            got=f"{start.rounds_done} rounds, {start.column_count} columns",
            cure="resume all roles from folders of one run, or begin anew",
        )
    size = state_size(start.column_count, settings)
    check_room(size, settings.target_count, training.rounds)
    shape = (size, settings.target_count)
    side, held = maker.for_shape(shape), HeldShare.begin(channel, shape, run)
    if held.rounds_done >= training.rounds:
        held.hand_over(channel, settings, start.column_count + 1)
    for number in range(held.rounds_done + 1, training.rounds + 1):
        with run.stopwatch.measure(ENCRYPT):
            encrypted = side.encrypt(held.share)
        message = SHARES[settings.protection](encrypted, held.transcript)
        channel.send(settings.aggregator, round_step(number, "share"), message)
        total = channel.receive(settings.aggregator, round_step(number, "sum"), SUMS[settings.protection]).values
        with run.stopwatch.measure(DECRYPT), blame(settings.aggregator):
            held = held.after(truncate_arbiter_share(side.open(total)), total)
        if training.reports(number):
            held.hand_over(channel, settings, start.column_count + 1)
        run.end_round(channel, held.state(training.rounds))
