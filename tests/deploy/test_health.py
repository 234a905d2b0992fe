"""The check of health in the images: true roles are up, and what is not says so in one line."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.deploy.deployed import load_script

health = load_script("images/health.py")


class Says(BaseHTTPRequestHandler):
    """A server whose page is there or not."""

    status = 200

    def do_GET(self) -> None:
        self.send_response(self.status if self.path == "/health" else 404)
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None: ...


@contextmanager
def serving(status: int = 200, context: ssl.SSLContext | None = None) -> Iterator[int]:
    server = HTTPServer(("127.0.0.1", 0), type("Says", (Says,), {"status": status}))
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def make_certificate(folder: Path) -> None:
    """server.key and server.crt, which is its own rootCA.pem, as the files of a start-up kit are called."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "server")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    (folder / "server.crt").write_bytes(pem)
    (folder / "rootCA.pem").write_bytes(pem)
    (folder / "server.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )


def make_kit(folder: Path, port: int, *, of: str) -> Path:
    for name in ("startup", "local"):
        (folder / name).mkdir(parents=True)
    (folder / "local" / "hekat.toml").write_text("format = 1\n")
    names = {"ssl_private_key": "server.key", "ssl_cert": "server.crt", "ssl_root_cert": "rootCA.pem"}
    server = {"service": {"target": f"server:{port}", "scheme": "http"}, **names}
    (folder / "startup" / f"fed_{of}.json").write_text(json.dumps({"servers": [server]}))
    return folder


def context_of(startup: Path) -> ssl.SSLContext:
    """What a server of the engine asks for: a certificate of the project from everybody."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(startup / "rootCA.pem"))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(startup / "server.crt", startup / "server.key")
    return context


def test_a_page_that_says_200_is_up_and_another_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as port:
        assert health.main(["--http", str(port)]) == 0
    with serving(503) as port:
        assert health.main(["--http", str(port)]) == 1
    assert capsys.readouterr().err == f"not up: /health at port {port} says 503\n"


def test_nothing_at_the_port_is_not_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert health.main(["--https", str(free_port())]) == 1
    assert capsys.readouterr().err.startswith("not up: ")


def test_a_server_is_up_that_answers_over_mutual_tls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    port = free_port()
    kit = make_kit(tmp_path / "kit", port, of="server")
    make_certificate(kit / "startup")
    assert health.main(["--kit", str(kit)]) == 1
    with serving(context=context_of(kit / "startup")) as answering:
        settings = kit / "startup" / "fed_server.json"
        settings.write_text(settings.read_text().replace(str(port), str(answering)))
        capsys.readouterr()
        assert health.main(["--kit", str(kit)]) == 0
        assert capsys.readouterr().err == ""
        # Somebody else's server at that port is not this one.
        make_certificate(kit / "startup")
        assert health.main(["--kit", str(kit)]) == 1


def test_a_site_is_up_while_it_holds_a_connection_to_its_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving() as port:
        kit = make_kit(tmp_path / "kit", port, of="client")
        assert health.main(["--kit", str(kit)]) == 1
        assert capsys.readouterr().err == f"not up: no connection to the server's port {port}\n"
        with socket.create_connection(("127.0.0.1", port)):
            assert health.main(["--kit", str(kit)]) == 0


def test_a_listener_at_the_servers_port_is_no_connection(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        kit = make_kit(tmp_path / "kit", listener.getsockname()[1], of="client")
        assert health.main(["--kit", str(kit)]) == 1


@pytest.mark.parametrize("of", ["client", "server"])
def test_a_kit_that_refuses_jobs_of_hekat_is_not_up(
    of: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEKAT_NVFLARE", raising=False)
    kit = make_kit(tmp_path / "kit", free_port(), of=of)
    (kit / "local" / "hekat.toml").unlink()
    assert health.main(["--kit", str(kit)]) == 1
    assert "no local/hekat.toml in the kit" in capsys.readouterr().err


def test_a_folder_that_is_no_kit_is_not_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert health.main(["--kit", str(tmp_path)]) == 1
    assert "no start-up kit" in capsys.readouterr().err


def test_a_socket_is_up_that_somebody_listens_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "party.sock"
    assert health.main(["--socket", str(path)]) == 1
    assert capsys.readouterr().err == f"not up: there is no {path}\n"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        path.chmod(0o600)
        assert health.main(["--socket", str(path)]) == 1  # nobody listens
        listener.listen()
        assert health.main(["--socket", str(path)]) == 0
        path.chmod(0o660)
        assert health.main(["--socket", str(path)]) == 0
        path.chmod(0o666)
        capsys.readouterr()
        assert health.main(["--socket", str(path)]) == 1
        assert "open to everybody: mode 666" in capsys.readouterr().err
    path.unlink()
    path.write_text("")
    assert health.main(["--socket", str(path)]) == 1


def test_one_thing_is_asked_at_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["--http", "1", "--https", "1"]):
        with pytest.raises(SystemExit):
            health.main(words)
