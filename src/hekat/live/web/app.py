"""What the server answers: the page's files to anybody on this machine, the run's state to those with the token."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from hekat.live.feed import Feed
from hekat.live.web.assets import load_assets
from hekat.live.web.guard import ALWAYS, has_token, refusal_of

STILL_HERE_EVERY_S = 10.0
_LONGEST_ID = 64


class LiveApp:
    """The ASGI application. `metrics` writes the newest figures as Prometheus reads them, with their media type."""

    def __init__(self, feed: Feed, token: str, metrics: Callable[[], tuple[bytes, str]]) -> None:
        self._feed, self._token, self._metrics = feed, token, metrics
        self._assets = load_assets()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope)
        response = self._answer(request)
        for name, value in ALWAYS.items():
            response.headers[name] = value
        await response(scope, receive, send)

    def _answer(self, request: Request) -> Response:
        headers: Mapping[str, str] = request.headers
        if (refused := refusal_of(request.method, headers)) is not None:
            return PlainTextResponse(refused[1] + "\n", refused[0])
        path = request.scope["path"]
        if (asset := self._assets.get(path)) is not None:
            return Response(asset.data, media_type=asset.media_type)
        told = {"/state": self._tell_state, "/events": self._tell_events, "/metrics": self._tell_metrics}
        if not has_token(headers, self._token):
            return PlainTextResponse("show the token\n", 401, {"WWW-Authenticate": 'Bearer realm="hekat"'})
        if path not in told:
            return PlainTextResponse("nothing is here\n", 404)
        return told[path](headers)

    def _tell_state(self, headers: Mapping[str, str]) -> Response:
        newest = self._feed.newest
        return Response(b"{}" if newest is None else newest.data, media_type="application/json")

    def _tell_metrics(self, headers: Mapping[str, str]) -> Response:
        data, media_type = self._metrics()
        return Response(data, headers={"Content-Type": media_type})

    def _tell_events(self, headers: Mapping[str, str]) -> Response:
        return StreamingResponse(self._events(headers.get("last-event-id", "")), media_type="text/event-stream")

    async def _events(self, last: str) -> AsyncIterator[bytes]:
        """Each newer snapshot, for as long as there are any: what a reader has seen is not sent again."""
        number = self._number_in(last)
        while True:
            found = await self._feed.wait_for_newer(number, STILL_HERE_EVERY_S)
            if found is None:
                if self._feed.is_over:
                    break
                yield b": still here\n\n"
                continue
            number = found.number
            yield b"id: %b-%d\nevent: state\ndata: %b\n\n" % (self._feed.series.encode(), number, found.data)
            if found.is_last:
                break
        yield b"event: end\ndata: \n\n"

    def _number_in(self, last: str) -> int:
        series, _, number = last[:_LONGEST_ID].partition("-")
        return int(number) if series == self._feed.series and number.isascii() and number.isdigit() else 0
