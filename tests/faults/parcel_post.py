"""The end of a role's process at a `ParcelRelay`: `install()` makes `hekat run --role --relay` go over mailboxes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.faults.parcel_relay import ANSWERS_WITHIN_S, home_of

from hekat.channel.mailbox import MailboxChannel, UndeliveredError
from hekat.errors import ChannelError, HekatError
from hekat.launch.frames import receive_frame, send_frame
from hekat.launch.local.terms import JoinRequest, RunTerms

RUN_ID = "20260101T000000Z-0123ab"


def install(
    roles: tuple[str, ...], may_be_lost: tuple[str, ...], lost_after_s: float, first_contact_s: float = 60.0
) -> None:
    """Let this process's role join over mailboxes, in place of the hub behind a socket."""
    import hekat.cli.run.role as command

    @contextmanager
    def join(path: Path, request: JoinRequest, *, timeout_s: float) -> Iterator[MailboxChannel]:
        channel = MailboxChannel(
            request.role,
            roles,
            SocketPost(path, request.role),
            run_id=RUN_ID,
            timeout_s=timeout_s,
            lost_after_s=lost_after_s,
            first_contact_s=first_contact_s,
            may_be_lost=may_be_lost,
        )
        channel.terms = RunTerms(RUN_ID, roles)  # type: ignore[attr-defined]
        with taking_parcels(home_of(path, request.role), channel):
            try:
                channel.meet(request.job_digest.encode())
                yield channel
            except BaseException as error:
                channel.fail(error)
                raise
            channel.finish()

    command.join_relay = join  # type: ignore[assignment]


@dataclass(frozen=True)
class SocketPost:
    relay: Path
    role: str

    def deliver(self, to: str, parcel: bytes, timeout_s: float) -> bytes:
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(2 * ANSWERS_WITHIN_S + timeout_s / 4)
                connection.connect(str(self.relay))
                send_frame(connection, {"from": self.role, "to": to}, parcel)
                return receive_frame(connection).payload
        except (OSError, ChannelError) as error:
            raise UndeliveredError("no receipt") from error


@contextmanager
def taking_parcels(home: Path, channel: MailboxChannel) -> Iterator[None]:
    """Hands what comes at the socket `home` to the channel."""
    with suppress(FileNotFoundError):
        home.unlink()  # of a process of this role that was killed
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(home))
    listener.listen(128)

    def take() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, suppress(HekatError, OSError):
                send_frame(connection, {}, channel.accept(receive_frame(connection).payload))

    threading.Thread(target=take, daemon=True).start()
    try:
        yield
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
