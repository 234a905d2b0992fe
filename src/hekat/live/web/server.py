"""Serves the page in a thread of its own on 127.0.0.1: bounded in connections, and gone when its block ends."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from hekat.errors import InputError
from hekat.live.feed import Feed

ADDRESS = "127.0.0.1"
MOST_CONNECTIONS = 64
REQUEST_WITHIN_S = 10.0
_MOST_HEAD_BYTES = 16 << 10
_GRACE_S = 1
_END_WITHIN_S = 5.0


class _BoundedProtocol(H11Protocol):  # type: ignore[misc]
    """A connection that ends where no whole request came in time, so that silent ones take no places."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.loop.call_later(REQUEST_WITHIN_S, self._end_if_silent)

    def _end_if_silent(self) -> None:
        if self.cycle is None and self.transport is not None and not self.transport.is_closing():
            self.transport.close()


class LiveServer:
    """A context manager: listens from `__init__` on, answers in the block, and is gone after it.

    `port` 0 takes any free one. Raises InputError where the port is taken or not allowed.
    """

    def __init__(self, app: Any, feed: Feed, port: int) -> None:
        self._feed = feed
        self._socket = _listen(port)
        self.port = int(self._socket.getsockname()[1])
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                http=_BoundedProtocol,
                loop="asyncio",
                ws="none",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                log_level="critical",
                access_log=False,
                server_header=False,
                date_header=False,
                proxy_headers=False,
                limit_concurrency=MOST_CONNECTIONS,
                h11_max_incomplete_event_size=_MOST_HEAD_BYTES,
                timeout_keep_alive=1,
                timeout_graceful_shutdown=_GRACE_S,
            )
        )
        self._thread = threading.Thread(target=self._run, name="hekat-live-server", daemon=True)

    def __enter__(self) -> LiveServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._feed.end()
        self._server.should_exit = True
        self._thread.join(_END_WITHIN_S)
        self._socket.close()

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._feed.serve_in(asyncio.get_running_loop())
        try:
            await self._server.serve(sockets=[self._socket])
        finally:
            self._feed.leave_loop()


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((ADDRESS, port))
        listener.listen(MOST_CONNECTIONS)
    except (OSError, OverflowError) as error:
        listener.close()
        raise InputError(
            f"the live page cannot be served at {ADDRESS}:{port}",
            expected="a port that is free and allowed",
            got=getattr(error, "strerror", None) or type(error).__name__,
            cure="choose another port, or --live 0 for any free one",
        ) from error
    return listener
