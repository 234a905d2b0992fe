"""A channel whose party lives in another process: calls go through a pipe to the process of the other roles."""

from __future__ import annotations

from multiprocessing.connection import Connection
from typing import Any

from hekat.channel import Channel
from hekat.channel.dropout_notice import DropoutNotice
from hekat.errors import ChannelError


class PipedChannel:
    """The party's end; every call waits for what the other process answers."""

    def __init__(self, pipe: Connection, party: str, parties: tuple[str, ...]) -> None:
        self._pipe, self._party, self._parties = pipe, party, parties

    @property
    def party(self) -> str:
        return self._party

    @property
    def parties(self) -> tuple[str, ...]:
        return self._parties

    def send(self, to: str, step: str, payload: bytes, *, timeout_s: float | None = None) -> None:
        self._call("send", to, step, payload, timeout_s=timeout_s)

    def receive(self, sender: str, step: str, *, timeout_s: float | None = None) -> bytes:
        payload = self._call("receive", sender, step, timeout_s=timeout_s)
        assert isinstance(payload, bytes)
        return payload

    def note_saved(self, what: str) -> None:
        self._call("note_saved", what)

    def leave(self, notice: DropoutNotice) -> None:
        self._call("leave", notice)

    def expel(self, party: str, reason: str, notice: DropoutNotice | None = None) -> None:
        self._call("expel", party, reason, notice)

    def end(self, result: Any) -> None:
        """The party has ended, with this result."""
        self._pipe.send(("end", (result,), {}))

    def _call(self, name: str, *arguments: Any, **named: Any) -> Any:
        self._pipe.send((name, arguments, named))
        works, answer = self._pipe.recv()
        if not works:
            raise ChannelError(answer)
        return answer


def serve_pipe(pipe: Connection, channel: Channel) -> Any:
    """Play the calls of a `PipedChannel` on the channel of its party here, until it ends; its result."""
    while True:
        name, arguments, named = pipe.recv()
        if name == "end":
            return arguments[0]
        try:
            answer = getattr(channel, name)(*arguments, **named)
        except ChannelError as error:
            pipe.send((False, str(error)))
        else:
            pipe.send((True, answer))
