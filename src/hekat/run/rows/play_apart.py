"""Plays one role of a run on rows on a machine of its own, and keeps what there is to keep however it ends."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TypeVar

from hekat.channel import Channel
from hekat.errors import ModelsDifferError, PartyStoppedError
from hekat.run.role_folder import RoleFolder
from hekat.run.rows.different_models import says_models_differ, set_checkpoints_aside
from hekat.run.rows.role import RowsRole
from hekat.run.rows.saved_rounds import SavedRounds
from hekat.run.timeout_hint import name_timeout_key

S = TypeVar("S")


def play_apart(
    role: RowsRole[S],
    channel: Channel,
    folder: RoleFolder,
    *,
    protocol: str,
    timeout_s: float,
    saved_rounds: SavedRounds,
    saved: Callable[[], str],
) -> S | None:
    """The state at the end, None at a role without rows; result.json is written however the role ends.

    `saved` tells what is safe by now, in words. Raises what the role raises: a stop with what is saved here, a time-out
    with the line of the job that sets it. Checkpoints are set aside where the parties' models differ.
    """
    # What the role raised is to be told, and not that its figures are missing.
    quiet: AbstractContextManager[None] = suppress(Exception)
    try:
        state = role.play(channel)
        quiet = nullcontext()
    except PartyStoppedError as error:
        if says_models_differ(error):
            left = set_checkpoints_aside(folder.path, saved_rounds, error)
            raise error.with_saved(left) from error.__cause__
        # What lies here counts, whatever the party that stopped had saved.
        raise error.with_saved(saved() or error.saved) from error.__cause__
    except ModelsDifferError:
        set_checkpoints_aside(folder.path, saved_rounds, None)
        raise
    except BaseException as error:
        raise (name_timeout_key(error, timeout_s) or error) from error.__cause__
    finally:
        with quiet:
            folder.write_result(role.result, protocol)
    return state
