"""A party's side of its loop's calls: each is told to the aggregator, and answered once all parties call alike."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from hekat.channel.channel import check_name
from hekat.ledger import RecordedChannel
from hekat.own_loop.aggregator import call_step
from hekat.own_loop.averaging import Call
from hekat.own_loop.calls.compare_calls import refusal_of
from hekat.own_loop.calls.messages import COMPARE, LEAVE, SUM, WITH_ROUND, AnswerMessage, CallMessage
from hekat.own_loop.canonical_value import digest_value
from hekat.own_loop.own_code import OwnCode
from hekat.own_loop.selective.fitted_mask import clear_count_of
from hekat.privacy import Mask
from hekat.protocol.secure_sum.aggregation import Aggregation
from hekat.protocol.secure_sum.agreement.final_model import ModelTrail

_MASK_LABEL = "which values are masked"


class PartyCalls:
    """The calls of one party, and the trail of all that was agreed on in them."""

    def __init__(
        self, channel: RecordedChannel, aggregator: str, aggregation: Aggregation, digest_key: bytes, code: OwnCode
    ) -> None:
        self._channel, self._aggregator, self._aggregation = channel, aggregator, aggregation
        self._digest_key, self._code = digest_key, code
        self._told_layout: dict[str, str] | None = None
        self._trail = ModelTrail(digest_key)
        """Of all that the aggregator compared: at the end the parties compare it without it."""

    def digest(self, label: str, value: Any) -> tuple[str, bytes]:
        """The label, and a digest of the value under it. Raises InputError."""
        check_name(label, "label")
        return label, digest_value(label, value, self._digest_key)

    def agree_on(self, digest: bytes) -> None:
        """What the aggregator compares it could say is alike: so the next upload shows it, and the last comparison."""
        self._trail.add(digest)
        self._aggregation.agree_on(digest)

    def compare(self, label: str, digest: bytes) -> None:
        """Return once all parties have the same digest under the label."""
        self._tell(CallMessage(COMPARE, True, [], [], False, label, digest, b"", 0))

    def ask_integers(self, forms: Mapping[str, str], label: str = "", same: bytes = b"") -> None:
        """Ask for the sum of integers, at parties that hold the digest `same` of what `label` names."""
        self._told_layout = None  # the next mean tells its tensors again
        self._tell(CallMessage(SUM, False, list(forms), list(forms.values()), False, label, same, b"", 0))

    def ask_tensors(
        self,
        what: str,
        call: Call,
        *,
        fresh_bounds: bool = False,
        label: str = "",
        digest: bytes = b"",
        mask: Mask | None = None,
    ) -> None:
        """Ask for what is done with tensors; their forms are told where these changed."""
        is_told = self._told_layout == call.layout
        forms = {} if is_told else call.layout
        self._told_layout = call.layout
        told = b"" if mask is None else digest_value(_MASK_LABEL, mask.digest(b""), self._digest_key)
        names, described, clear = list(forms), list(forms.values()), clear_count_of(mask)
        self._tell(CallMessage(what, is_told, names, described, fresh_bounds, label, digest, told, clear))

    def end_round(self, step: str, digest: bytes) -> None:
        """The sum of `step` is read, and all parties hold what `digest` is of."""
        self._trail.add(digest)
        self._aggregation.end_group()
        self._aggregation.finish_round(step, digest, False)

    def leave(self) -> tuple[str, ...]:
        """Call for nothing more; the parties with which the trail could not be compared."""
        self._tell(CallMessage(LEAVE, True, [], [], False, "", b"", b"", 0))
        return self._aggregation.compare_final(self._trail.end_with(b""))

    def _tell(self, message: CallMessage) -> None:
        """Tell the aggregator what is called for; return once all parties call for the same.

        A mean or sum is asked for at once; it begins once they do.
        """
        self._code.leave()
        step = call_step(self._code.calls)
        self._channel.send(self._aggregator, step, message)
        self._aggregation.defer(partial(self._take_answer, step))
        if message.call not in WITH_ROUND:
            self._aggregation.settle()

    def _take_answer(self, step: str) -> None:
        answer = self._channel.receive(self._aggregator, f"{step}/answer", AnswerMessage)
        if answer.what:
            raise refusal_of(answer)
