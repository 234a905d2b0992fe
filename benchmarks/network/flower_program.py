"""Runs one Flower app over a SuperLink and a SuperNode a site, all on this machine, and tells when its rounds ended.

    flower_program.py PLACE    with PLACE/asked.json; the answer is PLACE/told.json

The app is `flower_app`. Where it is asked for as `protected`, each site has a party process beside its SuperNode.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).parents[1]
APP = Path(__file__).with_name("flower_app")
COMES_UP_WITHIN_S, ENDS_WITHIN_S = 120.0, 900.0
SUPERLINK_PORT, FIRST_NODE_PORT = 8000, 9094
AGGREGATOR = "aggregator"

_JOB = """format = 2
name = "dense"
protocol = "averaging"
parties = {parties}
aggregator = "aggregator"
weight_max = 1
rounds = {rounds}

[codec]
clipping = "fixed"
alpha = 1.0

[party_keys]
{keys}
"""


def main(place: Path) -> None:
    from network.round_watch import RoundWatch

    asked = json.loads((place / "asked.json").read_text())
    os.environ |= {
        "BENCH_PLACE": str(place),
        "BENCH_CODE": str(BENCHMARKS),
        "FLWR_HOME": str(place / "flwr"),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.05",
        "OMP_NUM_THREADS": "1",
        "HEKAT_FLOWER": str(place / "sites" / AGGREGATOR),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    sites = asked["sites"]
    with ExitStack() as programs:
        if asked["way"] == "protected":
            _make_sites(place, sites, asked["rounds"] + 1)
        words = ["flower-superlink", "--insecure", "--disable-runtime-dependency-installation"]
        programs.enter_context(_running(words))
        _wait_for(SUPERLINK_PORT)
        for number, site in enumerate(sites):
            seat = f'party="{site}"'
            if asked["way"] == "protected":
                folder = place / "sites" / site
                words = ["hekat", "party", str(folder / "job.toml"), "--socket", str(folder / "party.sock")]
                programs.enter_context(_running([*words, "--runs", str(folder / "runs")]))
                seat += f' hekat-socket="{folder}/party.sock"'
            words = ["flower-supernode", "--insecure", "--superlink", f"127.0.0.1:{SUPERLINK_PORT}"]
            words += ["--port", str(FIRST_NODE_PORT + number), "--node-config", seat]
            programs.enter_context(_running(words))
        configured = place / "flwr" / "config.toml"
        configured.parent.mkdir(exist_ok=True)
        with configured.open("a") as file:
            file.write(f'\n[superlink.here]\naddress = "127.0.0.1:{SUPERLINK_PORT}"\ninsecure = true\n')
        lines = place / f"{sites[0]}.rounds"
        with RoundWatch(place, lines.name) as watch, _running(["flwr", "run", str(APP), "here", "--stream"]) as app:
            _wait_for_rounds(lines, asked["rounds"], app)
        (place / "told.json").write_text(json.dumps({"ends": watch.told()}))


def _make_sites(place: Path, sites: list[str], rounds: int) -> None:
    """A key, a site file and an approved job for each role, as an operator makes them."""
    lines = []
    for role in (*sites, AGGREGATOR):
        folder = place / "sites" / role
        folder.mkdir(parents=True)
        shown = json.loads(_command("hekat", "keys", "party", str(folder / f"{role}.key"), "--json"))
        lines.append(shown["in_party_keys"])
        text = f'format = 1\n\n[party.{role}]\nparty_key = "{role}.key"\nstate = "state"\n'
        text += '\n[policy]\nprotocols = ["averaging"]\n'
        (folder / "site.toml").write_text(text)
    job = place / "sites" / AGGREGATOR / "job.toml"
    job.write_text(_JOB.format(parties=json.dumps(sites), rounds=rounds, keys="\n".join(lines)))
    for site in sites:
        shutil.copy(job, place / "sites" / site)
        _command("hekat", "job", "approve", str(place / "sites" / site / "job.toml"))


def _command(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


@contextmanager
def _running(words: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A program while the block runs; the benchmark ends its children with the session."""
    process = subprocess.Popen(words)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + COMES_UP_WITHIN_S
    while time.monotonic() < deadline:
        with socket.socket() as asking:
            if asking.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit(f"nothing listens at port {port}")


def _wait_for_rounds(lines: Path, rounds: int, app: subprocess.Popen[Any]) -> None:
    """Until the last round has ended; an app that ended before has failed."""
    deadline = time.monotonic() + ENDS_WITHIN_S
    while time.monotonic() < deadline:
        if lines.exists() and lines.read_text().count('"event": "round"') >= rounds:
            time.sleep(0.5)  # the watch looks once more
            return
        if app.poll() is not None:
            break
        time.sleep(0.05)
    raise SystemExit(f"{rounds} rounds did not end")


if __name__ == "__main__":
    sys.path.insert(0, str(BENCHMARKS))
    main(Path(sys.argv[1]))
