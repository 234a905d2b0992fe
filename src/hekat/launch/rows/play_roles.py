"""Plays every role of a run on rows in this process, whatever the parties train; parties may drop out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from hekat.errors import PartyLostError, PartyStoppedError
from hekat.job.rows.rows_job import RowsJob, RowsSettings
from hekat.protocol.horizontal.stop_origin import trace_to_origin
from hekat.protocol.in_process import play_in_process
from hekat.run.rows.role import RowsRole

S = TypeVar("S")


@dataclass(frozen=True)
class PlayedRows(Generic[S]):
    """`state` is what all parties that were there at the end share."""

    state: S
    seconds: float
    dropouts: tuple[PartyLostError, ...]


def play_rows_roles(
    roles: Mapping[str, RowsRole[S]],
    job: RowsJob,
    settings: RowsSettings,
    saved: Callable[[], str],
    on_dropout: Callable[[PartyLostError], None] = lambda error: None,
) -> PlayedRows[S]:
    """Play every role to the end; `saved` tells what is safe by now, in words.

    Raises PartyStoppedError naming the party and step where a role failed, with what was saved.
    """
    dropouts: list[PartyLostError] = []

    def note_dropout(error: PartyLostError) -> None:
        dropouts.append(error)
        on_dropout(error)

    start = time.perf_counter()
    try:
        states = play_in_process(
            {name: role.play for name, role in roles.items()},
            timeout_s=job.timeout_s,
            may_drop_out=settings.parties if settings.bears_dropouts else (),
            on_dropout=note_dropout,
        )
    except PartyStoppedError as error:
        stop = trace_to_origin(error, dropouts, settings.aggregator)
        # One party saves for all, so another party's stop finds its checkpoint.
        raise (stop if stop.saved else stop.with_saved(saved())) from stop.__cause__
    seconds = time.perf_counter() - start
    state = next((found for party in settings.parties if (found := states.get(party)) is not None), None)
    if state is None:
        # The aggregator was through, and no party got to the end.
        last = dropouts[-1]
        raise PartyStoppedError(last.what, party=last.party, step=last.step, saved=saved()) from last.__cause__
    return PlayedRows(state, seconds, tuple(dropouts))
