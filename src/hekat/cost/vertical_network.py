"""What the epochs of a job of a split network will cost: bytes and seconds by role, from a rehearsal on random rows.

One batch and two are really trained on for two epochs, in this process, with the job's settings, roles and numbers of
columns, under keys that are thrown away. What a batch takes is the difference of the two; messages and arithmetic do
not depend on the values in the rows. Matching rows and predicting are not in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hekat.channel import Channel, PartyKey
from hekat.cost.horizontal import RUN_ID
from hekat.cost.rehearsed_rows import deal_labels, normal_rows
from hekat.cost.rehearsed_steps import ColumnsCost, Cost, RoleEstimate, costs_of_two_steps
from hekat.data import Table
from hekat.engine.tenancy import declare_tenancy
from hekat.job.vertical_network.job_file import PROTOCOL
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.vertical_network.layer_exchange import uses_of
from hekat.protocol.vertical_network.party_run import NetworkRecord, NetworkRun
from hekat.protocol.vertical_network.roles import run_role
from hekat.protocol.vertical_network.settings import LABELS_ACCEPTED, VerticalNetworkSettings
from hekat.run.vertical_network.load_inputs import NetworkInputs

_DIGEST = bytes(32)
_REHEARSED_EPOCHS = 2
RoleCosts = dict[str, tuple[Cost, Cost]]


@dataclass(frozen=True)
class NetworkCost(ColumnsCost):
    """The cost of a network's epochs, of `batch_count` batches each."""

    word: str = "epoch"
    batch_count: int = 1

    def to_json(self) -> dict[str, Any]:
        """Plain tables and numbers."""
        return {**super().to_json(), "batches": self.batch_count}

    def say_steps(self) -> str:
        """How many batches and epochs there are, for a reader."""
        batches = "1 batch" if self.batch_count == 1 else f"{self.batch_count} batches"
        return f"{batches}, {super().say_steps()}"


def cost_of_network_job(inputs: NetworkInputs) -> NetworkCost:
    """Rehearse the job's training and reckon what all of it takes; nothing is written or sent."""
    settings = inputs.job.settings
    row_count = min(len(table) for table in inputs.tables.values())
    batch_rows = min(settings.training.batch_rows, row_count)
    batches = -(-row_count // batch_rows)
    uses = uses_of(settings, settings.training.epochs, batches)
    with declare_tenancy(inputs.site.machine.single_tenant):
        one = _rehearse(inputs, batch_rows, 1, uses)
        two = _rehearse(inputs, batch_rows, 2, uses) if batches > 1 else one

    def reckon(role: str, part: int) -> Cost:
        return one[role][part].plus(two[role][part].beyond(one[role][part]), row_count / batch_rows - 1)

    roles = tuple(RoleEstimate(role, reckon(role, 0), reckon(role, 1)) for role in settings.everyone)
    return NetworkCost(row_count, settings.training.epochs, roles, batch_count=batches)


def _rehearse(inputs: NetworkInputs, batch_rows: int, batches: int, uses: int) -> RoleCosts:
    """Each role's cost up to the end of the first epoch, and of the second; `uses` are the job's `uses_of`."""
    settings = _rehearsed_settings(inputs.job.settings)
    rng = np.random.default_rng(batches)
    tables = {
        name: _random_table(table, batch_rows * batches, settings if name == settings.guest else None, rng)
        for name, table in inputs.tables.items()
    }
    party_keys = {name: PartyKey.generate() for name in settings.everyone}
    sessions = make_sessions(party_keys, run_id=RUN_ID, protocol=PROTOCOL, job_digest=_DIGEST)
    worked: dict[str, dict[int, float]] = {name: {} for name in settings.everyone}

    def play(channel: Channel) -> object:
        name = channel.party
        session, watch = sessions[name], sessions[name].stopwatch

        def note(record: NetworkRecord) -> None:
            worked[name][record.epoch] = sum(watch.seconds.values())

        bottom, top = inputs.bottoms[name].make, inputs.tops[name].make
        run = NetworkRun(watch, on_epoch=note, make_bottom=bottom, make_top=top, kept_uses=uses)
        return session.play(channel, lambda recorded: run_role(recorded, tables[name], settings, run))

    play_in_process(dict.fromkeys(settings.everyone, play), timeout_s=inputs.job.timeout_s)
    return {name: costs_of_two_steps(sessions[name], worked[name], "epoch-2") for name in settings.everyone}


def _rehearsed_settings(settings: VerticalNetworkSettings) -> VerticalNetworkSettings:
    """The job's, of two epochs, with no row held out; random labels need no privacy, and no ids."""
    training = replace(
        settings.training, epochs=_REHEARSED_EPOCHS, validation_fraction=0.0, patience=0, stop_at_loss=0.0
    )
    accepted = settings.labels_accepted if settings.label_privacy is None else LABELS_ACCEPTED
    return replace(settings, training=training, label_privacy=None, labels_accepted=accepted)


def _random_table(
    like: Table, row_count: int, labelled: VerticalNetworkSettings | None, rng: np.random.Generator
) -> Table:
    """Rows of as many columns as `like` has; with labels of every class where it is the guest's."""
    features = normal_rows(like, row_count, rng)
    labels = None if labelled is None else deal_labels(labelled.classes, row_count, rng)
    return Table(features, labels, like.feature_names, like.name)
