"""Memory of one party of an own training loop: a process of its own, the other roles in another one.

The measured party holds a state of float32 values and takes means of it, three rounds or more; between them it changes
its tensors in place, as training does. Resident memory is read before the first call, when the state is there and the
session is open; the kernel's peak (VmHWM) is set back then, and read after each round. What a party may take beside its
caller's own state: twice the update and 200 MiB. `--protection lattice none` measures both, one after the other, by the
same messages over the same sealed channel; with `none` they hold float32 numbers.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from hekat.channel import Channel, PartyKey, run_parties
from hekat.own_loop import Party
from hekat.own_loop.loop_roles import LoopRoles
from hekat.own_loop.turns import Turns
from hekat.protocol.in_process import make_sessions
from hekat.protocol.secure_sum.masked.upload_state import open_upload_state
from hekat.protocol.secure_sum.settings import Protection, SumSettings
from measuring.piped_channel import PipedChannel, serve_pipe
from measuring.record import machine, print_rows, write_results

PROTECTIONS = ("lattice", "none")
PARTIES = ("north", "lake", "county")
MEASURED = "lake"
VALUES = (1_000_000, 10_000_000, 100_000_000)
ROUNDS = 3
TENSORS = 20
MIB = 1 << 20
ALLOWED_BESIDE_MIB = 200


def make_roles(folder: Path, parties: tuple[str, ...], protection: Protection) -> LoopRoles:
    """The roles that play in this process; every process has the same settings and reads the same keys."""
    settings = SumSettings(
        parties=PARTIES,
        aggregator="aggregator",
        weight_max=1024,
        protection=protection,
    )
    keys = {name: PartyKey.load(folder / f"{name}.key") for name in settings.everyone}
    sessions = make_sessions(keys, run_id="loop-memory", protocol="loop-memory", job_digest=bytes(32))
    masked = parties if protection == "lattice" else ()
    states = {name: open_upload_state(folder / "state" / name, bytes(32)) for name in masked}
    return LoopRoles(settings, sessions, Turns(parties), states)


def make_state(value_count: int, seed: int) -> dict[str, Any]:
    """Float32 tensors with that many values in all, filled block by block."""
    rng = np.random.default_rng(seed)
    sizes = [(value_count + number) // TENSORS for number in range(TENSORS)]
    state = {f"layer-{number}": np.empty(size, np.float32) for number, size in enumerate(sizes)}
    for values in state.values():
        rng.standard_normal(dtype=np.float32, out=values)
    return state


def play(value_count: int, rounds: int, seed: int, measure: Callable[[str], None], party: Party) -> None:
    """The party's code: a state, and as many means of it, changed in place between them."""
    state = make_state(value_count, seed)
    measure("before")
    for number in range(rounds):
        state = party.aggregate(state, weight=100 + seed)
        measure(f"round {number + 1}")
        for values in state.values():
            values *= np.float32(1.001)


def memory_mib(field: str) -> float:
    """VmRSS or VmHWM of this process."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines[field].split()[0]) / 1024


def play_measured(pipe: Connection, folder: str, protection: Protection, value_count: int, rounds: int) -> None:
    """The process of the measured party."""
    roles = make_roles(Path(folder), (MEASURED,), protection)
    channel = PipedChannel(pipe, MEASURED, roles.settings.everyone)
    found: dict[str, float] = {}
    began = [0.0]

    def measure(what: str) -> None:
        now = time.perf_counter()
        found[f"{what}: s"], began[0] = now - began[0], now
        if what == "before":
            found[what] = memory_mib("VmRSS")
            # 5: the kernel's peak begins anew at what is resident now.
            Path("/proc/self/clear_refs").write_text("5")
        else:
            found[what] = memory_mib("VmHWM")

    roles.play_party(channel, partial(play, value_count, rounds, 1, measure))
    channel.end(found)


def measure_party(protection: Protection, value_count: int, rounds: int) -> dict[str, Any]:
    """One row: the measured party's peak above what it held before, after each round, and seconds of a round."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    with tempfile.TemporaryDirectory() as folder:
        for name in (*PARTIES, "aggregator"):
            PartyKey.generate().save(Path(folder) / f"{name}.key")
        process = context.Process(
            target=play_measured, args=(there, folder, protection, value_count, rounds), daemon=True
        )
        process.start()
        there.close()
        others = tuple(name for name in PARTIES if name != MEASURED)
        roles = make_roles(Path(folder), others, protection)

        def play_other(name: str, channel: Channel) -> Any:
            if name == MEASURED:
                return serve_pipe(here, channel)
            if name not in others:
                return roles.play_server(channel)
            code = partial(play, value_count, rounds, 2 + others.index(name), lambda what: None)
            return roles.play_party(channel, code)

        names = roles.settings.everyone
        found = run_parties({name: partial(play_other, name) for name in names}, timeout_s=math.inf)[MEASURED]
        process.join()
    update_mib = 4 * value_count / MIB
    names = [f"round {number + 1}" for number in range(rounds)]
    beside = {name: found[name] - found["before"] for name in names}
    most = max(beside.values())
    row: dict[str, Any] = {
        "protection": protection,
        "values": value_count,
        "update MiB": update_mib,
        "before MiB": found["before"],
        **{f"{what}: peak above it": above for what, above in beside.items()},
        "allowed": 2 * update_mib + ALLOWED_BESIDE_MIB,
        "beside twice the update": most - 2 * update_mib,
        "round s": statistics.median(found[f"{name}: s"] for name in names),
        "within": most <= 2 * update_mib + ALLOWED_BESIDE_MIB,
    }
    return {name: round(value, 1) if isinstance(value, float) else value for name, value in row.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--protection", nargs="+", choices=PROTECTIONS, default=["lattice"])
    parser.add_argument("--values", type=int, nargs="*", default=VALUES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--no-write", action="store_true", help="print only")
    options = parser.parse_args()
    rows = [
        measure_party(protection, value_count, options.rounds)
        for value_count in options.values
        for protection in options.protection
    ]
    print_rows(rows)
    if not options.no_write:
        print(write_results("loop_memory", rows, parties=len(PARTIES), value_bits=16, protections=options.protection))
    else:
        print(machine()["cpu"])


if __name__ == "__main__":
    main()
