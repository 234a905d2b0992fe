"""The server's filters of a protected app whose server learns the model: all sites hand in the same mean.

Each site opened it, so that the answers of a round are the same bits. The engine averages them in the clear: a site
that handed in another one would set the model of all, past every clipping bound and weight.
"""

from __future__ import annotations

import hashlib

import msgpack
from nvflare.apis.dxo import DXO, from_shareable
from nvflare.apis.filter import Filter
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable
from nvflare.app_common.app_constant import AppConstants

from hekat.errors import HekatError
from hekat.launch.nvflare.order import SERVER
from hekat.launch.nvflare.protected.lean_filters import aggregator_of
from hekat.launch.nvflare.protected.tensors import digest_of
from hekat.launch.nvflare.protected.terms import plain


class NoteRound(Filter):  # type: ignore[misc]
    """The server's output filter of the app's task: which round its workflow is in, by what it sends itself."""

    def process(self, shareable: Shareable, fl_ctx: FLContext) -> Shareable:
        aggregator_of(fl_ctx).note_round(shareable.get_header(AppConstants.CURRENT_ROUND))
        return shareable


class SameAnswers(Filter):  # type: ignore[misc]
    """The server's input filter of the app's result. An answer of another round is dropped; one that differs from an
    earlier one of its round ends the job, since nobody can tell who is right."""

    def process(self, shareable: Shareable, fl_ctx: FLContext) -> Shareable:
        if shareable.get_return_code() not in (None, ReturnCode.OK):
            return shareable
        aggregator = aggregator_of(fl_ctx)
        if shareable.get_header(AppConstants.CURRENT_ROUND) != aggregator.current_round:
            raise RuntimeError("hekat: an answer of another round is dropped")
        if not aggregator.is_answer_of_all(_digest_of_answer(shareable)):
            why = "hekat: sites handed in different means of one round; look at each site's model.npz"
            self.system_panic(why, fl_ctx)
            raise RuntimeError(why)
        return shareable


def _digest_of_answer(shareable: Shareable) -> bytes:
    """Of all that the engine averages; empty where it is no model, which is nobody's mean."""
    try:
        dxo: DXO = from_shareable(shareable)
        notes = msgpack.packb([dxo.data_kind, plain(dxo.meta)])
        return hashlib.sha256(digest_of(dxo.data, SERVER) + notes).digest()
    except (HekatError, ValueError, TypeError, AttributeError):
        return b""
