"""Bytes from site to site by NVIDIA FLARE's auxiliary messages.

The engine routes them and, with start-up kits, carries them over mutual TLS. It is not relied on for more: Hekat seals
and signs what it sends, so `secure=True` would encrypt a second time.
"""

from __future__ import annotations

from typing import Any

from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply

from hekat.launch.nvflare.door import Door

TOPIC = "hekat.parcel"
_PARCEL, _RECEIPT = "parcel", "receipt"


class AuxMessages:
    """This process's end of the engine's messages, from its registration on."""

    def __init__(self, engine: Any, door: Door) -> None:
        self._engine, self._door = engine, door
        engine.register_aux_message_handler(TOPIC, self._receive)

    def ask(self, site: str, parcel: bytes, timeout_s: float) -> object:
        """Hand `parcel` to `site` within `timeout_s`; what it answered, None where it did not take it."""
        request = Shareable()
        request[_PARCEL] = parcel
        with self._engine.new_context() as context:
            # optional: a peer whose process is not there yet is no error, and would be a line in the log for each try
            replies = self._engine.send_aux_request(
                [site], TOPIC, request, timeout_s, context, optional=True, secure=False
            )
        reply = (replies or {}).get(site)
        if not isinstance(reply, Shareable) or reply.get_return_code() != ReturnCode.OK:
            return None
        return reply.get(_RECEIPT)

    def _receive(self, topic: str, request: Shareable, fl_ctx: FLContext) -> Shareable:
        """Called by the engine's threads. Who sent it, by the engine's word, is not asked: the parcel is signed."""
        receipt = self._door.accept(request.get(_PARCEL))
        if receipt is None:
            return make_reply(ReturnCode.SERVICE_UNAVAILABLE)
        reply = make_reply(ReturnCode.OK)
        reply[_RECEIPT] = receipt
        return reply
