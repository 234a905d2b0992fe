"""A channel whose payloads only their receiver can open and only their sender can have made.

The relay under it sees sizes, times, and the names in the signed header (run, protocol, step, parties), no content.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from types import TracebackType

from hekat.channel.channel import Channel, check_name, check_payload, check_peer, check_step, printable_reason
from hekat.channel.dropout_notice import BEFORE_FIRST_STEP, FINISHED_REASON, DropoutNotice, check_dropout, sign_dropout
from hekat.channel.message_place import MessagePlace, check_place, describe_message
from hekat.channel.pair_key import SALT_BYTES, PairKeys
from hekat.channel.party_key import PartyKey, PartyPublicKey
from hekat.channel.sealed_message import (
    CHUNK_BYTES,
    MAX_CHUNK_BYTES,
    SealedFrame,
    SealedHeader,
    parse_frame,
    seal_payload,
)
from hekat.channel.session import (
    DIGEST_BYTES,
    Hello,
    altered_error,
    check_confirmed_to_all,
    check_jobs_agree,
    check_pinned,
    check_signer,
    confirm_to_all,
    make_hello,
    no_key_error,
    read_hello,
    session_id_of,
)
from hekat.channel.session_key import SessionKey, read_session_key
from hekat.channel.statements import Statements, find_unsigned, protocol_purpose
from hekat.channel.traffic import Traffic, group_of, group_over_rounds
from hekat.errors import (
    ChannelError,
    ChannelTimeoutError,
    HekatError,
    InputError,
    PartyLostError,
    PartyStoppedError,
    SealError,
)

HELLO_STEP = "hekat/hello"
CONFIRM_STEP = "hekat/session-confirmed"
PAIR_STEP = "hekat/pair-key"
# What was sent before a message that is here is here as well: nobody waits for it.
_AT_ONCE_S = 1e-9


class SealedChannel:
    """Seals and signs all that goes through `channel`, end to end, whatever carries it.

    `pinned` holds the public party key of every other party, obtained from it directly. `job_digest` is SHA-256 of
    the job. `open_session` comes first, `close` last; a `with` block closes. Messages of a pair of parties are read
    in the order they were sent: the sequence counts every one, so that none is lost, repeated or moved unnoticed.

    A run bears the dropout of a party as the channel below does, but a session opens with all parties or not at all. A
    message whose sending failed has used up its number: nothing that was sealed under a number is sealed again.
    """

    def __init__(
        self,
        channel: Channel,
        key: PartyKey,
        pinned: Mapping[str, PartyPublicKey],
        *,
        run_id: str,
        protocol: str,
        job_digest: bytes,
        chunk_bytes: int = CHUNK_BYTES,
        measure: Callable[[str], AbstractContextManager[None]] = lambda step: nullcontext(),
        counts_rounds: bool = True,
    ) -> None:
        """`measure("send")` is entered around sealing and `measure("open")` around opening, never around a wait.

        `counts_rounds`: whether `traffic` tells rounds and uploads apart. A count takes about 250 bytes for as long as
        the channel is there, and a round has some of every peer.

        Raises InputError for malformed arguments, SealError where pinned keys are missing or do not differ."""
        check_name(run_id, "run")
        check_name(protocol, "protocol")
        if not isinstance(job_digest, bytes) or len(job_digest) != DIGEST_BYTES:
            raise InputError(
                "not a job digest", expected=f"{DIGEST_BYTES} bytes of SHA-256", got=type(job_digest).__name__
            )
        if not 1 <= chunk_bytes <= MAX_CHUNK_BYTES:
            raise InputError("chunk size refused", expected=f"1 to {MAX_CHUNK_BYTES} bytes", got=f"{chunk_bytes}")
        check_pinned(pinned, channel.party, key.public, channel.parties)
        self._channel = channel
        self._key = key
        self._pinned = dict(pinned)
        self._run_id = run_id
        self._protocol = protocol
        self._job_digest = job_digest
        self._chunk_bytes = chunk_bytes
        self._session: PairKeys | None = None
        self._next_sent = dict.fromkeys(self._others, 0)
        self._next_received = dict.fromkeys(self._others, 0)
        self.traffic: dict[tuple[str, str], Traffic] = {}
        """By (peer, group of steps), as `group_of`, or as `group_over_rounds` where rounds are not told apart."""
        self._group_of = group_of if counts_rounds else group_over_rounds
        self._sent_counts_as = ""
        self._measure = measure
        self._step, self._saved = BEFORE_FIRST_STEP, ""
        self._lost: dict[str, None] = {}

    @property
    def party(self) -> str:
        return self._channel.party

    @property
    def parties(self) -> tuple[str, ...]:
        return self._channel.parties

    @property
    def session_id(self) -> bytes:
        """The 32 bytes all parties agreed on. Raises SealError while no session is open."""
        return self._opened().session_id

    @property
    def job_digest(self) -> bytes:
        """SHA-256 of the job; a session opens only where all parties have the same."""
        return self._job_digest

    def open_session(
        self,
        *,
        timeout_s: float | None = None,
        before_confirmed: Callable[[], None] = lambda: None,
        pairs_later: bool = False,
    ) -> bytes:
        """Meet all other parties and agree on a fresh session; its 32-byte id.

        1. Every party sends every other its hello: fresh nonce, fresh sealing key, job digest, signed.
        2. It checks theirs against the pinned keys, and that all have the same run, protocol and job.
        3. The session id is SHA-256 over the job digest and every party's nonce.
        4. Every party draws a key for its messages to every other, seals it to that one's sealing key, and signs it
           with the id: a hello replayed or replaced on the way is found here. Sealing keys are dropped then.

        With `pairs_later`, at all parties or at none, 4. is one signature over the id, the same for all. The key of a
        direction is drawn, sealed and signed before its first message, and sealing keys stay until `settle_pairs`.

        `before_confirmed` may `send`: its messages leave before the others have confirmed, and hold only what is worth
        nothing outside this session. A peer whose hello was replayed cannot open them, and then no session opens.

        Raises:
            SealError: a hello or confirmation that does not hold, or parties with different jobs (named).
            PartyStoppedError: also where a party is lost meanwhile: all must be there; it ends the run for all.
        """
        if self._session is not None:
            raise SealError("the session is open already", expected="one open_session for each channel")
        try:
            self._session = self._agree_on_session(timeout_s, before_confirmed, pairs_later)
        except PartyLostError as error:
            raise PartyStoppedError(
                f"the session cannot be opened without all parties: {error.what}", party=error.party, step=error.step
            ) from error
        return self._session.session_id

    def settle_pairs(self, to: Iterable[str], of: Iterable[str], *, timeout_s: float | None = None) -> None:
        """Give keys `to` peers, take those `of` peers, where there are none yet, and drop this session's sealing key.

        From now on this party sends nothing to anybody else, nor takes it, and whoever reads its memory opens nothing
        that came before. All parties settle, and each gives a key to those that take one of it. Where all pairs began
        as the session opened, nothing is left to do. `timeout_s` is for each key. Raises as `send` and `receive`.
        """
        session, receivers, senders = self._opened(), tuple(to), tuple(of)
        for name in (*receivers, *senders):
            check_peer(name, self.party, self.parties)
        for name in receivers:
            self._give_key(session, name, timeout_s)
        for name in senders:
            self._take_key(session, name, timeout_s)
        session.end()

    def close(self) -> None:
        """Write zeros over the session's keys: what was sealed in it cannot be opened again, by anybody.

        What Python copied on the way is out of reach: the bytes in which a pair key was drawn or came, and the keys of
        single messages. They may stay in this process's memory until they are written over.
        """
        if self._session is not None:
            self._session.wipe()
        self._session = None

    def __enter__(self) -> SealedChannel:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if self._session is not None:
                # The others are told the kind of an error and nothing else: see hekat.channel.departure.
                reason = FINISHED_REASON if kind is None else kind.__name__
                # Whoever carries messages may refuse this one: the role's own end is what counts.
                with suppress(HekatError):
                    self._channel.leave(self._own_word(reason))
        finally:
            self.close()

    def _own_word(self, reason: str) -> DropoutNotice:
        session_id, name = self._opened().session_id, self.party
        lost = tuple(self._lost)
        return sign_dropout(self._key, session_id, name, name, reason, step=self._step, saved=self._saved, lost=lost)

    def send(self, to: str, step: str, payload: bytes, *, timeout_s: float | None = None) -> None:
        """As `Channel.send`, sealed. Raises SealError while no session is open."""
        check_peer(to, self.party, self._next_sent)
        check_step(step)
        check_payload(payload)
        session = self._opened()
        self._give_key(session, to, timeout_s)
        header = SealedHeader(
            session_id=session.session_id,
            run_id=self._run_id,
            protocol=self._protocol,
            step=step,
            sequence=self._next_sent[to],
            sender=self.party,
            receiver=to,
            signer=self._key.fingerprint,
            salt=secrets.token_bytes(SALT_BYTES),
            payload_bytes=len(payload),
            chunk_bytes=self._chunk_bytes,
        )
        with self._measure("send"):
            sealed = seal_payload(payload, header, self._key, session.sending[to])
            session.sending[to].advance()
        # Counted even if the sending below fails: no sequence number is ever used for two payloads.
        self._next_sent[to] += 1
        self._send_counted(to, step, sealed, timeout_s)

    @contextmanager
    def counting_as(self, step: str) -> Iterator[None]:
        """Within, `traffic` has what is sent under `step`, whatever its own is; "": under its own."""
        self._sent_counts_as = step
        try:
            yield
        finally:
            self._sent_counts_as = ""

    def receive(self, sender: str, step: str, *, timeout_s: float | None = None) -> bytes:
        """As `Channel.receive`, opened.

        Raises:
            SealError: the message was altered, truncated, replayed, reordered, meant for another party, step or
                session, or signed by another key; it says which. Nothing of the message is returned.
        """
        check_peer(sender, self.party, self._next_sent)
        check_step(step)
        session = self._opened()
        data = self._receive_counted(sender, step, timeout_s)
        with self._measure("open"):
            frame = self._check_signed(data, sender, step)
            return self._open_frame(frame, session, sender, step)

    def _check_signed(self, data: bytes, sender: str, step: str) -> SealedFrame:
        frame, what = parse_frame(data), describe_message(sender, step)
        check_signer(what, frame.header.signer, self._pinned[sender])
        if not frame.verify(self._pinned[sender]):
            raise altered_error(what)
        return frame

    def _open_frame(self, frame: SealedFrame, session: PairKeys, sender: str, step: str) -> bytes:
        here = MessagePlace(
            session.session_id, self._run_id, self._protocol, step, self._next_received[sender], sender, self.party
        )
        check_place(frame.header, here)
        try:
            self._take_key(session, sender, _AT_ONCE_S)
        except ChannelTimeoutError as error:
            raise no_key_error(describe_message(sender, step)) from error
        payload = frame.open(session.receiving[sender])
        session.receiving[sender].advance()
        self._next_received[sender] += 1
        return payload

    def note_saved(self, what: str) -> None:
        """As `Channel.note_saved`."""
        self._saved = what
        self._channel.note_saved(what)

    def leave(self, notice: DropoutNotice) -> None:
        """As `Channel.leave`. `with` does it by itself where its block raises."""
        self._channel.leave(notice)

    def expel(self, party: str, reason: str, notice: DropoutNotice | None = None) -> None:
        """As `Channel.expel`; `reason` is not sealed. Within a session it is signed here, whatever `notice` is."""
        shown = printable_reason(reason)
        if self._session is not None:
            notice = sign_dropout(self._key, self._session.session_id, self.party, party, shown)
        self._channel.expel(party, shown, notice)
        self._lost[party] = None

    def sign(self, purpose: str, *fields: bytes) -> bytes:
        """64 bytes of this party's signature over the fields, for this purpose and this session only.

        What one purpose signs holds for no other one, nor for anything the channel itself signs. Long data is given
        by its digest. Raises SealError while no session is open, InputError for a malformed purpose or field.
        """
        return self._key.sign(protocol_purpose(purpose), *self._bound_to_session(fields))

    def verify(self, party: str, signature: bytes, purpose: str, *fields: bytes) -> bool:
        """Whether `party` (any one, this one too) made `signature` by `sign` in this session, of exactly these.

        Raises as `sign`, and InputError where there is no such party.
        """
        if party != self.party:
            check_peer(party, self.party, self._next_sent)
        check_payload(signature)
        signer = self._key.public if party == self.party else self._pinned[party]
        return signer.verify(signature, protocol_purpose(purpose), *self._bound_to_session(fields))

    def find_unsigned(self, purpose: str, statements: Statements) -> str | None:
        """The first party whose signature over its statement does not hold, as `verify`; None where all do.

        Raises as `verify`.
        """
        for party, signature, _ in statements:
            if party != self.party:
                check_peer(party, self.party, self._next_sent)
            check_payload(signature)
        signers = tuple(self._key.public if party == self.party else self._pinned[party] for party, _, _ in statements)
        return find_unsigned(protocol_purpose(purpose), self._opened().session_id, statements, signers)

    def __repr__(self) -> str:
        state = "open" if self._session is not None else "no session"
        return f"SealedChannel({self.party!r} of {', '.join(self.parties)}; {state})"

    @property
    def _others(self) -> list[str]:
        return [name for name in self.parties if name != self.party]

    def _opened(self) -> PairKeys:
        if self._session is None:
            raise SealError("no session is open", expected="open_session() before, close() after all messages")
        return self._session

    def _bound_to_session(self, fields: tuple[bytes, ...]) -> list[bytes]:
        for field in fields:
            check_payload(field)
        return [self._opened().session_id, *fields]

    def _agree_on_session(
        self, timeout_s: float | None, before_confirmed: Callable[[], None], pairs_later: bool
    ) -> PairKeys:
        own = SessionKey()
        mine = make_hello(self._key, self.party, self._run_id, self._protocol, self._job_digest, own.public)
        hellos = self._exchange_hellos(mine, timeout_s)
        check_jobs_agree(mine, hellos.values())
        session_id = session_id_of([mine, *hellos.values()])
        peers = {name: read_session_key(hello.session_key) for name, hello in hellos.items()}
        session = PairKeys(session_id, self.party, self._key, self._pinned, own, peers)
        try:
            to_all = confirm_to_all(self._key, session_id, self.party) if pairs_later else b""
            for name in self._others:
                self._send_counted(name, CONFIRM_STEP, to_all or session.give(name))
            self._say_before(session, before_confirmed)
            for name in self._others:
                data = self._receive_counted(name, CONFIRM_STEP, timeout_s)
                if pairs_later:
                    check_confirmed_to_all(data, session_id, name, self._pinned[name])
                else:
                    session.take(name, data)
            if not pairs_later:
                session.end()
        except BaseException:
            session.wipe()
            raise
        return session

    def _give_key(self, session: PairKeys, to: str, timeout_s: float | None) -> None:
        """See that `to` has the key of what is sent to it, before that."""
        if to not in session.sending:
            with self._measure("send"):
                data = session.give(to)
            try:
                self._send_counted(to, PAIR_STEP, data, timeout_s)
            except ChannelError:
                session.sending.pop(to).wipe()
                raise

    def _take_key(self, session: PairKeys, sender: str, timeout_s: float | None) -> None:
        """See that there is the key of what `sender` sends."""
        if sender not in session.receiving:
            awaited = self._step
            try:
                data = self._receive_counted(sender, PAIR_STEP, timeout_s)
            finally:
                self._step = awaited
            with self._measure("open"):
                session.take(sender, data)

    def _say_before(self, session: PairKeys, before_confirmed: Callable[[], None]) -> None:
        self._session = session
        try:
            before_confirmed()
        finally:
            self._session = None  # nobody has confirmed it

    def _exchange_hellos(self, mine: Hello, timeout_s: float | None) -> dict[str, Hello]:
        data = mine.encode(self._key)
        for name in self._others:
            self._send_counted(name, HELLO_STEP, data)
        return {
            name: read_hello(self._receive_counted(name, HELLO_STEP, timeout_s), name, self._pinned[name], mine)
            for name in self._others
        }

    def _check_dropout(self, error: PartyLostError | PartyStoppedError) -> None:
        """Let through what the channel below tells of dropouts, where the parties named for them signed it.

        Raises SealError else. Before the session is open no word can be bound to it: then any dropout ends the opening,
        and goes on as nobody's word.
        """
        if self._session is None:
            error.notice = None
        else:
            check_dropout(error, self._session.session_id, self.party, {**self._pinned, self.party: self._key.public})
        if isinstance(error, PartyLostError):
            self._lost[error.party] = None

    def _send_counted(self, to: str, step: str, data: bytes, timeout_s: float | None = None) -> None:
        self._step = step
        try:
            self._channel.send(to, step, data, timeout_s=timeout_s)
        except (PartyLostError, PartyStoppedError) as error:
            self._check_dropout(error)
            raise
        traffic = self._traffic_of(to, self._sent_counts_as or step)
        traffic.sent_count += 1
        traffic.sent_bytes += len(data)

    def _traffic_of(self, peer: str, step: str) -> Traffic:
        key = peer, self._group_of(step)
        if key not in self.traffic:
            self.traffic[key] = Traffic()
        return self.traffic[key]

    def _receive_counted(self, sender: str, step: str, timeout_s: float | None) -> bytes:
        self._step = step
        try:
            data = self._channel.receive(sender, step, timeout_s=timeout_s)
        except (PartyLostError, PartyStoppedError) as error:
            self._check_dropout(error)
            raise
        traffic = self._traffic_of(sender, step)
        traffic.received_count += 1
        traffic.received_bytes += len(data)
        return data
