"""Whole set intersections, both parties on this machine: by Diffie-Hellman beside openmined.psi, by RSA beside gmpy2.

Every result is checked against Python's sets before it is timed. Seconds are both parties' together, in
processor time on ONE core (the process and its engine are bound to it), with the wall time beside them; a run of two
processes, a core for each party, is timed by the wall. openmined.psi (P-256, its Golomb-compressed set) runs in turns
with ours, on the same core and the same sets, where `--openmined` names a Python that has it; it needs no other package
of the project's. The RSA steps in gmpy2, one number at a time and without padding, are timed on a sample and taken
times the ids.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import resource
import subprocess
import time
from collections.abc import Callable
from typing import Any

import gmpy2
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from bench_rsa import Textbook, stored_key
from hekat.channel import Channel, PartyKey, run_parties
from hekat.ledger import RecordedChannel
from hekat.protocol.in_process import make_sessions, play_in_process
from hekat.protocol.psi.ids import Ids, make_ids
from hekat.protocol.psi.roles import Intersection, IntersectionRun, run_intersection
from hekat.protocol.psi.settings import IntersectionSettings
from measuring.piped_channel import PipedChannel, serve_pipe
from measuring.record import machine, print_rows, write_results

GUEST, HOST = "guest", "host"
COUNT, QUICK_COUNT = 100_000, 1000
SAMPLE, QUICK_SAMPLE = 256, 16
TURNS, MULTIPLICATIONS = 3, 8192
KEY_BITS = 3072
ECDH_TO_REACH_S, RSA_TO_REACH = 20.0, 4.0
# Known from an earlier measurement on a core of the same kind; not of the run that says so.
OPENMINED_KNOWN_S = 28.9
COLUMNS = (
    "work",
    "cores",
    "processor_s",
    "wall_s",
    "common",
    "other",
    "other_s",
    "times_other",
    "x25519_per_s",
    "to_reach",
    "reached",
)

_OPENMINED = """
import json, sys, time
import private_set_intersection.python as psi
count = int(sys.argv[1])
ours, theirs = [str(i) for i in range(count)], [str(i) for i in range(count // 2, count + count // 2)]
wall, start = time.perf_counter(), time.process_time()
client, server = psi.client.CreateWithNewKey(True), psi.server.CreateWithNewKey(True)
setup = server.CreateSetupMessage(1e-9, count, theirs)
response = server.ProcessRequest(client.CreateRequest(ours))
common = client.GetIntersection(setup, response)
seconds = time.process_time() - start, time.perf_counter() - wall
assert sorted(ours[i] for i in common) == sorted(set(ours) & set(theirs))
print(json.dumps({"version": psi.__version__, "processor_s": seconds[0], "wall_s": seconds[1]}))
"""


class Meeting:
    """Two parties, half of whose ids are common, and the roles they play."""

    def __init__(self, count: int, kind: str) -> None:
        self.count, self.settings = count, IntersectionSettings(GUEST, (HOST,), kind=kind, key_bits=KEY_BITS)
        self.texts = {
            GUEST: [str(i) for i in range(count)],
            HOST: [str(i) for i in range(count // 2, count + count // 2)],
        }
        start = time.process_time()
        self.ids: dict[str, Ids] = {name: make_ids([texts], name) for name, texts in self.texts.items()}
        self.ids_s = time.process_time() - start
        keys = {name: PartyKey.generate() for name in self.ids}
        self.sessions = make_sessions(keys, run_id="bench", protocol="psi", job_digest=bytes(32))

    def play(self, channel: Channel) -> Intersection:
        def role(recorded: RecordedChannel) -> Intersection:
            run = IntersectionRun(self.sessions[recorded.party].stopwatch)
            return run_intersection(recorded, self.ids[recorded.party], self.settings, run)

        return self.sessions[channel.party].play(channel, role)

    def run(self) -> dict[str, Any]:
        """Both parties in turn, in this process; the columns of a row."""
        wall, start = time.perf_counter(), time.process_time()
        results = play_in_process(dict.fromkeys(self.ids, self.play), timeout_s=600.0)
        seconds, wall_s = time.process_time() - start, time.perf_counter() - wall
        parts = {
            name: {part: round(s, 3) for part, s in sorted(self.sessions[name].stopwatch.seconds.items())}
            for name in self.ids
        }
        return {
            "cores": 1,
            "processor_s": round(seconds + self.ids_s, 2),
            "wall_s": round(wall_s + self.ids_s, 2),
            "common": self.check({name: result.rows for name, result in results.items()}),
            "parts": parts,
        }

    def run_apart(self, cores: list[int]) -> dict[str, Any]:
        """Each party in a process of its own, on a core of its own; by the wall."""
        here, there = multiprocessing.Pipe()

        def play_host() -> None:
            os.sched_setaffinity(0, {cores[1]})
            channel = PipedChannel(there, HOST, (GUEST, HOST))
            channel.end(self.play(channel).rows)

        wall = time.perf_counter()
        process = multiprocessing.get_context("fork").Process(target=play_host)
        process.start()
        # What the pipe's server returns is the host's rows.
        roles: dict[str, Callable[[Channel], Any]] = {
            GUEST: lambda channel: self.play(channel).rows,
            HOST: lambda channel: serve_pipe(here, channel),
        }
        rows = run_parties(roles, timeout_s=600.0)
        wall_s = time.perf_counter() - wall
        process.join()
        return {"cores": 2, "wall_s": round(wall_s + self.ids_s / 2, 2), "common": self.check(rows)}

    def check(self, rows: dict[str, Any]) -> int:
        """How many rows are common; both parties have them in one order, and they are what Python's sets say."""
        found = {name: [self.texts[name][row] for row in rows[name]] for name in self.texts}
        assert found[GUEST] == found[HOST]
        assert set(found[GUEST]) == set(self.texts[GUEST]) & set(self.texts[HOST])
        return len(found[GUEST])


def openmined(python: str | None, count: int) -> dict[str, Any]:
    """The columns of openmined.psi on the same sets, by the Python that has it."""
    if python is None:
        return {"other": "openmined.psi, known elsewhere", "other_s": OPENMINED_KNOWN_S} if count == COUNT else {}
    done = subprocess.run([python, "-c", _OPENMINED, str(count)], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    return {
        "other": f"openmined.psi {found['version']}",
        "other_s": round(found["processor_s"], 2),
        "other_wall_s": round(found["wall_s"], 2),
    }


def gmpy2_seconds(count: int, sample: int) -> float:
    """Processor seconds of the same steps in gmpy2: the asker's and the signer's ids, from a sample of each."""
    book = Textbook(stored_key(KEY_BITS))
    prefix = hashlib.shake_256(b"context")

    def hashed(item: bytes) -> Any:
        state = prefix.copy()
        state.update(item)
        return gmpy2.mpz(int.from_bytes(state.digest((KEY_BITS + 128) // 8), "little")) % book.n

    def tag(item: bytes, signature: Any) -> bytes:
        return hashlib.sha256(item + int(signature).to_bytes(KEY_BITS // 8, "little")).digest()

    items = [hashlib.sha256(b"%d" % index).digest() for index in range(sample)]
    start = time.process_time()
    asked = set()
    for item in items:
        m = hashed(item)
        blinded, inverse = book.blind(m)
        asked.add(tag(item, book.unblind(m, book.sign(blinded), inverse)))
    signed = {tag(item, book.sign(hashed(item))) for item in items}
    seconds = time.process_time() - start
    assert asked == signed
    return seconds / sample * count


def x25519_per_s() -> float:
    """Bare multiplications a second of processor time: what the machine gives at this moment."""
    scalar = X25519PrivateKey.generate()
    peers = [X25519PrivateKey.generate().public_key() for _ in range(MULTIPLICATIONS)]
    start = time.process_time()
    for peer in peers:
        scalar.exchange(peer)
    return MULTIPLICATIONS / (time.process_time() - start)


def ecdh_turn(options: argparse.Namespace) -> dict[str, Any]:
    """One run of ours and one of openmined.psi, and what the machine gave."""
    rate = x25519_per_s()
    row = {**Meeting(options.count, "ecdh").run(), **openmined(options.openmined, options.count)}
    if "other_s" in row:
        row["times_other"] = round(row["other_s"] / row["processor_s"], 2)
    return row | {"x25519_per_s": round((rate + x25519_per_s()) / 2)}


def measure_ecdh(options: argparse.Namespace, cores: list[int]) -> list[dict[str, Any]]:
    """The turn of median processor time, with the times of all; and a run of two processes."""
    Meeting(QUICK_COUNT, "ecdh").run()
    turns = sorted((ecdh_turn(options) for _ in range(options.turns)), key=lambda turn: turn["processor_s"])
    row = {"work": f"ecdh {options.count:,} x {options.count:,}", **turns[len(turns) // 2]}
    row["turns"] = [
        {name: turn[name] for name in ("processor_s", "wall_s", "other_s", "x25519_per_s") if name in turn}
        for turn in turns
    ]
    if options.count == COUNT:
        row |= {"to_reach": f"{ECDH_TO_REACH_S:g} s", "reached": row["processor_s"] <= ECDH_TO_REACH_S}
    rows = [row]
    if len(cores) > 1 and options.count <= COUNT:
        rows.append({"work": row["work"] + ", a process each", **Meeting(options.count, "ecdh").run_apart(cores)})
    return rows


def measure_rsa(options: argparse.Namespace) -> dict[str, Any]:
    Meeting(QUICK_COUNT, "rsa_blind").run()
    before = gmpy2_seconds(options.count, options.sample)
    found = Meeting(options.count, "rsa_blind").run()
    # Before and after: what else the machine does meets both alike.
    other_s = (before + gmpy2_seconds(options.count, options.sample)) / 2
    ratio = round(other_s / found["processor_s"], 2)
    return {
        "work": f"rsa_blind {options.count:,} x {options.count:,}, {KEY_BITS} bits",
        **found,
        "other": f"gmpy2, sample of {2 * options.sample}",
        "other_s": round(other_s, 1),
        "times_other": ratio,
        "to_reach": f"{RSA_TO_REACH:g} x gmpy2",
        "reached": ratio >= RSA_TO_REACH,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=COUNT, help="ids of each party")
    parser.add_argument("--sample", type=int, default=SAMPLE, help="ids of each party that gmpy2 works through")
    parser.add_argument("--turns", type=int, default=TURNS, help="runs of ecdh; their median counts")
    parser.add_argument("--openmined", metavar="PYTHON", help="a Python that has openmined.psi")
    parser.add_argument("--ecdh-only", action="store_true", help="no RSA; keeps it as psi-COUNT")
    parser.add_argument("--quick", action="store_true", help="small sets: shows that it works, keeps nothing")
    options = parser.parse_args()
    if options.quick:
        options.count, options.sample, options.turns = QUICK_COUNT, QUICK_SAMPLE, 1
    for name, value in machine().items():
        print(f"{name}: {value}")
    cores = sorted(os.sched_getaffinity(0))
    # Before any engine is made: it has as many threads as the process has cores.
    os.sched_setaffinity(0, {cores[0]})
    rows = measure_ecdh(options, cores)
    if not options.ecdh_only:
        rows.append(measure_rsa(options))
    print_rows(rows, COLUMNS)
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"peak memory of both parties in one process: {peak_mib} MiB")
    if not options.quick:
        name = f"psi-{options.count}" if options.ecdh_only else "psi"
        print(write_results(name, rows, peak_mib=peak_mib, openmined_known_elsewhere_s=OPENMINED_KNOWN_S))


if __name__ == "__main__":
    main()
