"""Every exception Hekat raises, each saying what was expected, what came, and the cure."""

from __future__ import annotations

from collections.abc import Callable

from hekat.printable import cut_long, printable

DIVERGED_EXIT_CODE = 3
"""What a process ends with whose run came to its end with a model of no use: no refusal, and not done either."""

LONGEST_TEXT = 3000
"""Characters of what was refused, of what was expected, and of the cure, which may list lines for many parties."""
LONGEST_GOT = 400
"""Characters of what came; five names of parties with their keys take 300."""


class HekatError(Exception):
    """A refusal or failure with its cure; the command line prints it and exits with `exit_code`.

    Messages name shapes, sizes, types, parties and steps. They never hold a plaintext, a key or randomness. They may
    quote files and messages of others: characters that do not print become codes, and texts longer than `longest`, or
    LONGEST_GOT where they say what came, are cut.
    """

    exit_code = 2
    ends_run = False
    """Whether a role that raises it ends the run for all, also where others could go on without that role."""
    longest = LONGEST_TEXT

    def __init__(self, what: str, *, expected: str = "", got: str = "", cure: str = "") -> None:
        self._take_texts(what, expected, got, cure)
        super().__init__(self._sentence())

    def reword(self, change: Callable[[str], str]) -> None:
        """Say the same to another reader: `change` takes each of the four texts and gives the new one."""
        self._take_texts(*map(change, (self.what, self.expected, self.got, self.cure)))
        self.args = (self._sentence(),)

    def _take_texts(self, what: str, expected: str, got: str, cure: str) -> None:
        self.what, self.expected, self.cure = (
            cut_long(printable(text), self.longest) for text in (what, expected, cure)
        )
        self.got = cut_long(printable(got), LONGEST_GOT)

    def _sentence(self) -> str:
        parts = [self.what]
        if self.expected:
            parts.append(f"expected {self.expected}")
        if self.got:
            parts.append(f"got {self.got}")
        if self.cure:
            parts.append(f"cure: {self.cure}")
        return "; ".join(parts)


class InputError(HekatError, ValueError):
    """A value, shape, dtype or range that the operation does not accept.

    `index`: which of an array's values it was, flat, where the refusal is of one of them.
    """

    index: int | None = None


def missing_extra(what: str, extra: str, error: ImportError) -> InputError:
    """The refusal of what takes an optional package, in place of the `error` of its import."""
    return InputError(
        what, expected=f"the extra {extra!r}", got=type(error).__name__, cure=f"pip install 'hekat[{extra}]'"
    )


class BoundError(HekatError, OverflowError):
    """An operation that could pass the bound its operands carry; refused before anything is computed."""


class DivergedError(InputError, BoundError):
    """Training that diverged: values, losses or gradients beyond every bound; nothing of them was sent."""


class KeyRefusedError(HekatError):
    """A key that is too small, malformed, foreign, or of the wrong kind for the operation."""


class EngineError(HekatError):
    """An engine that is not there, or was asked for something it cannot do."""


class FaultError(HekatError):
    """A secret computation whose result failed its check; nothing of the result was returned."""


class ProtocolError(HekatError):
    """Parties that find, in the middle of a protocol, that they do not hold the same."""


class AlteredSumError(ProtocolError):
    """A sum that opens and is not the sum of the uploads it is stated to be: nobody goes on with it, or after it."""

    ends_run = True


class LongSumError(ProtocolError):
    """A sum longer than updates within the job's bound can make it: nothing of it is used, and nobody goes on."""

    ends_run = True


class MaskError(ProtocolError):
    """Masks that differ between parties, or maps from which no mask is taken: no update was masked by them."""


class ModelsDifferError(ProtocolError):
    """Parties that end training with different models: none of these is anybody's final one."""

    ends_run = True


class WireError(HekatError):
    """Bytes that are not a well-formed Hekat object."""


class WireTruncatedError(WireError):
    """Bytes that end before the object does."""


class WireCorruptError(WireError):
    """Bytes whose checksum or structure does not hold."""


class WireVersionError(WireError):
    """Bytes of a format version this release does not read."""


class WireOversizeError(WireError):
    """Bytes that declare more than the reader allows."""


class WireKindError(WireError):
    """Bytes of another kind of object than the one asked for."""


class WireKeyError(WireError):
    """Ciphertexts made under another key than the one at hand."""


class ChannelError(HekatError):
    """A message that could not be delivered."""


class ChannelTimeoutError(ChannelError):
    """A party that did not answer within the step's time."""


class PartyStoppedError(ChannelError):
    """Another party raised or stopped: names it, its step, and what was saved."""

    # Its words hold all four texts of another error.
    longest = 4 * LONGEST_TEXT

    def __init__(self, what: str, *, party: str = "", step: str = "", saved: str = "", cure: str = "") -> None:
        self.party = party
        self.step = step
        self.saved = saved
        # As in PartyLostError; `expelled_by` is for the party itself that was given up on.
        self.notice: object = None
        self.expelled_by = ""
        self.told_reason = ""
        super().__init__(f"{what}; saved: {saved}" if saved else what, cure=cure)

    def with_saved(self, saved: str) -> PartyStoppedError:
        """The same stop, where `saved` is what the whole run goes on from."""
        what = self.what.removesuffix(f"; saved: {self.saved}")
        stop = PartyStoppedError(what, party=self.party, step=self.step, saved=saved, cure=self.cure)
        stop.notice, stop.expelled_by, stop.told_reason = self.notice, self.expelled_by, self.told_reason
        return stop


class PartyLostError(ChannelError):
    """Another party that the run goes on without: names it, the last step it was in, and why it was lost."""

    longest = 4 * LONGEST_TEXT

    def __init__(self, what: str, *, party: str = "", step: str = "", reason: str = "", cure: str = "") -> None:
        self.party = party
        self.step = step
        self.reason = reason
        # It left by an error of its own when another party had ended the run already.
        self.after_stop = False
        # Who gave up on it ("" where it left by itself), and a signed word of that (channel.loss_notice), if any.
        self.expelled_by = ""
        self.notice: object = None
        # What is told of the reason, without any other word: the notice has to be of the same.
        self.told_reason = ""
        super().__init__(what, cure=cure)


class SealError(ChannelError):
    """A sealed message that was replayed, reordered, redirected, altered, or signed by somebody else."""


class LedgerError(HekatError):
    """A ledger whose chain or signature does not hold, or two that do not agree."""


class PolicyError(HekatError):
    """A job that asks for more than the protocol or the site allows."""


class BudgetError(PolicyError):
    """A release that would pass the limit which a site sets on the privacy loss of a data set."""


class JobError(HekatError, ValueError):
    """A job or site file that cannot be run as written."""


class StateError(HekatError):
    """A checkpoint or durable counter that cannot be read or written."""
