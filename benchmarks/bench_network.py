"""Runs between processes, over mailboxes: a hundred parties of whom ten end, 200 rounds, and links of a stated speed.

    bench_network.py many      100 parties, 1 M values, ten end before they upload in round 2
    bench_network.py rounds    200 rounds of four parties: memory of each role after each round
    bench_network.py links     rounds of BatchCrypt's three models over four links

Each checks the mean that came out before it prints a figure; results lie in benchmarks/results/network-NAME.json.
"""

from __future__ import annotations

import itertools
import statistics
import sys
from collections.abc import Callable
from typing import Any

from measuring.record import write_results
from network.loop_processes import LoopWork, RoleFigures, expected_mean, play_loop
from network.shaped_link import LINKS, LOOPBACK, Link

# BatchCrypt, section 6.1: its three models and how many values each has.
MODELS = {"FC, FMNIST": 101_770, "AlexNet, CIFAR-10": 1_250_858, "LSTM, Shakespeare": 4_022_784}
FLOAT32_BYTES = 4


def measure_many() -> None:
    """A hundred parties on this machine's cores: whether the sum is right, and the aggregator's memory."""
    parties = tuple(f"p{number:03}" for number in range(100))
    work = LoopWork(parties, 1_000_000, rounds=3, drop_out=parties[90:], lost_after_s=10.0)
    figures = play_loop(work)
    _check_mean(work, figures, parties[:90])
    aggregator = figures["aggregator"]
    row = {
        "parties": 100,
        "dropped out": 10,
        "values": work.value_count,
        "aggregator, peak MiB": round(aggregator.peak_bytes / 2**20),
        "party, peak MiB": round(figures["p000"].peak_bytes / 2**20),
        "seconds a round": [round(seconds, 1) for seconds in _round_seconds(figures["p000"])],
    }
    _write("many", [row])


def measure_rounds() -> None:
    """200 rounds: resident memory after rounds 20 and 200, of each party and of the aggregator."""
    parties = ("p0", "p1", "p2", "p3")
    work = LoopWork(parties, 100_000, rounds=200)
    figures = play_loop(work)
    _check_mean(work, figures, parties)
    rows = []
    for role in (*parties, "aggregator"):
        resident = figures[role].resident_bytes
        rows.append(
            {
                "role": role,
                "MiB after round 20": round(resident[19] / 2**20, 1),
                "MiB after round 200": round(resident[-1] / 2**20, 1),
                "growth": round(resident[-1] / resident[19] - 1, 4),
            }
        )
    _write("rounds", rows, seconds_a_round=round(statistics.median(_round_seconds(figures["p0"])), 4))


def measure_links() -> None:
    """Median seconds a round, bytes up beside plain float32, and trips, by model and link."""
    rows: list[dict[str, Any]] = []
    parties = ("p0", "p1", "p2", "p3")
    for model, count in MODELS.items():
        for link in (LOOPBACK, *LINKS):
            rows.append(_measure_link(model, LoopWork(parties, count, rounds=4, link=link, lost_after_s=600.0), link))
            print(rows[-1], flush=True)
    _write("links", rows)


def _measure_link(model: str, work: LoopWork, link: Link) -> dict[str, Any]:
    figures = play_loop(work)
    _check_mean(work, figures, work.parties)
    party = figures["p0"]
    plain_bytes = work.value_count * FLOAT32_BYTES
    up_bytes = (party.bytes_out - party.bytes_out_before_rounds) / work.rounds
    seconds = statistics.median(_round_seconds(party)[1:])
    # What plain float32 updates of all parties need at least, up and down one after the other, on the same link.
    plain_s = 2 * link.seconds_of(plain_bytes) * len(work.parties) + 2 * link.round_trip_s
    return {
        "model": model,
        "values": work.value_count,
        "link": link.name,
        "seconds a round": round(seconds, 3),
        "plain float32 on the wire, seconds": round(plain_s, 3),
        "bytes up, of plain float32": round(up_bytes / plain_bytes, 3),
        "trips a round": round((party.trips - party.trips_before_rounds) / work.rounds, 1),
    }


def _round_seconds(figures: RoleFigures) -> list[float]:
    return [after - before for before, after in itertools.pairwise(figures.round_ends)]


def _check_mean(work: LoopWork, figures: dict[str, RoleFigures], left: tuple[str, ...]) -> None:
    expected = expected_mean(work, left)
    for party in left:
        first, last, total = figures[party].last_mean
        wrong = max(abs(first - expected[0]), abs(last - expected[-1]), abs(total / abs(expected).sum() - 1))
        if figures[party].error or wrong > 1e-3:
            sys.exit(f"the mean of {party} is wrong by {wrong}: {figures[party].error}")


def _write(name: str, rows: list[dict[str, Any]], **extra: Any) -> None:
    for row in rows:
        print(row)
    print(write_results(f"network-{name}", rows, **extra))


MEASURES: dict[str, Callable[[], None]] = {"many": measure_many, "rounds": measure_rounds, "links": measure_links}

if __name__ == "__main__":
    chosen = sys.argv[1:] or list(MEASURES)
    if not set(chosen) <= MEASURES.keys():
        sys.exit(f"expected some of {', '.join(MEASURES)}, got {' '.join(chosen)}")
    for one in chosen:
        MEASURES[one]()
