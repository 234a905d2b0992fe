"""The page and its server as one block, which needs the extra `live`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hekat.errors import HekatError
from hekat.live.state import LiveState

if TYPE_CHECKING:
    from hekat.live.page_sink import PageSink


@dataclass(frozen=True)
class ServedPage:
    """`sink` takes the snapshots; `address` has no token."""

    sink: PageSink
    address: str


def check_can_serve() -> None:
    """Raise HekatError where the extra is missing."""
    try:
        import hekat.live.page_sink
        import hekat.live.web.app
        import hekat.live.web.server  # noqa: F401
    except ImportError as error:
        raise HekatError(
            "the live page needs a small web server",
            expected="starlette, uvicorn and prometheus-client",
            got="no usable ones in this Python",
            cure="pip install 'hekat[live]'",
        ) from error


@contextmanager
def served_page(state: LiveState, port: int, token: str) -> Iterator[ServedPage]:
    """Serve the page at 127.0.0.1 for the block; `port` 0 takes any free one.

    Raises HekatError where the extra is missing, InputError where the port cannot be used.
    """
    check_can_serve()
    from hekat.live.page_sink import PageSink
    from hekat.live.web.app import LiveApp
    from hekat.live.web.server import ADDRESS, LiveServer

    sink = PageSink(state)
    with LiveServer(LiveApp(sink.feed, token, sink.metrics), sink.feed, port) as server:
        yield ServedPage(sink, f"http://{ADDRESS}:{server.port}/")
