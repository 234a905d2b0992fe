"""Who is let in and who is not, over real sockets on loopback; clients that hold on end with the server."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

import pytest
from tests.live.conftest import make_state

pytest.importorskip("uvicorn", reason="needs hekat[live]")
pytest.importorskip("starlette", reason="needs hekat[live]")
pytest.importorskip("prometheus_client", reason="needs hekat[live]")

from hekat.errors import InputError, StateError
from hekat.live.facts import RunEnded
from hekat.live.feed import Feed
from hekat.live.page_sink import PageSink
from hekat.live.reduce import advance
from hekat.live.web import server as live_server
from hekat.live.web.app import LiveApp
from hekat.live.web.server import LiveServer
from hekat.live.web.token import load_token, make_token

WITHIN_S = 20
OPEN = ("/", "/live.js", "/live.css", "/stream.js", "/draw.js", "/parts.js", "/format.js", "/icon.svg")
GUARDED = ("/state", "/events", "/metrics")


@dataclass
class Served:
    """A served page with the sink that feeds it."""

    sink: PageSink
    port: int
    token: str

    @property
    def feed(self) -> Feed:
        return self.sink.feed

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body; `headers` with "_" for "-"."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=WITHIN_S)) as connection:
            connection.request(method, path, headers={name.replace("_", "-"): text for name, text in headers.items()})
            answer = connection.getresponse()
            return answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read()

    def with_token(self, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
        return self.ask(path, Authorization=f"Bearer {self.token}", **headers)

    def listen(self, *, last: str = "") -> socket.socket:
        """A connection that has asked for events."""
        made = socket.create_connection(("127.0.0.1", self.port), timeout=WITHIN_S)
        after = f"Last-Event-ID: {last}\r\n" if last else ""
        head = f"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self.token}\r\n{after}\r\n"
        made.sendall(head.encode())
        return made

    def end(self) -> None:
        self.sink.take(advance(make_state(), RunEnded()), [])


@pytest.fixture(scope="module")
def shared() -> Iterator[Served]:
    """A page that no test changes."""
    with serve() as served:
        yield served


@pytest.fixture
def served() -> Iterator[Served]:
    with serve() as served:
        yield served


@contextmanager
def serve() -> Iterator[Served]:
    sink, token = PageSink(make_state()), make_token()
    with LiveServer(LiveApp(sink.feed, token, sink.metrics), sink.feed, 0) as server:
        yield Served(sink, server.port, token)


def read_until(connection: socket.socket, mark: bytes) -> bytes:
    data = b""
    while mark not in data:
        more = connection.recv(1 << 16)
        if not more:
            break
        data += more
    return data


def test_the_page_itself_is_for_anybody_here_and_tells_nothing_of_the_run(shared) -> None:
    for path in OPEN:
        status, headers, body = shared.ask(path)
        assert status == 200, path
        assert b"clinics" not in body
        assert shared.token.encode() not in body
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert "set-cookie" not in headers


def test_the_page_has_no_script_or_style_of_its_own_and_asks_nobody_else(shared) -> None:
    page = shared.ask("/")[2].decode()
    assert "<script>" not in page
    assert "style=" not in page
    assert "onclick" not in page
    for path in OPEN:
        text = shared.ask(path)[2].decode().replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text, path
        assert "https://" not in text, path
        for way_in in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "srcdoc"):
            assert way_in not in text, path


@pytest.mark.quick_values
@pytest.mark.parametrize("path", [*GUARDED, "/nothing", "/live.js/../state"])
@pytest.mark.parametrize("shown", ["", "Bearer", "Bearer x", "Basic {token}", "Bearer {token}x", "{token}", "Bearer é"])
def test_without_the_token_there_is_nothing(shared, path, shown) -> None:
    text = shown.format(token=shared.token).encode().decode("latin-1")
    status, headers, body = shared.ask(path, **({"Authorization": text} if shown else {}))
    assert status == 401
    assert headers["www-authenticate"].startswith("Bearer")
    assert b"clinics" not in body


def test_the_token_is_no_part_of_an_address(shared) -> None:
    assert shared.ask(f"/state?token={shared.token}")[0] == 401
    assert shared.ask("/state", Cookie=f"token={shared.token}")[0] == 401


def test_with_the_token_the_state_is_there(shared) -> None:
    status, headers, body = shared.with_token("/state")
    assert (status, headers["content-type"]) == (200, "application/json")
    assert json.loads(body)["run"]["job"] == "clinics"
    assert shared.with_token("/state", Host="localhost:1234")[0] == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "evil.example:80", "0.0.0.0", "[::1]", "127.0.0.1:x", ""]
)
@pytest.mark.parametrize("path", ["/", "/state"])
def test_another_host_name_is_refused_whatever_it_was_turned_to(shared, host, path) -> None:
    assert shared.with_token(path, Host=host)[0] in (400, 403)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_a_page_of_another_site_is_refused(shared, headers) -> None:
    for path in ("/", "/state"):
        assert shared.with_token(path, **headers)[0] == 403


def test_the_page_may_ask_for_itself(shared) -> None:
    host = f"127.0.0.1:{shared.port}"
    assert shared.with_token("/state", Host=host, Origin=f"http://{host}", Sec_Fetch_Site="same-origin")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"])
def test_nothing_can_be_changed(shared, method) -> None:
    assert shared.ask("/state", method, Authorization=f"Bearer {shared.token}")[0] == 405


@pytest.mark.parametrize(
    "path",
    [
        "/../state.py",
        "/..%2f..%2fstate.py",
        "//etc/passwd",
        "/page/index.html",
        "/live.js%00",
        "/%2e%2e/",
        "/web/token.py",
    ],
)
def test_paths_lead_nowhere_but_to_the_page(shared, path) -> None:
    assert shared.with_token(path)[0] == 404


def test_metrics_are_for_a_scraper_with_the_token(shared) -> None:
    status, headers, body = shared.with_token("/metrics")
    assert status == 200
    assert headers["content-type"].startswith("text/plain; version=0.0.4")
    assert b'hekat_status{status="waiting"} 1.0' in body


def test_events_come_as_they_are_made_and_go_on_where_a_reader_was(served) -> None:
    with closing(served.listen()) as reader:
        first = read_until(reader, b"\n\n\r\n")
        assert f"id: {served.feed.series}-1\n".encode() in first
        served.sink.take(make_state(now="later"), [])
        assert b'"now":"later"' in read_until(reader, b'"now":"later"')
    with closing(served.listen(last=f"{served.feed.series}-2")) as reader:
        served.end()
        rest = read_until(reader, b"event: end")
        assert f"id: {served.feed.series}-3\n".encode() in rest
        assert b'"now":"later"' not in rest


@pytest.mark.parametrize("last", ["0badc0de-1", "x", "-1", "9" * 5000, "{series}-x", "{series}-²"])
def test_a_reader_of_another_run_gets_what_is_new_here(shared, last) -> None:
    with closing(shared.listen(last=last.format(series=shared.feed.series))) as reader:
        assert b"clinics" in read_until(reader, b"clinics")


def test_a_reader_that_never_reads_holds_up_neither_the_run_nor_others(served) -> None:
    large = make_state(now="x" * (1 << 20))
    with closing(served.listen()) as silent:
        read_until(silent, b"id: ")
        for _ in range(20):
            served.sink.take(large, [])
        assert served.with_token("/state")[0] == 200
        served.end()


def test_fifty_readers_are_served_and_too_many_are_turned_away(served) -> None:
    with ExitStack() as stack:
        readers = [stack.enter_context(closing(served.listen())) for _ in range(50)]
        for reader in readers:
            assert b"clinics" in read_until(reader, b"clinics")
        silent = [
            stack.enter_context(closing(socket.create_connection(("127.0.0.1", served.port), timeout=WITHIN_S)))
            for _ in range(live_server.MOST_CONNECTIONS - 50)
        ]
        assert served.with_token("/state")[0] == 503
        for one in silent:
            one.close()
        served.end()
        for reader in readers:
            assert b"event: end" in read_until(reader, b"event: end")


def test_a_connection_that_asks_for_nothing_is_ended(shared, monkeypatch) -> None:
    monkeypatch.setattr(live_server, "REQUEST_WITHIN_S", 0.05)
    with closing(socket.create_connection(("127.0.0.1", shared.port), timeout=WITHIN_S)) as silent:
        silent.sendall(b"GET /state HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        assert silent.recv(1) == b""


@pytest.mark.parametrize("sent", [b"\x00\xff\n\n", b"GET / HTTP/1.1\r\n" + b"A: " + b"x" * (1 << 17), b"GET\r\n\r\n"])
def test_what_is_no_request_is_refused(shared, sent) -> None:
    with closing(socket.create_connection(("127.0.0.1", shared.port), timeout=WITHIN_S)) as connection:
        connection.sendall(sent)
        assert b" 400 " in connection.recv(1 << 16)
    assert shared.with_token("/state")[0] == 200


def test_the_server_ends_with_readers_attached() -> None:
    sink, token = PageSink(make_state()), make_token()
    server = LiveServer(LiveApp(sink.feed, token, sink.metrics), sink.feed, 0)
    with server:
        reader = Served(sink, server.port, token).listen()
        read_until(reader, b"clinics")
    with closing(reader):
        read_until(reader, b"never comes")
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", server.port), timeout=WITHIN_S)


def test_a_port_that_is_taken_is_refused_with_the_cure(shared) -> None:
    for port in (shared.port, 70_000, -1):
        with pytest.raises(InputError, match="cannot be served"):
            LiveServer(None, Feed(), port)


def test_a_token_comes_from_a_file_that_only_its_owner_reads(tmp_path) -> None:
    path, token = tmp_path / "token", make_token()
    path.write_text(f"{token}\n")
    path.chmod(0o600)
    assert load_token(path) == token
    path.chmod(0o640)
    with pytest.raises(InputError, match="others may read"):
        load_token(path)
    with pytest.raises(StateError):
        load_token(tmp_path / "none")


@pytest.mark.parametrize("text", ["", "short", "x" * 31, "x y" * 20, "é" * 40, "x" * 40 + "\nx"])
def test_a_file_without_a_token_is_refused(tmp_path, text) -> None:
    path = tmp_path / "token"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(InputError, match="holds no token") as raised:
        load_token(path)
    assert not text or text not in str(raised.value)


def test_tokens_differ_and_are_long() -> None:
    assert len({make_token() for _ in range(20)}) == 20
    assert len(make_token()) >= 43
