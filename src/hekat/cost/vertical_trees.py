"""What the iterations of a job of trees across columns will cost: bytes and seconds by role, from a rehearsal.

Two iterations are really trained on rows with shuffled columns, in this process, with the job's settings and roles,
under keys that are thrown away. Labels follow from all columns alike, so that trees are full and nodes are divided
about in half: no labels make the smaller children, whose rows are encrypted, larger. A table of many rows is rehearsed
with two numbers of rows that both fill the deepest trees, and the rest is reckoned with by rows. Matching and
predicting are not in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.channel import Channel, PartyKey
from hekat.cost.horizontal import RUN_ID
from hekat.cost.rehearsed_rows import deal_cells
from hekat.cost.rehearsed_steps import ColumnsCost, Cost, RoleEstimate, costs_of_two_steps, leaf_of_fewer_rows
from hekat.data import Table
from hekat.engine.tenancy import declare_tenancy
from hekat.job.vertical_trees.job_file import PROTOCOL
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.vertical_trees.party_run import TreeRecord, TreesRun
from hekat.protocol.vertical_trees.roles import run_role
from hekat.protocol.vertical_trees.settings import BIN_LEAK_ACCEPTED, VerticalTreesSettings
from hekat.run.vertical_trees.load_inputs import TreesInputs

REHEARSED_ROWS = (4096, 8192)
_DIGEST = bytes(32)
_REHEARSED = 2
RoleCosts = dict[str, tuple[Cost, Cost]]


def cost_of_trees_job(inputs: TreesInputs, iterations_done: int = 0) -> ColumnsCost:
    """Rehearse the job's training and reckon what all of it takes; nothing is written or sent.

    `iterations_done` are of an earlier model that training goes on with; predicting its scores is not in it.
    """
    settings = inputs.job.settings
    row_count = min(len(table) for table in inputs.tables.values())
    small, large = REHEARSED_ROWS
    with declare_tenancy(inputs.site.machine.single_tenant):
        if row_count <= large:
            found = _rehearse(inputs, row_count)
        else:
            found = _extrapolate(_rehearse(inputs, small), _rehearse(inputs, large), row_count)
    roles = tuple(RoleEstimate(role, *found[role]) for role in settings.everyone)
    return ColumnsCost(row_count, settings.training.max_iter - iterations_done, roles, "iteration")


def _extrapolate(small: RoleCosts, large: RoleCosts, row_count: int) -> RoleCosts:
    """Costs of `row_count` rows, by the difference of two numbers of rows."""
    times = (row_count - REHEARSED_ROWS[1]) / (REHEARSED_ROWS[1] - REHEARSED_ROWS[0])
    return {
        role: (
            large[role][0].plus(large[role][0].beyond(small[role][0]), times),
            large[role][1].plus(large[role][1].beyond(small[role][1]), times),
        )
        for role in large
    }


def _rehearse(inputs: TreesInputs, row_count: int) -> RoleCosts:
    """Each role's cost up to the end of the first iteration, and of the second."""
    settings = _rehearsed_settings(inputs.job.settings, row_count, min(map(len, inputs.tables.values())))
    rng = np.random.default_rng(row_count)
    tables = {name: _random_table(table, row_count, rng) for name, table in inputs.tables.items()}
    tables[settings.guest] = replace(tables[settings.guest], labels=_random_labels(tables, settings, rng))
    party_keys = {name: PartyKey.generate() for name in settings.everyone}
    sessions = make_sessions(party_keys, run_id=RUN_ID, protocol=PROTOCOL, job_digest=_DIGEST)
    worked: Mapping[str, dict[int, float]] = {name: {} for name in settings.everyone}

    def play(channel: Channel) -> object:
        name = channel.party
        session, watch = sessions[name], sessions[name].stopwatch

        def note(record: TreeRecord) -> None:
            worked[name][record.iteration] = sum(watch.seconds.values())

        return session.play(channel, lambda recorded: run_role(recorded, tables[name], settings, TreesRun(watch, note)))

    play_in_process(dict.fromkeys(settings.everyone, play), timeout_s=inputs.job.timeout_s)
    return {name: costs_of_two_steps(sessions[name], worked[name], "tree-2") for name in settings.everyone}


def _rehearsed_settings(settings: VerticalTreesSettings, row_count: int, total: int) -> VerticalTreesSettings:
    """The job's, of two iterations that use all columns of hosts, on `row_count` of `total` rows."""
    leaf = leaf_of_fewer_rows(settings.training.min_samples_leaf, row_count, total)
    training = replace(settings.training, max_iter=_REHEARSED, early_stopping=False, min_samples_leaf=leaf)
    return replace(settings, training=training, label_party_first_trees=0, bin_leak_accepted=BIN_LEAK_ACCEPTED)


def _random_table(like: Table, row_count: int, rng: np.random.Generator) -> Table:
    """Rows with the cells of `like`, each column dealt out anew, without labels."""
    features = deal_cells(like, row_count, rng)
    return Table(features, None, like.feature_names, like.name, categories=like.categories, keeps_gaps=like.keeps_gaps)


def _random_labels(
    tables: Mapping[str, Table], settings: VerticalTreesSettings, rng: np.random.Generator
) -> npt.NDArray[Any]:
    """Labels of every class alike, or numbers, that grow with each column, and by chance."""
    columns = np.concatenate([np.asarray(table.features) for table in tables.values()], axis=1)
    ranks = columns.argsort(axis=0).argsort(axis=0).astype(np.float64)
    score = ranks.sum(axis=1)
    score += rng.normal(scale=score.std() or 1.0, size=score.size)
    places = score.argsort().argsort()
    classes = settings.classes
    if classes is None:
        return np.asarray(places, np.float64)
    return np.asarray(np.array(classes)[places * len(classes) // places.size])
