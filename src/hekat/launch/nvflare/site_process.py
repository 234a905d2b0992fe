"""What a job process of NVIDIA FLARE does for Hekat, at a client or at the server: one role, played once."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

from nvflare.apis.fl_context import FLContext
from nvflare.apis.signal import Signal

from hekat.channel.mailbox import MailboxChannel
from hekat.errors import HekatError
from hekat.launch.nvflare.aux_messages import AuxMessages
from hekat.launch.nvflare.door import Door
from hekat.launch.nvflare.order import RunOrder
from hekat.launch.nvflare.public_module import load_public_module
from hekat.launch.nvflare.site_link import find_site_link
from hekat.launch.nvflare.site_role import SiteRole

_LOOK_FOR_ABORT_S = 0.5
# An engine that ends a job kills its processes some seconds later; the outcome file has to lie there by then.
LAST_WORDS_OF_ABORTED_S = 2.0


class AbortedError(HekatError):
    """The engine ended the job while a role played."""


@dataclass(frozen=True)
class Played:
    """How a role ended: `kind` of its error, "" for none; `has_refused` where the site itself ended it before all roles
    had met."""

    kind: str
    has_refused: bool


class SiteProcess:
    """Made when the job process starts, so that no early message is refused; plays in the engine's long task."""

    def __init__(self, engine: Any) -> None:
        load_public_module()
        self._door = Door()
        self._messages = AuxMessages(engine, self._door)
        self._local = Path(engine.get_workspace().get_site_config_dir())

    def play(self, order: object, site: str, abort: Signal) -> Played:
        """Play the role that `order` gives `site`; what it returns is all that leaves the site."""
        is_over, has_joined = Event(), Event()

        try:
            checked = RunOrder.from_arguments(order)
            role = SiteRole(checked, site, find_site_link(self._local, site), self._door, self._messages.ask)
            role.play(lambda channel: _watch(abort, channel, is_over), has_joined.set)
        except BaseException as error:
            # A process that dies fails the job for every site; how the run went here says the outcome file.
            return Played(type(error).__name__, not has_joined.is_set() and not abort.triggered)
        finally:
            is_over.set()
        return Played("", has_refused=False)


def _watch(abort: Signal, channel: MailboxChannel, is_over: Event) -> None:
    """End the role's waits once the engine ends the job."""

    def look() -> None:
        while not is_over.wait(_LOOK_FOR_ABORT_S):
            if abort.triggered:
                with suppress(HekatError):
                    channel.fail(AbortedError("the engine ended the job"), LAST_WORDS_OF_ABORTED_S)
                return

    Thread(target=look, name="hekat-abort", daemon=True).start()


def site_of(context: FLContext) -> str:
    """The name that this process's own start-up kit gives it."""
    return str(context.get_identity_name())


def what_to_log(kind: str) -> str:
    """A line for the engine's log, which the server may read: never a word of the error."""
    if not kind:
        return "the role is played to its end"
    # A site whose hekat.toml, or folder of runs, is not in order has no place for an outcome.
    return (
        f"the role ended by {kind}; the run's outcome file at the site says more; where there is none, "
        "ask the doctor at the site: hekat doctor --kit KIT"
    )
