"""Rounds between processes, over mailboxes and over the engines: everything that `make bench-network` measures.

    bench_network.py many              100 parties, 1 M values, ten end before they upload in round 2
    bench_network.py rounds            200 rounds of four parties: memory of each role after each round
    bench_network.py links             BatchCrypt's three models over four links, beside what else averages updates
    bench_network.py vertical-links    regression by columns over links, each way of protecting it beside none
    bench_network.py nvflare-mnist     three sites of NVIDIA FLARE, MNIST's dense network, encrypted beside plain
    bench_network.py nvflare-large     three sites of NVIDIA FLARE, 5 M values a round
    bench_network.py nvflare-vertical  set intersection and regression by columns over NVIDIA FLARE
    bench_network.py flower            three SuperNodes of Flower, encrypted beside plain

Each checks the result that came out before it prints a figure; results lie in benchmarks/results/network-NAME.json.
DATA is a folder with images/ and credit/, as for make bench-training: nvflare-mnist needs it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from measuring.record import print_rows, write_results
from network.link_table import TABLE, measure_links
from network.loop_processes import LoopWork, play_loop

TO_REACH_MIB = 1536
TO_REACH_GROWTH = 0.05
TO_REACH_TIMES_PLAIN, TO_REACH_OF_FLOAT32 = 1.15, 0.75
TO_REACH_LARGE_S, TO_REACH_TIMES_FLOWER = 1.2, 1.1


def measure_many(options: argparse.Namespace) -> None:
    """A hundred parties on this machine's cores: whether the sum is right, and the aggregator's memory."""
    parties = tuple(f"p{number:03}" for number in range(options.parties))
    dropped = parties[-(len(parties) // 10) :]
    work = LoopWork(parties, options.values, rounds=3, drop_out=dropped, lost_after_s=10.0)
    figures = play_loop(work)
    peak_mib = figures["aggregator"].peak_bytes / 2**20
    row = {
        "parties": len(parties),
        "dropped_out": len(dropped),
        "values": work.value_count,
        "aggregator_peak_mib": round(peak_mib),
        "party_peak_mib": round(figures[parties[0]].peak_bytes / 2**20),
        "round_s": [round(seconds, 1) for seconds in figures[parties[0]].round_s],
        "to_reach_mib": TO_REACH_MIB,
        "reached": peak_mib <= TO_REACH_MIB,
    }
    _finish("many", [row], options)


def measure_rounds(options: argparse.Namespace) -> None:
    """Rounds of four parties: resident memory after a tenth of them and after all, of each role."""
    parties = ("p0", "p1", "p2", "p3")
    count = options.rounds
    figures = play_loop(LoopWork(parties, 100_000, rounds=count))
    rows = []
    for role in (*parties, "aggregator"):
        resident = figures[role].resident_bytes
        early, late = resident[count // 10 - 1], resident[-1]
        rows.append(
            {
                "role": role,
                "early_mib": round(early / 2**20, 1),
                "late_mib": round(late / 2**20, 1),
                "growth": round(late / early - 1, 4),
                "to_reach": TO_REACH_GROWTH,
                "reached": late / early - 1 <= TO_REACH_GROWTH,
            }
        )
    _finish("rounds", rows, options, rounds=count, round_s=round(figures["p0"].median_round_s, 4))


def measure_link_table(options: argparse.Namespace) -> None:
    rows, left_out, conditions = measure_links(
        options.models, options.links, options.ways, parties=options.link_parties, most_round_s=options.most_round_s
    )
    _finish("links", rows, options, left_out=left_out, **conditions)


def measure_columns_over_links(options: argparse.Namespace) -> None:
    """FLASH's axis: seconds an iteration by bandwidth."""
    from network.vertical_links import measure_vertical_links

    rows, conditions = measure_vertical_links(options.link_rows)
    _finish("vertical-links", rows, options, **conditions)


def measure_nvflare_mnist(options: argparse.Namespace) -> None:
    """A round of the same app, plain and encrypted, in turns."""
    from network.nvflare_rounds import conditions, measure_mnist

    if options.data is None:
        raise SystemExit("nvflare-mnist needs --data FOLDER, a folder with images/")
    rows = measure_mnist(options.data, options.engine_rounds, options.turns)
    for row in rows:
        if "times_plain" in row:
            row |= {"to_reach": TO_REACH_TIMES_PLAIN, "reached": row["times_plain"] <= TO_REACH_TIMES_PLAIN}
    _finish("nvflare-mnist", rows, options, bytes_to_reach=TO_REACH_OF_FLOAT32, **conditions())


def measure_nvflare_large(options: argparse.Namespace) -> None:
    """Seconds a round of 5 M values, which a job's sites train on ten rows."""
    from network.nvflare_rounds import conditions, measure_five_million

    rows = measure_five_million(options.engine_rounds)
    for row in rows:
        if row["way"] != "one process":
            row |= {"to_reach_s": TO_REACH_LARGE_S, "reached": row["round_s"] <= TO_REACH_LARGE_S}
    _finish("nvflare-large", rows, options, **conditions())


def measure_nvflare_vertical(options: argparse.Namespace) -> None:
    """The time of a whole run over the engine, beside the same job in one process."""
    from network.nvflare_rounds import conditions
    from network.nvflare_vertical import measure_vertical

    credit = None if options.data is None else options.data / "credit"
    rows = measure_vertical(credit, options.forms, options.rows, options.epochs, options.turns)
    _finish("nvflare-vertical", rows, options, **conditions())


def measure_flower_rounds(options: argparse.Namespace) -> None:
    """A round of the same app, plain and encrypted, in turns."""
    from network.flower_rounds import conditions, measure_flower
    from network.mlp_work import MNIST, draw_rows, read_mnist

    rows = draw_rows(20_000) if options.data is None else read_mnist(options.data)
    found = measure_flower(MNIST, rows, options.flower_rounds, options.turns, options.flower_ways)
    for row in found:
        if "times_plain" in row:
            row |= {"to_reach": TO_REACH_TIMES_FLOWER, "reached": row["times_plain"] <= TO_REACH_TIMES_FLOWER}
    _finish("flower", found, options, **conditions())


def _finish(name: str, rows: list[dict[str, object]], options: argparse.Namespace, **extra: object) -> None:
    print_rows(rows)
    if not options.no_write:
        print(write_results(f"network-{name}", rows, **extra))


MEASURES: dict[str, Callable[[argparse.Namespace], None]] = {
    "many": measure_many,
    "rounds": measure_rounds,
    "links": measure_link_table,
    "vertical-links": measure_columns_over_links,
    "nvflare-mnist": measure_nvflare_mnist,
    "nvflare-large": measure_nvflare_large,
    "nvflare-vertical": measure_nvflare_vertical,
    "flower": measure_flower_rounds,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of {', '.join(MEASURES)}; all if none is named")
    parser.add_argument("--no-write", action="store_true", help="print only")
    parser.add_argument("--data", type=Path, help="folder with images/ and credit/")
    parser.add_argument("--turns", type=int, default=3, help="of engines: how often plain and encrypted runs alternate")
    parser.add_argument("--engine-rounds", type=int, default=8, help="of engines; the first is not counted")
    parser.add_argument("--flower-rounds", type=int, default=5, help="of flower; the first is not counted")
    parser.add_argument("--flower-ways", nargs="+", choices=["plain", "protected"], default=["plain", "protected"])
    parser.add_argument("--forms", nargs="+", choices=["arbiter", "shared_weights"], default=["arbiter"])
    parser.add_argument("--rows", type=int, default=30_000, help="made-up rows of nvflare-vertical, without --data")
    parser.add_argument("--epochs", type=int, default=2, help="of nvflare-vertical")
    parser.add_argument("--parties", type=int, default=100, help="of `many`")
    parser.add_argument("--values", type=int, default=1_000_000, help="of `many`")
    parser.add_argument("--rounds", type=int, default=200, help="of `rounds`")
    parser.add_argument("--models", nargs="+", choices=TABLE.models, default=TABLE.models)
    parser.add_argument("--links", nargs="+", choices=TABLE.links, default=TABLE.links)
    parser.add_argument("--ways", nargs="+", choices=TABLE.ways, default=TABLE.ways)
    parser.add_argument("--link-parties", type=int, default=3)
    parser.add_argument("--link-rows", type=int, default=8192, help="made-up rows of vertical-links")
    parser.add_argument("--most-round-s", type=float, default=90.0, help="rounds that must take longer are left out")
    options = parser.parse_args()
    if unknown := [part for part in options.parts if part not in MEASURES]:
        parser.error(f"expected some of {', '.join(MEASURES)}, got {' '.join(unknown)}")
    for part in options.parts or MEASURES:
        MEASURES[part](options)


if __name__ == "__main__":
    main()
