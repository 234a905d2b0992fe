"""A role in a thread of its own, whose parcels somebody else takes away and brings."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from threading import Thread

from hekat.channel.mailbox import MailboxChannel
from hekat.errors import HekatError
from hekat.launch.flower.shelf import Addressed, Shelf

# What a role has not read yet, of each peer: an upload of 500 million values is smaller.
MAX_WAITING_BYTES = 4 << 30


class CarriedRole:
    """Plays `play` over a mailbox from `start` on; each call of another thread's returns once the role has settled.

    `is_paused` says that the role waits for something that no parcel brings; `nudge` after it changed.
    """

    def __init__(
        self,
        role: str,
        roles: tuple[str, ...],
        run_id: str,
        may_be_lost: Collection[str],
        play: Callable[[MailboxChannel], None],
        *,
        is_paused: Callable[[], bool] = lambda: False,
        max_waiting_bytes: int = MAX_WAITING_BYTES,
    ) -> None:
        self._shelf = Shelf()
        # How long anybody waits is for the carrier to say: it knows when a message is due.
        self.channel = MailboxChannel(
            role,
            roles,
            self._shelf,
            run_id=run_id,
            timeout_s=math.inf,
            may_be_lost=may_be_lost,
            max_waiting_bytes=max_waiting_bytes,
            stores_parcels=True,
        )
        self._play, self._is_paused = play, is_paused
        self._thread = Thread(target=self._run, name=f"hekat-{role}", daemon=True)
        self.error: BaseException | None = None
        """What the role raised."""
        self.is_over = False

    def start(self) -> None:
        """Begin to play."""
        self._thread.start()

    def bring(self, parcels: Iterable[bytes]) -> None:
        """Hand over what peers sent. What is no parcel of this run, or altered, changes nothing."""
        for parcel in parcels:
            try:
                self.channel.accept(parcel)
            except HekatError:
                # Whoever carries it could as well have dropped it.
                continue

    def settle(self, within_s: float) -> bool:
        """Wait until the role needs something from outside, or is over; whether it came to that."""
        return self.channel.wait_until_settled(lambda: self.is_over or self._is_paused(), within_s)

    def take(self) -> list[Addressed]:
        """What the role sent since the last call."""
        return self._shelf.take()

    def abandon(self, within_s: float) -> None:
        """End the role, where it plays: nobody brings it anything any more. Waits for its end so long at most."""
        if self._thread.ident is None:
            return
        for peer in self.channel.parties:
            if peer != self.channel.party:
                self.channel.note_out_of_reach(peer)
        self._thread.join(within_s)

    def _run(self) -> None:
        try:
            self._play(self.channel)
        except BaseException as error:
            self.error = error
            self.channel.fail(error)
        else:
            self.channel.finish()
        self.is_over = True
        self.channel.nudge()
