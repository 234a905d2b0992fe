"""The aggregator's checks of each message under protection `lattice`: a bad message harms only its sender.

A message that passes here passes at every honest member too, so that none refuses the set for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from hekat.errors import InputError
from hekat.protocol.secure_sum.masked.group.announced_block import announced_bytes
from hekat.protocol.secure_sum.masked.messages import (
    CheckedMessage,
    DealtMessage,
    MaskedBlockMessage,
    ReleasedMessage,
    StatementMessage,
    UploadMessage,
)
from hekat.protocol.secure_sum.masked.opening.included import UPLOAD_PURPOSE, IncludedSet, upload_fields
from hekat.protocol.secure_sum.masked.opening.opening_scheme import OpeningScheme
from hekat.protocol.secure_sum.masked.opening.share_check import CheckAnswer
from hekat.protocol.secure_sum.masked.opening.share_message import DEALING_PURPOSE, dealing_fields
from hekat.protocol.secure_sum.masked.opening.shared import salt_digest
from hekat.protocol.secure_sum.masked.opening.upload_context import DIGEST_BYTES, UploadContext, Verify
from hekat.protocol.secure_sum.masked.release_key import RELEASE_PURPOSE, release_fields
from hekat.scheme.lattice import SETS


def check_dealt(
    party: str, message: DealtMessage, context: UploadContext, scheme: OpeningScheme, verify: Verify
) -> None:
    """Raise InputError unless set, offset and digests are possible, and signed by the party for this upload."""
    if message.parameter_set not in SETS:
        raise InputError("an unknown parameter set", expected="one of this release's", got="another")
    size = scheme.offset_bytes(SETS[message.parameter_set].form.ring.degree)
    if len(message.offset) != size:
        raise InputError("an offset of another length", expected=f"{size} bytes", got=f"{len(message.offset)}")
    digest_count = max(1, len(scheme.members))
    sizes = [len(digest) for digest in message.share_digests]
    if sizes != [DIGEST_BYTES] * digest_count:
        raise InputError(
            "malformed digests of shares", expected=f"{digest_count} of {DIGEST_BYTES} bytes", got=f"{len(sizes)}"
        )
    if not verify(
        party, message.signature, DEALING_PURPOSE, *dealing_fields(context, message.share_digests, message.offset)
    ):
        raise InputError("a signature that does not hold", expected="one over the digests of its shares", got="another")


def check_upload(message: UploadMessage, step: str, set_name: str, most_slots: int) -> None:
    """Raise InputError unless the upload may have this size, and is for the step, under a secret of the set that was
    dealt."""
    _check_step(message, (step,))
    if message.parameter_set != set_name:
        raise InputError("an upload under another parameter set than was dealt for", expected=set_name, got="another")
    _check_announced(message, most_slots, 0)


def check_further(
    message: UploadMessage, steps: Collection[str], held: Collection[str], most_slots: int, uploader_count: int
) -> None:
    """As `check_upload`, in the middle of a group: for any of the `steps`, of any set.

    Under the secrets of a `held` set its block is there.
    """
    _check_step(message, steps)
    if message.parameter_set not in SETS:
        raise InputError("an unknown parameter set", expected="one of this release's", got="another")
    parameters = SETS[message.parameter_set]
    is_held = message.parameter_set in held and message.lane_count > 0
    size = announced_bytes(parameters, message.lane_count, uploader_count) if is_held else 0
    _check_announced(message, most_slots, size)


def _check_step(message: UploadMessage, steps: Collection[str]) -> None:
    if message.step not in steps:
        raise InputError("an upload for another sum", expected=" or ".join(steps), got="another")


def _check_announced(message: UploadMessage, most_slots: int, block_bytes: int) -> None:
    if not (message.lane_count >= 1 and 0 <= message.clear_count <= most_slots - message.lane_count):
        raise InputError(
            "an upload of a size that the announced tensors do not give",
            expected=f"1 to {most_slots} lanes",
            got=f"{message.lane_count} masked and {message.clear_count} in the clear",
        )
    if len(message.agreement) != DIGEST_BYTES:
        raise InputError("no agreement", expected=f"{DIGEST_BYTES} bytes", got=f"{len(message.agreement)}")
    if len(message.block) != block_bytes:
        raise InputError(
            "an announcement with a block of another size",
            expected=f"{block_bytes} bytes",
            got=f"{len(message.block)} bytes",
        )


def read_answer(checked: CheckedMessage) -> CheckAnswer:
    """A member's answer as the share check takes it; values that are no 16-bit words become an empty array."""
    values = {
        dealer: answer.astype(np.uint16) if answer.size and answer.max() < 1 << 16 else np.zeros(0, np.uint16)
        for dealer, answer in checked.values.items()
    }
    return CheckAnswer(checked.challenge_digest, dict(checked.refused), values)


def check_block(byte_count: int) -> Callable[[MaskedBlockMessage], None]:
    """Refuses a block of another size: smaller ones could be any number."""

    def check(message: MaskedBlockMessage) -> None:
        if len(message.written) != byte_count:
            raise InputError(
                "a block of another size", expected=f"{byte_count} bytes", got=f"{len(message.written)} bytes"
            )

    return check


def check_statement(
    party: str,
    statement: StatementMessage,
    context: UploadContext,
    upload_digest: bytes,
    share_digests: Sequence[bytes],
    earlier: Collection[bytes],
    verify: Verify,
    *,
    salted: bool,
) -> None:
    """Raise InputError unless the party signed the received upload, by its digest, with the shares that it dealt.

    `earlier` are the digests of other parties' uploads, which this one must not repeat; `salted` says whether its
    share digest has to be the salt's.
    """
    if statement.upload_digest != upload_digest:
        raise InputError("its statement is not of what it sent", expected="the digest of its blocks", got="another")
    if upload_digest in earlier:
        raise InputError("it repeats another party's upload", expected="an upload of its own", got="a copy")
    if not verify(party, statement.signature, UPLOAD_PURPOSE, *upload_fields(context, upload_digest, share_digests)):
        raise InputError("its signature does not hold", expected="one over its upload and shares", got="another")
    if (list(share_digests) != [salt_digest(context, party, statement.salt)]) if salted else statement.salt:
        raise InputError("its salt is not the one it signed", expected="the salt of its digest", got="another")


def check_released(included: IncludedSet, release_bytes: int, verify: Verify) -> Callable[[str, ReleasedMessage], None]:
    """Refuses a member's release for another set, of another size, or without its signature."""

    def check(member: str, message: ReleasedMessage) -> None:
        if len(message.release) != release_bytes:
            raise InputError(
                "a release of another size", expected=f"{release_bytes} bytes", got=f"{len(message.release)}"
            )
        if message.statement_digest != included.digest or not verify(
            member, message.signature, RELEASE_PURPOSE, *release_fields(included, message.release)
        ):
            raise InputError("it released for another set", expected="a signature over the stated set", got="another")

    return check
