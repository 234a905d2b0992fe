"""Whether the role of this container is up: exit code 0, or 1 and one line that says what is not.

Standard library alone: a check takes a quarter of a CPU second, where `hekat` takes two to start.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import socket
import ssl
import stat
import sys
from pathlib import Path
from typing import Any

TIMEOUT_S = 3
ESTABLISHED = "01"  # of /proc/net/tcp
LINK_FILE, LINK_VARIABLE = "hekat.toml", "HEKAT_NVFLARE"


class NotUp(Exception):  # noqa: N818 it says what is the case
    """What is not as it should be."""


def check_kit(kit: Path, tables: tuple[Path, ...] = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))) -> None:
    """A server answers over mutual TLS; a site holds a connection to its server; both know where Hekat's files lie."""
    server, client = kit / "startup" / "fed_server.json", kit / "startup" / "fed_client.json"
    if not server.is_file() and not client.is_file():
        raise NotUp(f"{kit} is no start-up kit of a server or of a site")
    if not Path(os.environ.get(LINK_VARIABLE) or kit / "local" / LINK_FILE).exists():
        raise NotUp(f"no local/{LINK_FILE} in the kit: jobs of Hekat are refused here")
    if server.is_file():
        service = json.loads(server.read_text())["servers"][0]
        _greet(server.parent, service, port=_port_of(service))
        return
    port = _port_of(json.loads(client.read_text())["servers"][0])
    if not any(_has_connection(table, port) for table in tables):
        raise NotUp(f"no connection to the server's port {port}")


def check_socket(path: Path) -> None:
    """A process answers at the socket, and not everybody may speak to it."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        raise NotUp(f"there is no {path}") from None
    if not stat.S_ISSOCK(mode):
        raise NotUp(f"{path} is no socket")
    if stat.S_IMODE(mode) & 0o007:
        raise NotUp(f"{path} is open to everybody: mode {stat.S_IMODE(mode):o}, expected 600, or 660 for a group")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(TIMEOUT_S)
        sock.connect(str(path))


def check_http(port: int, *, tls: bool) -> None:
    """The program's own page /health at this port of loopback says 200."""
    if tls:
        # This asks whether the program of this container answers, and not whether it is the right one.
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        asked: http.client.HTTPConnection = http.client.HTTPSConnection(
            "127.0.0.1", port, timeout=TIMEOUT_S, context=trusting
        )
    else:
        asked = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    asked.request("GET", "/health")
    status = asked.getresponse().status
    asked.close()
    if status != http.client.OK:
        raise NotUp(f"/health at port {port} says {status}")


def _port_of(server: dict[str, Any]) -> int:
    return int(server["service"]["target"].rpartition(":")[2])


def _greet(startup: Path, service: dict[str, Any], *, port: int) -> None:
    """Mutual TLS with the server's own certificate, and whatever its web server says; gRPC is asked for TLS alone."""
    context = ssl.create_default_context(cafile=str(startup / service["ssl_root_cert"]))
    context.check_hostname = False  # the certificate names the host as sites see it, which is not loopback
    context.load_cert_chain(startup / service["ssl_cert"], startup / service["ssl_private_key"])
    asked = http.client.HTTPSConnection("127.0.0.1", port, timeout=TIMEOUT_S, context=context)
    asked.connect()
    if service["service"]["scheme"] == "http":
        asked.request("GET", "/")
        asked.getresponse()
    asked.close()


def _has_connection(table: Path, port: int) -> bool:
    """Whether a line of /proc/net/tcp is an established connection to that port of another machine."""
    if not table.is_file():
        return False
    lines = [line.split() for line in table.read_text().splitlines()[1:]]
    return any(line[3] == ESTABLISHED and line[2].endswith(f":{port:04X}") for line in lines)


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="whether the role of this container is up")
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("--kit", type=Path, help="start-up kit of NVIDIA FLARE: of the server, or of a site")
    asked.add_argument("--socket", type=Path, help="a process answers at this socket, which is not open to everybody")
    asked.add_argument("--http", type=int, metavar="PORT", help="/health at this port of loopback says 200")
    asked.add_argument("--https", type=int, metavar="PORT", help="the same over TLS")
    return parser


def main(arguments: list[str] | None = None) -> int:
    options = build_parser().parse_args(arguments)
    try:
        if options.kit:
            check_kit(options.kit)
        elif options.socket:
            check_socket(options.socket)
        else:
            check_http(options.http or options.https, tls=options.https is not None)
    except (NotUp, OSError, http.client.HTTPException) as problem:
        sys.stderr.write(f"not up: {problem or type(problem).__name__}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
