"""A site with a kit of another project is refused by the engine's mutual TLS: Hekat never sees a byte of it.

The engine's own transport (its cells, as server and clients open them) in a process apart, on a free port of loopback.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path

import pytest
from tests.launch.nvflare.installed_engine import run_apart

pytest.importorskip("nvflare", reason="needs hekat[nvflare]")
pytestmark = [pytest.mark.long, pytest.mark.waits]

# Cells of one process reach each other without a network: the server's is a process of its own.
CELL = """
import json, os, subprocess, sys, time
from threading import Event
from nvflare.fuel.f3.cellnet.cell import Cell
from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey, ReturnCode
from nvflare.fuel.f3.cellnet.utils import make_reply
from nvflare.fuel.f3.message import Message

def open_cell(name, kit, kind, root):
    pair = {f"{kind}_cert": f"{kit}/{kind}.crt", f"{kind}_key": f"{kit}/{kind}.key"}
    cell = Cell(fqcn=name, root_url=f"tcp://localhost:{port}", secure=True, credentials={"ca_cert": root, **pair})
    cell.start()
    return cell

port, server, client, root, tries_s = sys.argv[1:]
"""
SERVER = (
    CELL
    + """
seen = []

def receive(request):
    seen.append(bytes(request.payload))
    return make_reply(ReturnCode.OK, body=b"taken")

cell = open_cell("server", server, "server", f"{server}/rootCA.pem")
cell.register_request_cb(channel="hekat", topic="parcel", cb=receive)
print("READY", flush=True)
sys.stdin.read()
print(len(seen), flush=True)
os._exit(0)
"""
)
CLIENT = (
    CELL
    + f"SERVER = {SERVER!r}"
    + """
pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
with subprocess.Popen([sys.executable, "-c", SERVER, *sys.argv[1:]], **pipes) as serving:
    assert serving.stdout.readline() == "READY\\n"
    cell = open_cell("lake", client, "client", root)
    deadline, code, pause = time.monotonic() + float(tries_s), None, Event()
    while code != ReturnCode.OK and time.monotonic() < deadline:  # connections open in threads of the cell
        parcel = Message(payload=b"a parcel")
        reply = cell.send_request("hekat", "parcel", "server", parcel, timeout=5.0, optional=True)
        code = reply.get_header(MessageHeaderKey.RETURN_CODE)
        pause.wait(0.2)
    serving.stdin.close()
    seen = int(serving.stdout.readline())
print("TOLD", json.dumps({"code": code, "seen": seen}), flush=True)
os._exit(0)
"""
)


def provision(place: Path) -> Path:
    """The start-up kits of a project of its own, with a CA of its own, as the engine makes them."""
    place.mkdir()
    environment = {**os.environ, "HOME": str(place), "TMPDIR": str(place), "NVFLARE_POC_WORKSPACE": str(place / "poc")}
    command = Path(sys.executable).with_name("nvflare")
    done = run_apart([str(command), "poc", "prepare", "-c", "lake", "--force"], environment, timeout_s=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return next((place / "poc").glob("*/prod_00"))


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    place = tmp_path_factory.mktemp("projects")
    return provision(place / "own"), provision(place / "other")


@pytest.mark.parametrize(
    ("is_own", "knows_root"),
    [(True, True), (False, True), (False, False)],
    ids=["its own project's kit", "another CA's certificate", "another CA altogether"],
)
def test_only_a_kit_of_the_projects_own_ca_is_let_in(
    tmp_path: Path, projects: tuple[Path, Path], is_own: bool, knows_root: bool
) -> None:
    own, other = projects
    server, lake = own / "server" / "startup", (own if is_own else other) / "lake" / "startup"
    root = (server if knows_root else lake) / "rootCA.pem"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    words = [sys.executable, "-c", CLIENT, str(port), str(server), str(lake), str(root), "60" if is_own else "8"]
    done = run_apart(words, environment, timeout_s=120)
    assert "TOLD" in done.stdout, done.stdout[-2000:] + done.stderr[-3000:]
    told = json.loads(done.stdout.partition("TOLD ")[2].splitlines()[0])
    assert (told["code"] == "ok", told["seen"]) == (is_own, int(is_own)), (told, done.stderr[-1500:])
