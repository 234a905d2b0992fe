"""What a job process of NVIDIA FLARE does for a protected app, at a client or at the server: a role in a thread."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from nvflare.apis.signal import Signal

from hekat.channel.mailbox import MailboxChannel
from hekat.channel.mailbox.last_words import MOST_S
from hekat.errors import HekatError
from hekat.launch.nvflare.aux_messages import AuxMessages
from hekat.launch.nvflare.door import Door
from hekat.launch.nvflare.order import SERVER, RunOrder
from hekat.launch.nvflare.protected.app_party import AppParty
from hekat.launch.nvflare.protected.app_role import AppRole
from hekat.launch.nvflare.protected.handover import AppEndedError, Handover
from hekat.launch.nvflare.public_module import load_public_module
from hekat.launch.nvflare.site_link import find_site_link
from hekat.launch.nvflare.site_process import LAST_WORDS_OF_ABORTED_S

# Roles that are left alone at the end of a job: how long they may still exchange last words.
_ENDS_WITHIN_S = 20.0


class AppProcess:
    """Made when the job process starts. `on_failure` is told, once, that the role has failed."""

    def __init__(
        self,
        engine: Any,
        order: object,
        site: str,
        abort: Signal,
        on_failure: Callable[[str], None] = lambda kind: None,
    ) -> None:
        load_public_module()
        self._door = Door()
        self._messages = AuxMessages(engine, self._door)
        self._local = Path(engine.get_workspace().get_site_config_dir())
        self._on_failure = on_failure
        self._channel: MailboxChannel | None = None
        self._ended_by: AppEndedError | None = None
        self._has_met = Event()
        self._state = Lock()
        self.handover = Handover(lambda: bool(abort.triggered))
        self.app: AppParty | None = None
        try:
            role = self._role_of(order, site)
            if site != SERVER:
                self.app = AppParty(role.job(), site, self.handover)
        except HekatError as error:
            self._end(error)
            return
        self._thread = Thread(target=self._play, args=(role,), name="hekat-role", daemon=True)
        self._thread.start()

    @property
    def has_met(self) -> bool:
        """Whether all roles were there and the run began; from then on the protection says who may be lost."""
        return self._has_met.is_set()

    def close(self, *, may_be_early: bool) -> None:
        """The job is over: let the role say its last words, and end it where it has none.

        `may_be_early`: the app may have stopped before its last round, with all sites at the same one.
        """
        if self.handover.is_over:
            return
        if may_be_early:
            self.handover.finish()
            with suppress(BaseException):  # the outcome file has it
                if self.handover.wait_for_end(_ENDS_WITHIN_S) or self._is_told_slowly():
                    return
        self.abort()
        with suppress(BaseException):
            self.handover.wait_for_end(_ENDS_WITHIN_S)

    def abort(self) -> None:
        """End the role's waits: the engine has ended the job."""
        error = _ended_in_the_run() if self.has_met else _ended_before_the_run()
        self.handover.abandon(error)
        with self._state:
            channel, self._ended_by = self._channel, error
        if channel is not None:
            _fail(channel, error)

    def _is_told_slowly(self) -> bool:
        """Wait for a role that is over and still delivers, over a slow link; whether it could."""
        with self._state:
            channel = self._channel
        return channel is not None and channel.last_words.has_begun and bool(self.handover.wait_for_end(MOST_S))

    def _role_of(self, order: object, site: str) -> AppRole:
        checked = RunOrder.from_arguments(order)
        return AppRole(checked, site, find_site_link(self._local, site), self._door, self._messages.ask)

    def _play(self, role: AppRole) -> None:
        try:
            role.play(self.app, self.handover, self._note_channel, self._has_met.set)
        except BaseException as error:
            # A process that dies fails the job for every site; how the run went here says the outcome file.
            self._end(error)
        else:
            self._end(None)

    def _note_channel(self, channel: MailboxChannel) -> None:
        with self._state:
            self._channel, ended_by = channel, self._ended_by
        if ended_by is not None:
            _fail(channel, ended_by)

    def _end(self, error: BaseException | None) -> None:
        self.handover.end(error)
        if error is not None:
            self._on_failure(type(error).__name__)


def _ended_in_the_run() -> AppEndedError:
    return AppEndedError(
        "the engine ended the job", expected="every round that the job has", got="fewer", cure="see the engine's log"
    )


def _ended_before_the_run() -> AppEndedError:
    return AppEndedError(
        "the engine ended the job before all roles had met",
        expected="the first words of every other role",
        got="an end before",
        cure="ask the other sites and the server for this run's outcome files: one of them may have refused the job",
    )


def _fail(channel: MailboxChannel, error: AppEndedError) -> None:
    with suppress(HekatError):
        channel.fail(error, LAST_WORDS_OF_ABORTED_S)
