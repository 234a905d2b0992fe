"""A member of the openers: it checks what it was dealt, and releases one sum of it, for one set a group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from hekat.errors import ChannelTimeoutError, InputError, PartyLostError, ProtocolError, SealError, WireError
from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.masked.leg import SHARE_KEYS_STEP, Leg
from hekat.protocol.secure_sum.masked.messages import (
    CheckedMessage,
    DealersMessage,
    ReleasedMessage,
    ShareKeysMessage,
    ShareMessage,
)
from hekat.protocol.secure_sum.masked.opening.field import WRONG_LENGTH, FieldArray, wipe
from hekat.protocol.secure_sum.masked.opening.included import IncludedSet
from hekat.protocol.secure_sum.masked.opening.opening_scheme import OpeningScheme
from hekat.protocol.secure_sum.masked.opening.share_check import challenge_digest_of
from hekat.protocol.secure_sum.masked.opening.share_keys import ShareKeys
from hekat.protocol.secure_sum.masked.opening.share_message import (
    DEALING_PURPOSE,
    NO_SHARE,
    DigestList,
    dealing_fields,
)
from hekat.protocol.secure_sum.masked.opening.upload_context import UploadContext
from hekat.protocol.secure_sum.masked.release_key import RELEASE_PURPOSE, ReleaseKey, release_fields
from hekat.protocol.secure_sum.masked.upload_state import UploadState
from hekat.protocol.secure_sum.participation import participation_of
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.secure_sum.timeouts import PeerWait
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.lattice import SETS, LatticeParameters


@dataclass
class _Kept:
    """What a member holds of one upload; secret until it is wiped."""

    parameters: LatticeParameters
    digests: dict[str, tuple[bytes, ...]]
    shares: dict[str, FieldArray] = field(default_factory=dict, repr=False)


class Member:
    """One role's part in opening: a party of the committee, or the key authority."""

    def __init__(
        self,
        channel: RecordedChannel,
        settings: SumSettings,
        scheme: OpeningScheme,
        release_key: ReleaseKey,
        state: UploadState,
        stopwatch: Stopwatch,
        *,
        aggregator_timeout_s: float | None = None,
    ) -> None:
        """`release_key`: the role's own, which has the key of an upload that is released for."""
        self._channel, self._settings, self._scheme, self._state = channel, settings, scheme, state
        self._stopwatch, self._aggregator_timeout_s = stopwatch, aggregator_timeout_s
        self._participation, self._release_key = participation_of(channel, settings), release_key
        self._kept: dict[int, _Kept] = {}
        self._keys: dict[str, ShareKeys] = {}
        self._keyless: dict[str, str] = {}
        """Parties that gave this member of a committee no keys of shares, each with the reason."""
        self._is_of_committee = scheme.offset_bytes(1) > 0

    def check_dealt(self, leg: Leg, own_message: bytes | None = None) -> str:
        """Receive and check what every dealer sent here, and tell the aggregator; returns the parameter set's name.

        `own_message`: from a party that is a member and takes part, to itself.
        """
        aggregator, me = self._settings.aggregator, self._channel.party
        dealers = self._channel.receive(
            aggregator, leg.name("dealers"), DealersMessage, timeout_s=self._aggregator_timeout_s
        )
        if dealers.parameter_set not in SETS:
            raise ProtocolError(
                "the aggregator names an unknown parameter set",
                expected="one of this release's",
                got="another",
                cure="run the same release at the aggregator",
            )
        context = leg.dealing_context(self._channel.session_id, dealers.parameter_set)
        lists = self._read_lists(context, dealers)
        kept = _Kept(SETS[dealers.parameter_set], {name: entry.digests for name, entry in lists.items()})
        refused: dict[str, str] = {}
        position = self._scheme.members.index(me)
        wait = PeerWait(self._aggregator_timeout_s, len(self._settings.parties))
        for dealer, entry in lists.items():
            try:
                own = own_message if dealer == me else None
                message = self._find_share(leg, dealer, wait) if own is None else own
                degree = kept.parameters.form.ring.degree
                with self._stopwatch.measure("deal"):
                    kept.shares[dealer] = self._scheme.read(
                        context, dealer, me, message, entry.offset, entry.digests[position], degree
                    )
            except (PartyLostError, ChannelTimeoutError, SealError, WireError):
                refused[dealer] = NO_SHARE
            except ProtocolError as error:
                refused[dealer] = error.what
            finally:
                if dealer in self._keys:
                    self._keys[dealer].advance()
        with self._stopwatch.measure("deal"):
            challenge = challenge_digest_of(context, lists)
            values = self._scheme.check_values(challenge, kept.shares, kept.parameters.form.ring.degree)
        wide = {dealer: answer.astype(np.uint64) for dealer, answer in values.items()}
        # A second answer under another challenge would show combinations of a secret: the first one uses up the masks.
        for share in kept.shares.values():
            wipe(share[kept.parameters.form.ring.degree :])
        self._channel.send(aggregator, leg.name("checked"), CheckedMessage(challenge, refused, wide))
        self._kept[leg.number] = kept
        return dealers.parameter_set

    def share_digests(self, leg: Leg) -> Mapping[str, tuple[bytes, ...]]:
        """The digests of the dealers whose shares are kept: what a statement of included uploads has to name."""
        kept = self._kept.get(leg.number)
        return {} if kept is None else {dealer: kept.digests[dealer] for dealer in kept.shares}

    def drop(self) -> None:
        """Wipe all shares that are kept: no upload follows what was dealt."""
        for kept in self._kept.values():
            wipe(*kept.shares.values())
        self._kept.clear()

    def close(self) -> None:
        """As `drop`, and wipe the keys of all dealers."""
        self.drop()
        for keys in self._keys.values():
            keys.wipe()

    def release(self, leg: Leg, included: IncludedSet) -> None:
        """Note durably that this member releases for a checked set, then release to all parties, and wipe the shares.

        The aggregator passes on what it cannot open. Raises ProtocolError, and releases nothing, where it released for
        other parties in this group before.
        """
        kept = self._kept.pop(leg.number, None)
        if kept is None:
            raise ProtocolError("a release without shares", expected="shares of this upload", got="none")
        self._state.allow(self._participation.parties_in(leg.step), included)
        with self._stopwatch.measure("open"):
            content = self._scheme.combine({party: kept.shares[party] for party in included.parties}, kept.parameters)
        wipe(*kept.shares.values())
        sealed = self._release_key.seal(self._channel.party, content)
        signature = self._channel.sign(RELEASE_PURPOSE, *release_fields(included, sealed))
        released = ReleasedMessage(included.digest, sealed, signature)
        self._channel.send(self._settings.aggregator, leg.name("released"), released)

    def _find_share(self, leg: Leg, dealer: str, wait: PeerWait) -> bytes:
        """What this member's share follows from. Raises ProtocolError, its `what` a reason to refuse the dealer."""
        if not self._is_of_committee:
            return self._channel.receive(dealer, leg.name("share"), ShareMessage, timeout_s=wait.left_s).content
        if dealer not in self._keys and dealer not in self._keyless:
            self._receive_keys(dealer, wait)
        if dealer in self._keyless:
            raise ProtocolError(self._keyless[dealer], expected="keys of its shares", got="none")
        return self._keys[dealer].as_bytes

    def _receive_keys(self, dealer: str, wait: PeerWait) -> None:
        """Once, as the dealer deals for the first time in this session."""
        try:
            message = self._channel.receive(dealer, SHARE_KEYS_STEP, ShareKeysMessage, timeout_s=wait.left_s)
            self._keys[dealer] = ShareKeys(message.keys)
        except (PartyLostError, ChannelTimeoutError, SealError, WireError):
            self._keyless[dealer] = NO_SHARE
        except InputError:
            self._keyless[dealer] = WRONG_LENGTH

    def _read_lists(self, context: UploadContext, dealers: DealersMessage) -> dict[str, DigestList]:
        """The dealers' signed lists of digests. Raises ProtocolError where dealers signed other ones."""
        lists: dict[str, DigestList] = {}
        sampled = self._participation.parties_in(context.step)
        for dealer, digests in dealers.share_digests.items():
            signature, offset = dealers.signatures.get(dealer, b""), dealers.offsets.get(dealer, b"")
            entry = DigestList(tuple(digests), signature, offset)
            signed = dealer in sampled and self._channel.verify(
                dealer, entry.signature, DEALING_PURPOSE, *dealing_fields(context, entry.digests, entry.offset)
            )
            if not signed or len(entry.digests) != len(self._scheme.members):
                raise ProtocolError(
                    f"the aggregator states shares that {dealer!r:.40} did not sign",
                    expected=f"{len(self._scheme.members)} signed digests of each dealer, who takes part in this step",
                    got="others",
                    cure="release nothing; ask the aggregator's operator",
                )
            lists[dealer] = entry
        return lists
