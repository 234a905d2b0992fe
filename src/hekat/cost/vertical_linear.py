"""What the epochs of a vertical job will cost: bytes and seconds by role, from a rehearsal on random rows.

One batch and two are really trained on for two epochs, in this process, with the job's settings, roles and numbers of
columns, under keys that are thrown away. What a batch takes is the difference of the two; messages and arithmetic do
not depend on the values in the rows. Matching rows, making Paillier keys and predicting are not in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hekat.channel import Channel, PartyKey
from hekat.cost.calibrate import make_passing_key
from hekat.cost.horizontal import RUN_ID
from hekat.cost.rehearsed_rows import deal_labels, normal_rows
from hekat.cost.rehearsed_steps import ColumnsCost, Cost, RoleEstimate, costs_of_two_steps
from hekat.data import Table, is_dense
from hekat.engine.tenancy import declare_tenancy
from hekat.job.vertical_linear.job_file import PROTOCOL, VerticalJob
from hekat.job.vertical_linear.key_makers import key_makers
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.vertical.batches import batch_count
from hekat.protocol.vertical_linear.arbiter.bfv_capacity import check_bfv_capacity
from hekat.protocol.vertical_linear.arbiter.messages import StartMessage
from hekat.protocol.vertical_linear.party_run import EpochRecord, PartyRun
from hekat.protocol.vertical_linear.roles import run_role
from hekat.protocol.vertical_linear.settings import COLUMN_LEAK_ACCEPTED, LEAK_ACCEPTED, VerticalLinearSettings
from hekat.protocol.vertical_linear.shared_weights.many_parties.batch_rows import least_batch_rows
from hekat.run.vertical_linear.load_inputs import VerticalInputs
from hekat.scheme.bfv import PRODUCTS
from hekat.scheme.paillier import KeyPair

MAX_REHEARSED_ROWS = 2048
_NEVER_ENOUGH = 1e9
_DIGEST = bytes(32)


@dataclass(frozen=True)
class VerticalCost(ColumnsCost):
    """The cost of a regression's epochs, of `batch_count` batches each."""

    word: str = "epoch"
    batch_count: int = 1

    def to_json(self) -> dict[str, Any]:
        """Plain tables and numbers."""
        return {**super().to_json(), "batches": self.batch_count}

    def say_steps(self) -> str:
        """How many batches and epochs there are, for a reader."""
        batches = "1 batch" if self.batch_count == 1 else f"{self.batch_count} batches"
        return f"{batches}, {super().say_steps()}"

    def say_apart(self) -> str:
        """What a run does besides, for a reader."""
        return (
            "matching rows, making keys and predicting, such as for rows held out or that probabilities are fitted to"
        )


def cost_of_vertical_job(inputs: VerticalInputs) -> VerticalCost:
    """Rehearse the job's training and reckon what all of it takes; nothing is written or sent."""
    settings = inputs.job.settings
    row_count = min(len(table) for table in inputs.tables.values())
    batches = batch_count(row_count, settings.training.batch_rows)
    rows_of_batch = -(-row_count // batches)
    is_lattice = settings.protection == "lattice"
    if is_lattice:
        _check_room(inputs, row_count)
    columns = sum(len(table.feature_names) for table in inputs.tables.values())
    most = max(MAX_REHEARSED_ROWS, least_batch_rows(settings, columns) if settings.form == "shared_weights" else 0)
    rehearsed = min(rows_of_batch, PRODUCTS.degree if is_lattice else most)
    keys = _passing_keys(inputs.job)
    with declare_tenancy(inputs.site.machine.single_tenant):
        one = _rehearse(inputs, rehearsed, 1, keys)
        two = _rehearse(inputs, rehearsed, 2, keys) if batches > 1 else one
        # Masked sums are as large for a ciphertext full of rows as for several: these are told apart by rehearsing two.
        full = is_lattice and rows_of_batch > rehearsed
        wide = _rehearse(inputs, 2 * rehearsed, 1, keys) if full else one
    # Elsewhere a batch beyond the rehearsed ones is reckoned with by its rows.
    scale = 1.0 if is_lattice else rows_of_batch / rehearsed
    further = batches * (-(-rows_of_batch // rehearsed) - 1)

    def reckon(role: str, part: int) -> Cost:
        small, large = one[role][part], wide[role][part]
        return _scale(small, two[role][part], batches, scale).plus(large.beyond(small), further)

    roles = tuple(RoleEstimate(role, reckon(role, 0), reckon(role, 1)) for role in settings.everyone)
    return VerticalCost(row_count, settings.training.epochs, roles, batch_count=batches)


def _check_room(inputs: VerticalInputs, row_count: int) -> None:
    """Raise BoundError where BFV would have no room, if all rows are common and no feature passes twice its spread."""
    settings = inputs.job.settings
    start = StartMessage(
        row_count=row_count,
        column_counts=[len(inputs.tables[party].feature_names) for party in settings.parties],
        high_leverage_columns=0,
        feature_bits=settings.fixed_point.feature_bits + 1,
        target_bits=1,
        epochs_done=0,
        finished=False,
    )
    check_bfv_capacity(start, settings)


def _scale(one: Cost, two: Cost, batches: int, scale: float) -> Cost:
    """What one batch took, and what each further one adds."""
    if batches == 1:
        return Cost(one.sent_bytes * scale, one.seconds * scale)
    return one.plus(two.beyond(one), scale * batches - 1)


def _passing_keys(job: VerticalJob) -> dict[str, KeyPair]:
    if job.settings.protection != "paillier":
        return {}
    private = {name: make_passing_key(job.settings.key_bits) for name in key_makers(job)}
    return {name: KeyPair(key.public, key) for name, key in private.items()}


def _rehearse(
    inputs: VerticalInputs, batch_rows: int, batches: int, keys: Mapping[str, KeyPair]
) -> dict[str, tuple[Cost, Cost]]:
    """Each role's cost up to the end of the first epoch, and of the second."""
    settings = _rehearsed_settings(inputs.job.settings, batch_rows)
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

        def note_epoch(record: EpochRecord) -> None:
            worked[name][record.epoch] = sum(watch.seconds.values())

        run = PartyRun(watch, on_epoch=note_epoch, key_pair=keys.get(name))
        return session.play(channel, lambda recorded: run_role(recorded, tables.get(name), settings, run))

    play_in_process(dict.fromkeys(settings.everyone, play), timeout_s=inputs.job.timeout_s)
    return {name: costs_of_two_steps(sessions[name], worked[name], "epoch-2") for name in settings.everyone}


def _rehearsed_settings(settings: VerticalLinearSettings, batch_rows: int) -> VerticalLinearSettings:
    """The job's, in such batches, ended after its second epoch by a rule that nothing satisfies."""
    training = replace(
        settings.training, batch_rows=batch_rows, patience=1, min_improvement=_NEVER_ENOUGH, stop_at_loss=0.0
    )
    return replace(
        settings, training=training, label_leak_accepted=LEAK_ACCEPTED, column_leak_accepted=COLUMN_LEAK_ACCEPTED
    )


def _random_table(
    like: Table, row_count: int, labelled: VerticalLinearSettings | None, rng: np.random.Generator
) -> Table:
    """Rows of as many columns as `like` has, and as dense; with labels of every class where it is the guest's."""
    row_count = max(row_count, 2)
    features = normal_rows(like, row_count, rng)
    if not is_dense(like.features):
        from scipy import sparse

        density = like.features.nnz / max(1, like.features.shape[0] * like.features.shape[1])
        kept = rng.random(features.shape) < density
        kept[0] = True  # no column is all zeros
        features = sparse.csr_array(features * kept)
    labels = None if labelled is None else deal_labels(labelled.classes, row_count, rng)
    return Table(features, labels, like.feature_names, like.name)
