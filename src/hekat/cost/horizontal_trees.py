"""What the iterations of a job of trees across rows will cost: bytes and seconds by role, from a rehearsal.

Two iterations are really grown on rows with shuffled columns, in this process, with the job's settings and roles, under
keys that are thrown away. Random labels grow full trees. Tables of many rows are rehearsed with two numbers of rows,
and the rest is reckoned with by rows. Sums before the first iteration are part of its cost.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np

from hekat.channel import Channel, PartyKey
from hekat.cost.horizontal import RUN_ID
from hekat.cost.rehearsed_rows import deal_cells
from hekat.cost.rehearsed_steps import ColumnsCost, Cost, RoleEstimate, costs_of_two_steps, leaf_of_fewer_rows
from hekat.data import Table
from hekat.disk_errors import disk_errors_as_state_errors
from hekat.engine.tenancy import declare_tenancy
from hekat.job.horizontal_trees.job_file import PROTOCOL
from hekat.ledger import RecordedChannel
from hekat.protocol.horizontal_trees.aggregator import AggregatorRun, run_aggregator
from hekat.protocol.horizontal_trees.party import PartyRun, run_party
from hekat.protocol.horizontal_trees.settings import HorizontalTreesSettings
from hekat.protocol.horizontal_trees.state import TreesState
from hekat.protocol.horizontal_trees.sums_ahead import plan_sums
from hekat.protocol.horizontal_trees.training import IterationRecord, LocalRun
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.role_session import RoleSession
from hekat.protocol.secure_sum.masked.key_authority import AuthorityRun, run_authority
from hekat.protocol.secure_sum.masked.upload_state import UploadState, open_upload_state
from hekat.protocol.secure_sum.partners import pairs_begin_later
from hekat.run.horizontal_trees.load_inputs import RowTreesInputs

REHEARSED_ROWS = (4096, 8192)
_DIGEST = bytes(32)
_REHEARSED = 2
RoleCosts = dict[str, tuple[Cost, Cost]]


def cost_of_row_trees_job(inputs: RowTreesInputs) -> ColumnsCost:
    """Rehearse the job's training and reckon what all of it takes; nothing is written or sent."""
    settings = inputs.job.settings
    most = max(len(table) for table in inputs.tables.values())
    small, large = REHEARSED_ROWS
    with declare_tenancy(inputs.site.machine.single_tenant):
        found = _rehearse(inputs, min(most, large))
        if most > large:
            found = _extrapolate(_rehearse(inputs, small), found, most)
    roles = tuple(RoleEstimate(role, *found[role]) for role in settings.everyone)
    return ColumnsCost(most, settings.training.max_iter, roles, "iteration")


def _extrapolate(small: RoleCosts, large: RoleCosts, row_count: int) -> RoleCosts:
    """Costs of `row_count` rows, by the difference of two numbers of rows; bytes do not depend on them."""
    times = (row_count - REHEARSED_ROWS[1]) / (REHEARSED_ROWS[1] - REHEARSED_ROWS[0])

    def beyond(one: Cost, other: Cost) -> Cost:
        return replace(one, seconds=one.seconds + times * max(0.0, one.seconds - other.seconds))

    return {role: (beyond(large[role][0], small[role][0]), beyond(large[role][1], small[role][1])) for role in large}


def _rehearse(inputs: RowTreesInputs, most_rows: int) -> RoleCosts:
    """Each role's cost up to the end of the first iteration, and of the second."""
    training, tables = inputs.job.settings.training, inputs.tables
    row_counts = {name: min(len(table), most_rows) for name, table in tables.items()}
    rehearsed, total = sum(row_counts.values()), sum(map(len, tables.values()))
    leaf = leaf_of_fewer_rows(training.min_samples_leaf, rehearsed, total, len(tables))
    private = inputs.job.settings.privacy
    if private is None:
        training = replace(training, max_iter=_REHEARSED, early_stopping=False, min_samples_leaf=leaf)
    else:
        # Random splits ask for no rows; fewer iterations would have other noise of the same epsilon.
        training = replace(training, max_iter=_REHEARSED)
        private = replace(private, epsilon=None, noise=inputs.job.settings.leaf_noise.claimed.noise)
    settings = replace(inputs.job.settings, training=training, privacy=private)
    rng = np.random.default_rng(most_rows)
    tables = {name: _random_table(table, row_counts[name], settings, rng) for name, table in tables.items()}
    party_keys = {name: PartyKey.generate() for name in settings.everyone}
    sessions = make_sessions(party_keys, run_id=RUN_ID, protocol=PROTOCOL, job_digest=_DIGEST)
    worked: Mapping[str, dict[int, float]] = {name: {} for name in settings.everyone}

    def note(name: str, iteration: int) -> None:
        worked[name][iteration] = sum(sessions[name].stopwatch.seconds.values())

    with ExitStack() as stack:
        states = _passing_states(settings, stack)

        def play(channel: Channel) -> None:
            name = channel.party

            def note_iteration(record: IterationRecord, state: TreesState) -> None:
                note(name, record.iteration)
                if name == settings.leader:
                    # Roles without rows do not know where an iteration ends.
                    for other in set(settings.everyone) - set(settings.parties):
                        note(other, record.iteration)

            def play_role(recorded: RecordedChannel) -> None:
                local = LocalRun(sessions[name].stopwatch, note_iteration)
                _play_role(recorded, sessions[name], settings, tables.get(name), local, states.get(name))

            sessions[name].play(channel, play_role, pairs_later=pairs_begin_later(settings.sums))

        play_in_process(dict.fromkeys(settings.everyone, play), timeout_s=inputs.job.timeout_s)
    return {name: costs_of_two_steps(sessions[name], worked[name], "tree-2/") for name in settings.everyone}


def _play_role(
    channel: RecordedChannel,
    session: RoleSession,
    settings: HorizontalTreesSettings,
    table: Table | None,
    local: LocalRun,
    state: UploadState | None,
) -> None:
    if channel.party == settings.aggregator:
        run_aggregator(channel, settings, AggregatorRun(session.stopwatch))
    elif table is None:
        run_authority(channel, settings.sums, AuthorityRun(session.stopwatch, plan_sums(settings), state, None))
    else:
        run_party(channel, table, settings, PartyRun(local, upload_state=state))


def _passing_states(settings: HorizontalTreesSettings, stack: ExitStack) -> dict[str, UploadState]:
    if settings.protection != "lattice":
        return {}
    with disk_errors_as_state_errors("no folder for a rehearsal's upload numbers can be made"):
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hekat-rehearsal-")))
    states = {}
    for name in settings.everyone:
        if name != settings.aggregator:
            states[name] = open_upload_state(place / name, _DIGEST, durable=False, with_run=True)
            stack.enter_context(states[name].uploads)
    return states


def _random_table(like: Table, row_count: int, settings: HorizontalTreesSettings, rng: np.random.Generator) -> Table:
    """Rows with the cells of `like`, each column dealt out anew, and labels of every class."""
    features = deal_cells(like, row_count, rng)
    numbers = rng.permutation(row_count)
    labels = numbers % settings.class_count if settings.class_count else numbers.astype(np.float64)
    return replace(like, features=features, labels=labels, ids=None, rows_digest=None)
