"""A courier's way to the party process of its site."""

from __future__ import annotations

import socket
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hekat.errors import ChannelError, HekatError, PolicyError
from hekat.launch.flower.call import GIVE_UP, METRICS, UPDATE, Answer, Call
from hekat.launch.flower.desk import Arrays
from hekat.launch.flower.party_socket import check_listener, check_way
from hekat.launch.frames import receive_frame, send_frame


class RefusedError(PolicyError):
    """The party process did not take what it was brought; `kind` is the kind of its reason."""

    def __init__(self, what: str, kind: str) -> None:
        super().__init__(what, cure="the log of the party process says more")
        self.kind = kind


@dataclass(frozen=True)
class Courier:
    """Speaks for one message of the engine. `call` holds what every call of it says."""

    path: Path
    call: Call

    def exchange(self, arrays: Arrays | None = None) -> Answer:
        """Bring the message's parcels, and the start if there is one."""
        return self._ask(replace(self.call, arrays=arrays))

    def update(self, round_number: int, arrays: Arrays, weight: int, terms: str) -> Answer:
        """Hand in this site's update, made as the server's message of digest `terms` said."""
        return self._ask(self._say(UPDATE, round=round_number, arrays=arrays, weight=weight, terms=terms))

    def note(self, kind: str, round_number: int, metrics: dict[str, float]) -> Answer:
        """Leave metrics at this site."""
        return self._ask(self._say(METRICS, kind=kind, round=round_number, metrics=metrics))

    def give_up(self, kind: str) -> Answer:
        """Say that the engine's code failed."""
        return self._ask(self._say(GIVE_UP, kind=kind[:64]))

    def _say(self, asks: str, **said: Any) -> Call:
        return replace(self.call, asks=asks, parcels=(), lost=(), **said)

    def _ask(self, call: Call) -> Answer:
        """Raises ChannelError where no party process answers, RefusedError where it refuses, PolicyError where another
        user's process may be the one that answers: nothing was said to it then."""
        header, payload = call.to_frame()
        try:
            check_way(self.path)
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(str(self.path))
                check_listener(connection, self.path)
                send_frame(connection, header, payload)
                answer = Answer.from_frame(receive_frame(connection))
        except PolicyError:
            raise
        except (OSError, HekatError):
            # Without the path: the engine tells its server what an app raises.
            raise ChannelError(
                "the party process of this site does not answer",
                expected="hekat party JOB --socket PATH, running beside the SuperNode, at a socket this user may open",
                got="no answer",
                cure="the site's operator starts it; the SuperNode's --node-config names its socket",
            ) from None
        if answer.refusal:
            raise RefusedError(answer.refusal, answer.kind)
        return answer
