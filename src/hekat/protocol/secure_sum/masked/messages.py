"""Every message of protection `lattice`, in the order of a round, each field with what it discloses and to whom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.wire import ciphertext, disclosed, message, public, sealed


@message("horizontal/run-secrets", version=2)
@dataclass(frozen=True)
class RunSecretsMessage:
    """First party to each other party, once: the parties' common keys; a key authority has the one of releases alone.

    `shared_key` only under opening `shared`, `release_key` only under the others.
    """

    digest_key: bytes = sealed("the key under which parties compare model digests")
    shared_key: bytes = sealed("opening `shared`: the key from which every party's round secret follows")
    release_key: bytes = sealed("the key from which every upload's follows, under which releases go to the parties")


@message("horizontal/member-draw", version=1)
@dataclass(frozen=True)
class DrawMessage:
    """Party to aggregator, in a draw of members: commitment, digest of all commitments, word, what it accepts."""

    value: bytes = public()
    signature: bytes = public()


@message("horizontal/member-draws", version=1, read_once=True)
@dataclass(frozen=True)
class DrawsMessage:
    """Aggregator to each party: what every party said in that exchange, with its signature."""

    values: dict[str, bytes] = public()
    signatures: dict[str, bytes] = public()


@message("horizontal/upload-counter", version=1)
@dataclass(frozen=True)
class UploadCounterMessage:
    """Party to aggregator, once: the least upload number that this party has not used yet."""

    next_number: int = public()


@message("horizontal/released-groups", version=1)
@dataclass(frozen=True)
class ReleasedGroupsMessage:
    """Opener of sums to aggregator, once: for which parties it released in earlier runs, in groups that are ahead.

    `left_out`: by group ("round-3"), the parties of its sample that were not in; none where all were, in this job or in
    another one on the same rows.
    """

    left_out: dict[str, list[str]] = public()


@message("horizontal/round-begin", version=1)
@dataclass(frozen=True)
class BeginMessage:
    """Aggregator to parties and authority: one upload's number, and its participants. Step "" ends the authority's."""

    step: str = public()
    number: int = public()
    participants: list[str] = public()


@message("horizontal/share-keys", version=1)
@dataclass(frozen=True)
class ShareKeysMessage:
    """Party to each member, once: the keys from which the member's Shamir shares of its secrets follow."""

    keys: bytes = sealed("keys of shares of this party's round secrets: fewer members than the threshold lack one")


@message("horizontal/share", version=1)
@dataclass(frozen=True)
class ShareMessage:
    """Party to authority: the seed of its secret of this upload."""

    content: bytes = sealed("the seed of this party's round secret")


@message("horizontal/dealt", version=3)
@dataclass(frozen=True)
class DealtMessage:
    """Party to aggregator: digests of the shares that it dealt of the next upload's secret, one for each member.

    `offset`: of a committee, what members add to numbers of their keys to have their shares.
    """

    parameter_set: str = public()
    share_digests: list[bytes] = public()
    signature: bytes = public()
    offset: bytes = ciphertext(under="keys of the party: as many members as the threshold hold all of them together")


@message("horizontal/dealers", version=3)
@dataclass(frozen=True)
class DealersMessage:
    """Aggregator to each member: the dealers, their offsets, and the digests of all their shares with signatures."""

    parameter_set: str = public()
    share_digests: dict[str, list[bytes]] = public()
    signatures: dict[str, bytes] = public()
    offsets: dict[str, bytes] = ciphertext(under="keys of each dealer, as in what it told the aggregator")


@message("horizontal/checked", version=1)
@dataclass(frozen=True)
class CheckedMessage:
    """Member to aggregator: whose shares it cannot use, and masked combinations of the others, shape (8,) each."""

    challenge_digest: bytes = public()
    refused: dict[str, str] = public()
    values: dict[str, npt.NDArray[np.uint64]] = disclosed("combinations of shares under masks used once: noise")


@message("horizontal/upload", version=3)
@dataclass(frozen=True)
class UploadMessage:
    """Party to aggregator, ahead of its blocks: how much follows, and what it takes for granted of the others.

    The public polynomials of its mask follow from the agreement. In the middle of a group it says for which step the
    party masks, and under which set's secret; where the group has no secret of this set, nothing follows before one is
    dealt. Where it has one, an upload of one block is in `block`; otherwise that is empty, and blocks follow.
    `clear_count`: values that a mask leaves in the clear, whose blocks come last; where they lie is not told.
    """

    step: str = public()
    parameter_set: str = public()
    lane_count: int = public()
    agreement: bytes = disclosed("a keyed digest of model, mask, bounds and counters; equal or not is all anybody sees")
    block: bytes = ciphertext(under="the party's secret of all sums of the group")
    clear_count: int = public()


@message("horizontal/masked-block", version=1)
@dataclass(frozen=True)
class MaskedBlockMessage:
    """Party to aggregator: one block of its masked update, weight, counters and count slots."""

    written: bytes = ciphertext(under="the party's secret of this upload, or of all sums of its group")


@message("horizontal/clear-block", version=1)
@dataclass(frozen=True)
class ClearBlockMessage:
    """Party to aggregator, after its masked blocks: one block of what a mask leaves out, levels of 1, 2 or 4 bytes."""

    levels: bytes = disclosed("this party's values outside of the mask, scaled by its weight, in the clear")


@message("horizontal/statement", version=1)
@dataclass(frozen=True)
class StatementMessage:
    """Party to aggregator after its last block: the digest of all blocks, masked and clear, signed with its
    share digests.

    None in a further sum of a group: parties that differ in anything mask under different polynomials.
    Under opening `shared` the party's secret follows from `salt`; otherwise it is empty.
    """

    upload_digest: bytes = public()
    salt: bytes = public()
    signature: bytes = public()


@message("horizontal/included", version=2, read_once=True)
@dataclass(frozen=True)
class IncludedMessage:
    """Aggregator to every party and member: the included set U with what every party of it signed.

    `next_step`: the step that the aggregator begins now, so that its secrets are dealt before this sum opens; "" for
    none. To an authority an empty set says that no upload follows what was dealt. A further sum of a group has no
    statement.
    """

    agreement: bytes = disclosed("the parties' keyed digest of model, mask, bounds and counters")
    next_step: str = public()
    upload_digests: dict[str, bytes] = public()
    share_digests: dict[str, list[bytes]] = public()
    salts: dict[str, bytes] = public()
    signatures: dict[str, bytes] = public()


@message("horizontal/sum-commitment", version=1)
@dataclass(frozen=True)
class SumCommitmentMessage:
    """Aggregator to every party and member, with `check_sum`: the digest of the whole sum, ahead of any release."""

    commitment: bytes = public()


@message("horizontal/sum-part", version=1)
@dataclass(frozen=True)
class SumPartMessage:
    """Party to aggregator, with `check_sum`: inner products of its upload with a vector that follows from the sum."""

    products: npt.NDArray[np.uint64] = disclosed("inner products of the party's upload, which the aggregator has")
    signature: bytes = public()


@message("horizontal/sum-parts", version=1)
@dataclass(frozen=True)
class SumPartsMessage:
    """Aggregator to each party, with `check_sum`: the inner products of every upload of U, with their signatures."""

    products: dict[str, npt.NDArray[np.uint64]] = disclosed("up to eleven inner products of every masked upload of U")
    signatures: dict[str, bytes] = public()


@message("horizontal/released", version=2)
@dataclass(frozen=True)
class ReleasedMessage:
    """Member to aggregator, for all parties: for which U it releases, and its release, signed.

    `release`: the sum of its shares over U (from an authority: the sum of the secrets).
    """

    statement_digest: bytes = public()
    release: bytes = ciphertext(under="the release key of the upload, which all parties hold, and no aggregator")
    signature: bytes = public()


@message("horizontal/sum-begin", version=2)
@dataclass(frozen=True)
class SumBeginMessage:
    """Aggregator to each party: the releases of the members for U, as each member signed its own."""

    releases: dict[str, bytes] = ciphertext(under="the release key of the upload, which all parties hold")
    signatures: dict[str, bytes] = public()


@message("horizontal/sum-block", version=1)
@dataclass(frozen=True)
class SumBlockMessage:
    """Aggregator to each party: one block of the sum; the sum of the secrets opens it."""

    written: bytes = ciphertext(under="the sum of the secrets of U: all parties learn the aggregate, nothing else")


@message("horizontal/whole-sum-block", version=1)
@dataclass(frozen=True)
class WholeSumBlockMessage:
    """Aggregator to each party, with `check_sum`: one block of the sum, with no bits dropped."""

    written: bytes = ciphertext(under="the sum of the secrets of U: all parties learn the aggregate, nothing else")


@message("horizontal/clear-sum-block", version=1)
@dataclass(frozen=True)
class ClearSumBlockMessage:
    """Aggregator to each party, after the masked sum: one block of the sums of what a mask leaves out."""

    sums: bytes = disclosed("the sums of the values outside of the mask, which the aggregator has")


@message("horizontal/opened", version=3)
@dataclass(frozen=True)
class OpenedMessage:
    """Party to aggregator: whether releases fitted together, and members whose did not fit the others'.

    A party whose releases fit and whose sum does not open sends no such message: it ends the run.
    """

    opened: bool = public()
    wrong_members: list[str] = public()


@message("horizontal/outcome", version=4)
@dataclass(frozen=True)
class OutcomeMessage:
    """Aggregator to each party: the sum stands, or the update is to be encrypted anew under another number."""

    stands: bool = public()
