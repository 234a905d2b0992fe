"""The role of the owner: it adds both shares of a model. One that is no host hears from hosts what the model is of."""

from __future__ import annotations

from hekat.errors import ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.encrypted_model.messages import ModelShareMessage, RoundEndMessage
from hekat.protocol.encrypted_model.owned_model import OwnedModel
from hekat.protocol.encrypted_model.party_run import EncryptedModelRun, ShareState
from hekat.protocol.encrypted_model.set_up.facts import ModelFacts, receive_facts
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings
from hekat.protocol.encrypted_model.steps import round_step
from hekat.protocol.encrypted_model.transcript import check_same_transcript
from hekat.protocol.shares.share_array import add_shares


def run_owner(channel: RecordedChannel, settings: EncryptedModelSettings, run: EncryptedModelRun) -> OwnedModel:
    """The role of an owner that is no host; returns the model of the last round."""
    facts, training = receive_facts(channel, settings), settings.training
    model = None if run.rounds_done < training.rounds else receive_model(channel, settings, run, facts, training.rounds)
    for number in range(run.rounds_done + 1, training.rounds + 1):
        if training.reports(number):
            model = receive_model(channel, settings, run, facts, number)
        channel.receive(settings.aggregator, round_step(number, "end"), RoundEndMessage)
        run.end_round(channel, ShareState({}, number, finished=number >= training.rounds))
    assert model is not None  # the last round is always reported
    return model


def receive_model(
    channel: RecordedChannel,
    settings: EncryptedModelSettings,
    run: EncryptedModelRun,
    facts: ModelFacts,
    round_number: int,
) -> OwnedModel:
    """Add both shares of the model after a round, and pass it to `run.on_model`.

    Raises ProtocolError for shares of another shape or that do not belong together, DivergedError for weights beyond
    the room.
    """
    step, shape = round_step(round_number, "model"), (len(facts.columns) + 1, settings.target_count, 2)
    roles = (settings.arbiter, settings.aggregator)
    shares = [channel.receive(role, step, ModelShareMessage) for role in roles]
    for role, told in zip(roles, shares, strict=True):
        if told.share.shape != shape:
            raise ProtocolError(
                f"{role!r} sent a share of another model",
                expected=f"shape {shape}",
                got=f"{told.share.shape}",
                cure="all roles must run the same job and release",
            )
    check_same_transcript(shares[0].transcript, shares[1].transcript, " and ".join(roles))
    model = facts.own(add_shares(shares[0].share, shares[1].share), round_number, settings)
    run.on_model(model)
    return model
