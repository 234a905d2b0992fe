"""How a joint prediction begins: the guest says which model, how many rows, who receives; hosts hold it to theirs."""

from __future__ import annotations

from hekat.errors import ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical_network.model_part import NetworkPart
from hekat.protocol.vertical_network.prediction.messages import NetworkPredictionCallMessage
from hekat.protocol.vertical_network.prediction.settings import NetworkPredictionSettings
from hekat.protocol.vertical_network.steps import PREDICT_STEP

CALL_STEP = f"{PREDICT_STEP}/call"


def call_hosts(
    channel: RecordedChannel, part: NetworkPart, row_count: int, settings: NetworkPredictionSettings, public_key: bytes
) -> None:
    """The guest's half."""
    call = NetworkPredictionCallMessage(part.model_id, row_count, list(settings.receivers), public_key)
    for host in part.hosts:
        channel.send(host, CALL_STEP, call)


def hear_guest(
    channel: RecordedChannel, part: NetworkPart, row_count: int, settings: NetworkPredictionSettings
) -> bytes:
    """A host's half: the guest's public key. Raises ProtocolError for another model, other rows or receivers."""
    call = channel.receive(part.guest, CALL_STEP, NetworkPredictionCallMessage)
    for what, guests, own in (
        ("another part of the model", call.model_id, part.model_id),
        ("another number of rows", call.row_count, row_count),
        ("other receivers", call.receivers, list(settings.receivers)),
    ):
        if guests != own:
            raise ProtocolError(
                f"{channel.party} and {part.guest} come to predict with {what}",
                expected=f"as at {part.guest}: {guests}",
                got=f"at {channel.party}: {own}",
                cure="use the parts of one training, the same rows in the same order, and one job",
            )
    return call.public_key
