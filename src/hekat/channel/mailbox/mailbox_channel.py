"""One role's channel over an engine that carries parcels: numbered messages, bounded memory, losses, signed words."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Collection, Mapping
from threading import Condition

from hekat.channel.channel import (
    check_name,
    check_party_names,
    check_payload,
    check_peer,
    check_step,
    check_timeout,
    printable_reason,
)
from hekat.channel.dropout_notice import BEFORE_FIRST_STEP, DropoutNotice
from hekat.channel.mailbox.carriers import Carriers
from hekat.channel.mailbox.departures import Departures, write_notice
from hekat.channel.mailbox.ended_waits import closed, no_answer, no_room_left, not_met
from hekat.channel.mailbox.last_words import LAST_WORDS_S, MOST_S, LastWords
from hekat.channel.mailbox.pair import MESSAGE_BYTES, Inbox, Outbox
from hekat.channel.mailbox.parcel import (
    DATA,
    EXPELLED,
    FINISHED,
    INSTANCE_BYTES,
    JOIN,
    LEFT,
    MAX_WORD_BYTES,
    Item,
    OtherFormatError,
    Parcel,
    Receipt,
    decode_parcel,
    decode_receipt,
)
from hekat.channel.mailbox.post import Post
from hekat.channel.mailbox.refusals import OTHER_FORMAT, PLAYED_TWICE, Refusals
from hekat.channel.mailbox.settling import Settling
from hekat.errors import InputError, WireError

DEFAULT_MAX_WAITING_BYTES = 256 << 20
LOST_AFTER_S = 30.0
FIRST_CONTACT_S = 120.0
_CONTROL_STEP = "hekat/control"


class MailboxChannel:
    """`Channel` of `role`, over a `post` that brings parcels to the mailboxes of the other `roles`.

    An engine calls `accept` with what comes, from any thread: that never blocks. Deliveries happen in threads of the
    mailbox, so `send` returns once a message is queued. Messages of a pair of roles carry numbers: what comes twice is
    dropped, what was lost on the way is delivered again, the same bytes.

    Rules, beside the rules of `Channel`:

    - Unread and undelivered messages take at most `max_waiting_bytes` each, all peers together, a kilobyte for each
      message included; beyond it `send` waits, and peers are told to deliver again later. Each pair may always have one
      message, and a role that is awaited may fill that room alone: nobody is kept out for good.
    - A peer that cannot be reached for `lost_after_s` (before its first receipt: `first_contact_s`), while a call waits
      for it, is a ChannelTimeoutError of that call. The aggregator then expels it by its signed word, which makes all
      others agree. One that cannot reach the aggregator ends.
    - A role that raised says so by `fail`, one that returned by `finish`: by words that its session signed, or else
      told as unsigned ones. Words about a third role count from roles that may not be lost themselves.
    - A second process of a role is refused by all that met the first, and so is another release. A role believes a
      refusal by one that may not be lost itself, or by all others: else one party could end the aggregator by it.
    - Once the role's end is closed, its own calls raise ChannelError.

    An engine that keeps a parcel and brings it later, in order and without fail, makes a mailbox with `stores_parcels`:
    what its post took counts as delivered, receipts are nobody's, and peers are lost only by `note_out_of_reach`.
    """

    def __init__(
        self,
        role: str,
        roles: tuple[str, ...],
        post: Post,
        *,
        run_id: str,
        timeout_s: float,
        lost_after_s: float = LOST_AFTER_S,
        first_contact_s: float = FIRST_CONTACT_S,
        max_waiting_bytes: int = DEFAULT_MAX_WAITING_BYTES,
        may_be_lost: Collection[str] = (),
        stores_parcels: bool = False,
    ) -> None:
        """`timeout_s` is the time of one wait where the caller gives none. Raises InputError for malformed values."""
        check_party_names(roles)
        check_name(run_id, "run")
        for seconds in (timeout_s, lost_after_s, first_contact_s):
            check_timeout(seconds)
        if max_waiting_bytes < 1:
            raise InputError("no room for messages", expected="max_waiting_bytes >= 1", got=f"{max_waiting_bytes}")
        for name in (role, *may_be_lost):
            if name not in roles:
                raise InputError("no such party in this run", expected=f"one of: {', '.join(roles)}", got=repr(name))
        self._role, self._roles, self._run_id = role, tuple(roles), run_id
        self._others = [name for name in roles if name != role]
        self._timeout_s, self._lost_after_s, self._first_contact_s = timeout_s, lost_after_s, first_contact_s
        self._max_waiting_bytes = max_waiting_bytes
        self._stores_parcels = stores_parcels
        self._instance = secrets.token_bytes(INSTANCE_BYTES)
        self._changed = Condition()
        self._outboxes = {name: Outbox() for name in self._others}
        self._inboxes = {name: Inbox() for name in self._others}
        self._asks = dict.fromkeys(self._others, False)
        self._cards: dict[str, bytes] = {}
        self._awaited = ""
        self._step = BEFORE_FIRST_STEP
        self._own_word: DropoutNotice | None = None
        self._ended_by: BaseException | None = None
        self._departures = Departures(role, frozenset(may_be_lost))
        self._refusals = Refusals(role, self._others, frozenset(may_be_lost))
        self._is_over = False
        self._under_way = dict.fromkeys(self._others, 0)
        self._out_of_reach: set[str] = set()
        self._settling = Settling(self._changed)
        self.last_words = LastWords(self._changed)
        self._carriers = Carriers(post, self._changed, self._next_parcel, self._settle)

    @property
    def party(self) -> str:
        return self._role

    @property
    def parties(self) -> tuple[str, ...]:
        return self._roles

    @property
    def awaited(self) -> str:
        """The peer whose message a call waits for; "" where none waits."""
        return self._awaited

    # --- the engine's call -------------------------------------------------------------------------------

    def accept(self, data: bytes) -> bytes:
        """The receipt for a parcel that came. Raises WireError for bytes that are no parcel of this run's for here."""
        try:
            parcel = decode_parcel(data)
        except OtherFormatError:
            return Receipt(self._instance, refusal=OTHER_FORMAT).encode()
        if parcel.run_id != self._run_id or parcel.receiver != self._role or parcel.sender not in self._inboxes:
            raise WireError(
                "a parcel of another run or for another role",
                expected=f"one for {self._role!r} of this run",
                got="another one",
            )
        with self._changed:
            inbox = self._inboxes[parcel.sender]
            inbox.instance = inbox.instance or parcel.instance
            if inbox.instance != parcel.instance:
                return Receipt(self._instance, refusal=PLAYED_TWICE).encode()
            self._note_contact(parcel.sender)
            was_taken = inbox.admit(
                list(parcel.items),
                lambda size: self._has_room(parcel.sender, size),
                lambda item: self._note_word(parcel.sender, item),
            )
            if self._stores_parcels and not was_taken:
                # Nobody brings it again: what is missing will never come.
                self._out_of_reach.add(parcel.sender)
            if self._is_over or self._gave_up_on(parcel.sender):
                inbox.clear()
            self._settling.tell()
            return Receipt(self._instance, inbox.next_sequence, inbox.was_busy).encode()

    def note_out_of_reach(self, peer: str) -> None:
        """The engine reaches `peer` no more: a call that waits for it ends as after `lost_after_s` without contact."""
        check_peer(peer, self._role, self._roles)
        with self._changed:
            self._out_of_reach.add(peer)
            self._settling.tell()

    def wait_until_settled(self, is_paused: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until the post has everything, and the role waits for what has not come or `is_paused`; whether so.

        `is_paused` is asked with the lock held, anew after each `nudge`.
        """

        def is_settled() -> bool:
            # What is left of an ended role is for peers that ended before, and goes nowhere.
            if not self._is_over and any(outbox.items for outbox in self._outboxes.values()):
                return False
            return is_paused() or self._settling.is_settled

        with self._changed:
            return self._changed.wait_for(is_settled, None if math.isinf(timeout_s) else timeout_s)

    def nudge(self) -> None:
        """Have `wait_until_settled` ask again."""
        with self._changed:
            self._changed.notify_all()

    # --- the role's calls ----------------------------------------------------------------------------------

    def meet(self, card: bytes) -> Mapping[str, bytes]:
        """Show `card` to every other role, and wait for theirs: what each showed, by name, unsigned.

        Raises ChannelTimeoutError naming who did not come in `first_contact_s`, PolicyError where another process plays
        this role or another release the others, PartyStoppedError or PartyLostError where a role left, InputError for a
        card of more than a MiB.
        """
        if len(card) > MAX_WORD_BYTES:
            raise InputError("the card is too long", expected=f"{MAX_WORD_BYTES} bytes at most", got=f"{len(card)}")
        deadline = time.monotonic() + self._first_contact_s
        with self._changed:
            for peer in self._others:
                self._put(peer, JOIN, _CONTROL_STEP, card)
            while missing := [peer for peer in self._others if peer not in self._cards]:
                told = self._refusals.told_by(missing)  # whoever gave up first does not say why
                self._raise_if_out(told)
                for peer in missing:
                    self._raise_if_gone(peer, f"shows nothing of its job{told}")
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    raise not_met(self._roles, missing, self._first_contact_s, told)
                self._changed.wait(left_s)
            return dict(self._cards)

    def send(self, to: str, step: str, payload: bytes, *, timeout_s: float | None = None) -> None:
        """As `Channel.send`: queued, and delivered by another thread."""
        check_peer(to, self._role, self._roles)
        check_step(step)
        check_payload(payload)
        seconds = self._timeout_s if timeout_s is None else timeout_s
        check_timeout(seconds)
        outbox = self._outboxes[to]

        def has_room() -> bool:
            waiting_bytes = sum(one.waiting_bytes for one in self._outboxes.values())
            size = len(payload) + MESSAGE_BYTES
            return not outbox.waiting_bytes or waiting_bytes + size <= self._max_waiting_bytes

        with self._changed, self._settling.waiting():
            self._step = step
            self._wait(
                to,
                has_room,
                seconds,
                lambda: self._raise_if_gone(to, f"will never read step {step!r}, which {self._role!r} sends"),
                f"found no room at {to!r} for its message of step {step!r}",
            )
            self._put(to, DATA, step, payload)

    def receive(self, sender: str, step: str, *, timeout_s: float | None = None) -> bytes:
        """As `Channel.receive`."""
        check_peer(sender, self._role, self._roles)
        check_step(step)
        seconds = self._timeout_s if timeout_s is None else timeout_s
        check_timeout(seconds)
        inbox = self._inboxes[sender]

        def raise_if_hopeless() -> None:
            self._raise_if_gone(
                sender, f"sends no step {step!r}, which {self._role!r} awaits", inbox.describe_unread(sender)
            )
            if inbox.was_busy and inbox.waiting_bytes and not self._stores_parcels:
                raise no_room_left(self._role, sender, step, inbox.describe_unread(sender))

        with self._changed, self._settling.waiting():
            self._step = step
            self._awaited = sender
            try:
                if inbox.was_busy:
                    # It may fill the room alone from now on: it is to hear so at once.
                    inbox.was_busy = False
                    self._ask(sender)
                self._wait(
                    sender,
                    lambda: inbox.has(step),
                    seconds,
                    raise_if_hopeless,
                    f"got nothing from {sender!r} in step {step!r}",
                )
            finally:
                self._awaited = ""
            payload = inbox.take(step)
            assert payload is not None  # the wait ended with one, and this thread alone takes them
            for peer, other in self._inboxes.items():
                if other.was_busy:
                    other.was_busy = False
                    self._ask(peer)
            return payload

    def note_saved(self, what: str) -> None:
        """As `Channel.note_saved`: the role's signed word says it."""

    def leave(self, notice: DropoutNotice) -> None:
        """As `Channel.leave`; told by `finish` or `fail`."""
        self._own_word = notice

    def expel(self, party: str, reason: str, notice: DropoutNotice | None = None) -> None:
        """As `Channel.expel`."""
        check_peer(party, self._role, self._roles)
        if party not in self._departures.may_be_lost or self._role in self._departures.may_be_lost:
            raise InputError(
                f"{self._role!r} cannot give up on party {party!r}",
                expected="a role that may not be lost, to give up on one that may",
                got=repr(party),
                cure="raise the error instead",
            )
        with self._changed:
            self._raise_if_out()
            if party not in self._departures.dropouts:
                self._departures.expel(self._role, party, printable_reason(reason), notice)
                for peer in self._others:
                    if notice is not None:
                        self._put(peer, EXPELLED, _CONTROL_STEP, write_notice(notice))
            self._inboxes[party].clear()
            self._outboxes[party].drop_data()
            self._settling.tell()

    # --- the launcher's calls --------------------------------------------------------------------------------

    def finish(self) -> tuple[str, ...]:
        """Say that the role has returned; the peers that could not be told, or lack messages of this role."""
        return self._end(FINISHED)

    def fail(self, error: BaseException, within_s: float | None = None) -> tuple[str, ...]:
        """Say that the role has raised `error`; the others learn the kind that its session signed. It takes `within_s`
        at most, also where another end of this role is under way."""
        with self._changed:
            if not self.last_words.has_begun and not self._is_over:
                self._ended_by = error
                if self._own_word is not None and self._own_word.reason != type(error).__name__:
                    self._own_word = None  # it failed once its session was closed: that signed another end
        return self._end(LEFT, within_s)

    def close(self) -> None:
        """Deliver nothing more. What still comes is acknowledged, and dropped."""
        with self._changed:
            self._is_over = True
            self._carriers.close()
            for inbox in self._inboxes.values():
                inbox.clear()

    def __repr__(self) -> str:
        return f"MailboxChannel({self._role!r} of {', '.join(self._roles)})"

    # --- inside (the lock is held) ---------------------------------------------------------------------------

    def _end(self, kind: str, within_s: float | None = None) -> tuple[str, ...]:
        with self._changed:
            if not self._is_over:
                self.last_words.cut_short(within_s)
                if self.last_words.has_begun:
                    self._changed.wait_for(lambda: self._is_over, MOST_S if within_s is None else within_s)
                else:
                    for peer in self._others:
                        self._put(peer, kind, _CONTROL_STEP, write_notice(self._own_word))
                    sizes = {peer: box.waiting_bytes for peer, box in self._outboxes.items()}
                    limit_s = min(LAST_WORDS_S, self._lost_after_s)
                    self.last_words.deliver(lambda: {} if self._is_over else self._untold(), sizes, limit_s)
            left = tuple(self._untold())
        self.close()
        return left

    def _untold(self) -> dict[str, int]:
        return {peer: len(box.items) for peer, box in self._outboxes.items() if box.items and self._may_listen(peer)}

    def _may_listen(self, peer: str) -> bool:
        if self._gave_up_on(peer):  # it plays on until it hears so
            return self._carriers.reach_of(peer).failing_since is None
        return not self._departures.is_gone(peer)

    def _wait(
        self,
        peer: str,
        is_ready: Callable[[], bool],
        timeout_s: float,
        raise_if_hopeless: Callable[[], None],
        what: str,
    ) -> None:
        deadline = time.monotonic() + timeout_s
        while True:
            ready = is_ready()
            # What was sent before the run ended still arrives, except to a role that was given up on.
            if not (ready and self._awaited) or self._role in self._departures.dropouts:
                self._raise_if_out()
            if not self._awaited:
                raise_if_hopeless()
            if ready:
                return
            raise_if_hopeless()
            now = time.monotonic()
            left_s = deadline - now
            silent_s = self._unreachable_s(peer, now)
            if left_s <= 0 or silent_s is not None:
                within_s = timeout_s if silent_s is None else silent_s
                raise no_answer(self._role, what, within_s, peer, is_unreachable=silent_s is not None)
            # An unreachable peer is noticed by what is delivered to it: a question, where there is nothing else.
            ask_s = self._lost_after_s / 4
            if now - self._carriers.reach_of(peer).last_contact >= ask_s:
                self._ask(peer)
            self._settling.see()
            self._changed.wait(min(left_s, ask_s, 1.0) if not math.isinf(left_s) else min(ask_s, 1.0))

    def _unreachable_s(self, peer: str, now: float) -> float | None:
        """The time within which `peer` should have been reached, where it was not."""
        if peer in self._out_of_reach:
            return 0.0
        if self._stores_parcels:
            return None
        reach = self._carriers.reach_of(peer)
        limit_s = self._lost_after_s if reach.was_reached else self._first_contact_s
        if reach.failing_since is None or now - reach.failing_since < limit_s:
            return None
        return limit_s

    def _raise_if_out(self, told: str = "") -> None:
        error = self._refusals.error() or self._departures.own_error(told)
        if error is not None:
            raise error
        if self._is_over:
            raise closed(self._role, self._ended_by)

    def _gave_up_on(self, peer: str) -> bool:
        dropout = self._departures.dropouts.get(peer)
        return dropout is not None and dropout.expelled_by == self._role

    def _raise_if_gone(self, peer: str, consequence: str, waiting: str = "") -> None:
        error = self._departures.error_of(peer, consequence, waiting)
        if error is not None:
            raise error

    def _has_room(self, sender: str, size: int) -> bool:
        inbox = self._inboxes[sender]
        if not inbox.waiting_bytes or self._is_over:
            return True
        if self._stores_parcels:
            # Nobody would bring it again, so that no peer's messages keep another's out.
            return inbox.waiting_bytes + size <= self._max_waiting_bytes
        boxes = [inbox] if self._awaited == sender else list(self._inboxes.values())
        return sum(box.waiting_bytes for box in boxes) + size <= self._max_waiting_bytes

    def _note_word(self, sender: str, item: Item) -> None:
        departures = self._departures
        if len(item.payload) > MAX_WORD_BYTES:
            return
        try:
            if item.kind == JOIN:
                self._cards.setdefault(sender, item.payload)
            elif item.kind == LEFT:
                departures.note_left(sender, item.payload)
            elif item.kind == FINISHED:
                departures.note_finished(sender, item.payload)
            elif item.kind == EXPELLED:
                departures.note_expelled(sender, item.payload)
        except WireError:
            # Nobody's word. Whoever altered it could as well have dropped it.
            return
        for party in departures.dropouts.keys() & self._outboxes.keys():
            self._outboxes[party].drop_data()

    def _note_contact(self, peer: str) -> None:
        reach = self._carriers.reach_of(peer)
        reach.failing_since, reach.was_reached, reach.last_contact = None, True, time.monotonic()

    def _put(self, to: str, kind: str, step: str, payload: bytes) -> None:
        self._outboxes[to].put(kind, step, payload)
        self._carriers.wake(to)

    def _ask(self, peer: str) -> None:
        if not self._stores_parcels:
            self._asks[peer] = True
            self._carriers.wake(peer)

    def _next_parcel(self, peer: str) -> bytes | None:
        items = self._outboxes[peer].first()
        if not items and not self._asks[peer]:
            return None
        self._asks[peer] = False
        self._under_way[peer] = items[-1].sequence + 1 if items else 0
        return Parcel(self._run_id, self._role, peer, self._instance, items).encode()

    def _settle(self, peer: str, data: bytes) -> bool:
        """Whether the next parcel may go at once."""
        if self._stores_parcels:
            self._note_contact(peer)
            self._outboxes[peer].settle(self._under_way[peer])
            return True
        try:
            receipt = decode_receipt(data)
        except WireError:
            return False
        self._refusals.note(peer, receipt.refusal)
        inbox = self._inboxes[peer]
        inbox.instance = inbox.instance or receipt.instance
        if receipt.refusal or inbox.instance != receipt.instance:
            # Or the peer's process was started again: what it answers is of no session. It counts as out of reach.
            reach = self._carriers.reach_of(peer)
            reach.failing_since = reach.failing_since or time.monotonic()
            return False
        self._note_contact(peer)
        outbox = self._outboxes[peer]
        return outbox.settle(receipt.next_sequence) or not outbox.items
