"""A program in a network of its own: no port of another program's is in its way, and its loopback counts its bytes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

# Sites that share the cores: a matrix library that spins on all of them in each process takes several times as long.
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
_COUNTERS = Path("/proc/net/dev")
_ENTER = 'ip link set lo up && exec "$@"'


def has_own_network() -> bool:
    """Whether this user may make networks here: root, with unshare and ip installed."""
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        return False
    tried = subprocess.run(["unshare", "-n", "sh", "-c", _ENTER, "sh", "true"], capture_output=True)
    return tried.returncode == 0


def run_in_own_network(words: Sequence[str], place: Path, timeout_s: float, more: Mapping[str, str] = {}) -> None:
    """Run a Python program with HOME and TMPDIR in `place`; what it and its children print lies in place/log.txt.

    Whatever it started ends with it. Ends the benchmark where the program fails or takes longer.
    """
    environment = {**os.environ, "HOME": str(place), "TMPDIR": str(place), "PYTHONWARNINGS": "ignore", **more}
    prefix = ["unshare", "-n", "sh", "-c", _ENTER, "sh"] if has_own_network() else []
    log = place / "log.txt"
    with log.open("ab") as output:
        process = subprocess.Popen(
            [*prefix, *words], env=environment, stdout=output, stderr=output, cwd=place, start_new_session=True
        )
        network = _network_of(process) if prefix else None
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end_all(process.pid, network)
            process.wait()
    if code != 0:
        tail = log.read_text(errors="replace")[-3000:]
        sys.exit(f"{tail}\n{words[1]}: {'ended by ' + str(code) if code is not None else 'took too long'}")


def loopback_bytes() -> int | None:
    """Bytes that passed this network's loopback so far, headers and acknowledgements included; None where others'
    bytes pass it too."""
    lines = _COUNTERS.read_text().splitlines()
    counts = {name.strip(): rest.split() for name, _, rest in (line.partition(":") for line in lines[2:])}
    return int(counts["lo"][8]) if set(counts) == {"lo"} else None


def _network_of(process: subprocess.Popen[bytes]) -> Path | None:
    """The network that the program has made, once it has; None where it ended before."""
    own = Path("/proc/self/ns/net").readlink()
    while process.poll() is None:
        with suppress(OSError):
            found = Path(f"/proc/{process.pid}/ns/net").readlink()
            if found != own:
                return found
        time.sleep(0.01)
    return None


def _end_all(session: int, network: Path | None) -> None:
    """End the session's processes, and those in the program's network: engines start some in sessions of their own."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                pid = int(folder.name)
                if os.getsid(pid) == session or (network and (folder / "ns" / "net").readlink() == network):
                    os.kill(pid, signal.SIGKILL)
