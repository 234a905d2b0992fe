"""The role of a host: it has rows, and trains a model that it cannot read.

    1. take the arbiter's key; tell the aggregator its columns; exchange seeds of masks with the other hosts
    2. sum rows, means and spreads with the other hosts, standardise, and make the affine map of its local epochs
    3. each round: multiply the encrypted weights by its map, and send the product, hidden for the sum over hosts

A host that is the owner also receives both shares of the model, and adds them.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from hekat.data import Table
from hekat.errors import ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.encrypted_model.arithmetic.affine_map import make_map, state_size
from hekat.protocol.encrypted_model.arithmetic.blame import blame
from hekat.protocol.encrypted_model.arithmetic.choose import make_host
from hekat.protocol.encrypted_model.arithmetic.fixed_point import check_room, round_map
from hekat.protocol.encrypted_model.messages import UPDATES, WEIGHTS, KeyMessage, ReadyMessage, StartMessage
from hekat.protocol.encrypted_model.owned_model import OwnedModel
from hekat.protocol.encrypted_model.owner import receive_model
from hekat.protocol.encrypted_model.party_run import EncryptedModelRun, ShareState
from hekat.protocol.encrypted_model.set_up.facts import ModelFacts
from hekat.protocol.encrypted_model.set_up.host_seeds import agree_on_seeds
from hekat.protocol.encrypted_model.set_up.host_table import FloatArray, features_of, targets_of
from hekat.protocol.encrypted_model.set_up.moments import check_magnitudes, sum_moments
from hekat.protocol.encrypted_model.set_up.same_rounds import check_same_rounds
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings
from hekat.protocol.encrypted_model.steps import FACTS_STEP, KEY_STEP, READY_STEP, START_STEP, round_step
from hekat.protocol.encrypted_model.timing_labels import MAP, MOMENTS, PRODUCTS

REPEATED: Final = "goes on after round {rounds}; rounds after it that were played before are one more answer to others"


def run_host(
    channel: RecordedChannel, table: Table, settings: EncryptedModelSettings, run: EncryptedModelRun
) -> OwnedModel | None:
    """Train with the others; returns the model where the host is its owner."""
    training, columns = settings.training, table.feature_names
    features, targets = features_of(table), targets_of(table, settings)
    values = np.column_stack([features, targets]) if settings.task == "linear" else features
    check_magnitudes(values)
    check_room(state_size(len(columns), settings), settings.target_count, training.rounds)
    key = channel.receive(settings.arbiter, KEY_STEP, KeyMessage)
    check_same_rounds(settings.arbiter, key.rounds_done, run)
    channel.send(settings.aggregator, READY_STEP, ReadyMessage(list(columns), run.rounds_done))
    start = channel.receive(settings.aggregator, START_STEP, StartMessage)
    check_same_rounds(settings.aggregator, start.rounds_done, run)
    if start.column_count != len(columns):
        raise ProtocolError(
            f"{settings.aggregator!r} begins with other columns",
            expected=f"{len(columns)}",
            got=f"{start.column_count}",
            cure="all roles must run the same job and release",
        )
    if run.rounds_done:
        channel.ledger.note("setup", REPEATED.format(rounds=run.rounds_done), "public")
    seeds = agree_on_seeds(channel, settings.hosts)
    moments = sum_moments(
        channel, settings.aggregator, seeds, values, standardise=training.standardise, stopwatch=run.stopwatch
    )
    with run.stopwatch.measure(MOMENTS):
        values = moments.standardise(values)
    facts = ModelFacts(columns, moments)
    run.on_facts(facts)
    if not settings.owner_is_host:
        channel.send(settings.owner, FACTS_STEP, facts.message())
    with run.stopwatch.measure(MAP):
        features, targets = _split(values, targets, settings)
        own = round_map(make_map(features, targets, settings), len(table) / moments.row_count)
        side = make_host(channel, settings, key.public_key, own, seeds)
    is_owner = channel.party == settings.owner
    model = None
    if is_owner and run.rounds_done >= training.rounds:
        model = receive_model(channel, settings, run, facts, training.rounds)
    for number in range(run.rounds_done + 1, training.rounds + 1):
        weights = channel.receive(settings.aggregator, round_step(number, "weights"), WEIGHTS[settings.protection])
        with run.stopwatch.measure(PRODUCTS), blame(settings.aggregator):
            update = UPDATES[settings.protection](side.update(weights.values, number))
        channel.send(settings.aggregator, round_step(number, "update"), update)
        if is_owner and training.reports(number):
            model = receive_model(channel, settings, run, facts, number)
        run.end_round(channel, ShareState({}, number, finished=number >= training.rounds))
    return model


def _split(values: FloatArray, targets: FloatArray, settings: EncryptedModelSettings) -> tuple[FloatArray, FloatArray]:
    """Standardised columns, and targets; the numbers of a regression are the last column."""
    return (values[:, :-1], values[:, -1:]) if settings.task == "linear" else (values, targets)
