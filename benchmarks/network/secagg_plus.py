"""Rounds of Flower's SecAgg+, its own workflow and mod, over the mailboxes and links of this benchmark.

Flower's engine is not in it: its legacy workflow (`SecAggPlusWorkflow`, `secaggplus_mod`) hands its messages to a grid
of this file, which carries them as bytes. As in Flower, the server learns the mean, and sends it with the next round.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from hekat.channel.mailbox import MailboxChannel
from network.exchange import AGGREGATOR, receive_whole, send_whole
from network.forked_roles import RoleFigures, check_mean, play_forked, playing, values_of
from network.shaped_link import Link, ShapedPost

STEP = "message"
# One of three keys may be lost, as the committee of three that Hekat draws needs all: SecAgg+ has no threshold of n.
THRESHOLD = 2
# Every party weighs 1. SecAgg+ scales an update by weight / MAX_WEIGHT before it quantises: its own default, 1000,
# would cost an update of weight 1 ten of its 22 bits.
MAX_WEIGHT = 1.0


def play_secagg_plus(parties: tuple[str, ...], value_count: int, rounds: int, link: Link) -> dict[str, RoleFigures]:
    """The figures of each role; the last mean, which the server has, is checked."""
    figures = play_forked(
        (*parties, AGGREGATOR), lambda role, place: _play_role(role, parties, value_count, rounds, link, place)
    )
    check_mean(figures, parties, value_count, parties, holders=[AGGREGATOR])
    return figures


def _play_role(role: str, parties: tuple[str, ...], value_count: int, rounds: int, link: Link, place: Path) -> None:
    logging.disable(logging.WARNING)
    _name_task(0 if role == AGGREGATOR else 1 + parties.index(role))
    figures, post = RoleFigures(role), ShapedPost(place, role, link)
    channel = MailboxChannel(
        role, (*parties, AGGREGATOR), post, run_id="bench", timeout_s=600.0, lost_after_s=600.0, first_contact_s=600.0
    )
    with playing(post, channel, figures):
        channel.meet(b"")
        figures.begin_rounds(post)
        if role == AGGREGATOR:
            _serve(channel, parties, value_count, rounds, figures)
        else:
            _take_part(channel, values_of(parties, role, value_count), rounds, figures)


def _serve(
    channel: MailboxChannel, parties: tuple[str, ...], value_count: int, rounds: int, figures: RoleFigures
) -> None:
    from flwr.app import ConfigRecord, Context, RecordDict
    from flwr.common import FitIns, ndarrays_to_parameters, parameters_to_ndarrays
    from flwr.compat.common import recorddict_compat as compat
    from flwr.server.compat.legacy_context import LegacyContext
    from flwr.server.workflow import SecAggPlusWorkflow
    from flwr.server.workflow.constant import MAIN_CONFIGS_RECORD, MAIN_PARAMS_RECORD, Key

    class AllParties:
        """In a strategy's place: all parties train, and the workflow's own mean is the next model."""

        def configure_fit(self, server_round: int, parameters: Any, client_manager: Any) -> list[tuple[Any, FitIns]]:
            return [(SimpleNamespace(node_id=1 + number), FitIns(parameters, {})) for number in range(len(parties))]

        def aggregate_fit(self, server_round: int, results: Any, failures: Any) -> tuple[Any, dict[str, Any]]:
            return results[0][1].parameters, {}

    # The engine's Context asks for more from release to release; what the workflow reads is its state alone.
    legacy = LegacyContext.__new__(LegacyContext)
    legacy.strategy, legacy.client_manager = AllParties(), SimpleNamespace(num_available=lambda: len(parties))
    legacy.history = SimpleNamespace(add_metrics_distributed_fit=lambda **named: None)
    legacy.state = RecordDict()
    assert isinstance(legacy, Context)
    # As the means of later rounds, which SecAgg+ gives in float64.
    first = ndarrays_to_parameters([np.zeros(value_count)])
    legacy.state.array_records[MAIN_PARAMS_RECORD] = compat.parameters_to_arrayrecord(first, keep_input=True)
    workflow = SecAggPlusWorkflow(num_shares=len(parties), reconstruction_threshold=THRESHOLD, max_weight=MAX_WEIGHT)
    for number in range(1, rounds + 1):
        legacy.state.config_records[MAIN_CONFIGS_RECORD] = ConfigRecord({Key.CURRENT_ROUND: number})
        workflow(_MailboxGrid(channel, parties), legacy)
        figures.end_round()
    mean = parameters_to_ndarrays(
        compat.arrayrecord_to_parameters(legacy.state.array_records[MAIN_PARAMS_RECORD], keep_input=True)
    )[0]
    figures.end_rounds(mean)


def _take_part(channel: MailboxChannel, values: Any, rounds: int, figures: RoleFigures) -> None:
    from flwr.app import Context, Message, RecordDict
    from flwr.client.mod import secaggplus_mod
    from flwr.common import Code, FitRes, Status, ndarrays_to_parameters
    from flwr.common.secure_aggregation.secaggplus_constants import Stage
    from flwr.compat.common import recorddict_compat as compat

    def train(message: Message, context: Any) -> Message:
        result = FitRes(Status(Code.OK, ""), ndarrays_to_parameters([values]), 1, {})
        return Message(compat.fitres_to_recorddict(result, keep_input=True), reply_to=message)

    context: Any = SimpleNamespace(state=RecordDict())
    assert Context is not None
    for _ in range(rounds):
        for _ in Stage.all():
            message = _read(receive_whole(channel, AGGREGATOR, STEP))
            send_whole(channel, AGGREGATOR, STEP, _write(secaggplus_mod(message, context, train)))
        figures.end_round()


def _name_task(node: int) -> None:
    """What the engine sets for every task's process, and its messages carry."""
    from flwr.supercore.task_identity import TaskIdentity

    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 1000 if node == 0 else node


class _MailboxGrid:
    """What the workflow needs of a grid; node number n is the n-th party."""

    def __init__(self, channel: MailboxChannel, parties: tuple[str, ...]) -> None:
        self._channel, self._parties = channel, parties

    def send_and_receive(self, messages: Iterable[Any], *, timeout: float | None = None) -> list[Any]:
        asked = {}
        for message in messages:
            party = self._parties[message.metadata.dst_node_id - 1]
            asked[party] = message
            send_whole(self._channel, party, STEP, _write(message))
        return [_read(receive_whole(self._channel, party, STEP)) for party in asked]


def _write(message: Any) -> bytes:
    from flwr.common.serde import message_to_proto

    written: bytes = message_to_proto(message).SerializeToString()
    return written


def _read(content: bytes) -> Any:
    from flwr.common.serde import message_from_proto
    from flwr.proto.message_pb2 import Message as ProtoMessage

    return message_from_proto(ProtoMessage.FromString(content))
